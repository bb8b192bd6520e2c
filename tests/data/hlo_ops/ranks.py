# SPDX-License-Identifier: MIT
"""Golden modules of many dimensions: up to 16, and within a program more; make.py makes them."""

from typing import Any, Callable

import jax.numpy as jnp
from jax import lax

TWOS = (2,) * 12
MIXED = (2, 1, 3, 1, 2, 2, 1, 3, 2, 2)
BEYOND = (1, 2, 1, 3, 1, 1, 4, 1, 5, *(1,) * 9)  # 18


def add(case: Callable[..., None]) -> None:
    case("ranks_moved", lambda x, y: (jnp.transpose(x, (9, 2, 0, 7, 5, 4, 3, 1, 8, 6)), jnp.transpose(y, (11, 0, 10, 1, 9, 2, 8, 3, 7, 4, 6, 5)),
         jnp.flip(x, (0, 5)), jnp.concatenate([x, -x], 4)[:, :, 1:], y[:, 1:, :, ::-1, ..., :1], y.reshape(64, 64).T.reshape(TWOS)),
         lambda d: (d.f32(*MIXED), d.f32(*TWOS)))
    case("ranks_reduced", lambda x, y: (x.max((0, 3, 7)), x.sum(9), y.min((1, 2, 5, 11)), jnp.argmax(y, 4), (x > 1).any((2, 4))),
         lambda d: (d.f32(*MIXED), d.f32(*TWOS)), 4)
    case("ranks_spread", lambda x, y, z: (jnp.broadcast_to(x, (3, *MIXED)) * 2, x + y, jnp.where(x > z, x, z), lax.broadcasted_iota(jnp.int32, (1, 2) * 8, 13)),
         lambda d: (d.f32(*MIXED), d.f32(1, 1, 3, 1, 2, 1, 1, 3, 1, 2), d.f32(*MIXED)))
    case("ranks_multiplied", lambda x, y, z: (jnp.einsum("abcdefghi,aceg->bdfhi", x, y), jnp.einsum("abcde,fghij->jaibhcgdfe", z, z),
         jnp.einsum("abcdefghi,abcdefghj->abcdefghij", x, x)),
         lambda d: tuple(d.ints("int8", *shape, low=-9, high=9).astype("float32") for shape in (TWOS[:9], TWOS[:4], TWOS[:5])))
    case("ranks_looped", lambda x, i: (lax.fori_loop(0, i[0], lambda k, s: jnp.swapaxes(s, 0, 9) * 0.5 + s, x), jnp.take(x, i, 7),
         x.at[:, :, i % 3].add(1.0), lax.dynamic_slice(x, (i[0],) * 10, (1, 1, 2, 1, 1, 2, 1, 2, 1, 2))),
         lambda d: (d.f32(*MIXED), d.ints("int32", 2, low=1, high=2)))
    case("ranks_beyond", lambda x: (jnp.tile(x.reshape(BEYOND[:9]), (3, 1, 2, *(1,) * 6)).reshape(3, -1),
         jnp.where(x.reshape(BEYOND) > 0, 2 * x.reshape(BEYOND), 3).transpose(tuple(range(17, -1, -1))).ravel(),
         x.reshape(BEYOND).astype(jnp.int32).reshape(6, 20),
         lax.broadcast_in_dim(x, (1, 7, 1, 2, 3, 1, 4, 5, *(1,) * 10), (3, 4, 6, 7)).reshape(7, -1)),
         lambda d: (d.f32(2, 3, 4, 5),))


def add_written(_: dict[str, Any]) -> None:
    pass
