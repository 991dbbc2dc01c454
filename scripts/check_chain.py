#!/usr/bin/env python3
"""A real model all the way: GGUF, Hugging Face folder in f32, `ingle convert`, `ingle quantize`, answers and perplexity.

SmolLM2-135M-Instruct (Q4_1) is decoded by transformers and saved as a folder, with the tokenizer.json its vocabulary
stands for. `ingle convert` makes f32, f16 and bf16 files of it, `ingle quantize` Q8_0, Q4_K_M and Q4_0 of the f16 one. For
each: token ids of texts and rendered conversations must be the original's; how many of the greedy tokens of
tests/models/data/smollm2_expected.json (transformers' in f32, ten conversations of 64) come before the first other one; what it
says is the capital of France; its perplexity on 16 windows of the licence texts of a Debian system. The f32 file must give
every token, and no other file may miss Paris. Prints a Markdown table.

Needs: torch, transformers, tokenizers, gguf. `ninja greedy_logits` builds what it asks ingle with. Takes some minutes.

    python scripts/check_chain.py [--model FILE.gguf] [--build build/release] [--folder SCRATCH]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import tokenizers
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
EXPECTED = ROOT / "tests" / "models" / "data" / "smollm2_expected.json"
LICENCES = pathlib.Path("/usr/share/common-licenses")
QUESTION = "What is the capital of France?"
TEXTS = ["README.md", "CHANGELOG.md", "scripts/make_tokenizer_golden.py", "src/text/unicode.h"]


def field(reader, key):
    return reader.get_field(key).contents()


def tokenizer_of(reader):
    """What the published tokenizer.json says: digits one by one, then words of bytes."""
    tokens = field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(m.split(" ")) for m in field(reader, "tokenizer.ggml.merges")]
    assert field(reader, "tokenizer.ggml.pre") == "smollm"
    t = tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    pre = tokenizers.pre_tokenizers
    t.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
    t.decoder = tokenizers.decoders.ByteLevel()
    control = [t for t, kind in zip(tokens, field(reader, "tokenizer.ggml.token_type")) if kind == gguf.TokenType.CONTROL]
    t.add_special_tokens([tokenizers.AddedToken(text, special=True, normalized=False) for text in control])
    role = lambda name: tokens[field(reader, f"tokenizer.ggml.{name}_token_id")]  # noqa: E731
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, bos_token=role("bos"), eos_token=role("eos"),
                                                unk_token=role("unknown"), pad_token=role("padding"),
                                                chat_template=field(reader, "tokenizer.chat_template"))


def save_folder(path, folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32)
    model.save_pretrained(folder)
    tokenizer_of(gguf.GGUFReader(path)).save_pretrained(folder)


class Chain:
    def __init__(self, build):
        self.build = build
        self.answers = json.loads(EXPECTED.read_text())["answers"]

    def ingle(self, *words):
        command = [str(self.build / "ingle"), *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def ids(self, model):
        texts = [self.ingle("tokenize", model, "-f", ROOT / text, "--ids") for text in TEXTS]
        for answer in self.answers:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(answer["messages"], file)
                file.flush()
                rendered = self.ingle("template", model, "-f", file.name, "--ids")
            if [int(i) for i in rendered.split()] != answer["prompt"]:
                sys.exit(f"{model}: a conversation is rendered differently: {answer['messages'][-1]['content'][:40]}")
            texts.append(rendered)
        return texts

    def same_tokens(self, model, scratch):
        same = 0
        for answer in self.answers:
            wanted = answer["generated"]
            command = [self.build / "tests" / "greedy_logits", model, len(wanted), scratch / "logits", *answer["prompt"]]
            given = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.split()
            equal = [int(a) == b for a, b in zip(given, wanted)]
            same += equal.index(False) if False in equal else len(wanted)
        return same, sum(len(a["generated"]) for a in self.answers)

    def row(self, name, model, text, scratch):
        answer = json.loads(self.ingle("run", model, "-p", QUESTION, "--temp", 0, "-n", 32, "--json"))["text"]
        same, of = self.same_tokens(model, scratch)
        perplexity = json.loads(self.ingle("perplexity", model, "-f", text, "--chunks", 16, "--json"))["perplexity"]
        says = "Paris" if "Paris" in answer else answer[:30]
        print(f"| {name} | {model.stat().st_size / 1e6:.1f} | {same} of {of} | {says} | {perplexity:.4f} |", flush=True)
        return same == of, says == "Paris"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=CACHE / "ingle" / "models" / "smollm2-135m-instruct.gguf")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--folder", help="where the files are written for a while")
    args = parser.parse_args()
    torch.set_num_threads(1)
    chain = Chain(args.build)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        scratch = pathlib.Path(folder)
        text = scratch / "text"
        text.write_bytes(b"".join(f.read_bytes() for f in sorted(LICENCES.iterdir()) if not f.is_symlink()))
        save_folder(args.model, scratch / "folder")
        files = [("the original, Q4_1", args.model)]
        for kind in ("f32", "f16", "bf16"):
            files.append((f"convert to {kind}", scratch / f"{kind}.gguf"))
            chain.ingle("convert", scratch / "folder", files[-1][1], "--type", kind)
        for kind in ("q8_0", "q4_k_m", "q4_0"):
            files.append((f"quantize to {kind}", scratch / f"{kind}.gguf"))
            chain.ingle("quantize", scratch / "f16.gguf", files[-1][1], "--type", kind)
        print("| file | MB | greedy tokens as transformers' | capital | perplexity |\n| --- | --- | --- | --- | --- |")
        first = chain.ids(args.model)
        for name, model in files:
            if chain.ids(model) != first:
                sys.exit(f"{name}: token ids are not the original's")
            all_same, paris = chain.row(name, model, text, scratch)
            if not paris or ("f32" in name and not all_same):
                sys.exit(f"{name}: FAILED")
    print("token ids of texts and conversations are the original's in all of them")


if __name__ == "__main__":
    main()
