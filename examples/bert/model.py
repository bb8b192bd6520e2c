# SPDX-License-Identifier: MIT
"""BERT with both heads of its pre-training (Devlin et al., 2019), in JAX alone; parameters are a dict of arrays."""

import jax
import jax.numpy as jnp
import numpy as np

from recipe import Size

Params = dict[str, jax.Array]


def dense(p: Params, name: str, x: jax.Array) -> jax.Array:
    return x @ p[f"{name}.w"] + p[f"{name}.b"]


def norm(p: Params, name: str, x: jax.Array) -> jax.Array:
    x = x - jnp.mean(x, -1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * p[f"{name}.gain"] + p[f"{name}.bias"]


def drop(size: Size, key: jax.Array | None, x: jax.Array) -> tuple[jax.Array | None, jax.Array]:
    if key is None or not size.dropout:
        return key, x
    key, used = jax.random.split(key)
    return key, jnp.where(jax.random.bernoulli(used, 1 - size.dropout, x.shape), x / (1 - size.dropout), 0).astype(x.dtype)


def attention(size: Size, p: Params, i: int, x: jax.Array) -> jax.Array:
    batch, length, hidden = x.shape

    def heads(part: str) -> jax.Array:
        return dense(p, f"{i}.{part}", x).reshape(batch, length, size.heads, -1).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(hidden / size.heads).astype(x.dtype)
    mixed = jax.nn.softmax(scores) @ heads("value")
    return dense(p, f"{i}.attended", mixed.transpose(0, 2, 1, 3).reshape(x.shape))


def layer(size: Size, p: Params, i: int, x: jax.Array, key: jax.Array | None) -> tuple[jax.Array, jax.Array | None]:
    key, more = drop(size, key, attention(size, p, i, x))
    x = norm(p, f"{i}.middle", x + more)
    key, more = drop(size, key, dense(p, f"{i}.narrow", jax.nn.gelu(dense(p, f"{i}.wide", x))))
    return norm(p, f"{i}.end", x + more), key


def encode(size: Size, p: Params, words: jax.Array, segments: jax.Array, key: jax.Array | None = None) -> jax.Array:
    x = p["word"][words] + p["position"][:words.shape[1]] + p["segment"][segments]
    key, x = drop(size, key, norm(p, "embedding", x))
    for i in range(size.layers):
        x, key = layer(size, p, i, x, key)
    return x


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    logits = logits - jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    right = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jnp.log(jnp.exp(logits).sum(-1)) - right).astype(jnp.float32)


def loss(size: Size, p: Params, batch: tuple[jax.Array, ...], counts: jax.Array,
         key: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:
    """The sum of both losses, to differentiate; and both. Sums are in fp32, all else in the parameters' type. counts: of words
    that are to be predicted and of pairs, by which the sums are divided"""
    words, segments, targets, chosen, is_next = batch
    x = encode(size, p, words, segments, key)
    guess = norm(p, "transform", jax.nn.gelu(dense(p, "transform", x))) @ p["word"].T + p["words.b"]
    word_loss = (cross_entropy(guess, targets) * chosen).sum() / counts[0]
    next_loss = cross_entropy(dense(p, "next", jnp.tanh(dense(p, "pooler", x[:, 0]))), is_next).sum() / counts[1]
    return word_loss + next_loss, jnp.stack([word_loss, next_loss])
