# SPDX-License-Identifier: MIT
"""Networks on tables and graphs, and steps of training."""

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from layers import Network, Weights, batch_norm, conv, dense, layer_norm, max_pool
from text import encoder_layer, encoder_weights


def edges_of(w: Weights, nodes: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    return w.rng.integers(0, nodes, edges, dtype=np.int32), w.rng.integers(0, nodes, edges, dtype=np.int32)


def gnn(small: bool) -> Network:
    """Two rounds of messages, summed where they arrive"""
    w = Weights(501)
    nodes, edges, n, width = (8, 20, 4, 8) if small else (1000, 5000, 32, 64)
    weights = [{"self": w.dense(a, width), "message": w.normal(a, width, scale=a**-0.5)} for a in (n, width)]
    weights.append(w.dense(width, 7))

    def fn(p: Any, x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
        count = jax.ops.segment_sum(jnp.ones(edges, x.dtype), target, nodes)
        for layer in p[:2]:
            arrived = jax.ops.segment_sum(x[source], target, nodes) / jnp.maximum(count, 1)[:, None]
            x = jax.nn.relu(dense(layer["self"], x) + arrived @ layer["message"])
        return dense(p[2], x)

    return Network(fn, weights, (w.normal(nodes, n), *edges_of(w, nodes, edges)))


def gat(small: bool) -> Network:
    """Attention over the edges that end in a node"""
    w = Weights(502)
    nodes, edges, n, heads, width = (8, 20, 4, 2, 4) if small else (800, 4000, 32, 4, 16)
    weights = {"w": w.normal(n, heads * width, scale=n**-0.5), "from": w.normal(heads, width, scale=0.5),
               "to": w.normal(heads, width, scale=0.5), "out": w.dense(heads * width, 7)}

    def fn(p: Any, x: jax.Array, source: jax.Array, target: jax.Array) -> jax.Array:
        h = (x @ p["w"]).reshape(nodes, heads, width)
        score = jnp.sum(h * p["from"], -1)[source] + jnp.sum(h * p["to"], -1)[target]
        score = jax.nn.leaky_relu(score, 0.2)
        top = jax.ops.segment_max(score, target, nodes)
        e = jnp.exp(score - top[target])
        share = e / jax.ops.segment_sum(e, target, nodes)[target]
        y = jax.ops.segment_sum(share[..., None] * h[source], target, nodes)
        return dense(p["out"], jax.nn.elu(y.reshape(nodes, -1)))

    return Network(fn, weights, (w.normal(nodes, n), *edges_of(w, nodes, edges)))


def dlrm(small: bool) -> Network:
    """Bags of embeddings, their products in pairs, two perceptrons"""
    w = Weights(503)
    batch, tables, rows, width, bag, n = (3, 2, 10, 4, 3, 5) if small else (128, 8, 10000, 32, 10, 13)
    pairs = (tables + 1) * tables // 2
    weights = {"tables": w.normal(tables, rows, width, scale=0.3),
               "low": [w.dense(n, 64, 1.4), w.dense(64, width, 1.4)],
               "high": [w.dense(width + pairs, 64, 1.4), w.dense(64, 1)]}
    first, second = np.tril_indices(tables + 1, -1)

    def fn(p: Any, x: jax.Array, which: jax.Array) -> jax.Array:
        for layer in p["low"]:
            x = jax.nn.relu(dense(layer, x))
        bags = [jnp.sum(p["tables"][i][which[i]], 1) for i in range(tables)]
        z = jnp.stack([x, *bags], 1)
        products = jnp.einsum("bid,bjd->bij", z, z)[:, first, second]
        y = jax.nn.relu(dense(p["high"][0], jnp.concatenate([x, products], -1)))
        return jax.nn.sigmoid(dense(p["high"][1], y))[:, 0]

    return Network(fn, weights, (w.normal(batch, n), w.rng.integers(0, rows, (tables, batch, bag), dtype=np.int32)))


def sparsemax(x: jax.Array) -> jax.Array:
    high = -jnp.sort(-x, -1)
    total = jnp.cumsum(high, -1)
    k = np.arange(1, x.shape[-1] + 1).astype(np.float32)
    support = 1 + k * high > total
    count = jnp.sum(support, -1, keepdims=True)
    threshold = (jnp.take_along_axis(total, count - 1, -1) - 1) / count
    return jnp.maximum(x - threshold, 0)


def tabnet(small: bool) -> Network:
    """Steps that each choose some columns by sparsemax"""
    w = Weights(504)
    batch, n, width, steps = (3, 6, 4, 2) if small else (512, 64, 32, 3)
    chosen = [{"mask": w.dense(width, n), "mbn": w.batch_norm(n), "f": w.dense(n, 4 * width),
               "fbn": w.batch_norm(4 * width)} for _ in range(steps)]
    weights = {"bn": w.batch_norm(n), "steps": chosen, "start": w.dense(n, width), "out": w.dense(width, 3)}

    def fn(p: Any, x: jax.Array) -> Any:
        x = batch_norm(p["bn"], x)
        state, prior, total = dense(p["start"], x), 1.0, 0.0
        for s in p["steps"]:
            mask = sparsemax(batch_norm(s["mbn"], dense(s["mask"], state)) * prior)
            prior = prior * (1.3 - mask)
            a, b = jnp.split(batch_norm(s["fbn"], dense(s["f"], mask * x)), 2, -1)
            y = a * jax.nn.sigmoid(b)
            total, state = total + jax.nn.relu(y[:, :width]), y[:, width:]
        return jax.nn.softmax(dense(p["out"], total), -1)

    return Network(fn, weights, (w.normal(batch, n),))


def two_towers(small: bool) -> Network:
    """Users and items, each by a perceptron; all products"""
    w = Weights(505)
    users, items, n = (3, 5, 8) if small else (64, 4096, 128)
    weights = {"user": [w.dense(n, 2 * n, 1.4), w.dense(2 * n, n)], "item": [w.dense(n, 2 * n, 1.4), w.dense(2 * n, n)]}

    def fn(p: Any, user: jax.Array, item: jax.Array) -> jax.Array:
        u, v = (dense(p[k][1], jax.nn.relu(dense(p[k][0], x))) for k, x in (("user", user), ("item", item)))
        return u @ v.T / n**0.5

    return Network(fn, weights, (w.normal(users, n), w.normal(items, n)))


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    log_p = jax.nn.log_softmax(logits, -1)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[..., None], -1))


def perceptron(p: Any, x: jax.Array) -> jax.Array:
    for layer in p[:-1]:
        x = jnp.tanh(dense(layer, x))
    return dense(p[-1], x)


def train_sgd(small: bool) -> Network:
    """Three steps of a perceptron; the weights are inputs and outputs"""
    w = Weights(511)
    sizes, batch = ((6, 5, 3), 4) if small else ((784, 256, 128, 10), 64)
    p = [w.dense(n, m) for n, m in zip(sizes, sizes[1:])]
    tree, flat = jax.tree.structure(p), jax.tree.leaves(p)

    def fn(_: Any, x: jax.Array, labels: jax.Array, *flat: jax.Array) -> Any:
        p = jax.tree.unflatten(tree, flat)
        for _ in range(3):
            loss, d = jax.value_and_grad(lambda p: cross_entropy(perceptron(p, x), labels))(p)
            p = jax.tree.map(lambda a, b: a - 0.1 * b, p, d)
        return loss, *jax.tree.leaves(p)

    return Network(fn, {}, (w.normal(batch, sizes[0]), w.rng.integers(0, sizes[-1], batch, dtype=np.int32), *flat))


def train_cnn(small: bool) -> Network:
    """A convolutional network with batch statistics, momentum"""
    w = Weights(512)
    size, n, batch = (6, 3, 2) if small else (28, 16, 16)
    p = {"c1": w.kernel(3, 1, n), "s1": w.uniform(0.8, 1.2, n), "c2": w.kernel(3, n, 2 * n),
         "s2": w.uniform(0.8, 1.2, 2 * n), "out": w.dense(2 * n, 10)}
    tree, flat = jax.tree.structure(p), jax.tree.leaves(p)

    def model(p: Any, x: jax.Array) -> jax.Array:
        for i in "12":
            x = conv(p["c" + i], x)
            x = x - jnp.mean(x, (0, 1, 2))
            x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), (0, 1, 2)) + 1e-3) * p["s" + i]
            x = jax.nn.silu(x)
            x = max_pool(x, 2, 2)
        return dense(p["out"], jnp.mean(x, (1, 2)))

    def fn(_: Any, x: jax.Array, labels: jax.Array, *flat: jax.Array) -> Any:
        p, v = (jax.tree.unflatten(tree, part) for part in (flat[:len(flat) // 2], flat[len(flat) // 2:]))
        loss, d = jax.value_and_grad(lambda p: cross_entropy(model(p, x), labels))(p)
        v = jax.tree.map(lambda a, b: 0.9 * a + b, v, d)
        p = jax.tree.map(lambda a, b: a - 0.05 * b, p, v)
        return loss, *jax.tree.leaves(p), *jax.tree.leaves(v)

    speeds = [(0.01 * w.normal(*x.shape)) for x in flat]
    labels = w.rng.integers(0, 10, batch, dtype=np.int32)
    return Network(fn, {}, (w.normal(batch, size, size, 1), labels, *flat, *speeds))


def adam(p: Any, d: Any, m: Any, v: Any, decay: float = 0.0) -> tuple[Any, Any, Any]:
    """The third step's bias corrections; a second moment that is not near 0, so that errors stay errors"""
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, d)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, d)

    def moved(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return x - 1e-3 * (a / (1 - 0.9**3) / (jnp.sqrt(b / (1 - 0.999**3)) + 1e-8) + decay * x)

    return jax.tree.map(moved, p, m, v), m, v


def with_adam(w: Weights, p: Any, loss: Callable[..., jax.Array], inputs: tuple[np.ndarray, ...],
              decay: float) -> Network:
    tree, flat = jax.tree.structure(p), jax.tree.leaves(p)

    def fn(_: Any, *given: jax.Array) -> Any:
        n, k = len(inputs), len(flat)
        p, m, v = (jax.tree.unflatten(tree, given[n + i * k:n + (i + 1) * k]) for i in range(3))
        value, d = jax.value_and_grad(lambda p: loss(p, *given[:n]))(p)
        return value, *(x for part in adam(p, d, m, v, decay) for x in jax.tree.leaves(part))

    moments = [0.01 * w.normal(*x.shape) for x in flat], [w.uniform(1e-4, 2e-4, *x.shape) for x in flat]
    return Network(fn, {}, (*inputs, *flat, *moments[0], *moments[1]))


def train_adam(small: bool) -> Network:
    """A regression"""
    w = Weights(513)
    sizes, batch = ((4, 6, 1), 5) if small else ((64, 256, 256, 1), 256)
    p = [w.dense(n, m) for n, m in zip(sizes, sizes[1:])]

    def loss(p: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(perceptron(p, x)[:, 0] - y))

    return with_adam(w, p, loss, (w.normal(batch, sizes[0]), w.normal(batch)), 0.0)


def train_lm(small: bool) -> Network:
    """A small language model, AdamW"""
    w = Weights(514)
    words, width, heads, length, batch, layers = (12, 8, 2, 5, 1, 1) if small else (1000, 64, 4, 48, 4, 2)
    p = {"words": w.normal(words, width, scale=0.3), "at": w.normal(length, width, scale=0.1),
         "ln": w.layer_norm(width), "layers": [encoder_weights(w, width, 2 * width) for _ in range(layers)]}

    def loss(p: Any, tokens: jax.Array) -> jax.Array:
        x = p["words"][tokens[:, :-1]] + p["at"]
        for layer in p["layers"]:
            x = encoder_layer(layer, x, heads, np.tri(length, dtype=bool), before=True)
        return cross_entropy(layer_norm(p["ln"], x) @ p["words"].T, tokens[:, 1:])

    return with_adam(w, p, loss, (w.rng.integers(0, words, (batch, length + 1), dtype=np.int32),), 0.01)


def embedding_gradient(small: bool) -> Network:
    """Of a table of which few rows were read"""
    w = Weights(515)
    rows, width, count = (12, 4, 6) if small else (20000, 64, 256)

    def fn(_: Any, table: jax.Array, which: jax.Array, by: jax.Array) -> jax.Array:
        return jax.grad(lambda t: jnp.sum(jnp.tanh(t[which] * by)))(table)

    which = w.rng.integers(0, rows, count, dtype=np.int32)
    return Network(fn, {}, (w.normal(rows, width), which, w.normal(count, width)))


def train_autoencoder(small: bool) -> Network:
    """Momentum inside a scan over batches"""
    w = Weights(516)
    n, m, batch, steps = (6, 3, 4, 3) if small else (128, 32, 64, 8)
    p = [w.dense(n, m), w.dense(m, n)]
    tree, flat = jax.tree.structure(p), jax.tree.leaves(p)

    def fn(_: Any, x: jax.Array, *flat: jax.Array) -> Any:
        def step(state: Any, x: jax.Array) -> Any:
            p, v = state
            loss, d = jax.value_and_grad(lambda p: jnp.mean(jnp.square(perceptron(p, x) - x)))(p)
            v = jax.tree.map(lambda a, b: 0.9 * a + b, v, d)
            return (jax.tree.map(lambda a, b: a - 0.1 * b, p, v), v), loss

        p = jax.tree.unflatten(tree, flat)
        (p, _), losses = jax.lax.scan(step, (p, jax.tree.map(jnp.zeros_like, p)), x)
        return losses, *jax.tree.leaves(p)

    return Network(fn, {}, (w.normal(steps, batch, n), *flat))


MODELS = (gnn, gat, dlrm, tabnet, two_towers, train_sgd, train_cnn, train_adam, train_lm, embedding_gradient,
          train_autoencoder)
