#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules of structurally sparse weights.

Operands are small halves, so that sums are exact in any order: dense and sparse products have NumPy's bits. `lies` has
the groups that the chip finds as rows lie (M neighbours in each of N / M slots), `near` groups of neighbours. The input
of `large`, which does not fit a core's memory, is what test_sparse.c makes by the same rule.

Run it in a virtual environment with jax, ml_dtypes and numpy: python make.py. Everything is seeded.
"""

import pathlib
import shutil

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
rng = np.random.default_rng(0)
PATTERNS = [(1, 2, 256), (2, 4, 256), (4, 8, 256), (4, 12, 384), (1, 4, 512), (2, 8, 512), (4, 16, 512)]


def halves(*shape):
    return (rng.integers(-6, 7, shape) / 2).astype(np.float32)


def weights(m, n, rows, columns, near=False):
    """Of each group of n rows, each column has exactly m that are not 0"""
    slots, w = n // m, np.zeros((rows, columns), np.float32)
    for g in range(rows // n):
        lies = [c * (rows // slots) + g * m + r for c in range(slots) for r in range(m)]
        rows_of = np.arange(g * n, (g + 1) * n) if near else np.asarray(lies)
        for s in range(columns):
            w[rng.permutation(rows_of)[:m], s] = rng.choice([-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2], m)
    return w


def product(w, dtype=None):
    w = jnp.asarray(w, dtype or jnp.float32)
    if dtype is None:
        return lambda x: x @ w
    return lambda x: jax.lax.dot(x.astype(dtype), w, preferred_element_type=jnp.float32)


def conv(w, order, stride=1, padding="SAME"):
    return lambda x: jax.lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=order)


def cases():
    for m, n, rows in PATTERNS:
        yield f"lies_{m}_{n}", f"{m}:{n}", product(weights(m, n, rows, 13)), halves(20, rows)
    yield "near_2_4", "4:8", product(weights(2, 4, 256, 9, True)), halves(20, 256)
    yield "near_input", "-", product(weights(4, 16, 512, 9, True)), halves(20, 512)
    first, bias, second = rng.integers(-1, 2, (16, 512)).astype(np.float32), halves(512), weights(4, 16, 512, 9, True)
    yield "near_layer", "4:16", lambda x: jax.nn.relu(x @ first + bias) @ second, halves(20, 16)
    scale = rng.choice([-1, 1, 2], 512).astype(np.float32)
    yield "near_scale", "4:16", lambda x: (x @ first * scale).T.T @ second, halves(20, 16)
    yield "near_kept", "-", lambda x: (lambda h: h @ second + h[:, :9])(x @ first), halves(20, 16)
    more = weights(1, 2, 256, 13)
    more[[5, 133], 12] = 1
    yield "one_more", "-", product(more), halves(20, 256)
    pruned = weights(2, 4, 256, 13)
    yield "minus_zero", "2:4", product(np.where(pruned == 0, np.float32(-0.0), pruned)), halves(20, 256)
    yield "short", "-", product(weights(2, 4, 128, 13)), halves(20, 128)
    w = weights(4, 16, 512, 135)[:, :130]
    yield "columns", "4:16", product(w[:, :130]), halves(9, 512)
    turned = weights(4, 8, 256, 13).T.copy()
    yield "left", "4:8", lambda x: turned @ x, halves(256, 20)
    yield "batch", "4:8", product(weights(4, 8, 256, 13)), halves(3, 5, 256)
    for name, dtype in ("bf16", jnp.bfloat16), ("f16", jnp.float16), ("f8e5m2", jnp.float8_e5m2), ("f8e4m3", jnp.float8_e4m3):
        yield f"type_{name}", "2:8", product(weights(2, 8, 512, 7), dtype), halves(20, 512)
    k = weights(2, 4, 256, 13).reshape(1, 1, 256, 13)
    yield "conv_last", "2:4", conv(k, ("NHWC", "HWIO", "NHWC")), halves(2, 5, 7, 256)
    k = weights(1, 4, 512, 6).T.reshape(6, 512, 1, 1)
    yield "conv_first", "1:4", conv(k, ("NCHW", "OIHW", "NCHW")), halves(2, 512, 3, 5)
    k = np.asarray(rng.choice([0, 0.5], (1, 1, 256, 6)), np.float32)
    yield "conv_dense", "-", conv(k, ("NHWC", "HWIO", "NHWC")), halves(2, 3, 5, 256)
    rule = (np.arange(8192 * 2048) % 7 - 3).astype(np.float32).reshape(8192, 2048)
    yield "large", "4:16", product(weights(4, 16, 2048, 2)), rule
    x = halves(20, 256)
    x[3, 7], x[4, 200] = np.inf, -np.inf
    yield "infinity", "2:4", product(pruned), x, pruned
    one, other = weights(4, 8, 256, 13), weights(4, 16, 512, 13)  # dense is faster; sparse is
    yield "two", "4:8", lambda x: jnp.concatenate([x[:, :, :256] @ one, x @ other], 2), halves(3, 5, 512)
    # what looks like such a product and is none
    rows = weights(2, 4, 256, 20).T.copy()
    yield "batched", "-", lambda x: jnp.einsum("bk,bk->b", x, rows), halves(20, 256)
    both = weights(2, 4, 256, 13)
    yield "both", "-", lambda x: jnp.einsum("ijk,jk->i", x, both), halves(5, 256, 13)
    k = np.stack([weights(2, 4, 256, 13)] * 3).reshape(3, 1, 256, 13)
    yield "conv_wide", "-", conv(k, ("NHWC", "HWIO", "NHWC"), padding="VALID"), halves(2, 5, 3, 256)
    yield "conv_stride", "-", conv(k[:1], ("NHWC", "HWIO", "NHWC"), 2, "VALID"), halves(2, 5, 3, 256)
    near = weights(4, 16, 512, 9, True)
    yield "near_square", "-", lambda x: (x.T @ x) @ near, rng.integers(-1, 2, (4, 512)).astype(np.float32)


def without_zeros(x, w):
    """The product in which zeros of the weights leave out what they meet"""
    out = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for i, j in np.argwhere(w != 0):
        out[:, j] += x[:, i] * w[i, j]
    return out


def main():
    lines = []
    for old in HERE.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    for name, found, function, x, *w in cases():
        to = HERE / name
        to.mkdir()
        lowered = jax.jit(function).lower(x)
        (to / "module.hlo.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        if name != "large":
            np.save(to / "in0.npy", x)
        np.save(to / "out0.npy", without_zeros(x, w[0]) if w else np.asarray(jax.jit(function)(x)))
        lines.append(f"{name} {found} {len(w)}\n")
    (HERE / "cases.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
