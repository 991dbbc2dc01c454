"""DeepSeek V2 and V3: keys and values are read from one short latent row per position, experts are chosen by groups.

The file keeps the matrices that read a latent row apart for keys and values, those of the keys transposed, or (`whole_kv_b`)
both in one as the checkpoint has them.
"""
import math

import numpy as np

from golden import relatives
from golden.relatives import FLOAT64_BOUND, build, in_float64, write_gguf

assert FLOAT64_BOUND and build and in_float64 and write_gguf  # what make_golden.py asks of a family

NOPE, ROPE, VALUE, RANK = 10, 6, 7, 18  # of a head: channels without and with a position, of a value; of the latent row


def keys_and_values(m, part, t):
    if m.get("whole_kv_b"):
        return {"attn_kv_b.weight": t}
    k, v = np.split(t.reshape(m["heads"], NOPE + VALUE, RANK), [NOPE], axis=1)
    return {"attn_k_b.weight": k.swapaxes(1, 2), "attn_v_b.weight": v}


def router(m, part, t):
    return {"ffn_gate_inp.weight" if part == "weight" else "exp_probs_b.bias": t}


NAMES = {"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
         "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
         "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
         "mlp.shared_experts.down_proj": "ffn_down_shexp"}
REWRITES = {"self_attn.kv_b_proj": keys_and_values, "mlp.gate": router}


def draw_experts(rng, m, name, shape):
    """Coarse caches make some rows go to other experts, which must not be all there is."""
    if not name.endswith("experts.down_proj"):
        return None
    return rng.standard_normal(shape) * 0.4 / m["config"].get("routed_scaling_factor", 1) / math.sqrt(shape[-1])


V2, V3 = (relatives.family(name, "deepseek2", names=NAMES, rewrites=REWRITES, head_dim=False, draw=draw_experts)
          for name in ("DeepseekV2", "DeepseekV3"))


def latent(experts, used, ff, shared, q_rank=None, dense=1, **rest):
    # The norms of short rows have this eps whatever the configuration says.
    return dict(rms_norm_eps=1e-6, qk_nope_head_dim=NOPE, qk_rope_head_dim=ROPE, v_head_dim=VALUE, kv_lora_rank=RANK, q_lora_rank=q_rank,
                n_routed_experts=experts, num_experts_per_tok=used, moe_intermediate_size=ff, n_shared_experts=shared,
                first_k_dense_replace=dense, **rest)


def latent_keys(experts, used, ff, shared, q_rank=None, dense=1, **rest):
    return {"attention.layer_norm_rms_epsilon": 1e-6, "attention.key_length": RANK + ROPE, "attention.value_length": RANK, "attention.head_count_kv": 1,
            "attention.key_length_mla": NOPE + ROPE, "attention.value_length_mla": VALUE,
            "attention.kv_lora_rank": RANK, "attention.q_lora_rank": q_rank, "rope.dimension_count": ROPE,
            "leading_dense_block_count": dense, "expert_count": experts, "expert_used_count": used,
            "expert_feed_forward_length": ff, "expert_shared_count": shared,
            **{key.replace("__", "."): value for key, value in rest.items()}}


def yarn(mscale=None):
    own = {} if mscale is None else dict(mscale=mscale, mscale_all_dim=mscale)
    return dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=64, beta_fast=32.0,
                beta_slow=1.0, **own)


def yarn_keys(mscale=None):
    return {"rope.freq_base": 1000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
            "rope.scaling.original_context_length": 64,
            "rope.scaling.yarn_log_multiplier": None if mscale is None else 0.1 * mscale}


MODELS = {
    # Queries straight from the stream, one dense layer, shares of all experts.
    "deepseek2_lite": dict(V2, seed=3076, d=40, ff=56, layers=2, heads=4, kv=4, dim=NOPE + ROPE, prompts=(70, 9),
                           config=latent(7, 3, 12, 2), keys=latent_keys(7, 3, 12, 2)),
    # Queries by way of a short row; two of four groups by their best expert, weights times a factor; the matrices as the
    # checkpoint has them, and the sizes that go with them.
    "deepseek2_groups": dict(V2, seed=3041, d=30, ff=28, layers=2, heads=5, kv=5, dim=NOPE + ROPE, prompts=(70,), whole_kv_b=True,
                             config=latent(8, 3, 12, 1, q_rank=14, topk_method="group_limited_greedy", n_group=4,
                                           topk_group=2, routed_scaling_factor=4.0),
                             keys={**latent_keys(8, 3, 12, 1, q_rank=14, expert_group_count=4, expert_group_used_count=2,
                                                 expert_weights_scale=4.0),
                                   "attention.key_length": NOPE + ROPE, "attention.value_length": VALUE,
                                   "attention.head_count_kv": 5, "attention.key_length_mla": None,
                                   "attention.value_length_mla": None}),
    # Sigmoids, a bias that only chooses, groups by the sum of their two best, YaRN with its factor for the scores.
    "deepseek3_tiny": dict(V3, seed=3077, d=40, ff=56, layers=2, heads=4, kv=4, dim=NOPE + ROPE, prompts=(70, 9),
                           config=latent(12, 4, 12, 1, q_rank=14, n_group=4, topk_group=2, routed_scaling_factor=2.5,
                                         rope_parameters=yarn(0.7)),
                           keys={**latent_keys(12, 4, 12, 1, q_rank=14, expert_group_count=4, expert_group_used_count=2,
                                               expert_gating_func=2, expert_weights_norm=True, expert_weights_scale=2.5),
                                 **yarn_keys(0.7)}),
    # One group, no dense layer, weights as they are.
    "deepseek3_flat": dict(V3, seed=3014, d=24, ff=40, layers=2, heads=3, kv=3, dim=NOPE + ROPE, tied=True, prompts=(19,),
                           config=latent(6, 2, 20, 1, dense=0, n_group=1, topk_group=1, norm_topk_prob=False,
                                         routed_scaling_factor=1.0),
                           keys=latent_keys(6, 2, 20, 1, dense=0, expert_gating_func=2, expert_weights_norm=False)),
    # V2-Lite: stretched positions make scores grow, and not the rope.
    "deepseek2_yarn": dict(V2, seed=3198, d=40, ff=56, layers=2, heads=4, kv=4, dim=NOPE + ROPE, prompts=(70, 9),
                           config=latent(7, 3, 12, 2, rope_parameters=yarn(0.707)),
                           keys={**latent_keys(7, 3, 12, 2), **yarn_keys(0.707)}),
    # They make the rope grow where nothing is said of scores.
    "deepseek2_stretched": dict(V2, seed=3288, d=30, ff=28, layers=2, heads=5, kv=5, dim=NOPE + ROPE, prompts=(70,),
                                config=latent(6, 2, 12, 1, q_rank=14, rope_parameters=yarn()),
                                keys={**latent_keys(6, 2, 12, 1, q_rank=14), **yarn_keys()}),
}
