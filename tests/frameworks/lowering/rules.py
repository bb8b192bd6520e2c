#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What our lowering rules compute, on the emulated chip, against NumPy, SciPy and JAX's CPU in float64; TAP.

usage: rules.py [--build DIR] [--target T] [NAME...]

NAME is a part of a case's name. The environment has JAX and SciPy: tests/frameworks/run makes one.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import chip
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import oracles as right
import scipy.linalg as sl
from jax import lax
from oracles import near, wide

L = lax.linalg


class Case(NamedTuple):
    name: str
    fn: Callable
    args: tuple
    check: Callable[..., Iterator[str]]
    needs: bool = True  # does this JAX have it?


def random(seed: int, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def hermitian(a: np.ndarray) -> np.ndarray:
    return (a + right.adjoint(a)).astype(a.dtype)


def positive(a: np.ndarray) -> np.ndarray:
    return (wide(a) @ right.adjoint(wide(a)) + np.eye(a.shape[-1])).astype(a.dtype)


def triangle(a: np.ndarray) -> np.ndarray:
    """A lower one that is well conditioned"""
    return (np.tril(a) + 4 * np.eye(a.shape[-1])).astype(a.dtype)


def has(fn: Callable, *names: str) -> bool:
    code = getattr(getattr(fn, "__wrapped__", fn), "__code__", None)
    return code is not None and all(n in code.co_varnames for n in names)


def traces(fn: Callable, *args: np.ndarray) -> bool:
    try:
        jax.eval_shape(fn, *args)
    except (TypeError, NotImplementedError):
        return False
    return True


def symmetric(kind: str, t: Any) -> Iterator[Case]:
    a = hermitian(random(1, 7, 7, dtype=t))
    q = np.linalg.qr(wide(random(2, 6, 6, dtype=t)))[0]
    equal = hermitian(((q * [2, 2, 2, -1, -1, 5]) @ right.adjoint(q) / 2).astype(t))
    yield Case(f"eigh {kind}", lambda x: L.eigh(x), (a,), lambda v, w: right.eigh(a, v, w))
    yield Case(f"eigh {kind} equal values", lambda x: L.eigh(x), (equal,), lambda v, w: right.eigh(equal, v, w))
    yield Case(f"eigh {kind} of zeros", lambda x: L.eigh(x), (0 * a,), lambda v, w: right.eigh(0 * a, v, w))
    yield Case(f"eigh {kind} 1x1", lambda x: L.eigh(x), (a[:1, :1],), lambda v, w: right.eigh(a[:1, :1], v, w))
    batch = np.stack([hermitian(random(s, 5, 5, dtype=t)) for s in range(6)]).reshape(2, 3, 5, 5)
    for lower in (True, False):
        half = np.tril(batch) if lower else np.triu(batch)
        yield Case(f"eigh {kind} batch {'lower' if lower else 'upper'}", lambda x, l=lower: L.eigh(x, lower=l, symmetrize_input=False),
                   (half,), lambda v, w: right.eigh(batch, v, w))
    bad = batch[0].copy()
    bad[1, 2, 1] = np.nan
    yield Case(f"eigh {kind} NaN in one of a batch", lambda x: L.eigh(x, symmetrize_input=False), (bad,),
               lambda v, w: near("values", w, np.stack([np.linalg.eigvalsh(bad[0]), np.full(5, np.nan), np.linalg.eigvalsh(bad[2])]), 50))
    yield Case(f"eigh {kind} in vmap", jax.vmap(lambda x: L.eigh(x)), (batch[0],), lambda v, w: right.eigh(batch[0], v, w))
    yield Case(f"eigvalsh {kind}", jnp.linalg.eigvalsh, (a,), lambda w: near("values", w, np.linalg.eigvalsh(wide(a)), 70))
    for lower in (True, False):
        yield Case(f"tridiagonal {kind} {'lower' if lower else 'upper'}", lambda x, l=lower: L.tridiagonal(x, lower=l),
                   (np.tril(a) if lower else np.triu(a),), lambda p, d, e, taus, l=lower: right.tridiagonal(a, l, p, d, e, taus))


def singular(kind: str, t: Any) -> Iterator[Case]:
    for m, n in ((7, 4), (4, 7), (5, 5), (1, 4), (4, 1), (1, 1)):
        a = random(3, m, n, dtype=t)
        for full in (False, True):
            yield Case(f"svd {kind} {m}x{n}{' full' if full else ''}", lambda x, f=full: jnp.linalg.svd(x, full_matrices=f), (a,),
                       lambda u, s, v, a=a: right.svd(a, u, s, v))
        yield Case(f"svd {kind} {m}x{n} values", lambda x: jnp.linalg.svd(x, compute_uv=False), (a,),
                   lambda s, a=a: near("values", s, np.linalg.svd(wide(a), compute_uv=False), 70))
    low = (random(4, 6, 2, dtype=t) @ random(5, 2, 5, dtype=t)).astype(t)
    yield Case(f"svd {kind} of rank 2", lambda x: jnp.linalg.svd(x), (low,), lambda u, s, v: right.svd(low, u, s, v))
    batch = random(6, 2, 3, 4, 5, dtype=t)
    yield Case(f"svd {kind} batch", lambda x: jnp.linalg.svd(x, full_matrices=False), (batch,), lambda u, s, v: right.svd(batch, u, s, v))
    bad = batch[0].copy()
    bad[1, 0, 0] = np.nan
    yield Case(f"svd {kind} NaN in one of a batch", lambda x: jnp.linalg.svd(x, compute_uv=False), (bad,), lambda s: near(
        "values", s, np.stack([np.linalg.svd(bad[0])[1], np.full(4, np.nan), np.linalg.svd(bad[2])[1]]), 50))
    a = random(7, 6, 4, dtype=t)
    yield Case(f"pinv {kind}", jnp.linalg.pinv, (a,), lambda p: near("pinv", p, np.linalg.pinv(wide(a)), 200))
    yield Case(f"lstsq {kind}", lambda x, y: jnp.linalg.lstsq(x, y)[0], (a, a[:, 0] + 1),
               lambda x: near("x", x, np.linalg.lstsq(wide(a), wide(a[:, 0] + 1), rcond=None)[0], 200))
    yield Case(f"norms {kind}", lambda x: [jnp.linalg.norm(x, o) for o in ("nuc", 2, -2)], (a,),
               lambda *n: near("norms", np.array(n), [np.linalg.norm(wide(a), o) for o in ("nuc", 2, -2)], 70))


def general(kind: str, t: Any) -> Iterator[Case]:
    def complete(name: str, a: np.ndarray) -> Iterator[Case]:
        yield Case(f"schur {kind} {name}", lambda x: L.schur(x), (a,), lambda *tz: right.schur(a, *tz))
        yield Case(f"eig {kind} {name}", lambda x: L.eig(x), (a,), lambda w, l, r: right.eig(a, w, l, r))
        yield Case(f"hessenberg {kind} {name}", lambda x: jsl.hessenberg(x, calc_q=True), (a,), lambda h, q: right.hessenberg(a, h, q))
    for n in (1, 2, 3, 8):
        yield from complete(f"{n}x{n}", random(10 + n, n, n, dtype=t))
    yield from complete("normal", hermitian(random(20, 6, 6, dtype=t)))
    yield from complete("of zeros", np.zeros((4, 4), t))
    yield from complete("shift", np.roll(np.eye(5), 1, 0).astype(t))
    yield from complete("defective", (np.eye(9) + np.eye(9, k=1)).astype(t))
    yield from complete("large", (1e30 * random(21, 4, 4, dtype=t)).astype(t))
    yield from complete("small", (1e-30 * random(22, 4, 4, dtype=t)).astype(t))
    pairs = sl.block_diag([[1, 2], [-3, 1]], [[4]], [[0, 1], [-1, 0]]) + np.triu(random(23, 5, 5), 2)
    yield from complete("pairs", pairs.astype(t))
    a = random(24, 6, 6, dtype=t)
    yield Case(f"eigvals {kind}", jnp.linalg.eigvals, (a,), lambda w: right.eigenvalues(a, w, 500))
    batch = random(25, 2, 3, 4, 4, dtype=t)
    yield Case(f"eig {kind} batch", lambda x: jnp.linalg.eig(x), (batch,), lambda w, v: right.eig(batch, w, None, v))
    bad = batch[0].copy()
    bad[1, 3, 0] = np.inf
    yield Case(f"eigvals {kind} of infinity in one of a batch", lambda x: jnp.isnan(jnp.linalg.eigvals(x).real).all(-1), (bad,),
               lambda nan: near("NaN", nan, [0, 1, 0], 0))
    yield Case(f"schur {kind} of NaN", lambda x: L.schur(x), (np.full((3, 3), np.nan, t),),
               lambda t_, z: near("t", t_.real, np.full((3, 3), np.nan), 0))
    yield Case(f"sqrtm {kind}", jsl.sqrtm, (positive(a),), lambda x: near("sqrtm", x, sl.sqrtm(wide(positive(a))), 500))
    yield Case(f"expm {kind}", jsl.expm, (a,), lambda x: near("expm", x, sl.expm(wide(a)), 500))
    yield Case(f"scipy schur {kind} complex", lambda x: jsl.schur(x, output="complex"), (a,),
               lambda t_, z: right.schur(a.astype(np.complex64), t_, z))
    roots = random(26, 6, dtype=t)
    yield Case(f"roots {kind}", lambda p: jnp.roots(p, strip_zeros=False), (roots,),
               lambda w: near("roots", w, right.matched(w, np.roots(wide(roots))), 2000))


def factors(kind: str, t: Any) -> Iterator[Case]:
    for m, n in ((6, 4), (4, 6), (5, 5), (1, 1)):
        a = random(30, m, n, dtype=t)
        yield Case(f"qr {kind} {m}x{n}", lambda x: jnp.linalg.qr(x), (a,), lambda q, r, a=a: right.qr(a, q, r))
        yield Case(f"qr {kind} {m}x{n} complete", lambda x: jnp.linalg.qr(x, mode="complete"), (a,), lambda q, r, a=a: right.qr(a, q, r))
        yield Case(f"qr {kind} {m}x{n} pivots", lambda x: L.qr(x, pivoting=True), (a,), lambda q, r, p, a=a: right.qr(a, q, r, p),
                   has(L.qr, "pivoting"))
        yield Case(f"lu {kind} {m}x{n}", lambda x: L.lu(x), (a,), lambda *got, a=a: right.lu(a, *got))
    a, low = random(31, 6, 6, dtype=t), random(32, 6, 2, dtype=t) @ random(33, 2, 5, dtype=t)
    yield Case(f"qr {kind} pivots of rank 2", lambda x: L.qr(x, pivoting=True), (low.astype(t),), lambda q, r, p: right.qr(low, q, r, p),
               has(L.qr, "pivoting"))
    p = positive(a)
    yield Case(f"cholesky {kind}", jnp.linalg.cholesky, (p,), lambda l: near("l", l, np.linalg.cholesky(wide(p)), 60))
    yield Case(f"cholesky {kind} of one that is not positive", jnp.linalg.cholesky, (np.stack([p, -p]),),
               lambda l: near("l", np.abs(l), np.abs(np.stack([np.linalg.cholesky(wide(p)), np.tril(np.full((6, 6), np.nan))])), 60))
    for left in (True, False):
        for lower in (True, False):
            for way in ("", "T", "C"):
                tri = triangle(a) if lower else triangle(a).T.copy()
                op = {"": wide(tri), "T": wide(tri).T, "C": right.adjoint(wide(tri))}[way]
                b = random(34, 6, 3, dtype=t) if left else random(34, 3, 6, dtype=t)
                want = np.linalg.solve(op, wide(b)) if left else np.linalg.solve(op.T, wide(b).T).T
                yield Case(f"triangular_solve {kind} {'left' if left else 'right'} {'lower' if lower else 'upper'} {way}",
                           lambda x, y, l=left, o=lower, w=way: L.triangular_solve(
                               x, y, left_side=l, lower=o, transpose_a=w != "", conjugate_a=w == "C"),
                           (tri, b), lambda x, want=want: near("x", x, want, 60))
    b = random(35, 6, dtype=t)
    yield Case(f"solve {kind}", jnp.linalg.solve, (p, b), lambda x: near("x", x, np.linalg.solve(wide(p), wide(b)), 500))
    yield Case(f"inv {kind}", jnp.linalg.inv, (p,), lambda x: near("inv", x, np.linalg.inv(wide(p)), 500))
    d = random(36, 3, 6, dtype=t)
    m = np.diag(wide(d[1])) + np.diag(wide(d[0, 1:]), -1) + np.diag(wide(d[2, :-1]), 1)
    m[0, 0], d[1, 0] = 0, 0  # needs an exchange
    edge = np.array([0, 1, 1, 1, 1, 1], t)
    yield Case(f"tridiagonal_solve {kind}", lambda l, x, u, y: L.tridiagonal_solve(l, x, u, y),
               ((d[0] * edge).astype(t), d[1], (d[2] * edge[::-1]).astype(t), a), lambda x: near("m x", m @ wide(x), a, 500),
               t == np.float32 or has(L.tridiagonal_solve, "perturb_singular"))
    sym = np.diag(d[1].real) + np.diag(d[0, 1:].real, -1) + np.diag(d[0, 1:].real, 1)
    w, v = np.linalg.eigh(wide(sym))
    shifted = [np.r_[0, d[0, 1:].real].astype(t), (d[1].real - w[2]).astype(t), np.r_[d[0, 1:].real, 0].astype(t), np.ones((6, 1), t)]
    yield Case(f"tridiagonal_solve {kind} perturbed", lambda *x: L.tridiagonal_solve(*x, perturb_singular=True), shifted,
               lambda x: near("eigenvector", np.abs(x[:, 0]) / np.linalg.norm(wide(x)), np.abs(v[:, 2]), 1e4),
               has(L.tridiagonal_solve, "perturb_singular"))
    exact = [np.zeros(3, t), np.array([1, 0, 2], t), np.zeros(3, t), np.ones((3, 1), t)]
    yield Case(f"tridiagonal_solve {kind} perturbed, singular", lambda *x: jnp.isfinite(jnp.abs(L.tridiagonal_solve(*x, perturb_singular=True))),
               exact, lambda x: near("finite", x, np.ones((3, 1)), 0), has(L.tridiagonal_solve, "perturb_singular"))
    z = np.array([1, 0, np.nan, -1, 1, 3], np.float32).astype(t) + (1j * random(37, 6) if np.dtype(t).kind == "c" else 0)
    yield Case(f"sort {kind}", jnp.sort, (z.astype(t),), lambda x: near("sorted", x, np.sort(z.astype(t)), 0))


def gradients(kind: str, t: Any) -> Iterator[Case]:
    a = random(40, 5, 5, dtype=t)

    def compared(name: str, fn: Callable, x: np.ndarray, units: float = 3000) -> Case:
        def check(got: np.ndarray) -> Iterator[str]:
            with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
                want = np.asarray(jax.jit(jax.grad(fn))(wide(x)))
            return near("gradient", got, want, units)
        return Case(f"gradient {kind} {name}", jax.grad(fn), (x,), check)
    weights = np.arange(1.0, 6.0)
    yield compared("eigh", lambda x: jnp.sum(jnp.linalg.eigh(x + right_adjoint(x))[0] ** 3)
                   + jnp.sum(jnp.abs(jnp.linalg.eigh(x + right_adjoint(x))[1]) ** 4 * weights.astype(np.float32)), a)
    yield compared("svd values", lambda x: jnp.sum(jnp.linalg.svd(x, compute_uv=False) ** 3), a[:, :3])
    yield compared("svd vectors", lambda x: jnp.sum(jnp.abs(jnp.linalg.svd(x, full_matrices=False)[0]) ** 4
                                                    * weights[:3].astype(np.float32)), a[:, :3])
    yield compared("qr", lambda x: jnp.sum(jnp.abs(jnp.linalg.qr(x)[0]) ** 4 * weights[:3].astype(np.float32)), a[:, :3])
    yield compared("cholesky", lambda x: jnp.sum(jnp.abs(jnp.linalg.cholesky(x @ right_adjoint(x) + jnp.eye(5, dtype=x.dtype))) ** 3), a)
    yield compared("solve", lambda x: jnp.sum(jnp.abs(jnp.linalg.solve(x + 4 * jnp.eye(5, dtype=x.dtype), jnp.ones(5, x.dtype))) ** 2), a)
    yield compared("eigvals", lambda x: jnp.sum(jnp.abs(jnp.linalg.eigvals(x)) ** 2), a)


def right_adjoint(x: Any) -> Any:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def others() -> Iterator[Case]:
    x = np.random.default_rng(50).permutation(40).astype(np.float32).reshape(2, 20)
    for name, fn, sign in (("max", lax.approx_max_k, -1), ("min", lax.approx_min_k, 1)):
        order = np.argsort(sign * x, axis=1)[:, :4]
        yield Case(f"approx_{name}_k", lambda x, fn=fn: fn(x, 4), (x,), lambda v, i, o=order: [
            *near("values", v, np.take_along_axis(x, o, 1), 0), *near("indices", i, o, 0)])
        yield Case(f"approx_{name}_k of another dimension", lambda x, fn=fn: fn(x, 4, reduction_dimension=0), (x.T.copy(),),
                   lambda v, i, o=order: [*near("values", v.T, np.take_along_axis(x, o, 1), 0), *near("indices", i.T, o, 0)])
    for t in (np.int32, np.uint32, np.int16, np.uint8):
        ends = np.array([np.iinfo(t).min, np.iinfo(t).max, 0, 1, np.iinfo(t).max // 2], t)
        p, q = np.repeat(ends, 5), np.tile(ends, 5)
        high = (p.astype(object) * q.astype(object)) >> (8 * np.dtype(t).itemsize)
        yield Case(f"mulhi {np.dtype(t)}", getattr(lax, "mulhi", None), (p, q), lambda x, h=high: near("high", x, h.astype(float), 0),
                   hasattr(lax, "mulhi"))
    a = random(51, 4, 4)
    yield Case("eigh of nothing", lambda x: x[0, 0] + jnp.sum(L.eigh(x[:0, :0])[1]), (a,), lambda s: near("sum", s, a[0, 0], 0))
    yield Case("svd of nothing", lambda x: [jnp.linalg.svd(x[:, :0])[0], jnp.linalg.svd(x[:0])[2]], (a,),
               lambda u, v: [*right.unitary("u", u, 0), *right.unitary("v", v, 0)])
    yield Case("lu of nothing", lambda x: L.lu(x[:, :0])[2], (a,), lambda p: near("order", p, np.arange(4), 0))
    half = hermitian(random(52, 4, 4)).astype(jnp.bfloat16)
    yield Case("eigvalsh in 16 bits", lambda x: L.eigh(x.astype(jnp.bfloat16))[1].astype(np.float32), (half.astype(np.float32),),
               lambda w: near("values", w, np.linalg.eigvalsh(half.astype(np.float64)), 2**17), traces(L.eigh, half))


def cases() -> Iterator[Case]:
    for kind, t in (("f32", np.float32), ("c64", np.complex64)):
        for group in (symmetric, singular, general, factors, gradients):
            yield from group(kind, t)
    yield from others()


def outcome(case: Case, options: argparse.Namespace) -> list[str]:
    try:
        with np.errstate(all="ignore"):
            return list(case.check(*chip.run(options.build, options.target, case.fn, *case.args)))
    except chip.Refused as refusal:
        return str(refusal).splitlines()
    except Exception:  # one case's failure, told as such
        return traceback.format_exc().splitlines()[-3:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=chip.ROOT / "build/release")
    parser.add_argument("--target", default="trn1", choices=chip.MACHINES)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chip.know_platform()
    todo = [c for c in cases() if not options.names or any(n in c.name for n in options.names)]
    print(f"1..{len(todo)}\n# JAX {jax.__version__}, {options.target}", flush=True)
    failed = 0
    for number, case in enumerate(todo, 1):
        if not case.needs:
            print(f"ok {number} - {case.name} # SKIP JAX {jax.__version__} has it not")
            continue
        wrong = outcome(case, options)
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {case.name}", flush=True)
        for line in wrong:
            print(f"# {line}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
