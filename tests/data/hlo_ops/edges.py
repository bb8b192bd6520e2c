# SPDX-License-Identifier: MIT
"""Golden modules of extreme operands, with C's or NumPy's results; make.py makes them."""

from typing import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

F32 = np.array([0, 1, 2, 7, 0x7fffff, 0x800000, 0x800001, 0x400000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x40400000,
                0x40490fdb, 0x461c4000, 0x4b000000, 0x4b7fffff, 0x4b800000, 0x501502f9, 0x7f000000, 0x7f7fffff], np.uint32)
TYPES = {"f32": (np.float32, np.uint32), "f16": (np.float16, np.uint16), "bf16": (jnp.bfloat16, np.uint16)}


def rest(a, b):
    """C's fmod, of which NumPy's is; in fp32 it is exact for fewer bits too"""
    with np.errstate(all="ignore"):
        r = np.fmod(a.astype(np.float32), b.astype(np.float32))
    return np.where(np.isnan(r), np.float32(np.nan), r).astype(a.dtype)


def pairs(d, t, invalid):
    """All pairs of edges, random bits, and numbers next to multiples; invalid: with NaN as result too"""
    dtype, bits = TYPES[t]
    with np.errstate(over="ignore"):
        edges = np.concatenate([F32, F32 | np.uint32(1 << 31)]).view(np.float32).astype(dtype)
    edges = np.concatenate([edges, np.array([np.inf, -np.inf], dtype)])
    any_bits = lambda: d.ints(bits, 1500).view(dtype)
    y = any_bits()
    with np.errstate(all="ignore"):
        near = (y.astype(np.float32) * np.round(d.f32(1500) * 3000)).astype(dtype)
    a, b = (x.ravel() for x in np.meshgrid(edges, edges))
    a, b = np.concatenate([a, any_bits(), near]), np.concatenate([b, any_bits(), y])
    r = rest(a, b).astype(np.float32)
    keep = np.isnan(r) & ~np.isnan(a.astype(np.float32)) & ~np.isnan(b.astype(np.float32)) if invalid else ~np.isnan(r)
    return a[keep], b[keep]


def rows(x, n):
    return x[: n * 60].reshape(n, 60)


def add(case: Callable) -> None:
    """Unsigned indices beyond what signed ones hold, which are clamped as the large numbers that they are"""
    case("indices_u32", lambda x, i: (lax.dynamic_slice(x, (i[0], i[1]), (2, 2)), lax.dynamic_slice(x, (i[1], i[2]), (2, 2)),
         lax.dynamic_update_slice(x, x[:2, 1:3] * 2, (i[2], i[0])), x.at[i].get(mode="clip"), jnp.take(x, i, 1, mode="clip"),
         x.at[i].add(7, mode="drop")), lambda d: (d.f32(5, 4), np.array([1, 2**32 - 1, 2**31, 3, 2**31 - 1], np.uint32)))
    # an iota of more numbers than its type has
    case("iota_wraps", lambda x: [lax.broadcasted_iota(t, (2, 300), 1) + x[0].astype(t) for t in (np.int8, np.uint8, np.int16)] + [
         lax.iota(np.uint16, 66000) + x.astype(np.uint16)], lambda d: d.ints(np.int8, 1, low=0, high=0))
    # iotas of so many elements that they are sums, of a float that does not hold each of them too
    case("iota_long", lambda x: [lax.iota(np.float32, 2**24 + 90000)[-90000::9] + x[0].astype(np.float32),
         lax.broadcasted_iota(np.int32, (3, 100003, 2), 1)[1:, ::100] * x[1], lax.iota(np.uint32, 786432)[5::4000] + x[1].astype(np.uint32),
         lax.broadcasted_iota(np.uint32, (400000, 3), 0)[::1000] + x[0].astype(np.uint32),
         lax.broadcasted_iota(np.float32, (2, 200000), 1)[:, ::999] + x[0].astype(np.float32)], lambda d: np.array([0, 3], np.int32))

    # more dimensions of indices and of what they move in than there are
    case("gather_dimensions", lambda x, i: (x[i % 2, i % 3, i % 2, i % 2, i % 3], x.at[i % 2, i % 3, i % 2, i % 2, i % 3].add(2),
         jnp.take(x[0], i, axis=3, mode="clip"), lax.gather(x, jnp.stack([i] * 5, -1) - 1, lax.GatherDimensionNumbers(
             offset_dims=(3, 5), collapsed_slice_dims=(0, 2, 4), start_index_map=(0, 1, 2, 3, 4)), (1, 2, 1, 2, 1))),
         lambda d: (d.f32(2, 3, 2, 2, 3), d.ints(np.int32, 2, 1, 2, 1, 3, low=0, high=5)))
    # more dimensions of indices and rows than there are at all
    case("gather_ranks", lambda x, i: lax.gather(x, jnp.stack([i] * 6, -1), lax.GatherDimensionNumbers(
         offset_dims=(3, 9), collapsed_slice_dims=(0, 2, 4, 5), start_index_map=(0, 1, 2, 3, 4, 5)), (1, 2, 1, 2, 1, 1)),
         lambda d: (d.f32(2, 3, 2, 3, 3, 2), d.ints(np.int32, 2, 1, 1, 1, 2, 1, 1, 1, 1, 3, 1, low=0, high=3)))
    # a selection of what a reduction left in SBUF, which its result takes the place of
    truths = lambda x, y, z: jnp.where(jnp.any(x > 1, 2), jnp.all(y < 1, 2), jnp.any(z > 1, 2))
    case("select_truths", lambda x, y, z: [f(t) for t in (truths(x, y, z), truths(y, z, x)) for f in (lambda t: jnp.sum(t.astype(jnp.int32), 1), lambda t: t ^ (x[..., 0] > 0))],
         lambda d: (d.f32(128, 9, 2), d.f32(128, 9, 2), d.f32(128, 9, 2)))
    # more rows than are unrolled, of few columns, and the other way around
    case("decomposed_tall", lambda a, b: (jnp.linalg.svd(a, compute_uv=False), jnp.linalg.pinv(a), abs(jnp.linalg.qr(a)[1]), jnp.linalg.pinv(b),
         abs(jnp.linalg.qr(b)[1][:, :9])), lambda d: (d.f32(1100, 3), d.f32(2, 1030)), ulps=256)
    # windows of the first columns; products of complex numbers
    first = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    case("scatter_corner", lambda x, i, u: (lax.scatter_add(x, i, u, first), lax.scatter_max(x, i, u, first), lax.scatter(x, i, u, first),
         lax.scatter_apply(x, i, lambda y: y * 3 + 1, first, update_shape=u.shape, unique_indices=True)),
         lambda d: (np.round(d.f32(9, 6) * 8), np.array([[3], [8], [-1], [3], [9], [0]], np.int32), np.round(d.f32(6, 4) * 8)))
    case("scatter_complex", lambda x, i, u: (x.at[i].multiply(u), x.at[1:3].multiply(u[:2]), x.at[i].apply(lambda y: y * y + 1)),
         lambda d: (d.f32(7, 3) + 1j * d.f32(7, 3), np.array([4, 0, 6, 7], np.int32), d.f32(4, 3) - 1j * d.f32(4, 3)), ulps=8)

    # one matrix of zeros, or with NaN, beside others
    def beside(d, n, middle):
        x = d.f32(3, n, n)
        return (x + np.swapaxes(x, 1, 2)) * np.array([1, middle, 1], np.float32)[:, None, None]
    case("decomposed_batch", lambda *a: [jnp.nan_to_num(x) for b in a for x in (
        jnp.linalg.eigh(b)[0], jnp.linalg.eigh(b, UPLO="U", symmetrize_input=False)[0], jnp.linalg.svd(b, compute_uv=False))],
         lambda d: (beside(d, 5, 0), beside(d, 6, np.nan)), ulps=64)


def add_written(cases: dict) -> None:
    """HLO's remainder of any two finite numbers, of infinities and of zeros"""
    for t in TYPES:
        for kind, n in ("edges", 50), ("nan", 3):
            s = f"tensor<{n}x60x{t}>"
            text = f"func.func public @main(%a: {s}, %b: {s}) -> {s} {{ %0 = stablehlo.remainder %a, %b : {s} return %0 : {s} }}"
            cases[f"remainder_{kind}_{t}"] = (
                rest, lambda d, t=t, kind=kind, n=n: tuple(rows(x, n) for x in pairs(d, t, kind == "nan")), 0.0, False, text)

    # StableHLO's reduce_window: elements of the padding are initial values, each of which counts
    def padded(a, b):
        def sums(x, init):
            x = np.pad(x, ((1, 0), (1, 2)), constant_values=init)
            return np.lib.stride_tricks.sliding_window_view(x, (2, 3)).sum((2, 3), dtype=np.int32) + np.int32(init)
        return sums(a, 3), sums(b, -2), sums(a, 3)

    x, y, attributes = "tensor<5x6xi32>", "tensor<5x7xi32>", "window_dimensions = array<i64: 2, 3>, padding = dense<[[1, 0], [1, 2]]> : tensor<2x2xi64>"
    s = "tensor<i32>"
    cases["window_padded"] = (padded, lambda d: (d.ints(np.int32, 5, 6, low=-99, high=99), d.ints(np.int32, 5, 6, low=-99, high=99)), 0.0, False, f"""
      func.func public @main(%a: {x}, %b: {x}) -> ({y}, {y}, {y}) {{
        %i = stablehlo.constant dense<3> : {s}
        %j = stablehlo.constant dense<-2> : {s}
        %0:2 = "stablehlo.reduce_window"(%a, %b, %i, %j) <{{ {attributes} }}> ({{
          ^bb0(%p: {s}, %q: {s}, %r: {s}, %t: {s}):
            %2 = stablehlo.add %p, %r : {s}
            %3 = stablehlo.add %q, %t : {s}
            stablehlo.return %2, %3 : {s}, {s}
        }}) : ({x}, {x}, {s}, {s}) -> ({y}, {y})
        %1 = "stablehlo.reduce_window"(%a, %i) <{{ {attributes} }}> ({{
          ^bb0(%p: {s}, %q: {s}):
            %2 = stablehlo.add %p, %q : {s}
            stablehlo.return %2 : {s}
        }}) : ({x}, {s}) -> {y}
        return %0#0, %0#1, %1 : {y}, {y}, {y}
      }}""")
