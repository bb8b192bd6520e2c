# SPDX-License-Identifier: MIT
"""Golden modules of what is put in order; make.py makes them."""

from typing import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, -np.nan)


def holed(d, *shape):
    x = d.f32(*shape)
    x.reshape(-1)[d.rng.permutation(x.size)[:3 * len(SPECIAL)]] = np.array(SPECIAL * 3, np.float32)
    return x


def ends(d, *s):
    return np.where(d.f32(*s) > 0, d.edges(np.int32, *s), d.ints(np.int32, *s))


def scrambled(n, x):
    return (jnp.arange(n, dtype=np.int32) * 48271 ^ x) * 69621


def add(case: Callable) -> None:
    """Keys of every type, few of many, and rows that are longer than a partition takes"""
    case("sort_order_types", lambda x, y, z: (lax.sort((x, y, lax.broadcasted_iota(np.int32, x.shape, 1)), num_keys=1),
         jnp.argsort(y.astype(np.uint8), 1, descending=True), jnp.argsort(y.astype(np.int16) // 3, 0), jnp.sort(z.astype(np.uint32), 0, descending=True),
         jnp.argsort(z, 1, descending=True), lax.top_k(jnp.where(x == x, x, 0).astype(jnp.bfloat16), 61), lax.top_k(y.astype(np.int8), 20), lax.top_k(z, 9)),
         lambda d: (np.round(holed(d, 150, 61), 1).astype(np.float16), d.ints(np.int32, 150, 61, low=-40, high=40), ends(d, 61, 200)))
    case("sort_order_parts", lambda x: (*(v[..., ::17] for v in lax.top_k(scrambled(70001, x) >> 24, 3000)),
         *lax.top_k(-jnp.abs(scrambled(50026, x).reshape(2, -1) >> 22).astype(np.float32), 40),
         jnp.argsort(jnp.abs(scrambled(12288, x) >> 18) % 1000)[::29]), lambda d: d.ints(np.int32))
    case("sort_order_rest", lambda x: tuple(v[::19] for v in lax.top_k(-1 - jnp.abs(scrambled(60001, x) >> 8), 2999)), lambda d: d.ints(np.int32))
    case("sort_blocks", lambda x: (jnp.argsort((scrambled(24602, x).reshape(2, -1) >> 20).astype(np.float32), 1)[:, ::31], jnp.sort(scrambled(13001, x))[::37],
         jnp.argsort(scrambled(13001, x).astype(np.uint32), descending=True)[::41],
         *(v[..., ::13] for v in lax.top_k(scrambled(28002, x).reshape(2, -1) >> 18, 3500))), lambda d: d.ints(np.int32))
    case("sort_pairs_wide", lambda a, b: lax.sort((a, b), num_keys=2), lambda d: (d.ints(np.int8, 4100, low=-9, high=9), d.ints(np.int16, 4100)))


def sort_text(types, dims, less):
    """a sort of operands of so many dimensions along the last one"""
    tensors = [f"tensor<{'x'.join(map(str, dims))}x{t}>" for t in types]
    values = ", ".join(f"%x{i}" for i in range(len(types)))
    given = ", ".join(f"%{v}{i}: tensor<{t}>" for i, t in enumerate(types) for v in "ab")
    return f"""func.func public @main({", ".join(f"%x{i}: {t}" for i, t in enumerate(tensors))}) -> ({", ".join(tensors)}) {{
    %r:{len(types)} = "stablehlo.sort"({values}) ({{ ^bb0({given}): {less} stablehlo.return %less : tensor<i1> }})
    {{dimension = {len(dims) - 1} : i64, is_stable = true}} : ({", ".join(tensors)}) -> ({", ".join(tensors)})
    return {", ".join(f"%r#{i}" for i in range(len(types)))} : {", ".join(tensors)} }}"""


def sorted_by(*keys):
    """by these keys, the first one first"""
    def fn(*x):
        at = np.lexsort([key(*x) for key in reversed(keys)], axis=-1)
        return [np.take_along_axis(v, at, -1) for v in x]
    return fn


def add_written(cases: dict) -> None:
    """Comparisons that JAX never writes"""
    lt = lambda name, x, y, t: f"%{name} = stablehlo.compare LT, %{x}, %{y} : (tensor<{t}>, tensor<{t}>) -> tensor<i1> "
    eq = lambda name, x, y, t: f"%{name} = stablehlo.compare EQ, %{x}, %{y} : (tensor<{t}>, tensor<{t}>) -> tensor<i1> "
    both = lambda *dims: lambda d: (d.ints(np.int32, *dims, low=-9, high=9), d.ints(np.int16, *dims, low=-40, high=40))
    for name, dims in (("tall", (3, 40)), ("wide", (2, 2100))):  # of which the compiler sees no keys
        text = sort_text(("i32", "i16"), dims, eq("e", "a0", "b0", "i32") + lt("l", "a0", "b0", "i32") + lt("m", "b1", "a1", "i16") +
                         "%less = stablehlo.select %e, %m, %l : tensor<i1>, tensor<i1>")
        cases[f"sort_network_{name}"] = (sorted_by(lambda x, y: x, lambda x, y: -y), both(*dims), 0.0, False, text)
    text = sort_text(("i32", "i16"), (5, 300), eq("e", "b1", "a1", "i16") + lt("l", "b1", "a1", "i16") + lt("m", "a0", "b0", "i32") +
                     "%n = stablehlo.and %e, %m : tensor<i1> %less = stablehlo.or %l, %n : tensor<i1>")
    cases["sort_second_down"] = (sorted_by(lambda x, y: -y, lambda x, y: x), both(5, 300), 0.0, False, text)
    text = sort_text(("i32", "i16"), (5, 300), eq("e", "a0", "b0", "i32") + lt("l", "a1", "b1", "i16") + lt("m", "a0", "b0", "i32") +
                     "%n = stablehlo.and %e, %l : tensor<i1> %less = stablehlo.or %m, %n : tensor<i1>")
    text = text.replace("%e = stablehlo.compare EQ, %a0, %b0", "%c = stablehlo.constant dense<-2> : tensor<i32> %f = stablehlo.and %a0, %c : tensor<i32> "
                        "%g = stablehlo.and %b0, %c : tensor<i32> %e = stablehlo.compare EQ, %f, %g").replace("LT, %a0, %b0", "LT, %f, %g")
    cases["sort_by_parts_of_keys"] = (sorted_by(lambda x, y: x & -2, lambda x, y: y), both(5, 300), 0.0, False, text)
