# SPDX-License-Identifier: MIT
"""What the networks are made of: plain JAX functions over dictionaries of arrays, and random weights.

Nothing here names a type: a network runs in the type of its weights and inputs, so the float64 reference
is the same function.
"""

from dataclasses import dataclass
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass
class Network:
    """fn(weights, *inputs) gives an array or a tuple of arrays; weights are a tree of arrays"""

    fn: Callable[..., Any]
    weights: Any
    inputs: tuple[np.ndarray, ...]


class Weights:
    """Random weights of the scale that keeps activations near 1, from one seed"""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(np.float32)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def dense(self, n: int, m: int, gain: float = 1.0) -> dict[str, np.ndarray]:
        return {"w": self.normal(n, m, scale=gain / n**0.5), "b": self.normal(m, scale=0.1)}

    def kernel(self, size: int, n: int, m: int, gain: float = 2**0.5) -> np.ndarray:
        """HWIO; n: input features of one group"""
        return self.normal(size, size, n, m, scale=gain / (size * size * n) ** 0.5)

    def conv(self, size: int, n: int, m: int) -> dict[str, np.ndarray]:
        return {"w": self.kernel(size, n, m), "b": self.normal(m, scale=0.1)}

    def batch_norm(self, n: int, gain: float = 1.0) -> dict[str, np.ndarray]:
        return {"scale": self.uniform(0.8 * gain, 1.2 * gain, n), "bias": self.normal(n, scale=0.1),
                "mean": self.normal(n, scale=0.1), "var": self.uniform(0.8, 1.2, n)}

    def layer_norm(self, n: int) -> dict[str, np.ndarray]:
        return {"scale": self.uniform(0.8, 1.2, n), "bias": self.normal(n, scale=0.1)}


def dense(p: Any, x: jax.Array) -> jax.Array:
    return x @ p["w"] + p["b"]


def conv(w: jax.Array, x: jax.Array, stride: int = 1, pad: str = "SAME", groups: int = 1) -> jax.Array:
    return lax.conv_general_dilated(x, w, (stride, stride), pad, dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def batch_norm(p: Any, x: jax.Array) -> jax.Array:
    return (x - p["mean"]) * (lax.rsqrt(p["var"] + 1e-5) * p["scale"]) + p["bias"]


def layer_norm(p: Any, x: jax.Array) -> jax.Array:
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p["scale"] + p["bias"]


def max_pool(x: jax.Array, size: int, stride: int, pad: str = "VALID") -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), pad)


def relu6(x: jax.Array) -> jax.Array:
    return jnp.clip(x, 0, 6)


def attention(q: jax.Array, k: jax.Array, v: jax.Array, keep: Any = None) -> jax.Array:
    """[batch, tokens, heads, features]; keep: which pairs count"""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if keep is not None:
        scores = jnp.where(keep, scores, -1e4)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    return mixed.reshape(*mixed.shape[:2], -1)


def split_heads(x: jax.Array, heads: int) -> jax.Array:
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)
