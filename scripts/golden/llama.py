"""The Llama family: Llama, Mistral, dense Qwen."""
import contextlib
import math

import gguf
import numpy as np
import torch
import transformers

from golden import tiny

# How far f32 may be from f64, in units of a row's largest logit.
FLOAT64_BOUND = 3e-6

LLAMA, MISTRAL = (transformers.LlamaConfig, transformers.LlamaForCausalLM), (
    transformers.MistralConfig, transformers.MistralForCausalLM)
QWEN2, QWEN3 = (transformers.Qwen2Config, transformers.Qwen2ForCausalLM), (
    transformers.Qwen3Config, transformers.Qwen3ForCausalLM)

# Sizes are awkward on purpose: no multiple of a vector, heads * head_dim != d_model, kv heads that divide oddly.
MODELS = {
    "llama_tied": dict(kind=LLAMA, arch="llama", d=40, ff=56, layers=3, heads=5, kv=1, dim=12, tied=True, store="f32",
                       prompts=(70, 9)),
    "llama_wide": dict(kind=LLAMA, arch="llama", d=64, ff=96, layers=2, heads=4, kv=2, dim=32, prompts=(70, 9)),
    "llama3_rope": dict(kind=LLAMA, arch="llama", d=40, ff=56, layers=2, heads=4, kv=2, dim=16, tied=True, theta=500.0,
                        rope=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                  original_max_position_embeddings=64), prompts=(70,)),
    "llama_linear": dict(kind=LLAMA, arch="llama", d=40, ff=56, layers=2, heads=2, kv=2, dim=20,
                         rope=dict(rope_type="linear", factor=4.0), prompts=(19,)),
    "llama_yarn": dict(kind=LLAMA, arch="llama", d=40, ff=56, layers=2, heads=2, kv=1, dim=24, theta=1000.0,
                       rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64), prompts=(70,)),
    "llama_biases": dict(kind=LLAMA, arch="llama", d=40, ff=56, layers=2, heads=5, kv=1, dim=12, biases=True, store="f32",
                         prompts=(19,)),
    "mistral_window": dict(kind=MISTRAL, arch="llama", d=40, ff=56, layers=3, heads=6, kv=2, dim=20, window=7,
                           prompts=(150,)),
    "qwen2_tiny": dict(kind=QWEN2, arch="qwen2", d=40, ff=56, layers=2, heads=4, kv=2, dim=10, tied=True, prompts=(19,)),
    "qwen3_tiny": dict(kind=QWEN3, arch="qwen3", d=40, ff=56, layers=2, heads=5, kv=1, dim=12, prompts=(19,)),
}


def config_of(m):
    values = dict(vocab_size=tiny.VOCAB, hidden_size=m["d"], intermediate_size=m["ff"], num_hidden_layers=m["layers"],
                  num_attention_heads=m["heads"], num_key_value_heads=m["kv"], head_dim=m["dim"], rms_norm_eps=1e-5,
                  max_position_embeddings=512, tie_word_embeddings=m.get("tied", False), attention_dropout=0.0,
                  rope_parameters=dict({"rope_type": "default"}, **m.get("rope", {}), rope_theta=m.get("theta", 10000.0)))
    values.update(m.get("config", {}))
    if m.get("biases"):
        values.update(attention_bias=True, mlp_bias=True)
    if "window" in m:
        values["sliding_window"] = m["window"]
    config = m["kind"][0](**values)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return config


def build(m, seed):
    model = m["kind"][1](config_of(m)).eval().float()
    randomize(model, m.get("store", "f16"), seed)
    if m.get("tied"):
        model.tie_weights()
    return model


@contextlib.contextmanager
def in_float64(model):
    """Matrices and what lies between them; the norms and softmaxes that ask for f32 stay there."""
    model.double()
    yield
    model.float()


def randomize(model, store, seed):
    """Weights that keep activations and logits around 1; values that `store` holds exactly."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("norm.weight"):
                w = 1 + 0.3 * rng.standard_normal(p.shape)
            elif name.endswith(".bias"):
                w = 0.3 * rng.standard_normal(p.shape)
            elif "embed_tokens" in name:
                w = rng.standard_normal(p.shape) * (0.3 if model.config.tie_word_embeddings else 1)
            else:
                w = rng.standard_normal(p.shape) * 1.3 / math.sqrt(p.shape[-1])
            w = w.astype(np.float16 if store == "f16" and len(p.shape) > 1 else np.float32).astype(np.float32)
            p.copy_(torch.from_numpy(w))


def permute(w, heads):
    """Rows of q and k from halves (i, i + d/2) to adjacent pairs (2i, 2i + 1), head by head."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def rope_factors(m):
    """What a llama3-scaled model divides its frequencies by."""
    r = m["rope"]
    low, high = r["original_max_position_embeddings"] / r["low_freq_factor"], (
        r["original_max_position_embeddings"] / r["high_freq_factor"])
    factors = []
    for i in range(m["dim"] // 2):
        wave = 2 * math.pi * m["theta"] ** (2 * i / m["dim"])
        if wave < high:
            factors.append(1.0)
        elif wave > low:
            factors.append(r["factor"])
        else:
            s = (r["original_max_position_embeddings"] / wave - r["low_freq_factor"]) / (
                r["high_freq_factor"] - r["low_freq_factor"])
            factors.append(1 / ((1 - s) / r["factor"] + s))
    return np.array(factors, dtype=np.float32)


def write_gguf(path, m, model):
    arch, adjacent = m["arch"], m["arch"] == "llama"
    w = tiny.open_writer(path, arch)
    w.add_context_length(512)
    w.add_embedding_length(m["d"])
    w.add_block_count(m["layers"])
    w.add_feed_forward_length(m["ff"])
    w.add_head_count(m["heads"])
    w.add_head_count_kv(m["kv"])
    w.add_key_length(m["dim"])
    w.add_value_length(m["dim"])
    w.add_rope_dimension_count(m["dim"])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(m.get("theta", 10000.0))
    w.add_vocab_size(tiny.VOCAB)
    if "window" in m:
        w.add_sliding_window(m["window"])
    rope = m.get("rope", {})
    if rope.get("rope_type") in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        w.add_rope_scaling_factor(rope["factor"])
    if rope.get("rope_type") == "yarn":
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    for key, value in m.get("keys", {}).items():
        add = w.add_bool if isinstance(value, bool) else w.add_float32 if isinstance(value, float) else w.add_uint32
        add(f"{arch}.{key}", value)
    tiny.add_tokenizer(w)

    names = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
             "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate": "ffn_gate_inp"}
    if rope.get("rope_type") == "llama3":
        w.add_tensor("rope_freqs.weight", rope_factors(m))
    for key, p in model.state_dict().items():
        t = p.numpy()
        if ".experts." in key:  # those of all experts, the gate's rows before up's
            layer = key.split(".")[2]
            parts = {"ffn_down_exps": t / m.get("keys", {}).get("expert_weights_scale", 1)}
            if key.endswith("gate_up_proj"):
                parts = dict(zip(("ffn_gate_exps", "ffn_up_exps"), np.split(t, 2, axis=1)))
            for name, part in parts.items():
                tiny.add_matrix_or_vector(w, f"blk.{layer}.{name}.weight", part, half=m.get("store", "f16") == "f16")
            continue
        stem, kind = key.rsplit(".", 1)
        if stem == "model.embed_tokens":
            out = "token_embd"
        elif stem == "model.norm":
            out = "output_norm"
        elif stem == "lm_head":
            if m.get("tied"):
                continue
            out = "output"
        else:
            layer, part = stem.removeprefix("model.layers.").split(".", 1)
            out = f"blk.{layer}.{names[part]}"
            if adjacent and part in ("self_attn.q_proj", "self_attn.k_proj"):
                t = permute(t, m["heads"] if "q_proj" in part else m["kv"])
        half = m.get("store", "f16") == "f16" and not out.endswith("ffn_gate_inp")  # routers stay f32
        tiny.add_matrix_or_vector(w, f"{out}.{kind}", t, half)
    tiny.close_writer(w)
