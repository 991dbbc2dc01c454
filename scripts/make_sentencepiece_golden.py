#!/usr/bin/env python3
"""Small unigram models trained with SentencePiece, and what it makes of texts with them (run by hand, output committed).

  make_sentencepiece_golden.py OUTPUT        writes tests/text/data/unigram_models.txt

T a text, for all models. P begins a vocabulary: C its character map in hex, V kind, score and text of a piece (ids count from 0).
M flags and name of a model with that vocabulary (space added; extra white space removed; space at the end); i the ids of each text.
Texts and escapes are those of make_tokenizer_golden.py.
"""

import os
import random
import sys
import tempfile
import unicodedata

import sentencepiece
from make_tokenizer_golden import ALPHABETS, HAND_MADE, corpus, escape
from sentencepiece import sentencepiece_model_pb2

SOURCES = ["scripts/make_tokenizer_golden.py", "README.md", "CONTRIBUTING.md", "docs/row-need.md", "docs/architecture.md"]


def rules():
    """A part of NFKC with what makes it hard: runs of spaces, removals, matches that overlap, one character becoming many."""
    pairs = {}
    for code in list(range(0xA0, 0x180)) + list(range(0x2000, 0x2070)) + list(range(0x2100, 0x2150)) + list(range(0xFF00, 0xFF60)) + [0x3000, 0xFDFA, 0xFB01, 0x1F130]:
        text = chr(code)
        if unicodedata.normalize("NFKC", text) != text:
            pairs[text] = unicodedata.normalize("NFKC", text)
    pairs |= {"\t": " ", "\n": " ", "\r": " ", "\u200b": " ", "\u200e": "", "\u00ad": "", "\u0000": ""} | {"e\u0301": "é", "e\u0301\u0323": "ẹ́", "A\u030a": "Å", "か\u3099": "が", "abc": "xyz", "ab": "ba"}
    pairs.pop("\u0000")
    return pairs


MODELS = {
    "rules": dict(rules=True),
    "bytes": dict(rules=True, byte_fallback=True, vocab_size=520),
    "defined": dict(rules=True, user_defined_symbols=["<sep>", "<se", "xx", "日本", "  ", "\u00bd", " a"]),
    "identity": dict(normalization_rule_name="identity", user_defined_symbols=["<sep>", "▁▁", "0"]),
}  # fmt: skip
# The same pieces with another flag: name, model, part of the model file, field, value.
VARIANTS = [
    ("every-space", "rules", "normalizer_spec", "remove_extra_whitespaces", False),
    ("no-prefix", "defined", "normalizer_spec", "add_dummy_prefix", False),
    ("suffix", "rules", "trainer_spec", "treat_whitespace_as_suffix", True),
    ("identity-every-space", "identity", "normalizer_spec", "remove_extra_whitespaces", False),
]


def train(folder, options):
    options = dict(options)
    source = os.path.join(folder, "text")
    with open(source, "w", encoding="utf-8") as file:
        for name in SOURCES:
            with open(os.path.join(os.path.dirname(__file__), "..", name), encoding="utf-8") as text:
                file.write(text.read())
        for text in HAND_MADE:
            file.write(text.replace("\n", " ").replace("\x00", "") + "\n")
    if options.pop("rules", False):
        path = os.path.join(folder, "rules.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for source_text, target in rules().items():
                codes = lambda t: " ".join(f"{ord(c):X}" for c in t)  # noqa: E731
                file.write(f"{codes(source_text)}\t{codes(target)}\n")
        options["normalization_rule_tsv"] = path
    model = os.path.join(folder, "model")
    arguments = dict(model_type="unigram", vocab_size=300, character_coverage=0.98, num_threads=1, minloglevel=2, hard_vocab_limit=False) | options
    sentencepiece.set_random_generator_seed(1)
    sentencepiece.SentencePieceTrainer.train(input=source, model_prefix=model, **arguments)
    proto = sentencepiece_model_pb2.ModelProto()
    with open(model + ".model", "rb") as file:
        proto.ParseFromString(file.read())
    return proto


def texts():
    rng = random.Random(11)
    extra = ALPHABETS + ["abc ab", "e\u0301\u0323 A\u030a", "<sep><se p", "xx日本 a", "  \u3000\u00a0\u200b a", "▁ a▁", "か\u3099ばぱ", "½¼ ①ﬁ㎏"]
    out = corpus(0)[::2] + corpus(25)[-50:]
    for _ in range(60):
        alphabet = rng.choice(extra)
        out.append("".join(rng.choice(alphabet) for _ in range(rng.randint(1, 20))))
    out += [" ", "  ", "▁", " ▁ ", "a▁", "▁a", "\u200e", "a\u200e", "<sep>", " <sep> ", "a <sep>b", "a<sep> b", "<sep>  <sep>", "\u00a8a", "\u00a8", "b \u00a8 a"]
    return [t for t in dict.fromkeys(out) if "\x00" not in t]


def cut_in_double(proto, text):
    """The best cut of a normalised text by sums in double, the first found of equal ones; how many characters each piece has."""
    pieces = {p.piece: (0.0 if p.type == 4 else p.score) for p in proto.pieces if p.type in (1, 4, 5)}
    unknown = min(p.score for p in proto.pieces if p.type == 1) - 10.0
    best = [(0.0, 0)] + [(float("-inf"), 0)] * len(text)
    for i in range(len(text)):
        for end in range(i + 1, min(len(text), i + 40) + 1):
            value = pieces.get(text[i:end], unknown if end == i + 1 else None)
            if value is not None and best[i][0] + value > best[end][0]:
                best[end] = (best[i][0] + value, i)
    cut, end = [], len(text)
    while end > 0:
        cut.append(text[best[end][1] : end])
        end = best[end][1]
    return cut[::-1], best[-1][0], pieces


def is_tie(proto, processor, text):
    """SentencePiece's cut has no unknown character, is not the one found in double, and has the same sum."""
    cut, total, pieces = cut_in_double(proto, processor.normalize(text))
    theirs = processor.encode(text, out_type=str)
    return cut != theirs and all(p in pieces for p in theirs) and abs(sum(pieces[p] for p in theirs) - total) < 1e-3


def numbers(ids):
    return " ".join(map(str, ids))


def write_model(file, name, proto):
    n = proto.normalizer_spec
    flags = [n.add_dummy_prefix, n.remove_extra_whitespaces, proto.trainer_spec.treat_whitespace_as_suffix]
    file.write(f"M {numbers(map(int, flags))} {name}\n")
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    for text in texts():
        if is_tie(proto, processor, text):
            print(f"{name}: a tie, left out: {text}")
            file.write("i tie\n")
        else:
            file.write(f"i {numbers(processor.encode(text))}\n")


def main():
    models = {}
    with open(sys.argv[1], "w", encoding="utf-8", newline="\n") as file, tempfile.TemporaryDirectory() as folder:
        file.write(f"# scripts/make_sentencepiece_golden.py, sentencepiece {sentencepiece.__version__}\n")
        for text in texts():
            file.write(f"T {escape(text)}\n")
        for name, options in MODELS.items():
            proto = models[name] = train(folder, options)
            file.write(f"P {name}\n")
            if proto.normalizer_spec.precompiled_charsmap:
                file.write(f"C {proto.normalizer_spec.precompiled_charsmap.hex()}\n")
            for piece in proto.pieces:
                file.write(f"V {piece.type} {piece.score:.9g} {escape(piece.piece)}\n")
            write_model(file, name, proto)
            for variant, base, part, field, value in VARIANTS:
                if base == name:
                    changed = sentencepiece_model_pb2.ModelProto()
                    changed.CopyFrom(proto)
                    setattr(getattr(changed, part), field, value)
                    write_model(file, variant, changed)


if __name__ == "__main__":
    main()
