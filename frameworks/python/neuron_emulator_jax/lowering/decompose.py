# SPDX-License-Identifier: MIT
"""Rules for what solves and decomposes: eigh, svd, Cholesky, LU, triangular and tridiagonal systems.

Real matrices become the calls of LAPACK that the compiler expands (docs/compiler-operations.md), so that there is one implementation.
Complex ones are reduced here, by reflections, to real ones that have the same values.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import private
from .matrices import (Array, column, computed, from_left, from_right, greatest, is_complex, lapack, matrices, product, reflection,
                       size, unless_bad, where_good, with_column, with_element)
from .orthogonal import from_triangle, tridiagonal_of


def real_eigh(a: Array, lower: bool) -> tuple[Array, Array]:
    batch = a.shape[:-2]
    v, w, info = lapack("ssyevd", [(a.shape, a.dtype), (a.shape[:-1], a.dtype), (batch, np.int32)], a,
                        mode="V", uplo="L" if lower else "U")
    return unless_bad(info, v), unless_bad(info, w)


@matrices()
def reduced_eigh(a: Array, *, lower: bool) -> tuple[Array, Array, Array]:
    return tridiagonal_of(from_triangle(a, lower))


@computed
def eigh(a: Array, *, lower: bool, subset_by_index: Any = None, **_: Any) -> tuple[Array, Array]:
    """Always in ascending order, by the one algorithm that there is"""
    if not a.size:
        v, w = a, jnp.zeros(a.shape[:-1], jnp.real(a).dtype)
    elif is_complex(a):
        t, vs, taus = reduced_eigh(a, lower=lower)
        z, w = real_eigh(t, True)
        v = matrices()(product)(vs, taus, z.astype(a.dtype))
    else:
        v, w = real_eigh(a, lower)
    if subset_by_index is not None:
        v, w = v[..., slice(*subset_by_index)], w[..., slice(*subset_by_index)]
    return v, w


def real_svd(a: Array, mode: str) -> tuple[Array, Array, Array]:
    *batch, m, n = a.shape
    k = min(m, n)
    shapes = [(*batch, m, n), (*batch, k), (*batch, m, k if mode == "S" else m), (*batch, k if mode == "S" else n, n)]
    _, s, u, v, info = lapack("sgesdd", [*((shape, a.dtype) for shape in shapes), (batch, np.int32)], a, mode=mode)
    return unless_bad(info, s), unless_bad(info, u), unless_bad(info, v)


@matrices()
def bidiagonal(a: Array) -> tuple[Array, Array, Array, Array, Array]:
    """(b, left vectors, their taus, right vectors, their taus) of at least as many rows as columns: b is real and upper."""
    m, n = a.shape

    def body(k: Array, state: Any) -> Any:
        a, d, e, (left, ltaus), (right, rtaus) = state
        beta, v, tau = reflection(column(a, k), k)
        a = from_left(a, v, jnp.conj(tau))
        row = jnp.conj(lax.dynamic_index_in_dim(a, k, 0, keepdims=False))
        gamma, u, sigma = reflection(row, k + 1)
        a = from_right(a, u, sigma)
        return (a, with_element(d, k, jnp.real(beta)), with_element(e, k, jnp.real(gamma)),
                (with_column(left, k, v), with_element(ltaus, k, tau)), (with_column(right, k, u), with_element(rtaus, k, sigma)))
    real = jnp.real(a).dtype
    start = (a, jnp.zeros((n,), real), jnp.zeros((n,), real), (jnp.zeros((m, n), a.dtype), jnp.zeros((n,), a.dtype)),
             (jnp.zeros((n, n), a.dtype), jnp.zeros((n,), a.dtype)))
    _, d, e, left, right = lax.fori_loop(0, n, body, start)
    return jnp.diag(d) + jnp.pad(jnp.diag(e[:-1]), ((0, 1), (1, 0))), *left, *right


def complex_svd(a: Array, mode: str) -> tuple[Array, Array, Array]:
    *batch, m, n = a.shape
    if m < n:
        s, u, v = complex_svd(jnp.conj(jnp.swapaxes(a, -1, -2)), mode)
        return s, jnp.conj(jnp.swapaxes(v, -1, -2)), jnp.conj(jnp.swapaxes(u, -1, -2))
    b, left, ltaus, right, rtaus = bidiagonal(a)
    s, p, w = real_svd(b, "N" if mode == "N" else "A")
    if mode == "N":
        return s, p.astype(a.dtype), w.astype(a.dtype)
    wide = m if mode == "A" else n
    p = jnp.pad(p, [(0, 0)] * len(batch) + [(0, m - n), (0, wide - n)])
    p = p + jnp.pad(jnp.eye(wide - n, dtype=p.dtype), ((n, m - wide), (n, 0))) if wide > n else p
    u = matrices()(product)(left, ltaus, p.astype(a.dtype))
    v = matrices()(product)(right, rtaus, jnp.swapaxes(w, -1, -2).astype(a.dtype))
    return s, u, jnp.conj(jnp.swapaxes(v, -1, -2))


def no_svd(a: Array, full: bool) -> tuple[Array, Array, Array]:
    """The decomposition of a matrix without rows or without columns"""
    *batch, m, n = a.shape

    def unit(size: int, wide: int) -> Array:
        return jnp.broadcast_to(jnp.eye(size, wide, dtype=a.dtype), (*batch, size, wide))
    return jnp.zeros((*batch, 0), jnp.real(a).dtype), unit(m, m if full else 0), unit(n if full else 0, n)


@computed
def svd(a: Array, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, **_: Any) -> tuple[Array, ...]:
    if not a.size:
        result = no_svd(a, full_matrices)
    else:
        mode = "N" if not compute_uv else "A" if full_matrices else "S"
        result = (complex_svd if is_complex(a) else real_svd)(a, mode)
    s, u, v = result
    if subset_by_index is not None and subset_by_index != (0, min(a.shape[-2:])):
        part = slice(*subset_by_index)
        s, u, v = s[..., part], u[..., part], v[..., part, :]
    return (s, u, v) if compute_uv else (s,)


@matrices()
def complex_cholesky(a: Array) -> Array:
    """NaN in all of it where a is not positive definite, as LAPACK's caller makes it; of a its lower triangle counts."""
    def body(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        a, result, good = state
        index = lax.iota(np.int32, a.shape[0])
        x = column(a, k)
        pivot = jnp.sum(jnp.where(index == k, jnp.real(x), 0))
        good = good & (pivot > 0) & (pivot < np.inf)
        root = jnp.sqrt(jnp.where(good, pivot, 1))
        x = jnp.where(index > k, x / root, jnp.where(index == k, root, 0)).astype(a.dtype)
        return a - x[:, None] * jnp.conj(x)[None, :], with_column(result, k, x), good
    start = a, jnp.zeros_like(a), jnp.ones((), bool)
    _, result, good = lax.fori_loop(0, a.shape[0], body, start)
    return where_good(good, result)


@computed
def cholesky(a: Array, **_: Any) -> Array:
    if not a.size:
        return a
    if is_complex(a):
        return complex_cholesky(a)
    result, info = lapack("spotrf", [(a.shape, a.dtype), (a.shape[:-2], np.int32)], a, uplo="L")
    return unless_bad(info, result)


@computed
def lu(a: Array) -> tuple[Array, Array, Array]:
    """The decomposition of real matrices; JAX's own loop is used for complex ones."""
    *batch, m, n = a.shape
    if not a.size:
        return a, jnp.zeros((*batch, 0), np.int32), jnp.broadcast_to(lax.iota(np.int32, m), (*batch, m))
    pivots = ((*batch, min(m, n)), np.int32)
    result, pivot, _ = lapack("sgetrf", [(a.shape, a.dtype), pivots, (batch, np.int32)], a)
    pivot = pivot - 1
    return result, pivot, private.need("jax._src.lax.linalg", "lu_pivots_to_permutation")(pivot, m)


@matrices()
def forward(a: Array, b: Array, *, unit: bool) -> Array:
    """x of a x = b, of which a's lower triangle counts"""
    def body(k: Array, x: Array) -> Array:
        row = lax.dynamic_index_in_dim(a, k, 0, keepdims=False)
        index = lax.iota(np.int32, a.shape[0])
        known = jnp.sum(jnp.where(index < k, row, 0)[:, None] * jnp.where(index[:, None] < k, x, 0), axis=0)
        new = lax.dynamic_index_in_dim(b, k, 0, keepdims=False) - known
        new = new if unit else new / jnp.sum(jnp.where(index == k, row, 0))
        return jnp.where(index[:, None] == k, new[None, :], x)
    return lax.fori_loop(0, a.shape[0], body, jnp.zeros_like(b))


@computed
def triangular_solve(a: Array, b: Array, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                     unit_diagonal: bool) -> Array:
    """Solves complex systems: every case is turned into that of a lower one on the left."""
    if not b.size:
        return b
    if conjugate_a:
        a = jnp.conj(a)
    if transpose_a:
        a, lower = jnp.swapaxes(a, -1, -2), not lower
    if not left_side:
        a, b, lower = jnp.swapaxes(a, -1, -2), jnp.swapaxes(b, -1, -2), not lower
    if not lower:
        a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
    x = forward(a, b, unit=unit_diagonal)
    x = x if lower else x[..., ::-1, :]
    return x if left_side else jnp.swapaxes(x, -1, -2)


@matrices(1)
def tridiagonal_elimination(dl: Array, d: Array, du: Array, b: Array, *, perturb: bool) -> Array:
    """Elimination with pivots among neighbours, as gtsv's: a row that was exchanged has a second element right of the diagonal.

    perturb: pivots that are nothing beside the matrix are made as large as its rounding errors, so that x is finite.
    """
    n = d.shape[0]
    real = jnp.real(d).dtype
    most = jnp.maximum(greatest(d), jnp.maximum(greatest(dl[1:]), greatest(du[:-1]))) if n > 1 else greatest(d)
    least = jnp.maximum(most * jnp.finfo(real).eps, jnp.finfo(real).tiny)

    def pivot(x: Array) -> Array:
        return jnp.where(size(x) < least, jnp.where(jnp.real(x) < 0, -least, least), x) if perturb else x
    rows = jnp.stack([d, du, jnp.zeros_like(d)], axis=1)
    table = jnp.concatenate([rows, b], axis=1)

    def put(table: Array, k: Array, row: Array) -> Array:
        return jnp.where(lax.broadcasted_iota(np.int32, table.shape, 0) == k, row[None, :], table)

    def down(k: Array, table: Array) -> Array:
        here, below = (lax.dynamic_index_in_dim(table, k + i, 0, keepdims=False) for i in (0, 1))
        low = lax.dynamic_index_in_dim(dl, k + 1, keepdims=False)
        below = jnp.concatenate([jnp.stack([low, below[0], below[1]]), below[3:]])
        swap = size(here[0]) < size(below[0])
        top, other = jnp.where(swap, below, here), jnp.where(swap, here, below)
        other = other - other[0] / pivot(top[0]) * top
        other = jnp.concatenate([other[1:3], jnp.zeros((1,), table.dtype), other[3:]])
        return put(put(table, k, top), k + 1, other)

    def up(i: Array, x: Array) -> Array:
        k = n - 1 - i
        row = lax.dynamic_index_in_dim(table, k, 0, keepdims=False)
        one, two = (lax.dynamic_index_in_dim(x, k + j, 0, keepdims=False) for j in (1, 2))
        return put(x, k, (row[3:] - row[1] * one - row[2] * two) / pivot(row[0]))
    table = lax.fori_loop(0, n - 1, down, table) if n > 1 else table
    return lax.fori_loop(0, n, up, jnp.zeros((n + 2, b.shape[1]), b.dtype))[:n]


@computed
def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, *, perturb_singular: bool = False, **_: Any) -> Array:
    if not b.size:
        return b
    if is_complex(b) or perturb_singular:
        return tridiagonal_elimination(dl, d, du, b, perturb=perturb_singular)
    shapes = [(x.shape, x.dtype) for x in (dl, d, du, b)]
    *_, x, info = lapack("sgtsv", [*shapes, (b.shape[:-2], np.int32)], dl, d, du, b)
    return unless_bad(info, x)


def sort(*operands: Array, dimension: int, is_stable: bool, num_keys: int) -> tuple[Array, ...]:
    """Complex numbers by their real, then by their imaginary parts, which are operands of their own"""
    parts, keys = [], 0
    for i, x in enumerate(operands):
        halves = [jnp.real(x), jnp.imag(x)] if is_complex(x) else [x]
        parts += halves
        keys += len(halves) if i < num_keys else 0
    done = list(lax.sort(parts, dimension=dimension, is_stable=is_stable, num_keys=keys))
    return tuple(lax.complex(done.pop(0), done.pop(0)) if is_complex(x) else done.pop(0) for x in operands)


def mulhi(x: Array, y: Array) -> Array:
    """The upper half of the products of 32-bit integers, from those of their halves; narrower ones fit into 32 bits"""
    bits = 8 * x.dtype.itemsize
    if bits > 32:
        raise NotImplementedError(f"mulhi of {x.dtype}: a NeuronCore computes in 32 bits")
    if bits < 32:
        wide = np.int32 if jnp.issubdtype(x.dtype, jnp.signedinteger) else np.uint32
        return ((x.astype(wide) * y.astype(wide)) >> bits).astype(x.dtype)
    low = (x & 0xFFFF).astype(np.uint32) * (y & 0xFFFF).astype(np.uint32)
    # of signed ones the shift keeps the sign; each product fits into 32 bits
    one, two = (x >> 16) * (y & 0xFFFF), (x & 0xFFFF) * (y >> 16)
    middle = (low >> 16) + (one.astype(np.uint32) & 0xFFFF) + (two.astype(np.uint32) & 0xFFFF)
    high = (x >> 16) * (y >> 16) + (one >> 16) + (two >> 16)
    return high + (middle >> 16).astype(x.dtype)


def approx_top_k(x: Array, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool = True,
                 recall_target: float = 0.95, reduction_input_size_override: int = -1, **_: Any) -> tuple[Array, Array]:
    """The exact ones, which no recall target is above"""
    if not aggregate_to_topk:
        size = private.need("jax._src.lax.ann", "approx_top_k_p").abstract_eval(
            jax.core.ShapedArray(x.shape, x.dtype), k=k, reduction_dimension=reduction_dimension, recall_target=recall_target,
            is_max_k=is_max_k, reduction_input_size_override=reduction_input_size_override, aggregate_to_topk=False)
        k = size[0][0].shape[reduction_dimension]
    last = jnp.moveaxis(x, reduction_dimension, -1)
    values, indices = lax.top_k(last if is_max_k else -last, k)
    values = values if is_max_k else -values
    return jnp.moveaxis(values, -1, reduction_dimension), jnp.moveaxis(indices, -1, reduction_dimension).astype(np.int32)
