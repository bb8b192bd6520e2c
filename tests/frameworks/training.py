#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Operations that trainings need, on the plug-in against JAX's CPU: values and gradients of a table of cases. As TAP.

usage: training.py [CASE...]    in an environment as jax_plugin.py's; CASE is a part of a name
"""

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "neuron,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

Function = Callable[..., Any]
CLASSES = 30522


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng((seed, *shape)).standard_normal(shape)).astype(np.float32)


def integers(most: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(most).integers(0, most, shape).astype(np.int32)


def gradients(function: Function, *arguments: int) -> Function:
    """The value of a sum that tells every element from the others, and its gradients by these arguments (0)"""
    def weighed(*args: Any) -> jax.Array:
        out = function(*args)
        return jnp.sum(out * jnp.cos(jnp.arange(out.size, dtype=jnp.float32)).reshape(out.shape).astype(out.dtype))

    return jax.value_and_grad(weighed, arguments or (0,))


def conv(stride: int = 1, padding: Any = "SAME", dilation: int = 1, groups: int = 1, transposed: bool = False) -> Function:
    def run(x: jax.Array, w: jax.Array) -> jax.Array:
        if transposed:
            return lax.conv_transpose(x, w, (stride, stride), padding)
        return lax.conv_general_dilated(x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation), feature_group_count=groups,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))

    return gradients(run, 0, 1)


def pool(start: float, reduce: Function, window: int, stride: int, padding: str) -> Function:
    return gradients(lambda x: lax.reduce_window(x, start, reduce, (1, window, window, 1), (1, stride, stride, 1), padding))


def batch_norm(x: jax.Array, gain: jax.Array, bias: jax.Array) -> jax.Array:
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(var + 1e-5) * gain + bias


def running(x: jax.Array, mean: jax.Array, var: jax.Array) -> tuple[jax.Array, jax.Array]:
    return 0.9 * mean + 0.1 * x.mean((0, 1, 2)), 0.9 * var + 0.1 * x.var((0, 1, 2))


def dropout(implementation: str, rate: float = 0.1) -> Function:
    def run(x: jax.Array) -> jax.Array:
        key = jax.random.key(7, impl=implementation)
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

    return gradients(run)


def cross_entropy(x: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)[:, 0]


def attention(x: jax.Array, w: jax.Array) -> jax.Array:
    query, key, value = (part.reshape(2, 16, 4, 8).transpose(0, 2, 1, 3) for part in jnp.split(x @ w, 3, -1))
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32(8**0.5)
    scores = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), scores, -1e30)
    return (jax.nn.softmax(scores) @ value).transpose(0, 2, 1, 3).reshape(2, 16, 32)


def mlp(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x @ w["a"] + w["b"]) @ w["c"]


MLP = {"a": normal(16, 32, scale=0.3), "b": normal(32), "c": normal(32, 8, scale=0.3)}


def squared(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    return jnp.mean(jnp.square(mlp(w, x)))


def accumulated(w: dict[str, jax.Array], xs: jax.Array) -> Any:
    def more(total: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        value, gradient = jax.value_and_grad(squared)(w, x)
        return jax.tree.map(jnp.add, total, gradient), value

    return lax.scan(more, jax.tree.map(jnp.zeros_like, w), xs)


def clipped(w: dict[str, jax.Array], x: jax.Array) -> Any:
    gradient = jax.grad(squared)(w, x)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient)))
    return jax.tree.map(lambda g: g * jnp.minimum(1, 0.1 / norm), gradient), norm


def scaled(scale: float) -> Function:
    """fp16 with a scaled loss: the gradients, the next scale, and the weights as they are where a gradient is not finite"""
    def run(w: dict[str, jax.Array], x: jax.Array) -> Any:
        half = jax.tree.map(lambda v: v.astype(jnp.float16), w)
        gradient = jax.grad(lambda v: squared(v, x.astype(jnp.float16)) * jnp.float16(scale))(half)
        gradient = jax.tree.map(lambda g: g.astype(jnp.float32) / scale, gradient)
        fine = jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradient)]))
        return jax.tree.map(lambda v, g: jnp.where(fine, v - 0.1 * g, v), w, gradient), jnp.where(fine, 2 * scale, scale / 2)

    return run


def remat(policy: Any = None) -> Function:
    def run(w: dict[str, jax.Array], x: jax.Array) -> Any:
        block = jax.checkpoint(lambda v: jnp.tanh(mlp(w, v) @ w["c"].T @ w["a"].T), policy=policy)
        return block(block(x)).sum()

    return jax.value_and_grad(run)


def optimizer(name: str, steps: int = 3) -> Function:
    def run(w: dict[str, jax.Array], x: jax.Array) -> Any:
        def sgd(p: jax.Array, m: jax.Array, v: jax.Array, g: jax.Array, i: int) -> tuple[jax.Array, ...]:
            m = 0.9 * m + g
            return p - 0.1 * m, m, v

        def adamw(p: jax.Array, m: jax.Array, v: jax.Array, g: jax.Array, i: int) -> tuple[jax.Array, ...]:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            update = m / (1 - 0.9**i) / (jnp.sqrt(v / (1 - 0.999**i)) + 1e-3)
            return p - 0.01 * (update + 0.01 * p), m, v

        m = v = jax.tree.map(jnp.zeros_like, w)
        for i in range(1, steps + 1):
            gradient = jax.grad(squared)(w, x)
            made = jax.tree.map(lambda *leaf: (sgd if name == "sgd" else adamw)(*leaf, i), w, m, v, gradient)
            w, m, v = (jax.tree.map(lambda _, leaf, at=at: leaf[at], w, made) for at in range(3))
        return w, m, v

    return run


def master(w: dict[str, jax.Array], x: jax.Array) -> Any:
    gradient = jax.grad(lambda v: squared(jax.tree.map(lambda a: a.astype(jnp.bfloat16), v), x.astype(jnp.bfloat16)))(w)
    return jax.tree.map(lambda p, g: p - 0.1 * g, w, gradient)


def lstm(w: jax.Array, xs: jax.Array) -> jax.Array:
    def cell(state: Any, x: jax.Array) -> Any:
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ w, 4, 1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((xs.shape[1], w.shape[1] // 4))
    return lax.scan(cell, (zero, zero), xs)[0][0]


def branches(x: jax.Array) -> jax.Array:
    return lax.cond(x.sum() > 0, lambda v: jnp.sin(v) * v, lambda v: jnp.exp(-v * v), x)


def second(w: dict[str, jax.Array], x: jax.Array) -> Any:
    return jax.jvp(lambda v: jax.grad(squared)(v, x), (w,), (jax.tree.map(jnp.ones_like, w),))[1]


@functools.partial(jax.custom_vjp)
def straight(x: jax.Array) -> jax.Array:
    return jnp.round(x)


straight.defvjp(lambda x: (jnp.round(x), x), lambda x, g: (jnp.where(jnp.abs(x) < 1, g, 0),))

IMAGES, BATCHES = normal(2, 9, 9, 4), normal(3, 5, 16)
SAVE_DOTS = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
MAX, SUM = (-np.inf, lax.max), (0.0, lax.add)
LOOSE, HALF = 2e-4, 3e-2  # relative differences: of long sums, of 16-bit types

# name: function, arguments, the difference that is allowed if not 2e-5
CASES: dict[str, tuple] = {
    "convolution": (conv(), (IMAGES, normal(3, 3, 4, 6))),
    "convolution, stride 2": (conv(2), (IMAGES, normal(3, 3, 4, 6))),
    "convolution, stride 2, valid": (conv(2, "VALID"), (IMAGES, normal(3, 3, 4, 6))),
    "convolution, stride 3 of a window of 2": (conv(3, "VALID"), (IMAGES, normal(2, 2, 4, 6))),
    "convolution, dilated": (conv(1, "SAME", 2), (IMAGES, normal(3, 3, 4, 6))),
    "convolution, padded unevenly": (conv(2, ((0, 1), (2, 0))), (IMAGES, normal(3, 3, 4, 6))),
    "convolution, groups": (conv(1, groups=2), (IMAGES, normal(3, 3, 2, 6))),
    "convolution, depthwise": (conv(2, groups=4), (IMAGES, normal(3, 3, 1, 8))),
    "convolution, 7 by 7, stride 2": (conv(2), (normal(2, 32, 32, 3), normal(7, 7, 3, 16)), LOOSE),
    "convolution, transposed": (conv(2, transposed=True), (IMAGES, normal(3, 3, 4, 6))),
    "maximum of windows": (pool(*MAX, 2, 2, "VALID"), (IMAGES,)),
    "maximum of windows that overlap": (pool(*MAX, 3, 2, "SAME"), (IMAGES,)),
    "maximum of windows, ties": (pool(*MAX, 3, 2, "SAME"), (np.round(IMAGES),)),
    "sum of windows": (pool(*SUM, 2, 2, "VALID"), (IMAGES,)),
    "sum of windows that overlap": (pool(*SUM, 3, 2, "SAME"), (IMAGES,)),
    "batch norm": (gradients(batch_norm, 0, 1, 2), (IMAGES, normal(4), normal(4, seed=1))),
    "batch norm's running averages": (running, (IMAGES, normal(4), normal(4, seed=1))),
    "embedding": (gradients(lambda t, i: t[i]), (normal(50, 8), integers(50, 4, 30))),
    "embedding, one row many times": (gradients(lambda t, i: t[i]), (normal(50, 8), np.full(100, 7, np.int32))),
    "embedding of 30,522 words": (gradients(lambda t, i: t[i]), (normal(CLASSES, 16), integers(CLASSES, 2, 32))),
    "dropout, threefry": (dropout("threefry2x32"), (normal(64, 32),)),
    "dropout, rbg": (dropout("rbg"), (normal(64, 32),)),
    "dropout, unsafe rbg": (dropout("unsafe_rbg"), (normal(64, 32),)),
    "cross entropy of 30,522 classes": (gradients(cross_entropy), (normal(16, CLASSES), integers(CLASSES, 16)), LOOSE),
    "cross entropy of 30,522 classes, bf16": (gradients(cross_entropy), (normal(4, CLASSES).astype(jnp.bfloat16), integers(CLASSES, 4)), HALF),
    "cross entropy, one hot": (gradients(lambda x, i: -(jax.nn.one_hot(i, 10) * jax.nn.log_softmax(x)).sum(1)), (normal(16, 10), integers(10, 16))),
    "layer norm": (gradients(lambda x, g: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6) * g, 0, 1), (normal(6, 40), normal(40))),
    "attention, causal": (gradients(attention, 0, 1), (normal(2, 16, 32), normal(32, 96, scale=0.2)), LOOSE),
    "accumulation by scan": (accumulated, (MLP, BATCHES)),
    "clipping by the global norm": (clipped, (MLP, BATCHES[0])),
    "loss scaling": (scaled(1024.0), (MLP, BATCHES[0]), HALF),
    "loss scaling, too much": (scaled(60000.0), (MLP, 100 * BATCHES[0])),
    "remat": (remat(), (MLP, BATCHES[0])),
    "remat that keeps products": (remat(SAVE_DOTS), (MLP, BATCHES[0])),
    "SGD with momentum": (optimizer("sgd"), (MLP, BATCHES[0])),
    "AdamW": (optimizer("adamw"), (MLP, BATCHES[0])),
    "bf16 with fp32 weights": (master, (MLP, BATCHES[0]), HALF),
    "LSTM through time": (gradients(lstm, 0, 1), (normal(24, 64, scale=0.3), normal(5, 2, 8))),
    "a branch": (gradients(branches), (normal(5, 5),)),
    "Hessian times vector": (second, (MLP, BATCHES[0]), LOOSE),
    "gradients of each row": (jax.vmap(jax.grad(squared), (None, 0)), (MLP, BATCHES[0])),
    "Jacobian": (jax.jacrev(mlp), (MLP, BATCHES[0][:2])),
    "custom gradient": (gradients(straight), (2 * normal(6, 6),)),
    "sort, cumulative sum, top 3": (gradients(lambda x: jnp.sort(x, 1) + jnp.cumsum(x, 1) + lax.top_k(x, 3)[0].sum()), (normal(5, 7),)),
    "norm, logsumexp, maximum": (gradients(lambda x: jnp.linalg.norm(x, axis=1) + jax.nn.logsumexp(x, 1) + x.max(1)), (normal(5, 7),)),
}


def compare(function: Function, arguments: tuple, allowed: float = 2e-5) -> None:
    results = []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            results.append(jax.tree.map(np.asarray, jax.jit(function)(*arguments)))
    ours, theirs = map(jax.tree.leaves, results)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs):
        assert our.dtype == their.dtype and our.shape == their.shape, (our.dtype, their.dtype, our.shape, their.shape)
        most = np.abs(their.astype(np.float64)).max(initial=0)
        assert np.isfinite(most)
        np.testing.assert_allclose(our.astype(np.float64), their.astype(np.float64), rtol=allowed, atol=allowed * most)


def remat_computes_again() -> None:
    """Less scratch memory for more products: nothing may take the second computation for the first"""
    def block(x: jax.Array, w: jax.Array) -> jax.Array:
        for i in range(4):
            x = jnp.sin(x @ w[i])
        return x

    def compiled(again: bool) -> tuple[float, float]:
        part = jax.checkpoint(block) if again else block
        gradient = jax.grad(lambda w, x: functools.reduce(part, w, x).sum())
        made = jax.jit(gradient).lower(normal(6, 4, 128, 128), normal(8192, 128)).compile()
        costs = made.cost_analysis()  # of each device in older versions
        return made.memory_analysis().temp_size_in_bytes, (costs[0] if isinstance(costs, list) else costs)["flops"]

    (memory, flops), (less_memory, more_flops) = compiled(False), compiled(True)
    assert less_memory < 0.9 * memory and more_flops > 1.2 * flops, (memory, less_memory, flops, more_flops)


def main() -> int:
    rows = {name: functools.partial(compare, *row) for name, row in CASES.items()} | {"remat computes again": remat_computes_again}
    wanted = {name: check for name, check in rows.items() if not sys.argv[1:] or any(part in name for part in sys.argv[1:])}
    print(f"# training: jax {jax.__version__}, {len(jax.devices())} x {jax.devices()[0].device_kind}")
    print(f"1..{len(wanted)}")
    failed = 0
    for number, (name, check) in enumerate(wanted.items(), 1):
        try:
            check()
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
