#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules of the small floats that no chip has, f8e4m3fn (make.py) aside.

Each is cast from every number of bf16 and to fp32, moved, added, multiplied, compared, sorted, negated and bitcast; all
has the bits of JAX's CPU, but what is sorted by a comparison that JAX never writes, which has NumPy's order. What the
CPU gets wrong is left out: it takes the 2^-127 of f8e8m0fnu for zero, orders small negative numbers of f8e5m2fnuz the
wrong way round, and has no products of f4e2m1fn.

Run it behind make.py, whose cases.txt it adds to, in the same environment: python others.py. Everything is seeded.
"""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lib import _jax
from make import HERE, f32

rng, rows = np.random.default_rng(1), np.random.default_rng(2)
TYPES = {
    "f4e2m1fn": jnp.float4_e2m1fn, "f8e8m0fnu": jnp.float8_e8m0fnu, "f8e4m3fnuz": jnp.float8_e4m3fnuz,
    "f8e5m2fnuz": jnp.float8_e5m2fnuz, "f8e4m3b11fnuz": jnp.float8_e4m3b11fnuz,
}  # fmt: skip
bits_of = jax.lax.bitcast_convert_type
NUMBERS = np.asarray([0, -0.0, 0.3, 1.5, 1e9, -1e9, 3e38, 1e-30, -1e-30, 2**-127, 1e-45, 5, 7, 29, 31, 236, 248, 57e3, 6e4], np.float32)


def codes(t):
    """Every code but NaN's"""
    x = np.arange(16 if t == jnp.float4_e2m1fn else 256, dtype=np.uint8).view(t)
    return x[~np.isnan(x.astype(np.float32))]


def some(t, condition=lambda v: True):
    """An array of such numbers for which something holds"""
    x = codes(t)
    return rng.choice(x[[bool(condition(float(v))) for v in x]], (20, 40))


# From the least number to the largest, by the type's own comparison, which JAX never writes
RISING = """func.func public @main(%x: tensor<1x13001xf4E2M1FN>) -> tensor<1x13001xf4E2M1FN> {
    %r = "stablehlo.sort"(%x) ({ ^bb0(%a: tensor<f4E2M1FN>, %b: tensor<f4E2M1FN>):
        %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f4E2M1FN>, tensor<f4E2M1FN>) -> tensor<i1>
        stablehlo.return %less : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<1x13001xf4E2M1FN>) -> tensor<1x13001xf4E2M1FN>
    return %r : tensor<1x13001xf4E2M1FN> }"""


def write_rising():
    x = rows.choice(codes(jnp.float4_e2m1fn).view(np.uint8), (1, 13001))
    to = HERE / "rising_f4e2m1fn"
    to.mkdir(exist_ok=True)
    module = _jax.mlir.mlir_module_to_xla_computation(RISING, use_tuple_args=False, return_tuple=False)
    (to / "module.hlo.pb").write_bytes(module.as_serialized_hlo_module_proto())
    np.save(to / "in0.npy", x)
    np.save(to / "out0.npy", x[:, np.argsort(np.where(x[0] > 7, 7 - x[0].astype(int), x[0]), kind="stable")])
    return f"{to.name} 1 1 0\n"


def cases(name, t):
    powers, odd = name == "f8e8m0fnu", name == "f8e5m2fnuz"
    bf16 = np.arange(65536, dtype=np.uint16).view(jnp.bfloat16)
    normal = (lambda v: v > 2**-127) if powers else lambda v: True
    ordered = (lambda v: v == 0 or abs(v) >= 2**-14) if odd else normal
    factors = (lambda v: 2**-40 < v < 2**40) if powers else normal
    constant = some(t, normal)[0]
    yield "cast", lambda x: x.astype(t), [bf16[~np.isnan(bf16)]]
    yield "cast_fp32", lambda x: x.astype(t), [f32(2048) * np.exp2(rng.integers(-20, 20, 2048)).astype(np.float32)]
    yield "widen", lambda x: x.astype(jnp.float32), [codes(t)]
    yield "same", lambda x: x, [codes(t)]
    yield "turn", lambda x: jnp.concatenate([x.T, x.T[::-1]]), [some(t)]
    yield "add", lambda x: x + constant, [some(t, normal)]
    yield "multiply", lambda x, y: x * y, [some(t, factors), some(t, factors)]
    yield "less", lambda x, y: jnp.where(x < y, x, y), [some(t, normal), some(t, normal)]
    yield "sort", lambda x: jnp.sort(x, axis=1), [some(t, ordered)]
    if name.endswith("uz"):  # with NaN, which comes first
        every = np.arange(256, dtype=np.uint8)
        yield "places", lambda x: jax.lax.top_k(x, 4)[1], [np.full((1, 13001), 128, np.uint8).view(t)]
        yield "order", lambda x: bits_of(jnp.sort(bits_of(x, t)), jnp.uint8), [every if not odd else every % 2 * 128]
    yield "large", lambda x: jax.lax.top_k(x, 5)[0], [some(t, ordered)]
    # rows that are ordered in parts, filled up with what comes last; and of nothing but that
    row = rows.choice([v for v in codes(t) if ordered(float(v))], (1, 13001))
    last = np.full((1, 13001), 15 if name == "f4e2m1fn" else 0 if powers else 128, np.uint8).view(t)
    yield "long", lambda x: jnp.sort(x, axis=1), [row]
    yield "first", lambda x: jax.lax.top_k(x, 4)[0], [row]
    yield "last", lambda x: jax.lax.top_k(x, 4)[0], [last]
    yield "constant", lambda x: jnp.concatenate([jnp.asarray(NUMBERS).astype(t), x]), [codes(t)]
    yield "folded", lambda x: jnp.concatenate([jax.jit(lambda v: v.astype(t))(NUMBERS), x]), [codes(t)]
    if not powers:
        yield "negate", lambda x: -x, [codes(t)]
        yield "sign", lambda x: jnp.sign(x), [codes(t)]
    if name == "f4e2m1fn":
        yield "of_bits", lambda x: bits_of(x, t), [np.arange(256, dtype=np.uint8)]
        yield "bits", lambda x: bits_of(x, jnp.uint8), [some(t).reshape(400, 2)]
        yield "of_s4", lambda x: bits_of(x.astype(jnp.int4), t), [np.arange(-8, 8, dtype=np.int8)]
        yield "s4_bits", lambda x: bits_of(bits_of(x.astype(jnp.int4), t), jnp.uint8), [np.arange(-8, 8, dtype=np.int8).reshape(8, 2)]
        yield "s4", lambda x: bits_of(x, jnp.int4).astype(jnp.int8), [codes(t)]
    else:
        yield "bits", lambda x: bits_of(x, jnp.uint8), [codes(t)]
        yield "of_bits", lambda x: bits_of(x, t), [codes(t).view(np.uint8)]
        yield "over", lambda x: bits_of(x.astype(t), jnp.uint8), [np.asarray([3e38, 1e6, 1e-9, 0], np.float32)]


def save(path, x):
    """Their codes; bf16, of which NumPy has no type, as two bytes"""
    x = np.asarray(x)
    kind = np.uint8 if x.dtype in TYPES.values() else "V2" if x.dtype == jnp.bfloat16 else x.dtype
    np.save(path, x.view(kind))


def main():
    lines = []
    for name, t in TYPES.items():
        for what, function, inputs in cases(name, t):
            to = HERE / f"{what}_{name}"
            shutil.rmtree(to, ignore_errors=True)
            to.mkdir()
            lowered = jax.jit(function).lower(*inputs)
            (to / "module.hlo.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
            for i, x in enumerate(inputs):
                save(to / f"in{i}.npy", x)
            save(to / "out0.npy", jax.jit(function)(*inputs))
            lines.append(f"{to.name} {len(inputs)} 1 0\n")
    lines.append(write_rising())
    kept = (HERE / "cases.txt").read_text().splitlines(keepends=True)
    (HERE / "cases.txt").write_text("".join([line for line in kept if line not in lines] + lines))


if __name__ == "__main__":
    main()
