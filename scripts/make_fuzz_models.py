#!/usr/bin/env python3
"""The smallest models of every architecture, for the fuzzer of model files to start from.

The families of make_golden.py and make_encoder_golden.py with a handful of channels and tokens and without a tokenizer: some
kilobytes each. Output: tests/models/fuzz/corpus_model/NAME.gguf. Run by hand; what it writes is committed.

    python scripts/make_fuzz_models.py

Needs: torch, transformers, gguf, numpy.
"""
import pathlib

import torch
from golden import encoders, latent, mixtures, relatives, tiny
from make_golden import MODELS

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "fuzz" / "corpus_model"

SMALL = dict(d=8, ff=8, layers=1, heads=2, kv=1, dim=4)
TWO = dict(SMALL, layers=2)
ENCODER = dict(d=8, ff=8, layers=1, heads=2)
CAPS = dict(attn_logit_softcapping=3.0, final_logit_softcapping=4.0)
ROPES = dict(sliding_attention={"rope_type": "default", "rope_theta": 500.0},
             full_attention={"rope_type": "default", "rope_theta": 1e5})
GROUPS = dict(n_group=2, topk_group=1, routed_scaling_factor=2.0)
GROUP_KEYS = dict(expert_group_count=2, expert_group_used_count=1, expert_weights_scale=2.0)
# What each has in place of the golden model's own.
MODELS_TO_MAKE = {
    "llama_yarn": SMALL,
    "qwen2_tiny": SMALL,
    "qwen3_tiny": SMALL,
    "mixtral_tiny": dict(SMALL, keys={"expert_count": 3, "expert_used_count": 2},
                         config=dict(num_local_experts=3, num_experts_per_tok=2, sliding_window=None)),
    "qwen3moe_tiny": dict(SMALL, **mixtures.qwen3(3, 2, 4)),
    "qwen2moe_tiny": dict(SMALL, keys=relatives.expert_keys(3, 2, 4, 4),
                          config=dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=4, shared_expert_intermediate_size=4)),
    "gemma2_tiny": dict(TWO, config=relatives.gemma(4, "SG", **CAPS)),
    "gemma3_pattern": dict(TWO, config=relatives.gemma(16, "SG", rope_parameters=ROPES)),
    "phi3_short": dict(SMALL, d=24, dim=12),
    "olmo2_tiny": SMALL,
    "granite_biases": SMALL,
    "granite_shared": dict(SMALL, keys={**relatives.GRANITE_KEYS, **relatives.expert_keys(3, 2, 8, 4)},
                           config=dict(relatives.GRANITE_NUMBERS, num_local_experts=3, num_experts_per_tok=2, shared_intermediate_size=4)),
    "glm4_plain": dict(SMALL, dim=16),
    "gptoss_tiny": dict(TWO, config=relatives.oss("SG", 3, 2), keys=relatives.oss_keys(3, 2, 8)),
    "gptoss_fp4": dict(SMALL, d=32, ff=32, config=relatives.oss("S", 2, 1), keys=relatives.oss_keys(2, 1, 32)),
    "deepseek2_groups": dict(TWO, kv=2, dim=latent.NOPE + latent.ROPE,
                             config=latent.latent(4, 1, 4, 1, q_rank=4, topk_method="group_limited_greedy", **GROUPS),
                             keys={**latent.latent_keys(4, 1, 4, 1, q_rank=4, **GROUP_KEYS),
                                   "attention.key_length": latent.NOPE + latent.ROPE, "attention.value_length": latent.VALUE,
                                   "attention.head_count_kv": 2, "attention.key_length_mla": None, "attention.value_length_mla": None}),
    "deepseek3_tiny": dict(TWO, kv=2, dim=latent.NOPE + latent.ROPE,
                           config=latent.latent(4, 2, 4, 1, q_rank=4, rope_parameters=latent.yarn(0.7), **GROUPS),
                           keys={**latent.latent_keys(4, 2, 4, 1, q_rank=4, expert_gating_func=2, expert_weights_norm=True, **GROUP_KEYS),
                                 **latent.yarn_keys(0.7)}),
    "gemma4_moe": dict(d=8, ff=8, pattern="SG", heads=2, kv=(2, 1), dim=(4, 8), experts=3, used=2, expert_ff=4),
    "gemma3n_tiny": dict(d=8, ff=8, pattern="SGS", heads=2, kv=(1, 1), dim=(4, 4), shared=1, ple=4, laurel=2, sparsity=(0.95, 0.0, 0.0),
                         keys={"attention.shared_kv_layers": 1.0}),
    "gemma4_ple": dict(d=8, ff=8, pattern="SGSG", heads=2, kv=(1, 1), dim=(4, 8), shared=2, ple=4),
    "bert_tiny": dict(ENCODER, config=dict(type_vocab_size=2, max_position_embeddings=8)),
    "bert_rerank": dict(ENCODER, config=dict(type_vocab_size=2, max_position_embeddings=8)),
    "nomic_tiny": dict(ENCODER, config=dict(type_vocab_size=2, max_position_embeddings=8)),
    "qwen3_rerank": dict(SMALL, label_tokens=(3, 4)),
    "gemma_tiny": SMALL,
    "olmo3_tiny": dict(TWO, **relatives.olmo3("SG")),
}


def main():
    tiny.VOCAB = 7
    tiny.add_tokenizer = encoders.add_word_pieces = lambda *_: None
    encoders.word_pieces = lambda: [""] * tiny.VOCAB
    models = {**MODELS, **{name: (encoders, m) for name, m in encoders.MODELS.items()}}
    for index, (name, changes) in enumerate(MODELS_TO_MAKE.items()):
        family, m = models[name]
        torch.manual_seed(0)
        m = {**m, **changes}
        path = OUT / f"{name}.gguf"
        family.write_gguf(path, m, family.build(m, seed=1 + index))
        print(f"{name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
