# SPDX-License-Identifier: MIT
"""Networks on text: encoders, decoders with caches, routing, and what is done with their logits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layers import Network, Weights, attention, conv, dense, layer_norm, split_heads
from text import encoder_layer, encoder_weights


def rms_norm(scale: jax.Array, x: jax.Array) -> jax.Array:
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


def ids(w: Weights, words: int, *shape: int) -> np.ndarray:
    return w.rng.integers(0, words, shape, dtype=np.int32)


def causal(n: int) -> np.ndarray:
    return np.tri(n, dtype=bool)[None, None]


def bert_tiny(small: bool) -> Network:
    """Two layers of width 128 and a classifier of sentences; tokens at the end are padding"""
    w = Weights(101)
    words, width, heads, length, batch, layers = (40, 16, 2, 8, 2, 1) if small else (4000, 128, 2, 128, 1, 2)
    weights = {"words": w.normal(words, width, scale=0.5), "positions": w.normal(length, width, scale=0.1),
               "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)], "ln": w.layer_norm(width),
               "pool": w.dense(width, width), "out": w.dense(width, 3)}

    def fn(p: Any, tokens: jax.Array) -> jax.Array:
        keep = (tokens != 0)[:, None, None, :]
        x = layer_norm(p["ln"], p["words"][tokens] + p["positions"])
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, keep)
        return jax.nn.log_softmax(dense(p["out"], jnp.tanh(dense(p["pool"], x[:, 0]))), -1)

    tokens = 1 + ids(w, words - 1, batch, length)
    tokens[:, 3 * length // 4:] = 0
    return Network(fn, weights, (tokens,))


def t5_block(w: Weights, width: int, hidden: int, cross: bool) -> dict[str, Any]:
    parts = ("self", "cross") if cross else ("self",)
    p: dict[str, Any] = {part: {n: w.normal(width, width, scale=width**-0.5) for n in "qkvo"} for part in parts}
    p |= {f"{part}_norm": w.uniform(0.8, 1.2, width) for part in (*parts, "ff")}
    return p | {"up": w.normal(width, hidden, scale=(2 / width) ** 0.5),
                "down": w.normal(hidden, width, scale=hidden**-0.5)}


def buckets(n: int, both_ways: bool) -> np.ndarray:
    """Of relative positions: exact up to 8, logarithmic beyond"""
    at = np.arange(n)[None] - np.arange(n)[:, None]
    far, half = (np.abs(at), 16) if both_ways else (np.maximum(-at, 0), 32)
    log = half // 2 + (np.log(np.maximum(far, 1) / (half // 2)) / np.log(128 / (half // 2)) * (half // 2)).astype(int)
    return np.where(far < half // 2, far, np.minimum(log, half - 1)) + (16 * (at > 0) if both_ways else 0)


def t5(small: bool) -> Network:
    """Encoder and decoder with relative positions, no biases"""
    w = Weights(102)
    words, width, heads, hidden, source, target, layers = \
        (30, 16, 2, 32, 8, 6, 1) if small else (4000, 256, 4, 1024, 64, 48, 3)
    weights = {"words": w.normal(words, width), "near": [w.normal(32, heads, scale=0.3) for _ in range(2)],
               "encoder": [t5_block(w, width, hidden, False) for _ in range(layers)],
               "decoder": [t5_block(w, width, hidden, True) for _ in range(layers)],
               "norm": w.uniform(0.8, 1.2, 2, width)}

    def attend(p: Any, x: jax.Array, y: jax.Array, bias: Any) -> jax.Array:
        q, k, v = (split_heads(a @ p[n], heads) for a, n in ((x, "q"), (y, "k"), (y, "v")))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5 + bias
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
        return mixed.reshape(x.shape) @ p["o"]

    def fn(p: Any, tokens: jax.Array, before: jax.Array) -> jax.Array:
        bias = jnp.transpose(p["near"][0][buckets(source, True)], (2, 0, 1))[None]
        x = p["words"][tokens]
        for b in p["encoder"]:
            y = rms_norm(b["self_norm"], x)
            x = x + attend(b["self"], y, y, bias)
            x = x + jax.nn.relu(rms_norm(b["ff_norm"], x) @ b["up"]) @ b["down"]
        memory = rms_norm(p["norm"][0], x)
        bias = jnp.transpose(p["near"][1][buckets(target, False)], (2, 0, 1))[None]
        bias = jnp.where(causal(target), bias, -1e9)
        x = p["words"][before]
        for b in p["decoder"]:
            y = rms_norm(b["self_norm"], x)
            x = x + attend(b["self"], y, y, bias)
            x = x + attend(b["cross"], rms_norm(b["cross_norm"], x), memory, 0.0)
            x = x + jax.nn.relu(rms_norm(b["ff_norm"], x) @ b["up"]) @ b["down"]
        return rms_norm(p["norm"][1], x) * width**-0.5 @ p["words"].T

    return Network(fn, weights, (ids(w, words, 1, source), ids(w, words, 1, target)))


def gpt2(small: bool) -> Network:
    """All positions at once; the logits of the last"""
    w = Weights(103)
    words, width, heads, length, layers = (40, 16, 2, 8, 1) if small else (8000, 256, 4, 128, 6)
    weights = {"words": w.normal(words, width, scale=0.3), "positions": w.normal(length, width, scale=0.1),
               "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)], "ln": w.layer_norm(width)}

    def fn(p: Any, tokens: jax.Array) -> jax.Array:
        x = p["words"][tokens] + p["positions"]
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, causal(length), before=True)
        return layer_norm(p["ln"], x[:, -1]) @ p["words"].T

    return Network(fn, weights, (ids(w, words, 1, length),))


LLAMA_SMALL, LLAMA = (30, 16, 4, 2, 24, 1, 8), (4000, 384, 8, 2, 1024, 4, 256)


def llama_weights(w: Weights, plan: tuple[int, ...]) -> dict[str, Any]:
    words, width, heads, pairs, hidden, layers, _ = plan
    kept = width // heads * pairs

    def matrix(n: int, m: int) -> np.ndarray:
        return w.normal(n, m, scale=n**-0.5)

    return {"words": w.normal(words, width), "norm": w.uniform(0.8, 1.2, width), "out": matrix(width, words),
            "layers": [{"q": matrix(width, width), "k": matrix(width, kept), "v": matrix(width, kept),
                        "o": matrix(width, width), "gate": matrix(width, hidden), "up": matrix(width, hidden),
                        "down": matrix(hidden, width), "n1": w.uniform(0.8, 1.2, width),
                        "n2": w.uniform(0.8, 1.2, width)} for _ in range(layers)]}


def rotate(x: jax.Array, at: jax.Array) -> jax.Array:
    """Rotary positions: x [batch, tokens, heads, features], at [tokens]"""
    half = x.shape[-1] // 2
    angle = at[:, None] * np.exp(-np.log(1e4) * np.arange(half) / half).astype(np.float32)
    cos, sin = (f(angle.astype(x.dtype))[:, None, :] for f in (jnp.cos, jnp.sin))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def grouped(q: jax.Array, k: jax.Array, v: jax.Array, keep: Any) -> jax.Array:
    """Attention of query heads that share keys and values"""
    b, t, h, d = q.shape
    q = q.reshape(b, t, k.shape[2], h // k.shape[2], d)
    scores = jnp.where(keep, jnp.einsum("btgrd,bsgd->bgrts", q, k) * d**-0.5, -1e9)
    return jnp.einsum("bgrts,bsgd->btgrd", jax.nn.softmax(scores, -1), v).reshape(b, t, h * d)


def llama_layer(p: Any, x: jax.Array, at: jax.Array, heads: int, mix: Any) -> Any:
    """mix: from queries, keys and values to what the heads give, and what is kept of them"""
    y, d = rms_norm(p["n1"], x), x.shape[-1] // heads
    q, k, v = ((y @ p[n]).reshape(*y.shape[:2], -1, d) for n in "qkv")
    mixed, kept = mix(rotate(q, at), rotate(k, at), v)
    x = x + mixed @ p["o"]
    y = rms_norm(p["n2"], x)
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"], kept


def llama_prefill(small: bool) -> Network:
    """Logits of the last position and the keys and values of all"""
    w = Weights(104)
    plan = LLAMA_SMALL if small else LLAMA
    heads, length = plan[2], 6 if small else 96

    def fn(p: Any, tokens: jax.Array) -> Any:
        x, at, kept = p["words"][tokens], np.arange(length, dtype=np.int32), []
        for layer in p["layers"]:
            x, one = llama_layer(layer, x, at, heads, lambda q, k, v: (grouped(q, k, v, causal(length)[0]), (k, v)))
            kept.append(one)
        keys, values = (jnp.stack(part) for part in zip(*kept))
        return rms_norm(p["norm"], x[:, -1]) @ p["out"], keys, values

    return Network(fn, llama_weights(w, plan), (ids(w, plan[0], 1, length),))


def llama_decode(small: bool) -> Network:
    """One token more, its keys and values written into the caches"""
    w = Weights(105)
    plan = LLAMA_SMALL if small else LLAMA
    _, width, heads, pairs, _, layers, length = plan
    at = length // 2

    def fn(p: Any, token: jax.Array, at: jax.Array, keys: jax.Array, values: jax.Array) -> Any:
        x = p["words"][token][:, None]

        def mix(i: int, q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
            k = lax.dynamic_update_slice_in_dim(keys[i], k, at, 1)
            v = lax.dynamic_update_slice_in_dim(values[i], v, at, 1)
            return grouped(q, k, v, lax.iota(jnp.int32, length) <= at), (k, v)

        kept = []
        for i, layer in enumerate(p["layers"]):
            x, one = llama_layer(layer, x, at[None], heads, lambda q, k, v, i=i: mix(i, q, k, v))
            kept.append(one)
        keys, values = (jnp.stack(part) for part in zip(*kept))
        return rms_norm(p["norm"], x[:, 0]) @ p["out"], keys, values

    caches = [w.normal(layers, 1, length, pairs, width // heads) for _ in range(2)]
    for c in caches:
        c[:, :, at:] = 0
    return Network(fn, llama_weights(w, plan), (ids(w, plan[0], 1), np.array(at, np.int32), *caches))


def clip(small: bool) -> Network:
    """An image and some texts: how alike they are"""
    w = Weights(106)
    words, width, heads, length, texts, layers, size, patch = \
        (30, 16, 2, 6, 3, 1, 16, 8) if small else (4000, 256, 4, 24, 4, 3, 224, 32)
    tokens = (size // patch) ** 2
    weights = {"patch": w.kernel(patch, 3, width, 1.0), "cls": w.normal(1, 1, width), "at": w.normal(tokens + 1, width),
               "words": w.normal(words, width), "positions": w.normal(length, width, scale=0.1),
               "image": [encoder_weights(w, width, 4 * width) for _ in range(layers)],
               "text": [encoder_weights(w, width, 4 * width) for _ in range(layers)],
               "ln": [w.layer_norm(width) for _ in range(2)], "to": w.normal(2, width, width, scale=width**-0.5)}

    def unit(x: jax.Array) -> jax.Array:
        return x / jnp.sqrt(jnp.sum(jnp.square(x), -1, keepdims=True))

    def fn(p: Any, image: jax.Array, tokens: jax.Array) -> jax.Array:
        x = conv(p["patch"], image, patch, "VALID").reshape(1, -1, width)
        x = jnp.concatenate([p["cls"], x], 1) + p["at"]
        for layer in p["image"]:
            x = encoder_layer(layer, x, heads, before=True)
        y = p["words"][tokens] + p["positions"]
        for layer in p["text"]:
            y = encoder_layer(layer, y, heads, causal(length), before=True)
        x = unit(layer_norm(p["ln"][0], x[:, 0]) @ p["to"][0])
        y = unit(layer_norm(p["ln"][1], y[:, -1]) @ p["to"][1])
        return jax.nn.softmax(10 * x @ y.T, -1)

    return Network(fn, weights, (w.normal(1, size, size, 3), ids(w, words, texts, length)))


def moe(small: bool) -> Network:
    """Each token to the two experts that its router likes best, as many as an expert has room for"""
    w = Weights(107)
    tokens, width, hidden, experts = (12, 16, 24, 4) if small else (256, 256, 512, 8)
    room = tokens // 2
    weights = {"router": w.normal(width, experts, scale=3 * width**-0.5),
               "up": w.normal(experts, width, hidden, scale=(2 / width) ** 0.5),
               "down": w.normal(experts, hidden, width, scale=hidden**-0.5)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        best, which = lax.top_k(x @ p["router"], 2)
        gates = jax.nn.softmax(best, -1)
        chosen = jax.nn.one_hot(which.reshape(-1), experts, dtype=x.dtype)  # [2 tokens, experts]
        place = jnp.cumsum(chosen, 0) * chosen - 1
        slot = jax.nn.one_hot(place.astype(jnp.int32), room, dtype=x.dtype) * chosen[..., None]
        slot = slot.reshape(tokens, 2, experts, room)
        y = jnp.einsum("tker,td->erd", slot, x)
        y = jnp.einsum("erh,ehd->erd", jax.nn.relu(jnp.einsum("erd,edh->erh", y, p["up"])), p["down"])
        return x + jnp.einsum("tker,tk,erd->td", slot, gates, y)

    # only tokens of which the router is sure, whatever type it computes in
    x = w.normal(16 * tokens, width)
    order = np.sort(x @ weights["router"], -1)
    sure = np.minimum(order[:, -2] - order[:, -3], order[:, -1] - order[:, -2]) > 0.5
    return Network(fn, weights, (x[sure][:tokens],))


def beam_step(small: bool) -> Network:
    """The best continuations of four hypotheses, and their states"""
    w = Weights(108)
    beams, width, words = (3, 8, 20) if small else (4, 256, 8000)
    weights = {"out": w.dense(width, words)}
    likely = w.rng.permutation(words)[:2 * beams]
    weights["out"]["b"][likely] += 4 + np.arange(2 * beams, dtype=np.float32)

    def fn(p: Any, hidden: jax.Array, scores: jax.Array) -> Any:
        words_of = jax.nn.log_softmax(dense(p["out"], hidden), -1)
        best, at = lax.top_k((scores[:, None] + words_of).reshape(-1), beams)
        return best, at // words, at % words, hidden[at // words]

    return Network(fn, weights, (0.2 * w.normal(beams, width), np.linspace(-1, -2.2, beams, dtype=np.float32)))


def ctc(small: bool) -> Network:
    """The loss of labels under frames: a scan of logarithms of sums"""
    w = Weights(109)
    frames, batch, width, classes, labels = (8, 2, 8, 6, 3) if small else (200, 8, 64, 40, 30)
    weights = w.dense(width, classes)

    def fn(p: Any, x: jax.Array, labels: jax.Array) -> jax.Array:
        log_p = jax.nn.log_softmax(dense(p, x), -1)  # [frames, batch, classes]
        path = jnp.stack([jnp.zeros_like(labels), labels], -1).reshape(batch, -1)
        path = jnp.pad(path, ((0, 0), (0, 1)))
        skip = (path[:, 2:] != 0) & (path[:, 2:] != path[:, :-2])
        emit = jnp.take_along_axis(log_p, jnp.broadcast_to(path, (frames, *path.shape)), -1)
        first = jnp.where(lax.iota(jnp.int32, path.shape[1]) < 2, emit[0], -1e30)

        def step(a: jax.Array, e: jax.Array) -> Any:
            one = jnp.pad(a[:, :-1], ((0, 0), (1, 0)), constant_values=-1e30)
            two = jnp.pad(jnp.where(skip, a[:, :-2], -1e30), ((0, 0), (2, 0)), constant_values=-1e30)
            top = jnp.maximum(jnp.maximum(a, one), two)
            return top + jnp.log(jnp.exp(a - top) + jnp.exp(one - top) + jnp.exp(two - top)) + e, None

        last, _ = lax.scan(step, first, emit[1:])
        return -jnp.logaddexp(last[:, -1], last[:, -2])

    return Network(fn, weights, (w.normal(frames, batch, width), 1 + ids(w, classes - 1, batch, labels)))


def rnnt(small: bool) -> Network:
    """Predictor over the labels so far, joined with every frame"""
    w = Weights(110)
    frames, labels, width, classes = (6, 4, 12, 8) if small else (100, 24, 256, 200)
    weights = {"words": w.normal(classes, width), "x": w.normal(width, 3 * width, scale=width**-0.5),
               "h": w.normal(width, 3 * width, scale=width**-0.5), "b": w.normal(3 * width, scale=0.1),
               "frame": w.dense(width, width), "label": w.dense(width, width), "out": w.dense(width, classes)}

    def fn(p: Any, encoded: jax.Array, labels: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> Any:
            (xr, xz, xn), (hr, hz, hn) = (jnp.split(a, 3, -1) for a in (x, h @ p["h"]))
            r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
            h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
            return h, h

        _, hidden = lax.scan(step, jnp.zeros(width, encoded.dtype), p["words"][labels] @ p["x"] + p["b"])
        joint = jnp.tanh(dense(p["frame"], encoded)[:, None] + dense(p["label"], hidden)[None])
        return jax.nn.log_softmax(dense(p["out"], joint), -1)

    return Network(fn, weights, (w.normal(frames, width), ids(w, classes, labels)))


def cross_attention(small: bool) -> Network:
    """Perceiver: few latent vectors read many inputs, then each other"""
    w = Weights(111)
    latents, inputs, width, heads, layers = (4, 12, 16, 2, 1) if small else (64, 512, 256, 4, 4)
    weights = {"latent": w.normal(1, latents, width), "kv": w.normal(width, 2 * width, scale=width**-0.5),
               "q": w.dense(width, width), "ln": w.layer_norm(width),
               "layers": [encoder_weights(w, width, 2 * width) for _ in range(layers)], "out": w.dense(width, 10)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        k, v = jnp.split(layer_norm(p["ln"], x) @ p["kv"], 2, -1)
        q, k, v = (split_heads(a, heads) for a in (dense(p["q"], p["latent"]), k, v))
        y = p["latent"] + attention(q, k, v)
        for layer in p["layers"]:
            y = encoder_layer(layer, y, heads, before=True)
        return dense(p["out"], jnp.mean(y, 1))

    return Network(fn, weights, (w.normal(1, inputs, width),))


MODELS = (bert_tiny, t5, gpt2, llama_prefill, llama_decode, clip, moe, beam_step, ctc, rnnt, cross_attention)
