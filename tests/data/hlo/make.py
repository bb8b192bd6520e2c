#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the golden modules: one small JAX function each, with inputs and JAX's own outputs.

Writes NAME/module.hlo.pb, NAME/in<i>.npy, NAME/out<i>.npy for every case and cases.txt with a line
  NAME INPUTS OUTPUTS TOLERANCE
TOLERANCE is absolute; 0 asks for the same bits. It is ULPS * 2^-23 * SCALE, where SCALE bounds what
is summed up or rounded on the way:
  - moves, selections, comparisons, integers, single fp32 additions and products: 0;
  - functions: both sides are allowed a few ulp of the result (ours 1, JAX's CPU functions up to 4);
  - sums: order differs, so n terms may be off by n half ulp of the sum of absolute values;
  - products ("product" cases): the outputs are JAX's for operands rounded to bf16 first, which is
    what the compiler's default cast does, so only the fp32 sum's order is left;
  - products inside a larger function: bf16 rounding of an operand that depends on earlier results
    is left: 2^-8 of the sum of absolute values.

Run it in a virtual environment with jax and numpy: python make.py. Everything is seeded.
"""

import pathlib
import shutil

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
rng = np.random.default_rng(0)
cases = []


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return (np.abs(rng.standard_normal(shape)) + 0.1).astype(np.float32)


def ints(dtype, low, high, *shape):
    return rng.integers(low, high, shape, dtype=dtype)


def small(*shape):
    return rng.integers(-2, 3, shape).astype(np.float32)


def to_bf16(x):
    x = jnp.asarray(x)
    return x.astype(jnp.bfloat16).astype(x.dtype) if x.dtype == jnp.float32 else x


def save(path, x):
    x = np.asarray(x)
    if x.dtype == jnp.bfloat16:
        x = x.view("V2")
    if x.dtype == np.bool_:
        x = x.astype(np.int8)
    np.save(path, x)


def case(name, fn, *args, ulps=0.0, product=False, scale=None):
    """ulps: of the largest output, or for products of the largest sum of absolute values; product:
    all operands are cast, or only the first so many"""
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    fn.__name__ = name
    lowered = jax.jit(fn, keep_unused=True).lower(*args)
    (out / "module.hlo.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    with jax.default_matmul_precision("float32"):
        cast = len(args) if product is True else product
        golden_args = [to_bf16(a) if i < cast else a for i, a in enumerate(args)]
        outs = jax.tree.leaves(jax.jit(fn)(*golden_args))
        if scale is None:
            sized = jax.tree.leaves(jax.jit(fn)(*[np.abs(a) for a in args])) if product else outs
            scale = max(float(np.max(np.abs(np.asarray(o, dtype=np.float64)))) for o in sized)
    for i, a in enumerate(args):
        save(out / f"in{i}.npy", a)
    for i, o in enumerate(outs):
        save(out / f"out{i}.npy", o)
    cases.append(f"{name} {len(args)} {len(outs)} {ulps * 2.0**-23 * scale:.6g}")


def conv(x, w, strides=(1, 1), pad="SAME", rhs=None, groups=1, dn=("NHWC", "HWIO", "NHWC")):
    return lax.conv_general_dilated(
        x, w, strides, pad, rhs_dilation=rhs, dimension_numbers=dn, feature_group_count=groups
    )


def elementwise():
    case("add", lambda a, b: a + b, f32(5, 7), f32(5, 7))
    case("add_tiles", lambda a, b: a + b, f32(300, 70), f32(300, 70))
    case("subtract", lambda a: 1.0 - a, f32(9))
    case("subtract_row", lambda a, b: a - b[:, None], f32(200, 6), f32(200))
    case("multiply_column", lambda a, b: a * b, f32(4, 6, 8), f32(8))
    case("divide", lambda a, b: a / b, f32(6, 5), positive(6, 5), ulps=2)
    case("maximum_minimum", lambda a, b: jnp.maximum(a, b) - jnp.minimum(a, b), f32(3, 4, 5), f32(3, 4, 5))
    functions = {
        "exponential": jnp.exp,
        "tanh": jnp.tanh,
        "logistic": jax.nn.sigmoid,
        "log": lambda x: jnp.log(jnp.abs(x) + 0.1),
        "sqrt": lambda x: jnp.sqrt(jnp.abs(x)),
        "rsqrt": lambda x: lax.rsqrt(jnp.abs(x) + 0.1),
        "erf": lambda x: lax.erf(x),
    }
    for name, fn in functions.items():
        case(name, lambda x, fn=fn: fn(x), f32(33, 17), ulps=5)
    case("abs_negate_sign", lambda x: (jnp.abs(x), -x, jnp.sign(x)), f32(33, 17))
    case("compare_select", lambda a, b: jnp.where(a > b, a, b * 2), f32(6, 7), f32(6, 7))
    case("compare_all", lambda a, b: (a == b, a != b, a >= b, a <= b, a < b),
         ints(np.int32, 0, 3, 6, 7), ints(np.int32, 0, 3, 6, 7))
    case("predicates", lambda a, b: ((a > 0) & (b > 0), (a > 0) | (b > 0), ~(a > 0)), f32(6, 7), f32(6, 7))
    case("clamp", lambda a: jnp.clip(a, -0.5, 0.5), f32(6, 7))
    case("power", lambda a: jnp.power(jnp.abs(a), 2.5), f32(4, 5), ulps=4)
    case("gelu", lambda a: jax.nn.gelu(a), f32(4, 50), ulps=8)


def products():
    case("dot", lambda a, b: a @ b, f32(5, 9), f32(9, 4), ulps=9, product=True)
    case("dot_tiles", lambda a, b: a @ b, f32(200, 300), f32(300, 150), ulps=300, product=True)
    case("dot_wide", lambda a, b: a @ b, f32(3, 16), f32(16, 1100), ulps=16, product=True)
    case("dot_batch", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), f32(3, 5, 6), f32(3, 6, 7),
         ulps=6, product=True)
    case("dot_transposed", lambda a, b: a.T @ b.T, f32(9, 5), f32(4, 9), ulps=9, product=True)
    case("dot_vectors", lambda a, b: a @ b, f32(9), f32(9), ulps=9, product=True)
    case("dot_matrix_vector", lambda a, b: a @ b, f32(6, 9), f32(9), ulps=9, product=True)
    case("dot_outer", lambda a, b: jnp.einsum("i,j->ij", a, b), f32(6), f32(9), product=True)
    case("dot_two_dimensions", lambda a, b: jnp.einsum("ijk,jkl->il", a, b), f32(4, 5, 6), f32(5, 6, 3),
         ulps=30, product=True)
    case("dot_general", lambda a, b: jnp.einsum("aijb,jkil->akbl", a, b), f32(4, 5, 6, 2), f32(6, 3, 5, 2),
         ulps=30, product=True)
    case("dot_constant", lambda a: a @ np.linspace(-1, 1, 63, dtype=np.float32).reshape(9, 7), f32(5, 9),
         ulps=2**15)
    case("dot_bf16", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
         f32(5, 9).astype(jnp.bfloat16), f32(9, 4).astype(jnp.bfloat16), ulps=18)
    case("dot_fp16", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
         f32(5, 9).astype(np.float16), f32(9, 4).astype(np.float16), ulps=18)
    case("dot_int8", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
         ints(np.int8, -128, 127, 4, 50), ints(np.int8, -128, 127, 50, 7))
    case("conv", lambda x, w: conv(x, w), f32(2, 8, 8, 1), f32(3, 3, 1, 4), ulps=9, product=True)
    case("conv_stride", lambda x, w: conv(x, w, (2, 2)), f32(2, 9, 8, 5), f32(3, 3, 5, 7), ulps=45,
         product=True)
    case("conv_tiles", lambda x, w: conv(x, w), f32(1, 6, 6, 130), f32(3, 3, 130, 132), ulps=1170,
         product=True)
    case("conv_dilated", lambda x, w: conv(x, w, rhs=(2, 2)), f32(2, 9, 8, 5), f32(3, 3, 5, 7), ulps=45,
         product=True)
    case("conv_transposed", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), f32(2, 5, 5, 3),
         f32(3, 3, 3, 4), ulps=27, product=True)
    case("conv_groups", lambda x, w: conv(x, w, groups=2), f32(2, 6, 6, 6), f32(3, 3, 3, 8), ulps=27,
         product=True)
    case("conv_depthwise", lambda x, w: conv(x, w, groups=6), f32(1, 6, 6, 6), f32(3, 3, 1, 6), ulps=9,
         product=True)
    case("conv_nchw", lambda x, w: conv(x, w, dn=("NCHW", "OIHW", "NCHW")), f32(2, 3, 6, 6),
         f32(4, 3, 3, 3), ulps=27, product=True)
    case("conv_1d", lambda x, w: lax.conv_general_dilated(
        x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")), f32(2, 16, 3), f32(5, 3, 4),
        ulps=15, product=True)


def reductions():
    case("reduce_sum_rows", lambda x: x.sum(0), f32(30, 7), ulps=30)
    case("reduce_sum_columns", lambda x: x.sum(1), f32(30, 7), ulps=7)
    case("reduce_sum_all", lambda x: x.sum(), f32(130, 7), ulps=910)
    case("reduce_max", lambda x: (x.max((1, 2)), x.max((0, 2)), x.min((0, 1, 2))), f32(6, 5, 4))
    case("reduce_product", lambda x: x.prod(1), f32(6, 5), ulps=5)
    case("reduce_any_all", lambda x: ((x > 0).any(1), (x > 0).all(0)), f32(2, 30))
    case("reduce_init", lambda x: lax.reduce(x, np.float32(2.5), lax.add, (1,)), f32(6, 5), ulps=6)
    case("window_max", lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), f32(2, 8, 8, 5))
    case("window_mean", lambda x: lax.reduce_window(
        x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / 9, f32(2, 8, 8, 5), ulps=10)
    case("window_1d", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), "VALID"), f32(21))
    case("window_cumulative", lambda x: jnp.cumsum(x, axis=1), f32(4, 20), ulps=20)


def moves():
    case("reshape", lambda x: (x + 1).reshape(7, 30) * 2, f32(5, 6, 7))
    case("reshape_merge", lambda x: (x + 1).reshape(6, 35) * 2, f32(5, 6, 7))
    case("transpose", lambda x: (x + 1).transpose(2, 0, 1) * 2, f32(5, 6, 7))
    case("slice", lambda x: (x + 1)[1:4, ::2] * 2, f32(5, 9))
    case("slice_partitions", lambda x: (x + 1)[40:170] * 2, f32(200, 3))
    case("reverse", lambda x: (x + 1)[::-1, ::-1] * 2, f32(150, 9))
    case("concatenate_rows", lambda a, b: jnp.concatenate([a + 1, b + 1], 0) * 2, f32(5, 4), f32(140, 4))
    case("concatenate_columns", lambda a, b: jnp.concatenate([a + 1, b + 1, a], 1) * 2, f32(5, 4), f32(5, 3))
    case("pad", lambda a: lax.pad(a + 1, jnp.float32(3), ((1, 2, 0), (-1, 2, 1))), f32(5, 6))
    case("broadcast", lambda a: jnp.broadcast_to(a[:, None, :], (4, 3, 5)) * 2, f32(4, 5))
    case("constant", lambda a: a + np.arange(20, dtype=np.float32).reshape(4, 5), f32(4, 5))
    case("iota", lambda a: a + lax.broadcasted_iota(jnp.float32, (4, 5), 0), f32(4, 5))
    case("tuple", lambda a, b: (a + b, a, b.T), f32(4, 5), f32(4, 5))
    case("unused_parameter", lambda a, b: a, f32(4, 5), f32(3))
    case("scalar", lambda a, b: a * b, f32(4, 5), f32())


def types():
    case("bf16", lambda a, b: jnp.maximum(a, b) * a, f32(4, 5).astype(jnp.bfloat16),
         f32(4, 5).astype(jnp.bfloat16))
    case("fp16", lambda a, b: jnp.maximum(a, b) * a, f32(4, 5).astype(np.float16),
         f32(4, 5).astype(np.float16))
    case("int32", lambda a, b: a * b + a - 3, ints(np.int32, -99, 99, 4, 5), ints(np.int32, -99, 99, 4, 5))
    case("int8", lambda a, b: jnp.maximum(a, b), ints(np.int8, -128, 127, 4, 50),
         ints(np.int8, -128, 127, 4, 50))
    case("bits", lambda a, b: ((a & b) | (a ^ 7)) + ~b, ints(np.int32, -99, 99, 4, 5),
         ints(np.int32, -99, 99, 4, 5))
    case("convert_to_int", lambda a: a.astype(jnp.int32), f32(4, 50) * 10)
    case("convert_from_int", lambda a: a.astype(jnp.float32) * 0.5, ints(np.int32, -99, 99, 4, 5))
    case("convert_bf16", lambda a: a.astype(jnp.bfloat16), f32(40, 5))
    case("convert_bool", lambda a: (a > 0).astype(jnp.float32) + a.astype(jnp.bool_), f32(4, 5))


def networks():
    case("softmax", lambda x: jax.nn.softmax(x), f32(6, 10), ulps=20)
    case("layer_norm", lambda x, g, b: (x - x.mean(-1, keepdims=True))
         * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b, f32(6, 40), f32(40), f32(40), ulps=60)
    case("attention", lambda q, k, v: jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4)
         @ jnp.einsum("bkhd->bhkd", v), f32(2, 5, 3, 16), f32(2, 5, 3, 16), f32(2, 5, 3, 16), ulps=2**15,
         scale=3.0)
    x, w, b = f32(20, 40), f32(40, 30), f32(30)
    size = np.max((np.abs(x) @ np.abs(w) + np.abs(b)) @ np.abs(w).T)
    case("perceptron", lambda x, w, b: jax.nn.relu(x @ w + b) @ w.T, x, w, b, ulps=2**15, scale=size)


def fused():
    """What products do on their way out, over more than 128 partitions and in both orders"""
    case("dense", lambda x, w, b: jax.nn.relu(x @ w + b), f32(20, 40), f32(40, 200), f32(200), ulps=40,
         product=2)
    case("dense_reversed", lambda x, w, b: 1.0 - (b[:, None] - x @ w), f32(140, 9), f32(9, 6), f32(140),
         ulps=12, product=2)
    case("conv_bias", lambda x, w, b: jnp.minimum(b - conv(x, w) * 0.5, 3.0), f32(1, 5, 5, 3),
         f32(3, 3, 3, 132), f32(132), ulps=27, product=2)


def spilling():
    """Twelve values of 16,000 bytes a partition that are all needed twice: SBUF holds eight"""

    def fn(a, b):
        ys = [a[:, None] * (b * k)[None, :] for k in range(1, 13)]
        up = down = jnp.zeros_like(ys[0])
        for y in ys:
            up = up * 0.5 - y
        for y in reversed(ys):
            down = down * 0.5 - y
        return up[:, ::800], down.max(1)

    case("spill", fn, f32(128), f32(4000), ulps=4)


def expanded():
    """Operations that the compiler makes of others; tiny tolerances let zeros have either sign"""
    edges = [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.3, 0.3, 1e10, -1e10, 8388607.5, -4194304.5]
    x = np.concatenate([np.array(edges, np.float32), f32(200) * 5])
    case("round", lambda a: (jnp.floor(a), jnp.ceil(a), jnp.round(a),
                             lax.round(a, lax.RoundingMethod.AWAY_FROM_ZERO)), x, ulps=1e-12, scale=1.0)
    case("is_finite", jnp.isfinite, np.array([1, -np.inf, np.inf, np.nan, 3e38, 0], np.float32))
    case("cube_root", jnp.cbrt, np.concatenate([f32(60) * 100, np.zeros(1, np.float32)]), ulps=4)
    case("log_plus_one", jnp.log1p, np.concatenate([positive(60), f32(60) * np.float32(1e-4)]), ulps=8)
    case("exp_minus_one", jnp.expm1, np.concatenate([f32(60), f32(60) * np.float32(1e-4)]), ulps=8)
    case("log_exp_near_zero", lambda a: (jnp.log1p(a), jnp.expm1(a)), f32(60) * np.float32(1e-4), ulps=8)
    angles = np.concatenate([f32(60) * 5, f32(60) * 1000])
    case("sine_cosine", lambda a: (jnp.sin(a), jnp.cos(a)), angles, ulps=6)
    case("tangent", jnp.tan, f32(60) * np.float32(0.4), ulps=12)
    divisors = np.where(f32(90) > 0, 1, -1).astype(np.float32) * positive(90)
    case("remainder", lambda a, b: (lax.rem(a, b), jnp.remainder(a, b)), f32(90) * 50, divisors, ulps=4)
    case("divide_int", lambda a, b: (lax.div(a, b), lax.rem(a, b), a // 7),
         ints(np.int32, -9000000, 9000000, 90), ints(np.int32, 1, 300, 90) * (1 - 2 * ints(np.int32, 0, 2, 90)))
    case("shifts", lambda a, b: (a << b, a >> b, lax.shift_right_logical(a, b)),
         ints(np.int32, -(2**31), 2**31 - 1, 90), ints(np.int32, 0, 32, 90))


def chosen():
    case("argmax", lambda a: (jnp.argmax(a, 1), jnp.argmin(a, 0)), ints(np.int32, -20, 20, 7, 150))
    case("argmax_float", lambda a: jnp.argmax(a), f32(300))
    case("embedding", lambda t, i: t[i], f32(300, 20), ints(np.int32, -300, 300, 4, 5))
    case("embedding_columns", lambda t, i: jnp.take(t, i, axis=1, mode="clip"), f32(6, 50, 3),
         ints(np.int32, -9, 60, 33))
    case("embedding_int", lambda t, i: jnp.take(t, i, axis=0, mode="clip"),
         ints(np.int32, -99999, 99999, 40, 3), ints(np.int32, 0, 40, 9))
    table = f32(200, 8)
    case("embedding_constant", lambda i: jnp.asarray(table)[i], ints(np.int32, 0, 200, 9))
    case("dynamic_slice", lambda x, i, j: (lax.dynamic_slice(x, (i, j), (3, 5)), lax.dynamic_slice(x, (2, 3), (3, 5)),
                                           lax.dynamic_slice(x, (i, 4), (1, 9))),
         f32(40, 17), np.int32(39), np.int32(7))
    case("dynamic_update", lambda x, u, i, j: (lax.dynamic_update_slice(x, u, (i, j)), lax.dynamic_update_slice(x, u, (5, 3)),
                                               lax.dynamic_update_slice(x, u, (i, 0))),
         f32(40, 17), f32(3, 4), np.int32(11), np.int32(99))
    case("dynamic_update_cache", lambda x, u, i: lax.dynamic_update_slice(x, u, (0, i, 0, 0)), f32(1, 30, 2, 8),
         f32(1, 1, 2, 8), np.int32(8))


def ranks():
    case("transpose_8d", lambda x: x.transpose(7, 6, 5, 4, 3, 2, 1, 0), f32(2, 3, 2, 2, 3, 2, 2, 2))


def patches():
    case("conv_patches", lambda x, w: conv(x, w, strides=(4, 3), pad="VALID"), f32(2, 13, 9, 5), f32(4, 3, 5, 7),
         ulps=16, product=True)
    case("conv_patches_3d", lambda x, w: conv(x, w, strides=(2, 2, 3), pad="VALID", dn=("NCDHW", "OIDHW", "NCDHW")),
         f32(2, 4, 5, 4, 7), f32(6, 4, 2, 2, 3), ulps=16, product=True)
    case("conv_patches_nchw", lambda x, w: conv(x, w, strides=(2, 5), pad="VALID", dn=("NCHW", "OIHW", "NCHW")),
         f32(3, 3, 8, 10), f32(140, 3, 2, 5), ulps=16, product=True)


def idioms():
    case("gelu_erfc", lambda a: jax.nn.gelu(3 * a, approximate=False), f32(4, 50), ulps=8)
    case("gelu_erf", lambda a: 0.5 * a * (1 + lax.erf(a / np.float32(np.sqrt(2)))), f32(4, 50), ulps=8)
    case("silu", jax.nn.silu, f32(4, 50), ulps=8)


def tails():
    """More that products do on their way out: what a residual connection adds, functions, two of them"""
    case("dense_residual", lambda x, w, b, r: jax.nn.relu(r + (x @ w + b)), f32(200, 40), f32(40, 30), f32(30),
         f32(200, 30), ulps=40, product=2)
    case("dense_residuals", lambda x, w, r, q: q[None, :, None] - (r - (x @ w) * 0.25), f32(3, 140, 24), f32(24, 10),
         f32(3, 140, 10), f32(140), ulps=24, product=2)
    case("dense_function", lambda x, w, b: jnp.tanh(0.5 * (x @ w) + b[:, None]), f32(140, 9), f32(9, 6), f32(140),
         ulps=16, product=2)
    case("dense_functions", lambda x, w, v: (jnp.exp(-jnp.abs(x @ w)) * 3 + 1) @ v, f32(20, 9), f32(9, 140), f32(140, 5),
         ulps=2**15, product=True)
    case("conv_residual", lambda x, w, b, r: jax.nn.relu(r + (conv(x, w) + b)), f32(1, 5, 6, 3), f32(3, 3, 3, 132),
         f32(132), f32(1, 5, 6, 132), ulps=27, product=2)


def places():
    """Results that may take an operand's place: read once and twice, whole and piece by piece"""

    def fn(x):
        a = x * 2
        b = jnp.where(a > 0, a, -1.0)
        c = jnp.where(b < 3, 0.25, b * 3)
        d = jnp.where(c > x, x, c)
        return d + jnp.maximum(c, x)

    case("in_place", fn, f32(200, 6))
    case("in_place_tiles", lambda a, b: fn(a[:, None] * b).max(1), f32(256), f32(600))


def borders():
    # whole numbers that bf16 holds: no rounding at all
    case("conv_twice", lambda x, w, b, v: conv(jax.nn.relu(conv(x, w) + b), v), small(2, 7, 6, 3), small(3, 3, 3, 140),
         small(140), small(3, 3, 140, 5))
    case("dense_padded", lambda x, w: jnp.pad(jnp.tanh(x @ w) * 2, ((0, 0), (3, 1), (0, 0)), constant_values=0.5).max(0),
         f32(2, 140, 9), f32(9, 6), ulps=16, product=True)


def main():
    for family in (elementwise, products, reductions, moves, types, networks, spilling, fused, expanded, chosen,
                   patches, ranks, idioms, tails, places,
                   borders):
        family()
    (HERE / "cases.txt").write_text("\n".join(cases) + "\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
