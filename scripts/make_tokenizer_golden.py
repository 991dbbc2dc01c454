#!/usr/bin/env python3
"""Expected results for the tokenizer tests, from Hugging Face's `tokenizers` (run by hand, output committed).

  make_tokenizer_golden.py splits OUTPUT          where each family of pre-tokenisers cuts each text
  make_tokenizer_golden.py smollm MODEL OUTPUT    token ids of SmolLM2 (MODEL: SmolLM2-135M-Instruct as GGUF)
  make_tokenizer_golden.py small OUTPUT           a small byte-level BPE trained here, and ids of texts with it
  make_tokenizer_golden.py nfc OUTPUT             texts and their normalisation form C (Python's unicodedata)

Texts are written with \\n, \\t, \\r, \\\\ and \\u{HEX} for what does not print. Code points are those Python's unicodedata
knows, minus two whose category changed since.
"""

import random
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

C = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
R3 = C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
R1 = R3.replace("{1,3}", "")
RG = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
U = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
W = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(upper, lower, tail):
    return rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{tail}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{tail}|"


GPT4O = cased(U, W, C + "?") + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL
NO_HAN = "&&[^\\p{Han}]]"
CJK = r"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"

FAMILIES = {
    "llama-bpe": [R3],
    "qwen2": [R1],
    "qwen35": [C + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL],
    "gpt-2": [RG],
    "smollm": [r"\p{N}", RG],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", RG, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", RG, r"\p{N}+", "[0-9][0-9][0-9]"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-v3": [
        r"\p{N}{1,3}",
        r"[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
        + TAIL,
    ],
    "tekken": [cased(U, W, "") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL],
    "gpt-4o": [GPT4O],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O],
    "bloom": [r" ?[^(\s|.,!?…。，、।۔،)]+"],
    "viking": [r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"],
    "bailingmoe": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "seed-coder": [C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|" + TAIL],
    "exaone-moe": [
        C
        + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "jais-2": [
        R3.replace(
            r"\s+(?!\S)|\s+", "".join(rf"\s{{{n}}}(?!\S)|" for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"\s{1,2}(?!\S)|\s{1}"
        )
    ],
    "minicpm5": [r"\p{N}{1,3}", R1.replace(r"|\p{N}|", r"|\p{N}+|")],
    "laguna": [r"[^\n]+|[\n]+", R1],
    "kimi-k2": [
        r"\p{Han}+|"
        + cased(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}" + NO_HAN, r"[\p{Ll}\p{Lm}\p{Lo}\p{M}" + NO_HAN, C + "?")
        + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
        + TAIL
    ],
    "gemma4": [r"[^\n]+|[\n]+"],
}

HAND_MADE = [
    "Hello world", " Hello", "  Hello", "   Hello", "Hello  world   !", "a", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\n \n", "\t\n\t",
    "trailing spaces   ", "trailing newline\n", "  \n  leading lines\n\n\n  mixed \t tabs\t\t",
    "I'm you're we've he'll she'd it's don't", "I'M YOU'RE WE'VE HE'LL SHE'D IT'S DON'T", "'s 't 're'llx 'vE", "'\u017f it'\u017f",
    "0 12 345 6789 12345678901234567890", "3.14159, -2e10, 0xDEADBEEF, 1,234,567.89", "①② Ⅷ ½ ² ٣٤٥ ४५६ 𝟘𝟙",
    "CamelCase camelCase HTTPServer XMLHttpRequest iPhone ΑβΓ ЖжЖ ǅǆ", "snake_case __init__ kebab-case a.b.c a/b/c\\d",
    "def f(x):\n    return x**2  # square\n\n\nif __name__ == '__main__':\n\tprint(f\"{f(3)!r}\")\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 2; }\r\n// done\r\n", "<div class=\"x\">&nbsp;</div><!-- no -->",
    "SELECT * FROM t WHERE a <> 'b' AND c >= 10;", "https://example.org/a?b=c&d=%20#e", "me@example.com, +1 (555) 010-9999",
    "!!! ??? ... --- ___ *** ~~~ ``` ||| <<< >>> $$$ ^^^ +++ ===", " !  ?   .    ,", "(a) [b] {c} «d» “e” ‘f’ „g“ 「h」 （i）",
    "日本語のテキスト、カタカナとひらがな。", "中文文本，包含标点。还有数字123和English混排", "한국어 텍스트 123 입니다", "ไทยไม่มีช่องว่าง", "नमस्ते दुनिया १२३",
    "العربية مع تشكيل: مُحَمَّد ١٢٣", "עברית עם ניקוד: שָׁלוֹם", "Ελληνικά Русский Қазақша ქართული հայերեն", "Việt Nam Việt Nam",
    "cafe\u0301 café na\u00efve nai\u0308ve A\u030a Å \u212b e\u0323\u0302 \u1ec7", "\u1100\u1161\u11a8 각 \u1112\u1161\u11ab", "\u0301start", "a\u0300\u0301\u0302\u0303b", "x\u200dy\u200cz\ufeffw\u00ad",
    "😀😃🤣", "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪🇫🇷", "I ❤️ NY ☃ ✓ → ∑ ∞ € £ ¥ ₿", "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋",
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g\u180eh\u200bi\u202fj\u205fk\u1680l", " \u00a0 \u3000 x", "\u3000\u3000段落", "\u000b\u000c\u001c\u001d\u001e\u001f", "nul\u0000in\u0000side", "\u0001\u0002\u007f\u0080\u009f",
    "<|im_start|>user\nHi<|im_end|>\n", "<|im_start|", "|im_end|>", "<|endoftext|><|endoftext|>", "x<|im_end|>y <|im_end|> z", "<s>[INST] hi [/INST]</s>", "<|im_start|><|im_start|>", "<<|im_end|>>", "<|im_<|im_end|>end|>", "<|IM_END|>", "<repo_name>a/b<file_sep>c.py\n", "<jupyter_start><jupyter_text>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "-" * 100, "=" * 65, " " * 70 + "x", "\n" * 20, " \t" * 20, "ab" * 60, "の" * 40, "\u0301" * 60, "1" * 80,
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis", "ﬁ ﬂ ﬀ ™ © ® № ℃ Ǆ ŉ ß ẞ İ ı", "𝕳𝖊𝖑𝖑𝖔 𝓦𝓸𝓻𝓵𝓭 Ｆｕｌｌｗｉｄｔｈ １２３", "\ue000\uf8ff\U000f0000", "\U0010ffff\ufffd\ufffe", "12:34:56 2024-01-02T03:04:05Z", "a1b2c3 1a2b3c x² H₂O 10⁻⁹ m²", "1a 123abc 1234567abc 1234567 abc_123456 12345678½ ½12345",
]  # fmt: skip

ALPHABETS = [
    "abcdefghij ABC", "aA1 .'\n", " \t\n\r", "the of and to in ", "0123456789 ,.x", "é́ö̈ßñç aE\u0301\u0323\u0302", "日本中文のカ한国語。、 1", "😀👍🏽\u200d❤️ a", "'sStTrReEvVmMlLdD ", "()[]{}<>=+-*/&|!;: ab\n", "абвГД еёЖ 12", "अआक्षि ा१ ", "\u00a0\u3000\u2028\u0085 a\n", "<|im_start>end",
]  # fmt: skip


def assigned():
    skip = {0x166D, 0x0295}  # category changed after Unicode 14
    return [
        c for c in range(0x110000)
        if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and c not in skip
    ]  # fmt: skip


def corpus(extra):
    rng = random.Random(20240607)
    texts = list(HAND_MADE)
    for _ in range(extra):
        alphabet = rng.choice(ALPHABETS)
        texts.append("".join(rng.choice(alphabet) for _ in range(rng.randint(2, 40))))
    everything = assigned()
    small = [c for c in everything if c < 0x3000]
    for i in range(extra):
        pool = small if i % 2 else everything
        texts.append("".join(chr(rng.choice(pool)) + rng.choice(["", "", " ", "a", "1", "\n", "X"]) for _ in range(rng.randint(2, 20))))
    return texts


def escape(text):
    names = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
    return "".join(names.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):X}}}") for c in text)


def header(file, what):
    import tokenizers

    file.write(f"# {what}\n# scripts/make_tokenizer_golden.py, tokenizers {tokenizers.__version__}\n")


def write_splits(path):
    texts = corpus(50)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        header(file, "T text, then for each family (F name) a line per text: the byte length of each piece")
        for text in texts:
            file.write("T " + escape(text) + "\n")
        for name, expressions in FAMILIES.items():
            splitter = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(e), "isolated") for e in expressions])
            file.write(f"F {name}\n")
            for text in texts:
                pieces = [piece for piece, _ in splitter.pre_tokenize_str(text)]
                assert "".join(pieces) == text
                file.write(" ".join(str(len(piece.encode())) for piece in pieces) + "\n")


def write_ids(file, tokenizer, texts):
    for text in texts:
        for mode, literal in (("s", False), ("p", True)):
            tokenizer.encode_special_tokens = literal
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            if mode == "p" and ids == last:
                continue
            file.write(f"{mode} {escape(text)}\t{' '.join(map(str, ids))}\n")
            last = ids


def write_smollm(model, path):
    from gguf import GGUFReader

    fields = GGUFReader(model).fields

    def strings(key):
        field = fields[key]
        return [bytes(field.parts[i]).decode() for i in field.data]

    tokens = strings("tokenizer.ggml.tokens")
    kinds = [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
    merges = [tuple(m.split(" ")) for m in strings("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    # As in SmolLM2's own tokenizer.json.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t, k in zip(tokens, kinds) if k == 3])
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t, k in zip(tokens, kinds) if k == 4])
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        header(file, "s: special tokens parsed, p: not (only where it differs); text, tab, ids")
        write_ids(file, tokenizer, corpus(150))


def write_small(path):
    """256 bytes, 600 merges, two special tokens and one that always matches; NFC and Qwen's words."""
    texts = corpus(60)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(R1), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=856, min_frequency=1, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(texts + [open(__file__, encoding="utf-8").read()], trainer)
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ("<|im_start|>", "<|im_end|>")])
    tokenizer.add_tokens([AddedToken("<div", normalized=False)])
    import json

    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = tokenizer.get_vocab()
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        header(file, "V token (c control, u user-defined, n normal); M merge; s/p text, tab, ids")
        for text, index in sorted(vocabulary.items(), key=lambda item: item[1]):
            kind = "u" if text == "<div" else "c" if text.startswith("<|") and text.endswith("|>") else "n"
            file.write(f"V{kind} {text}\n")
        for merge in model["merges"]:
            file.write("M " + (merge if isinstance(merge, str) else " ".join(merge)) + "\n")
        write_ids(file, tokenizer, texts)


def write_nfc(path):
    rng = random.Random(7)
    marks = [c for c in assigned() if unicodedata.combining(chr(c))]
    parts = [c for c in assigned() if unicodedata.decomposition(chr(c)) and not unicodedata.decomposition(chr(c)).startswith("<")]
    bases = [ord(c) for c in "AaEeOoUuIiqZ"] + parts
    jamo = list(range(0x1100, 0x1113)) + list(range(0x1161, 0x1176)) + list(range(0x11A7, 0x11C3)) + [0xAC00, 0xAC01, 0xD7A3]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"# text, tab, NFC; scripts/make_tokenizer_golden.py, Unicode {unicodedata.unidata_version}\n")
        for i in range(400):
            pools = [jamo] if i % 10 == 0 else [marks, marks, bases, parts]
            text = "".join(chr(rng.choice(rng.choice(pools))) for _ in range(rng.randint(1, 12)))
            if i % 3 == 0:
                text = unicodedata.normalize("NFD", text)
            codes = lambda t: " ".join(f"{ord(c):X}" for c in t)  # noqa: E731
            file.write(f"{codes(text)}\t{codes(unicodedata.normalize('NFC', text))}\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "splits":
        write_splits(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "smollm":
        write_smollm(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 3 and sys.argv[1] == "small":
        write_small(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "nfc":
        write_nfc(sys.argv[2])
    else:
        sys.exit(__doc__)
