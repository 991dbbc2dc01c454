#!/usr/bin/env python3
"""Compares ingle's reading of tokenizer.json with Hugging Face's `tokenizers`, text by text. By hand; needs both, and perl.

  compare_tokenizer_json.py TOOL CORPUS.xz [--real FOLDER] [--write FOLDER] [--part N] [--only NAME]

TOOL: build/release/tests/tokenize_texts. CORPUS: of make_torture_corpus.py. --real: a folder with qwen3/, gptoss/ and gemma3/,
each with a tokenizer.json.xz. Beside those, small tokenizers made here cover every component. --write: puts what the tests
compare with (hf_real.txt, hf_small.json.xz) there. Ends with the number of differences that nothing explains; 0 is wanted.

What is explained, and left out before comparing: texts with characters newer than the library's tables, for the components
that have such tables (Unicode 8 or 9), and four whose category has changed since; clusters of several characters for Precompiled, where the library drops characters
that SentencePiece, which the models were trained with, keeps.
"""

import argparse
import copy
import json
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_torture_corpus as torture  # noqa: E402

C = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
R3 = C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
U, W = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
TEKKEN = rf"{LEAD}{U}*{W}+|{LEAD}{U}+{W}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + TAIL
KIMI_U, KIMI_W = U[:-1] + r"&&[^\p{Han}]]", W[:-1] + r"&&[^\p{Han}]]"
KIMI = rf"[\p{{Han}}]+|{LEAD}{KIMI_U}*{KIMI_W}+{C}?|{LEAD}{KIMI_U}+{KIMI_W}*{C}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|" + TAIL
DEEPSEEK3 = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + TAIL,
]


# ---------------------------------------------------------------------------------------------------------- small models


def training_texts():
    rng = random.Random(7)
    return list(torture.sentences(rng, 3000, torture.LATIN + torture.OTHER_WORDS)) + list(torture.numbers(rng, 200)) + torture.CODE * 5


def trained(model, trainer, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(training_texts(), trainer)
    out = json.loads(tokenizer.to_str())
    out["added_tokens"] = []
    return out


BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]


def base_models():
    quiet = dict(show_progress=False)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    marks = pre_tokenizers.Metaspace()
    words = pre_tokenizers.WhitespaceSplit()
    return {
        "bytes": trained(models.BPE(), trainers.BpeTrainer(vocab_size=700, initial_alphabet=byte_level.alphabet(), **quiet), None, byte_level),
        "characters": trained(
            models.BPE(unk_token="<unk>"), trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>"], limit_alphabet=120, **quiet), None, marks
        ),
        "fallback": trained(
            models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True),
            trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"] + BYTE_TOKENS, limit_alphabet=120, **quiet), None, marks,
        ),
        "affixes": trained(
            models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"),
            trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>"], limit_alphabet=80, continuing_subword_prefix="##", end_of_word_suffix="</w>", **quiet),
            None, words,
        ),
        "unigram": trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=600, unk_token="<unk>", special_tokens=["<unk>"], **quiet), None, marks),
        "word_piece": trained(
            models.WordPiece(unk_token="[UNK]"),
            trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=100, **quiet),
            normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(),
        ),
        "word_level": trained(
            models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=400, special_tokens=["[UNK]"], **quiet), None, pre_tokenizers.Whitespace()
        ),
    }  # fmt: skip


def charsmap():
    """A charsmap as SentencePiece compiles it (nmt_nfkc)."""
    import base64
    import io

    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as proto

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_texts()), model_writer=out, vocab_size=600, hard_vocab_limit=False, minloglevel=3
    )
    model = proto.ModelProto()
    model.ParseFromString(out.getvalue())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()


def state(component):
    return json.loads(component.__getstate__())


def added(first_id, *tokens):
    out = []
    for i, (content, flags) in enumerate(tokens):
        token = dict(id=first_id + i, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
        for flag in flags.split():
            token[flag] = True
        out.append(token)
    return out


# No token of white space beside one that takes white space along: the library finds it twice, or panics.
MIXED = [
    ("<|im_start|>", "special"), ("<|im_end|>", "special rstrip"), ("<think>", ""), ("the", "single_word normalized"), ("Hello", "normalized"),
    ("<mask>", "special lstrip"), ("ab", ""), ("bcd", ""), ("▁▁", "normalized"), ("İ", "normalized"), ("[INST]", "special lstrip rstrip"),
    ("<s>", "special normalized"), ("and", "single_word lstrip rstrip"), ("é", "normalized single_word"),
]  # fmt: skip
WHITE = [("<|im_end|>", "special"), ("  ", ""), ("\n\n", "special"), ("\t", "normalized"), (" \n", "special normalized"), (" a", "single_word")]


class Cases:
    def __init__(self):
        self.base = base_models()
        self.all = []

    def add(self, name, model, normalizer=None, pre=None, post=None, tokens=(), oldest=None, clusters=True, without=None, **options):
        out = copy.deepcopy(self.base[model])
        out["model"].update(options)
        out["normalizer"] = normalizer if isinstance(normalizer, (dict, type(None))) else state(normalizer)
        out["pre_tokenizer"] = pre if isinstance(pre, (dict, type(None))) else state(pre)
        out["post_processor"] = post
        out["decoder"] = None
        vocabulary = out["model"]["vocab"]
        ids = vocabulary if isinstance(vocabulary, dict) else {piece: i for i, (piece, _) in enumerate(vocabulary)}
        known = [dict(t, id=ids[t["content"]]) for t in added(0, *tokens) if t["content"] in ids]
        fresh = added(len(vocabulary), *(t for t in tokens if t[0] not in ids))
        out["added_tokens"] = known + fresh
        self.all.append(dict(name=name, tokenizer=out, oldest=oldest, clusters=clusters, without=without))


def small_cases():
    n, p = normalizers, pre_tokenizers
    cases = Cases()
    words = p.ByteLevel(add_prefix_space=False)
    plain = p.ByteLevel(add_prefix_space=False, use_regex=False)
    split = lambda pattern, behavior="isolated", invert=False: p.Sequence([p.Split(pattern, behavior, invert), plain])  # noqa: E731
    b = "bytes"
    # Pre-tokenisers, over bytes so that nothing hides a wrong cut.
    cases.add("byte level", b, None, words, tokens=MIXED)
    cases.add("tokens of white space", b, None, words, tokens=WHITE)
    cases.add("byte level with a prefix space", b, None, p.ByteLevel(add_prefix_space=True), tokens=MIXED)
    cases.add("byte level without words", b, None, plain)
    for name, expressions in (("llama 3", [R3]), ("tekken", [TEKKEN]), ("deepseek 3", DEEPSEEK3), ("kimi", [KIMI]), ("digits in threes", [r"\d{1,3}(?=(?:\d{3})*\b)"])):
        cases.add(name, b, None, p.Sequence([p.Split(Regex(e), "isolated") for e in expressions] + [plain]), ignore_merges=name in ("llama 3", "tekken"))
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            cases.add(f"split {behavior}{' inverted' if invert else ''}", b, None, split(Regex(r"[aeiou ]"), behavior, invert))
        cases.add(f"split at a string, {behavior}", b, None, split(" ", behavior))
        cases.add(f"punctuation {behavior}", b, None, p.Sequence([p.Punctuation(behavior), plain]), oldest=8)
    for name, pattern in (
        ("lines", r"^.*$"), ("line ends", r"$"), ("boundaries", r"\b"), ("nothing between", r"(?<=[a-z])(?=[A-Z0-9])"), ("empty", r""),
        ("words", r"\w+|[^\w\s]+"), ("classes", r"[\p{L}&&[^a-m]]|[[:digit:]x-z]+|[^\S ]"), ("hex", r"\h{2}"), ("dot and newline", r"(?m:e.)"), ("ranges", r"[\u0400-\u04ff\u3040-ヿ]+|\x{1F600}"),
        ("lazy", r"\p{Lu}.*?\p{Ll}{2,}"), ("braces", r"a{,2}b|\{|}"), ("no case", r"(?i:the|to)"), ("posix", r"[[:upper:]]+[[:^alpha:]]?"), ("scripts", r"\p{Greek}+|\p{Cyrillic}|\p{^Latin}{3}"), ("unicode lines", r"\R"), ("possessive", r"a++b?|o*+"),
    ):  # fmt: skip
        cases.add(f"expression: {name}", b, None, split(Regex(pattern)))
    cases.add("digits one by one", b, None, p.Sequence([p.Digits(True), words]))
    cases.add("digits together", b, None, p.Sequence([p.Digits(False), plain]))
    cases.add("whitespace", b, None, p.Sequence([p.Whitespace(), plain]))
    cases.add("whitespace split", b, None, p.Sequence([p.WhitespaceSplit(), plain]))
    cases.add("bert words", b, None, p.Sequence([p.BertPreTokenizer(), plain]), oldest=8)
    cases.add("delimiter", b, None, p.Sequence([p.CharDelimiterSplit("e"), plain]))
    cases.add("fixed length", b, None, p.Sequence([p.FixedLength(3), plain]))
    # Normalisers. (A replacement of nothing at the front of a text makes the library repeat characters, or panic.)
    for name, normalizer, oldest in (
        ("NFC", n.NFC(), 9), ("NFD", n.NFD(), 9), ("NFKC", n.NFKC(), 9), ("NFKD", n.NFKD(), 9), ("lowercase", n.Lowercase(), None),
        ("strip accents", n.Sequence([n.NFD(), n.StripAccents()]), 8), ("strip", n.Strip(), None), ("strip left", n.Strip(True, False), None),
        ("prepend", n.Prepend("x "), None), ("replace a string", n.Replace("the", "THE "), None), ("replace an expression", n.Replace(Regex(r"\s+|(?<=a)"), "_"), None),
        ("nmt", n.Nmt(), None), ("several", n.Sequence([n.Strip(), n.NFKC(), n.Lowercase(), n.Replace("e", ""), n.Prepend("▁")]), 9),
    ):  # fmt: skip
        cases.add(f"normaliser: {name}", b, normalizer, words, tokens=MIXED, oldest=oldest)
    cases.add("normaliser: bytes", b, n.ByteLevel(), p.Split(Regex(r"Ġ?\p{L}+"), "isolated"))
    # Models.
    mark = n.Replace(" ", "▁")
    for scheme in ("first", "always", "never"):
        for cut in (True, False):
            cases.add(f"metaspace {scheme}{'' if cut else ' whole'}", "fallback", None, p.Metaspace("▁", scheme, cut), tokens=MIXED)
            cases.add(f"unigram {scheme}{'' if cut else ' whole'}", "unigram", None, p.Metaspace("▁", scheme, cut), tokens=MIXED)
    cases.add("metaspace behind words", "fallback", None, p.Sequence([p.WhitespaceSplit(), p.Metaspace("▁", "first")]), tokens=MIXED)
    cases.add("marks only", "fallback", mark, None, tokens=MIXED)
    cases.add("marks and an idle split", "fallback", mark, p.Split(" ", "merged_with_previous"), tokens=[t for t in MIXED if "normalized" not in t[1]])
    cases.add("prefix and marks", "fallback", n.Sequence([n.Prepend("▁"), mark]), None, tokens=MIXED)
    cases.add("unknown characters one by one", "characters", mark, None, fuse_unk=False)
    cases.add("unknown characters together", "characters", mark, None, fuse_unk=True)
    cases.add("unknown characters vanish", "characters", mark, None, unk_token=None)
    cases.add("whole words first", "characters", None, p.WhitespaceSplit(), ignore_merges=True)
    for fuse in (False, True):
        name = f"some byte tokens{', together' if fuse else ''}"
        cases.add(name, "fallback", mark, None, fuse_unk=fuse)
        model = cases.all[-1]["tokenizer"]["model"]
        gone = set(BYTE_TOKENS[0xE0:0xE3] + BYTE_TOKENS[0x90:0x98])
        model["vocab"] = {text: i for i, text in enumerate(t for t in sorted(model["vocab"], key=model["vocab"].get) if t not in gone)}
    cases.add("prefix and suffix", "affixes", None, p.WhitespaceSplit())
    cases.add("merges as lines, one twice", b, None, words)
    merges = cases.all[-1]["tokenizer"]["model"]["merges"]
    cases.all[-1]["tokenizer"]["model"]["merges"] = ["#version: 0.2"] + [" ".join(m) for m in merges + merges[:40]]
    bert = [("[UNK]", "special"), ("[CLS]", "special"), ("[SEP]", "special")]
    for name, options in (("uncased", {}), ("cased", dict(lowercase=False)), ("accents kept", dict(strip_accents=False)), ("nothing cleaned", dict(clean_text=False, handle_chinese_chars=False)), ("accents only", dict(strip_accents=True, lowercase=False))):
        post = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
        cases.add(f"bert {name}", "word_piece", n.BertNormalizer(**options), p.BertPreTokenizer(), post, bert, oldest=8)
    cases.add("short words", "word_piece", n.Lowercase(), p.Whitespace(), None, bert, max_input_chars_per_word=4)
    cases.add("word level", "word_level", None, p.Whitespace(), tokens=[("[UNK]", "special")])
    # In every known file <unk> is special; a text that spells it out beside unknown characters falls to bytes with them.
    cases.add("unigram of bytes", "unigram", None, p.Metaspace(), byte_fallback=True, without="<unk>")
    vocabulary = cases.all[-1]["tokenizer"]["model"]["vocab"]
    vocabulary += [[token, -20.0] for token in BYTE_TOKENS]
    cases.add("unigram with a charsmap", "unigram", {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": charsmap()}, state(n.Replace(Regex(" {2,}"), " "))]}, p.Metaspace(), clusters=False)  # fmt: skip
    # What is added around.
    template = lambda *single: {  # noqa: E731
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}} if s == "A" else {"SpecialToken": {"id": s, "type_id": 0}} for s in single],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {s: {"id": s, "ids": [3, 4] if s == "x" else [5], "tokens": ["a", "b"] if s == "x" else ["c"]} for s in single if s != "A"},
    }
    byte_post = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    roberta = {"type": "RobertaProcessing", "sep": ["b", 7], "cls": ["c", 8], "trim_offsets": True, "add_prefix_space": False}
    cases.add("template", b, None, words, template("x", "y", "A", "y"))
    cases.add("two processors", b, None, words, {"type": "Sequence", "processors": [byte_post, template("y", "A", "x")]})
    cases.add("roberta", b, None, words, roberta)
    return cases.all


# ---------------------------------------------------------------------------------------------------------- comparing


def ours(tool, tokenizer_json, texts, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(tokenizer_json)
        file.flush()
        data = b"".join(struct.pack("<I", len(b)) + b for b in (t if isinstance(t, bytes) else t.encode() for t in texts))
        result = subprocess.run([tool, file.name, *flags], input=data, capture_output=True)
    if result.returncode:
        return result.stderr.decode()
    out, at = [], 0
    while at < len(result.stdout):
        (count,) = struct.unpack_from("<I", result.stdout, at)
        out.append(list(struct.unpack_from(f"<{count}I", result.stdout, at + 4)))
        at += 4 + 4 * count
    return out


def newer_than(version):
    """Characters that are not in this version of Unicode."""
    program = f"for (0..0x10FFFF) {{ next if $_ >= 0xD800 && $_ < 0xE000; $c = chr; print \"$_\\n\" if $c !~ /\\p{{Present_In: {version}.0}}/ && $c =~ /\\p{{Assigned}}/ }}"
    out = subprocess.run(["perl", "-e", program], capture_output=True, check=True).stdout
    return {chr(int(line)) for line in out.split()}


CLUSTER = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\uff9e\uff9f\u0e33\u0eb3]|\r\n")


def has_cluster(text):
    return bool(CLUSTER.search(text)) or any(unicodedata.category(c)[0] == "M" or unicodedata.category(c) == "Cf" for c in text)


def fnv(ids, value=0xCBF29CE484222325):
    """FNV-1a over the ids of a text, each as four bytes, and an end mark."""
    for byte in struct.pack(f"<{len(ids) + 1}I", *ids, 0xFFFFFFFF):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


class Comparison:
    def __init__(self, tool):
        self.tool = tool
        self.texts = self.different = 0

    def run(self, name, tokenizer_json, texts):
        """The library's ids of both ways to treat special tokens."""
        library = Tokenizer.from_str(tokenizer_json)
        expected = {}
        for flags, literal in (((), True), (("parse",), False)):
            library.encode_special_tokens = literal
            expected[literal] = [e.ids for e in library.encode_batch(texts)]
            # Where the fast way is taken, the other must give the same; a part of the texts is enough for that.
            for way, step in ((), 1), (("general",), 5):
                part = texts[::step]
                got = ours(self.tool, tokenizer_json, part, "special", *flags, *way)
                if isinstance(got, str):
                    print(f"{name}: {got}")
                    self.different += len(part)
                    break
                bad = [i for i, (a, b) in enumerate(zip(expected[literal][::step], got)) if a != b]
                self.texts += len(part)
                self.different += len(bad)
                if bad:
                    print(f"{name} {flags} {way}: {len(bad)} of {len(part)} differ", flush=True)
                    for i in bad[:2]:
                        print(f"    {part[i]!a:.100}\n      library {expected[literal][i * step][:20]}\n      ours    {got[i][:20]}")
        return expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("corpus")
    parser.add_argument("--real")
    parser.add_argument("--write")
    parser.add_argument("--only", default="", help="small tokenizers with this in their name")
    parser.add_argument("--part", type=int, default=1, help="small tokenizers see every so manieth text, and those the tests see")
    arguments = parser.parse_args()
    texts = torture.corpus()
    lines = lzma.open(arguments.corpus, "rt", encoding="utf-8", newline="\n").read().split("\n")
    assert [torture.escape(t) for t in texts] == lines[:-1], "the corpus is of another make_torture_corpus.py"
    comparison = Comparison(arguments.tool)

    # Broken UTF-8: ours reads it as Python does with errors="replace".
    rng = random.Random(3)
    broken = [bytes(rng.choice([rng.randrange(256), rng.choice(b"ab \n"), 0xE2, 0x82, 0xF0, 0x9F]) for _ in range(rng.randint(1, 30))) for _ in range(3000)]
    real_lines = []
    for name in ("qwen3", "gptoss", "gemma3") if arguments.real else ():
        tokenizer = lzma.open(os.path.join(arguments.real, name, "tokenizer.json.xz"), "rt", encoding="utf-8").read()
        expected = comparison.run(name, tokenizer, texts)
        library = Tokenizer.from_str(tokenizer)
        library.encode_special_tokens = True
        wanted = [e.ids for e in library.encode_batch([b.decode(errors="replace") for b in broken])]
        got = ours(arguments.tool, tokenizer, broken, "special")
        bad = sum(a != b for a, b in zip(wanted, got))
        comparison.texts += len(broken)
        comparison.different += bad
        print(f"{name}: done, broken UTF-8 differs {bad} times in {len(broken)}")
        for literal in (True, False):
            for start in range(0, len(texts), 100):
                value = 0xCBF29CE484222325
                for ids in expected[literal][start : start + 100]:
                    value = fnv(ids, value)
                real_lines.append(f"{name} {'text' if literal else 'parse'} {start} {value:016x}")

    aged = {8: newer_than(8), 9: newer_than(9)}
    step = 14
    small = []
    for n, case in enumerate(small_cases()):
        if arguments.only not in case["name"]:
            continue
        unwanted = aged[case["oldest"]] | set("\u166d\u1cf2\u1cf3\U0001171e") if case["oldest"] else set()
        seen = [i for i in range(len(texts)) if i % arguments.part == 0 or i % step == n % step]
        usable = [i for i in seen for t in [texts[i]] if not unwanted.intersection(t) and (case["clusters"] or not has_cluster(t)) and not (case["without"] and case["without"] in t)]
        tokenizer = json.dumps(case["tokenizer"], ensure_ascii=False)
        print(f"{case['name']}: {len(usable)} texts", flush=True)
        expected = comparison.run(case["name"], tokenizer, [texts[i] for i in usable])
        sample = [(i, k) for k, i in enumerate(usable) if i % step == n % step]
        value = {}
        for literal in (True, False):
            value[literal] = 0xCBF29CE484222325
            for _, k in sample:
                value[literal] = fnv(expected[literal][k], value[literal])
        small.append(
            dict(
                name=case["name"], tokenizer=case["tokenizer"], left_out=sorted(set(range(n % step, len(texts), step)) - {i for i, _ in sample}),
                text=f"{value[True]:016x}", parse=f"{value[False]:016x}", shown=[[i, expected[False][k]] for i, k in sample[:: max(1, len(sample) // 12)]],
            )
        )  # fmt: skip
    print(f"{len(small)} small tokenizers, {len(texts)} texts: {comparison.texts} comparisons, {comparison.different} differences")
    if arguments.write:
        if real_lines:
            with open(os.path.join(arguments.write, "hf_real.txt"), "w", encoding="utf-8") as file:
                file.write("# FNV-1a of the ids of 100 texts each of hf_corpus.xz, special tokens as text or parsed\n")
                file.write("# scripts/compare_tokenizer_json.py --write\n" + "\n".join(real_lines) + "\n")
        path = os.path.join(arguments.write, "hf_small.json.xz")
        if arguments.only:  # the others stay
            new = {case["name"]: case for case in small}
            small = [new.get(case["name"], case) for case in json.loads(lzma.open(path).read())["cases"]]
        data = json.dumps(dict(step=step, cases=small), ensure_ascii=False, separators=(",", ":")).encode()
        with open(path, "wb") as file:
            file.write(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    sys.exit(comparison.different > 0)


if __name__ == "__main__":
    main()
