#!/usr/bin/env python3
"""LoRA adapters go through `ingle convert --base`, and llama.cpp and PEFT give the same logits with them.

For each of the tiny models of make_hf_folders.py: a folder as PEFT saves it, written with safetensors alone, with an A and a B of
seeded random numbers for every matrix that PEFT knows as a module, the embedding and the output among them. Model and adapter
are converted to f32, and ingle (--exact) continues a prompt with the likeliest token 32 times. transformers with the peft package
reads both folders: its logits must be ingle's to 1e-5 of the largest. llama.cpp opens both files and reads the same tokens:
judged as check_converted.py judges. Without the adapter the logits must be others by far.

With --model FILE.gguf (a Llama) also, without peft, that model decoded to f32; without NAMEs it alone.

Needs what check_converted.py needs, torch, transformers, safetensors and peft (0.21.2 was used). `ninja ingle greedy_logits`
builds what it asks ingle with.

    python scripts/check_adapters.py [--build build/release] [--model FILE.gguf] [NAME...]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.numpy

import check_converted
from check_converted import BOUND, COUNT, DATA, GELU_BOUND, QUANTIZED_BOUND, REFUSED

RANK, ALPHA, PEFT_BOUND, LEAST_CHANGE = 3, 5.0, 1e-5, 0.03
# Tried one by one: those of o_proj and of the feed-forward blocks are applied.
LATENT = "in DeepSeek it does not apply those of q_a_proj, q_b_proj, kv_a_proj_with_mqa, and of the embedding or the output"
NOT_APPLIED = {"deepseek2_groups": LATENT, "deepseek3_tiny": LATENT}
PARTS = ("q_proj k_proj v_proj o_proj qkv_proj q_a_proj q_b_proj kv_a_proj_with_mqa gate_proj up_proj down_proj gate_up_proj "
         "w1 w2 w3 embed_tokens lm_head").split()


def modules_of(folder):
    """Names and shapes [out, in], of an output that is the embedding, too; and whether it is."""
    modules = {}
    for file in folder.glob("*.safetensors"):
        with safetensors.safe_open(file, "np") as tensors:
            for key in tensors.keys():
                shape, name = tensors.get_slice(key).get_shape(), key.removesuffix(".weight")
                if name != key and name.split(".")[-1] in PARTS and len(shape) == 2 and "vision" not in name:
                    modules[name] = shape
    tied = "lm_head" not in modules
    modules.setdefault("lm_head", next(shape for name, shape in modules.items() if name.endswith("embed_tokens")))
    return modules, tied


def write_adapter(folder, modules, seed, size=0.4):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    tensors = {}
    for name, (out, columns) in modules.items():
        of = f"base_model.model.{name}."
        if name.endswith("embed_tokens"):
            tensors[of + "lora_embedding_A"] = draw(RANK, out)
            tensors[of + "lora_embedding_B"] = draw(columns, RANK) * (size / RANK)
        else:
            tensors[of + "lora_A.weight"] = draw(RANK, columns) / np.float32(columns ** 0.5)
            tensors[of + "lora_B.weight"] = draw(out, RANK) * (size / RANK)
    folder.mkdir()
    safetensors.numpy.save_file({key: np.ascontiguousarray(t, np.float32) for key, t in tensors.items()},
                                folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA, "bias": "none",
              "target_modules": sorted({name.split(".")[-1] for name in modules})}
    (folder / "adapter_config.json").write_text(json.dumps(config))


def by_peft(model_folder, adapter_folder, tokens, first):
    import peft
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    base = transformers.AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32, attn_implementation="eager")
    model = peft.PeftModel.from_pretrained(base, adapter_folder).eval()
    loaded = peft.get_peft_model_state_dict(model, save_embedding_layers=False)
    written = safetensors.numpy.load_file(adapter_folder / "adapter_model.safetensors")
    assert loaded.keys() == written.keys() and all((loaded[key].numpy() == written[key]).all() for key in written)
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0, first:].numpy()


def ingle_rows(args, files, count, out, tokens):
    command = [args.build / "tests" / "greedy_logits", files, count, out, *tokens]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return [int(i) for i in run.stdout.split()], np.fromfile(out, dtype="<f4").reshape(count, -1)


def ingle(args, *words):
    subprocess.run([str(args.build / "ingle"), *map(str, words)], check=True, capture_output=True)


def relative(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def against_llama(args, model, adapter, prompt, folder, bound):
    """What is wrong, or None."""
    wrong = check_converted.compare(args, model, prompt, folder, bound, adapter)
    _, plain = ingle_rows(args, model, 1, folder / "plain.f32", prompt)
    _, adapted = ingle_rows(args, f"{model}+{adapter}", 1, folder / "adapted.f32", prompt)
    changed = relative(adapted, plain)
    return wrong or (f"the adapter changes the logits by {changed:.1e} of the largest only" if changed < LEAST_CHANGE else None)


def against_peft(args, model, adapter, prompt, folder):
    """What is wrong, or None. `folder` has the folders that both files were made of."""
    ids, ours = ingle_rows(args, f"{model}+{adapter}", COUNT, folder / "adapted.f32", prompt)
    difference = relative(ours, by_peft(folder / "model", adapter.with_suffix(""), prompt + ids[:-1], len(prompt) - 1))
    print(f"  peft: logits differ by {difference:.1e} of the largest", flush=True)
    return None if difference <= PEFT_BOUND else f"peft's logits differ by {difference:.1e} of the largest"


def make_adapter(args, folder, model, modules, seed, size=0.4):
    write_adapter(folder, modules, seed, size)
    file = folder.with_suffix(".gguf")
    ingle(args, "convert", folder, file, "--base", model, "--type", "f32")
    return file


def check(args, name, folder, seed):
    """A list of what is wrong."""
    check_converted.changed_copy(name, folder / "model")
    model = folder / f"{name}.gguf"
    ingle(args, "convert", folder / "model", model, "--type", "f32")
    modules, tied = modules_of(folder / "model")
    whole = make_adapter(args, folder / "whole", model, modules, seed)
    prompt = check_converted.prompt_of(133, 20)
    failed = []
    if any(".experts." in module for module in modules):
        print("  no peft: transformers keeps experts in one parameter")
    else:
        failed.append(against_peft(args, model, whole, prompt, folder))
    if name in REFUSED or name in NOT_APPLIED:
        print(f"  no llama.cpp: {REFUSED.get(name) or NOT_APPLIED[name]}")
    else:
        for_llama = whole
        if tied:  # it gives the output the adapter of the embeddings, and ends where the shapes do not fit
            inner = {module: shape for module, shape in modules.items() if module.split(".")[-1] not in ("embed_tokens", "lm_head")}
            for_llama = make_adapter(args, folder / "inner", model, inner, seed)
        bound = QUANTIZED_BOUND if name.endswith("_fp4") else GELU_BOUND if "gemma" in name else BOUND
        failed.append(against_llama(args, model, for_llama, prompt, folder, bound))
    return list(filter(None, failed))


def check_model(args, folder):
    """The same with a model that is a file."""
    import gguf

    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    modules, vocabulary = {}, 0
    for tensor in gguf.GGUFReader(args.model).tensors:
        parts, shape = tensor.name.split("."), [int(n) for n in reversed(tensor.shape)]
        if parts[0] == "blk" and parts[2] in names:
            modules[f"model.layers.{parts[1]}.{names[parts[2]]}"] = shape
        elif tensor.name == "token_embd.weight":
            vocabulary = shape[0]
    model = folder / f"{args.model.stem}.gguf"
    ingle(args, "quantize", args.model, model, "--type", "f32")
    adapter = make_adapter(args, folder / "adapter", model, modules, 1, size=0.1)
    wrong = against_llama(args, model, adapter, check_converted.prompt_of(vocabulary, 20), folder, BOUND)
    return [wrong] if wrong else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", type=pathlib.Path, default=check_converted.ROOT / "build" / "release")
    parser.add_argument("--model", type=pathlib.Path)
    args = parser.parse_args()
    tiny = sorted(f.name for f in DATA.iterdir() if not f.name.startswith("wrapped_"))
    names = args.names or ([] if args.model else tiny)
    failed = []
    for name in [*names, *([args.model.stem] if args.model else [])]:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            wrong = check(args, name, scratch, tiny.index(name)) if name in names else check_model(args, scratch)
        for text in wrong:
            print(f"  FAILED: {text}", flush=True)
        failed += [name] if wrong else []
    print("all good" if not failed else f"FAILED: {', '.join(failed)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
