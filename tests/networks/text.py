# SPDX-License-Identifier: MIT
"""Networks on sequences. Each builder takes small: the short form of `make check`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layers import Network, Weights, attention, dense, layer_norm, split_heads


def encoder_weights(w: Weights, width: int, hidden: int) -> dict[str, Any]:
    names = {"q": w.dense(width, width), "k": w.dense(width, width), "v": w.dense(width, width)}
    return names | {"o": w.dense(width, width), "ln1": w.layer_norm(width), "ln2": w.layer_norm(width),
                    "up": w.dense(width, hidden), "down": w.dense(hidden, width)}


def encoder_layer(p: Any, x: jax.Array, heads: int, keep: Any = None, before: bool = False) -> jax.Array:
    """before: layer norms in front of the two parts (ViT, GPT-2), else behind them (BERT)"""
    y = layer_norm(p["ln1"], x) if before else x
    q, k, v = (split_heads(dense(p[n], y), heads) for n in "qkv")
    x = x + dense(p["o"], attention(q, k, v, keep))
    x = y = x if before else layer_norm(p["ln1"], x)
    y = layer_norm(p["ln2"], x) if before else x
    x = x + dense(p["down"], jax.nn.gelu(dense(p["up"], y), approximate=False))
    return x if before else layer_norm(p["ln2"], x)


def bert(small: bool, layers: int = 12, batch: int = 1, types: bool = True) -> Network:
    """Ids and mask in; hidden states and the pooled first token out, as BertModel gives them"""
    w = Weights(8)
    width, heads, words, length = (32, 2, 50, 16) if small else (768, 12, 30522, 128)
    layers = 1 if small else layers
    weights: dict[str, Any] = {
        "words": w.normal(words, width, scale=0.5), "positions": w.normal(4 * length, width, scale=0.1),
        "ln": w.layer_norm(width), "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)]}
    if types:
        weights |= {"types": w.normal(2, width, scale=0.1), "pool": w.dense(width, width)}

    def fn(p: Any, ids: jax.Array, mask: jax.Array) -> Any:
        x = p["words"][ids] + p["positions"][: ids.shape[1]]
        x = layer_norm(p["ln"], x + p["types"][0] if types else x)
        keep = (mask != 0)[:, None, None, :]
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, keep)
        return (x, jnp.tanh(dense(p["pool"], x[:, 0]))) if types else x

    mask = np.ones((batch, length), np.int32)
    mask[-1, 3 * length // 4:] = 0
    return Network(fn, weights, (w.rng.integers(0, words, (batch, length), dtype=np.int32), mask))


def bert_base(small: bool) -> Network:
    return bert(small)


def bert_base_8(small: bool) -> Network:
    return bert(small, batch=8)


def distilbert(small: bool) -> Network:
    return bert(small, layers=6, types=False)


def lstm(small: bool) -> Network:
    w = Weights(9)
    steps, batch, n, m, classes = (6, 2, 12, 16, 5) if small else (64, 8, 128, 256, 32)
    weights = {"x": w.normal(n, 4 * m, scale=n**-0.5), "h": w.normal(m, 4 * m, scale=m**-0.5),
               "b": w.normal(4 * m, scale=0.1), "out": w.dense(m, classes)}

    def fn(p: Any, x: jax.Array) -> Any:
        def step(state: Any, x: jax.Array) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, m), x.dtype)
        state, hidden = lax.scan(step, (zero, zero), x.swapaxes(0, 1))
        return dense(p["out"], hidden.swapaxes(0, 1)), *state

    return Network(fn, weights, (w.normal(batch, steps, n),))


def gpt2_step(small: bool) -> Network:
    """One token with the keys and values of those before it: logits and the longer caches"""
    w = Weights(10)
    layers, width, heads, words, length = (1, 32, 2, 50, 16) if small else (12, 768, 12, 50257, 256)
    weights = {"words": w.normal(words, width, scale=0.5), "positions": w.normal(length, width, scale=0.1),
               "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)], "ln": w.layer_norm(width)}
    cache = (layers, 1, length, heads, width // heads)
    at = 3 * length // 4

    def block(p: Any, x: jax.Array, k: jax.Array, v: jax.Array, at: jax.Array) -> Any:
        y = layer_norm(p["ln1"], x)
        new = [split_heads(dense(p[n], y), heads) for n in "qkv"]
        k = lax.dynamic_update_slice_in_dim(k, new[1], at, 1)
        v = lax.dynamic_update_slice_in_dim(v, new[2], at, 1)
        keep = (lax.iota(jnp.int32, k.shape[1]) <= at)[None, None, None, :]
        x = x + dense(p["o"], attention(new[0], k, v, keep))
        x = x + dense(p["down"], jax.nn.gelu(dense(p["up"], layer_norm(p["ln2"], x)), approximate=True))
        return x, k, v

    def fn(p: Any, token: jax.Array, at: jax.Array, keys: jax.Array, values: jax.Array) -> Any:
        x = (p["words"][token] + lax.dynamic_slice_in_dim(p["positions"], at, 1))[None]
        new_keys, new_values = [], []
        for i, layer in enumerate(p["layers"]):
            x, k, v = block(layer, x, keys[i], values[i], at)
            new_keys.append(k)
            new_values.append(v)
        return layer_norm(p["ln"], x)[:, 0] @ p["words"].T, jnp.stack(new_keys), jnp.stack(new_values)

    caches = [w.normal(*cache) for _ in range(2)]
    for c in caches:
        c[:, :, at:] = 0
    return Network(fn, weights, (np.array([17], np.int32), np.array(at, np.int32), *caches))
