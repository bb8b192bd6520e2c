# SPDX-License-Identifier: MIT
"""Networks on sequences and sound: recurrences, scans, convolutions over time."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layers import Network, Weights, attention, batch_norm, dense, layer_norm, split_heads
from text import encoder_layer, encoder_weights


def conv1d(w: jax.Array, x: jax.Array, stride: int = 1, pad: Any = "SAME", dilation: int = 1,
           groups: int = 1) -> jax.Array:
    """x [batch, time, features]; w [size, inputs, outputs]"""
    return lax.conv_general_dilated(x, w, (stride,), pad, rhs_dilation=(dilation,), feature_group_count=groups,
                                    dimension_numbers=("NWC", "WIO", "NWC"))


def kernel1d(w: Weights, size: int, n: int, m: int, gain: float = 1.0) -> np.ndarray:
    return w.normal(size, n, m, scale=gain / (size * n) ** 0.5)


def waves(w: Weights, *shape: int) -> np.ndarray:
    """Sums of a few sines, along the last dimension"""
    t = np.arange(shape[-1], dtype=np.float32)
    rate, phase = (w.uniform(0, high, *shape[:-1], 4, 1) for high in (1.0, 6.0))
    return np.sum(np.sin(rate * t + phase), -2).astype(np.float32) / 2


def whisper(small: bool) -> Network:
    """Two convolutions over a mel spectrogram, then an encoder"""
    w = Weights(201)
    frames, mels, width, heads, layers = (16, 8, 16, 2, 1) if small else (400, 80, 256, 4, 3)
    weights = {"c1": kernel1d(w, 3, mels, width), "c2": kernel1d(w, 3, width, width),
               "b": w.normal(2, width, scale=0.1), "at": w.normal(frames // 2, width, scale=0.3),
               "ln": w.layer_norm(width),
               "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)]}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = jax.nn.gelu(conv1d(p["c1"], x) + p["b"][0], approximate=False)
        x = jax.nn.gelu(conv1d(p["c2"], x, 2) + p["b"][1], approximate=False) + p["at"]
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, before=True)
        return layer_norm(p["ln"], x)

    return Network(fn, weights, (w.normal(1, frames, mels),))


def conformer_weights(w: Weights, width: int, size: int) -> dict[str, Any]:
    names = {n: w.dense(width, width) for n in "qkvo"} | {f"ln{i}": w.layer_norm(width) for i in range(5)}
    return names | {"up1": w.dense(width, 4 * width), "down1": w.dense(4 * width, width),
                    "up2": w.dense(width, 4 * width), "down2": w.dense(4 * width, width),
                    "in": w.dense(width, 2 * width), "out": w.dense(width, width),
                    "depth": kernel1d(w, size, 1, width), "bn": w.batch_norm(width)}


def conformer_layer(p: Any, x: jax.Array, heads: int) -> jax.Array:
    def feed(x: jax.Array, ln: str, i: int) -> jax.Array:
        return x + 0.5 * dense(p[f"down{i}"], jax.nn.silu(dense(p[f"up{i}"], layer_norm(p[ln], x))))

    x = feed(x, "ln0", 1)
    y = layer_norm(p["ln1"], x)
    x = x + dense(p["o"], attention(*(split_heads(dense(p[n], y), heads) for n in "qkv")))
    a, b = jnp.split(dense(p["in"], layer_norm(p["ln2"], x)), 2, -1)
    y = conv1d(p["depth"], a * jax.nn.sigmoid(b), groups=x.shape[-1])
    x = x + dense(p["out"], jax.nn.silu(batch_norm(p["bn"], y)))
    return layer_norm(p["ln4"], feed(x, "ln3", 2))


def conformer(small: bool) -> Network:
    w = Weights(202)
    frames, width, heads, size, layers = (12, 16, 2, 5, 1) if small else (200, 144, 4, 31, 3)
    weights = [conformer_weights(w, width, size) for _ in range(layers)]

    def fn(weights: Any, x: jax.Array) -> jax.Array:
        for p in weights:
            x = conformer_layer(p, x, heads)
        return x

    return Network(fn, weights, (w.normal(1, frames, width),))


def wavenet(small: bool) -> Network:
    """Dilated causal convolutions, gated"""
    w = Weights(203)
    time, width, rates = (24, 8, (1, 2, 4)) if small else (2000, 48, tuple(1 << i for i in range(9)))
    weights = {"in": w.dense(1, width), "out": w.dense(width, 32),
               "layers": [{"gate": kernel1d(w, 2, width, 2 * width), "b": w.normal(2 * width, scale=0.1),
                           "skip": w.dense(width, 2 * width)} for _ in rates]}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x, skips = dense(p["in"], x[..., None]), 0.0
        for layer, rate in zip(p["layers"], rates):
            a, b = jnp.split(conv1d(layer["gate"], x, 1, [(rate, 0)], rate) + layer["b"], 2, -1)
            more, skip = jnp.split(dense(layer["skip"], jnp.tanh(a) * jax.nn.sigmoid(b)), 2, -1)
            x, skips = x + more, skips + skip
        return dense(p["out"], jax.nn.relu(skips))

    return Network(fn, weights, (waves(w, 1, time),))


def tcn(small: bool) -> Network:
    """Residual blocks of dilated convolutions over several series"""
    w = Weights(204)
    batch, time, n, width, rates = (2, 16, 3, 8, (1, 2)) if small else (8, 256, 8, 64, (1, 2, 4, 8, 16))
    weights: dict[str, Any] = {"in": w.dense(n, width), "out": w.dense(width, 4), "layers": [
        {"c1": kernel1d(w, 3, width, width, 1.4), "b1": w.batch_norm(width), "c2": kernel1d(w, 3, width, width, 1.4),
         "b2": w.batch_norm(width, 0.5)} for _ in rates]}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = dense(p["in"], x)
        for b, rate in zip(p["layers"], rates):
            y = jax.nn.relu(batch_norm(b["b1"], conv1d(b["c1"], x, 1, [(2 * rate, 0)], rate)))
            x = jax.nn.relu(x + batch_norm(b["b2"], conv1d(b["c2"], y, 1, [(2 * rate, 0)], rate)))
        return dense(p["out"], x[:, -1])

    return Network(fn, weights, (w.normal(batch, time, n),))


def rwkv(small: bool) -> Network:
    """Two layers of time mixing (a scan with running maximum) and channel mixing"""
    w = Weights(205)
    time, width, layers = (10, 12, 1) if small else (256, 128, 2)

    def layer() -> dict[str, Any]:
        names = {n: w.normal(width, width, scale=width**-0.5) for n in ("k", "v", "r", "o", "cr")}
        return names | {"mix": w.uniform(0, 1, 5, width), "decay": w.uniform(-2, 0, width), "first": w.normal(width),
                        "ln1": w.layer_norm(width), "ln2": w.layer_norm(width),
                        "ck": w.normal(width, 4 * width, scale=width**-0.5),
                        "cv": w.normal(4 * width, width, scale=(4 * width) ** -0.5)}

    weights = [layer() for _ in range(layers)]

    def shifted(p: Any, x: jax.Array, i: int) -> jax.Array:
        before = jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])
        return x * p["mix"][i] + before * (1 - p["mix"][i])

    def time_mix(p: Any, x: jax.Array) -> jax.Array:
        k, v, r = (shifted(p, x, i) @ p[n] for i, n in enumerate("kvr"))
        decay = -jnp.exp(p["decay"])

        def step(state: Any, kv: Any) -> Any:
            (a, b, top), (k, v) = state, kv
            now = jnp.maximum(top, k + p["first"])
            old, new = jnp.exp(top - now), jnp.exp(k + p["first"] - now)
            y = (old * a + new * v) / (old * b + new)
            later = jnp.maximum(top + decay, k)
            old, new = jnp.exp(top + decay - later), jnp.exp(k - later)
            return (old * a + new * v, old * b + new, later), y

        zero = jnp.zeros(width, x.dtype)
        _, y = lax.scan(step, (zero, zero, zero - 1e30), (k, v))
        return (jax.nn.sigmoid(r) * y) @ p["o"]

    def fn(weights: Any, x: jax.Array) -> jax.Array:
        for p in weights:
            x = x + time_mix(p, layer_norm(p["ln1"], x))
            y = layer_norm(p["ln2"], x)
            k = jnp.square(jax.nn.relu(shifted(p, y, 3) @ p["ck"]))
            x = x + jax.nn.sigmoid(shifted(p, y, 4) @ p["cr"]) * (k @ p["cv"])
        return x

    return Network(fn, weights, (w.normal(time, width),))


def selective(small: bool, scan: Any, seed: int) -> Network:
    """Mamba's block; scan(a, b) solves h[t] = a[t] h[t-1] + b[t]"""
    w = Weights(seed)
    time, width, inner, state, rank = (10, 8, 12, 4, 2) if small else (192, 128, 256, 16, 8)
    weights = {"in": w.normal(width, 2 * inner, scale=width**-0.5), "conv": kernel1d(w, 4, 1, inner),
               "cb": w.normal(inner, scale=0.1), "x": w.normal(inner, rank + 2 * state, scale=inner**-0.5),
               "dt": w.dense(rank, inner), "a": np.tile(np.log(1 + np.arange(state, dtype=np.float32)), (inner, 1)),
               "d": w.normal(inner), "out": w.normal(inner, width, scale=inner**-0.5)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x, z = jnp.split(x @ p["in"], 2, -1)
        x = jax.nn.silu(conv1d(p["conv"], x[None], 1, [(3, 0)], groups=inner)[0] + p["cb"])
        step, b, c = jnp.split(x @ p["x"], (rank, rank + state), -1)
        step = jax.nn.softplus(dense(p["dt"], step))
        keep = jnp.exp(step[..., None] * -jnp.exp(p["a"]))
        h = scan(keep, (step * x)[..., None] * b[:, None, :])
        y = jnp.einsum("tis,ts->ti", h, c) + p["d"] * x
        return (y * jax.nn.silu(z)) @ p["out"]

    return Network(fn, weights, (w.normal(time, width),))


def mamba(small: bool) -> Network:
    def scan(a: jax.Array, b: jax.Array) -> jax.Array:
        def step(h: jax.Array, ab: Any) -> Any:
            h = ab[0] * h + ab[1]
            return h, h

        return lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]

    return selective(small, scan, 206)


def mamba_parallel(small: bool) -> Network:
    def join(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    return selective(small, lambda a, b: lax.associative_scan(join, (a, b))[1], 207)


def gru_cell(p: Any, h: jax.Array, x: jax.Array) -> jax.Array:
    """x: with its weights already"""
    (xr, xz, xn), (hr, hz, hn) = (jnp.split(a, 3, -1) for a in (x, h @ p["h"]))
    r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
    return (1 - z) * jnp.tanh(xn + r * hn) + z * h


def gru(small: bool) -> Network:
    """Two layers"""
    w = Weights(208)
    time, batch, n, width = (8, 2, 6, 10) if small else (300, 4, 64, 128)
    weights = [{"x": w.dense(m, 3 * width), "h": w.normal(width, 3 * width, scale=width**-0.5)} for m in (n, width)]

    def fn(weights: Any, x: jax.Array) -> Any:
        for p in weights:
            def step(h: jax.Array, x: jax.Array, p: Any = p) -> Any:
                h = gru_cell(p, h, x)
                return h, h

            _, x = lax.scan(step, jnp.zeros((batch, width), x.dtype), dense(p["x"], x))
        return x

    return Network(fn, weights, (w.normal(time, batch, n),))


def bilstm(small: bool) -> Network:
    """In both directions, with a tag for each step"""
    w = Weights(209)
    time, batch, n, width = (8, 2, 6, 8) if small else (200, 4, 64, 96)
    ways = [{"x": w.dense(n, 4 * width), "h": w.normal(width, 4 * width, scale=width**-0.5)} for _ in range(2)]
    weights = {"ways": ways, "out": w.dense(2 * width, 9)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        def one_way(p: Any, reverse: bool) -> jax.Array:
            def step(state: Any, x: jax.Array) -> Any:
                h, c = state
                i, f, g, o = jnp.split(x + h @ p["h"], 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            zero = jnp.zeros((batch, width), x.dtype)
            return lax.scan(step, (zero, zero), dense(p["x"], x), reverse=reverse)[1]

        return dense(p["out"], jnp.concatenate([one_way(p["ways"][0], False), one_way(p["ways"][1], True)], -1))

    return Network(fn, weights, (w.normal(time, batch, n),))


def long_rnn(small: bool) -> Network:
    """Thousands of steps of a small cell"""
    w = Weights(210)
    time, width = (40, 8) if small else (5000, 32)
    weights = {"x": w.dense(4, width), "h": w.normal(width, width, scale=0.7 * width**-0.5), "out": w.dense(width, 2)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        h, _ = lax.scan(lambda h, x: (jnp.tanh(x + h @ p["h"]), None), jnp.zeros(width, x.dtype), dense(p["x"], x))
        return dense(p["out"], h)

    return Network(fn, weights, (w.normal(time, 4),))


def spectrogram(small: bool) -> Network:
    """Windowed frames times cosines and sines, mel bands, logarithm"""
    w = Weights(211)
    samples, size, hop, mels = (96, 32, 16, 6) if small else (16000, 400, 160, 80)
    bins = size // 2 + 1
    angle = 2 * np.pi * np.outer(np.arange(size), np.arange(bins)) / size
    window = np.hanning(size + 1)[:size, None]
    centre = np.linspace(0, bins - 1, mels + 2)
    f = np.arange(bins)[:, None]
    bands = np.maximum(0, np.minimum((f - centre[:-2]) / (centre[1:-1] - centre[:-2]),
                                     (centre[2:] - f) / (centre[2:] - centre[1:-1])))
    weights = {"cos": (window * np.cos(angle)).astype(np.float32), "sin": (window * np.sin(angle)).astype(np.float32),
               "mel": bands.astype(np.float32)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        count = (samples - size) // hop + 1
        frames = x[np.arange(count)[:, None] * hop + np.arange(size)]
        power = jnp.square(frames @ p["cos"]) + jnp.square(frames @ p["sin"])
        return jnp.log(power @ p["mel"] + 1e-3)

    return Network(fn, weights, (waves(w, samples) + 0.3 * w.normal(samples),))


MODELS = (whisper, conformer, wavenet, tcn, rwkv, mamba, mamba_parallel, gru, bilstm, long_rnn, spectrogram)
