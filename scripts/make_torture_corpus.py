#!/usr/bin/env python3
"""Writes the torture corpus: some 21,000 texts that tokenizers get wrong. Usage: make_torture_corpus.py OUTPUT.xz

The texts are the same at every run (fixed seeds, Unicode 14 as in Python 3.11). One per line, with \\n, \\r, \\t, \\\\ and
\\u{HEX} for what would hurt a line-based file. tests/text/hf_corpus_test.cpp and scripts/compare_tokenizer_json.py read it.
Left out are characters about which the two sides' Unicode tables differ in age; NEWER says which and why.
"""

import lzma
import random
import sys
import unicodedata

# Combining marks that Hugging Face's normaliser does not know (they came after its tables), so it does not sort them; and
# two characters whose category has changed since Unicode 14.
NEWER = [
    (0x07FD, 0x07FD), (0x0898, 0x089F), (0x08CA, 0x08D3), (0x09FE, 0x09FE), (0x0C3C, 0x0C3C), (0x0D3B, 0x0D3C), (0x0EBA, 0x0EBA),
    (0x1715, 0x1715), (0x1ABF, 0x1ACE), (0x1DF6, 0x1DFA), (0xA82C, 0xA82C), (0x10D24, 0x10D27), (0x10EAB, 0x10EAC),
    (0x10F46, 0x10F50), (0x10F82, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B), (0x1145E, 0x1145E), (0x11839, 0x1183A),
    (0x11938, 0x11938), (0x1193D, 0x1193E), (0x11943, 0x11943), (0x119E0, 0x119E0), (0x11A34, 0x11A34), (0x11A47, 0x11A47),
    (0x11A99, 0x11A99), (0x11D42, 0x11D42), (0x11D44, 0x11D45), (0x11D97, 0x11D97), (0x16FF0, 0x16FF1), (0x1E130, 0x1E136),
    (0x1E2AE, 0x1E2AE), (0x1E2EC, 0x1E2EF), (0x166D, 0x166D), (0x0295, 0x0295),
]  # fmt: skip

LATIN = "the of and to in a is that for it was on are as with his they at be this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know".split()
OTHER_WORDS = (
    "Привет мир как дела сегодня хорошо ёлка ЁЖИК съел Ελλάδα καλημέρα κόσμε ΟΔΥΣΣΕΥΣ σοφός Größe Straße MÜNCHEN façade naïve "
    "coöperate Ærøskøbing Łódź żółć İstanbul ISPARTA ışık Iğdır DİYARBAKIR çağ Việt Nam tiếng Đà Nẵng français où çà œuvre señor "
    "ñandú São João coração Ísland þetta ðaðan שלום עולם עִבְרִית مرحبا بالعالم العَرَبِيَّة فارسی می‌خواهم اردو नमस्ते दुनिया हिन्दी क्षत्रिय বাংলা "
    "ভাষা தமிழ் மொழி తెలుగు ಕನ್ನಡ മലയാളം සිංහල ไทย ภาษา ກຳລັງ བོད་སྐད မြန်မာ ភាសាខ្មែរ ქართული Հայերեն አማርኛ ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ монгол ᠮᠣᠩᠭᠣᠯ 中文 "
    "汉字 漢字 日本語 ひらがな カタカナ 한국어 한글 조합형 𠮷野家 𝒜𝓁𝑔𝑒𝒷𝓇𝒶 𝔉𝔯𝔞𝔨𝔱𝔲𝔯 ①② Ⅷ ½ x² ﬁne ﬃ Ａ１ ｶﾅ"
).split()  # fmt: skip
MARKS = [0x0300, 0x0301, 0x0302, 0x0303, 0x0308, 0x030A, 0x0316, 0x0323, 0x0327, 0x0328, 0x0334, 0x0338, 0x0345, 0x035D, 0x0360, 0x05B0, 0x05BC, 0x064B, 0x0651, 0x0670, 0x093C, 0x094D, 0x0E38, 0x0E48, 0x20D0, 0x20DD, 0x302A, 0x3099, 0xFE20]
EMOJI = "😀 😂 👍 👍🏽 👩 👨 👩‍👩‍👧‍👦 👨🏿‍🚀 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪 🇫🇷 🇯 🇺🇸🇬🇧 ❤️ ❤ ☃ ☃️ ✈️ 1️⃣ #️⃣ *⃣ 👁️‍🗨️ 🧑🏻‍🤝‍🧑🏿 🫠 ‍ ️ 🏽 ♀️ ♂ 💩 🤷🏾‍♀️ ©️ ™ ⌚ ☎︎".split(" ")
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\u00a0", "\u3000", "\u2003", "\u2028", "\u2029", "\u0085", "\u200b", "\ufeff", "\u1680", "\u202f", "\u180e", "\x0b", "\x0c", "\x1c", "\u2581", "\u2060"]
APOSTROPHES = ["'", "\u2019", "\u02bc", "`", "\u00b4", "\u2018", "\uff07", "\u2032"]
ENDINGS = "s t re ve m ll d S T RE VE M LL D Re rE \u017f \u017fs n't nt lL sx ' '' em".split(" ")
SPECIALS = (
    "<|im_start|> <|im_end|> <|endoftext|> <think> </think> <tool_call> </tool_call> <|vision_start|> <|object_ref_start|> <tool_response> "
    "<|startoftext|> <|return|> <|constrain|> <|channel|> <|start|> <|end|> <|message|> <|call|> <|endofprompt|> <|reserved_200000|> "
    "<bos> <eos> <pad> <unk> <mask> <start_of_turn> <end_of_turn> <start_of_image> <image_soft_token> <unused0> <unused99> <table> </td> "
    "<h1> <b> </code> [CLS] [SEP] [UNK] [MASK] [PAD] <s> </s> <0x0A> <0xFF> <|fim_prefix|> <|fim_suffix|> [INST] <<SYS>>"
).split()  # fmt: skip
CODE = [
    "def f(x):\n    return x**2  # square\n", "for (int i = 0; i < n; ++i) { a[i] += b[i]; }\r\n", "if x != y and not z:\n\tpass\n",
    "<div class=\"x\">&nbsp;</div>", "SELECT * FROM t WHERE a <> 'b';", "https://example.org/a?b=c&d=%20#e", "me@example.com",
    "x = {'a': [1, 2.5e-10, None], \"b\": (True,)}", "#include <vector>\n", "\\begin{align} \\frac{1}{2} &= x_1^2 \\\\ \\end{align}",
    "$HOME/.config/*.toml", "fn main() -> Result<(), Box<dyn Error>> {}", "```python\nprint(1)\n```", "| a | b |\n|---|---|\n", "0xDEADBEEF 0b1010 1_000",
    "git commit -m \"fix\" && git push --force", "/* ... */ // --- ===", "a->b::c<d>(e)[f]{g}", "@decorator\nclass A(B, metaclass=C): ...", "x?.y ?? z!", "snake_case camelCase PascalCase HTTPServer2Go kebab-case SCREAMING_CASE",
]  # fmt: skip


def usable():
    left_out = {c for first, last in NEWER for c in range(first, last + 1)}
    return [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs") and c not in left_out]


def blocks(rng, code_points):
    """Every stretch of 128 code points that has characters, alone and between ASCII."""
    by_block = {}
    for c in code_points:
        by_block.setdefault(c // 128, []).append(c)
    for number, members in sorted(by_block.items()):
        private = number * 128 >= 0xF0000
        if private and number % 64:
            continue
        cjk = 0x3400 <= number * 128 < 0xD800 or 0x17000 <= number * 128 < 0x18D00 or number * 128 >= 0x20000
        for i in range(1 if cjk else 5):
            picked = [chr(rng.choice(members)) for _ in range(rng.randint(2, 8))]
            yield "".join(picked) if i % 2 == 0 else "".join(p + rng.choice(["", " ", "a", "1", ".", "\n", "X", "'"]) for p in picked)


def controls():
    for c in list(range(0x20)) + list(range(0x7F, 0xA0)) + [0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFE), 0xFFFF, 0x1FFFE, 0x10FFFF, 0xE0001, 0xE0020, 0xFDD0]:
        for template in ("{}", "a{}b", " {} ", "1{}2", "{0}{0}", "é{}\n"):
            yield template.format(chr(c))


def marks(rng):
    bases = "aeiouAEIOnNsSyzxq1 .ßıİſŁø\u03b1\u0438\u05d0\u0628\u0915\u0e01\u3042\uac00\u1100漢"
    for base in bases:
        for _ in range(60):
            yield base + "".join(chr(rng.choice(MARKS)) for _ in range(rng.randint(1, 4))) + rng.choice(["", "b", " ", "1"])
    for _ in range(200):
        yield "".join(chr(rng.choice(MARKS)) for _ in range(rng.randint(1, 12)))


def jamo(rng):
    for _ in range(500):
        text = ""
        for _ in range(rng.randint(1, 4)):
            kind = rng.randrange(5)
            if kind < 3:
                text += chr(0x1100 + rng.randrange(0x1F)) + (chr(0x1161 + rng.randrange(0x1F)) if kind else "") + (chr(0x11A7 + rng.randrange(0x23)) if kind == 2 else "")
            elif kind == 3:
                text += chr(0xAC00 + rng.randrange(11172)) + rng.choice(["", chr(0x11A8 + rng.randrange(27)), "\u0301"])
            else:
                text += rng.choice([chr(0xA960 + rng.randrange(29)), chr(0xD7B0 + rng.randrange(23)), "ㄱㅏㄴ", "ﾡﾤ"])
        yield text


def joined(rng, n, alphabet, longest, glue=("",)):
    for _ in range(n):
        yield "".join(rng.choice(alphabet) + rng.choice(glue) for _ in range(rng.randint(1, longest)))


def sentences(rng, n, words):
    for _ in range(n):
        text = ""
        for _ in range(rng.randint(1, 12)):
            word = rng.choice(words)
            kind = rng.randrange(10)
            word = word.upper() if kind == 0 else word.title() if kind < 3 else word
            text += word + rng.choice([" "] * 8 + [", ", ". ", "! ", "-", "\n", "  ", "'s ", "\t"])
        yield text if rng.randrange(3) else text.strip()


def numbers(rng, n):
    digits = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗", "①②③④⑤", "ⅠⅡⅢⅣ", "¹²³⁴", "₀₁₂", "½¼¾⅓", "一二三十百"]
    for _ in range(n):
        text = ""
        for _ in range(rng.randint(1, 3)):
            pool = digits[0] if rng.randrange(3) else rng.choice(digits)
            text += "".join(rng.choice(pool) for _ in range(rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 12, 20])))
            text += rng.choice([",", ".", " ", "", "-", "e+", "%", "x", "/", ":", "\u202f", "_"])
        yield text


def contractions(rng, n):
    for _ in range(n):
        yield "".join(rng.choice(["I", "we", "it", "DON", "x1", "é", "日", "", " ", "\n", "'", "ſ"]) + rng.choice(APOSTROPHES) + rng.choice(ENDINGS) + rng.choice(["", " ", "x", "\n", "1", "."]) for _ in range(rng.randint(1, 3)))


def runs(rng):
    pieces = [" ", "\n", "\t", "\r\n", " \n", "\u3000", "\u00a0", "\u2581", "a", "A", "-", "=", "0", ".", "é", "の", "😀", "\u0301", "ab", "a ", "a b ", "1 ", "\t ", "'", "<", "</", "\u200d", "\ufffd", "aA", ". "]
    for piece in pieces:
        for count in (*range(2, 10), 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 100, 127, 128, 129, 300):
            yield piece * count
            yield rng.choice(["x", "\n", "1", " "]) + piece * count + rng.choice(["y", "\n", "9", "!"])


def specials(rng, n):
    for _ in range(n):
        text = ""
        for _ in range(rng.randint(1, 4)):
            token = rng.choice(SPECIALS)
            kind = rng.randrange(8)
            if kind == 0:
                token = token[: rng.randint(1, len(token))]
            elif kind == 1:
                token = token[rng.randint(0, len(token) - 1) :]
            elif kind == 2:
                at = rng.randint(0, len(token))
                token = token[:at] + rng.choice([" ", "\u200b", "|", "<", token, "\u0301"]) + token[at:]
            elif kind == 3:
                token = token.upper()
            text += token + rng.choice(["", "", " ", "\n", "x", "  \n", "\u00a0", "user\n", "▁"])
        yield text


def bidirectional(rng, n):
    controls_ = ["\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u2066", "\u2067", "\u2069", ""]
    words = "שָׁלוֹם עולם مُحَمَّد السلام 123 ١٢٣ abc (א) ـــ لا ﷺ".split()
    for _ in range(n):
        yield " ".join(rng.choice(controls_) + rng.choice(words) + rng.choice(controls_) for _ in range(rng.randint(1, 6)))


def corpus():
    rng = random.Random(20261130)
    everything = usable()
    small = [chr(c) for c in everything if c < 0x3000]
    texts = ["", " ", "a"]
    texts += blocks(rng, everything)
    texts += controls()
    texts += marks(rng)
    texts += jamo(rng)
    texts += joined(rng, 900, EMOJI, 6, ("", "", "", " ", "a"))
    texts += joined(rng, 900, SPACES, 8, ("", "", "x", "é", "1", "."))
    texts += sentences(rng, 2200, LATIN)
    texts += sentences(rng, 1800, LATIN + OTHER_WORDS * 3)
    texts += numbers(rng, 1300)
    texts += contractions(rng, 1300)
    texts += runs(rng)
    texts += specials(rng, 2200)
    texts += bidirectional(rng, 500)
    texts += joined(rng, 900, CODE, 3, ("", " ", "\n", "\n\n    ", "\t"))
    texts += joined(rng, 900, "abcAB 12.,'\n-_()[]{}<>=+*/&|!;:\"#@$%^~`\\?\t", 40)
    texts += joined(rng, 600, "iIıİ\u0307ßẞſKkÅå\u212a\u212bΣσςǅǆŉ\u0130 'S", 10)
    texts += joined(rng, 700, small, 10, ("", "", " ", "a"))
    return list(dict.fromkeys(texts))


def escape(text):
    out = ""
    for c in text:
        if c in "\n\r\t\\":
            out += {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}[c]
        elif ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029":
            out += f"\\u{{{ord(c):X}}}"
        else:
            out += c
    return out


def main():
    texts = corpus()
    data = "".join(escape(text) + "\n" for text in texts).encode()
    with open(sys.argv[1], "wb") as file:
        file.write(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(texts)} texts, {len(data)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
