# SPDX-License-Identifier: MIT
"""Golden modules of rows by DMA: a portion of 128 (compiler/expand/portions.c), one more and one less, several portions, and
indices that hit no row; make.py makes them."""

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def table(n, m):
    return lax.iota(np.int32, n * m).reshape(n, m)


def rows(d, n, count):
    return d.ints(np.int32, count, low=-n - 3, high=n + 3)


def gathers(i, j):
    return (table(3000, 32)[i], table(3000, 32)[i[:128]] * 2.5, table(3000, 32)[i[:129]] % 3 > 0,
            (table(3000, 40) % 256).astype(jnp.bfloat16)[i[:127]], lax.iota(np.int32, 70001)[j],
            jax.vmap(lambda x, k: x[k])(table(3000, 32).reshape(3, 1000, 32), j[:393].reshape(3, 131) % 1000))


def gathers_in_a_loop(i):
    return lax.fori_loop(0, 3, lambda k, a: a + table(3000, 32)[(i + k) % 3000], jnp.zeros((300, 32), np.int32))


def scatters(i, u):
    x = table(3000, 24)
    return tuple(y[::3, ::6] for y in (
        x.at[i].set(u), x.at[i[:128]].set(u[:128]), x.at[i[:129]].set(u[:129]),
        (x % 200).astype(jnp.bfloat16).at[i].set((u % 99).astype(jnp.bfloat16)), (x % 3 > 0).at[i].set(u > 0)))


def combined(i, u):
    x, v = table(3000, 6), u.astype(np.int32)
    return (x.astype(np.float32).at[i].add(u)[::3], x.at[i].max(v * 30)[::3],
            (x % 200).astype(jnp.bfloat16).at[i].min(u.astype(jnp.bfloat16))[::3],
            jax.vmap(lambda a, k, w: a.at[k].add(w))(table(900, 5).reshape(3, 300, 5), i[:393].reshape(3, 131) % 300,
                                                     v[:, :5].reshape(-1, 5)[:393].reshape(3, 131, 5)))


def of_few(d):
    """Rows of which some come again and again"""
    i = rows(d, 3000, 300)
    return np.where(np.arange(300) % 5 < 3, i % 90, i).astype(np.int32)


def add(case: Callable[..., None]) -> None:
    case("gather_portions", gathers, lambda d: (rows(d, 3000, 300), d.ints(np.int32, 1031, low=-70005, high=70005)))
    case("gather_portions_loop", gathers_in_a_loop, lambda d: rows(d, 3000, 300))
    case("scatter_portions", scatters, lambda d: (of_few(d), d.ints(np.int32, 300, 24)))
    case("scatter_portions_add", combined, lambda d: (rows(d, 3000, 400) % 900, np.round(d.f32(400, 6) * 100)))


def add_written(_: dict[str, Any]) -> None:
    pass
