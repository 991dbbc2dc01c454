"""Llama's relatives: Gemma 1 to 3, Phi 3, OLMo 2 and 3, Granite, GLM 4, Qwen 2 with experts, gpt-oss.

One residual stream, attention and a feed-forward block; what differs is which norms there are, how positions turn, and
what is multiplied by what. Each entry says what its configuration, its metadata and its tensor names have of their own.
"""
import math

import gguf
import numpy as np
import torch
import transformers
from torch.overrides import TorchFunctionMode

from golden import llama, tiny

MXFP4 = gguf.GGMLQuantizationType.MXFP4

FLOAT64_BOUND, in_float64 = llama.FLOAT64_BOUND, llama.in_float64

NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "mlp.gate": "ffn_gate_inp"}


def family(name, arch, **rest):
    """The classes and what goes with them. `names`: over those above. `unit_norms`: gains are stored less one. `head_dim` False:
    the configuration has no such setting. `draw`: numbers of some tensors, instead of those that draw() below gives."""
    return dict(kind=(getattr(transformers, f"{name}Config"), getattr(transformers, f"{name}ForCausalLM")), arch=arch, **rest)


GEMMA_NAMES = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"}
GEMMA = family("Gemma", "gemma", unit_norms=True)
GEMMA2 = family("Gemma2", "gemma2", names=GEMMA_NAMES, unit_norms=True)
GEMMA3 = dict(family("Gemma3", "gemma3", names=GEMMA_NAMES, unit_norms=True),
              kind=(transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM))


FUSED_NAMES = {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
PHI3 = family("Phi3", "phi3", names=FUSED_NAMES)
OLMO_NAMES = {"post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"}
OLMO2, OLMO3 = (family(name, "olmo2", names=OLMO_NAMES) for name in ("Olmo2", "Olmo3"))
GRANITE = family("Granite", "granite", adjacent=True)
GRANITE_MOE_NAMES = {"block_sparse_moe.router": "ffn_gate_inp", "shared_mlp.output_linear": "ffn_down_shexp"}
GRANITE_MOE = family("GraniteMoe", "granitemoe", adjacent=True, names=GRANITE_MOE_NAMES)
GRANITE_SHARED = family("GraniteMoeShared", "granitemoe", adjacent=True, names=GRANITE_MOE_NAMES)
GLM4 = family("Glm4", "glm4", names={**FUSED_NAMES, "post_self_attn_layernorm": "post_attention_norm",
                                     "post_mlp_layernorm": "post_ffw_norm"})
QWEN2_MOE = family("Qwen2Moe", "qwen2moe", names={
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp"})


def interleaved_experts(m, part, t):
    """[experts, inputs, outputs]; gate and up in turns."""
    kind = "bias" if part.endswith("bias") else "weight"
    if kind == "weight":
        t = t.swapaxes(1, 2)
    if part.startswith("down_proj"):
        return {f"ffn_down_exps.{kind}": t}
    return {f"ffn_gate_exps.{kind}": t[:, ::2], f"ffn_up_exps.{kind}": t[:, 1::2]}


def draw_interleaved(rng, m, name, shape):
    """[experts, inputs, outputs]; large enough to be clamped."""
    if ".experts." not in name:
        return None
    return rng.standard_normal(shape) * (5 if "gate_up" in name else 0.1) / math.sqrt(shape[1])


GPT_OSS = family("GptOss", "gpt-oss", draw=draw_interleaved, names={"post_attention_layernorm": "post_attention_norm", "mlp.router": "ffn_gate_inp"},
                 rewrites={"mlp.experts": interleaved_experts,
                           "self_attn": lambda m, part, t: {f"attn_{part}.weight": t}})


def layers(pattern):
    """S: sliding, G: everything is seen."""
    return dict(num_hidden_layers=len(pattern), layer_types=[{"S": "sliding_attention", "G": "full_attention"}[c]
                                                             for c in pattern])


def gemma(scalar, pattern, window=9, **rest):
    return dict(query_pre_attn_scalar=scalar, sliding_window=window, **layers(pattern), **rest)


def long_rope(short, far, original, longest, partial=1.0):
    """Factors for texts up to `original` and for longer ones."""
    return dict(max_position_embeddings=longest, original_max_position_embeddings=original,
                rope_parameters=dict(rope_type="longrope", short_factor=short, long_factor=far, rope_theta=10000.0,
                                     partial_rotary_factor=partial))


def factors(short, far):
    return {"rope_factors_short.weight": short, "rope_factors_long.weight": far}


PHI_SHORT, PHI_LONG = [1.0, 1.1, 1.5], [1.2, 2.5, 7.0]
PHI_FAR_SHORT, PHI_FAR_LONG = [1.0, 1.05, 1.1, 1.2, 1.5, 1.9], [1.3, 1.8, 2.5, 4.0, 9.0, 13.0]

GRANITE_NUMBERS = dict(embedding_multiplier=6.0, residual_multiplier=0.3, attention_multiplier=0.2, logits_scaling=5.0)
GRANITE_KEYS = {"embedding_scale": 6.0, "residual_scale": 0.3, "attention.scale": 0.2, "logit_scale": 5.0}


def expert_keys(count, used, ff=None, shared=None):
    return {"expert_count": count, "expert_used_count": used, "expert_feed_forward_length": ff,
            "expert_shared_feed_forward_length": shared}


def oss(pattern, experts, used):
    rope = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, rope_theta=1000.0, truncate=False,
                beta_fast=32.0, beta_slow=1.0)
    return dict(num_local_experts=experts, num_experts_per_tok=used, sliding_window=9, rope_parameters=rope,
                **layers(pattern))


def oss_keys(experts, used, ff):
    return {**expert_keys(experts, used, ff), "attention.sliding_window": 9, "rope.freq_base": 1000.0,
            "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64}


def olmo3(pattern):
    """Only layers that see everything turn by stretched positions. The file says what queries and keys grow by, which is what
    follows from the factor."""
    yarn = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, attention_factor=0.1 * math.log(4) + 1,
                original_max_position_embeddings=64, beta_fast=32.0, beta_slow=1.0)
    ropes = {"sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}, "full_attention": yarn}
    return dict(config=dict(sliding_window=9, rope_parameters=ropes, **layers(pattern)),
                keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": [c == "S" for c in pattern],
                      "rope.freq_base": 1000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": yarn["factor"],
                      "rope.scaling.attn_factor": yarn["attention_factor"], "rope.scaling.original_context_length": 64})


# seed: of those that choose experts it is the one of 300 whose last chosen and first rejected score are furthest apart where
# they are closest in any row of the prompts: a result that is only nearly the same must not choose another expert.
#
# window: shorter than the prompt. keys: None for one that is left out.
MODELS = {
    # Caps small enough to bend what they cap; the file leaves both out where they are the usual ones.
    "gemma2_tiny": dict(GEMMA2, d=24, ff=40, layers=4, heads=6, kv=2, dim=12, tied=True, window=9, prompts=(70, 9),
                        config=gemma(12, "SGSG", attn_logit_softcapping=3.0, final_logit_softcapping=4.0),
                        keys={"attention.sliding_window": 9, "attn_logit_softcapping": 3.0,
                              "final_logit_softcapping": 4.0}),
    "gemma2_usual": dict(GEMMA2, d=24, ff=40, layers=3, heads=2, kv=1, dim=20, tied=True, window=9, prompts=(19,),
                         config=gemma(20, "SGS"), keys={"attention.sliding_window": 9}),
    # As many layers as the model whose scores are scaled by the width and not by the head.
    "gemma2_scaled": dict(GEMMA2, d=8, ff=12, layers=46, heads=2, kv=1, dim=6, tied=True, window=9, prompts=(19,),
                          config=gemma(4, "SG" * 23), keys={"attention.sliding_window": 9}, damped=True),
    "gemma3_tiny": dict(GEMMA3, d=24, ff=40, layers=7, heads=6, kv=2, dim=12, tied=True, window=9, prompts=(70, 9),
                        config=gemma(12, "SSSSSGS", rope_parameters={
                            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}}),
                        keys={"attention.sliding_window": 9, "rope.freq_base": 1e6, "rope.scaling.type": "linear",
                              "rope.scaling.factor": 8.0}),
    # A pattern and a second base from the file, a scale of its own.
    "gemma3_pattern": dict(GEMMA3, d=24, ff=40, layers=4, heads=4, kv=4, dim=10, tied=True, window=9, prompts=(19,),
                           config=gemma(16, "SGSG", rope_parameters={
                               "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
                               "full_attention": {"rope_type": "default", "rope_theta": 1e5}}),
                           keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": 2, "rope.freq_base": 1e5,
                                 "rope.freq_base_swa": 500.0, "attention.scale": 0.25}),
    # Sessions of the tests hold 256 positions: fewer than these models were first trained with, and more.
    "phi3_short": dict(PHI3, d=48, ff=40, layers=2, heads=4, kv=2, dim=12, window=9, prompts=(70, 9),
                       config=dict(long_rope(PHI_SHORT, PHI_LONG, 512, 2048, partial=0.5), sliding_window=9),
                       keys={"context_length": 2048, "attention.sliding_window": 9, "rope.dimension_count": 6,
                             "rope.scaling.original_context_length": 512, "rope.scaling.attn_factor": 1.1055415967851332},
                       extra=factors(PHI_SHORT, PHI_LONG)),
    # The factor that queries and keys grow by is left to the reader.
    "phi3_long": dict(PHI3, d=36, ff=40, layers=2, heads=3, kv=1, dim=12, prompts=(70,),
                      config=long_rope(PHI_FAR_SHORT, PHI_FAR_LONG, 64, 256),
                      keys={"context_length": 256, "rope.scaling.type": "longrope",
                            "rope.scaling.original_context_length": 64},
                      extra=factors(PHI_FAR_SHORT, PHI_FAR_LONG)),
    "olmo2_tiny": dict(OLMO2, d=48, ff=40, layers=3, heads=6, kv=2, dim=8, prompts=(70, 9)),
    "olmo2_equal": dict(OLMO2, d=36, ff=40, layers=2, heads=3, kv=3, dim=12, tied=True, prompts=(19,)),
    "granite_tiny": dict(GRANITE, d=40, ff=56, layers=3, heads=4, kv=2, dim=10, tied=True, prompts=(70, 9),
                         config=GRANITE_NUMBERS, keys=GRANITE_KEYS),
    "granite_biases": dict(GRANITE, d=36, ff=40, layers=2, heads=3, kv=1, dim=12, prompts=(19,),
                           config=dict(GRANITE_NUMBERS, attention_bias=True, mlp_bias=True), keys=GRANITE_KEYS),
    "granite_moe": dict(GRANITE_MOE, seed=3223, d=40, ff=12, layers=2, heads=4, kv=2, dim=10, tied=True, prompts=(70, 9),
                        config=dict(GRANITE_NUMBERS, num_local_experts=7, num_experts_per_tok=3),
                        keys={**GRANITE_KEYS, **expert_keys(7, 3)}),
    "granite_shared": dict(GRANITE_SHARED, seed=3116, d=40, ff=12, layers=2, heads=4, kv=2, dim=10, tied=True, prompts=(19,),
                           config=dict(GRANITE_NUMBERS, num_local_experts=5, num_experts_per_tok=2,
                                       shared_intermediate_size=28), keys={**GRANITE_KEYS, **expert_keys(5, 2, 12, 28)}),
    "glm4_tiny": dict(GLM4, d=24, ff=40, layers=3, heads=4, kv=2, dim=12, prompts=(70, 9), config=dict(attention_bias=True),
                      keys={"rope.dimension_count": 6}),
    "glm4_plain": dict(GLM4, d=30, ff=28, layers=2, heads=5, kv=1, dim=16, prompts=(19,),
                       config=dict(attention_bias=False, rope_parameters=dict(
                           rope_type="default", rope_theta=500.0, partial_rotary_factor=0.25)),
                       keys={"rope.dimension_count": 4, "rope.freq_base": 500.0}),
    "qwen2moe_tiny": dict(QWEN2_MOE, seed=3199, d=40, ff=56, layers=2, heads=4, kv=2, dim=10, prompts=(70, 9),
                          config=dict(num_experts=7, num_experts_per_tok=3, moe_intermediate_size=12,
                                      shared_expert_intermediate_size=20),
                          keys=expert_keys(7, 3, 12, 20)),
    # Weights divided by their sum, two experts whose scores are always equal, the shared block's size left to its tensors.
    "qwen2moe_norm": dict(QWEN2_MOE, seed=3069, flat_gate=True, d=40, ff=56, layers=2, heads=5, kv=1, dim=8, tied=True, prompts=(70,), ties=(0, 2, 5),
                          config=dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=20, norm_topk_prob=True,
                                      shared_expert_intermediate_size=12),
                          keys={**expert_keys(6, 2, 20), "expert_weights_norm": True}),
    # Scores have sinks, hidden numbers reach their limits, the ramp of the rope's frequencies ends between two pairs.
    "gptoss_tiny": dict(GPT_OSS, seed=3031, d=24, ff=20, layers=3, heads=4, kv=2, dim=16, window=9, prompts=(70, 9),
                        config=oss("SGS", 6, 2), keys=oss_keys(6, 2, 20)),
    "gptoss_fp4": dict(GPT_OSS, seed=3009, d=32, ff=32, layers=2, heads=4, kv=1, dim=16, window=9, prompts=(70,), fp4_experts=True,
                       config=oss("SG", 5, 3), keys=oss_keys(5, 3, 32)),
    "gemma_tiny": dict(GEMMA, number=44, d=24, ff=40, layers=3, heads=4, kv=1, dim=20, tied=True, prompts=(70, 9)),
    "olmo3_tiny": dict(OLMO3, number=45, d=36, ff=40, layers=5, heads=3, kv=1, dim=12, window=9, prompts=(70, 9), **olmo3("SSSGS")),
}


def config_of(m):
    values = dict(vocab_size=tiny.VOCAB, hidden_size=m["d"], intermediate_size=m["ff"], num_hidden_layers=m["layers"],
                  num_attention_heads=m["heads"], num_key_value_heads=m["kv"], **(dict(head_dim=m["dim"]) if m.get("head_dim", True) else {}), rms_norm_eps=1e-5,
                  max_position_embeddings=512, tie_word_embeddings=m.get("tied", False), attention_dropout=0.0,
                  pad_token_id=0, bos_token_id=1, eos_token_id=2)
    config = m["kind"][0](**{**values, **m.get("config", {})})
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return config


# Small and not a matrix of the usual kind: stored in f32.
ROUTERS = ("mlp.gate.weight", "router.weight", "shared_expert_gate.weight")
F32_MATRICES = ("ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight")


def draw(rng, m, name, shape):
    """Numbers that keep activations and logits around 1."""
    if name.endswith("norm.weight"):  # layernorm, too
        gain = np.clip(1 + 0.3 * rng.standard_normal(shape), 0.5, 2)  # so that a gain less one is exact
        if m.get("damped") and "post_" in name:
            gain /= 32
        return gain.astype(np.float32) - np.float32(m.get("unit_norms", False))
    if name.endswith("bias"):
        return 0.3 * rng.standard_normal(shape)
    if "embed_tokens" in name:
        return rng.standard_normal(shape) * (0.3 if m.get("tied") else 1)
    if name.endswith("sinks"):
        return rng.standard_normal(shape) * 2
    if "draw" in m and (own := m["draw"](rng, m, name, shape)) is not None:
        return own
    if name.endswith("kv_b_proj.weight"):  # what a cache rounds goes through this as well
        return rng.standard_normal(shape) * 0.8 / math.sqrt(shape[-1])
    return rng.standard_normal(shape) * 1.3 / math.sqrt(shape[-1])


def stored(m, name, w):
    """What a file keeps of these numbers."""
    if m.get("fp4_experts") and ".experts." in name and name.endswith("_proj"):
        w = np.ascontiguousarray(w.swapaxes(1, 2), dtype=np.float32)  # blocks run along inputs
        return gguf.quants.dequantize(gguf.quants.quantize(w, MXFP4), MXFP4).swapaxes(1, 2).copy()
    half = w.ndim > 1 and not name.endswith((*ROUTERS, "bias"))
    return w.astype(np.float16 if half else np.float32).astype(np.float32)


def build(m, seed):
    model = m["kind"][1](config_of(m)).eval().float()
    rng = np.random.default_rng(m.get("seed", seed))
    with torch.no_grad():
        named = dict(model.named_parameters())
        named.update((name, b) for name, b in model.named_buffers() if name.endswith("e_score_correction_bias"))
        for name, p in named.items():
            w = draw(rng, m, name, tuple(p.shape))
            p.copy_(torch.from_numpy(stored(m, name, w)))
            if "ties" in m and name.endswith(ROUTERS[:2]):
                p[list(m["ties"])] = 0
    if m.get("tied"):
        model.tie_weights()
    mode = FirstOfEquals()
    model.register_forward_pre_hook(lambda *_: mode.__enter__() and None)
    model.register_forward_hook(lambda *_: mode.__exit__(None, None, None))
    return model


class FirstOfEquals(TorchFunctionMode):
    """topk in the order of equal values that torch leaves open. `closest`: the least that a value taken was above one left,
    if not equal to it."""
    closest = np.inf

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func not in (torch.topk, torch.Tensor.topk):
            return func(*args, **(kwargs or {}))
        x = args[0]
        k = args[1] if len(args) > 1 else kwargs["k"]
        values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
        if k < x.shape[-1]:
            gap = (values[..., k - 1] - values[..., k]).flatten()
            self.closest = min([self.closest, *gap[gap > 0].tolist()])
        return values[..., :k], indices[..., :k]


def closest_choice(model, prompts):
    with torch.no_grad(), FirstOfEquals() as mode:
        for prompt in prompts:
            model.model(torch.tensor([prompt]))
    return mode.closest


def all_experts(m, part, t):
    """Of all experts at once, the gate's rows before up's."""
    if part == "down_proj":
        return {"ffn_down_exps.weight": t}
    return dict(zip(("ffn_gate_exps.weight", "ffn_up_exps.weight"), np.split(t, 2, axis=1)))


def gate_and_up_of_all(m, part, t):
    return dict(zip(("ffn_gate_shexp.weight", "ffn_up_shexp.weight"), np.split(t, 2)))


# What takes more than another name.
REWRITES = {"mlp.experts": all_experts, "block_sparse_moe.experts": all_experts,
            "shared_mlp.input_linear": gate_and_up_of_all}


def tensors(m, model):
    """Names of the file and what they hold."""
    names, rewrites = {**NAMES, **m.get("names", {})}, {**REWRITES, **m.get("rewrites", {})}
    for key, p in model.state_dict().items():
        t = p.numpy()
        stem, kind = key.removeprefix("model.").rsplit(".", 1)
        if stem == "lm_head":
            if not m.get("tied"):
                yield "output.weight", t
            continue
        block = ""
        if stem.startswith("layers."):
            _, layer, stem = stem.split(".", 2)
            block = f"blk.{layer}."
        if m.get("unit_norms") and stem.endswith("norm"):
            t = 1 + t
        if m.get("adjacent") and stem in ("self_attn.q_proj", "self_attn.k_proj"):
            t = llama.permute(t, m["heads"] if "q_proj" in stem else m["kv"])
        if m.get("flat_gate") and stem.endswith("shared_expert_gate"):
            t = t.reshape(-1)
        parts = rewrites[stem](m, kind, t) if stem in rewrites else {f"{names[stem]}.{kind}": t}
        for name, part in parts.items():
            yield block + name, part
    for name, values in m.get("extra", {}).items():
        yield name, np.array(values)


def metadata(m):
    """Keys without the architecture's prefix. int: u32, float: f32."""
    keys = {"context_length": 512, "embedding_length": m["d"], "block_count": m["layers"], "feed_forward_length": m["ff"],
            "attention.head_count": m["heads"], "attention.head_count_kv": m["kv"], "attention.key_length": m["dim"],
            "attention.value_length": m["dim"], "attention.layer_norm_rms_epsilon": 1e-5, "vocab_size": tiny.VOCAB}
    return {key: value for key, value in {**keys, **m.get("keys", {})}.items() if value is not None}


def write_gguf(path, m, model):
    w = tiny.open_writer(path, m["arch"])
    add = {bool: w.add_bool, int: w.add_uint32, float: w.add_float32, str: w.add_string, list: w.add_array}
    for key, value in metadata(m).items():
        add[type(value)](f"{m['arch']}.{key}", value)
    tiny.add_tokenizer(w)
    for name, t in tensors(m, model):
        if m.get("fp4_experts") and name.endswith("_exps.weight"):
            w.add_tensor(name, gguf.quants.quantize(t, MXFP4), raw_dtype=MXFP4)
        else:
            tiny.add_matrix_or_vector(w, name, t, half=not name.endswith((*F32_MATRICES, ".bias")))
    tiny.close_writer(w)
