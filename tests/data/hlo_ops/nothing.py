# SPDX-License-Identifier: MIT
"""Golden modules with values that have no elements, and of what JAX writes for a platform that it does not
know, whose decompositions have such values; make.py makes them."""

from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lib import hlo


def none(x):
    return x[:0]


# As XLA may have it; JAX's converter computes most of this itself
WRITTEN = """HloModule nothing
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
more { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
pair { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3)
  e = f32[] multiply(a, c) f = s32[] add(b, d) ROOT g = (f32[], s32[]) tuple(e, f) }
ENTRY main {
  x = f32[5,2] parameter(0)
  e = f32[0,2] slice(x), slice={[2:2],[0:2]}
  joined = f32[10,2] concatenate(e, x, e, x, e), dimensions={0}
  seven = f32[] constant(7)
  padded = f32[3,4] pad(e, seven), padding=2_1x1_1
  wide = f32[5,0] slice(x), slice={[0:5],[1:1]}
  inside = f32[5,3] pad(wide, seven), padding=0_0x1_2_4
  all = f32[] reduce(e, seven), dimensions={0,1}, to_apply=add
  some = f32[2] reduce(e, seven), dimensions={0}, to_apply=most
  none = f32[0] reduce(e, seven), dimensions={1}, to_apply=add
  of_none = f32[] reduce(none, seven), dimensions={0}, to_apply=add
  whole = s32[0,2] convert(e)
  nine = s32[] constant(9)
  two = (f32[2], s32[2]) reduce(e, whole, seven, nine), dimensions={0}, to_apply=pair
  first = f32[2] get-tuple-element(two), index=0
  second = s32[2] get-tuple-element(two), index=1
  windows = f32[3,2] reduce-window(e, seven), window={size=2x1 pad=2_2x0_0}, to_apply=most
  turned = f32[2,0] transpose(e), dimensions={1,0}
  product = f32[2,2] dot(turned, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ints = s32[2,0] convert(turned)
  whole_product = s32[2,2] dot(ints, whole), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  image = f32[1,0,2] reshape(e)
  convolved = f32[1,1,3] convolution(image, image), window={size=2 pad=1_1}, dim_labels=bf0_oi0->bf0
  one = s32[] constant(1)
  updated = f32[5,2] dynamic-update-slice(x, e, one, one)
  at = s32[0,1] slice(whole), slice={[0:0],[0:1]}
  scattered = f32[5,2] scatter(x, at, e), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  sources = f32[5,0] slice(wide), slice={[0:5],[0:0]}
  chosen = f32[5,2] select-and-scatter(x, sources, seven), window={size=1x3}, select=more, scatter=add
  sorted = f32[0,2] sort(e), dimensions={0}, to_apply=less
  mapped = f32[0,2] map(sorted, e), dimensions={0,1}, to_apply=most
  counted = f32[0,2] iota(), iota_dimension=0
  summed = f32[0,2] add(mapped, counted)
  compared = pred[0,2] compare(summed, e), direction=LT
  selected = f32[0,2] select(compared, e, summed)
  rest = f32[5,2] concatenate(selected, x), dimensions={0}
  ROOT r = (f32[10,2], f32[3,4], f32[5,3], f32[], f32[2], f32[], f32[2], s32[2], f32[3,2], f32[2,2], s32[2,2], f32[1,1,3], f32[5,2], f32[5,2], f32[5,2], f32[5,2])
    tuple(joined, padded, inside, all, some, of_none, first, second, windows, product, whole_product, convolved, updated, scattered, chosen, rest)
}"""


def written():
    return hlo.hlo_module_from_text(WRITTEN).as_serialized_hlo_module_proto()


def of_written(x):
    full = lambda v, *s: np.full(s, v, np.float32)
    return [np.concatenate([x, x]), full(7, 3, 4), full(7, 5, 3), full(7), full(7, 2), full(7), full(7, 2), np.full(2, 9, np.int32),
            full(7, 3, 2), full(0, 2, 2), np.zeros((2, 2), np.int32), full(0, 1, 1, 3), x, x, full(7, 5, 2), x]


def unknown(fn, *shapes):
    """The module that JAX writes for a device without libraries"""
    def module():
        args = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]
        lowered = jax.jit(fn).trace(*args).lower(lowering_platforms=("neuron",))
        return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    return module


def pivots(d):
    """Rows that are exchanged, and rows that are not"""
    return d.f32(3, 9), d.f32(3, 9) * np.array([[3], [0.1], [1]], np.float32), d.f32(3, 9), d.f32(3, 9, 2)


def add(case: Callable) -> None:
    """Operations of nothing that give something; loops and branches that carry nothing"""
    wide = lambda d: d.f32(5, 2)
    case("nothing_joined", lambda x: (jnp.concatenate([none(x), x, x[3:3], x * 2]), jnp.concatenate([none(x) > 0, x > 0]),
         jnp.pad(none(x), ((2, 1), (0, 0)), constant_values=7.0), lax.pad(x[:, :0], np.float32(3), ((1, 0, 0), (2, 2, 4))),
         jnp.concatenate([lax.dynamic_slice(x, (0, 0), (0, 2)), jnp.sort(none(x), 0), x])), wide)
    case("nothing_reduced", lambda x: (none(x).sum(), none(x).sum(0), none(x).max(0, initial=-1.0), (none(x) > 0).any(),
         (x[:, :0] > 0).all(1), lax.reduce_window(none(x), np.float32(0), lax.add, (2, 1), (1, 1), ((2, 2), (0, 0))),
         *lax.reduce((none(x), none(x).astype(np.int32)), (np.float32(4), np.int32(5)),
                     lambda a, b: (a[0] + b[0] * 2, a[1] * b[1]), (0,))), wide)
    case("nothing_multiplied", lambda x, y: (x[:, :0] @ jnp.zeros((0, 3), np.float32),
         lax.dot_general(x[:, :0].astype(np.int32), jnp.zeros((0, 3), np.int32), (((1,), (0,)), ((), ()))),
         lax.conv_general_dilated(y[:, :0], jnp.zeros((4, 0, 3), np.float32), (1,), "SAME")), lambda d: (d.f32(5, 2), d.f32(2, 3, 8)))
    rows = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=())
    parts = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=())
    case("nothing_indexed", lambda x, y, i: (x.at[:].set(3), x.at[...].add(y), x.at[jnp.zeros((0,), np.int32)].add(1),
         lax.dynamic_update_slice(x, none(x), (i, np.int32(0))), lax.gather(x, jnp.zeros((3, 0), np.int32), parts, (2, 2)),
         lax.scatter(x, jnp.zeros((3, 0), np.int32), jnp.stack([x, y, x * 2]), rows)),
         lambda d: (d.f32(5, 2), d.f32(5, 2), np.int32(3)))
    case("nothing_carried", lambda x, n: (lax.fori_loop(0, 5, lambda i, c: (c[0] + x[i], c[1] * 2), (x[0], none(x)))[0],
         lax.fori_loop(0, n, lambda i, c: (c[0] + 1, c[1] * 2), (np.int32(0), none(x)))[0],
         lax.cond(x[0, 0] > 0, lambda c: (c[0] * 2, c[1]), lambda c: (c[0], c[1] * 3), (x, none(x)))[0],
         lax.scan(lambda c, y: (jnp.maximum(c, y.max()), y[:0]), np.float32(-9), x)[0],
         lax.associative_scan(jnp.maximum, x, axis=1)), lambda d: (d.f32(5, 2), np.int32(40)))
    case("nothing_drawn", lambda k: lax.rng_bit_generator(k, (0, 3))[0], lambda d: d.ints(np.uint32, 4))
    case("nothing_complex", lambda x: (jnp.concatenate([none(x) + 1j, x * 1j]), (none(x) * 1j).sum(), jnp.pad(none(x) * 1j, (1, 2))),
         lambda d: d.f32(5))
    case("nothing_given", lambda a, x, b, c, y: (x * 2, a + 1, jnp.concatenate([c, x * 1j]), c * 2, b.sum(), x[:, :0], jnp.concatenate([b, y])),
         lambda d: (np.zeros((4, 0), np.float32), d.f32(5, 2), np.zeros(0, np.int32), np.zeros((0, 2), np.complex64), d.ints(np.int32, 9)))
    case("tridiagonal", lax.linalg.tridiagonal_solve, pivots, ulps=64)
    case("tridiagonal_one", lax.linalg.tridiagonal_solve, lambda d: (d.f32(1), d.f32(1), d.f32(1), d.f32(1, 3)), ulps=2)


def add_written(cases: dict) -> None:
    """Decompositions, with what LAPACK gives in JAX"""
    cases["nothing_written"] = of_written, lambda d: (d.f32(5, 2),), 0.0, False, written
    square = lambda d: (d.f32(2, 5, 5) + 3 * np.eye(5, dtype=np.float32), d.f32(2, 5, 2))
    solve = lambda a, b: [jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a)]
    cases["solve_unknown"] = solve, square, 8, False, unknown(solve, (2, 5, 5), (2, 5, 2))
    qr = lambda a, b: [*jnp.linalg.qr(a), *jnp.linalg.qr(b, mode="complete")]
    cases["qr_unknown"] = qr, lambda d: (d.f32(6, 4), d.f32(2, 3, 5)), 16, False, unknown(qr, (6, 4), (2, 3, 5))
