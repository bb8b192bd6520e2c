# SPDX-License-Identifier: MIT
"""Golden modules that need more at one time than comes at once; make.py makes them."""

import pathlib
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lib import _jax

from lines import scatter_text, scattered


def compositing(depth, colour, alpha, scale):
    """120 layers in the order of their depth, each over those behind it: its numbers come from many gathered rows"""
    order = jnp.argsort(depth)
    images = scale[:, None, None] * jnp.arange(1024.0).reshape(32, 32) / 1024

    def layer(carry, of):
        image, c, a = of
        return (carry[0] + (carry[1] * a * image)[..., None] * c, carry[1] * (1 - a * image)), None
    return lax.scan(layer, (jnp.zeros((32, 32, 3)), jnp.ones((32, 32))), (images, colour[order], alpha[order]))[0]


def nested(x):
    """The last row of scans in a scan: its gradient keeps which side each selection took"""
    def row(last, now):
        def cell(left, of):
            value = jnp.where(left > of[1], left * of[0], of[1])
            return value, value
        return lax.scan(cell, jnp.float32(0), (now, last))[1], None
    return lax.scan(row, jnp.zeros(x.shape[1]), x)[0][-1]


def scans(x, w):
    """24 scans of 512 turns, one after the other: together they are too many operations to be unrolled"""
    for scale in w:
        def cell(h, now, scale=scale):
            kept, new = jnp.exp(-now), jnp.tanh(now * scale)
            h = jnp.where(h > 2, h * 0.5, h * kept + new * now)
            return h, h * new + kept - now * 0.5
        x = lax.scan(cell, jnp.zeros(16), x)[1]
    return x


def write_refused(here: pathlib.Path) -> None:
    """70 loops of two turns in each other: calls too deep, and too many operations of what stands in for them"""
    def turns(depth: int, value: str) -> str:
        if depth == 70:
            return f"%r{depth}:2 = stablehlo.optimization_barrier %zero, {value} : tensor<i32>, tensor<f32>\n"
        return f"""%r{depth}:2 = stablehlo.while(%i{depth} = %zero, %x{depth} = {value}) : tensor<i32>, tensor<f32>
            cond {{ %c{depth} = stablehlo.compare LT, %i{depth}, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %c{depth} : tensor<i1> }}
            do {{ {turns(depth + 1, f"%x{depth}")}
                %n{depth} = stablehlo.add %i{depth}, %one : tensor<i32>
                stablehlo.return %n{depth}, %r{depth + 1}#1 : tensor<i32>, tensor<f32> }}
            """
    constants = "\n".join(f"%{name} = stablehlo.constant dense<{n}> : tensor<i32>" for n, name in enumerate(["zero", "one", "two"]))
    text = f"func.func public @main(%x: tensor<f32>) -> tensor<f32> {{ {constants} {turns(0, '%x')} return %r0#1 : tensor<f32> }}"
    module = _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    (here / "nested_deep.hlo.pb").write_bytes(module.as_serialized_hlo_module_proto())


def write_many(here: pathlib.Path) -> None:
    many = jax.jit(scans).lower(np.zeros((512, 16), np.float32), np.zeros((24, 16), np.float32)).compiler_ir("hlo")
    (here / "many_scans.hlo.pb").write_bytes(many.as_serialized_hlo_module_proto())


def add(case: Callable) -> None:
    """Rows whose elements lie a few places apart, as much with their gaps as SBUF has; many operands of one sum; masks in loops;
    products of many small matrices"""
    case("rows_of_four", lambda x, i, u: (x[i], x.at[i].add(u)[::9], x[:, 1] * 2), lambda d: (
        d.f32(8192, 4), d.ints(np.int32, 1000, low=-8192, high=8191), d.f32(1000, 4)))
    case("scan_compositing", compositing, lambda d: (d.f32(120), d.f32(120, 3), abs(d.f32(120)) / 4, abs(d.f32(120)) / 4), ulps=16)
    case("nested_where_grad", jax.grad(nested), lambda d: abs(d.f32(24, 28)))
    case("update_mask", lambda m, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1].at[2 * s[0]].set(~s[1][s[0]])), (0, m))[1], lambda d: (
        d.rng.random(40) < 0.5, np.int32(17)))
    case("small_products", lambda a, b, c, d: (jnp.einsum("nij,nj->ni", a, b), jnp.einsum("nji,njk->nki", a, c), jnp.einsum("ni,nj->nij", b, b),
         jnp.einsum("nijk,nkjl->lni", a.reshape(250, 3, 1, 3), c.reshape(250, 3, 1, 2)), jnp.einsum("nij,nj->ni", d, d[:, 0]).astype(jnp.float32)), lambda d: (
             d.f32(250, 3, 3), d.f32(250, 3), d.f32(250, 3, 2), d.f32(130, 4, 4).astype(np.float16)), ulps=2)
    case("multiply_many", lambda x, y, i, u, v: (x.at[i].multiply(u), y.at[:, i].multiply(v)), lambda d: (
        d.edges(np.int32, 40, 3), d.edges(np.int32, 2, 7), d.ints(np.int32, 2501, low=-41, high=45), d.edges(np.int32, 2501, 3), d.edges(np.int32, 2, 2501)))


def add_written(cases: dict) -> None:
    """2,500 updates by a computation: of two numbers the larger, with its label, the first of equal ones"""
    body = """%p = stablehlo.compare GE, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %v = stablehlo.select %p, %a0, %b0 : tensor<i1>, tensor<f32> %k = stablehlo.select %p, %a1, %b1 : tensor<i1>, tensor<i32>
        stablehlo.return %v, %k : tensor<f32>, tensor<i32>"""

    def larger(a, b):
        kept = a[0] >= b[0]
        return np.where(kept, a[0], b[0]), np.where(kept, a[1], b[1])
    cases["largest_of_many"] = (scattered(larger), lambda d: (
        d.f32(30, 4), d.ints(np.int32, 30, 4), d.ints(np.int32, 2500, 1, low=-2, high=33), np.round(d.f32(2500, 4), 1), d.ints(np.int32, 2500, 4)),
            0.0, False, scatter_text(("f32", "i32"), 30, 2500, 4, body))
