# SPDX-License-Identifier: MIT
"""Train a classifier of handwritten digits with JAX and export it. usage: train.py DIGITS_DIR OUT_DIR"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import neuron_export

BATCH = 64


def network(weights: list, x: jax.Array) -> jax.Array:
    for w, b in weights[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = weights[-1]
    return x @ w + b


def loss(weights: list, x: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.mean(jax.nn.log_softmax(network(weights, x))[jnp.arange(len(labels)), labels])


def train(images: np.ndarray, labels: np.ndarray) -> list:
    rng = np.random.default_rng(0)
    weights = [(rng.standard_normal((n, m), np.float32) * (2 / n) ** 0.5, np.zeros(m, np.float32))
               for n, m in ((64, 64), (64, 32), (32, 10))]
    step = jax.jit(lambda w, x, y: jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(w, x, y)))
    for _ in range(40):
        order = rng.permutation(len(images))
        for i in range(0, len(order) - BATCH + 1, BATCH):
            weights = step(weights, images[order[i:i + BATCH]], labels[order[i:i + BATCH]])
    return weights


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    images = np.load(data / "images.npy").reshape(-1, 64)
    labels, held_out = np.load(data / "labels.npy"), np.load(data / "held_out.npy")
    learn = np.setdiff1d(np.arange(len(images)), held_out)
    weights = train(images[learn], labels[learn])
    # the weights become constants of the module, a batch of images its input
    neuron_export.export_jax(lambda x: network(weights, x), [images[held_out[:BATCH]]], out)
    np.save(out / "labels.npy", labels[held_out[:BATCH]])


main()
