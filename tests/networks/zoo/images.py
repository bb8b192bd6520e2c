# SPDX-License-Identifier: MIT
"""Networks on images: classifiers' blocks, encoders with decoders, detectors' heads."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layers import Network, Weights, attention, batch_norm, conv, dense, layer_norm, max_pool, split_heads
from vision import inverted_weights

NHWC = ("NHWC", "HWIO", "NHWC")


def dilated(w: jax.Array, x: jax.Array, rate: int) -> jax.Array:
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", rhs_dilation=(rate, rate), dimension_numbers=NHWC)


def doubled(w: jax.Array, x: jax.Array) -> jax.Array:
    """Transposed convolution of stride 2"""
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NHWC)


def unit(w: Weights, size: int, n: int, m: int, gain: float = 1.0) -> dict[str, Any]:
    return {"w": w.kernel(size, n, m), "bn": w.batch_norm(m, gain)}


def cbr(p: Any, x: jax.Array, stride: int = 1, groups: int = 1) -> jax.Array:
    return jax.nn.relu(batch_norm(p["bn"], conv(p["w"], x, stride, groups=groups)))


def convnext(small: bool) -> Network:
    """Stem and two stages; depthwise 7x7, layer scale"""
    w = Weights(301)
    widths, count, size = ((8, 12), 1, 16) if small else ((64, 128), 2, 128)
    weights: dict[str, Any] = {"stem": w.kernel(4, 3, widths[0], 1.0), "ln": w.layer_norm(widths[0]), "stages": []}
    for i, n in enumerate(widths):
        blocks = [{"depth": w.kernel(7, 1, n, 1.0), "ln": w.layer_norm(n), "up": w.dense(n, 4 * n),
                   "down": w.dense(4 * n, n), "scale": w.uniform(0.2, 0.6, n)} for _ in range(count)]
        down = {"ln": w.layer_norm(widths[i - 1]), "w": w.kernel(2, widths[i - 1], n, 1.0)} if i else {}
        weights["stages"].append({"down": down, "blocks": blocks})
    weights |= {"last": w.layer_norm(widths[-1]), "out": w.dense(widths[-1], 10)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = layer_norm(p["ln"], conv(p["stem"], x, 4, "VALID"))
        for stage in p["stages"]:
            if stage["down"]:
                x = conv(stage["down"]["w"], layer_norm(stage["down"]["ln"], x), 2, "VALID")
            for b in stage["blocks"]:
                y = layer_norm(b["ln"], conv(b["depth"], x, groups=x.shape[-1]))
                x = x + b["scale"] * dense(b["down"], jax.nn.gelu(dense(b["up"], y), approximate=False))
        return dense(p["out"], layer_norm(p["last"], jnp.mean(x, (1, 2))))

    return Network(fn, weights, (w.normal(1, size, size, 3),))


def windows(x: jax.Array, n: int) -> jax.Array:
    _, h, _, c = x.shape
    x = x.reshape(h // n, n, h // n, n, c)
    return jnp.transpose(x, (0, 2, 1, 3, 4)).reshape(-1, n * n, c)


def swin(small: bool) -> Network:
    """Two blocks of attention in windows, the second shifted, and the merging of patches"""
    w = Weights(302)
    width, heads, n, size = (12, 2, 4, 8) if small else (96, 3, 7, 28)

    def block() -> dict[str, Any]:
        return {"qkv": w.dense(width, 3 * width), "o": w.dense(width, width), "up": w.dense(width, 4 * width),
                "down": w.dense(4 * width, width), "ln1": w.layer_norm(width), "ln2": w.layer_norm(width),
                "bias": w.normal((2 * n - 1) ** 2, heads, scale=0.3)}

    weights = {"blocks": [block(), block()], "ln": w.layer_norm(4 * width), "merge": w.dense(4 * width, 2 * width)}
    at = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij")).reshape(2, -1)
    far = at[:, :, None] - at[:, None] + n - 1
    near = far[0] * (2 * n - 1) + far[1]
    band = np.digitize(np.arange(size), (size - n, size - n // 2))
    region = np.asarray(windows((3 * band[:, None] + band)[None, ..., None], n))[..., 0]
    apart = region[:, None, :, None] != region[:, None, None, :]

    def attend(p: Any, x: jax.Array, shift: int) -> jax.Array:
        y = windows(jnp.roll(x, (-shift, -shift), (1, 2)), n)
        q, k, v = (split_heads(a, heads) for a in jnp.split(dense(p["qkv"], y), 3, -1))
        bias = jnp.transpose(p["bias"][near], (2, 0, 1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5 + bias
        scores = jnp.where(apart, -100.0, scores) if shift else scores
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(y.shape)
        y = dense(p["o"], y).reshape(size // n, size // n, n, n, width)
        y = jnp.transpose(y, (0, 2, 1, 3, 4)).reshape(1, size, size, width)
        return jnp.roll(y, (shift, shift), (1, 2))

    def fn(p: Any, x: jax.Array) -> jax.Array:
        for b, shift in zip(p["blocks"], (0, n // 2)):
            x = x + attend(b, layer_norm(b["ln1"], x), shift)
            x = x + dense(b["down"], jax.nn.gelu(dense(b["up"], layer_norm(b["ln2"], x)), approximate=False))
        x = jnp.concatenate([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)
        return dense(p["merge"], layer_norm(p["ln"], x))

    return Network(fn, weights, (w.normal(1, size, size, width),))


def mixer(small: bool) -> Network:
    w = Weights(303)
    size, patch, width, tokens, layers = (16, 4, 16, 16, 1) if small else (224, 16, 256, 196, 4)
    blocks = [{"ln1": w.layer_norm(width), "ln2": w.layer_norm(width), "t1": w.dense(tokens, width // 2),
               "t2": w.dense(width // 2, tokens), "c1": w.dense(width, 4 * width), "c2": w.dense(4 * width, width)}
              for _ in range(layers)]
    weights = {"patch": w.kernel(patch, 3, width, 1.0), "ln": w.layer_norm(width), "out": w.dense(width, 100),
               "layers": blocks}

    def mlp(a: Any, b: Any, x: jax.Array) -> jax.Array:
        return dense(b, jax.nn.gelu(dense(a, x), approximate=False))

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = conv(p["patch"], x, patch, "VALID").reshape(1, tokens, width)
        for b in p["layers"]:
            y = mlp(b["t1"], b["t2"], layer_norm(b["ln1"], x).swapaxes(1, 2))
            x = x + y.swapaxes(1, 2)
            x = x + mlp(b["c1"], b["c2"], layer_norm(b["ln2"], x))
        return dense(p["out"], jnp.mean(layer_norm(p["ln"], x), 1))

    return Network(fn, weights, (w.normal(1, size, size, 3),))


def unet(small: bool) -> Network:
    """Down and up again, each level joined with its like"""
    w = Weights(304)
    widths, size = ((4, 8), 8) if small else ((16, 32, 64, 128), 128)
    down = [[unit(w, 3, n, m), unit(w, 3, m, m)] for n, m in zip((3, *widths), widths)]
    up = [{"up": w.kernel(2, m, n, 2.0), "c": [unit(w, 3, 2 * n, n), unit(w, 3, n, n)]}
          for n, m in zip(widths, widths[1:])]
    weights = {"down": down, "up": up, "out": w.conv(1, widths[0], 2)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        kept = []
        for i, level in enumerate(p["down"]):
            x = max_pool(x, 2, 2) if i else x
            for c in level:
                x = cbr(c, x)
            kept.append(x)
        for level, side in reversed(list(zip(p["up"], kept))):
            x = jnp.concatenate([side, doubled(level["up"], x)], -1)
            for c in level["c"]:
                x = cbr(c, x)
        return jax.nn.sigmoid(conv(p["out"]["w"], x) + p["out"]["b"])

    return Network(fn, weights, (w.normal(1, size, size, 3),))


def group_norm(p: Any, x: jax.Array, groups: int) -> jax.Array:
    y = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean = jnp.mean(y, (1, 3), keepdims=True)
    var = jnp.mean(jnp.square(y - mean), (1, 3), keepdims=True)
    return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape) * p["scale"] + p["bias"]


def diffusion_step(small: bool) -> Network:
    """Noise predicted by a U-Net that is told the time, and one step back"""
    w = Weights(305)
    width, size, groups = (4, 8, 2) if small else (48, 32, 8)

    def res(n: int, m: int) -> dict[str, Any]:
        return {"n1": w.layer_norm(n), "c1": w.conv(3, n, m), "t": w.dense(4 * width, m), "n2": w.layer_norm(m),
                "c2": w.conv(3, m, m), "skip": w.kernel(1, n, m, 1.0)}

    weights = {"in": w.conv(3, 3, width), "t1": w.dense(width, 4 * width), "t2": w.dense(4 * width, 4 * width),
               "r1": res(width, width), "down": w.conv(3, width, 2 * width), "r2": res(2 * width, 2 * width),
               "ln": w.layer_norm(2 * width), "qkv": w.dense(2 * width, 6 * width), "o": w.dense(2 * width, 2 * width),
               "r3": res(2 * width, 2 * width), "up": w.conv(3, 2 * width, width), "r4": res(2 * width, width),
               "ln2": w.layer_norm(width), "out": w.conv(3, width, 3)}

    def block(p: Any, x: jax.Array, t: jax.Array) -> jax.Array:
        y = conv(p["c1"]["w"], jax.nn.silu(group_norm(p["n1"], x, groups))) + p["c1"]["b"]
        y = y + dense(p["t"], jax.nn.silu(t))[:, None, None]
        y = conv(p["c2"]["w"], jax.nn.silu(group_norm(p["n2"], y, groups))) + p["c2"]["b"]
        return conv(p["skip"], x) + y

    def fn(p: Any, x: jax.Array, at: jax.Array, noise: jax.Array) -> jax.Array:
        angle = at[:, None] * np.exp(-np.log(1e4) * np.arange(width // 2) / (width // 2)).astype(np.float32)
        t = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)
        t = dense(p["t2"], jax.nn.silu(dense(p["t1"], t)))
        a = block(p["r1"], conv(p["in"]["w"], x) + p["in"]["b"], t)
        b = block(p["r2"], conv(p["down"]["w"], a, 2) + p["down"]["b"], t)
        y = group_norm(p["ln"], b, groups).reshape(1, -1, 2 * width)
        y = attention(*(split_heads(z, 2) for z in jnp.split(dense(p["qkv"], y), 3, -1)))
        b = block(p["r3"], b + dense(p["o"], y).reshape(b.shape), t)
        b = jax.image.resize(b, (1, size, size, 2 * width), "nearest")
        y = jnp.concatenate([a, conv(p["up"]["w"], b) + p["up"]["b"]], -1)
        y = jax.nn.silu(group_norm(p["ln2"], block(p["r4"], y, t), groups))
        predicted = conv(p["out"]["w"], y) + p["out"]["b"]
        return (x - 0.02 / 0.3 * predicted) / 0.99 + 0.1 * noise

    return Network(fn, weights, (w.normal(1, size, size, 3), np.array([37.0], np.float32), w.normal(1, size, size, 3)))


def deeplab(small: bool) -> Network:
    """Atrous spatial pyramid over features, and the decoder"""
    w = Weights(306)
    n, m, low, size, rates = (12, 8, 4, 6, (2, 3)) if small else (160, 64, 24, 28, (6, 12, 18))
    weights = {"one": unit(w, 1, n, m), "rates": [unit(w, 3, n, m) for _ in rates], "pool": unit(w, 1, n, m),
               "join": unit(w, 1, m * (len(rates) + 2), m), "low": unit(w, 1, low, 12), "last": unit(w, 3, m + 12, m),
               "out": w.conv(1, m, 5)}

    def fn(p: Any, x: jax.Array, early: jax.Array) -> jax.Array:
        parts = [cbr(p["one"], x)]
        for u, rate in zip(p["rates"], rates):
            parts.append(jax.nn.relu(batch_norm(u["bn"], dilated(u["w"], x, rate))))
        whole = cbr(p["pool"], jnp.mean(x, (1, 2), keepdims=True))
        parts.append(jnp.broadcast_to(whole, (1, size, size, m)))
        y = cbr(p["join"], jnp.concatenate(parts, -1))
        y = jax.image.resize(y, (1, 2 * size, 2 * size, m), "bilinear")
        y = cbr(p["last"], jnp.concatenate([y, cbr(p["low"], early)], -1))
        y = conv(p["out"]["w"], y) + p["out"]["b"]
        return jax.image.resize(y, (1, 4 * size, 4 * size, 5), "bilinear")

    return Network(fn, weights, (np.maximum(w.normal(1, size, size, n), 0), w.normal(1, 2 * size, 2 * size, low)))


def retinanet_head(small: bool) -> Network:
    """Classes and boxes of every anchor of a feature pyramid, by the same convolutions at each level"""
    w = Weights(307)
    width, sizes, depth, classes = (8, (4, 2), 1, 3) if small else (64, (32, 16, 8, 4), 4, 20)
    weights = {n: {"tower": [w.conv(3, width, width) for _ in range(depth)], "out": w.conv(3, width, 9 * m)}
               for n, m in (("class", classes), ("box", 4))}

    def fn(p: Any, *levels: jax.Array) -> Any:
        results = []
        for name, last in (("class", classes), ("box", 4)):
            found = []
            for x in levels:
                for c in p[name]["tower"]:
                    x = jax.nn.relu(conv(c["w"], x) + c["b"])
                x = conv(p[name]["out"]["w"], x) + p[name]["out"]["b"]
                found.append(x.reshape(-1, last))
            results.append(jnp.concatenate(found))
        return jax.nn.sigmoid(results[0]), results[1]

    return Network(fn, weights, tuple(w.normal(1, s, s, width) for s in sizes))


def ssd_head(small: bool) -> Network:
    """Boxes decoded against priors, scores by softmax, the best of them"""
    w = Weights(308)
    sizes, widths, classes, best = ((4, 2), (8, 12), 4, 5) if small else ((19, 10, 5), (128, 256, 128), 21, 100)
    weights = [{"class": w.conv(3, n, 4 * classes), "box": w.conv(3, n, 16)} for n in widths]
    for p in weights:
        p["class"]["w"] *= 0.7
    priors = []
    for i, s in enumerate(sizes):
        y, x = np.mgrid[:s, :s]
        for k in range(4):
            side = np.full((s, s), 0.1 + 0.2 * i + 0.05 * k)
            priors.append(np.stack([(x + 0.5) / s, (y + 0.5) / s, side * (1 + k % 2), side], -1)[:, :, None])
    stacked = [np.concatenate(priors[4 * i:4 * i + 4], 2).reshape(-1, 4) for i in range(len(sizes))]
    anchors = np.concatenate(stacked).astype(np.float32)

    def fn(weights: Any, *levels: jax.Array) -> Any:
        scores, boxes = [], []
        for p, x in zip(weights, levels):
            scores.append((conv(p["class"]["w"], x) + p["class"]["b"]).reshape(-1, classes))
            boxes.append((conv(p["box"]["w"], x) + p["box"]["b"]).reshape(-1, 4))
        s = jax.nn.softmax(jnp.concatenate(scores), -1)[:, 1:]
        b = jnp.concatenate(boxes)
        centre = anchors[:, :2] + 0.1 * b[:, :2] * anchors[:, 2:]
        half = anchors[:, 2:] * jnp.exp(0.2 * b[:, 2:]) / 2
        b = jnp.clip(jnp.concatenate([centre - half, centre + half], -1), 0, 1)
        return lax.top_k(jnp.max(s, -1), best)[0], s, b

    return Network(fn, weights, tuple(w.normal(1, s, s, n) for s, n in zip(sizes, widths)))


def efficientnet(small: bool) -> Network:
    """Inverted bottlenecks with squeeze and excitation"""
    w = Weights(309)
    plan, size = (((8, 12, 3, 2),), 8) if small else \
        (((16, 24, 3, 2), (24, 24, 3, 1), (24, 40, 5, 2), (40, 40, 5, 1), (40, 80, 3, 2), (80, 80, 3, 1)), 112)
    weights = []
    for n, m, k, _ in plan:
        p = inverted_weights(w, n, m, 6)
        p["dw"] = w.kernel(k, 1, 6 * n)
        weights.append(p | {"s1": w.dense(6 * n, n // 4), "s2": w.dense(n // 4, 6 * n)})

    def fn(weights: Any, x: jax.Array) -> jax.Array:
        for p, (n, m, _, stride) in zip(weights, plan):
            y = jax.nn.silu(batch_norm(p["b1"], conv(p["c1"], x)))
            y = jax.nn.silu(batch_norm(p["b2"], conv(p["dw"], y, stride, groups=6 * n)))
            s = jax.nn.sigmoid(dense(p["s2"], jax.nn.silu(dense(p["s1"], jnp.mean(y, (1, 2))))))
            y = batch_norm(p["b3"], conv(p["c3"], y * s[:, None, None]))
            x = x + y if stride == 1 and n == m else y
        return x

    return Network(fn, weights, (w.normal(1, size, size, plan[0][0]),))


def shufflenet(small: bool) -> Network:
    """Units that split, convolve depthwise and shuffle the channels"""
    w = Weights(310)
    width, size, count = (8, 8, 1) if small else (116, 28, 4)
    half = width // 2
    units = [{"a": unit(w, 1, half, half), "d": unit(w, 3, 1, half), "b": unit(w, 1, half, half)} for _ in range(count)]
    weights = {"units": units, "out": w.dense(width, 10)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        for u in p["units"]:
            a, b = x[..., :half], cbr(u["a"], x[..., half:])
            b = batch_norm(u["d"]["bn"], conv(u["d"]["w"], b, groups=half))
            x = jnp.concatenate([a, cbr(u["b"], b)], -1)
            x = x.reshape(1, size, size, 2, half).swapaxes(3, 4).reshape(1, size, size, width)
        return dense(p["out"], jnp.mean(x, (1, 2)))

    return Network(fn, weights, (w.normal(1, size, size, width),))


def densenet(small: bool) -> Network:
    """A block in which every layer reads all before it, and the transition"""
    w = Weights(311)
    width, grow, size, layers = (8, 4, 8, 2) if small else (64, 32, 56, 6)
    weights: dict[str, Any] = {"layers": []}
    for i in range(layers):
        n = width + i * grow
        weights["layers"].append({"b1": w.batch_norm(n), "c1": w.kernel(1, n, 4 * grow), "b2": w.batch_norm(4 * grow),
                                  "c2": w.kernel(3, 4 * grow, grow)})
    n = width + layers * grow
    weights |= {"bn": w.batch_norm(n), "c": w.kernel(1, n, n // 2)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        for b in p["layers"]:
            y = conv(b["c1"], jax.nn.relu(batch_norm(b["b1"], x)))
            x = jnp.concatenate([x, conv(b["c2"], jax.nn.relu(batch_norm(b["b2"], y)))], -1)
        x = conv(p["c"], jax.nn.relu(batch_norm(p["bn"], x)))
        return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    return Network(fn, weights, (w.normal(1, size, size, width),))


def squeezenet(small: bool) -> Network:
    """Fire modules"""
    w = Weights(312)
    plan, size = (((8, 4, 8),), 9) if small else (((64, 16, 64), (128, 16, 64), (128, 32, 128)), 55)
    weights = {"fire": [{"s": w.conv(1, n, s), "a": w.conv(1, s, e), "b": w.conv(3, s, e)} for n, s, e in plan],
               "out": w.conv(1, 2 * plan[-1][2], 50)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        for f in p["fire"]:
            x = jax.nn.relu(conv(f["s"]["w"], x) + f["s"]["b"])
            x = jnp.concatenate([jax.nn.relu(conv(f[n]["w"], x) + f[n]["b"]) for n in "ab"], -1)
        x = max_pool(x, 3, 2)
        return jnp.mean(conv(p["out"]["w"], x) + p["out"]["b"], (1, 2))

    return Network(fn, weights, (w.normal(1, size, size, plan[0][0]),))


def vae(small: bool) -> Network:
    """Encoder, a sample by given noise, decoder; and the loss"""
    w = Weights(313)
    size, n, latent, batch = (8, 4, 3, 2) if small else (32, 32, 32, 16)
    flat = (size // 4) ** 2 * 2 * n
    weights = {"c1": w.conv(3, 1, n), "c2": w.conv(3, n, 2 * n), "to": w.dense(flat, 2 * latent, 0.5),
               "from": w.dense(latent, flat), "d1": w.conv(4, 2 * n, n), "d2": w.conv(4, n, 1)}

    def fn(p: Any, x: jax.Array, noise: jax.Array) -> Any:
        y = jax.nn.relu(conv(p["c1"]["w"], x, 2) + p["c1"]["b"])
        y = jax.nn.relu(conv(p["c2"]["w"], y, 2) + p["c2"]["b"])
        mean, log = jnp.split(dense(p["to"], y.reshape(batch, -1)), 2, -1)
        y = jax.nn.relu(dense(p["from"], mean + noise * jnp.exp(log / 2))).reshape(y.shape)
        y = jax.nn.relu(doubled(p["d1"]["w"], y) + p["d1"]["b"])
        y = doubled(p["d2"]["w"], y) + p["d2"]["b"]
        likely = jnp.sum(jnp.maximum(y, 0) - y * x + jnp.log1p(jnp.exp(-jnp.abs(y))), (1, 2, 3))
        return jax.nn.sigmoid(y), likely - jnp.sum(1 + log - jnp.square(mean) - jnp.exp(log), -1) / 2

    return Network(fn, weights, (w.uniform(0, 1, batch, size, size, 1), w.normal(batch, latent)))


def patch_gan(small: bool) -> Network:
    """A discriminator with instance normalization"""
    w = Weights(314)
    size, widths = (16, (4, 8)) if small else (128, (32, 64, 128))
    weights = [{"w": w.kernel(4, n, m), "ln": w.layer_norm(m)} for n, m in zip((3, *widths), (*widths, 1))]

    def fn(weights: Any, x: jax.Array) -> jax.Array:
        for i, p in enumerate(weights):
            x = conv(p["w"], x, 2 if i < len(widths) else 1)
            if i < len(widths):
                x = jax.nn.leaky_relu(group_norm(p["ln"], x, x.shape[-1]), 0.2)
        return x

    return Network(fn, weights, (w.normal(1, size, size, 3),))


MODELS = (convnext, swin, mixer, unet, diffusion_step, deeplab, retinanet_head, ssd_head, efficientnet, shufflenet,
          densenet, squeezenet, vae, patch_gan)
