"""Llama's layers with a mixture of experts in place of the MLP: Qwen3-MoE, Mixtral."""
import numpy as np
import torch
import transformers
from torch.overrides import TorchFunctionMode

from golden import llama

FLOAT64_BOUND, in_float64, write_gguf = llama.FLOAT64_BOUND, llama.in_float64, llama.write_gguf

QWEN3 = (transformers.Qwen3MoeConfig, transformers.Qwen3MoeForCausalLM)
MIXTRAL = (transformers.MixtralConfig, transformers.MixtralForCausalLM)


def qwen3(experts, used, ff, norm=True, **keys):
    """`keys`: metadata besides the sizes."""
    sizes = {"expert_count": experts, "expert_used_count": used, "expert_feed_forward_length": ff}
    return dict(kind=QWEN3, arch="qwen3moe", keys={**sizes, **keys},
                config=dict(num_experts=experts, num_experts_per_tok=used, moe_intermediate_size=ff, norm_topk_prob=norm))


# seed: a result that is only nearly the same must not choose another expert. Of 300 seeds it is the one whose last chosen
# and first rejected expert are furthest apart where they are closest in any row of the prompts (or equal, in the model with
# ties); scores spread by 1.3.
MODELS = {
    "qwen3moe_tiny": dict(d=40, ff=56, layers=2, heads=5, kv=1, dim=12, **qwen3(7, 3, 12), seed=3082, prompts=(70, 9)),
    # Three experts have a score of exactly 0, whatever the row: the first of them are chosen.
    "qwen3moe_ties": dict(d=40, ff=56, layers=2, heads=4, kv=2, dim=12, **qwen3(6, 3, 20), ties=(1, 3, 4), seed=3064,
                          prompts=(70, 9)),
    # Weights are not divided by their sum, but multiplied by a number; down matrices are divided by it.
    "qwen3moe_shares": dict(d=40, ff=56, layers=2, heads=4, kv=2, dim=12, tied=True, seed=3284, prompts=(70, 9),
                            **qwen3(9, 2, 20, norm=False, expert_weights_norm=False, expert_weights_scale=4.0)),
    # Without a size of their own experts have that of the layer.
    "mixtral_tiny": dict(kind=MIXTRAL, arch="llama", d=40, ff=28, layers=2, heads=4, kv=2, dim=10, seed=3108, prompts=(70, 9),
                         keys={"expert_count": 5, "expert_used_count": 2},
                         config=dict(num_local_experts=5, num_experts_per_tok=2, sliding_window=None)),
}


class FirstOfEquals(TorchFunctionMode):
    """topk in the order of equal values that torch leaves open."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is not torch.topk:
            return func(*args, **(kwargs or {}))
        x, k = args
        values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
        return values[..., :k], indices[..., :k]


def build(m, seed):
    model = llama.build(m, m["seed"])
    for layer in model.model.layers:
        router, mode = layer.mlp.gate, FirstOfEquals()
        with torch.no_grad():
            router.weight[list(m.get("ties", ()))] = 0
        router.register_forward_pre_hook(lambda *_, mode=mode: mode.__enter__() and None)
        router.register_forward_hook(lambda *_, mode=mode: mode.__exit__(None, None, None))
    return model


def closest_choice(model, prompts):
    """How far the last chosen and the first rejected expert are apart, unless they are equal: the least of all rows."""
    gaps = []

    def look(router, inputs, outputs):
        scores = torch.sort(outputs[0], dim=-1, descending=True).values
        gap = scores[:, router.top_k - 1] - scores[:, router.top_k]
        gaps.append(float(torch.where(gap == 0, np.inf, gap).min()))
    handles = [layer.mlp.gate.register_forward_hook(look) for layer in model.model.layers]
    with torch.no_grad():
        for prompt in prompts:
            model(torch.tensor([prompt]))
    for handle in handles:
        handle.remove()
    return min(gaps)
