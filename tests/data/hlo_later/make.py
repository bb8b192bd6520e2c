#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules of later targets: 8-bit floats from HLO to the chip, as ../hlo/make.py says.

Each type is cast to and from fp32, added to a constant of its own, multiplied by itself as input and output, reduced,
and the operands of a product, of one type and of two; NaN, infinities, zeros and subnormal numbers among the inputs.
Products of 8-bit floats are exact, and their sums here stay below 2^24 of the smallest bit: everything has JAX's bits.

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
SPECIAL = [0, -0.0, np.inf, -np.inf, 1e-9, -2**-9, 2**-16, 17, -300, 7e4, 1 + 2**-6]


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def every(dtype):
    """Every code but NaN's, twice: what the chip computes of a NaN it reports"""
    x = np.arange(256, dtype=np.uint8).view(dtype)
    return np.tile(x[~np.isnan(x.astype(np.float32))], 2)


def save(path, x):
    x = np.asarray(x)
    np.save(path, x.view("V1") if x.dtype.itemsize == 1 else x)


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
