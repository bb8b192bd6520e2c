# SPDX-License-Identifier: MIT
"""Networks on images. Each builder takes small: the short form of `make check`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from layers import Network, Weights, batch_norm, conv, dense, layer_norm, max_pool, relu6
from text import encoder_layer, encoder_weights


def mlp(small: bool) -> Network:
    w = Weights(1)
    sizes = (64, 48, 32, 10) if small else (784, 512, 256, 10)
    weights = [w.dense(n, m, 2**0.5) for n, m in zip(sizes, sizes[1:])]

    def fn(weights: Any, x: jax.Array) -> jax.Array:
        for p in weights[:-1]:
            x = jax.nn.relu(dense(p, x))
        return jax.nn.softmax(dense(weights[-1], x), -1)

    return Network(fn, weights, (w.normal(16 if small else 64, sizes[0]),))


def digits(small: bool) -> Network:
    """The network of tests/data/digits, with random weights"""
    w = Weights(2)
    weights = {"c1": w.conv(3, 1, 16), "c2": w.conv(3, 16, 32), "out": w.dense(512, 10)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = jax.nn.relu(conv(p["c1"]["w"], x) + p["c1"]["b"])
        x = max_pool(jax.nn.relu(conv(p["c2"]["w"], x) + p["c2"]["b"]), 2, 2)
        return dense(p["out"], x.reshape(x.shape[0], -1))

    return Network(fn, weights, (w.uniform(0, 1, 16, 8, 8, 1),))


def lenet5(small: bool) -> Network:
    w = Weights(3)
    weights = {"c1": w.conv(5, 1, 6), "c2": w.conv(5, 6, 16), "d1": w.dense(400, 120), "d2": w.dense(120, 84),
               "d3": w.dense(84, 10)}

    def pool(x: jax.Array) -> jax.Array:
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = pool(jnp.tanh(conv(p["c1"]["w"], x, pad="VALID") + p["c1"]["b"]))
        x = pool(jnp.tanh(conv(p["c2"]["w"], x, pad="VALID") + p["c2"]["b"]))
        x = x.reshape(x.shape[0], -1)
        return dense(p["d3"], jnp.tanh(dense(p["d2"], jnp.tanh(dense(p["d1"], x)))))

    return Network(fn, weights, (w.uniform(0, 1, 2 if small else 16, 32, 32, 1),))


def bottleneck_weights(w: Weights, n: int, m: int, project: bool) -> dict[str, Any]:
    p = {"c1": w.kernel(1, n, m), "b1": w.batch_norm(m), "c2": w.kernel(3, m, m), "b2": w.batch_norm(m),
         "c3": w.kernel(1, m, 4 * m), "b3": w.batch_norm(4 * m, 0.3)}
    if project:
        p |= {"c0": w.kernel(1, n, 4 * m, 1.0), "b0": w.batch_norm(4 * m)}
    return p


def bottleneck(p: Any, x: jax.Array, stride: int) -> jax.Array:
    y = jax.nn.relu(batch_norm(p["b1"], conv(p["c1"], x)))
    y = jax.nn.relu(batch_norm(p["b2"], conv(p["c2"], y, stride)))
    y = batch_norm(p["b3"], conv(p["c3"], y))
    if "c0" in p:
        x = batch_norm(p["b0"], conv(p["c0"], x, stride))
    return jax.nn.relu(x + y)


def resnet50(small: bool) -> Network:
    w = Weights(4)
    blocks, width, size, classes = ((1, 1), 8, 32, 10) if small else ((3, 4, 6, 3), 64, 224, 1000)
    weights: dict[str, Any] = {"stem": w.kernel(7, 3, width), "bn": w.batch_norm(width), "stages": []}
    n = width
    for i, count in enumerate(blocks):
        m = width << i
        weights["stages"].append([bottleneck_weights(w, n if j == 0 else 4 * m, m, j == 0) for j in range(count)])
        n = 4 * m
    weights["out"] = w.dense(n, classes)

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = jax.nn.relu(batch_norm(p["bn"], conv(p["stem"], x, 2)))
        x = max_pool(x, 3, 2, "SAME")
        for i, stage in enumerate(p["stages"]):
            for j, block in enumerate(stage):
                x = bottleneck(block, x, 2 if i and not j else 1)
        return dense(p["out"], jnp.mean(x, (1, 2)))

    return Network(fn, weights, (w.normal(1, size, size, 3),))


MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def inverted_weights(w: Weights, n: int, m: int, expand: int) -> dict[str, Any]:
    h = n * expand
    p = {"dw": w.kernel(3, 1, h), "b2": w.batch_norm(h), "c3": w.kernel(1, h, m, 1.0), "b3": w.batch_norm(m)}
    return p | ({"c1": w.kernel(1, n, h), "b1": w.batch_norm(h)} if expand > 1 else {})


def inverted(p: Any, x: jax.Array, stride: int) -> jax.Array:
    y = relu6(batch_norm(p["b1"], conv(p["c1"], x))) if "c1" in p else x
    y = relu6(batch_norm(p["b2"], conv(p["dw"], y, stride, groups=y.shape[-1])))
    y = batch_norm(p["b3"], conv(p["c3"], y))
    return x + y if x.shape == y.shape else y


def mobilenet_v2(small: bool) -> Network:
    w = Weights(5)
    plan = ((1, 8, 1, 1), (6, 12, 2, 2)) if small else MOBILENET
    first, last, size, classes = (16, 64, 32, 10) if small else (32, 1280, 224, 1000)
    weights: dict[str, Any] = {"stem": w.kernel(3, 3, first), "bn": w.batch_norm(first), "blocks": []}
    n, strides = first, []
    for expand, m, count, stride in plan:
        for j in range(count):
            weights["blocks"].append(inverted_weights(w, n, m, expand))
            strides.append(stride if j == 0 else 1)
            n = m
    weights |= {"head": w.kernel(1, n, last), "hb": w.batch_norm(last), "out": w.dense(last, classes)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = relu6(batch_norm(p["bn"], conv(p["stem"], x, 2)))
        for block, stride in zip(p["blocks"], strides):
            x = inverted(block, x, stride)
        x = relu6(batch_norm(p["hb"], conv(p["head"], x)))
        return dense(p["out"], jnp.mean(x, (1, 2)))

    return Network(fn, weights, (w.normal(1, size, size, 3),))


ANCHORS = (((116, 90), (156, 198), (373, 326)), ((30, 61), (62, 45), (59, 119)), ((10, 13), (16, 30), (33, 23)))


def decode_boxes(x: jax.Array, anchors: Any, stride: int) -> jax.Array:
    """[1, n, n, 3 * (5 + classes)] -> [3 n n, 5 + classes]: centre, size, objectness, classes"""
    n = x.shape[1]
    x = x.reshape(n, n, 3, -1)
    rows = jax.lax.broadcasted_iota(x.dtype, (n, n, 3, 1), 0)
    columns = jax.lax.broadcasted_iota(x.dtype, (n, n, 3, 1), 1)
    centre = (jax.nn.sigmoid(x[..., :2]) + jnp.concatenate([columns, rows], -1)) * stride
    size = jnp.exp(x[..., 2:4]) * np.array(anchors, np.float32).astype(x.dtype)
    return jnp.concatenate([centre, size, jax.nn.sigmoid(x[..., 4:])], -1).reshape(3 * n * n, -1)


def yolo_head(small: bool) -> Network:
    w = Weights(6)
    grid, widths, classes = ((2, 4, 8), (16, 12, 8), 3) if small else ((13, 26, 52), (512, 256, 128), 80)
    weights = [{"c1": w.kernel(3, n, 2 * n), "b1": w.batch_norm(2 * n), "c2": w.conv(1, 2 * n, 3 * (5 + classes))}
               for n in widths]

    def fn(weights: Any, *features: jax.Array) -> jax.Array:
        boxes = []
        for p, x, anchors in zip(weights, features, ANCHORS):
            y = jax.nn.leaky_relu(batch_norm(p["b1"], conv(p["c1"], x)), 0.1)
            y = conv(p["c2"]["w"], y) + p["c2"]["b"]
            boxes.append(decode_boxes(y, anchors, 8 * grid[-1] // x.shape[1]))
        return jnp.concatenate(boxes, 0)

    return Network(fn, weights, tuple(w.normal(1, g, g, n) for g, n in zip(grid, widths)))


def vit_b16(small: bool) -> Network:
    w = Weights(7)
    layers, width, heads, size, classes = (1, 32, 2, 64, 10) if small else (12, 768, 12, 224, 1000)
    tokens = (size // 16) ** 2 + 1
    weights = {"patch": {"w": w.kernel(16, 3, width, 1.0), "b": w.normal(width, scale=0.1)},
               "cls": w.normal(1, 1, width), "position": w.normal(1, tokens, width, scale=0.1),
               "layers": [encoder_weights(w, width, 4 * width) for _ in range(layers)],
               "ln": w.layer_norm(width), "out": w.dense(width, classes)}

    def fn(p: Any, x: jax.Array) -> jax.Array:
        x = conv(p["patch"]["w"], x, 16, "VALID") + p["patch"]["b"]
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        x = jnp.concatenate([jnp.broadcast_to(p["cls"], (x.shape[0], 1, x.shape[-1])), x], 1) + p["position"]
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, before=True)
        return dense(p["out"], layer_norm(p["ln"], x)[:, 0])

    return Network(fn, weights, (w.normal(1, size, size, 3),))
