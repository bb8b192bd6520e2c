# SPDX-License-Identifier: MIT
"""What all rules for matrices share: batches, types, calls of LAPACK's names, reflections of Householder.

Sums of products are written as such, not as dot: the compiler may round the operands of a dot to bf16 (--auto-cast), and a
decomposition has no use for that. All loops know how often they run, but for spectrum.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import private

Array = Any


def is_complex(x: Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


def real_type(x: Array) -> Any:
    return np.dtype(np.float32) if is_complex(x) else x.dtype


def matrices(rank: int = 2) -> Callable:
    """Makes an impl of any batch out of one of single operands, whose first one has this rank."""
    def decorate(single: Callable) -> Callable:
        @wraps(single)
        def batched(*operands: Array, **params: Any) -> Any:
            def fn(*x: Array) -> Any:
                return single(*x, **params)
            for _ in range(operands[0].ndim - rank):
                fn = jax.vmap(fn)
            return fn(*operands)
        return batched
    return decorate


def computed(impl: Callable) -> Callable:
    """Does impl in 32 bits, where JAX's rule for a CPU would refuse 16; refuses 64, which no NeuronCore has."""
    @wraps(impl)
    def in_32_bits(*operands: Array, **params: Any) -> Any:
        types = [x.dtype for x in operands if jnp.issubdtype(x.dtype, jnp.inexact)]
        if any(t in (np.float64, np.complex128) for t in types):
            raise NotImplementedError(f"{impl.__name__} of {types[0]}: a NeuronCore computes in 32 bits; turn jax_enable_x64 off")
        narrow = {t for t in types if t not in (np.float32, np.complex64)}
        if not narrow:
            return impl(*operands, **params)
        wide = [x.astype(np.float32) if x.dtype in narrow else x for x in operands]
        return jax.tree.map(lambda r: r.astype(types[0]) if r.dtype == np.float32 else r, impl(*wide, **params))
    return in_32_bits


def lapack(target: str, results: Sequence[tuple[Sequence[int], Any]], *operands: Array, **letters: str) -> Sequence[Array]:
    """The custom call of a target that the compiler takes; letters are LAPACK's options."""
    shapes = [jax.ShapeDtypeStruct(tuple(shape), dtype) for shape, dtype in results]
    codes = {name: np.uint8(ord(letter)) for name, letter in letters.items()}
    return private.ffi_call(f"lapack_{target}_ffi", shapes)(*operands, **codes)


def where_good(good: Array, x: Array) -> Array:
    """x, and NaN, in both parts as JAX has it, for the matrices that are not good"""
    nan = complex(np.nan, np.nan) if is_complex(x) else np.nan
    return jnp.where(good.reshape(good.shape + (1,) * (x.ndim - good.ndim)), x, jnp.full((), nan, x.dtype))


def unless_bad(info: Array, x: Array) -> Array:
    """x, and NaN for the matrices of which LAPACK says that it failed"""
    return where_good(info == 0, x)


def square(x: Array) -> Array:
    return jnp.real(x) ** 2 + jnp.imag(x) ** 2 if is_complex(x) else x * x


def size(x: Array) -> Array:
    """The sum of both parts' sizes, as LAPACK compares complex numbers; their abs is NaN on the chip where they are subnormal"""
    return jnp.abs(jnp.real(x)) + jnp.abs(jnp.imag(x)) if is_complex(x) else jnp.abs(x)


def greatest(x: Array) -> Array:
    """The greatest part of any element"""
    return jnp.maximum(jnp.max(jnp.abs(jnp.real(x))), jnp.max(jnp.abs(jnp.imag(x)))) if is_complex(x) else jnp.max(jnp.abs(x))


def over(x: Array, real: Array) -> Array:
    """x divided by a real number: of complex ones each part, since the square of what divides may be out of range"""
    return lax.complex(jnp.real(x) / real, jnp.imag(x) / real) if is_complex(x) else x / real


def scale_of(x: Array) -> Array:
    """The greatest part of any element, 1 if there is none to divide by"""
    scale = greatest(x)
    return jnp.where((scale > 0) & (scale < np.inf), scale, jnp.ones((), real_type(x)))


def length(x: Array) -> Array:
    """The 2-norm of all elements, which neither overflows nor vanishes on the way"""
    scale = scale_of(x)
    return scale * jnp.sqrt(jnp.sum(square(over(x, scale))))


def column(a: Array, k: Array) -> Array:
    return lax.dynamic_index_in_dim(a, k, 1, keepdims=False)


def reflection(x: Array, first: Array) -> tuple[Array, Array, Array]:
    """LAPACK's larfg on the elements of x from index first on: (beta, v, tau).

    H = I - tau v v', v[first] = 1, and H' makes of them beta, which is real, and zeros. tau is 0 where nothing is left to do.
    """
    index = lax.iota(np.int32, x.shape[0])
    scale = scale_of(jnp.where(index >= first, x, 0))
    x = over(x, scale)
    alpha = jnp.sum(jnp.where(index == first, x, 0))
    rest = jnp.where(index > first, x, 0)
    norm = length(jnp.where(index >= first, x, 0))
    beta = jnp.where(jnp.real(alpha) < 0, norm, -norm)
    idle = (greatest(rest) == 0) & (jnp.imag(alpha) == 0 if is_complex(x) else True)
    tau = jnp.where(idle, 0, over(beta - alpha, jnp.where(beta == 0, 1, beta)))
    v = jnp.where(index == first, 1, jnp.where(idle, 0, rest / jnp.where(idle, 1, alpha - beta)))
    return (scale * jnp.where(idle, alpha, beta)).astype(x.dtype), v.astype(x.dtype), tau.astype(x.dtype)


def from_left(a: Array, v: Array, tau: Array) -> Array:
    """(I - tau v v') a"""
    return a - tau * v[:, None] * jnp.sum(jnp.conj(v)[:, None] * a, axis=0)[None, :]


def from_right(a: Array, v: Array, tau: Array) -> Array:
    """a (I - tau v v')"""
    return a - tau * jnp.sum(a * v[None, :], axis=1)[:, None] * jnp.conj(v)[None, :]


def times(a: Array, b: Array) -> Array:
    """The product of two matrices, one column of a at a time"""
    def body(k: Array, sum_: Array) -> Array:
        return sum_ + column(a, k)[:, None] * lax.dynamic_index_in_dim(b, k, 0)
    return lax.fori_loop(0, a.shape[1], body, jnp.zeros((a.shape[0], b.shape[1]), a.dtype))


def with_column(a: Array, k: Array, x: Array) -> Array:
    return jnp.where(lax.broadcasted_iota(np.int32, a.shape, 1) == k, x[:, None], a)


def with_element(x: Array, k: Array, value: Array) -> Array:
    return jnp.where(lax.iota(np.int32, x.shape[0]) == k, value, x)


def product(v: Array, taus: Array, x: Array) -> Array:
    """H[0] H[1] ... x, whose vectors are the columns of v"""
    count = taus.shape[0]

    def body(i: Array, x: Array) -> Array:
        k = count - 1 - i
        return from_left(x, column(v, k), lax.dynamic_index_in_dim(taus, k, keepdims=False))
    return lax.fori_loop(0, count, body, x) if count else x


def unit_lower(a: Array, offset: int = 0) -> Array:
    """Columns with zeros, a 1 offset places below the diagonal, and a's elements below that"""
    row, col = (lax.broadcasted_iota(np.int32, a.shape, d) for d in (0, 1))
    return jnp.where(row == col + offset, 1, jnp.where(row > col + offset, a, 0)).astype(a.dtype)
