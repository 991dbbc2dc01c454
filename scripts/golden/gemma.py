"""The Gemma 4 family and Gemma 3n, text only.

Scores are not scaled in these models, so gains near 1 would make attention one-hot and f32 rounding large; the gains below
keep float32 and float64 within 9e-6 of each other, and every gain, scalar and scale differs from 1.
"""
import contextlib
import math

import numpy as np
import torch
import transformers
from torch.overrides import TorchFunctionMode

from golden import tiny

FLOAT64_BOUND = 9e-6

GEMMA4 = (transformers.Gemma4TextConfig, transformers.Gemma4ForCausalLM)
GEMMA3N = (transformers.Gemma3nTextConfig, transformers.Gemma3nForCausalLM)

# Of 400 seeds the one whose second and third expert are never closer than 0.01 in any row of its prompts (scores spread by
# 1.2): a result that is only nearly the same must not choose another expert.
EXPERTS = dict(experts=6, used=2, expert_ff=12, seed=1345)

# pattern: S sliding, G global. dim, kv: (sliding, global). shared: layers of the tail that read others' keys and values.
# keys: metadata in an odd form, or None for a key that is left out. long: prompts that go past position 8192, read from
# their first token on: global layers see thousands of keys, and angles are large.
MODELS = {
    # Dense, per-layer embeddings; the tail is twice as wide and reads a sliding and a global layer.
    "gemma4_ple": dict(kind=GEMMA4, d=40, ff=56, pattern="SSGSSGG", heads=4, kv=(2, 2), dim=(12, 20), window=9, shared=3,
                       wide_tail=True, ple=8, prompts=(70, 9), long=[dict(length=8220, seed=5, rows_from=8200)]),
    # Shared layers come with keys and values nobody may use.
    "gemma4_kv_tensors": dict(kind=GEMMA4, d=24, ff=40, pattern="SSGSSG", heads=3, kv=(1, 1), dim=(8, 16), window=9,
                              shared=3, unused_kv=True, ple=32, keys={"attention.sliding_window_pattern": 3},
                              prompts=(70, 9)),
    # Value = key in global layers.
    "gemma4_kv_equal": dict(kind=GEMMA4, d=40, ff=56, pattern="SSGSG", heads=6, kv=(3, 2), dim=(12, 20), window=9,
                            k_eq_v=True,
                            keys={"embedding_length_per_layer_input": None, "attention.shared_kv_layers": None,
                                  "rope.freq_base_swa": None, "final_logit_softcapping": None}, prompts=(70, 9)),
    "gemma4_moe": dict(kind=GEMMA4, d=40, ff=56, pattern="SSG", heads=4, kv=(2, 1), dim=(12, 20), window=9, k_eq_v=True,
                       **EXPERTS, prompts=(70, 9)),
    # The same weights but for the scales, which are folded into the down matrices; gate and up apart; no cap.
    "gemma4_moe_split": dict(kind=GEMMA4, d=40, ff=56, pattern="SSG", heads=4, kv=(2, 1), dim=(12, 20), window=9,
                             k_eq_v=True, **EXPERTS, split=True, cap=None, prompts=(70, 9)),
    # ff: with 56, a row keeps so few activations that the norm behind them magnifies rounding.
    "gemma3n_tiny": dict(kind=GEMMA3N, d=40, ff=104, pattern="SSGSSG", heads=4, kv=(2, 2), dim=(12, 12), window=9, shared=3,
                         ple=8, laurel=6, sparsity=(0.95, 0.75, 0.0, 0.0, 0.0, 0.0),
                         keys={"attention.shared_kv_layers": 3.0, "rope.freq_base_swa": None},
                         prompts=(70, 9), long=[dict(length=8220, seed=5, rows_from=8200)]),
}


def config_of(m):
    kinds = {"S": "sliding_attention", "G": "full_attention"}
    values = dict(vocab_size=tiny.VOCAB, vocab_size_per_layer_input=tiny.VOCAB,
                  hidden_size=m["d"], intermediate_size=m["ff"],
                  num_hidden_layers=len(m["pattern"]), layer_types=[kinds[c] for c in m["pattern"]],
                  num_attention_heads=m["heads"], num_key_value_heads=m["kv"][0], head_dim=m["dim"][0],
                  sliding_window=m["window"], hidden_size_per_layer_input=m.get("ple", 0),
                  num_kv_shared_layers=m.get("shared", 0), final_logit_softcapping=m.get("cap", 30.0))
    if m["kind"] is GEMMA4:
        values.update(global_head_dim=m["dim"][1], use_double_wide_mlp=m.get("wide_tail", False))
        if m.get("k_eq_v"):
            values.update(attention_k_eq_v=True, num_global_key_value_heads=m["kv"][1])
        if "experts" in m:
            values.update(enable_moe_block=True, num_experts=m["experts"], top_k_experts=m["used"],
                          moe_intermediate_size=m["expert_ff"])
    else:
        values.update(laurel_rank=m["laurel"], activation_sparsity_pattern=list(m["sparsity"]))
    config = m["kind"][0](**values)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return config


# Small and not a matrix of the usual kind: stored in f32.
F32_MATRICES = ("router.proj.weight", "prediction_coefs.weight", "correction_coefs.weight")


def around(rng, centre, spread, shape):
    return centre * (1 + spread * rng.uniform(-1, 1, shape))


def draw(rng, m, name, shape):
    inputs = shape[-1]
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return around(rng, inputs ** -0.25, 0.3, shape)
    if name.endswith(("post_attention_layernorm.weight", "post_feedforward_layernorm.weight", "post_laurel_norm.weight")):
        return around(rng, 0.5, 0.5, shape)
    if name.endswith("post_per_layer_input_norm.weight"):
        return around(rng, 0.3, 0.5, shape)
    if name.endswith("layer_scalar"):
        return rng.uniform(0.7, 1.1, shape)
    if name.endswith("router.scale"):  # times d_model^-1/2 inside: scores of size 1
        return around(rng, math.sqrt(inputs), 0.5, shape)
    if name.endswith("per_expert_scale"):  # at least 1: folding a power of two into f16 weights loses nothing
        return 2.0 ** rng.integers(0, 3, shape) if m.get("split") else rng.uniform(0.5, 2, shape)
    if len(shape) == 1:  # the other norms, correct_output_scale
        return around(rng, 1, 0.5, shape)
    if "embed_tokens" in name:
        return rng.standard_normal(shape) * 0.3
    if name.endswith("modality_router.weight"):  # divided by d_model inside: the tanh sees values of size 1
        return rng.standard_normal(shape) * 1.2 * math.sqrt(inputs)
    if name.endswith("_coefs.weight"):
        return rng.standard_normal(shape) * 0.25
    w = rng.standard_normal(shape) * 1.2 / math.sqrt(inputs)
    if name.endswith(("per_layer_model_projection.weight", "per_layer_projection.weight")):
        return w / 10  # a norm follows: only eps shows whether the factors before it are right, and it must be seen
    if name.endswith(("altup_projections.0.weight", "altup_unembed_projections.0.weight")):
        return w / 1000  # squares below the floor of 1e-5 under which a stream is no longer brought to size
    return w


def build(m, seed):
    model = m["kind"][1](config_of(m)).eval().float()
    named = dict(model.named_parameters())
    named.update((name, b) for name, b in model.named_buffers() if name.endswith("layer_scalar"))
    with torch.no_grad():
        for index, (name, p) in enumerate(named.items()):
            # A generator for each tensor, so that models with the same seed share what they have in common.
            w = draw(np.random.default_rng([m.get("seed", seed), index]), m, name, tuple(p.shape))
            half = w.ndim > 1 and not name.endswith(F32_MATRICES)
            p.copy_(torch.from_numpy(w.astype(np.float16 if half else np.float32).astype(np.float32)))
    model.tie_weights()
    return model


class AskForFloat64(TorchFunctionMode):
    """Whoever asks for float32 gets float64."""
    off = False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if self.off:
            return func(*args, **(kwargs or {}))
        lift = lambda x: torch.float64 if x is torch.float32 else x
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        return func(*map(lift, args), **{k: lift(v) for k, v in (kwargs or {}).items()})


@contextlib.contextmanager
def in_float64(model):
    """All in float64, norms and softmaxes too, except the angles of the rotation.

    Those are f32 products by definition: far from the start exact angles move the logits by more than the bound.
    """
    mode = AskForFloat64()
    rotary = model.model.rotary_emb
    hooks = [rotary.register_forward_pre_hook(lambda *_: setattr(mode, "off", True)),
             rotary.register_forward_hook(lambda *_: setattr(mode, "off", False))]
    model.double()
    with mode:
        yield
    model.float()
    for hook in hooks:
        hook.remove()


GLOBAL_NAMES = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
                "embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
                "per_layer_model_projection.weight": "per_layer_model_proj.weight",
                "per_layer_projection_norm.weight": "per_layer_proj_norm.weight"}

BLOCK_NAMES = {"input_layernorm.weight": "attn_norm.weight",
               "post_attention_layernorm.weight": "post_attention_norm.weight",
               "pre_feedforward_layernorm.weight": "ffn_norm.weight",
               "post_feedforward_layernorm.weight": "post_ffw_norm.weight",
               "pre_feedforward_layernorm_2.weight": "pre_ffw_norm_2.weight",
               "post_feedforward_layernorm_1.weight": "post_ffw_norm_1.weight",
               "post_feedforward_layernorm_2.weight": "post_ffw_norm_2.weight",
               "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
               "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
               "self_attn.q_norm.weight": "attn_q_norm.weight", "self_attn.k_norm.weight": "attn_k_norm.weight",
               "mlp.gate_proj.weight": "ffn_gate.weight", "mlp.up_proj.weight": "ffn_up.weight",
               "mlp.down_proj.weight": "ffn_down.weight", "layer_scalar": "layer_output_scale.weight",
               "per_layer_input_gate.weight": "inp_gate.weight", "per_layer_projection.weight": "proj.weight",
               "post_per_layer_input_norm.weight": "post_norm.weight",
               "router.proj.weight": "ffn_gate_inp.weight", "router.scale": "ffn_gate_inp.scale",
               "router.per_expert_scale": "ffn_down_exps.scale", "experts.gate_up_proj": "ffn_gate_up_exps.weight",
               "experts.down_proj": "ffn_down_exps.weight",
               "altup.modality_router.weight": "altup_router.weight",
               "altup.router_norm.weight": "altup_router_norm.weight",
               "altup.prediction_coefs.weight": "altup_predict_coef.weight",
               "altup.correction_coefs.weight": "altup_correct_coef.weight",
               "altup.correct_output_scale": "altup_correct_scale.weight",
               "laurel.linear_left.weight": "laurel_l.weight", "laurel.linear_right.weight": "laurel_r.weight",
               "laurel.post_laurel_norm.weight": "laurel_post_norm.weight"}


def metadata(m):
    """Keys without the architecture's prefix. int: u32, float: f32, lists: arrays."""
    layers, shared, gemma4 = len(m["pattern"]), m.get("shared", 0), m["kind"] is GEMMA4
    per_kind = lambda pair: [pair[c == "G"] for c in m["pattern"]]
    ff = [m["ff"]] * (layers - shared) + [m["ff"] * 2] * shared if m.get("wide_tail") else m["ff"]
    keys = {"context_length": 131072, "embedding_length": m["d"], "block_count": layers, "feed_forward_length": ff,
            "attention.head_count": m["heads"],
            "attention.head_count_kv": m["kv"][0] if m["kv"][0] == m["kv"][1] else per_kind(m["kv"]),
            "attention.key_length": m["dim"][1], "attention.value_length": m["dim"][1],
            "attention.sliding_window": m["window"],
            "attention.sliding_window_pattern": [c == "S" for c in m["pattern"]],
            "attention.shared_kv_layers": shared, "attention.layer_norm_rms_epsilon": 1e-6,
            "embedding_length_per_layer_input": m.get("ple", 0),
            "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4, "rope.dimension_count": m["dim"][1],
            "final_logit_softcapping": m.get("cap", 30.0) or 0.0, "vocab_size": tiny.VOCAB}
    if gemma4:
        keys.update({"attention.key_length_swa": m["dim"][0], "attention.value_length_swa": m["dim"][0],
                     "rope.dimension_count_swa": m["dim"][0]})
    if "experts" in m:
        keys.update({"expert_count": m["experts"], "expert_used_count": m["used"],
                     "expert_feed_forward_length": m["expert_ff"]})
    if not gemma4:
        quantile = torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(m["sparsity"]))
        keys.update({"altup.active_idx": 0, "altup.num_inputs": 4, "feed_forward_length": [m["ff"]] * layers,
                     "activation_sparsity_scale": [float(z) for z in quantile]})
    keys.update(m.get("keys", {}))
    return {key: value for key, value in keys.items() if value is not None}


def expert_tensors(m, weights):
    """The split form: gate and up apart, the scale inside the down matrix."""
    for name, t in weights.items():
        if name.endswith("ffn_gate_up_exps.weight"):
            yield name.replace("gate_up", "gate"), t[:, :m["expert_ff"]]
            yield name.replace("gate_up", "up"), t[:, m["expert_ff"]:]
        elif name.endswith("ffn_down_exps.weight"):
            folded = t * weights[name.replace(".weight", ".scale")][:, None, None]
            assert np.array_equal(folded, folded.astype(np.float16)), name
            yield name, folded
        elif not name.endswith("ffn_down_exps.scale"):
            yield name, t


def unused_kv(m):
    """Keys and values of the shared layers, as files made from the published checkpoints hold them."""
    rng = np.random.default_rng(1)
    for layer in range(len(m["pattern"]) - m["shared"], len(m["pattern"])):
        heads, dim = (pair[m["pattern"][layer] == "G"] for pair in (m["kv"], m["dim"]))
        yield f"blk.{layer}.attn_k.weight", rng.standard_normal((heads * dim, m["d"]))
        yield f"blk.{layer}.attn_v.weight", rng.standard_normal((heads * dim, m["d"]))
        yield f"blk.{layer}.attn_k_norm.weight", rng.standard_normal(dim)


def tensors(m, model):
    weights, stacks = {}, {}
    for key, p in model.state_dict().items():
        part = key.removeprefix("model.")
        if part.startswith("layers."):
            _, layer, part = part.split(".", 2)
            weights[f"blk.{layer}.{BLOCK_NAMES[part]}"] = p.numpy()
        elif part.startswith(("altup_projections.", "altup_unembed_projections.")):
            name = {"altup_projections": "altup_proj", "altup_unembed_projections": "altup_unembd_proj"}[part.split(".")[0]]
            stacks.setdefault(f"{name}.weight", []).append(p.numpy())
        elif part != "lm_head.weight":
            weights[GLOBAL_NAMES[part]] = p.numpy()
    weights.update((name, np.stack(parts)) for name, parts in stacks.items())
    if m.get("split"):
        weights = dict(expert_tensors(m, weights))
    if m.get("unused_kv"):
        weights.update(unused_kv(m))
    if m["kind"] is GEMMA4:
        pairs = m["dim"][1] // 2
        rotated = int(0.25 * m["dim"][1]) // 2  # of the global layers; an angle divided by 1e30 vanishes
        weights["rope_freqs.weight"] = np.array([1.0] * rotated + [1e30] * (pairs - rotated))
    return weights


def write_gguf(path, m, model):
    arch = "gemma4" if m["kind"] is GEMMA4 else "gemma3n"
    w = tiny.open_writer(path, arch)
    for key, value in metadata(m).items():
        add = w.add_array if isinstance(value, list) else w.add_float32 if isinstance(value, float) else w.add_uint32
        add(f"{arch}.{key}", value)
    tiny.add_tokenizer(w)
    f32 = tuple(BLOCK_NAMES[name] for name in BLOCK_NAMES if name.endswith(F32_MATRICES))
    for name, t in tensors(m, model).items():
        tiny.add_matrix_or_vector(w, name, t, half=not name.endswith(f32))
    tiny.close_writer(w)
