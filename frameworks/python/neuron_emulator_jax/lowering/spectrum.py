# SPDX-License-Identifier: MIT
"""Rules for general matrices: Schur form and eigenvalues, by QR steps with implicit shifts (Golub and Van Loan, 7.4 to 7.6).

One loop does all: each iteration is one similarity transformation by a reflection of two or three neighbouring rows, which
begins a sweep (two shifts for real matrices, Wilkinson's for complex ones), carries its bulge one row down, or rotates a pair
of rows into LAPACK's standard form. A matrix of a batch that is ready stays as it is until the last one is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .matrices import (Array, column, computed, from_left, from_right, is_complex, length, matrices, over, product, real_type,
                       scale_of, size, square, times, unit_lower, where_good)
from .orthogonal import hessenberg

SWEEPS = 30  # for each eigenvalue, as LAPACK's
UNUSUAL = 10  # sweeps after which other shifts are tried
LONG = 2.0**20  # a step of triangular_vectors makes a vector at most 2^24 n times as long, whose square is still a number
USUAL = 1e-8, 1e8  # matrices of these sizes are not scaled


class State(NamedTuple):
    h: Array
    z: Array
    pairs: Array  # [n]: rows i and i + 1 are a pair of complex eigenvalues, in standard form
    at: Array  # the row that the bulge begins at, -1: a sweep begins
    low: Array  # the block that is worked on
    high: Array
    sweeps: Array  # of this block's end
    iterations: Array
    ready: Array


class Corner(NamedTuple):
    """The last two rows and columns of the block"""
    a: Array
    b: Array
    c: Array
    d: Array


def at(x: Array, k: Array) -> Array:
    """x[k], and 0 outside"""
    return jnp.sum(jnp.where(lax.iota(np.int32, x.shape[0]) == k, x, 0))


def diagonals(h: Array) -> tuple[Array, Array, Array]:
    """The diagonal, and what is below and above it, as long"""
    row, col = (lax.broadcasted_iota(np.int32, h.shape, d) for d in (0, 1))
    return (jnp.sum(jnp.where(row == col, h, 0), axis=0), jnp.sum(jnp.where(row == col + 1, h, 0), axis=0),
            jnp.sum(jnp.where(col == row + 1, h, 0), axis=1))


def vector(n: int, first: Array, *values: Array) -> Array:
    index = lax.iota(np.int32, n)
    return sum(jnp.where(index == first + i, x, 0) for i, x in enumerate(values))


def towards(x: Array, first: Array) -> tuple[Array, Array]:
    """(v, tau) of the reflection I - tau v v' that takes x, which is 0 before first, to a multiple of first's unit vector"""
    norm = length(x)
    idle = (norm == 0) | ~jnp.isfinite(norm)
    x = over(x, jnp.where(idle, 1, norm))
    head = at(x, first)
    part = jnp.sqrt(square(head))
    phase = jnp.where(part > 0, over(head, jnp.where(part > 0, part, 1)), 1)
    v = jnp.where(lax.iota(np.int32, x.shape[0]) == first, x + phase, x)
    return v, jnp.where(idle, 0, 1 / (1 + part))


def sign(x: Array) -> Array:
    return jnp.where(x < 0, -1, 1).astype(x.dtype)


def block(h: Array, pairs: Array) -> tuple[Array, Array, Array, Array]:
    """h without what is nothing below its diagonal; the block at its end that is not ready: low, high, and if there is one"""
    n = h.shape[0]
    index = lax.iota(np.int32, n)
    d, below, _ = diagonals(h)
    near = size(d) + size(jnp.roll(d, -1))
    near = jnp.where(near == 0, jnp.max(size(h)), near)
    small = (size(below) <= jnp.finfo(real_type(h)).eps * near) | (index == n - 1)
    row, col = (lax.broadcasted_iota(np.int32, h.shape, d) for d in (0, 1))
    h = jnp.where((row == col + 1) & small[None, :], 0, h)
    live = ~small & ~pairs
    high = jnp.max(jnp.where(live, index, -2)) + 1
    low = jnp.max(jnp.where(~live & (index < high), index, -1)) + 1
    return h, low, high, high > 0


def shifts_of_real(h: Array, low: Array, high: Array, corner: Corner, unusual: Array) -> Array:
    """The first column of (h - s)(h - t), s and t the corner's eigenvalues, over h[low + 1, low]"""
    d, below, above = diagonals(h)
    x, y, w = corner.d, corner.a, corner.b * corner.c
    odd = jnp.abs(at(below, high - 1)) + jnp.where(high - 2 >= low, jnp.abs(at(below, high - 2)), 0)
    x, y = (jnp.where(unusual, 0.75 * odd + corner.d, s) for s in (x, y))
    w = jnp.where(unusual, -0.4375 * odd * odd, w)
    head, under = at(d, low), at(below, low)
    r, s = x - head, y - head
    first = (r * s - w) / jnp.where(under == 0, 1, under) + at(above, low)
    third = jnp.where(high - low >= 2, at(below, low + 1), 0)
    return vector(h.shape[0], low, first, at(d, low + 1) - head - r - s, third)


def shift_of_complex(h: Array, low: Array, high: Array, corner: Corner, unusual: Array) -> Array:
    d, below, _ = diagonals(h)
    half = (corner.a - corner.d) / 2
    scale = jnp.maximum(jnp.maximum(size(half), size(corner.b)), jnp.maximum(size(corner.c), jnp.finfo(np.float32).tiny))
    b, c = over(corner.b, scale), over(corner.c, scale)
    root = scale * jnp.sqrt(over(half, scale) ** 2 + b * c)
    far = jnp.where(jnp.real(half * jnp.conj(root)) < 0, half - root, half + root)
    near = jnp.where(size(far) > 0, -b * (corner.c / jnp.where(far == 0, 1, far)) * scale, 0)
    shift = corner.d + near
    shift = jnp.where(unusual, corner.d + 0.75 * size(at(below, high - 1)), shift)
    return vector(h.shape[0], low, at(d, low) - shift, at(below, low))


def rotation_of_pair(n: int, low: Array, corner: Corner) -> tuple[Array, Array]:
    """The vector that a reflection of two rows takes to the first of them, and if their eigenvalues are real.

    Real ones: an eigenvector, which leaves the second row a zero. Others: that which makes both elements of the diagonal equal.
    """
    a, b, c, d = corner
    half = (a - d) / 2
    scale = jnp.maximum(jnp.maximum(jnp.abs(half), jnp.abs(b)), jnp.abs(c))
    scale = jnp.where(scale == 0, 1, scale)
    inner = (half / scale) ** 2 + (b / scale) * (c / scale)
    real = inner >= 0
    root = half + sign(half) * scale * jnp.sqrt(jnp.where(real, inner, 0))
    both = b + c
    norm = length(jnp.stack([d - a, both]))
    cos2 = jnp.where(norm == 0, 1, jnp.abs(both) / jnp.where(norm == 0, 1, norm))
    cos = jnp.sqrt((1 + cos2) / 2)
    sin = jnp.where(norm == 0, 0, (d - a) * sign(both) / jnp.where(norm == 0, 1, norm)) / (2 * cos)
    return jnp.where(real, vector(n, low, root, c), vector(n, low, cos, sin)), real


def exact_pair(h: Array, low: Array, real: Array) -> Array:
    """The result that rotation_of_pair approximates, without its rounding errors"""
    row, col = (lax.broadcasted_iota(np.int32, h.shape, d) for d in (0, 1))
    d, _, _ = diagonals(h)
    mean = at(d, low) + (at(d, low + 1) - at(d, low)) / 2
    on = (row == col) & ((row == low) | (row == low + 1)) & ~real
    return jnp.where(on, mean, jnp.where((row == low + 1) & (col == low) & real, 0, h))


def iterate(s: State) -> State:
    n = s.h.shape[0]
    index = lax.iota(np.int32, n)
    row, col = (lax.broadcasted_iota(np.int32, s.h.shape, d) for d in (0, 1))
    begins = s.at < 0
    h, low, high, any_left = block(s.h, s.pairs)
    h = jnp.where(begins, h, s.h)
    low, high = (jnp.where(begins, new, old) for new, old in ((low, s.low), (high, s.high)))
    sweeps = jnp.where(begins, jnp.where(high == s.high, s.sweeps + 1, 0), s.sweeps)
    first = jnp.where(begins, low, s.at)

    d, below, above = diagonals(h)
    corner = Corner(at(d, high - 1), at(above, high - 1), at(below, high - 1), at(d, high))
    unusual = sweeps % UNUSUAL == UNUSUAL - 1
    width = 2 if is_complex(h) else 3
    bulge = jnp.where((index >= first) & (index < first + width) & (index <= high), column(h, jnp.maximum(first - 1, 0)), 0)
    if is_complex(h):
        start, pair, real = shift_of_complex(h, low, high, corner, unusual), jnp.zeros((), bool), jnp.ones((), bool)
    else:
        split, real = rotation_of_pair(n, low, corner)
        pair = begins & (high - low == 1)
        start = jnp.where(pair, split, shifts_of_real(h, low, high, corner, unusual))
    v, tau = towards(jnp.where(begins, start, bulge), first)
    tau = jnp.where(any_left | ~begins, tau, 0)
    h = from_right(from_left(h, v, tau), v, tau)
    h = jnp.where(~begins & (col == first - 1) & (row > first), 0, h)
    h = jnp.where(pair, exact_pair(h, low, real), h)
    following = jnp.where(pair | (first + 1 >= high), -1, first + 1)
    return State(h, from_right(s.z, v, tau), s.pairs | ((index == low) & pair & ~real), following, low, high, sweeps,
                 s.iterations + 1, begins & ~any_left)


def schur_form(a: Array) -> tuple[Array, Array, Array, Array, Array]:
    """(t, z, pairs, scale, good): a = scale z t z'"""
    n = a.shape[0]
    scale = scale_of(a)
    scale = jnp.where((scale < USUAL[0]) | (scale > USUAL[1]), scale, 1)
    a = over(a, scale)
    packed, taus = hessenberg(a) if n > 2 else (a, jnp.zeros((max(n - 1, 0),), a.dtype))
    row, col = (lax.broadcasted_iota(np.int32, a.shape, d) for d in (0, 1))
    h = jnp.where(row <= col + 1, packed, 0)
    z = jnp.eye(n, dtype=a.dtype)
    z = product(unit_lower(packed, 1)[:, :n - 1], taus, z) if n > 2 else z
    limit = SWEEPS * max(10, n) * n
    finite = jnp.all(jnp.isfinite(a))
    zero = jnp.zeros((), np.int32)
    start = State(jnp.where(finite, h, 0), z, jnp.zeros((n,), bool), zero - 1, zero, zero, zero, zero, ~finite)
    end = lax.while_loop(lambda s: ~s.ready & (s.iterations < limit), iterate, start)
    return end.h, end.z, end.pairs, scale, end.ready & finite


@computed
@matrices()
def schur(a: Array, *, compute_schur_vectors: bool, sort_eig_vals: bool = False, **_: Any) -> tuple[Array, ...]:
    if sort_eig_vals:
        raise NotImplementedError("schur: eigenvalues in an order of the caller's are not implemented")
    if not a.size:
        return (a, a) if compute_schur_vectors else (a,)
    t, z, _, scale, good = schur_form(a)
    t, z = where_good(good, t * scale), where_good(good, z)
    return (t, z) if compute_schur_vectors else (t,)


def triangular_from_real(t: Array, z: Array, pairs: Array) -> tuple[Array, Array, Array]:
    """The complex Schur form of a real one, and the eigenvalues, which are exactly real or conjugate."""
    n = t.shape[0]
    d, below, above = diagonals(t)
    high = jnp.where(pairs, jnp.sqrt(jnp.abs(below)) * jnp.sqrt(jnp.abs(above)), 0)
    w = lax.complex(d, high - jnp.roll(high, 1))

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        t, z = state
        imaginary = at(high, k)
        x = vector(n, k, lax.complex(jnp.zeros_like(imaginary), imaginary), at(below, k).astype(t.dtype))
        v, tau = towards(x, k)
        tau = jnp.where(imaginary != 0, tau, 0)
        return from_right(from_left(t, v, tau), v, tau), from_right(z, v, tau)
    t, z = lax.fori_loop(0, n - 1, body, (t.astype(w.dtype), z.astype(w.dtype))) if n > 1 else (t.astype(w.dtype), z.astype(w.dtype))
    return t, z, w


def triangular_vectors(t: Array) -> Array:
    """Eigenvectors of an upper triangular matrix, as columns of any length; those that would grow too long are shortened."""
    n = t.shape[0]
    row, col = (lax.broadcasted_iota(np.int32, t.shape, d) for d in (0, 1))
    w, _, _ = diagonals(t)
    least = jnp.maximum(jnp.finfo(np.float32).eps * jnp.max(size(t)), jnp.finfo(np.float32).tiny)

    def body(i: Array, x: Array) -> Array:
        k = n - 1 - i
        line = lax.dynamic_index_in_dim(t, k, 0, keepdims=False)
        above = jnp.sum(jnp.where(lax.iota(np.int32, n) > k, line, 0)[:, None] * x, axis=0)
        apart = w - at(w, k)
        apart = jnp.where(size(apart) < least, least, apart)
        x = jnp.where((row == k) & (col > k), (above / apart)[None, :], x)
        long = jnp.max(size(x), axis=0)
        return over(x, jnp.where(long > LONG, long, 1)[None, :])
    return lax.fori_loop(0, n, body, jnp.eye(n, dtype=t.dtype))


def normalized(x: Array) -> Array:
    """Columns of length 1, whose greatest element is real and positive"""
    x = over(x, jnp.max(size(x), axis=0)[None, :])
    squares = square(x)
    top = jnp.sqrt(jnp.max(squares, axis=0))
    row = lax.broadcasted_iota(np.int32, x.shape, 0)
    first = jnp.min(jnp.where(squares == jnp.max(squares, axis=0)[None, :], row, x.shape[0]), axis=0)
    head = jnp.sum(jnp.where(row == first[None, :], x, 0), axis=0)
    x = over(x, top[None, :]) * over(jnp.conj(head), top)[None, :]
    return over(x, jnp.sqrt(jnp.sum(square(x), axis=0))[None, :])


def of_real(x: Array, w: Array) -> Array:
    """Eigenvectors of a real matrix: real, or the conjugate of that of the eigenvalue before"""
    before = jnp.roll(x, 1, axis=1)
    imaginary = jnp.where(jnp.imag(w) == 0, 0, jnp.where(jnp.imag(w) > 0, jnp.imag(x), -jnp.imag(before)))
    return lax.complex(jnp.where(jnp.imag(w) < 0, jnp.real(before), jnp.real(x)), imaginary)


@computed
@matrices()
def eig(a: Array, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> tuple[Array, ...]:
    count = compute_left_eigenvectors + compute_right_eigenvectors
    if not a.size:
        empty = a.astype(np.complex64)
        return (empty[:, 0] if a.shape[1] else jnp.zeros((0,), np.complex64), *[empty] * count)
    t, z, pairs, scale, good = schur_form(a)
    real = not is_complex(a)
    if real:
        t, z, w = triangular_from_real(t, z, pairs)
    else:
        w, _, _ = diagonals(t)
    row, col = (lax.broadcasted_iota(np.int32, t.shape, d) for d in (0, 1))
    t = jnp.where(row == col, w[None, :], jnp.where(row < col, t, 0))
    result = [where_good(good, w * scale)]
    sides = [jnp.conj(t).T[::-1, ::-1]] * compute_left_eigenvectors + [t] * compute_right_eigenvectors
    for i, side in enumerate(sides):
        x = triangular_vectors(side)
        x = x[::-1, ::-1] if i < compute_left_eigenvectors else x
        x = normalized(times(z, x))
        result.append(where_good(good, of_real(x, w) if real else x))
    return tuple(result)
