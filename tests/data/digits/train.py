#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train the digits network in JAX and export what the demo and the tests need.

Reads digits.csv.gz beside it (64 pixels 0..16 and the label of 1,797 images); writes, beside it:
  digits.hlo.pb   HloModuleProto of one batch: f32[BATCH,64] pixels / 16 -> f32[BATCH,10] logits,
                  weights as constants
  images.npy      f32[1797,64], what the network takes
  labels.npy      i32[1797]
  logits.npy      f32[1797,10], JAX's own outputs in full fp32
  held_out.npy    i32[n], indices of the images that training did not see
  digits.json     batch, tolerance and where it comes from, accuracy

Run it in a virtual environment with jax and numpy: python train.py. Everything is seeded.
"""

import gzip
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

# file names in the module's metadata without the directory that it was made in
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 32
HELD_OUT_EVERY = 4  # images 3, 7, 11, ... are held out
STEPS = 1500
TRAIN_BATCH = 128


def load():
    with gzip.open(HERE / "digits.csv.gz", "rt") as f:
        rows = np.loadtxt(f, delimiter=",")
    return (rows[:, :64] / 16).astype(np.float32), rows[:, 64].astype(np.int32)


def init(key):
    def he(k, *shape):
        fan_in = int(np.prod(shape[:-1]))
        return jax.random.normal(k, shape) * np.sqrt(2 / fan_in)

    k = jax.random.split(key, 4)
    return {
        "conv1": he(k[0], 3, 3, 1, 16),
        "bias1": jnp.zeros(16),
        "conv2": he(k[1], 3, 3, 16, 32),
        "bias2": jnp.zeros(32),
        "dense1": he(k[2], 4 * 4 * 32, 64),
        "bias3": jnp.zeros(64),
        "dense2": he(k[3], 64, 10),
        "bias4": jnp.zeros(10),
    }


def conv(x, w):
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def network(p, pixels):
    x = pixels.reshape(-1, 8, 8, 1)
    x = jax.nn.relu(conv(x, p["conv1"]) + p["bias1"])
    x = jax.nn.relu(conv(x, p["conv2"]) + p["bias2"])
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ p["dense1"] + p["bias3"])
    return x @ p["dense2"] + p["bias4"]


def train(x, y):
    rng = np.random.default_rng(1)
    params = init(jax.random.key(0))
    mean = jax.tree.map(jnp.zeros_like, params)
    var = jax.tree.map(jnp.zeros_like, params)

    def loss(p, x, y):
        logp = jax.nn.log_softmax(network(p, x))
        decay = sum(jnp.sum(p[k] ** 2) for k in ("conv1", "conv2", "dense1", "dense2"))
        return -logp[jnp.arange(len(y)), y].mean() + 1e-4 * decay

    @jax.jit
    def step(p, m, v, t, x, y):
        g = jax.grad(loss)(p, x, y)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        rate = 2e-3 * jnp.cos(jnp.pi / 2 * t / STEPS)
        p = jax.tree.map(
            lambda a, b, c: a
            - rate * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8),
            p,
            m,
            v,
        )
        return p, m, v

    for t in range(1, STEPS + 1):
        i = rng.integers(0, len(x), TRAIN_BATCH)
        params, mean, var = step(params, mean, var, float(t), x[i], y[i])
    return params


def tolerance(params, x):
    """Six standard deviations of what bf16 operands do to a logit, from the network itself.

    Rounding an operand to bf16 is a relative error of at most d = 2^-9, as good as uniform, so of
    variance d^2 / 3; a product of two such operands has 2 d^2 / 3 of its square. Errors of different
    operands are independent: variances add up through the layers with the squares of the weights.
    Relu and max pass an error on or drop it. (The hard bound, adding absolute values, is about
    fifty times that and would find no fault.)
    """
    rel = 2 * 2.0**-18 / 3
    sq = {k: v**2 for k, v in params.items()}
    a = x.reshape(-1, 8, 8, 1)
    var = jnp.zeros_like(a)
    for w, b in (("conv1", "bias1"), ("conv2", "bias2")):
        var = conv(var, sq[w]) + rel * conv(a**2, sq[w])
        a = jax.nn.relu(conv(a, params[w]) + params[b])
    pool = lambda v: jax.lax.reduce_window(  # noqa: E731
        v, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )
    a, var = pool(a).reshape(len(x), -1), pool(var).reshape(len(x), -1)
    for w, b in (("dense1", "bias3"), ("dense2", "bias4")):
        var = var @ sq[w] + rel * (a**2 @ sq[w])
        a = jax.nn.relu(a @ params[w] + params[b])
    return 6 * float(jnp.sqrt(var.max()))


def main():
    x, y = load()
    held_out = np.arange(HELD_OUT_EVERY - 1, len(x), HELD_OUT_EVERY, dtype=np.int32)
    seen = np.setdiff1d(np.arange(len(x)), held_out)
    params = train(x[seen], y[seen])

    with jax.default_matmul_precision("float32"):
        logits = np.asarray(network(params, x), dtype=np.float32)
        bound = tolerance(params, x)
    params = jax.tree.map(np.asarray, params)

    def digits(pixels):
        return network(params, pixels)

    lowered = jax.jit(digits).lower(
        jax.ShapeDtypeStruct((BATCH, 64), jnp.float32)
    )
    hlo = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    (HERE / "digits.hlo.pb").write_bytes(hlo)
    np.save(HERE / "images.npy", x)
    np.save(HERE / "labels.npy", y)
    np.save(HERE / "logits.npy", logits)
    np.save(HERE / "held_out.npy", held_out)
    right = logits.argmax(1) == y
    info = {
        "batch": BATCH,
        "images": len(x),
        "held_out": len(held_out),
        "accuracy_held_out": round(float(right[held_out].mean()), 6),
        "accuracy_all": round(float(right.mean()), 6),
        "tolerance": round(bound, 4),
        "tolerance_is": "absolute, of a logit: six standard deviations of what bf16 operands do to "
        "it (tolerance() in train.py)",
        "jax": jax.__version__,
    }
    (HERE / "digits.json").write_text(json.dumps(info, indent=2) + "\n")
    print(json.dumps(info, indent=2))


if __name__ == "__main__":
    main()
