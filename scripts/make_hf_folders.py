#!/usr/bin/env python3
"""The golden models of make_golden.py and make_encoder_golden.py as folders that transformers saved, for `ingle convert`.

Same weights, so a converted folder must give the logits (or rows, and scores) of tests/models/golden/. Matrices whose
numbers f16 holds exactly are kept in f16, everything else in f32; experts in MXFP4 are packed as gpt-oss publishes them.
wrapped_NAME is the model inside one that also sees. Output: tests/convert/data/NAME/, for encoders
tests/convert/encoders/NAME/. Run by hand; what it writes is committed.

    python scripts/make_hf_folders.py [--out FOLDER] [NAME...]

Needs: torch, transformers, tokenizers, safetensors, gguf.
"""
import argparse
import json
import pathlib
import shutil

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from safetensors.numpy import load_file, save_file

from golden import encoders, tiny
from make_golden import MODELS, build

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "convert"

# One of each kind that folders come in.
NAMES = ["llama_tied", "llama3_rope", "llama_yarn", "llama_biases", "mistral_window", "mixtral_tiny", "qwen2_tiny",
         "qwen3_tiny", "qwen3moe_tiny", "gemma4_ple", "gemma4_kv_equal", "gemma4_moe", "gemma2_tiny", "gemma3_tiny",
         "phi3_short", "olmo2_tiny", "granite_tiny", "granite_moe", "granite_shared", "glm4_tiny", "qwen2moe_tiny",
         "gptoss_tiny", "gptoss_fp4", "deepseek2_lite", "deepseek2_groups", "deepseek3_tiny", "deepseek3_flat",
         "gemma3n_tiny", "deepseek2_yarn", "gemma_tiny", "olmo3_tiny", "wrapped_gemma3_tiny", "wrapped_mistral_window"]


def word_piece_tokenizer(m):
    pieces = {p if p in encoders.CONTROL else p[1:] if p.startswith("▁") else f"##{p}": i
              for i, p in enumerate(encoders.word_pieces())}
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    t.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    t.decoder = tokenizers.decoders.WordPiece()
    t.add_special_tokens(encoders.CONTROL)
    marks = [(token, pieces[token]) for token in ("[CLS]", "[SEP]")]
    part = "[SEP] [SEP]" if m.get("first_position") else "[SEP]"
    t.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", f"[CLS] $A {part} $B:1 [SEP]:1", marks)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
                                                sep_token="[SEP]", mask_token="[MASK]")


def add_pooling(folder, m):
    """What sentence-transformers writes beside a model."""
    kinds = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
               for i, (kind, path) in enumerate(zip(kinds, paths))]
    (folder / "modules.json").write_text(json.dumps(modules, indent=1) + "\n")
    (folder / "1_Pooling").mkdir()
    flags = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken"}
    config = {"word_embedding_dimension": m["d"],
              **{f"pooling_mode_{flag}": which == m["pooling"] for which, flag in flags.items()}}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def built(name):
    torch.manual_seed(0)
    if name in encoders.MODELS:
        m = encoders.MODELS[name]
        return encoders.build(m, seed=5000 + list(encoders.MODELS).index(name)), m
    return build(name), MODELS[name][1]


EYES = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=8, patch_size=4)


def wrapped(text):
    """The language model inside one that also sees, with eyes that are tiny and random."""
    if isinstance(text, transformers.Gemma3ForCausalLM):
        config = transformers.Gemma3Config(text_config=text.config, vision_config=dict(EYES), mm_tokens_per_image=1)
        model = transformers.Gemma3ForConditionalGeneration(config)
    else:
        config = transformers.Mistral3Config(text_config=text.config, vision_config=dict(EYES, model_type="pixtral", head_dim=8),
                                             tie_word_embeddings=False)
        model = transformers.Mistral3ForConditionalGeneration(config)
        model.lm_head.load_state_dict(text.lm_head.state_dict())
    model.model.language_model.load_state_dict(text.model.state_dict())
    return model.float()


def packed(weights):
    """Experts as gpt-oss has them: scales apart, and in a byte the numbers 2i and 2i + 1 of a block (GGUF: i and i + 16)."""
    for key, t in weights.items():
        if ".experts." not in key or key.endswith("bias"):
            yield key, t
            continue
        rows = np.ascontiguousarray(t.swapaxes(1, 2), dtype=np.float32)
        blocks = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.MXFP4).reshape(*rows.shape[:2], -1, 17)
        pairs = blocks[..., 1:]
        numbers = np.concatenate([pairs & 15, pairs >> 4], axis=-1)
        yield f"{key}_blocks", numbers[..., 0::2] | numbers[..., 1::2] << 4
        yield f"{key}_scales", blocks[..., 0].copy()


def half_where_exact(t):
    half = t.astype(np.float16)
    return half if t.ndim > 1 and np.array_equal(half.astype(np.float32), t) else t


def save(name, folder):
    model, m = built(name.removeprefix("wrapped_"))
    if name.startswith("wrapped_"):
        model = wrapped(model)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    if name in encoders.MODELS:
        (encoders.fast_tokenizer(m) if encoders.is_decoder(m) else word_piece_tokenizer(m)).save_pretrained(folder)
        if not m.get("labels"):
            add_pooling(folder, m)
        if "readme" in m:
            (folder / "README.md").write_text(m["readme"])
    else:
        tiny.fast_tokenizer().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    weights, config = folder / "model.safetensors", folder / "config.json"
    kept = {key: half_where_exact(t) for key, t in load_file(weights).items()}
    if m.get("fp4_experts"):
        kept = dict(packed(kept))
        settings = {**json.loads(config.read_text()), "quantization_config": {"quant_method": "mxfp4"}}
        config.write_text(json.dumps(settings, indent=2) + "\n")
    save_file(kept, weights, metadata={"format": "pt"})
    weights.chmod(0o644)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    print(f"{name}: {json.loads(config.read_text())['architectures'][0]}, {size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES + list(encoders.MODELS), help="only these")
    parser.add_argument("--out", type=pathlib.Path, default=OUT)
    args = parser.parse_args()
    for name in args.names:
        save(name, args.out / ("encoders" if name in encoders.MODELS else "data") / name)


if __name__ == "__main__":
    main()
