#!/usr/bin/env python3
"""Tiny models whose tokenizer is a tokenizer.model alone, for `ingle convert`, with all that may lie beside it.

Output: tests/convert/sentencepiece/NAME/, and NAME.json: texts and what SentencePiece makes of them. Run by hand; what it
writes is committed.

    python scripts/make_sentencepiece_folders.py

Needs: torch, transformers, sentencepiece.
"""
import json
import pathlib
import shutil
import tempfile

import sentencepiece
import torch
import transformers
from make_sentencepiece_golden import is_tie, texts, train

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "convert" / "sentencepiece"
MODELS = {
    # As Llama 2 has it: pairs, bytes for what is no piece, spaces as they are.
    "pairs": dict(model_type="bpe", vocab_size=520, byte_fallback=True, normalization_rule_name="identity",
                  remove_extra_whitespaces=False),
    "unigram": dict(rules=True),
}
README = """---
license: other
license_name: tiny-license
language:
- en
- de
tags: [tiny, "made up"]
---
# Tiny
"""


def save(name, options):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        proto = train(scratch, options)
    pieces = len(proto.pieces)
    config = transformers.LlamaConfig(vocab_size=pieces + 6, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                      num_attention_heads=2, tie_word_embeddings=True)
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).half().save_pretrained(folder)
    (folder / "tokenizer.model").write_bytes(proto.SerializeToString())
    write = lambda file, value: (folder / file).write_text(json.dumps(value, indent=1) + "\n")  # noqa: E731
    write("added_tokens.json", {"<pad>": pieces, "<extra>": pieces + 1})
    added = lambda text: dict(content=text, lstrip=False, normalized=False, rstrip=False, single_word=False, special=True)  # noqa: E731
    write("tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "add_bos_token": True,
                                    "added_tokens_decoder": {str(pieces + 2): added("<|user|>"), str(pieces + 3): added("<|tool|>")}})
    write("special_tokens_map.json", {"eos_token": {"content": "</s>"}, "pad_token": "<pad>"})
    write("generation_config.json", {"eos_token_id": [2, pieces + 2, pieces + 3], "do_sample": True, "temperature": 0.5,
                                     "min_p": 0.25, "repetition_penalty": 1.5})
    write("chat_template.json", {"chat_template": "{{ messages[0].content }}"})
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("{{ tools }}")
    (folder / "README.md").write_text(README)
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    rows = [[text, processor.encode(text)] for text in texts() if name == "pairs" or not is_tie(proto, processor, text)]
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(f"{name}: {pieces} pieces, {len(rows)} texts")


if __name__ == "__main__":
    for name, options in MODELS.items():
        save(name, options)
