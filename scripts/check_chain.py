#!/usr/bin/env python3
"""A real model all the way: GGUF, Hugging Face folder in f32, `ingle convert`, `ingle quantize`, answers and perplexity.

SmolLM2-135M-Instruct (Q4_1) is decoded and saved by transformers as a folder, with the tokenizer.json its vocabulary
stands for. `ingle convert` makes f32, f16 and bf16 files of it, whose numbers must be the folder's, bit for bit; `ingle
quantize` Q8_0, Q4_K_M and Q4_0 of the f16 one. For each: token ids of texts and rendered conversations must be the original's;
how many of the greedy tokens of tests/models/data/smollm2_expected.json (transformers' in f32, four conversations of 64) come
before the first other one; how many of 32 tokens llama.cpp would choose, too, where the others must be ties (see check_converted.py); what it says is the
capital of France by its defaults; its perplexity on 16 windows of 512 tokens of the licence texts of a Debian system. The f32
file must give every token, llama.cpp choose all of it, and the answer be Paris. Prints a Markdown table.

Needs: torch, transformers, tokenizers, gguf, safetensors, llama-cpp-python (0.3.36 was used). `ninja ingle greedy_logits`
builds what it asks ingle with. Takes some minutes.

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
import safetensors.torch
import tokenizers
import torch
import transformers

from check_converted import COUNT, agreement

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
EXPECTED = ROOT / "tests" / "models" / "data" / "smollm2_expected.json"
LICENCES = pathlib.Path("/usr/share/common-licenses")
QUESTION = "What is the capital of France? Answer in one word."
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


NAMES = {"token_embd": "embed_tokens", "output_norm": "norm", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


TYPES = {gguf.GGMLQuantizationType.F32: torch.float32, gguf.GGMLQuantizationType.F16: torch.float16,
         gguf.GGMLQuantizationType.BF16: torch.bfloat16}


def weights_of(reader):
    """Names of the folder, types of the file, numbers; rows of q and k from adjacent pairs to halves."""
    heads = {"attn_q": field(reader, "llama.attention.head_count"), "attn_k": field(reader, "llama.attention.head_count_kv")}
    for tensor in reader.tensors:
        t = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("float32")
        stem = tensor.name.removesuffix(".weight")
        block = ""
        if stem.startswith("blk."):
            _, layer, stem = stem.split(".")
            block = f"layers.{layer}."
        if stem in heads:
            t = t.reshape(heads[stem], -1, 2, t.shape[-1]).swapaxes(1, 2).reshape(t.shape)
        yield f"model.{block}{NAMES[stem]}.weight", tensor.tensor_type, torch.from_numpy(t.copy())


def check_numbers(path, folder):
    """Every number of the file is the folder's, rounded to the type it has in the file."""
    left = safetensors.torch.load_file(folder / "model.safetensors")
    for name, kind, numbers in weights_of(gguf.GGUFReader(path)):
        wanted = left.pop(name).to(TYPES[kind]).float()
        if not torch.equal(numbers.view(torch.int32), wanted.view(torch.int32)):
            sys.exit(f"{path.name}: {name} is not what the folder holds")
    if left:
        sys.exit(f"{path.name}: nothing of {', '.join(left)}")


def save_folder(path, folder):
    reader = gguf.GGUFReader(path)
    key = lambda name: field(reader, f"llama.{name}")  # noqa: E731
    config = transformers.LlamaConfig(
        vocab_size=len(field(reader, "tokenizer.ggml.tokens")), hidden_size=key("embedding_length"),
        intermediate_size=key("feed_forward_length"), num_hidden_layers=key("block_count"),
        num_attention_heads=key("attention.head_count"), num_key_value_heads=key("attention.head_count_kv"),
        rms_norm_eps=key("attention.layer_norm_rms_epsilon"), max_position_embeddings=key("context_length"),
        rope_parameters={"rope_type": "default", "rope_theta": key("rope.freq_base")}, tie_word_embeddings=True)
    model = transformers.LlamaForCausalLM(config)
    left = model.load_state_dict({name: numbers for name, _, numbers in weights_of(reader)}, strict=False)
    assert left.missing_keys == ["lm_head.weight"] and not left.unexpected_keys, left
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer_of(reader).save_pretrained(folder)


class Chain:
    def __init__(self, build):
        self.build = build
        self.answers = json.loads(EXPECTED.read_text())["answers"][:4]

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
        peer = agreement(self, model, self.answers[0]["prompt"], scratch)
        measured = self.ingle("perplexity", model, "-f", text, "-c", 512, "--chunks", 16, "--json")
        says = "Paris" if "Paris" in answer else f"{answer[:20]}..."
        print(f"| {name} | {model.stat().st_size / 1e6:.1f} | {same} of {of} | {peer.same} of {COUNT} | {peer.difference:.1e} | {says} "
              f"| {json.loads(measured)['perplexity']:.4f} |", flush=True)
        if peer.same + peer.ties != COUNT:
            sys.exit(f"{name}: llama.cpp chooses other tokens, and they are no ties")
        return same == of and peer.same == COUNT, says == "Paris"


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
        for name, model in files[1:4]:
            check_numbers(model, scratch / "folder")
        print("| file | MB | tokens as transformers' | as llama.cpp's | logits differ by | capital | perplexity |\n"
              "|---|---:|---:|---:|---:|---|---:|")
        first = chain.ids(args.model)
        for name, model in files:
            if chain.ids(model) != first:
                sys.exit(f"{name}: token ids are not the original's")
            all_same, paris = chain.row(name, model, text, scratch)
            if "f32" in name and not (all_same and paris):
                sys.exit(f"{name}: FAILED")
    print("numbers of the converted files are the folder's; token ids of texts and conversations are the original's in all files")


if __name__ == "__main__":
    main()
