# SPDX-License-Identifier: MIT
"""The cases of hlo.py: groups of functions of the same inputs, which are the ends of their types.

An operation has JAX's own function and what is right: NumPy's, in fp32 where one rounding of fp32 is what HLO
asks for, in float64 for functions that JAX itself approximates, or None: what JAX computes on its CPU. That
flushes subnormal numbers to zero, so groups whose results are JAX's have none.
"""

import math
from typing import Callable, Iterator, NamedTuple, Optional

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F32, F64 = np.float32, np.float64
FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": jnp.bfloat16}
INTS = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32}


class Op(NamedTuple):
    name: str
    fn: Callable
    right: Optional[Callable] = None
    near: float = 0  # units in the last place


class Group(NamedTuple):
    name: str  # of types
    args: list
    ops: list
    flags: tuple = ()
    wide: bool = False
    platform: str = "cpu"


def fp32(fn):
    return lambda *x: fn(*(a.astype(F32) if a.dtype.kind == "f" or a.dtype == jnp.bfloat16 else a for a in x))


def real(fn):
    return lambda *x: fn(*(a.astype(F64) for a in x))


def floats(t: str, *, subnormal: bool = True) -> np.ndarray:
    dtype = FLOATS[t]
    info = jnp.finfo(dtype)
    tiny, least, most, eps = (float(v) for v in (info.tiny, info.smallest_subnormal, info.max, info.eps))
    x = [0, np.inf, tiny, tiny * 2, most, most / 2, 1, 1 + eps, 1 - eps / 2, 0.5, 1.5, 2, 2.5, 3, math.pi, 1e-3, 10, 0.1,
         88.7, 88.8, 104, 127.5, 128.5, 254.5, 255.5, 256, 1023.5, 32767.5, 65504, 16777216, 8388609, 2**31, 2**31 - 128,
         2**32, 4e9, 1e10, 1e30]
    if subnormal:
        x += [least, tiny - least, least * 3]
    with np.errstate(over="ignore"):
        x = np.array(x, F64).astype(dtype)
    return np.concatenate([x, -x, np.array([np.nan], dtype)])


def ints(t: str) -> np.ndarray:
    info = np.iinfo(INTS[t])
    x = [0, 1, 2, 3, 7, 8, 31, 32, 33, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**23 - 1, 2**24, 2**24 + 1,
         0x7fffff80, 2**31 - 1, 2**31, 2**32 - 1, 0x55555555, info.max - 1, info.max]
    x += [-v for v in x] + [info.min, info.min + 1]
    return np.array(sorted({v for v in x if info.min <= v <= info.max}), INTS[t])


def pairs(x: np.ndarray) -> list:
    return [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(x, x)]


erf = np.vectorize(math.erf)


def sign(x):
    return np.where(x == 0, x, np.sign(x))  # keeps a zero's sign, as HLO does


def away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x) if x.dtype == F64 else away(x.astype(F64))


def half(x):
    """fp16, but that HLO's reduce-precision has no subnormal numbers"""
    r = x.astype(np.float16).astype(F32)
    return np.where(np.abs(r) < 2**-14, np.copysign(0, r), r).astype(x.dtype)


def unary(t: str) -> Group:
    f = lambda name, fn, right, near=0.0: Op(name, fn, right, near)
    return Group(t, [floats(t)], [
        f("abs", jnp.abs, fp32(np.abs)), f("negate", lambda x: -x, fp32(np.negative)), f("sign", lax.sign, fp32(sign)),
        f("floor", lax.floor, fp32(np.floor)), f("ceil", lax.ceil, fp32(np.ceil)),
        f("round-nearest-even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), fp32(np.rint)),
        f("round-nearest-afz", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), real(away)),
        f("is-finite", lax.is_finite, fp32(np.isfinite)), f("sqrt", lax.sqrt, fp32(np.sqrt), 1),
        f("rsqrt", lax.rsqrt, real(lambda x: 1 / np.sqrt(x)), 2), f("cbrt", lax.cbrt, real(np.cbrt), 3),
        f("exponential", lax.exp, real(np.exp), 4), f("exponential-minus-one", lax.expm1, real(np.expm1), 6),
        f("log", lax.log, real(np.log), 4), f("log-plus-one", lax.log1p, real(np.log1p), 6),
        f("logistic", lax.logistic, real(lambda x: 1 / (1 + np.exp(-x))), 6), f("tanh", lax.tanh, real(np.tanh), 6),
        f("erf", lax.erf, real(erf), 6), f("sine", lax.sin, real(np.sin), 8), f("cosine", lax.cos, real(np.cos), 8),
        f("tan", lax.tan, real(np.tan), 12),
        f("reduce-precision", lambda x: lax.reduce_precision(x, 5, 10), None if t == "bf16" else half),
    ])


def binary(t: str) -> Group:
    same = lambda name, fn, right, near=0.0: Op(name, fn, right, near)
    return Group(t, pairs(floats(t)), [
        same("add", lax.add, fp32(np.add)), same("subtract", lax.sub, fp32(np.subtract)),
        same("multiply", lax.mul, fp32(np.multiply)), same("divide", lax.div, fp32(np.divide), 1),
        same("remainder", lax.rem, fp32(np.fmod)), same("maximum", lax.max, fp32(maximum)),
        same("minimum", lax.min, fp32(minimum)), same("power", lax.pow, real(np.power), 16),
        same("atan2", lax.atan2, real(np.arctan2), 6),
        *(same(f"compare {n}", fn, fp32(right)) for n, fn, right in (
            ("eq", lax.eq, np.equal), ("ne", lax.ne, np.not_equal), ("lt", lax.lt, np.less),
            ("le", lax.le, np.less_equal), ("gt", lax.gt, np.greater), ("ge", lax.ge, np.greater_equal))),
        same("compare total", lambda a, b: total(a) < total(b), lambda a, b: total_np(a) < total_np(b)),
        same("select", lambda a, b: lax.select(a < b, a, b), lambda a, b: np.where(fp32(np.less)(a, b), a, b)),
        same("clamp", lambda a, b: lax.clamp(a.dtype.type(-2), a, b),
             lambda a, b: fp32(minimum)(fp32(maximum)(a, np.array(-2, F32)), b)),
    ])


def bits(t):
    return {4: jnp.int32, 2: jnp.int16}[jnp.dtype(t).itemsize]


def total(x):
    k = lax.bitcast_convert_type(x, bits(x.dtype)).astype(jnp.int32)
    return jnp.where(k < 0, k ^ (0x7fffffff if x.dtype == F32 else 0x7fff), k)


def total_np(x):
    k = x.view({4: np.int32, 2: np.int16}[x.dtype.itemsize]).astype(np.int32)
    return np.where(k < 0, k ^ (0x7fffffff if x.dtype.itemsize == 4 else 0x7fff), k)


def maximum(a, b):
    """IEEE 754's maximum: NaN is passed on, 0 is greater than -0"""
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.maximum(a, b)).astype(F32)


def minimum(a, b):
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.minimum(a, b)).astype(F32)


def converted(to):
    """A float as the nearest integer of the type towards zero, 0 for NaN"""
    info = np.iinfo(to)
    def fn(x):
        x = np.trunc(x.astype(F64))
        return np.where(np.isnan(x), 0, np.clip(x, info.min, info.max)).astype(np.int64).astype(to)
    return fn


def wrapped(fn):
    return lambda *x: fn(*(a.astype(np.int64) for a in x)).astype(x[0].dtype)


def quotient(a, b):
    q = np.abs(a) // np.maximum(np.abs(b), 1) * np.where((a < 0) != (b < 0), -1, 1)
    return np.where(b == 0, -1, q)


def rest(a, b):
    return np.where(b == 0, a, a - quotient(a, b) * b)


def shifted(fn):
    """The shift's amount is unsigned, and all bits go when there are so many"""
    def of(a, b):
        width = 8 * a.dtype.itemsize
        n = b.astype(np.int64) % 2**width
        u = a.astype(np.int64) % 2**width
        return fn(a, u, n, width).astype(a.dtype)
    return of


def left(a, u, n, width):
    return np.where(n >= width, 0, u << np.minimum(n, width - 1))


def right_logical(a, u, n, width):
    return np.where(n >= width, 0, u >> np.minimum(n, width - 1))


def right_arithmetic(a, u, n, width):
    s = np.where(u >= 2**(width - 1), u - 2**width, u)
    return s >> np.minimum(n, width - 1)


def of_ints(t: str) -> Iterator[Group]:
    dtype = INTS[t]
    width = 8 * np.dtype(dtype).itemsize
    low = np.array([bin(int(v) % 2**width).count("1") for v in ints(t)], dtype)
    clz = np.array([width - (int(v) % 2**width).bit_length() for v in ints(t)], dtype)
    yield Group(t, [ints(t)], [
        Op("abs", jnp.abs, wrapped(np.abs)), Op("negate", lambda x: -x, wrapped(np.negative)), Op("sign", lax.sign, wrapped(np.sign)),
        Op("not", lax.bitwise_not, np.invert), Op("popcnt", lax.population_count, lambda x: low),
        Op("count-leading-zeros", lax.clz, lambda x: clz),
        Op("power 3", lambda x: lax.integer_pow(x, 3), lambda x: np.array([int(v)**3 % 2**width for v in x], np.uint64).astype(dtype)),
        *(Op(f"convert to {n}", lambda x, to=to: lax.convert_element_type(x, to), lambda x, to=to: x.astype(np.int64).astype(to))
          for n, to in INTS.items()),
        *(Op(f"convert to {n}", lambda x, to=to: lax.convert_element_type(x, to), None if n != "f32" else lambda x: x.astype(F32))
          for n, to in FLOATS.items()),
        Op("convert to pred", lambda x: lax.convert_element_type(x, np.bool_), lambda x: x != 0),
    ])
    yield Group(t, pairs(ints(t)), [
        Op("add", lax.add, wrapped(np.add)), Op("subtract", lax.sub, wrapped(np.subtract)),
        Op("multiply", lax.mul, lambda a, b: np.array([int(x) * int(y) % 2**width for x, y in zip(a, b)], np.uint64).astype(dtype)),
        Op("divide", lax.div, wrapped(quotient)), Op("remainder", lax.rem, wrapped(rest)),
        Op("and", lax.bitwise_and, np.bitwise_and), Op("or", lax.bitwise_or, np.bitwise_or), Op("xor", lax.bitwise_xor, np.bitwise_xor),
        Op("maximum", lax.max, np.maximum), Op("minimum", lax.min, np.minimum),
        Op("shift-left", lax.shift_left, shifted(left)), Op("shift-right-logical", lax.shift_right_logical, shifted(right_logical)),
        Op("shift-right-arithmetic", lax.shift_right_arithmetic, shifted(right_arithmetic)),
        *(Op(f"compare {n}", fn, right) for n, fn, right in (
            ("eq", lax.eq, np.equal), ("ne", lax.ne, np.not_equal), ("lt", lax.lt, np.less),
            ("le", lax.le, np.less_equal), ("gt", lax.gt, np.greater), ("ge", lax.ge, np.greater_equal))),
        Op("select", lambda a, b: lax.select(a < b, a, b), np.minimum),
        Op("clamp", lambda a, b: lax.clamp(dtype(3), a, b), lambda a, b: np.minimum(np.maximum(a, dtype(3)), b)),
    ])
    x = np.concatenate([ints(t), ints(t)[::-1]])
    square = np.resize(np.roll(x, 3), (len(x), 5))
    exact = lambda fn: lambda x, y: fn(x.astype(object), y.astype(object))
    mod = lambda v: (np.vectorize(lambda n: int(n) % 2**width, otypes=[np.uint64])(v)).astype(dtype)
    yield Group(t, [np.resize(x, (5, len(x))), square], [
        Op("reduce add", lambda x, y: lax.reduce(x, dtype(0), lax.add, (1,)), exact(lambda x, y: mod(x.sum(1)))),
        Op("reduce multiply", lambda x, y: lax.reduce(x | 1, dtype(1), lax.mul, (1,)), lambda x, y: mod((x | 1).astype(object).prod(1))),
        Op("reduce maximum", lambda x, y: jnp.max(x, 1), lambda x, y: x.max(1)),
        Op("reduce minimum", lambda x, y: jnp.min(x), lambda x, y: x.min()),
        Op("reduce and", lambda x, y: lax.reduce(x, dtype(-1 if t[0] == "s" else np.iinfo(dtype).max), lax.bitwise_and, (0,)),
           lambda x, y: np.bitwise_and.reduce(x, 0)),
        Op("reduce or", lambda x, y: lax.reduce(x, dtype(0), lax.bitwise_or, (1,)), lambda x, y: np.bitwise_or.reduce(x, 1)),
        Op("reduce xor", lambda x, y: lax.reduce(x, dtype(0), lax.bitwise_xor, (1,)), lambda x, y: np.bitwise_xor.reduce(x, 1)),
        Op("argmax", lambda x, y: jnp.argmax(x, 1), lambda x, y: x.argmax(1).astype(np.int32)),
        Op("reduce-window add", lambda x, y: lax.reduce_window(x, dtype(0), lax.add, (1, 3), (1, 1), "SAME")),
        Op("reduce-window maximum", lambda x, y: lax.reduce_window(x, dtype(np.iinfo(dtype).min), lax.max, (2, 3), (1, 2), "VALID")),
        Op("cumsum", lambda x, y: lax.cumsum(x, 1), exact(lambda x, y: mod(np.cumsum(x, 1)))),
        Op("cumprod", lambda x, y: lax.cumprod(x, 1), exact(lambda x, y: mod(np.cumprod(x, 1)))),
        Op("dot", lambda x, y: lax.dot(x, y, preferred_element_type=dtype), exact(lambda x, y: mod(x @ y))),
        Op("dot to s32", lambda x, y: lax.dot(x, y, preferred_element_type=np.int32),
           exact(lambda x, y: np.vectorize(lambda n: int(n) % 2**32, otypes=[np.uint64])(x @ y).astype(np.int32))),
        Op("convolution", lambda x, y: lax.conv_general_dilated(x[:, None, :], y.T[None, :, :3].reshape(5, 1, 3), (1,), "VALID", preferred_element_type=dtype)
           if t != "u32" else x),
        Op("sort", lambda x, y: jnp.sort(x, 1), lambda x, y: np.sort(x, 1)),
        Op("sort descending", lambda x, y: jnp.argsort(x, 1, descending=True)),
        Op("topk", lambda x, y: lax.top_k(x, 7)),
    ])


def of_floats(t: str) -> Iterator[Group]:
    dtype = FLOATS[t]
    yield unary(t)
    yield binary(t)
    yield Group(t, [floats(t)], [
        *(Op(f"convert to {n}", lambda x, to=to: lax.convert_element_type(x, to), converted(to)) for n, to in INTS.items()),
        *(Op(f"convert to {n}", lambda x, to=to: lax.convert_element_type(x, to), lambda x, to=to: x.astype(F32).astype(to))
          for n, to in FLOATS.items()),
        Op("convert to pred", lambda x: lax.convert_element_type(x, np.bool_), lambda x: x.astype(F32) != 0),
        Op("bitcast-convert", lambda x: lax.bitcast_convert_type(x, bits(x.dtype)), lambda x: x.view({4: np.int32, 2: np.int16}[x.dtype.itemsize])),
    ])
    x = floats(t, subnormal=False)
    some = np.resize(np.array([1, -0.0, 0.0, 2, -3, 0.5], dtype), 12)
    rows = np.stack([some, np.where(np.arange(12) == 5, dtype(np.nan), some), np.where(np.arange(12) == 7, dtype(np.inf), some),
                     np.where(np.arange(12) % 7 == 4, dtype(-np.inf), some), np.where(np.arange(12) == 2, dtype(np.inf), np.where(
                         np.arange(12) == 9, dtype(-np.inf), some)), np.full(12, -0.0, dtype), np.full(12, -np.inf, dtype),
                     np.where(np.arange(12) == 0, dtype(np.nan), np.where(np.arange(12) == 11, dtype(np.nan), some))]).astype(dtype)
    yield Group(t, [rows, np.resize(np.roll(x, 5), (12, 7))], [
        Op("reduce add", lambda x, y: lax.reduce(x, dtype(0), lax.add, (1,)), None, 2),
        Op("reduce add of -0", lambda x, y: lax.reduce(x, dtype(-0.0), lax.add, (1,)), None, 2),
        Op("reduce multiply", lambda x, y: lax.reduce(x, dtype(1), lax.mul, (1,)), None, 2),
        Op("reduce maximum", lambda x, y: lax.reduce(x, dtype(-np.inf), lax.max, (1,)), lambda x, y: fold(maximum, x)),
        Op("reduce minimum", lambda x, y: lax.reduce(x, dtype(np.inf), lax.min, (1,)), lambda x, y: fold(minimum, x)),
        Op("reduce maximum of all", lambda x, y: jnp.max(x), None), Op("argmax", lambda x, y: jnp.argmax(x, 1)),
        Op("argmin", lambda x, y: jnp.argmin(x, 1)), Op("reduce-window maximum", lambda x, y: lax.reduce_window(
            x, dtype(-np.inf), lax.max, (1, 3), (1, 2), "VALID")),
        Op("reduce-window add", lambda x, y: lax.reduce_window(x, dtype(0), lax.add, (1, 2), (1, 1), "SAME"), None, 2),
        Op("cumsum", lambda x, y: lax.cumsum(x, 1), None, 4), Op("cummax", lambda x, y: lax.cummax(x, 1)),
        Op("cumlogsumexp", lambda x, y: lax.cumlogsumexp(x, 1), None, 16),
        Op("sort", lambda x, y: jnp.sort(x, 1)), Op("argsort", lambda x, y: jnp.argsort(x, 1)),
        Op("sort descending", lambda x, y: jnp.argsort(x, 1, descending=True)), Op("topk", lambda x, y: lax.top_k(x, 5)),
        Op("sort keys", lambda x, y: lax.sort((x, x[:, ::-1]), num_keys=2)),
        Op("dot", lambda x, y: lax.dot(x, y, precision="highest"), None, 4 if t == "f32" else 2),
        Op("select-and-scatter", lambda x, y: jax.grad(lambda v: lax.reduce_window(
            v, -np.inf, lax.max, (1, 2), (1, 2), "VALID").astype(F32).sum())(x)),
        Op("pad", lambda x, y: lax.pad(x, dtype(np.nan), ((0, 0, 0), (1, -2, 1)))), Op("reverse", lambda x, y: lax.rev(x, (0, 1))),
        Op("concatenate", lambda x, y: jnp.concatenate([x, x[:, :3]], 1)), Op("transpose", lambda x, y: y.T),
        Op("softmax", lambda x, y: jax.nn.softmax(x.astype(F32), 1), None, 16),
    ])


def fold(fn, x):
    r = x[:, 0].astype(F32)
    for i in range(1, x.shape[1]):
        r = fn(r, x[:, i].astype(F32))
    return r


def indices() -> Iterator[Group]:
    """Indices out of range, repeated, of several types"""
    x = np.array([[1, np.nan, np.inf], [-0.0, 2, 3], [5, 6, -np.inf], [7, 8, 9]], F32)
    w = np.array([[1, 2**31 - 1, -5], [-2**31, 2, 3], [5, 2**24 + 1, 6], [7, 8, 9]], np.int32)
    at = np.array([0, 3, 3, 1, -1, 4, 2**31 - 1, -2**31, 3, 0], np.int32)
    u = np.arange(30, dtype=F32).reshape(10, 3) / 4
    v = (np.arange(30).reshape(10, 3) * 123456789).astype(np.int32)
    modes = ("clip", "fill", "promise_in_bounds")
    ops = [Op(f"gather {m}", lambda x, w, i, u, v, m=m: (x.at[jnp.where(m == "promise_in_bounds", i % 4, i)].get(mode=m),
                                                         w.at[jnp.where(m == "promise_in_bounds", i % 4, i)].get(mode=m))) for m in modes]
    for name in ("add", "multiply", "min", "max", "set"):
        ops.append(Op(f"scatter {name}", lambda x, w, i, u, v, n=name: (getattr(x.at[i], n)(u, mode="drop"), getattr(w.at[i], n)(v, mode="drop"))))
        ops.append(Op(f"scatter {name} of elements", lambda x, w, i, u, v, n=name: (getattr(x[:, 0].at[i], n)(u[:, 1]), getattr(w[:, 1].at[i], n)(v[:, 1]))))
    yield Group("f32 and s32", [x, w, at, u, v], ops)
    for t in ("s8", "u8", "s16", "s32", "u32"):
        i = INTS[t]
        starts = np.array([0, 2, 3, 4, np.iinfo(i).max, np.iinfo(i).min, np.iinfo(i).max // 2 + 1], i)
        def slices(x, w, s):
            return jnp.stack([lax.dynamic_slice(x, (s[k], s[-1 - k]), (2, 2)) for k in range(starts.size)])
        def updates(x, w, s):
            return jnp.stack([lax.dynamic_update_slice(w, w[:2, 1:], (s[k], s[-1 - k])) for k in range(starts.size)])
        yield Group(f"by {t}", [x, w, starts], [
            Op("dynamic-slice", slices), Op("dynamic-update-slice", updates),
            Op("gather", lambda x, w, s: (x.at[s].get(mode="clip"), jnp.take(w, s, 1, mode="clip"))),
            Op("scatter", lambda x, w, s: w.at[s].add(7, mode="drop"))])


def truth() -> Group:
    p, q = (np.array(a) for a in ([False, False, True, True], [False, True, False, True]))
    return Group("pred", [p, q], [
        Op("and", lax.bitwise_and), Op("or", lax.bitwise_or), Op("xor", lax.bitwise_xor), Op("not", lambda p, q: ~p),
        Op("maximum", lax.max), Op("minimum", lax.min), Op("compare", lambda p, q: (p < q, p <= q, p == q, p != q)),
        Op("select", lambda p, q: lax.select(p, q, p)), Op("add", lambda p, q: p + q), Op("multiply", lambda p, q: p * q),
        Op("convert", lambda p, q: [p.astype(t) for t in [*INTS.values(), *FLOATS.values()]]),
        Op("reduce", lambda p, q: (p.any(), q.all(), jnp.sum(p), jnp.argmax(q))), Op("sort", lambda p, q: jnp.sort(p ^ q))])


def complexes() -> Group:
    x = np.array([0, -0.0, 1, -2, 1e-3, 1e3, np.inf, -np.inf, np.nan], F32)
    re, im = pairs(x)
    return Group("c64", [re, im], [
        Op("real, imag", lambda a, b: (lax.real(lax.complex(a, b)), lax.imag(lax.complex(a, b)))),
        Op("abs", lambda a, b: jnp.abs(lax.complex(a, b)), None, 4),
        Op("add", lambda a, b: lax.real(lax.complex(a, b) + lax.complex(b, a))),
        Op("negate", lambda a, b: lax.imag(-lax.complex(a, b))), Op("compare", lambda a, b: lax.complex(a, b) == lax.complex(b, a)),
    ])


def wide() -> Group:
    """64-bit types as --narrow-64bit has them: integers that 32 bits hold are exact"""
    x = np.array([0, 1, -1, 2**31 - 1, -2**31, 2**24 + 1, 65537, -65536], np.int64)
    return Group("s64", pairs(x), [
        Op("add", lambda a, b: lax.add(a, b), lambda a, b: (a + b).astype(np.int32)), Op("compare lt", lax.lt, np.less),
        Op("maximum", lax.max, lambda a, b: np.maximum(a, b).astype(np.int32)), Op("divide", lax.div, lambda a, b: quotient(a, b).astype(np.int32)),
        Op("remainder", lax.rem, lambda a, b: rest(a, b).astype(np.int32)), Op("convert to f32", lambda a, b: a.astype(F32), lambda a, b: a.astype(F32)),
    ], ("--narrow-64bit",), True)


def folded(group: Group) -> Group:
    """The cases with constants, which the compiler computes itself if they are few; without quotients of integers,
    for JAX's converter to HLO computes too, and ends at the least integer by -1"""
    args = [np.ascontiguousarray(a.reshape(-1)[:4000]) for a in group.args]
    bound = lambda fn: fn and (lambda _: fn(*args))
    return Group(f"constant {group.name}", [np.zeros(1, F32)],
                 [Op(op.name, bound(op.fn), bound(op.right), op.near) for op in group.ops if op.name not in (
                     "popcnt", "count-leading-zeros") and (group.name in FLOATS or op.name not in ("divide", "remainder"))])


def by_numbers(t: str) -> Group:
    """An operand that is one number"""
    x, width = ints(t), 8 * np.dtype(INTS[t]).itemsize
    ops = []
    for v in (INTS[t](v) for v in x):
        of = lambda fn, v=v: lambda a: fn(a, np.full_like(a, v))
        ops += [Op(f"{name} by {v}", lambda a, fn=fn, v=v: fn(a, v), of(right)) for name, fn, right in (
            ("divide", lax.div, wrapped(quotient)), ("remainder", lax.rem, wrapped(rest)), ("subtract", lax.sub, wrapped(np.subtract)),
            ("multiply", lax.mul, lambda a, b: np.array([int(x) * int(y) % 2**width for x, y in zip(a, b)], np.uint64).astype(a.dtype)),
            ("maximum", lax.max, np.maximum), ("compare", lax.lt, np.less), ("shift", lax.shift_right_arithmetic, shifted(right_arithmetic)))]
        ops += [Op(f"{name} of {v}", lambda a, fn=fn, v=v: fn(jnp.full_like(a, v), a), lambda a, right=right, v=v: right(np.full_like(a, v), a))
                for name, fn, right in (("divide", lax.div, wrapped(quotient)), ("subtract", lax.sub, wrapped(np.subtract)))]
    return Group(f"{t} by a number", [x], ops)


def counted() -> Group:
    """iota, whose numbers a type may not hold; initial values of reductions that are not neutral"""
    types = {**INTS, **FLOATS}
    y = np.array([[2**31 - 1, -5, 2**24 + 1], [-2**31, 3, 9]], np.int32)
    return Group("s32", [y], [
        *(Op(f"iota {n}", lambda y, t=t: lax.iota(t, 300)) for n, t in types.items()),
        *(Op(f"iota {n} of 2", lambda y, t=t: lax.broadcasted_iota(t, (2, 70000), 1)) for n, t in types.items() if n in ("u8", "u16", "f16", "bf16")),
        Op("reduce from a number", lambda y: [lax.reduce(y, np.int32(v), f, (1,)) for v in (7, -2**31, 2**31 - 1) for f in (
            lax.add, lax.max, lax.min, lax.mul, lax.bitwise_and, lax.bitwise_or)]),
        Op("reduce by a computation", lambda y: lax.reduce(y, np.int32(1), lambda a, b: a * b * np.int32(65537), (0,))),
        Op("argmin", lambda y: jnp.argmin(y, 1)),
        Op("map", lambda y: lax.map(lambda v: v * v - np.int32(2**30), y)),
        Op("dot to f32", lambda y: lax.dot(y.astype(np.int8), y.T.astype(np.int8), preferred_element_type=F32)),
        Op("while", lambda y: lax.fori_loop(0, y[1, 1], lambda i, v: v * 65537 + i, y)),
    ])


def others() -> Iterator[Group]:
    """Decompositions, transforms, convolutions and control flow with NaN, infinities and zeros"""
    spd = np.stack([np.eye(3), [[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.diag([1, np.nan, 2]), np.diag([1, -1, 2]), np.zeros((3, 3)),
                    np.diag([np.inf, 1, 1])]).astype(F32)
    b = np.array([[1, 2], [-0.0, 3], [0, 4]], F32)
    sides = np.broadcast_to(b, (6, 3, 2)).copy()
    matrices = [
        Op("cholesky", lambda a, b: lax.linalg.cholesky(a, symmetrize_input=False), None, 4),
        Op("triangular-solve", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), None, 4),
        Op("LU", lambda a, b: lax.linalg.lu(a), None, 4),
        Op("tridiagonal", lambda a, b: lax.linalg.tridiagonal_solve(a[:, 0], a[:, 1] + 1, a[:, 2], b), None, 8)]
    yield Group("f32 matrices", [spd, sides], matrices)
    yield Group("f32 matrices elsewhere", [spd, sides], matrices, platform="neuron")
    x = np.zeros((5, 2, 9), F32) + np.arange(9, dtype=F32)
    x[1, 0, 4], x[2, 1, 0], x[3, 0, 8], x[4] = np.nan, np.inf, -np.inf, -0.0
    k = np.array([[[1, 0, -1], [0.5, 2, 1]], [[-0.0, 1, 3], [1, 1, 1]]], F32)
    yield Group("f32 rows", [x, k, np.array([-3, 0, 1, 2, 9], np.int32)], [
        Op("convolution", lambda x, k, i: lax.conv_general_dilated(x, k, (1,), "SAME", precision="highest"), None, 4),
        Op("fft", lambda x, k, i: [f(jnp.fft.fft(x[:3, 0])) for f in (jnp.real, jnp.imag)], None, 64),
        Op("conditional", lambda x, k, i: [lax.switch(i[n], [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x) for n in range(5)]),
        Op("conditional of a predicate", lambda x, k, i: [lax.cond(i[n] > 0, lambda v: v + 1, lambda v: v * 2, x) for n in range(5)]),
        Op("select-and-scatter", lambda x, k, i: jax.grad(lambda v: lax.reduce_window(v, -np.inf, lax.max, (1, 1, 3), (1, 1, 2), "SAME").sum())(x[4:])),
        Op("map", lambda x, k, i: lax.map(lambda v: lax.max(v, -v), x)),
        Op("reduce of two", lambda x, k, i: lax.reduce((x, x * 2), (F32(0), F32(1)), lambda a, b: (lax.max(a[0], b[0]), lax.min(a[1], b[1])), (2,))),
        Op("reduce-window of two", lambda x, k, i: lax.reduce_window((x, x * 2), (F32(0), F32(1)), lambda a, b: (
            lax.max(a[0], b[0]), lax.min(a[1], b[1])), (1, 1, 3), (1, 1, 1), "VALID")),
        Op("barrier", lambda x, k, i: lax.optimization_barrier(x)), Op("reshape", lambda x, k, i: x.reshape(9, 10).T),
        Op("broadcast", lambda x, k, i: jnp.broadcast_to(x[:, :, None], (5, 2, 3, 9))), Op("slice", lambda x, k, i: x[1:4, ::-1, 2::3]),
        Op("copy", lambda x, k, i: jnp.copy(x)), Op("nothing", lambda x, k, i: jnp.concatenate([x[:0], x, x[3:3]])),
        Op("sum of nothing", lambda x, k, i: x[:, :, :0].sum(2)), Op("product of nothing", lambda x, k, i: x[:, 0, :0] @ x[0, :0, :2].reshape(0, 2)),
    ])


def groups() -> Iterator[Group]:
    for t in FLOATS:
        for i, group in enumerate(of_floats(t)):
            yield group
            if i < 3:
                yield folded(group)
    for t in INTS:
        for i, group in enumerate(of_ints(t)):
            yield group
            if i < 2:
                yield folded(group)
        yield by_numbers(t)
    yield counted()
    yield from others()
    yield from indices()
    yield truth()
    yield complexes()
    yield wide()
