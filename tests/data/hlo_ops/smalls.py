# SPDX-License-Identifier: MIT
"""Golden modules of 4-bit and 2-bit integers, a byte each; make.py makes them."""

from typing import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

TYPES = ("int4", "uint4", "int2", "uint2")


def of_bytes(x: np.ndarray) -> np.ndarray:
    """As the compiled module takes and gives it"""
    return x.view(np.int8 if x.dtype.name.startswith("i") else np.uint8) if x.dtype.name in TYPES else x


def add(case: Callable) -> None:
    def numbers(d, t, *shape):
        return d.ints(np.int8, *shape).astype(t)

    for name in TYPES:
        t = jnp.dtype(name)

        def arithmetic(a, b):
            n = b & jnp.asarray(1, b.dtype)
            return (a + b, a - b, a * b, -a, ~a, a & b, a | b, a ^ b, jnp.maximum(a, b), a < b, lax.shift_left(a, n), lax.shift_right_logical(a, n),
                    lax.shift_right_arithmetic(a, n), lax.clz(a))

        case(f"narrow_{name}", arithmetic, lambda d, t=t: (numbers(d, t, 8, 33), numbers(d, t, 8, 33)))
        case(f"narrow_{name}_converted", lambda a, x, i, t=t: (
            a.astype(np.float32), a.astype(np.int32), a.astype(np.uint8), a.astype(jnp.bfloat16), x.astype(t), i.astype(t), i.astype(np.uint8).astype(t),
            (i > 0).astype(t)), lambda d, t=t: (numbers(d, t, 5, 20), np.append(d.f32(100) * 20, [np.inf, -np.inf, np.nan, 300, -300]).astype(np.float32),
                                                d.ints(np.int32, 64)))
        # jaxlib 0.12.0.1's CPU writes beyond the end of 2-bit arrays that it sorts (findings/jaxlib-small-integers.sh)
        case(f"narrow_{name}_moved", lambda a, i, t=t: (
            a.T, a[::-1, 1:], a[i], jnp.concatenate([a, a + 1]), lax.pad(a, jnp.asarray(1, t), [(1, 2, 1), (0, -1, 0)]), jnp.where(a > 1, a, a + 1),
            lax.dynamic_slice(a, (i[0], i[1]), (2, 3)), lax.iota(t, 40), a * jnp.asarray([[1, 0, 1, 0, 1, 1, 1]], t), jnp.full((2, 2), 1, t),
            lax.reduce(a, jnp.asarray(0, t), lax.add, (1,)), lax.reduce(a, jnp.asarray(1, t), lax.max, (0,)), *([lax.sort(a, dimension=1)] if t.name.endswith("4") else [])),
             lambda d, t=t: (numbers(d, t, 6, 7), d.ints(np.int32, 5, low=0, high=3)))
    case("narrow_bits", lambda a, b, x, h: (
        lax.bitcast_convert_type(x, jnp.int4), lax.bitcast_convert_type(h, jnp.uint4), lax.bitcast_convert_type(a, jnp.uint8),
        lax.bitcast_convert_type(b, np.int32), lax.bitcast_convert_type(x, jnp.uint2), lax.bitcast_convert_type(a, jnp.uint4)),
         lambda d: (numbers(d, jnp.int4, 9, 2), numbers(d, jnp.uint4, 3, 8), d.ints(np.int8, 7), d.ints(np.uint16, 6)))
    case("narrow_product", lambda a, b: (lax.dot(a.astype(np.int8), b.astype(np.int8), preferred_element_type=np.int32), a.astype(np.float32) @ b.astype(np.float32)),
         lambda d: (numbers(d, jnp.int4, 9, 40), numbers(d, jnp.int4, 40, 11)))


def add_written(cases: dict) -> None:
    """HLO's popcnt counts the four bits of a number"""
    text = "func.func public @main(%a: tensor<16xi4>) -> tensor<16xi4> { %0 = stablehlo.popcnt %a : tensor<16xi4> return %0 : tensor<16xi4> }"
    cases["narrow_popcnt"] = (lambda a: np.array([bin(int(x) & 15).count("1") for x in a], np.int8).astype(jnp.int4),
                             lambda d: np.arange(16).astype(jnp.int4), 0.0, False, text)
