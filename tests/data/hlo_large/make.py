#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export the modules of tests/unit/compiler/codegen/test_large.c: operations on values larger than SBUF.

Writes NAME.hlo.pb, the module alone: the test makes the inputs and computes what must come out.
Run it in a virtual environment with jax: python make.py.
"""

import pathlib

import jax
import jax.numpy as jnp
from jax import lax

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def case(name, fn, *shapes):
    fn.__name__ = name
    args = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    hlo = jax.jit(fn, keep_unused=True).lower(*args).compiler_ir("hlo")
    (HERE / f"{name}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


def pad(x):
    return lax.pad(x, jnp.float32(7), ((2, 0, 0), (1, -3, 1)))


def moved_window(x, at, u):
    dims = lax.ScatterDimensionNumbers((0, 1), (), (0,))
    return lax.scatter_mul(x, jnp.abs(at).astype(jnp.int32), u, dims, mode="fill")


def window(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")


def conv(x, w, b):
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.maximum(y + b, 0)


def conv_planes(x, w):
    return lax.conv_general_dilated(x, w, (2, 2), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def depthwise(x, w, b):
    """Its 25 products of a channel fill SBUF before the first sum"""
    y = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"),
                                 feature_group_count=72)
    return jnp.maximum(y + b[:, None, None], 0)


def chain(a, b):
    """Element-wise operations that belong together, one of which a reduction reads too"""
    x = a + b
    y = jnp.where(x > a, jnp.maximum(x, 3) * 2, -a)
    z = (y.astype(jnp.bfloat16) + jnp.bfloat16(1)).astype(jnp.float32)
    return z * x - jnp.abs(y) + y.max(-1, keepdims=True)


def dot_chain(a, b):
    """The same behind a product whose columns lie along the partitions"""
    x = a @ b
    y = jnp.where(x > 5, x, x * 2 + 1)
    return jnp.maximum(y - x, y * 3)


def turned(a, b):
    """Products of one value in both directions: blocks turned from partitions to partitions"""
    x = a + 1
    return (x @ b) * 2 + x.T @ b


def joined(a, b):
    """Between the two parts of the result there is hardly room for it"""
    x, y, z = (jnp.clip(a @ right, -8, 8) for right in (b, b.T, b + 1))
    return jnp.concatenate([a[:, :32] * 2, jnp.where(x > y, x * y + z, y - z)], 1)


case("add", lambda a, b: a + b, (1024, 2048), (1024, 2048))
case("add_same", lambda a: a * a + 1, (1, 4000003))
case("bias_relu", lambda a, b: jnp.maximum(a + b, 0), (3, 5, 70000), (70000,))
case("divide", lambda a, b: a / b, (1024, 2048), (1024, 2048))
case("select", lambda a, b: jnp.where(a > b, a, b * 2), (1024, 2048), (1024, 2048))
case("gather", lambda t, a: jnp.take(t, a.astype(jnp.int32) * 17, axis=0, mode="clip"), (300, 64), (70000,))
case("to_bf16", lambda a: (a + 0.5).astype(jnp.bfloat16), (1024, 4096))
case("add_transposed", lambda a, b: a + b.T, (1500, 1100), (1100, 1500))
case("sum_rows", lambda a: a.sum(-1), (2, 200000))
case("max_columns", lambda a: a.max(0), (1024, 4096))
case("sum_all", lambda a: a.sum(), (1, 4000003))
case("softmax", lambda a: jax.nn.softmax(a, -1), (2, 20000))
case("transpose", lambda a: a.T, (1030, 2050))
case("reverse", lambda a: a[:, ::-1] + 1, (1024, 4096))
case("slice", lambda a: a[3:, 1::2] + 1, (1024, 4096))
case("concatenate", lambda a, b: jnp.concatenate([a, b + 1], 1), (1024, 2048), (1024, 3000))
case("stack", lambda a, b: jnp.stack([a, b + 1], -1), (1111, 2000), (1111, 2000))
case("short_rows", lambda a: a - a.max(-1, keepdims=True), (1000003, 3))
case("pad", pad, (1024, 2048))
case("window_max", window, (1, 64, 224, 224))
case("cumulative", lambda a: jnp.cumsum(a, -1), (1, 12000))
case("dot", lambda a, b: a @ b, (700, 1500), (1500, 4100))
case("dot_long", lambda a, b: a @ b, (3, 300000), (300000, 5))
case("dot_bias_relu", lambda a, b, c: jnp.maximum(a @ b.T + c, 0), (1100, 520), (4096, 520), (4096,))
case("dot_batch", lambda a, b: jnp.einsum("bqhd,bkhd->bhqk", a, b), (4, 500, 12, 64), (4, 500, 12, 64))
case("dot_pairs", lambda a, b: jnp.einsum("bij,bjk->bki", a, b), (2100, 16, 18), (2100, 18, 20))
case("conv", conv, (2, 112, 112, 64), (3, 3, 64, 64), (64,))
case("conv_planes", conv_planes, (1, 3, 500, 500), (64, 3, 7, 7))
case("depthwise", depthwise, (1, 72, 40, 40), (72, 1, 5, 5), (72,))
case("chain", chain, (1500, 1100), (1100,))
case("dot_chain", dot_chain, (2000, 64), (64, 1536))
case("keys", lambda q, k: jnp.einsum("hd,khd->hk", q, k), (12, 64), (256, 12, 64))
case("turned", turned, (384, 384), (384, 224))
case("joined", joined, (6000, 128), (128, 128))
case("filled", lambda a: jnp.full((5000003,), a), ())
case("filled_rows", lambda a: jnp.broadcast_to(a, (3000, 1700)), (3000, 1))
case("moved_window", moved_window, (10000, 16), (1,), (5000, 16))
