# SPDX-License-Identifier: MIT
"""Golden modules of elements that are taken from lines, and combined in them; make.py makes them."""

from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def scatter_text(types, rows, updates, columns, body):
    """scatter of whole rows of len(types) operands; body: of parameters %a0.. (old) and %b0.. (update)"""
    tensor = lambda n, *s: ", ".join(f"%{n}{i}: tensor<{'x'.join(map(str, s + (t,)))}>" for i, t in enumerate(types))
    kinds = lambda *s: ", ".join(f"tensor<{'x'.join(map(str, s + (t,)))}>" for t in types)
    names = lambda n: ", ".join(f"%{n}{i}" for i in range(len(types)))
    return f"""func.func public @main({tensor("x", rows, columns)}, %i: tensor<{updates}x1xi32>, {tensor("u", updates, columns)}) -> ({kinds(rows, columns)}) {{
      %r:{len(types)} = "stablehlo.scatter"({names("x")}, %i, {names("u")}) <{{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
        ^bb0({tensor("a")}, {tensor("b")}):
        {body}
      }}) : ({kinds(rows, columns)}, tensor<{updates}x1xi32>, {kinds(updates, columns)}) -> ({kinds(rows, columns)})
      return {", ".join(f"%r#{i}" for i in range(len(types)))} : {kinds(rows, columns)} }}"""


def scattered(combine):
    """What scatter_text's module computes; combine: of the old elements of a row and of the update's"""
    def fn(*args):
        n = len(args) // 2
        x, i, u = [a.copy() for a in args[:n]], args[n].ravel(), args[n + 1:]
        for k, at in enumerate(i):
            if 0 <= at < x[0].shape[0]:
                for v, new in zip(x, combine([v[at] for v in x], [v[k] for v in u])):
                    v[at] = new
        return x
    return fn


def add(case: Callable) -> None:
    """Elements that POOL takes from lines, and combines in them: sums in the order of the indices"""
    special = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 1e-42], np.float32)
    out = lambda d, n, *s: d.ints(np.int32, *s, low=-n - 5, high=n + 5)
    odd = lambda d, *s, of=8: np.where(d.f32(*s) > 0.5, special[d.rng.integers(0, of, s)], d.f32(*s))
    one_nan = lambda x: jnp.where(x != x, jnp.nan, x).astype(x.dtype)  # whose sign XLA leaves open
    many = lambda k, n, m: (lax.iota(np.int32, n) * 7919 + k) % m - 3  # some of them below 0: left out, or clamped
    clip = lambda x, i: jnp.take(x, i, mode="clip")
    put = lambda x, i, u, how: getattr(x.at[i], how)(u, mode="drop", wrap_negative_indices=False)

    case("lines_long", lambda x, i: (clip(x, i), clip(x[:8192], i % 8192), clip(x[:8193], i), clip(x > 0.5, i), put(x[:8193], i, x[:90], "set"),
         put(x, i, 2, "set")[::40], put(x[:8192], i, x[:90], "min")[::9]), lambda d: (odd(d, 20000), np.concatenate([out(d, 20000, 80), np.array(
             [8190, 8191, 8192, 8193, 16383, 16384, 19999, 20000, -1, 0], np.int32)])))
    case("lines_rows", lambda x, a, b, c, i: tuple(jnp.take_along_axis(y, i, 1, mode="clip") for y in (
        x, a, b, c, x > 0.5, x.astype(jnp.bfloat16), x.astype(np.float16), a * 65537)), lambda d: (
            odd(d, 130, 20), d.edges(np.int16, 130, 20).astype(np.int32), d.edges(np.int16, 130, 20), d.edges(np.uint8, 130, 20), out(d, 20, 130, 7)))
    case("lines_many", lambda x, k: (clip(x[:100], many(k, 33000, 99))[::331], clip(x, many(k, 33000, 4000))[::331], put(jnp.zeros(
        300, np.int32), many(k, 33000, 400), 1, "add"), put(jnp.zeros(60), many(k, 33000, 61), many(k, 33000, 1000).astype(np.float32), "max"), put(
            jnp.zeros((2, 50), np.int32), (slice(None), many(k, 33000, 51)), lax.iota(np.int32, 33000), "min")), lambda d: (odd(d, 4000), np.int32(5)))
    case("lines_sums", lambda x, y, i, u, v: (put(x, i, u, "add"), put(y, i, v, "add"), put(x[:, 1], i, u[:, 1], "add"), put(y[:, 0], i, v[:, 0], "add"), put(
        x.T, (slice(None), i), u.T, "add")), lambda d: (d.f32(30, 5), d.edges(np.int32, 30, 5), out(d, 30, 200), d.f32(200, 5), d.edges(np.int32, 200, 5)))
    case("lines_sums_special", lambda x, i, u: tuple(one_nan(y) for y in (
        put(x, i, u, "add"), put(x[:, 0], i, u[:, 0], "add"), put(x, i, u, "max"), put(x, i, u, "min"))), lambda d: (
            odd(d, 40, 3, of=5), d.rng.permutation(np.concatenate([np.arange(30), np.arange(15)])).astype(np.int32), odd(d, 45, 3, of=5)))
    case("lines_kinds", lambda a, b, c, i, u, v, w: tuple(put(x, i, y, how) for x, y in ((a, u), (b, v), (c, w)) for how in ("add", "max", "min")),
         lambda d: (d.edges(np.uint32, 50), d.edges(np.uint8, 50), d.edges(np.int16, 50), out(d, 50, 120), d.edges(np.uint32, 120),
                    d.edges(np.uint8, 120), d.edges(np.int16, 120)))
    case("lines_halves", lambda x, i, u: tuple(f(x.astype(t), u.astype(t)) for t in (jnp.bfloat16, np.float16) for f in (
        lambda a, b: put(a, i, b, "max"), lambda a, b: put(a.astype(np.float32), i, b.astype(np.float32), "add").astype(a.dtype),
        lambda a, b: put(a, i, b, "min"))), lambda d: (d.f32(40), out(d, 40, 90), d.f32(90)))
    case("lines_predicates", lambda x, y, i, u: (put(x > 0, i, u > 0, "set"), put(x > 1, i, u > 1, "max"), put(x > 0, i, u > 0, "min"), put(
        y > 0, (slice(None), i), u > 1, "set")), lambda d: (d.f32(70), d.f32(3, 70), out(d, 70, 60), d.f32(60)))
    case("lines_shared", lambda x, i, j, u: (jax.vmap(clip)(x, i), jnp.take(x, j, 1, mode="clip"), jax.vmap(lambda a, k, w: put(a, k, w, "add"))(x, i, u),
         jax.vmap(lambda a, k, w: put(a, k, w, "set"))(x, i[:, :1], u[:, :1]), put(x, (slice(None), j), u[:, :9], "max")),
         lambda d: (d.f32(150, 33), out(d, 33, 150, 11), out(d, 33, 9), d.f32(150, 11)))
    case("lines_of_some", lambda k, i, u, v: tuple(one_nan(put(lax.broadcasted_iota(y.dtype, (30000, 40), 0) * k.astype(y.dtype), i, y, how)[
        jnp.array([0, 7, 105, 20000, 29998, 29999])]) for y, how in ((u, "add"), (u, "max"), (v, "add"), (v, "min"))), lambda d: (
            np.int32(3), np.concatenate([np.array([0, 7, 7, 29999, 30000, 7, -1, 105, 105, 20000, 20000, 20001], np.int32), out(d, 30000, 20)]),
            odd(d, 32, 40, of=5), d.edges(np.int32, 32, 40)))
    case("lines_chunks", lambda x, y, w: (lambda k: (x - jnp.min(x, 1)[:, None], k, jnp.where(x > y, y, x * 2), jnp.max(x + y, 1) * 2, put(
        jnp.zeros(5, np.int32), k, 1, "add"), clip(w, k)[::9], (x[:300, 0] + 1)[k[:20] * 70]))(jnp.argmin(x, 1).astype(np.int32)),
         lambda d: (d.f32(1100, 5), d.f32(5), d.f32(5)))


def add_written(cases: dict) -> None:
    """What JAX never writes: sums of 16 bits in fp32, predicates"""
    index = lambda d, n, most: d.ints(np.int32, n, 1, low=-2, high=most + 1)
    for t, dtype in (("bf16", jnp.bfloat16), ("f16", np.float16)):  # in fp32, rounded once
        total = scattered(lambda a, b: (a[0] + b[0],))
        text = scatter_text((t,), 30, 90, 4, f"%s = stablehlo.add %a0, %b0 : tensor<{t}> stablehlo.return %s : tensor<{t}>")
        cases[f"lines_sums_{t}"] = (lambda x, i, u, total=total, dtype=dtype: total(x.astype(np.float32), i, u.astype(np.float32))[0].astype(dtype),
                                    lambda d, dtype=dtype: (d.f32(30, 4).astype(dtype), index(d, 90, 30), d.f32(90, 4).astype(dtype)), 0.0, False, text)
    for name, op in (("or", np.logical_or), ("and", np.logical_and)):
        bits = scattered(lambda a, b, op=op: (op(a[0], b[0]),))
        text = scatter_text(("i1",), 30, 25, 4, f"%s = stablehlo.{name} %a0, %b0 : tensor<i1> stablehlo.return %s : tensor<i1>")
        cases[f"lines_{name}"] = (lambda x, i, u, bits=bits: bits(x, i, u)[0],
                                  lambda d: (d.f32(30, 4) > 0, index(d, 25, 30), d.f32(25, 4) > 0), 0.0, False, text)
