# SPDX-License-Identifier: MIT
"""Checks of results, in float64 by NumPy and SciPy alone: each check returns what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

EPS = float(np.finfo(np.float32).eps)


def wide(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def near(what: str, got: np.ndarray, want: np.ndarray, units: float, scale: float | None = None) -> Iterator[str]:
    """Within so many rounding errors of the greatest element"""
    got, want = wide(got), wide(want)
    if got.shape != want.shape:
        yield f"{what}: shape {got.shape}, expected {want.shape}"
        return
    if not got.size:
        return
    if (np.isnan(got) != np.isnan(want)).any():
        yield f"{what}: {np.isnan(got).sum()} NaN, expected {np.isnan(want).sum()}"
        return
    some = ~np.isnan(want)
    scale = scale if scale is not None else float(np.max(np.abs(want[some]), initial=0)) or 1.0
    error = float(np.max(np.abs(got - want)[some], initial=0)) / scale / EPS
    if not error <= units:
        yield f"{what}: off by {error:.1f} rounding errors, {units:g} are allowed"


def unitary(what: str, q: np.ndarray, units: float) -> Iterator[str]:
    q = wide(q)
    yield from near(f"{what} is not orthogonal", adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])), units)


def zero(what: str, x: np.ndarray) -> Iterator[str]:
    if np.any(x != 0):
        yield f"{what}: not exactly 0, up to {np.max(np.abs(x)):.1e}"


def units_for(a: np.ndarray) -> float:
    """The error that n steps of backward stable transformations may have, in units"""
    return 10.0 * max(a.shape[-2:])


def eigh(a: np.ndarray, v: np.ndarray, w: np.ndarray) -> Iterator[str]:
    a, units = wide(a), units_for(a)
    yield from near("values", w, np.linalg.eigvalsh(a), units)
    yield from near("v w v'", (wide(v) * w[..., None, :]) @ adjoint(wide(v)), a, units)
    yield from unitary("v", v, units)
    if w.size and np.any(np.diff(w) < 0):
        yield "values do not ascend"


def svd(a: np.ndarray, u: np.ndarray, s: np.ndarray, v: np.ndarray) -> Iterator[str]:
    a, units, k = wide(a), units_for(a), min(a.shape[-2:])
    yield from near("values", s, np.linalg.svd(a, compute_uv=False), units)
    yield from near("u s v", (wide(u)[..., :k] * s[..., None, :]) @ wide(v)[..., :k, :], a, units)
    yield from unitary("u", u, units)
    yield from unitary("v", adjoint(v), units)
    if np.any(np.diff(s) > 0) or np.any(s < 0):
        yield "values do not descend to 0"


def matched(values: np.ndarray, right: np.ndarray) -> np.ndarray:
    """right in the order in which its elements are nearest to values, each once"""
    left = list(right)
    return np.array([left.pop(int(np.argmin([abs(x - v) for x in left]))) for v in values])


def eig(a: np.ndarray, w: np.ndarray, left: np.ndarray | None, right: np.ndarray) -> Iterator[str]:
    a64, units = wide(a), 4 * units_for(a)
    scale = float(np.max(np.abs(a))) or 1.0
    yield from near("a v - v w", a64 @ wide(right), wide(right) * w[..., None, :], units, scale)
    yield from near("lengths", np.linalg.norm(wide(right), axis=-2), np.ones(w.shape), units)
    if left is not None:
        yield from near("u' a - w u'", adjoint(wide(left)) @ a64, w[..., :, None] * adjoint(wide(left)), units, scale)
    if not np.iscomplexobj(a):
        flat = w.reshape(-1, w.shape[-1])
        if any(sorted(np.conj(x[x.imag < 0]), key=str) != sorted(x[x.imag > 0], key=str) for x in flat):
            yield "values of a real matrix are neither real nor conjugate"


def eigenvalues(a: np.ndarray, w: np.ndarray, units: float) -> Iterator[str]:
    right = matched(w, np.linalg.eigvals(wide(a)))
    yield from near("values", w, right, units, float(np.max(np.abs(right))) or 1.0)


def schur(a: np.ndarray, t: np.ndarray, z: np.ndarray) -> Iterator[str]:
    units = 4 * units_for(a)
    yield from near("z t z'", wide(z) @ wide(t) @ adjoint(wide(z)), a, units)
    yield from unitary("z", z, units)
    if np.iscomplexobj(a):
        yield from zero("below t's diagonal", np.tril(t, -1))
        return
    yield from zero("below t's blocks", np.tril(t, -2))
    for i in np.flatnonzero(np.diagonal(t, -1)):
        if t[i, i] != t[i + 1, i + 1] or np.sign(t[i, i + 1]) == np.sign(t[i + 1, i]):
            yield f"block {i} is not in LAPACK's standard form: {t[i:i + 2, i:i + 2].tolist()}"
        if i + 2 < len(t) and t[i + 2, i + 1] != 0:
            yield f"block {i} has three rows"


def hessenberg(a: np.ndarray, h: np.ndarray, q: np.ndarray) -> Iterator[str]:
    yield from near("q h q'", wide(q) @ wide(h) @ adjoint(wide(q)), a, units_for(a))
    yield from unitary("q", q, units_for(a))
    yield from zero("below h's first diagonal", np.tril(h, -2))


def reflectors(packed: np.ndarray, taus: np.ndarray, offset: int) -> np.ndarray:
    """H[0] H[1] ..., from LAPACK's packed form, a 1 offset places below the diagonal"""
    m, q = packed.shape[0], np.eye(packed.shape[0], dtype=np.complex128)
    for k, tau in enumerate(wide(taus)):
        v = np.zeros(m, np.complex128)
        if k + offset < m:
            v[k + offset] = 1
            v[k + offset + 1:] = packed[k + offset + 1:, k]
        q = q - tau * np.outer(q @ v, np.conj(v))
    return q


def tridiagonal(a: np.ndarray, lower: bool, packed: np.ndarray, d: np.ndarray, e: np.ndarray, taus: np.ndarray) -> Iterator[str]:
    t = np.diag(wide(d)) + np.diag(wide(e), 1) + np.diag(wide(e), -1)
    if lower:
        q = reflectors(packed, taus, 1)
    else:
        q = reflectors(packed[::-1, ::-1], taus[::-1], 1)[::-1, ::-1]
    yield from near("q t q'", q @ t @ adjoint(q), a, units_for(a))
    yield from near("packed diagonal", np.diagonal(packed), d, 1)
    yield from near("packed neighbours", np.diagonal(packed, -1 if lower else 1), e, 1)


def qr(a: np.ndarray, q: np.ndarray, r: np.ndarray, pivots: np.ndarray | None = None) -> Iterator[str]:
    a = a if pivots is None else np.take(a, pivots, axis=-1)
    yield from near("q r", wide(q) @ wide(r), a, units_for(a))
    yield from unitary("q", q, units_for(a))
    yield from zero("below r's diagonal", np.tril(r, -1))
    if pivots is not None:
        size = np.abs(np.diagonal(r))
        if sorted(pivots) != list(range(a.shape[-1])):
            yield f"no permutation: {pivots}"
        if np.any(size[1:] > size[:-1] * (1 + 100 * EPS)):
            yield f"r's diagonal does not fall: {size}"


def lu(a: np.ndarray, packed: np.ndarray, pivots: np.ndarray, order: np.ndarray) -> Iterator[str]:
    m, n = a.shape
    k = min(m, n)
    lower = np.tril(wide(packed), -1)[:, :k] + np.eye(m, k)
    yield from near("l u", lower @ np.triu(wide(packed))[:k], a[order], units_for(a))
    rows = list(range(m))
    for i, p in enumerate(pivots):
        rows[i], rows[p] = rows[p], rows[i]
    if rows != list(order):
        yield f"pivots {pivots} are not the order {order}"
    if np.max(np.abs(lower.real)) > 1 + EPS and not np.iscomplexobj(a):
        yield "a multiplier above 1"
