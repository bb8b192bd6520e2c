#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules of 8-bit floats, from HLO to the chip, as ../hlo/make.py says.

Each type is cast to and from fp32, added to a constant of its own, multiplied by itself as input and output, reduced,
and the operands of a product, of one type and of two; NaN, infinities, zeros and subnormal numbers among the inputs.
Products of 8-bit floats are exact, and their sums here stay below 2^24 of the smallest bit: everything has JAX's bits.
f8e4m3fn, which no chip has, has cases of its own besides: all numbers of bf16 and of fp16, results that overflow, what
only moves, convolution, sort, loop and bitcasts.

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
TYPES = {"f8e3m4": jnp.float8_e3m4, "f8e4m3": jnp.float8_e4m3, "f8e5m2": jnp.float8_e5m2}
E4M3FN = jnp.float8_e4m3fn
SPECIAL = [0, -0.0, np.inf, -np.inf, 1e-9, -2**-9, 2**-16, 17, -300, 7e4, 1 + 2**-6]


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def every(dtype):
    """Every code but NaN's, twice: what the chip computes of a NaN it reports"""
    x = np.arange(256, dtype=np.uint8).view(dtype)
    return np.tile(x[~np.isnan(x.astype(np.float32))], 2)


def save(path, x):
    x = np.asarray(x)
    if x.dtype == E4M3FN:
        x = x.view(np.uint8)
    np.save(path, x.view("V1") if x.dtype.itemsize == 1 and x.dtype.kind not in "iu" else x)


def product(a, b):
    return jax.lax.dot(a, b, preferred_element_type=jnp.float32)


def cases():
    for name, t in TYPES.items():
        special = np.concatenate([f32(117), np.asarray(SPECIAL, np.float32)])
        yield f"cast_{name}", lambda x, t=t: x.astype(t).astype(jnp.float32), [special]
        yield f"widen_{name}", lambda x: x.astype(jnp.float32), [every(t)]
        yield f"halve_{name}", lambda x: x.astype(jnp.bfloat16), [every(t)]
        constant = jnp.asarray(np.linspace(-4, 4, 40), t)
        yield f"add_{name}", lambda x, c=constant: x + c, [np.asarray(jnp.asarray(f32(20, 40), t))]
        yield f"square_{name}", lambda x: x * x, [np.asarray(jnp.asarray(f32(33, 7), t))]
        yield f"max_{name}", lambda x: x.max(axis=1), [np.asarray(jnp.asarray(f32(20, 40), t))]
        yield f"turn_{name}", lambda x: x.T, [np.asarray(jnp.asarray(f32(130, 70), t))]
        yield f"dot_{name}", lambda x, y, t=t: product(x.astype(t), y.astype(t)), [f32(20, 40), f32(40, 30)]
    a, b = jnp.float8_e4m3, jnp.float8_e5m2
    yield "dot_mixed", lambda x, y: product(x.astype(a), y.astype(b)), [f32(20, 40), f32(40, 30)]
    yield from cases_e4m3fn()


def numbers(dtype):
    """Every number of a 16-bit type that has a result"""
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    return x[~np.isnan(x.astype(np.float32).astype(E4M3FN).astype(np.float32))]


def small(*shape):
    return np.asarray(jnp.asarray(f32(*shape), E4M3FN))


def convolution(x, k):
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", preferred_element_type=jnp.float32)


def loop(x):
    """Of a number of iterations that depends on the data"""
    return jax.lax.while_loop(lambda v: v.astype(jnp.float32).max() < 100, lambda v: (v + v).astype(E4M3FN), x)


def cases_e4m3fn():
    t, name = E4M3FN, "f8e4m3fn"
    bytes_of = jax.lax.bitcast_convert_type
    special = np.concatenate([f32(117) * 100, np.asarray([0, -0.0, 1e-9, -(2**-9), 2**-10, 464, -448, 460, 2**-6], "f4")])
    constant = jnp.asarray(np.linspace(-4, 4, 40), t)
    yield f"cast_{name}", lambda x: x.astype(t).astype(jnp.float32), [special]
    yield f"cast_bf16_{name}", lambda x: x.astype(t), [numbers(jnp.bfloat16)]
    yield f"cast_fp16_{name}", lambda x: x.astype(t), [numbers(np.float16)]
    yield f"over_{name}", lambda x: x.astype(t).astype(jnp.float32), [np.asarray([465, 464, 1e4, 3e38, np.inf], "f4")]
    yield f"widen_{name}", lambda x: x.astype(jnp.float32), [every(t)]
    yield f"halve_{name}", lambda x: x.astype(jnp.bfloat16), [every(t)]
    yield f"other_{name}", lambda x: x.astype(jnp.float8_e5m2), [every(t)]
    yield f"whole_{name}", lambda x: x.astype(jnp.int32), [every(t)]
    yield f"same_{name}", lambda x: x, [every(t)]
    yield f"negate_{name}", lambda x: -x, [every(t)]
    yield f"bits_{name}", lambda x: bytes_of(x, jnp.uint8), [every(t)]
    yield f"of_bits_{name}", lambda x: bytes_of(x, t), [every(t).view(np.uint8)]
    yield f"add_{name}", lambda x: x + constant, [small(20, 40)]
    yield f"square_{name}", lambda x: x * x, [small(33, 7)]
    yield f"divide_{name}", lambda x, y: x / y, [small(30, 30), np.asarray(jnp.asarray(1 + np.abs(f32(30, 30)), t))]
    yield f"max_{name}", lambda x: x.max(axis=1), [small(20, 40)]
    yield f"less_{name}", lambda x, y: jnp.where(x < y, x, y), [small(20, 40), small(20, 40)]
    yield f"turn_{name}", lambda x: x.T, [small(130, 70)]
    yield f"pad_{name}", lambda x: jnp.pad(jnp.concatenate([x, x[:, ::-1]]), 3), [small(9, 17)]
    yield f"take_{name}", lambda x, i: x[i], [small(50, 12), rng.integers(0, 50, 20).astype(np.int32)]
    yield f"sort_{name}", lambda x: jnp.sort(x, axis=1), [small(6, 50)]
    yield f"loop_{name}", loop, [small(4, 5)]
    yield f"dot_{name}", lambda x, y: product(x.astype(t), y.astype(t)), [f32(20, 40), f32(40, 30)]
    yield f"dot_given_{name}", product, [small(20, 40), small(40, 30)]
    yield f"dot_mixed_{name}", lambda x, y: product(x, y.astype(jnp.float8_e5m2)), [small(20, 40), f32(40, 30)]
    # sums that bf16's results would not hold
    yield f"dot_narrow_{name}", lambda x, y: jax.lax.dot(x, y), [small(12, 16), small(16, 10)]
    yield f"dot_constant_{name}", lambda x: product(x.astype(t), jnp.tile(constant, (8, 1)).T), [f32(20, 40)]
    yield f"conv_{name}", convolution, [small(2, 4, 9, 9), small(6, 4, 3, 3)]


def main():
    lines = []
    for old in HERE.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    for name, function, inputs in cases():
        to = HERE / name
        to.mkdir()
        lowered = jax.jit(function).lower(*inputs)
        (to / "module.hlo.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        for i, x in enumerate(inputs):
            save(to / f"in{i}.npy", x)
        save(to / "out0.npy", jax.jit(function)(*inputs))
        lines.append(f"{name} {len(inputs)} 1 0\n")
    (HERE / "cases.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
