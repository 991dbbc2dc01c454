#!/usr/bin/env python3
"""What Hugging Face's BERT tokenizer makes of texts with a part of a real vocabulary (run by hand, output committed).

  make_word_piece_golden.py VOCABULARY.gguf OUTPUT       VOCABULARY: a GGUF file of a BERT model (uncased English)

The part: pieces of one character, every piece that the texts need with the whole vocabulary, and some more at random. Lines: V token
(c control, k unknown, n normal), as in GGUF (U+2581 begins a word); then for each setting (M lowercase strip_accents) and text:
text, tab, ids without [CLS] and [SEP]. Only characters of Unicode 3.2 whose category never changed: `tokenizers` mixes tables of
several ages. Texts and escapes are those of make_tokenizer_golden.py.
"""

import random
import sys
import unicodedata

from gguf import GGUFReader
from make_tokenizer_golden import ALPHABETS, HAND_MADE, corpus, escape
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

MARK = "\u2581"
MORE = [
    "HELLO Hello héllo HÉLLO naïve", "ÀÉÎÕÜ ǅ İstanbul ΑΣ ς σ", "ﬁ x\u0301y \u0301 a\u0327\u0301", "中文english混", "a\u200bb\ufeffc\u00add\u0085e\u000bf", "x" * 100, "x" * 101, "un" * 50, "un" * 51,
    "a" + "\u0301" * 120, "don't can't I'm", "$5+<=>^`|~ £5 ©® «»", "\u2581 \u2581a a\u2581", "[CLS] [MASK] [unused5]", "日本語カタカナひらがな", "\uf900 \U0002f800 \U0002b900 \U0002ba00", "한국어 각각",
]  # fmt: skip


def stable(text):
    old = unicodedata.ucd_3_2_0
    return all(old.category(c) == unicodedata.category(c) and old.category(c) != "Cn" or c in "\u2581" for c in text)


def texts():
    rng = random.Random(5)
    out = HAND_MADE + MORE + corpus(60)[-120:]
    for _ in range(100):
        alphabet = rng.choice(ALPHABETS + ["éÀüñÇ aE\u0301\u0323\u0302", "abcdefghij ABC-."])
        out.append("".join(rng.choice(alphabet) for _ in range(rng.randint(1, 30))))
    return [t for t in dict.fromkeys(out) if stable(t)]


def build(tokens, unknown, lowercase, strip):
    vocabulary = {}
    for index, (text, kind) in enumerate(tokens):
        if kind == "n":
            text = text[1:] if text.startswith(MARK) else "##" + text
        vocabulary.setdefault(text, index)
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def main():
    fields = GGUFReader(sys.argv[1]).fields
    names = {1: "n", 2: "k", 3: "c"}
    kinds = fields["tokenizer.ggml.token_type"]
    kinds = [names[int(kinds.parts[i][0])] for i in kinds.data]
    strings = fields["tokenizer.ggml.tokens"]
    whole = list(zip([bytes(strings.parts[i]).decode() for i in strings.data], kinds))
    rng = random.Random(6)
    tokenizer = build(whole, "[UNK]", True, True)
    need = {i for t in texts() for i in tokenizer.encode(t, add_special_tokens=False).ids}
    need |= {i for i, (t, k) in enumerate(whole) if t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused5]")}
    need |= {i for i, (t, k) in enumerate(whole) if len(t.removeprefix(MARK)) == 1 and ord(t[-1]) < 0x250}
    need |= set(rng.sample(range(len(whole)), 300))
    tokens = [whole[i] for i in sorted(need)]
    with open(sys.argv[2], "w", encoding="utf-8", newline="\n") as file:
        import tokenizers

        file.write(f"# scripts/make_word_piece_golden.py, tokenizers {tokenizers.__version__}\n")
        for text, kind in tokens:
            file.write(f"V{kind} {escape(text)}\n")
        for lowercase, strip in ((True, True), (False, False), (True, False), (False, True)):
            tokenizer = build(tokens, "[UNK]", lowercase, strip)
            file.write(f"M {int(lowercase)} {int(strip)}\n")
            for i, text in enumerate(texts()):
                if (lowercase and strip) or i % 4 == 0 or text in MORE:
                    ids = tokenizer.encode(text, add_special_tokens=False).ids
                    file.write(f"s {escape(text)}\t{' '.join(map(str, ids))}\n")


if __name__ == "__main__":
    main()
