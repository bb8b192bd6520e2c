#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules of integers, indices, sorting and control flow (see ../hlo/make.py).

A case is a function and the types and shapes of its inputs, which are drawn from a generator seeded
with the case's name: `make.py NAME...` makes only those, cases.txt is brought up to date.
TOLERANCE is ULPS * 2^-23 * the largest output, 0 where the bits must be JAX's.
"""

import pathlib
import shutil
import sys
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax import windowed_reductions as windowed
from jax._src.lib import _jax

import convolutions
import dynamics
import edges
import lines
import nothing
import orders
import portions
import randoms
import ranks
import smalls
import tight

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
cases = {}


class Draw:
    """What a case's inputs are drawn from"""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def f32(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def ints(self, dtype, *shape, low=None, high=None):
        info = np.iinfo(dtype)
        low = info.min if low is None else low
        high = info.max if high is None else high
        return self.rng.integers(low, high, shape, dtype=dtype, endpoint=True)

    def edges(self, dtype, *shape):
        """all of a type, its ends and small numbers among them"""
        info = np.iinfo(dtype)
        x = self.ints(dtype, *shape).reshape(-1)
        special = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 2, 3, info.max // 2]
        if info.min < 0:
            special += [-1, -2, -3]
        at = self.rng.permutation(x.size)[: x.size // 3]
        x[at] = np.array(special, dtype)[self.rng.integers(0, len(special), at.size)]
        return x.reshape(shape)


def save(path, x):
    x = smalls.of_bytes(np.asarray(x))
    if x.dtype == jnp.bfloat16:
        x = x.view("V2")
    if x.dtype.kind == "c":  # as the compiled module takes and gives it
        x = np.ascontiguousarray(x).view(np.float32).reshape(*x.shape, 2)
    if x.dtype == np.bool_:
        x = x.astype(np.int8)
    np.save(path, x)


def case(name, fn, make, ulps=0.0, wide=False, edit=()):
    """make(draw) gives the inputs; wide: exported with 64-bit types, run with 32-bit ones; edit: pairs
    of an operation of the exported module and what XLA defines it to be alike, which JAX never writes"""
    cases[name] = (fn, make, ulps, wide, edit)


def edited(lowered, edit):
    text = str(lowered.compiler_ir("stablehlo"))
    for old, new in edit:
        assert old in text
        text = text.replace(old, new)
    return _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def power_case(t, dtype):
    """HLO's own power of integers, which JAX writes as products; powers in Python's integers"""
    text = f"func.func public @main(%a: tensor<6x20x{t}>, %b: tensor<6x20x{t}>) -> tensor<6x20x{t}> {{ " \
           f"%0 = stablehlo.power %a, %b : tensor<6x20x{t}> return %0 : tensor<6x20x{t}> }}"
    low = np.iinfo(dtype).min

    def power(a, b):
        r = pow(a, b) if b >= 0 else a ** (-b % 2) if abs(a) == 1 else 0
        return (r - low) % 2 ** np.iinfo(dtype).bits + low

    def fn(a, b):
        return np.array([power(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel())], dtype).reshape(a.shape)

    def draw(d):
        a, b = d.edges(dtype, 6, 20), d.ints(dtype, 6, 20, low=0, high=20)
        a[:, :10] = d.ints(dtype, 6, 10, low=max(low, -3), high=3)
        if low:
            b[:, 5:10] = d.ints(dtype, 6, 5, low=-4, high=4)
        return a, b

    cases[f"power_{t}"] = (fn, draw, 0.0, False, text)


def widened(x):
    return jax.ShapeDtypeStruct(x.shape, {"int32": np.int64, "uint32": np.uint64, "float32": np.float64}[x.dtype.name])


def write(name):
    fn, make, ulps, wide, edit = cases[name]
    args = make(Draw(name))
    args = args if isinstance(args, tuple) else (args,)
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    fn.__name__ = name
    if callable(edit):  # it gives the module's bytes
        module, outs = edit(), fn(*args)
    elif isinstance(edit, str):  # the module, of which fn says what it does
        hlo = _jax.mlir.mlir_module_to_xla_computation(edit, use_tuple_args=False, return_tuple=False)
        outs = fn(*args)
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
    else:
        with jax.enable_x64(wide):
            shapes = [widened(a) if wide else a for a in args]
            lowered = jax.jit(fn, keep_unused=True).lower(*shapes)
        hlo = edited(lowered, edit) if edit else lowered.compiler_ir("hlo")
        outs = jax.tree.leaves(jax.jit(fn)(*args))
    (out / "module.hlo.pb").write_bytes(module if callable(edit) else hlo.as_serialized_hlo_module_proto())
    scale = max(float(np.max(np.abs(np.asarray(o, dtype=np.complex128)), initial=0)) for o in outs)
    args, outs = ([a for a in x if np.size(a)] for x in (args, outs))  # the program has no others
    for stem, arrays in (("in", args), ("out", outs)):
        for i, x in enumerate(arrays):
            save(out / f"{stem}{i}.npy", x)
    return f"{name} {len(args)} {len(outs)} {ulps * 2.0**-23 * scale if ulps else 0:.6g}"


TYPES = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32}


def integer_type(t, dtype):
    two = lambda d: (d.edges(dtype, 12, 40), d.edges(dtype, 12, 40))
    case(f"arithmetic_{t}", lambda a, b: (a + b, a - b, a * b, -a, a * 77 + 5, jnp.abs(a)), two)
    case(f"order_{t}", lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, jnp.maximum(a, b),
                                     jnp.minimum(a, b), jnp.clip(a, 3, 100)), two)
    case(f"divide_{t}", lambda a, b: (lax.div(a, b), lax.rem(a, b), lax.div(a, dtype(7)), lax.sign(a)), two)
    case(f"divide_power_{t}", lambda a: (lax.div(a, dtype(2)), lax.div(a, dtype(64)), lax.rem(a, dtype(4)), a // 8), lambda d: d.edges(dtype, 12, 40))
    case(f"bits_{t}", lambda a, b: (a & b, a | b, a ^ b, ~a, a << (b & 7), lax.shift_right_logical(a, b),
                                    lax.population_count(a), lax.clz(a)), two)
    case(f"shift_arithmetic_{t}", lambda a, b: lax.shift_right_arithmetic(a, b), two)
    case(f"reduce_{t}", lambda a: (jnp.sum(a, 1, dtype=a.dtype), jnp.max(a, 0), jnp.min(a), jnp.prod(a, 1, dtype=a.dtype),
                                   jnp.sum(a, dtype=a.dtype)), lambda d: d.edges(dtype, 30, 50))
    case(f"to_{t}", lambda *x: tuple(v.astype(dtype) for v in x),
         lambda d: tuple(d.edges(u, 5, 40) for u in TYPES.values()))
    case(f"from_{t}", lambda x: (x.astype(jnp.float32), x.astype(jnp.bfloat16), x.astype(jnp.float16),
                                 x.astype(jnp.bool_)),
         lambda d: d.edges(dtype, 5, 200))
    case(f"float_to_{t}", lambda x: x.astype(dtype),
         lambda d: np.concatenate([
             d.f32(100) * 3, d.f32(100) * 1e4, d.f32(100) * 3e9,
             np.array([np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 254.9, 255.5, 4294967040, 2147483520,
                       -2147483648, 16777215, 8388607.5, 127.5, -128.9, 32767.9], np.float32)]))
    case(f"moves_{t}", lambda a, b: (jnp.where(a > b, a, b).T, jnp.concatenate([a, b], 1)[:, 3:50:2],
                                     lax.pad(a, dtype(99), ((1, 2, 0), (0, 3, 1)))), two)
    case(f"window_{t}", lambda a: (lax.reduce_window(a, dtype(np.iinfo(dtype).min), lax.max, (2, 3), (1, 2), "VALID"),
                                   lax.reduce_window(a, dtype(0), lax.add, (1, 5), (1, 1), "SAME")),
         lambda d: d.edges(dtype, 9, 21))


def integers():
    for t, dtype in TYPES.items():
        integer_type(t, dtype)
    for t in ("s8", "u8", "s32", "u32"):
        power_case({"s": "i", "u": "ui"}[t[0]] + t[1:], TYPES[t])
    for a, b in (("u8", "u8"), ("u8", "s8"), ("s16", "s16"), ("s32", "s32"), ("u32", "u32")):
        out = jnp.uint32 if a == "u32" else jnp.int32
        case(f"dot_{a}_{b}", lambda x, y, out=out: lax.dot(x.astype(out), y.astype(out)),
             lambda d, a=a, b=b: (d.ints(TYPES[a], 7, 150), d.ints(TYPES[b], 150, 9)))
    case("conv_u8", lambda x, w: lax.conv_general_dilated(
        x.astype(jnp.int32), w.astype(jnp.int32), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        lambda d: (d.ints(np.uint8, 1, 6, 6, 5), d.ints(np.int8, 3, 3, 5, 4)))
    case("large_constants", lambda x: (x + 123456789, x == 2147483647, jnp.where(x > 0, 16777217, x),
                                       lax.pad(x, jnp.int32(2147480001), ((1, 1, 0), (1, 1, 0)))),
         lambda d: d.edges(np.int32, 6, 40))
    case("bitcast", lambda x, y: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(y, jnp.float32),
                                  lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint32) & 0x7fffffff, jnp.float32)),
         lambda d: (d.f32(6, 30), d.ints(np.int32, 6, 30, low=0, high=2**30)))
    as_type = lax.bitcast_convert_type
    case("bitcast_sizes", lambda x, y, z, b, h: (
        as_type(x, jnp.uint8), as_type(x, jnp.int16), as_type(y, jnp.bfloat16), as_type(y, jnp.int8), as_type(z, jnp.uint8),
        as_type(b, jnp.int32), as_type(b, jnp.float32), as_type(h, jnp.uint16), as_type(z.reshape(30, 2), jnp.uint32)),
         lambda d: (d.ints(np.int32, 6, 30), d.f32(6, 30), d.ints(np.uint16, 60), d.ints(np.uint8, 9, 4), d.ints(np.int8, 3, 5, 2)))
    case("reduce_precision", lambda x: (lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 4, 3)),
         lambda d: np.concatenate([d.f32(100), d.f32(50) * 1e5, d.f32(50) * 1e-6,
                                   np.array([np.inf, -np.inf, 0, -0.0, 65520, 240, 248], np.float32)]))
    edge = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, 1e-30, -1e30], np.float32)
    case("atan2", lambda y, x: lax.atan2(y, x),
         lambda d: (np.concatenate([d.f32(60), np.repeat(edge, 8)]), np.concatenate([d.f32(60), np.tile(edge, 8)])), ulps=4)
    case("arc_functions", lambda x: (jnp.arctan(x * 5), jnp.arcsin(x), jnp.arccos(x)),
         lambda d: np.tanh(d.f32(5, 40)), ulps=6)


def many():
    """reductions of several operands, sorts"""
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, -np.nan], np.float32)
    odd = lambda d, *shape: (lambda x: (x.reshape(-1).__setitem__(d.rng.permutation(x.size)[:8], special), x)[1])(d.f32(*shape))
    case("sort", lambda x, y: (jnp.sort(x), jnp.sort(y, axis=0)), lambda d: (odd(d, 37), odd(d, 16, 11)))
    case("sort_int", lambda x, y: (jnp.sort(x), jnp.sort(y, descending=True)),
         lambda d: (d.edges(np.int32, 5, 50), d.edges(np.uint8, 90)))
    case("argsort", lambda x: (jnp.argsort(x, axis=1), jnp.argsort(x, axis=0, descending=True)),
         lambda d: d.ints(np.int32, 6, 70, low=-9, high=9))
    case("sort_pairs", lambda k, v, w: lax.sort((k, v, w), dimension=1, num_keys=2),
         lambda d: (d.ints(np.int32, 3, 33, low=0, high=4), d.f32(3, 33), d.f32(3, 33)))
    case("top_k", lambda x: lax.top_k(x, 7), lambda d: d.f32(4, 100))
    case("top_k_int", lambda x: lax.top_k(x, 3), lambda d: d.ints(np.int32, 20, low=0, high=5))
    case("median", lambda x: jnp.median(x, axis=1), lambda d: d.f32(8, 31))
    case("argmax_nan", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), lambda d: odd(d, 6, 20))
    case("argmax_unsigned", lambda x: (jnp.argmax(x, 1), jnp.argmin(x)), lambda d: d.ints(np.uint32, 7, 30))
    case("reduce_several", lambda x, y: lax.reduce((x, y), (np.float32(-np.inf), np.int32(0)), lambda a, b: (
        jnp.where(a[0] >= b[0], a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1]) + 0), (0, 2)),
         lambda d: (d.f32(5, 6, 7), d.ints(np.int32, 5, 6, 7)))
    case("reduce_own", lambda x: lax.reduce(x, np.int32(0), lambda a, b: (a | b) ^ (a & b), (1,)),
         lambda d: d.ints(np.int32, 9, 23))
    case("map", lambda x, y: jax.vmap(lambda a, b: jnp.where(a > b, a - b, b))(x, y), lambda d: (d.f32(50), d.f32(50)))
    case("cumulative", lambda x, y: (jnp.cumsum(x, axis=1), lax.cummax(y, axis=0), lax.cumprod(x, axis=0), jnp.cumsum(x[:, ::-1], 1)),
         lambda d: (d.ints(np.int32, 5, 100), d.f32(70, 3)))
    def most(a, b):
        better = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(better, a[0], b[0]), jnp.where(better, a[1], b[1])

    def pool(x, window, strides, padding, base=None, dilation=None):
        at = lax.iota(jnp.int32, x.size).reshape(x.shape)
        low = -jnp.inf if x.dtype == jnp.float32 else np.iinfo(x.dtype).min
        return lax.reduce_window((x, at), (x.dtype.type(low), jnp.int32(2**31 - 1)), most, window, strides, padding, base, dilation)

    case("pool_argmax", lambda x: pool(x, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lambda d: d.f32(2, 6, 8, 5))
    case("pool_argmax_same", lambda x: pool(x, (1, 3, 5), (1, 2, 1), "SAME"), lambda d: d.ints(np.int32, 4, 11, 9, low=-5, high=5))
    case("pool_dilated", lambda x: pool(x, (3, 2), (1, 3), ((2, 1), (0, 4)), (2, 1), (1, 3)), lambda d: d.f32(9, 12))
    case("window_any", lambda x: lax.reduce_window(x, jnp.int32(0), lambda a, b: a ^ b, (1, 7), (1, 3), ((0, 0), (3, 2))),
         lambda d: d.ints(np.int32, 5, 30))
    case("window_initial", lambda x, y: (lax.reduce_window(x, np.float32(2.5), lax.add, (2, 3), (1, 1), "VALID"),
                                         lax.reduce_window(y, np.int32(3), lax.mul, (2, 2), (1, 2), "VALID")),
         lambda d: (d.ints(np.int32, 4, 6, low=-9, high=9).astype(np.float32), d.ints(np.int32, 5, 8, low=-9, high=9)))
    def extreme(x, best, *window):
        info = np.iinfo(x.dtype)
        return lax.reduce_window(x, x.dtype.type(info.min if best is lax.max else info.max), best, *window)

    case("window_extremes", lambda x, y, z: (
        lax.cummin(x, 1), lax.cummax(x, 1, reverse=True), lax.cummin(y, 0, reverse=True), lax.cummax(y, 1), lax.cummin(z, 1), lax.cummax(z, 0),
        extreme(x, lax.min, (3, 4), (2, 1), ((2, 1), (0, 3))), extreme(y, lax.max, (2, 5), (1, 3), ((1, 0), (4, 4))),
        extreme(x, lax.min, (1, 3), (1, 1), ((0, 0), (3, 4))), extreme(x, lax.max, (1, 3), (1, 1), ((0, 0), (4, 2))),
        extreme(z, lax.max, (1, 2), (1, 1), ((0, 0), (1, 1)), (1, 3)), extreme(x, lax.min, (2, 2), (1, 1), ((1, 1), (1, 1)), None, (1, 4))),
         lambda d: (d.ints(np.int32, 6, 30, low=-100, high=100), d.edges(np.int32, 7, 20), d.edges(np.uint32, 5, 17)))
    case("top_k_narrow", lambda x, y: (*lax.top_k(x, 9), *lax.top_k(y, 30)),
         lambda d: (np.asarray(jnp.asarray(odd(d, 3, 40)).astype(jnp.bfloat16)), odd(d, 30).astype(np.float16)))
    case("top_k_long", lambda x: lax.top_k(x, 50), lambda d: np.round(d.f32(1, 5000), 2))
    case("top_k_runs", lambda x, y: (*lax.top_k(x, 20), *lax.top_k(-y, 5), *lax.top_k(y.astype(np.uint8), 12)),
         lambda d: (-np.abs(np.round(d.f32(2, 3001), 1)), d.ints(np.int32, 1, 2000, low=-2**31 + 1, high=2**31 - 1)))
    case("top_k_most", lambda x: lax.top_k((lambda i: jnp.where(i < 69980, i & 255, 256 + (i // x & 1)))(
        jnp.arange(70000, dtype=np.int32)), 15), lambda d: np.int32(3))
    case("sort_ranks", lambda x, y: (jnp.argsort(x, axis=1), jnp.sort(x, axis=1), jnp.argsort(y, axis=1)),
         lambda d: (odd(d, 3, 300), d.ints(np.uint32, 2, 150, 3, low=0, high=2**32 - 1)))
    case("sort_long", lambda x: jnp.sort(x, 0), lambda d: d.f32(4100, 3))
    case("sort_pairs_long", lambda a, b: lax.sort((a, b), num_keys=1, is_stable=True),
         lambda d: (d.ints(np.int16, 2, 4096, low=-90, high=90), d.ints(np.uint8, 2, 4096)))


def indexed():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -np.nan, 3e38], np.float32)

    def table(d, *shape):
        x = d.f32(*shape)
        x.reshape(-1)[d.rng.permutation(x.size)[:8]] = special
        return x

    def holed(d, *shape):
        x = d.f32(*shape)
        x.reshape(-1)[d.rng.permutation(x.size)[:6]] = np.array([np.inf, -np.inf] * 3, np.float32)
        return x

    rows = lambda d, n, *shape: d.ints(np.int32, *shape, low=-n - 3, high=n + 3)
    dn = lax.GatherDimensionNumbers
    case("gather_special", lambda t, i: (t[i], jnp.take(t, i, axis=1, mode="clip")), lambda d: (table(d, 30, 20), rows(d, 19, 4, 3)))
    case("gather_two", lambda t, i, j: t[i, j], lambda d: (table(d, 9, 7, 5), rows(d, 9, 11), rows(d, 7, 11)))
    case("gather_apart", lambda t, i, j: t[i, :, j], lambda d: (table(d, 9, 7, 5), rows(d, 9, 6, 2), rows(d, 5, 2)))
    case("gather_along", lambda t, i: (jnp.take_along_axis(t, i, 1), jnp.take_along_axis(t, i % 12, 0)),
         lambda d: (table(d, 12, 40), d.ints(np.int32, 12, 40, low=0, high=39)))
    case("gather_windows", lambda t, i: jax.vmap(lambda k: lax.dynamic_slice(t, (k[0], k[1], 0), (3, 2, 6)))(i),
         lambda d: (table(d, 10, 9, 6), rows(d, 10, 5, 2)))
    case("gather_batched", lambda t, i: jax.vmap(lambda x, k: lax.dynamic_slice(x, (k, 2), (4, 3)))(t, i),
         lambda d: (table(d, 6, 10, 9), rows(d, 10, 6)))
    case("gather_order", lambda t, i: lax.gather(t, i, dn((0, 2), (2,), (2, 0)), (2, 5, 1), mode="clip"),
         lambda d: (table(d, 8, 5, 7), d.ints(np.int32, 3, 2, low=-2, high=9)))
    case("gather_types", lambda a, b, c, e, i: (a[i], b[i], c[i], e[i]),
         lambda d: (d.edges(np.int32, 20, 6), d.edges(np.uint8, 20, 6), d.edges(np.uint16, 20, 6),
                    d.f32(20, 6).astype(jnp.bfloat16), rows(d, 20, 9)))
    case("gather_bool", lambda t, i: t[i] > 0, lambda d: (table(d, 30), rows(d, 30, 40)))
    case("gather_constant", lambda i: jnp.asarray(table(Draw("gather_constant_table"), 40, 6))[i], lambda d: rows(d, 40, 9))
    case("dynamic_special", lambda t, u, i, j: (lax.dynamic_slice(t, (i, j), (3, 5)), lax.dynamic_update_slice(t, u, (i, j))),
         lambda d: (table(d, 20, 17), table(d, 3, 5), np.int32(11), np.int32(99)))
    case("scatter_set", lambda x, i, u: (x.at[i].set(u), x.at[i[:3]].set(u[:3])), lambda d: (table(d, 30, 7), rows(d, 30, 25), table(d, 25, 7)))
    case("scatter_add", lambda x, i, u: x.at[i].add(u), lambda d: (d.f32(30, 7), rows(d, 30, 12), d.f32(12, 7)))
    case("scatter_add_many", lambda x, i, u: x.at[i].add(u), lambda d: (d.f32(30, 7), rows(d, 30, 300), d.f32(300, 7)), ulps=300)
    case("scatter_add_infinite", lambda x, i, u: x.at[i].add(u), lambda d: (np.zeros((50, 3), np.float32), np.arange(40, dtype=np.int32), np.round(
        np.where(np.arange(120).reshape(40, 3) % 17 == 3, np.inf, np.where(np.arange(120).reshape(40, 3) % 19 == 5, np.nan, 2.0))).astype(np.float32)))
    case("scatter_integers", lambda x, i, u: (x.at[i].add(u), x.at[i].max(u), x.at[i].min(u), x.at[i].multiply(u)),
         lambda d: (d.ints(np.int32, 20), rows(d, 20, 50), d.ints(np.int32, 50)))
    case("scatter_points", lambda x, i, j, u: (x.at[i, j].set(u), x.at[i, :, j].add(1)),
         lambda d: (d.ints(np.int16, 6, 5, 7), rows(d, 6, 20), rows(d, 5, 20), d.ints(np.int16, 20, 7)))
    case("scatter_windows", lambda x, i, u: jax.vmap(lambda a, k, w: lax.dynamic_update_slice(a, w, (k, 1)))(x, i, u),
         lambda d: (table(d, 5, 9, 6), rows(d, 9, 5), table(d, 5, 3, 4)))
    case("scatter_one_window", lambda x, u: (x.at[1:-1, 2:].add(u), x.at[1:-1, 2:].set(u), x.at[::1, :7].max(u[0, 0]), x.at[3].set(u[0, 0]),
                                             x.at[:, 5].multiply(2), x.at[40, 2].set(1, mode="drop"), x.at[2, 8].set(-0.0)),
         lambda d: (d.f32(30, 9), d.f32(28, 7)))
    case("scatter_put", lambda x, i, u, b: (x.at[i].set(u), x.at[i].set(u[0]), (x != 0).at[i].set(b)),
         lambda d: (table(d, 90), rows(d, 90, 200), table(d, 200), d.ints(np.int8, 200, low=0, high=1) > 0))
    case("scatter_put_types", lambda a, b, i, u, v: (a.at[i].set(u), b.at[i].set(v)),
         lambda d: (d.edges(np.uint8, 300), d.f32(300, 3).astype(jnp.bfloat16), rows(d, 300, 40), d.edges(np.uint8, 40),
                    d.f32(40, 3).astype(jnp.bfloat16)))
    case("scatter_put_shared", lambda x, i, u: jax.vmap(lambda a, k, w: a.at[k].set(w))(x, i, u),
         lambda d: (table(d, 3, 25, 2), rows(d, 25, 3, 40), table(d, 3, 40, 2)))
    case("scatter_put_long", lambda i, u: (lambda y: jnp.concatenate([y[:40], y[65500:65600], y[131000:131100]]))(
        lax.iota(np.float32, 140000).at[i].set(u)),
         lambda d: (np.concatenate([d.ints(np.int32, 30, low=65500, high=65599), d.ints(np.int32, 30, low=131000, high=131099),
                                    d.ints(np.int32, 20, low=-140004, high=140004), d.ints(np.int32, 9, low=0, high=39)]).astype(np.int32), table(d, 89)))
    case("scatter_add_few", lambda x, y, i, u: (x.at[i].add(u), y.at[i].add(u.astype(np.int32))),
         lambda d: (d.f32(600, 5), d.ints(np.int32, 600, 5), rows(d, 600, 90), np.round(d.f32(90, 5) * 100)), ulps=100)
    case("scatter_add_steps", lambda x, y, i, u: (x.at[i].add(u), y.at[i].add(u.astype(np.int32))),
         lambda d: (d.f32(900), d.ints(np.int32, 900), rows(d, 900, 700), np.round(d.f32(700) * 100)), ulps=100)
    case("scatter_add_steps_infinite", lambda x, i, u: x.at[i].add(u),
         lambda d: (np.round(d.f32(500) * 8) + 0, rows(d, 500, 300), np.where(np.arange(300) % 17 == 3, np.inf, np.where(np.arange(300) % 19 == 5, np.nan, np.where(
             np.arange(300) % 41 == 7, -np.inf, 2.0))).astype(np.float32)))
    case("scatter_add_shared", lambda x, i, u: jax.vmap(lambda a, k, w: a.at[k].add(w))(x, i, u),
         lambda d: (np.round(d.f32(2, 700, 2) * 9), rows(d, 700, 2, 40), np.round(d.f32(2, 40, 2) * 9)))
    case("scatter_extremes", lambda x, y, i, u: (x.at[i].max(u), x.at[i].min(u), y.at[i].max(u), y.at[i].min(u)),
         lambda d: (holed(d, 40, 3), holed(d, 900, 3), rows(d, 40, 500), holed(d, 500, 3)))
    case("scatter_extremes_types", lambda x, y, i, u: (x.at[i].max(u), y.at[i].min(u.astype(np.uint8))),
         lambda d: (d.ints(np.int16, 200), d.edges(np.uint8, 200), rows(d, 200, 60), d.ints(np.int16, 60)))
    case("gather_short", lambda t, i, b: (t[i], t[:, None][i], (t > 0)[i], b[i]),
         lambda d: (table(d, 1500), rows(d, 1500, 700), d.f32(1500, 3).astype(jnp.bfloat16)))
    case("gather_together", lambda i, j: (lax.iota(np.int32, 70001)[i], lax.broadcasted_iota(np.float32, (200, 1000), 1)[j, i[:131]],
                                          (lax.broadcasted_iota(np.int32, (70001, 2), 0) % 256).astype(np.uint8)[i]),
         lambda d: (d.ints(np.int32, 1031, low=-70005, high=70005), rows(d, 200, 131)))
    case("gather_along_long", lambda t, i: jnp.take_along_axis(t, i, 1),
         lambda d: (table(d, 3, 900), d.ints(np.int32, 3, 70, low=0, high=899)))
    case("slice_short", lambda x: (x[..., :2] * x[..., 2:4], x[:, 1::2, 3:5] + 1, x[..., 4:]),
         lambda d: d.f32(30, 40, 6))
    case("update_one", lambda x, u, i: (lax.dynamic_update_slice(x, u, (0, i, 2)), lax.dynamic_update_slice(x, u[:, :, :1], (i, i, i)),
                                        lax.dynamic_update_slice(x, u[:1], (i, 0, 1))),
         lambda d: (d.ints(np.int16, 4, 9, 6), d.ints(np.int16, 4, 1, 4), np.int32(5)))
    case("random", lambda k, p: (jax.random.bits(jax.random.wrap_key_data(k), (3, 50)), jax.random.permutation(jax.random.wrap_key_data(k), p),
                                 jax.random.randint(jax.random.wrap_key_data(k), (40,), -5, 1000)),
         lambda d: (d.ints(np.uint32, 2), d.ints(np.int32, 9)))
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    case("sharding", lambda x: lax.with_sharding_constraint(x * 2, spread) + 1, lambda d: d.f32(5, 7))
    case("scatter_apply", lambda x, i: x.at[i].apply(jnp.tanh), lambda d: (d.f32(30), d.rng.permutation(30)[:7].astype(np.int32)), ulps=6)
    case("bincount", lambda i: jnp.bincount(i, length=10), lambda d: d.ints(np.int32, 200, low=0, high=11))
    case("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 6), lambda d: (d.ints(np.int32, 40, 3), d.ints(np.int32, 40, low=0, high=5)))
    case("one_hot", lambda i: jax.nn.one_hot(i, 12), lambda d: rows(d, 12, 9))


def gradients():
    """Of poolings: which element was the largest; of convolutions: groups of the batch"""
    odd = lambda d, *shape: np.round(d.f32(*shape) * 2)  # with equal neighbours
    pool = lambda x, *how: lax.reduce_window(x, -jnp.inf, lax.max, *how)
    back = lambda *how: lambda x, g: jax.vjp(lambda v: pool(v, *how), x)[1](g)[0]
    case("pool_gradient", back((1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lambda d: (odd(d, 2, 6, 8, 5), d.f32(2, 3, 4, 5)))
    case("pool_gradient_same", back((1, 3, 3), (1, 2, 2), "SAME"), lambda d: (odd(d, 3, 9, 12), odd(d, 3, 5, 6)))
    case("pool_gradient_wide", back((3, 5), (1, 2), ((1, 2), (0, 3))), lambda d: (odd(d, 8, 17), odd(d, 9, 8)))
    case("select_and_scatter", lambda x, g: windowed._select_and_scatter(
        x, lax.ge, (2, 3), (1, 2), ((0, 1), (2, 0)), g, jnp.int32(-4), lax.max),
         lambda d: (d.ints(np.int32, 7, 9, low=-9, high=9), d.ints(np.int32, 7, 5, low=-99, high=99)))
    conv = lambda x, k, n, **how: lax.conv_general_dilated(
        x.astype(jnp.float32), k.astype(jnp.float32), (1, 2), "SAME", batch_group_count=n, **how)
    case("conv_batch_groups", lambda x, k: (
        conv(x, k, 3, dimension_numbers=("NHWC", "HWIO", "NHWC")),
        conv(x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1), 2, dimension_numbers=("NCHW", "OIHW", "NCHW")),
        conv(x.transpose(1, 2, 3, 0), k.transpose(2, 3, 0, 1), 6, dimension_numbers=("HWCN", "IOHW", "CNHW"))),
         lambda d: (d.ints(np.int8, 6, 5, 8, 4), d.ints(np.int8, 3, 3, 4, 12)))


def tables():
    """Whole rows of tables large enough to be taken by DMA"""
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -np.nan, 3e38], np.float32)

    def table(d, *shape):
        x = d.f32(*shape)
        x.reshape(-1)[d.rng.permutation(x.size)[:800]] = np.tile(special, 100)
        return x

    rows = lambda d, n, *shape: d.ints(np.int32, *shape, low=-n - 3, high=n + 3)
    pick = lambda t, i: lax.gather(t, i[:, None], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, t.shape[1]), mode="clip")
    case("rows_special", lambda t, i: (t[i], jnp.take(t, i, axis=0, mode="clip")), lambda d: (table(d, 300, 32), rows(d, 300, 3, 7)))
    case("rows_types", lambda a, b, c, e, i: (a[i], b[i], c[i], e[i]),
         lambda d: (d.edges(np.int32, 128, 64), d.edges(np.uint8, 100, 101), d.edges(np.uint16, 128, 64),
                    d.f32(128, 64).astype(jnp.bfloat16), rows(d, 128, 9)))
    case("rows_indices", lambda t, i, j, k: (pick(t, i), pick(t, j), pick(t, k)),
         lambda d: (d.edges(np.int8, 200, 80), d.edges(np.int8, 9), d.edges(np.int16, 140), d.edges(np.uint8, 1)))
    case("rows_batched", lambda t, i: jax.vmap(lambda x, k: x[k])(t, i), lambda d: (table(d, 2, 256, 32), rows(d, 256, 2, 5)))
    case("rows_windows", lambda t, i: jax.vmap(lambda k: lax.dynamic_slice(t, (k[0], k[1], 0), (3, 2, 40)))(i),
         lambda d: (table(d, 20, 11, 40), rows(d, 20, 5, 2)))
    case("rows_along", lambda t, i: jnp.take(t, i, axis=1, mode="clip"), lambda d: (table(d, 4, 90, 30), rows(d, 90, 2, 3)))
    case("rows_computed", lambda t, i, j: (t[i], (t + 1)[(i + j) % 128], t.T[j[:7] % 64]),
         lambda d: (d.f32(128, 64), rows(d, 128, 150), rows(d, 128, 150)))
    case("rows_chained", lambda t, u, i: (u[t[i, 0]], u[t[i, 1]]),
         lambda d: (d.ints(np.int32, 256, 32, low=0, high=255), table(d, 256, 32), rows(d, 256, 20)))
    case("rows_constant", lambda i: jnp.asarray(table(Draw("rows_constant_table"), 130, 70))[i], lambda d: rows(d, 130, 2, 9))
    case("rows_scattered", lambda x, i, u: x.at[i].set(u), lambda d: (d.ints(np.int8, 190, 70), rows(d, 190, 140), d.ints(np.int8, 140, 70)))
    case("rows_dynamic", lambda t, i: (lax.dynamic_slice(t, (i, 3), (7, 41)), lax.dynamic_slice(t, (5, i), (190, 2))),
         lambda d: (table(d, 200, 44), np.int32(196)))
    case("rows_long", lambda b, i: (lax.iota(np.float32, 70000)[:, None] + b)[i], lambda d: (d.rng.integers(0, 99, 16).astype(np.float32), np.array(
        [0, 65535, 65536, 69999, -1, 7, 65537, -70000, 65534, 70000, 12345], np.int32)))
    case("rows_wide", lambda a, i: (a[:, None] + lax.iota(np.float32, 20000))[i][:, ::1999], lambda d: (d.f32(5), rows(d, 5, 3)))


def flow():
    case("random_bits", lambda key: jax.random.bits(jax.random.wrap_key_data(key, impl="threefry2x32"), (40,), jnp.uint32),
         lambda d: np.array([17, 4000000000], np.uint32))
    case("random_uniform", lambda key: jax.random.uniform(jax.random.wrap_key_data(key, impl="threefry2x32"), (6, 40)),
         lambda d: np.array([1, 2], np.uint32))
    case("fori_loop", lambda x: lax.fori_loop(0, 5, lambda i, c: c * 2 + i, x), lambda d: d.ints(np.int32, 4, 5, low=-99, high=99))
    case("scan", lambda c, xs: lax.scan(lambda c, v: (c + v, c * 2 - v), c, xs), lambda d: (d.f32(8), d.f32(12, 8)))
    case("scan_reverse", lambda xs: lax.scan(lambda c, v: (jnp.maximum(c, v), c), jnp.zeros(3), xs, reverse=True)[1],
         lambda d: d.f32(9, 3))
    case("loops_nested", lambda x: lax.fori_loop(2, 6, lambda i, c: lax.fori_loop(0, 3, lambda k, e: e + i * k, c) + 1, x),
         lambda d: d.ints(np.int32, 7, low=-99, high=99))
    case("while_known", lambda x: lax.while_loop(lambda s: s[0] * s[0] < 50, lambda s: (s[0] + 2, s[1] - s[0]), (jnp.int32(1), x))[1],
         lambda d: d.ints(np.int32, 6, 3, low=-99, high=99))
    case("convert_spread", lambda x, y: lax.fori_loop(0, 4, lambda i, c: (
             c[0] + lax.broadcast(i, (9,)).astype(jnp.float32), c[1] * 2 + lax.broadcast(i * jnp.float32(0.7), (9,)).astype(jnp.int32)), (x, y)),
         lambda d: (d.ints(np.int32, 9, low=-99, high=99).astype(np.float32), d.ints(np.int32, 9, low=-99, high=99)))
    case("while_bounded", lambda x: lax.while_loop(lambda s: (s[0] < 12) & (s[1].sum() < 40), lambda s: (s[0] + 1, s[1] * 2 + 1), (jnp.int32(0), x)),
         lambda d: d.ints(np.int32, 3, low=-2, high=2))
    case("while_to_bound", lambda x: lax.while_loop(lambda s: (s[1].max() < 99) & ~(s[0] > 4), lambda s: (s[0] + 1, s[1] + s[0]), (jnp.int32(0), x))[1],
         lambda d: d.ints(np.int32, 2, 3, low=-9, high=9))
    case("fori_bounded", lambda n, x: lax.fori_loop(0, jnp.clip(n, 0, 9), lambda i, c: c * 3 + i, x),
         lambda d: (np.int32(5), d.ints(np.int32, 4, low=-9, high=9)))
    case("fori_none", lambda n, x: lax.fori_loop(0, jnp.minimum(n, 9), lambda i, c: c * 3 + i, x),
         lambda d: (np.int32(-5), d.ints(np.int32, 4, low=-9, high=9)))
    case("while_nested", lambda n, x: lax.fori_loop(0, 3, lambda i, c: lax.while_loop(
             lambda s: (s[0] < 5) & (s[1] < n), lambda s: (s[0] + 1, s[1] * 2 + i), (jnp.int32(0), c))[1], x),
         lambda d: (np.int32(60), np.int32(3)))
    # turns that nothing but the data bounds
    case("while_data", lambda x: lax.while_loop(lambda s: s.sum() < 50, lambda s: s * 2, x), lambda d: np.abs(d.f32(3)))
    case("while_counted", lambda x: lax.while_loop(lambda s: s[1].sum() < 50, lambda s: (s[0] + 1, s[1] * 2), (jnp.int32(0), x)),
         lambda d: np.abs(d.f32(3)))
    case("while_collatz", lambda n: lax.while_loop(lambda s: s[0] != 1, lambda s: (
             jnp.where(s[0] % 2 == 1, 3 * s[0] + 1, s[0] // 2), s[1] + 1, jnp.maximum(s[2], s[0])), (n, jnp.int32(0), n)), lambda d: np.int32(27))
    case("while_gcd", lambda a, b: lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b)),
         lambda d: (np.uint32(2**31 + 2**20), np.uint32(3 * 2**22 + 2**12)))
    case("while_no_turn", lambda a, b: lax.while_loop(lambda s: s[1].sum() > 1e6, lambda s: (s[1], s[0] * b), (a, b)),
         lambda d: (d.f32(5, 7), d.f32(5, 7)))
    case("fori_long", lambda x: lax.fori_loop(0, 9000, lambda i, c: c * 3 + i, x), lambda d: d.ints(np.int32, 4, 5, low=-99, high=99))
    case("fori_table", lambda n, x: lax.fori_loop(1, n, lambda i, t: t.at[i].set(t[i] * t[i - 1] + t[(i * 7) % 40]), x),
         lambda d: (np.int32(37), d.ints(np.int32, 40, 8, low=-99, high=99)))
    case("while_inside", lambda n, x: lax.fori_loop(0, n, lambda i, c: (c[0] + 1, lax.while_loop(
             lambda s: s[0] < 40 + i, lambda s: (s[0] + c[0], s[1] ^ (s[0] << 3)), (i, c[1]))[1] * 3), (jnp.int32(3), x)),
         lambda d: (np.int32(6), d.ints(np.int32, 9, low=-99, high=99)))
    case("while_after", lambda a, b: (lambda k, n: (k, n, lax.while_loop(lambda s: s[0] > n, lambda s: (s[0] - k, s[1] + b * 2), (b[0] + 900, b))))(
             lax.while_loop(lambda s: s < 300, lambda s: s * 3, a), lax.while_loop(lambda s: s < 70, lambda s: s + b[1], a) + 1),
         lambda d: (np.int32(5), d.ints(np.int32, 4, low=3, high=99)))
    case("while_deep", lambda n, x: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, lax.fori_loop(0, s[0] % 3 + 1, lambda i, a: lax.cond(
             a[0] % 2 == 0, lambda a: lax.while_loop(lambda b: b[0] % 5 != 3, lambda b: b * 3 + i + 1, a), lambda a: a + s[0], a), s[1])),
         (jnp.int32(0), x)), lambda d: (np.int32(4), d.ints(np.int32, 5, low=-99, high=99)))
    case("while_fixed_point", lambda w, x: lax.while_loop(lambda s: jnp.abs(s[0] - s[1]).max() > 1e-3, lambda s: (
             s[1], jnp.tanh(s[1] @ (w * 0.5) + 0.25)), (x, x + 1))[1], lambda d: (d.f32(24, 24) / 24, d.f32(3, 24)), ulps=2**12)
    case("while_in_branch", lambda x: tuple(lax.cond(v > 0, lambda v: lax.while_loop(
             lambda s: s < 1000, lambda s: s * 2, v), lambda v: v - 1, v) for v in (x[0], x[1])), lambda d: np.array([-3, 7], np.int32))
    def slices_of_products(a, b, *u):
        x = a[:, None] * b
        return (jax.nn.relu(sum((x @ w)[..., 48:] for w in u[:3])) @ u[3])[::37]
    whole = lambda d, *shape: d.ints(np.int32, *shape, low=-1, high=1).astype(np.float32)
    case("slices_of_products", slices_of_products, lambda d: (
            whole(d, 1536), whole(d, 64), *(whole(d, 64, 96) for _ in range(3)), whole(d, 48, 9)))
    # turns that are counted, and too many to be unrolled
    # tables of which rows are replaced, where they lie if nothing reads them as they were
    case("update_rows", lambda x, u, i, j: (
            lax.dynamic_update_slice(x, u, (i, j, 0)), lax.dynamic_update_slice(x, u[:, :1, :9], (2, j, i)),
            lax.dynamic_update_slice(x.astype(jnp.bfloat16), u[:1].astype(jnp.bfloat16), (j, 2, 0)),
            lax.dynamic_update_slice(x > 0, u > 0, (i, 1, 0)), lax.dynamic_update_slice(x, x[:, 1:3], (0, i, 0)),
            *(lambda y: (y, lax.dynamic_update_slice(y, u, (j, 0, 0)) * 2, y[3] + 1))(lax.dynamic_update_slice(x * 2, u, (i, 0, 0)))),
         lambda d: (d.f32(40, 4, 64), d.f32(2, 3, 64), np.int32(37), np.int32(1)))
    def turn(i, s):
        a, b, c, fixed = s
        row = a[i % 90] + b[i % 7]
        return (lax.dynamic_update_slice(b, row[None], (i % 100, 0)), a,
                c + lax.dynamic_update_slice(fixed, row[None] * 3, (i % 50, 0))[i % 53] + fixed[i % 11], fixed)
    case("update_loop", lambda n, x, y: lax.fori_loop(0, n, turn, (x, y, x[0] * 0, x * y)), lambda d: (
            np.int32(150), d.ints(np.int32, 100, 96, low=-99, high=99), d.ints(np.int32, 100, 96, low=-99, high=99)))
    case("loop_turns", lambda a, x: (
            lax.fori_loop(0, 20011, lambda i, c: (c[1] + i, c[0] * 3), (x, x + 1)),
            lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] - 3, s[1] * 5 + s[0]), (jnp.int32(60000), x)),
            lax.while_loop(lambda s: s[0] != 40006, lambda s: (s[0] + 2, s[1] * 5 - s[0]), (jnp.int32(-2), x)),
            lax.while_loop(lambda s: 80000 >= s[0], lambda s: (4 + s[0], s[1] * 7 ^ s[0]), (jnp.int32(-7), x)),
            *(lax.cond(v > 0, lambda y: lax.fori_loop(0, 20000, lambda i, c: c * 3 - i, y), lambda y: y - 1, x) for v in (a[0], a[1]))),
         lambda d: (np.array([5, -5], np.int32), d.ints(np.int32, 3, 5, low=-99, high=99)))
    case("scan_turns", lambda x: (lambda c, ys: (c, ys[::97]))(*lax.scan(lambda c, v: (c * 3 + v, c.sum() ^ v), x, jnp.arange(9001, dtype=jnp.int32) * 7)),
         lambda d: d.ints(np.int32, 4, low=-99, high=99))
    case("cond", lambda x, y: (lax.cond(x.sum() > 0, lambda a, b: (a + 1, b), lambda a, b: (a * 2, a - b), x, y),
                               lax.cond(y.sum() > 1000, lambda a: a, lambda a: -a, x)), lambda d: (d.f32(5, 6), d.f32(5, 6)))
    case("switch", lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v[::-1]], x),
         lambda d: (np.int32(2), d.f32(9)))
    case("switch_clamped", lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v[::-1]], x),
         lambda d: (np.int32(-7), d.f32(9)))
    # branches that cost much, one of which is taken
    def waves(x, n):
        for i in range(n):
            x = jnp.maximum(jnp.abs(x - jnp.float32(i * 0.37)), x)
        return x
    case("cond_work", lambda x, p: (lax.cond(p > 0, lambda a: waves(a, 15), lambda a: a - 1, x),
                                    lax.cond(p < 0, lambda a: waves(a, 15), lambda a: a + 1, x)),
         lambda d: (d.f32(96, 128), np.int32(3)))
    case("switch_work", lambda i, x, y: lax.switch(i, [
            lambda a, b: (waves(a, 15), b.sum()), lambda a, b: (a * 2 + b, a[3, 5]), lambda a, b: (waves(a + b, 15), jnp.float32(7)),
            lambda a, b: (waves(b, 15), lax.while_loop(lambda s: s < 100, lambda s: s * 2 + 1, jnp.abs(b[0, 0])))], x, y),
         lambda d: (np.int32(99), d.f32(96, 128), d.f32(96, 128)))
    case("cond_in_loop", lambda n, x: lax.while_loop(lambda s: s[0] < n, lambda s: (
            s[0] + 1, lax.cond(s[0] % 3 == 1, lambda a: waves(a, 15), lambda a: a + 1, s[1])), (jnp.int32(0), x)),
         lambda d: (np.int32(7), d.f32(96, 128)))


def wide():
    case("narrowed", lambda a, b, c: (a * b + 3, a // (b | 1), c * 2 + 1, a.astype(c.dtype) * 0.5),
         lambda d: (d.ints(np.int32, 6, 30, low=-999, high=999), d.ints(np.int32, 6, 30, low=-999, high=999),
                    d.f32(6, 30)), wide=True)


def zeros():
    odd = (jnp.floor, jnp.ceil, jnp.round, jnp.trunc, jnp.sin, jnp.tan, jnp.tanh, jnp.sign, jnp.expm1, jnp.log1p,
           jnp.cbrt, lax.erf, jnp.arctan, jnp.arcsinh, jnp.sinh, jnp.sqrt, jnp.negative, jnp.abs)
    case("signed_zeros", lambda a: (*(f(a) for f in odd), lax.rem(a, np.float32(2)), lax.atan2(a, np.float32(1))),
         lambda d: np.array([-0.0, 0.0], np.float32))
    edges = [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.3, 0.3, 1e10, -1e10, 8388607.5, -4194304.5, -0.0, 0.0]
    case("rounded_bits", lambda a: (jnp.floor(a), jnp.ceil(a), jnp.round(a),
                                    lax.round(a, lax.RoundingMethod.AWAY_FROM_ZERO)),
         lambda d: np.concatenate([np.array(edges, np.float32), d.f32(200) * 5]))


def truth():
    case("truth_arithmetic", lambda a, b: (a | b, a & b, lax.reduce(a, False, lax.bitwise_or, (1,)), lax.reduce(b, True, lax.bitwise_and, (0,))),
         lambda d: (d.ints(np.int8, 5, 8, low=0, high=1) == 1, d.ints(np.int8, 5, 8, low=0, high=1) == 1),
         edit=(("stablehlo.or", "stablehlo.add"), ("stablehlo.and", "stablehlo.multiply")))
    case("truth_products", lambda a, b: (jnp.matmul(a, b), jnp.dot(a[0, 0], b[0, :, 0])), lambda d: (d.f32(3, 7, 200) > 2, d.f32(3, 200, 9) > 2))


def real_parts(t):
    text = f"func.func public @main(%x: tensor<3x7x{t}>) -> (tensor<3x7x{t}>, tensor<3x7x{t}>) {{ " \
           f"%r = stablehlo.real %x : tensor<3x7x{t}> %i = stablehlo.imag %x : tensor<3x7x{t}> " \
           f"return %r, %i : tensor<3x7x{t}>, tensor<3x7x{t}> }}"
    cases[f"real_{t}"] = (lambda x: (x.copy(), np.zeros_like(x)), lambda d: np.asarray(
        jnp.asarray(d.f32(3, 7)).astype({"f32": "float32", "bf16": "bfloat16"}[t])), 0.0, False, text)


def linear():
    """References are numpy's, in fp64"""
    def matrices(d, n, *batch):
        return (d.f32(*batch, n, n) + n * np.eye(n)).astype(np.float32)

    def positive(d, n, *batch):
        x = d.f32(*batch, n, n)
        x = x @ np.swapaxes(x, -1, -2) + n * np.eye(n)
        return (x + np.triu(np.ones((n, n)), 1)).astype(np.float32)  # each triangle differs

    ways = [(left, lower, trans, unit) for left in (1, 0) for lower in (1, 0) for trans in (0, 1) for unit in (0, 1)][::2] + [
        (1, 1, 0, 1), (0, 0, 1, 1)]

    def solve(a, b, c):
        outs = []
        for left, lower, trans, unit in ways:
            m = np.tril(a.astype(np.float64)) if lower else np.triu(a.astype(np.float64))
            if unit:
                m = m * (1 - np.eye(m.shape[-1])) + np.eye(m.shape[-1])
            m = np.swapaxes(m, -1, -2) if trans else m
            x = np.linalg.solve(m, b) if left else np.swapaxes(np.linalg.solve(np.swapaxes(m, -1, -2), np.swapaxes(c, -1, -2)), -1, -2)
            outs.append(x.astype(np.float32))
        return outs

    word = lambda k: ("false", "true")[k]
    kind = lambda left: "tensor<2x3x9x4xf32>" if left else "tensor<2x3x4x9xf32>"
    lines = "\n".join(
        f'%r{i} = "stablehlo.triangular_solve"(%a, {"%b" if left else "%c"}) <{{left_side = {word(left)}, lower = {word(lower)}, '
        f'transpose_a = #stablehlo<transpose {"TRANSPOSE" if trans else "NO_TRANSPOSE"}>, unit_diagonal = {word(unit)}}}> '
        f': (tensor<2x3x9x9xf32>, {kind(left)}) -> {kind(left)}' for i, (left, lower, trans, unit) in enumerate(ways))
    text = f"func.func public @main(%a: tensor<2x3x9x9xf32>, %b: tensor<2x3x9x4xf32>, %c: tensor<2x3x4x9xf32>) -> " \
           f"({', '.join(kind(w[0]) for w in ways)}) {{ {lines} return {', '.join(f'%r{i}' for i in range(len(ways)))} : " \
           f"{', '.join(kind(w[0]) for w in ways)} }}"
    scaled = lambda d: (matrices(d, 9, 2, 3) / 9).astype(np.float32)
    cases["triangular_solve"] = (solve, lambda d: (scaled(d), d.f32(2, 3, 9, 4), d.f32(2, 3, 4, 9)), 32, False, text)
    text = "func.func public @main(%a: tensor<2x20x20xf32>) -> (tensor<2x20x20xf32>, tensor<2x20x20xf32>) { " \
           "%l = stablehlo.cholesky %a, lower = true : tensor<2x20x20xf32> %u = stablehlo.cholesky %a, lower = false : tensor<2x20x20xf32> " \
           "return %l, %u : tensor<2x20x20xf32>, tensor<2x20x20xf32> }"
    both = lambda a, read: np.tril(read(a), -1) + np.swapaxes(np.tril(read(a), -1), -1, -2) + a * np.eye(a.shape[-1])
    cases["cholesky"] = (lambda a: (
        np.linalg.cholesky(both(a.astype(np.float64), lambda x: x)).astype(np.float32),
        np.swapaxes(np.linalg.cholesky(both(a.astype(np.float64), lambda x: np.swapaxes(x, -1, -2))), -1, -2).astype(np.float32)),
        lambda d: positive(d, 20, 2), 32, False, text)
    # what JAX exports for a CPU: calls of LAPACK
    case("lapack", lambda a, p, b: (
        jnp.linalg.solve(a, b), lax.linalg.lu(a[:, :7])[0], lax.linalg.lu(a[:, :, :6])[0],
        jnp.linalg.cholesky(p, symmetrize_input=False),
        lax.linalg.triangular_solve(p, b, left_side=True, lower=False, transpose_a=True),
        lax.linalg.triangular_solve(a * 0.1, jnp.swapaxes(b, 1, 2), lower=True, unit_diagonal=True)),
         lambda d: (d.f32(3, 10, 10), positive(d, 10, 3), d.f32(3, 10, 4)), ulps=64)
    case("lapack_det", lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)[1]), lambda d: d.f32(9, 4, 4), ulps=32)
    case("lu_pivots", lambda a: lax.linalg.lu(a)[1:], lambda d: (lambda x: (x.__setitem__((1, slice(None), 2), 0), x)[1])(
        d.ints(np.int8, 2, 6, 6, low=-2, high=2).astype(np.float32)))
    case("cholesky_none", lambda a: (lambda l: (jnp.isnan(l), jnp.nan_to_num(l)))(jnp.linalg.cholesky(a)), lambda d: positive(d, 5, 3) - np.array([0, 12, 1], np.float32).reshape(3, 1, 1) * np.eye(
        5, dtype=np.float32), ulps=32)


def decompositions():
    """Factors are compared where LAPACK defines their signs, else what is the same for any."""
    low = lambda d, m, n, k: d.f32(m, k) @ d.f32(k, n)
    half = lambda a: (a + jnp.swapaxes(a, -1, -2)) / 2
    cos = lambda a: jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape)
    exact = lambda a, b: jnp.sum(a[..., :, :, None] * b[..., None, :, :], -2)
    gram = lambda a: exact(jnp.swapaxes(a, -1, -2), a)

    def parts(a, full):
        u, s, v = jnp.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        return s, exact(u[..., :k] * s[..., None, :], v[..., :k, :]), gram(u), gram(v)

    def eigen(a):
        w, v = jnp.linalg.eigh(a)
        return w, exact(v * w[..., None, :], jnp.swapaxes(v, -1, -2)), gram(v)

    def with_nan(x):
        x[1, 2, 0] = np.nan
        return x

    case("qr", lambda a, b, c: (jnp.linalg.qr(a), jnp.linalg.qr(b, mode="complete"), jnp.linalg.qr(c)),
         lambda d: (d.f32(2, 7, 4), d.f32(6, 3), d.f32(3, 5)), ulps=16)
    case("qr_loop", lambda a, b, c: (jnp.linalg.qr(a), jnp.linalg.qr(b)[1], jnp.linalg.qr(a * c, mode="r") / c), lambda d: (
        d.f32(40, 30), d.f32(3, 20, 24), np.float32(10) ** np.linspace(-15, 15, 30, dtype=np.float32)), ulps=32)
    case("qr_edges", lambda *a: [jnp.linalg.qr(x, mode="raw") for x in a], lambda d: (
        d.f32(1, 1), d.f32(4, 1), d.f32(1, 4), np.zeros((3, 3), np.float32), np.diag(np.float32([2, -3, 0, 1])),
        d.f32(3, 3) * np.float32(1e-30)), ulps=16)
    case("ormqr", lambda a, t, b, c: [
        lax.linalg.ormqr(a, t, x, left=left, transpose=turn) for x, left in ((b, True), (c, False)) for turn in (False, True)],
         lambda d: (d.f32(2, 6, 4), d.f32(2, 4), d.f32(2, 6, 3), d.f32(2, 2, 6)), ulps=64)
    case("svd", lambda a, b: (parts(a, True), parts(b, False)), lambda d: (d.f32(2, 7, 5), d.f32(4, 6)), ulps=32)
    case("svd_square", lambda a, b: (parts(a, False), parts(b, False)), lambda d: (d.f32(3, 20, 20), d.f32(2, 7, 5)), ulps=64)
    case("svd_thin", lambda *a: [parts(x, True) for x in a], lambda d: (
        d.f32(2, 1, 1), d.f32(1, 5), d.f32(5, 1), np.zeros((2, 2), np.float32)), ulps=16)
    case("svd_edges", lambda a, b: (parts(a, False), parts(b, True)), lambda d: (
        np.stack([np.zeros((5, 5)), np.eye(5), np.diag([1, -5, 0, 3, 3]), np.ones((5, 5)), low(d, 5, 5, 2), d.f32(5, 5) ** 9]).astype(
            np.float32), np.stack([np.zeros((7, 4)), np.ones((7, 4)), np.eye(7, 4), low(d, 7, 4, 2)]).astype(np.float32)), ulps=64)
    case("svd_values", lambda *a: [jnp.linalg.svd(x, compute_uv=False) / k for k, x in zip((1, 1, 1e30, 1e-30), a)], lambda d: (
        d.f32(3, 9, 6), d.f32(20, 33), d.f32(5, 5) * np.float32(1e30), d.f32(5, 6) * np.float32(1e-30)), ulps=64)
    case("eigh", lambda *a: [eigen(half(x)) for x in a], lambda d: (
        d.f32(3, 6, 6), d.f32(21, 21), d.f32(2, 2), d.f32(1, 1)), ulps=32)
    case("eigh_edges", lambda *a: [eigen(x) for x in a], lambda d: (
        np.zeros((3, 3), np.float32), np.diag(np.float32([3, -1, 2, 2, 0])), np.ones((6, 6), np.float32),
        np.kron(np.eye(4), np.float32([[0, 2], [2, 0]])).astype(np.float32),
        (lambda x: (x @ x.T).astype(np.float32))(low(d, 9, 9, 3))), ulps=32)
    case("eigh_triangle", lambda a: (jnp.linalg.eigh(a, UPLO="U", symmetrize_input=False)[0], jnp.linalg.eigh(
        a, symmetrize_input=False)[0]), lambda d: d.f32(2, 7, 7), ulps=32)
    case("decomposed_nan", lambda a, b, c: [jnp.isnan(x) for x in (
        *jnp.linalg.svd(a), *jnp.linalg.eigh(a), jnp.linalg.svd(b, compute_uv=False), *jnp.linalg.svd(c))],
         lambda d: (with_nan(d.f32(3, 4, 4)), np.where(d.f32(3, 5) > 1.2, np.inf, 1).astype(np.float32), np.full((1, 1), np.nan, np.float32)))
    case("decomposed", lambda a, s: (
        jnp.linalg.matrix_rank(s), jnp.linalg.norm(a, ord=2), jnp.linalg.cond(a)), lambda d: (d.f32(7, 4), low(d, 6, 6, 3)), ulps=64)
    # with products of bf16, as --auto-cast matmult makes them
    case("decomposed_solve", lambda a, b: (jnp.linalg.pinv(a), jnp.linalg.lstsq(a, b)[0]),
         lambda d: (d.f32(3, 5), d.f32(3)), ulps=1 << 17)
    case("decomposed_gradients", lambda a, s: (
        jax.grad(lambda x: sum((y * y * cos(y)).sum() for y in jnp.linalg.qr(x)))(a),
        jax.grad(lambda x: sum((y * y * cos(y)).sum() for y in jnp.linalg.svd(x, full_matrices=False)))(a),
        jax.grad(lambda x: sum((y * y * cos(y)).sum() for y in jnp.linalg.eigh(x)))(s)),
         lambda d: (d.f32(6, 4), half(d.f32(5, 5))), ulps=1 << 17)


def written():
    """What JAX never writes: the module in StableHLO, and a function of the same meaning in numpy"""
    index = lambda d, n, most: d.ints(np.int32, n, 1, low=-2, high=most + 1)
    each = lines.scattered(lambda a, b: (a[0] + b[0], b[1], np.maximum(a[2], b[2])))
    text = lines.scatter_text(("i32", "f32", "i16"), 20, 40, 5, """%s = stablehlo.add %b0, %a0 : tensor<i32>
        %m = stablehlo.maximum %a2, %b2 : tensor<i16>
        stablehlo.return %s, %b1, %m : tensor<i32>, tensor<f32>, tensor<i16>""")
    cases["scatter_each"] = (each, lambda d: (
        d.ints(np.int32, 20, 5), d.f32(20, 5), d.ints(np.int16, 20, 5), index(d, 40, 20),
        d.ints(np.int32, 40, 5), d.f32(40, 5), d.ints(np.int16, 40, 5)), 0.0, False, text)
    best = lines.scattered(lambda a, b: (np.where(b[0] > a[0], b[0], a[0]), np.where(b[0] > a[0], b[1], a[1] - 1)))
    text = lines.scatter_text(("f32", "i32"), 9, 30, 6, """%g = stablehlo.compare GT, %b0, %a0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %o = stablehlo.constant dense<1> : tensor<i32>
        %l = stablehlo.subtract %a1, %o : tensor<i32>
        %v = stablehlo.select %g, %b0, %a0 : tensor<i1>, tensor<f32>
        %w = stablehlo.select %g, %b1, %l : tensor<i1>, tensor<i32>
        stablehlo.return %v, %w : tensor<f32>, tensor<i32>""")
    cases["scatter_best"] = (best, lambda d: (
        d.f32(9, 6), d.ints(np.int32, 9, 6, low=-99, high=99), index(d, 30, 9), d.f32(30, 6),
        d.ints(np.int32, 30, 6, low=-99, high=99)), 0.0, False, text)
    real_parts("f32")
    real_parts("bf16")


def fourier():
    """Complex values and Fourier transforms"""
    pair = lambda d, *s: (d.f32(*s) + 1j * d.f32(*s)).astype(np.complex64)

    case("complex_plain", lambda a, b: (a + b * 2j, a * b, a / b, -a.conj(), abs(a), a == b, jnp.where(a.real > 0, a, b)),
         lambda d: (pair(d, 4, 9), pair(d, 4, 9)), ulps=8)
    case("complex_functions", lambda a, b: (jnp.exp(a), jnp.log(a), jnp.sqrt(a), jnp.tan(a), jnp.tanh(a), jnp.sign(a),
         jnp.expm1(a), lax.rsqrt(a), a ** b), lambda d: (pair(d, 4, 9), pair(d, 4, 9)), ulps=16)
    case("complex_moves", lambda a, i: (lax.pad(a, np.complex64(1 + 2j), [(1, -1, 2), (-1, 2, 0)]), a[::-1, :3], a[i],
         a.at[i].add(1j), lax.dynamic_update_slice(a, a[:1], (i[0], 0)), jnp.concatenate([a, a + 1], 1).T),
         lambda d: (pair(d, 4, 9), d.ints(np.int32, 3, low=0, high=3)), ulps=4)
    case("complex_reduced", lambda a: (a.sum(1), a.prod(0), jnp.cumsum(a, 1), jnp.cumprod(a, 0)),
         lambda d: pair(d, 4, 9), ulps=16)
    case("complex_loop", lambda a, n: lax.fori_loop(0, n, lambda i, c: (c[0] * c[1] * 0.5 + 1, c[1]), (a, a * 0.5)),
         lambda d: (pair(d, 4, 9), np.int32(7)), ulps=8)
    case("fft_lengths", lambda a: tuple(jnp.fft.fft(a[:, :n]) for n in (1, 2, 3, 12, 35, 37, 64)),
         lambda d: pair(d, 3, 64), ulps=8)
    case("fft_inverse", lambda a: tuple(jnp.fft.ifft(a[:n]) for n in (5, 48, 41)), lambda d: pair(d, 48), ulps=8)
    case("fft_real", lambda a: (jnp.fft.rfft(a), jnp.fft.rfft(a[:, :29]), jnp.fft.irfft(jnp.fft.rfft(a) * 1j),
         jnp.fft.irfft(jnp.fft.rfft(a), n=31)), lambda d: d.f32(2, 60), ulps=8)
    case("fft_dimensions", lambda a, x: (jnp.fft.fftn(a, axes=(0, 1, 2)), jnp.fft.ifft2(a), jnp.fft.rfftn(x), jnp.fft.irfftn(a)),
         lambda d: (pair(d, 3, 4, 5), d.f32(3, 4, 6)), ulps=8)
    case("fft_gradient", jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 3) + jnp.sum(jnp.fft.irfft(x + 1j * x) ** 2)),
         lambda d: d.f32(4, 16), ulps=16)


def chosen():
    """What an index chooses of few elements"""
    out = lambda d, n, *s: d.ints(np.int32, *s, low=-9, high=n + 9)

    def holed(d, *shape, of=(np.inf, -np.inf)):
        x = d.f32(*shape)
        x.reshape(-1)[d.rng.permutation(x.size)[:3 * len(of)]] = np.array(list(of) * 3, np.float32)
        return x

    case("scatter_extremes_blocks", lambda x, i, u, j: (x.at[i].max(u), x.at[i].min(u), x[:, 0].astype(jnp.bfloat16).at[i].max(u[:, 0].astype(jnp.bfloat16)),
         jax.vmap(lambda a, k, w: a.at[k].max(w))(x[:260].reshape(2, 130, 2), j, u[:400].reshape(2, 200, 2))),
         lambda d: (holed(d, 300, 2), out(d, 300, 4500), holed(d, 4500, 2), out(d, 130, 2, 200)))
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -np.nan, 3e38)
    order = tuple(x for x in special if x != 1e-42) # which XLA's comparison takes as 0
    case("sort_short", lambda x, y, z: (lax.sort((x, y, lax.broadcasted_iota(np.int32, x.shape, 1)), num_keys=1), jnp.argsort(y, 1, descending=True),
         -jnp.sort(-z, 1), jnp.sort(z[:16, :1], 1), jnp.sort(x[:128], 0), lax.top_k(z, 5)),
         lambda d: (holed(d, 140, 37, of=order), np.round(d.f32(140, 37)), holed(d, 16, 128)))
    ends = lambda d, *s: np.where(d.f32(*s) > 0, d.edges(np.int32, *s), d.ints(np.int32, *s))
    case("sort_digits", lambda x, y: (jnp.argsort(x, 1), jnp.sort(y), jnp.argsort(y % 7), jnp.argsort(y.astype(np.uint32), descending=True),
         lax.sort((y.astype(np.int16), (y % 99).astype(jnp.bfloat16)), num_keys=1)),
         lambda d: (np.round(holed(d, 2, 2100, of=order), 2), ends(d, 4096)))
    case("sort_short_types", lambda x, y, z: lax.sort((x, y, z), num_keys=1),
         lambda d: (d.f32(20, 65).astype(jnp.bfloat16), d.edges(np.int8, 20, 65), d.f32(20, 65) > 0))
    case("take_masks", lambda x, y, i, j: (jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x > 1, i, 1), jnp.take_along_axis(y, i % 11, 1),
         jnp.take_along_axis(y.astype(jnp.bfloat16), i[:, :1] % 11, 1), jnp.take_along_axis(x, j, 1)),
         lambda d: (holed(d, 130, 300, of=special), d.edges(np.int8, 130, 40), out(d, 300, 130, 20), out(d, 300, 130, 1)))
    case("gather_narrow", lambda x, y, z, i: (x[i], y[i], z[i], (x > 1)[i], y.astype(jnp.bfloat16)[i], (y * 65537)[i % 9],
         jnp.asarray([5.0, -0.0, np.inf, 7e-42, 3.0], np.float32)[i % 5], y.astype(np.int8)[i], x[i[:512]], x[i[:511]], x[:1][i]),
         lambda d: (holed(d, 65, of=special), d.ints(np.int32, 65, 3), holed(d, 300, 2), out(d, 65, 700)))


def in_lines():
    for family in (convolutions, dynamics, edges, lines, nothing, orders, portions, randoms, ranks, smalls, tight):
        family.add(case)
        family.add_written(cases)


def main():
    for family in (integers, many, indexed, tables, flow, wide, zeros, truth, gradients, written, linear, decompositions, fourier, chosen, in_lines):
        family()
    tight.write_refused(HERE)
    tight.write_many(HERE)
    names = sys.argv[1:] or list(cases)
    lines = {}
    if sys.argv[1:]:
        for line in (HERE / "cases.txt").read_text().splitlines():
            lines[line.split()[0]] = line
    for name in names:
        lines[name] = write(name)
    (HERE / "cases.txt").write_text("".join(f"{lines[n]}\n" for n in cases if n in lines))
    print(f"{len(names)} made, {len(lines)} cases")


if __name__ == "__main__":
    main()
