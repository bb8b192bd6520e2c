# SPDX-License-Identifier: MIT
"""Modules with bounded dynamic dimensions, as HLO text: NumPy says what they compute on arrays of the
real sizes, and XLA is asked whether it agrees. What lies beyond a size is NaN or any number."""

import dataclasses
import re

import jax
import numpy as np
from jax._src.lib import _jax
from jaxlib import _hlo

HEAD = """HloModule dynamic
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
min { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] minimum(a, b) }
mul { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] multiply(a, b) }
addi { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
and { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] and(a, b) }
"""


@dataclasses.dataclass
class Sized:
    """what is there of a result, whose shape is `bound`"""
    x: np.ndarray
    bound: tuple

    def dynamic(self):
        return [d for d, n in enumerate(self.bound) if n is not None]


def real(outs):
    """results as the compiled module gives them: zeros beyond the sizes, which are further results"""
    whole, sizes = [], []
    for o in outs:
        if isinstance(o, Sized):
            shape = [b or n for b, n in zip(o.bound, o.x.shape)]
            x = np.zeros(shape, o.x.dtype)
            x[tuple(slice(n) for n in o.x.shape)] = o.x
            sizes += [np.int32(o.x.shape[d]) for d in o.dynamic()]
            o = x
        whole.append(np.asarray(o))
    return whole + sizes


def module(text):
    return _hlo.hlo_module_from_text(HEAD + text).as_serialized_hlo_module_proto()


def sized_inside(text, nargs):
    """dynamic parameters as static ones, whose sizes are further parameters"""
    def one(m):
        nonlocal nargs
        shape = re.sub(r"<=", "", m[2])
        out, last, so_far = f"  {m[1]}_0 = {shape} parameter({m[3]})\n", f"{m[1]}_0", shape
        bounds = re.findall(r"\d+(?=[,\]])", shape[shape.index("["):])
        dims = [i for i, b in enumerate(m[2][m[2].index("[") + 1:-1].split(",")) if b.startswith("<=")]
        for k, d in enumerate(dims):
            shape = so_far[:so_far.index("[")] + "[" + ",".join(("<=" if i in dims[:k + 1] else "") + b for i, b in enumerate(bounds)) + "]"
            name = m[1] if k + 1 == len(dims) else f"{m[1]}_{k + 1}"
            out += f"  {m[1]}_n{k} = s32[] parameter({nargs})\n  {name} = {shape} set-dimension-size({last}, {m[1]}_n{k}), dimensions={{{d}}}\n"
            last, nargs = name, nargs + 1
        return out
    return re.sub(r"  (\w+) = (\w+\[[^\]]*<=[^\]]*\]) parameter\((\d+)\)\n", one, text)


def xla(text, args, nargs):
    text = HEAD + sized_inside(text, nargs)
    computation = jax._src.lib.xla_client.XlaComputation(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    mlir = _jax.mlir.xla_computation_to_mlir_module(computation)
    client = jax.devices()[0].client
    return [np.asarray(o) for o in client.compile_and_load(mlir, client.devices()[:1]).execute([jax.device_put(a) for a in args])]


def check(name, text, args, nargs, outs, unlike):
    """Does XLA give the same, where something is? Not in `unlike`, where XLA takes an initial value to be the identity
    or forgets the padding of a window"""
    for i, (got, want) in enumerate(zip(xla(text, args, nargs), outs, strict=True)):
        want = want.x if isinstance(want, Sized) else np.asarray(want)
        got = got.reshape(-1)[:want.size].reshape(want.shape)  # XLA puts what is there close together
        assert i in unlike or np.allclose(got, want, 1e-5, 1e-5, equal_nan=True), (name, i, got, want)


def beyond(x, n, d=0, what=np.nan):
    x = np.array(x)
    x[(slice(None),) * d + (slice(max(n, 0), None),)] = what
    return x


def add(case):
    pass


def add_written(cases):
    def dynamic(name, text, fn, draw, sizes, ulps=0.0, in_xla=lambda *n: True, unlike=()):
        """fn(*args, n) on the real sizes; draw(d, n) gives the inputs, behind which n is one"""
        for n in sizes:
            of = n if isinstance(n, tuple) else (n,)

            def make(d, of=of):
                return (*draw(d, *of), *(np.int32(k) for k in of))

            def run(*args, of=of, name=name):
                outs = fn(*args[:len(args) - len(of)], *of)
                if in_xla(*of):
                    check(name, text, args, len(args) - len(of), outs, unlike)
                return real(outs)

            at = "_".join(str(k).replace("-", "m") for k in of)
            cases[f"dynamic_{name}_{at}"] = (run, make, ulps, False, lambda text=text: module(text))

    never = lambda *n: False  # XLA cannot
    F = "f32[<=9,5]"
    dynamic("reduce", f"""
ENTRY e {{
  x0 = f32[9,5] parameter(0)
  y0 = s32[9,5] parameter(1)
  n = s32[] parameter(2)
  x = {F} set-dimension-size(x0, n), dimensions={{0}}
  y = s32[<=9,5] set-dimension-size(y0, n), dimensions={{0}}
  zero = f32[] constant(0)
  one = f32[] constant(1)
  low = f32[] constant(-inf)
  most = s32[] constant(2147483647)
  yes = pred[] constant(true)
  half = f32[] constant(0.5)
  sum = f32[5] reduce(x, zero), dimensions={{0}}, to_apply=add
  more = f32[5] reduce(x, half), dimensions={{0}}, to_apply=add
  best = f32[5] reduce(x, low), dimensions={{0}}, to_apply=max
  product = f32[5] reduce(x, one), dimensions={{0}}, to_apply=mul
  least = s32[] reduce(y, most), dimensions={{0,1}}, to_apply=min
  rows = f32[<=9] reduce(x, zero), dimensions={{1}}, to_apply=add
  zeros = f32[9,5] broadcast(zero), dimensions={{}}
  positive = pred[<=9,5] compare(x, zeros), direction=GT
  all = pred[5] reduce(positive, yes), dimensions={{0}}, to_apply=and
  count = s32[] get-dimension-size(rows), dimensions={{0}}
  static = s32[] get-dimension-size(x), dimensions={{1}}
  ROOT r = (f32[5], f32[5], f32[5], f32[5], s32[], f32[<=9], pred[5], s32[], s32[]) tuple(sum, more, best, product, least, rows, all, count, static)
}}""", lambda x, y, n: [x[:n].sum(0), x[:n].sum(0) + np.float32(0.5), x[:n].max(0, initial=-np.inf), x[:n].prod(0),
                        y[:n].min(initial=2147483647), Sized(x[:n].sum(1), (9,)), (x[:n] > 0).all(0), np.int32(n), np.int32(5)],
            lambda d, n: (beyond(d.f32(9, 5), n), d.ints(np.int32, 9, 5)), (0, 4, 9), 8, unlike=(1,))

    clamped = f"""
ENTRY e {{
  x0 = f32[9,5] parameter(0)
  n = s32[] parameter(1)
  x = {F} set-dimension-size(x0, n), dimensions={{0}}
  zero = f32[] constant(0)
  sum = f32[5] reduce(x, zero), dimensions={{0}}, to_apply=add
  count = s32[] get-dimension-size(x), dimensions={{0}}
  ROOT r = (f32[5], s32[], {F}) tuple(sum, count, x)
}}"""
    inside = lambda n: min(max(n, 0), 9)
    dynamic("size", clamped, lambda x, n: [x[:inside(n)].sum(0), np.int32(inside(n)), Sized(x[:inside(n)], (9, None))],
            lambda d, n: (d.f32(9, 5),), (-3, 10, -2**31, 2**31 - 1), 8, in_xla=never)

    dynamic("softmax", """
ENTRY e {
  x0 = f32[6,20] parameter(0)
  n = s32[] parameter(1)
  x = f32[6,<=20] set-dimension-size(x0, n), dimensions={1}
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  top = f32[6] reduce(x, low), dimensions={1}, to_apply=max
  tops = f32[6,20] broadcast(top), dimensions={0}
  less = f32[6,<=20] subtract(x, tops)
  e = f32[6,<=20] exponential(less)
  sum = f32[6] reduce(e, zero), dimensions={1}, to_apply=add
  sums = f32[6,20] broadcast(sum), dimensions={0}
  ROOT r = f32[6,<=20] divide(e, sums)
}""", lambda x, n: [Sized(np.exp(x[:, :n] - x[:, :n].max(1, keepdims=True)) / np.exp(x[:, :n] - x[:, :n].max(1, keepdims=True)).sum(1, keepdims=True), (None, 20))],
            lambda d, n: (beyond(d.f32(6, 20), n, 1, 99),), (1, 13), 16)

    dynamic("moves", """
ENTRY e {
  x0 = f32[6,4] parameter(0)
  y0 = f32[3,4] parameter(1)
  z0 = f32[6,4] parameter(2)
  n = s32[] parameter(3)
  m = s32[] parameter(4)
  x = f32[<=6,4] set-dimension-size(x0, n), dimensions={0}
  y = f32[<=3,4] set-dimension-size(y0, m), dimensions={0}
  z = f32[<=6,4] set-dimension-size(z0, n), dimensions={0}
  three = f32[] constant(3)
  cat = f32[<=15,4] concatenate(x, y, z), dimensions={0}
  side = f32[<=6,8] concatenate(x, z), dimensions={1}
  pad = f32[<=16,6] pad(x, three), padding=2_3_1x1_1_0
  cut = f32[<=5,4] pad(x, three), padding=-1_0x0_0
  turn = f32[4,<=6] transpose(x), dimensions={1,0}
  back = f32[<=6,4] reverse(x), dimensions={0,1}
  part = f32[<=6,2] slice(x), slice={[0:6], [1:3]}
  line = f32[<=24] reshape(x)
  wide = f32[<=6,4,7] broadcast(x), dimensions={0,1}
  ROOT r = (f32[<=15,4], f32[<=6,8], f32[<=16,6], f32[<=5,4], f32[4,<=6], f32[<=6,4], f32[<=6,2], f32[<=24], f32[<=6,4,7]) tuple(cat, side, pad, cut, turn, back, part, line, wide)
}""", lambda x, y, z, n, m: [Sized(np.concatenate([x[:n], y[:m], z[:n]]), (15, None)), Sized(np.concatenate([x[:n], z[:n]], 1), (6, None)),
                             Sized(padded(x[:n]), (16, None)), Sized(x[1:n], (5, None)), Sized(x[:n].T, (None, 6)), Sized(x[:n][::-1, ::-1], (6, None)),
                             Sized(x[:n, 1:3], (6, None)), Sized(x[:n].reshape(-1), (24,)), Sized(np.broadcast_to(x[:n, :, None], (n, 4, 7)), (6, None, None))],
            lambda d, n, m: (beyond(d.f32(6, 4), n), beyond(d.f32(3, 4), m), beyond(d.f32(6, 4), n)), ((4, 2), (0, 3), (6, 0)), in_xla=lambda n, m: n > 0)  # else XLA crashes

    dynamic("reshape", """
ENTRY e {
  x0 = f32[6,4,5] parameter(0)
  n = s32[] parameter(1)
  m = s32[] parameter(2)
  x1 = f32[<=6,4,5] set-dimension-size(x0, n), dimensions={0}
  x = f32[6,<=4,5] set-dimension-size(x0, m), dimensions={1}
  both = f32[<=6,<=4,5] set-dimension-size(x1, m), dimensions={1}
  six = s32[] constant(6)
  five = s32[] constant(5)
  twenty = s32[] constant(20)
  nm = s32[] multiply(n, m)
  nm5 = s32[] multiply(nm, five)
  merged = f32[<=24,5] reshape(x)
  inner = f32[6,<=20] reshape(x)
  one = f32[1,6,<=4,5] reshape(x)
  tight = f32[<=24,5] reshape(both)
  flat = f32[<=120] dynamic-reshape(both, nm5)
  split = f32[<=6,20] reshape(x1)
  again = f32[<=6,<=20] dynamic-reshape(flat, n, nm5_n)
  ROOT r = (f32[<=24,5], f32[6,<=20], f32[1,6,<=4,5], f32[<=24,5], f32[<=120], f32[<=6,20], f32[<=6,<=20]) tuple(merged, inner, one, tight, flat, split, again)
}""".replace("  flat =", "  nm5_n = s32[] multiply(m, five)\n  flat ="), lambda x, n, m: [
        Sized(x[:, :m].reshape(-1, 5), (24, None)), Sized(x[:, :m].reshape(6, -1), (None, 20)), Sized(x[None, :, :m], (None, None, 4, None)),
        Sized(x[:n, :m].reshape(-1, 5), (24, None)), Sized(x[:n, :m].reshape(-1), (120,)), Sized(x[:n].reshape(n, 20), (6, None)),
        Sized(x[:n, :m].reshape(n, m * 5), (6, 20))],
            lambda d, n, m: (d.f32(6, 4, 5),), ((5, 3), (0, 2), (2, 0), (6, 4)))

    dynamic("dot", """
ENTRY e {
  x0 = f32[3,7,6] parameter(0)
  y0 = f32[3,6,5] parameter(1)
  n = s32[] parameter(2)
  m = s32[] parameter(3)
  k = s32[] parameter(4)
  x1 = f32[<=3,7,6] set-dimension-size(x0, n), dimensions={0}
  x2 = f32[<=3,<=7,6] set-dimension-size(x1, m), dimensions={1}
  x = f32[<=3,<=7,<=6] set-dimension-size(x2, k), dimensions={2}
  y1 = f32[<=3,6,5] set-dimension-size(y0, n), dimensions={0}
  y = f32[<=3,<=6,5] set-dimension-size(y1, k), dimensions={1}
  ROOT r = f32[<=3,<=7,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}""", lambda x, y, n, m, k: [Sized(x[:n, :m, :k] @ y[:n, :k], (3, 7, None))],
            lambda d, n, m, k: (beyond(whole(d, 3, 7, 6), k, 2, np.inf), beyond(whole(d, 3, 6, 5), k, 1)), ((2, 5, 4), (3, 7, 0), (0, 1, 6)))

    dynamic("indexed", """
ENTRY e {
  x0 = f32[8,4] parameter(0)
  i0 = s32[6,1] parameter(1)
  u0 = f32[6,4] parameter(2)
  n = s32[] parameter(3)
  m = s32[] parameter(4)
  zero = s32[] constant(0)
  i = s32[<=6,1] set-dimension-size(i0, m), dimensions={0}
  u = f32[<=6,4] set-dimension-size(u0, m), dimensions={0}
  x = f32[<=8,4] set-dimension-size(x0, n), dimensions={0}
  taken = f32[<=6,4] gather(x0, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  columns = f32[6,<=8] gather(x, i0), offset_dims={1}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={8,1}
  added = f32[8,4] scatter(x0, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  part = f32[<=8,2] dynamic-slice(x, zero, m), dynamic_slice_sizes={8,2}
  ROOT r = (f32[<=6,4], f32[6,<=8], f32[8,4], f32[<=8,2]) tuple(taken, columns, added, part)
}""", lambda x, i, u, n, m: [Sized(x[i[:m, 0]], (6, None)), Sized(x[:n][:, np.minimum(i[:, 0], 3)].T, (None, 8)), added(x, i[:m, 0], u[:m]),
                             Sized(x[:n, min(m, 2):min(m, 2) + 2], (8, None))],
            lambda d, n, m: (whole(d, 8, 4), d.ints(np.int32, 6, 1, low=0, high=7), beyond(whole(d, 6, 4), m)), ((5, 4), (8, 0), (0, 6)))

    dynamic("sort", """
less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3) ROOT r = pred[] compare(a, b), direction=LT }
more { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }
ENTRY e {
  x0 = f32[5,13] parameter(0)
  i0 = s32[5,13] parameter(1)
  w0 = f32[2100] parameter(2)
  n = s32[] parameter(3)
  m = s32[] parameter(4)
  x = f32[5,<=13] set-dimension-size(x0, n), dimensions={1}
  i = s32[5,<=13] set-dimension-size(i0, n), dimensions={1}
  w = f32[<=2100] set-dimension-size(w0, m), dimensions={0}
  s = (f32[5,<=13], s32[5,<=13]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less
  keys = f32[5,<=13] get-tuple-element(s), index=0
  places = s32[5,<=13] get-tuple-element(s), index=1
  long = f32[<=2100] sort(w), dimensions={0}, to_apply=more
  ROOT r = (f32[5,<=13], s32[5,<=13], f32[<=2100]) tuple(keys, places, long)
}""", lambda x, i, w, n, m: [Sized(np.sort(x[:, :n], kind="stable"), (None, 13)), Sized(np.take_along_axis(i[:, :n], np.argsort(x[:, :n], 1, kind="stable"), 1), (None, 13)),
                             Sized(-np.sort(-w[:m], kind="stable"), (2100,))],
            lambda d, n, m: (beyond(np.round(d.f32(5, 13)), n, 1, -99), d.ints(np.int32, 5, 13), beyond(d.f32(2100), m, 0, 99)), ((9, 1500), (0, 2100), (13, 1)))

    dynamic("windows", """
ENTRY e {
  x0 = f32[2,10,3] parameter(0)
  k = f32[3,3,4] parameter(1)
  n = s32[] parameter(2)
  x = f32[2,<=10,3] set-dimension-size(x0, n), dimensions={1}
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  sums = f32[2,<=4,3] reduce-window(x, zero), window={size=1x3x1 stride=1x2x1}, to_apply=add
  tops = f32[2,<=10,3] reduce-window(x, low), window={size=1x3x1 pad=0_0x1_1x0_0}, to_apply=max
  ROOT r = (f32[2,<=4,3], f32[2,<=10,3]) tuple(sums, tops)
}""", lambda x, k, n: windows(x, k, n)[:2], lambda d, n: (beyond(whole(d, 2, 10, 3), n, 1), whole(d, 3, 3, 4)), (7, 2, 10), unlike=(1,))

    # which XLA's CPU does not take
    dynamic("others", """
ENTRY e {
  x0 = f32[2,10,3] parameter(0)
  k = f32[3,3,4] parameter(1)
  y = f32[8,4] parameter(2)
  u0 = f32[6,4] parameter(3)
  n = s32[] parameter(4)
  m = s32[] parameter(5)
  zero = s32[] constant(0)
  two = s32[] constant(2)
  x = f32[2,<=10,3] set-dimension-size(x0, n), dimensions={1}
  u = f32[<=6,4] set-dimension-size(u0, m), dimensions={0}
  conv = f32[2,<=10,4] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
  into = f32[8,4] dynamic-update-slice(y, u, two, zero)
  ROOT r = (f32[2,<=10,4], f32[8,4]) tuple(conv, into)
}""", lambda x, k, y, u, n, m: [windows(x, k, n)[2], np.concatenate([y[:2], u[:m], y[2 + m:]])],
            lambda d, n, m: (beyond(whole(d, 2, 10, 3), n, 1), whole(d, 3, 3, 4), whole(d, 8, 4), beyond(whole(d, 6, 4), m)), ((7, 4), (1, 6), (10, 0)), in_xla=never)

    dynamic("flow", """
going { s = (s32[], f32[<=8,3], f32[3]) parameter(0) x = f32[<=8,3] get-tuple-element(s), index=1 n = s32[] get-dimension-size(x), dimensions={0} one = s32[] constant(1) ROOT r = pred[] compare(n, one), direction=GT }
step {
  s = (s32[], f32[<=8,3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[<=8,3] get-tuple-element(s), index=1
  sum = f32[3] get-tuple-element(s), index=2
  one = s32[] constant(1)
  zero = f32[] constant(0)
  part = f32[3] reduce(x, zero), dimensions={0}, to_apply=add
  next = f32[3] add(sum, part)
  n = s32[] get-dimension-size(x), dimensions={0}
  less = s32[] subtract(n, one)
  y = f32[<=8,3] set-dimension-size(x, less), dimensions={0}
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[<=8,3], f32[3]) tuple(j, y, next)
}
whole { x = f32[<=8,3] parameter(0) ROOT r = f32[<=8,3] add(x, x) }
half { x = f32[<=8,3] parameter(0) n = s32[] get-dimension-size(x), dimensions={0} one = s32[] constant(1) k = s32[] shift-right-logical(n, one) ROOT r = f32[<=8,3] set-dimension-size(x, k), dimensions={0} }
ENTRY e {
  x0 = f32[8,3] parameter(0)
  p = pred[] parameter(1)
  n = s32[] parameter(2)
  x = f32[<=8,3] set-dimension-size(x0, n), dimensions={0}
  none = s32[] constant(0)
  zero = f32[] constant(0)
  zeros = f32[3] broadcast(zero), dimensions={}
  start = (s32[], f32[<=8,3], f32[3]) tuple(none, x, zeros)
  end = (s32[], f32[<=8,3], f32[3]) while(start), condition=going, body=step
  steps = s32[] get-tuple-element(end), index=0
  last = f32[<=8,3] get-tuple-element(end), index=1
  sum = f32[3] get-tuple-element(end), index=2
  chosen = f32[<=8,3] conditional(p, x, x), true_computation=whole, false_computation=half
  called = f32[<=8,3] call(x), to_apply=whole
  ROOT r = (s32[], f32[<=8,3], f32[3], f32[<=8,3], f32[<=8,3]) tuple(steps, last, sum, chosen, called)
}""", lambda x, p, n: [np.int32(max(n - 1, 0)), Sized(x[:min(n, 1)], (8, None)), sum((x[:k].sum(0) for k in range(2, n + 1)), np.zeros(3, np.float32)),
                       Sized(2 * x[:n] if p else x[:n // 2], (8, None)), Sized(2 * x[:n], (8, None))],
            lambda d, n: (beyond(whole(d, 8, 3), n), np.bool_(n % 2)), (5, 8, 0))

    dynamic("attention", """
ENTRY e {
  q0 = f32[2,12,8] parameter(0)
  k0 = f32[2,12,8] parameter(1)
  v0 = f32[2,12,8] parameter(2)
  n = s32[] parameter(3)
  q = f32[2,<=12,8] set-dimension-size(q0, n), dimensions={1}
  k = f32[2,<=12,8] set-dimension-size(k0, n), dimensions={1}
  v = f32[2,<=12,8] set-dimension-size(v0, n), dimensions={1}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  s = f32[2,<=12,<=12] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  top = f32[2,<=12] reduce(s, low), dimensions={2}, to_apply=max
  tops = f32[2,<=12,12] broadcast(top), dimensions={0,1}
  less = f32[2,<=12,<=12] subtract(s, tops)
  e = f32[2,<=12,<=12] exponential(less)
  sum = f32[2,<=12] reduce(e, zero), dimensions={2}, to_apply=add
  sums = f32[2,<=12,12] broadcast(sum), dimensions={0,1}
  p = f32[2,<=12,<=12] divide(e, sums)
  ROOT r = f32[2,<=12,8] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}""", lambda q, k, v, n: [Sized(attention(q[:, :n], k[:, :n], v[:, :n]), (None, 12, None))],
            lambda d, n: tuple(beyond(whole(d, 2, 12, 8) / 16, n, 1, 3) for _ in range(3)), (1, 7), 2**16)

    dynamic("breadth", """
best {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  first = pred[] or(gt, tie)
  x = f32[] select(first, a, b)
  y = s32[] select(first, i, j)
  ROOT r = (f32[], s32[]) tuple(x, y)
}
square { a = f32[] parameter(0) ROOT r = f32[] multiply(a, a) }
ENTRY e {
  x0 = f32[7,4] parameter(0)
  i0 = s8[7,4] parameter(1)
  w0 = f32[7,2,2] parameter(2)
  k = f32[1,2,3] parameter(3)
  n = s32[] parameter(4)
  x = f32[<=7,4] set-dimension-size(x0, n), dimensions={0}
  i = s8[<=7,4] set-dimension-size(i0, n), dimensions={0}
  w = f32[<=7,2,2] set-dimension-size(w0, n), dimensions={0}
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  small = f32[] constant(-1)
  large = f32[] constant(2)
  place0 = s32[7,4] iota(), iota_dimension=0
  place = s32[<=7,4] set-dimension-size(place0, n), dimensions={0}
  most = (f32[4], s32[4]) reduce(x, place, low, none), dimensions={0}, to_apply=best
  most0 = f32[4] get-tuple-element(most), index=0
  most1 = s32[4] get-tuple-element(most), index=1
  zero = s32[] constant(0)
  int = s32[<=7,4] convert(i)
  total = s32[] reduce(int, zero), dimensions={0,1}, to_apply=addi
  positive = pred[<=7,4] compare(i, i0), direction=EQ
  chosen = f32[<=7,4] select(positive, x, x)
  kept = f32[<=7,4] clamp(small, chosen, large)
  squares = f32[<=7,4] map(x), dimensions={0,1}, to_apply=square
  bits = s32[<=7,4] bitcast-convert(x)
  z = c64[<=7,4] complex(x, squares)
  zt = c64[4,<=7] transpose(z), dimensions={1,0}
  imag = f32[4,<=7] imag(zt)
  conv = f32[<=7,2,3] convolution(w, k), window={size=1}, dim_labels=b0f_0io->b0f
  ROOT r = (f32[4], s32[4], s32[], f32[<=7,4], f32[<=7,4], s32[<=7,4], f32[4,<=7], f32[<=7,2,3]) tuple(most0, most1, total, kept, squares, bits, imag, conv)
}""", lambda x, i, w, k, n: [x[:n].max(0), x[:n].argmax(0).astype(np.int32), i[:n].astype(np.int32).sum(dtype=np.int32), Sized(x[:n].clip(-1, 2), (7, None)),
                             Sized(x[:n] ** 2, (7, None)), Sized(x[:n].view(np.int32), (7, None)), Sized((x[:n] ** 2).T, (None, 7)),
                             Sized(np.einsum("blf,fo->blo", w[:n], k[0]), (7, None, None))],
            lambda d, n: (beyond(whole(d, 7, 4), n, 0, 50), d.ints(np.int8, 7, 4), whole(d, 7, 2, 2), whole(d, 1, 2, 3)), (1, 5, 7))

    dynamic("parameters", """
ENTRY e {
  x = f32[<=6,<=5] parameter(0)
  y = f32[4] parameter(1)
  z = f32[<=6] parameter(2)
  w = c64[<=3] parameter(3)
  zero = f32[] constant(0)
  sum = f32[<=5] reduce(x, zero), dimensions={0}, to_apply=add
  all = f32[] reduce(x, zero), dimensions={0,1}, to_apply=add
  zs = f32[<=6,5] broadcast(z), dimensions={0}
  both = f32[<=6,<=5] add(x, zs)
  same = f32[4] add(y, y)
  twice = c64[<=3] add(w, w)
  ROOT r = (f32[<=5], f32[], f32[<=6,<=5], f32[4], c64[<=3]) tuple(sum, all, both, same, twice)
}""", lambda x, y, z, w, n, m, k, l: [Sized(x[:n, :m].sum(0), (5,)), x[:n, :m].sum(), Sized(x[:n, :m] + z[:n, None], (6, 5)), y + y, Sized(w[:l] * 2, (3,))],
            lambda d, n, m, k, l: (beyond(whole(d, 6, 5), n, 0), whole(d, 4), beyond(whole(d, 6), k), (d.f32(3) + 1j * d.f32(3)).astype(np.complex64)),
            ((4, 3, 4, 2), (6, 5, 6, 0)))


def padded(x):
    y = np.full((max(2 * x.shape[0] - 1, 0) + 5, 6), 3, np.float32)
    y[2:2 + 2 * x.shape[0]:2, 1:5] = x
    y[:, 5] = 3
    return y


def whole(d, *shape):
    """whole numbers, whose sums and products are exact"""
    return d.ints(np.int8, *shape, low=-8, high=8).astype(np.float32)


def added(x, i, u):
    x = x.copy()
    np.add.at(x, i, u)
    return x


def windows(x, k, n):
    n = int(n)
    x = x[:, :n]
    wide = lambda fill: np.pad(x, ((0, 0), (1, 1), (0, 0)), constant_values=np.float32(fill))
    some = lambda y, size, stride: np.lib.stride_tricks.sliding_window_view(np.pad(y, ((0, 0), (0, size), (0, 0))), size, 1)[
        :, :max(y.shape[1] - size + stride, 0) // stride * stride:stride].swapaxes(2, 3)
    return [Sized(some(x, 3, 2).sum(2), (None, 4, None)), Sized(some(wide(-np.inf), 3, 1).max(2), (None, 10, None)),
            Sized(np.einsum("bnkf,kfo->bno", some(wide(0), 3, 1), k).astype(np.float32), (None, 10, None))]


def attention(q, k, v):
    e = np.exp(q.astype(np.float64) @ k.swapaxes(1, 2))
    return (e / e.sum(2, keepdims=True) @ v).astype(np.float32)
