#!/usr/bin/env python3
"""LoRA adapters for some of the golden models, and the logits that the models give with them.

An adapter is two random matrices for every matrix of a model. The logits are those of its transformers implementation whose
weights were changed, W + scale * B A, in float32; they must agree with float64. Output: tests/models/lora/MODEL.one.gguf and
MODEL.two.gguf, MODEL.logits (float32, little-endian: of every position of the prompt, first with `one` alone, then with both,
each times a scale) and lora.json. What the first adapter is as the PEFT library would save it: tests/convert/peft/MODEL.

Needs what make_golden.py needs, and its output. Run by hand; what it writes is committed.

    python scripts/make_lora_golden.py [MODEL...]
"""
import argparse
import json
import re

import gguf
import numpy as np
import safetensors.numpy
import torch

import make_golden
from golden import mixtures
from golden.tiny import VOCAB

OUT = make_golden.OUT.parent / "lora"
PEFT_OUT = make_golden.OUT.parent.parent / "convert" / "peft"

# The scales of `one` and `two` when both are in force; alone, `one` has 1.
SCALES = (0.5, 1.25)
# rank, alpha, and how numbers are stored.
ADAPTERS = {"one": (3, 5.0, np.float32), "two": (4, 0.0, np.float16)}

# seed: of the first hundred, the one whose choice of experts is clearest (see golden/mixtures.py); any, without experts.
MODELS = {"llama_wide": 1, "llama_tied": 1, "phi3_short": 1, "gemma3_tiny": 1, "qwen3moe_tiny": 1, "deepseek2_groups": 1,
          "gptoss_tiny": 1}

PEFT_MODELS = ("llama_wide", "qwen3moe_tiny")

PARTS = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "attn_qkv": "self_attn.qkv_proj", "attn_q_a": "self_attn.q_a_proj", "attn_q_b": "self_attn.q_b_proj",
         "attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa", "attn_kv_b": "self_attn.kv_b_proj", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "ffn_gate_shexp": "mlp.shared_experts.gate_proj",
         "ffn_up_shexp": "mlp.shared_experts.up_proj", "ffn_down_shexp": "mlp.shared_experts.down_proj"}


def unpermute(w, heads):
    """From adjacent pairs back to halves: what golden/llama.py's permute() undoes."""
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def change(model, m, name, delta):
    """Adds to the parameter that became this tensor of the file what the file's matrix gets."""
    parameters = dict(model.named_parameters())
    if name == "token_embd.weight":  # the table alone: an output matrix that is tied to it stays
        if m.get("tied"):
            model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
        target = model.model.embed_tokens.weight
    elif name == "output.weight":
        target = model.lm_head.weight
    else:
        _, layer, part, _ = name.split(".")
        of = f"model.layers.{layer}."
        if part.endswith("_exps"):
            target = parameters[of + "mlp.experts." + ("down_proj" if part == "ffn_down_exps" else "gate_up_proj")]
            oss = m["arch"] == "gpt-oss"
            if oss:
                delta = delta.swapaxes(1, 2)
            half = target.shape[-1 if oss else 1] // 2
            if part != "ffn_down_exps":
                whole = np.zeros(target.shape)
                first = part == "ffn_gate_exps"
                if oss:
                    whole[:, :, 0 if first else 1::2] = delta
                else:
                    whole[:, :half] = delta if first else 0
                    whole[:, half:] = 0 if first else delta
                delta = whole
        else:
            hf = "mlp.gate_up_proj" if part == "ffn_up" and of + "mlp.gate_up_proj.weight" in parameters else PARTS[part]
            target = parameters[of + hf + ".weight"]
            if m["arch"] == "llama" and part in ("attn_q", "attn_k"):
                delta = unpermute(delta, m["heads"] if part == "attn_q" else m["kv"])
    with torch.no_grad():
        target += torch.from_numpy(np.ascontiguousarray(delta)).to(target.dtype)


def draw(base, seed):
    """For each adapter its tensors, by the name of the file's tensor: (A, B)."""
    adapters = {}
    for index, (adapter, (rank, _, store)) in enumerate(ADAPTERS.items()):
        rng = np.random.default_rng(100 * seed + index)
        pairs = {}
        for tensor in base.tensors:
            shape = tuple(int(n) for n in reversed(tensor.shape))
            if len(shape) < 2 or "ffn_gate_inp" in tensor.name or not tensor.name.endswith(".weight"):
                continue
            table = tensor.name == "token_embd.weight"
            *count, out, inputs = shape[::-1] if table else shape
            a = rng.standard_normal((*count, rank, inputs)) / np.sqrt(1 if table else inputs)
            b = rng.standard_normal((*count, out, rank)) * 0.4 / rank
            pairs[tensor.name] = tuple((x.T if table and x is a else x).astype(store) for x in (a, b))
        if "output.weight" not in pairs:  # of a tied matrix: an adapter of its own
            out, inputs = VOCAB, pairs["token_embd.weight"][1].shape[0]
            pairs["output.weight"] = ((rng.standard_normal((rank, inputs)) / np.sqrt(inputs)).astype(store),
                                      (rng.standard_normal((out, rank)) * 0.4 / rank).astype(store))
        adapters[adapter] = pairs
    return adapters


def apply(model, m, adapters, scales):
    for (name, pairs), scale in zip(adapters.items(), scales):
        rank, alpha, _ = ADAPTERS[name]
        scale *= alpha / rank if alpha else 1
        for tensor, (a, b) in pairs.items():
            a, b = a.astype(np.float64), b.astype(np.float64)
            delta = a @ b.T if tensor == "token_embd.weight" else b @ a
            change(model, m, tensor, scale * delta)


def write(path, arch, name, pairs):
    w = gguf.GGUFWriter(path, arch)
    w.add_type("adapter")
    w.add_name(f"golden {path.stem}")
    w.add_string("adapter.type", "lora")
    w.add_float32("adapter.lora.alpha", ADAPTERS[name][1])
    for tensor, (a, b) in pairs.items():
        w.add_tensor(f"{tensor}.lora_a", np.ascontiguousarray(a))
        w.add_tensor(f"{tensor}.lora_b", np.ascontiguousarray(b))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_peft(folder, m, name, pairs):
    """Names and layouts as in the checkpoint: an expert's matrices by themselves, q and k in halves."""
    rank, alpha, _ = ADAPTERS[name]
    tensors = {}
    for tensor, (a, b) in pairs.items():
        if tensor == "token_embd.weight":
            tensors["base_model.model.model.embed_tokens.lora_embedding_A"] = a.T
            tensors["base_model.model.model.embed_tokens.lora_embedding_B"] = b
            continue
        modules = {"base_model.model.lm_head": (a, b)}
        if tensor != "output.weight":
            _, layer, part, _ = tensor.split(".")
            of = f"base_model.model.model.layers.{layer}."
            if part.endswith("_exps"):
                modules = {f"{of}mlp.experts.{e}.{part.removeprefix('ffn_').removesuffix('_exps')}_proj": (a[e], b[e])
                           for e in range(len(a))}
            else:
                if m["arch"] == "llama" and part in ("attn_q", "attn_k"):
                    b = unpermute(b, m["heads"] if part == "attn_q" else m["kv"])
                modules = {of + PARTS[part]: (a, b)}
        for module, (module_a, module_b) in modules.items():
            tensors[module + ".lora_A.weight"], tensors[module + ".lora_B.weight"] = module_a, module_b
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file({key: np.ascontiguousarray(t) for key, t in tensors.items()},
                                folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": alpha, "bias": "none", "use_dora": False,
              "use_rslora": False, "fan_in_fan_out": False, "modules_to_save": None, "rank_pattern": {}, "alpha_pattern": {}}
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these models")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    listing = OUT / "lora.json"
    golden = json.loads(listing.read_text()) if listing.exists() else {"models": {}}
    golden["made_by"] = f"scripts/make_lora_golden.py with torch {torch.__version__}; random weights, no training data"
    golden["scales"] = list(SCALES)
    prompts = json.loads((make_golden.OUT / "golden.json").read_text())["models"]
    for name, seed in MODELS.items():
        if args.names and name not in args.names:
            continue
        family, m = make_golden.MODELS[name]
        adapters = draw(gguf.GGUFReader(make_golden.OUT / f"{name}.gguf"), seed)
        for adapter, pairs in adapters.items():
            write(OUT / f"{name}.{adapter}.gguf", m["arch"], adapter, pairs)
        if name in PEFT_MODELS:
            write_peft(PEFT_OUT / name, m, "one", adapters["one"])
        prompt = prompts[name]["prompts"][0][:40]
        rows, worst, gap = [], 0.0, np.inf
        for scales in ((1.0, 0.0), SCALES):
            torch.manual_seed(0)
            model = make_golden.build(name)
            apply(model, m, adapters, scales)
            with torch.no_grad():
                single = make_golden.logits_of(model, prompt, 0)
                with family.in_float64(model):
                    double = make_golden.logits_of(model, prompt, 0)
            worst = max(worst, float((np.abs(single - double).max(axis=1) / np.abs(double).max(axis=1)).max()))
            if m["arch"] == "qwen3moe":
                gap = min(gap, mixtures.closest_choice(model, [prompt]))
            rows.append(single)
        assert worst < 2 * family.FLOAT64_BOUND, (name, worst)
        (OUT / f"{name}.logits").write_bytes(np.concatenate(rows).astype("<f4").tobytes())
        golden["models"][name] = {"tokens": prompt, "float64_difference": worst}
        print(f"{name}: rms {np.sqrt((np.concatenate(rows) ** 2).mean()):.2f}, float64 differs by {worst:.1e}, closest choice {gap:.1e}")
    golden["models"] = {name: golden["models"][name] for name in MODELS if name in golden["models"]}
    text = json.dumps(golden, indent=1)
    listing.write_text(re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda innermost: json.dumps(json.loads(innermost[0])), text) + "\n")


if __name__ == "__main__":
    main()
