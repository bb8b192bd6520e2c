# SPDX-License-Identifier: MIT
"""Rules for what reflections make: QR with and without pivots, its Q, Hessenberg and tridiagonal form.

The compiler has QR of real matrices (the custom calls Qr and ProductOfElementaryHouseholderReflectors, which JAX writes for
any platform), so these are for complex ones, and for what it has not at all. Packed as LAPACK does.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from .matrices import (Array, column, computed, from_left, from_right, is_complex, matrices, over, product, real_type, reflection,
                       scale_of, square, unit_lower, with_column, with_element)


def reduced_column(old: Array, first: Array, beta: Array, v: Array) -> Array:
    """A column after its reflection: what was above the reflection, its result, its vector"""
    index = lax.iota(np.int32, old.shape[0])
    return jnp.where(index < first, old, jnp.where(index == first, beta, v))


@computed
@matrices()
def geqrf(a: Array) -> tuple[Array, Array]:
    count = min(a.shape)

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, taus = state
        x = column(a, k)
        beta, v, tau = reflection(x, k)
        later = lax.broadcasted_iota(np.int32, a.shape, 1) > k
        a = jnp.where(later, from_left(a, v, jnp.conj(tau)), a)
        return with_column(a, k, reduced_column(x, k, beta, v)), with_element(taus, k, tau)
    start = a, jnp.zeros((count,), a.dtype)
    return lax.fori_loop(0, count, body, start) if count else start


@computed
@matrices()
def householder_product(a: Array, taus: Array) -> Array:
    return product(unit_lower(a), taus, jnp.eye(*a.shape, dtype=a.dtype)) if a.size else a


@computed
@matrices()
def geqp3(a: Array, pivots: Array, **_) -> tuple[Array, Array, Array]:
    """QR of a with its columns in an order of falling length, counted from 1.

    JAX gives no columns that have to come first: its pivots are zeros, and not read.
    """
    m, n = a.shape
    count = min(a.shape)

    def swapped(x: Array, k: Array, p: Array) -> Array:
        index = lax.broadcasted_iota(np.int32, x.shape, 1)
        return jnp.where(index == k, column(x, p)[:, None], jnp.where(index == p, column(x, k)[:, None], x))

    def body(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        a, order, taus = state
        row, col = (lax.broadcasted_iota(np.int32, a.shape, d) for d in (0, 1))
        left = jnp.where((row >= k) & (col >= k), a, 0)
        norms = jnp.sum(square(over(left, scale_of(left))), axis=0)
        p = jnp.argmax(jnp.where(lax.iota(np.int32, n) >= k, norms, -1)).astype(np.int32)
        a, order = swapped(a, k, p), swapped(order[None, :], k, p)[0]
        x = column(a, k)
        beta, v, tau = reflection(x, k)
        a = jnp.where(lax.broadcasted_iota(np.int32, a.shape, 1) > k, from_left(a, v, jnp.conj(tau)), a)
        return with_column(a, k, reduced_column(x, k, beta, v)), order, with_element(taus, k, tau)
    start = a, lax.iota(np.int32, n) + 1, jnp.zeros((count,), a.dtype)
    a, order, taus = lax.fori_loop(0, count, body, start) if count else start
    return a, order.astype(pivots.dtype), taus


@computed
@matrices()
def hessenberg(a: Array) -> tuple[Array, Array]:
    n = a.shape[0]

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, taus = state
        x = column(a, k)
        beta, v, tau = reflection(x, k + 1)
        later = lax.broadcasted_iota(np.int32, a.shape, 1) > k
        both = from_right(from_left(a, v, jnp.conj(tau)), v, tau)
        return with_column(jnp.where(later, both, a), k, reduced_column(x, k + 1, beta, v)), with_element(taus, k, tau)
    start = a, jnp.zeros((max(n - 1, 0),), a.dtype)
    return lax.fori_loop(0, n - 1, body, start) if n > 1 else start


def from_triangle(a: Array, lower: bool) -> Array:
    """The whole Hermitian matrix, of which one triangle counts; its diagonal is real."""
    half = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    diagonal = jnp.diag(jnp.real(jnp.diagonal(a)).astype(a.dtype))
    return half + jnp.conj(half).T + diagonal


def tridiagonal_of(a: Array) -> tuple[Array, Array, Array]:
    """(t, v, taus) of a whole Hermitian matrix: t is tridiagonal and real, v has the vectors as columns."""
    n = a.shape[0]

    def body(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        t, vs, taus = state
        beta, v, tau = reflection(column(t, k), k + 1)
        both = from_right(from_left(t, v, jnp.conj(tau)), v, tau)
        row, col = (lax.broadcasted_iota(np.int32, t.shape, d) for d in (0, 1))
        beside = (row == k) & (col == k + 1) | (col == k) & (row == k + 1)
        gone = (row == k) & (col > k) | (col == k) & (row > k)
        t = jnp.where(beside, beta, jnp.where(gone, 0, jnp.where((row > k) & (col > k), both, t)))
        return t, with_column(vs, k, v), with_element(taus, k, tau)
    start = a, jnp.zeros((n, max(n - 1, 0)), a.dtype), jnp.zeros((max(n - 1, 0),), a.dtype)
    t, vs, taus = lax.fori_loop(0, n - 1, body, start) if n > 1 else start
    return jnp.real(t), vs, taus


@computed
@matrices()
def tridiagonal(a: Array, *, lower: bool) -> tuple[Array, Array, Array, Array]:
    """The upper triangle is the lower one of the matrix that is turned about its other diagonal."""
    whole = from_triangle(a, lower)
    t, vs, taus = tridiagonal_of(whole if lower else whole[::-1, ::-1])
    n = a.shape[0]
    row, col = (lax.broadcasted_iota(np.int32, a.shape, d) for d in (0, 1))
    wide = jnp.pad(vs, ((0, 0), (0, n - vs.shape[1])))
    d, e = jnp.diagonal(t), jnp.diagonal(t, -1)
    packed = jnp.where(row > col + 1, wide, jnp.where(row >= col, t.astype(a.dtype), 0))
    if not lower:
        packed, d, e, taus = packed[::-1, ::-1], d[::-1], e[::-1], taus[::-1]
    seen = row >= col if lower else row <= col
    return jnp.where(seen, packed, a), d.astype(real_type(a)), e.astype(real_type(a)), taus


