# SPDX-License-Identifier: MIT
"""Programs drawn by a number: a few operations of JAX, of integers or floats, on arrays divided in ways drawn, too"""

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

N = 8
MESHES = (((8,), ("a",)), ((4, 2), ("a", "b")), ((2, 4), ("a", "b")), ((2, 2, 2), ("a", "b", "c")))
SIDES = (2, 4, 8, 16, 24)
MOST_ELEMENTS, MOST_RANK = 20000, 5
KINDS: list[Callable[["Program", int], None]] = []
Shape = tuple[int, ...]


def kind(function: Callable[["Program", int], None]) -> Callable[["Program", int], None]:
    KINDS.append(function)
    return function


class Program:
    """values: of each its shape, and how it is made of the arguments and the values before it"""

    def __init__(self, seed: int):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        sizes, self.axes = self.random.choice(MESHES)
        self.sizes = dict(zip(self.axes, sizes))
        self.mesh = Mesh(np.array(jax.devices()[:N]).reshape(sizes), self.axes)
        self.integer = self.random.random() < 0.5
        self.args: list[Any] = []
        self.ins: list[NamedSharding] = []
        self.shapes: list[Shape] = []
        self.made: list[tuple[str, Callable[..., Any]]] = []
        for _ in range(self.random.randint(1, 3)):
            self.take(tuple(self.random.choice(SIDES) for _ in range(self.random.randint(1, 3))))
        for _ in range(self.random.randint(2, 9)):
            self.random.choice(KINDS)(self, self.random.randrange(len(self.shapes)))
        last = len(self.shapes) - 1
        self.results = sorted({last, *(self.random.randint(0, last) for _ in range(self.random.randint(1, 3)))})
        self.outs = [self.sharding(self.shapes[k]) if self.random.random() < 0.6 else None for k in self.results]

    def kinds(self) -> list[str]:
        return [name for name, _ in self.made if name]

    def sharding(self, shape: Shape) -> NamedSharding:
        left = list(self.axes)
        self.random.shuffle(left)
        spec: list[Any] = [None] * len(shape)
        for d in self.random.sample(range(len(shape)), len(shape)):
            chosen: list[str] = []
            parts = 1
            for _ in range(self.random.choice((0, 0, 1, 1, 2))):
                if left and shape[d] % (parts * self.sizes[left[0]]) == 0:
                    chosen.append(left.pop(0))
                    parts *= self.sizes[chosen[-1]]
            spec[d] = tuple(chosen) or None
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def argument(self, x: Any) -> int:
        self.args.append(x)
        self.ins.append(self.sharding(x.shape))
        return len(self.args) - 1

    def indices(self, low: int, high: int, shape: Shape) -> int:
        return self.argument(self.numbers.integers(low, high, shape).astype(np.int32))

    def take(self, shape: Shape) -> int:
        """An argument as a value"""
        whole = self.numbers.integers(-9, 9, shape).astype(np.int32)
        i = self.argument(whole if self.integer else self.numbers.standard_normal(shape).astype(np.float32))
        return self.put(shape, lambda args, values: args[i], "")

    def put(self, shape: Any, function: Callable[[Any, Any], Any], name: str) -> int:
        self.shapes.append(tuple(int(n) for n in shape))
        self.made.append((name, function))
        return len(self.shapes) - 1

    def on(self, i: int, shape: Any, name: str, function: Callable[[Any], Any]) -> None:
        self.put(shape, lambda args, values: function(values[i]), name)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        values: list[Any] = []
        for _, function in self.made:
            values.append(function(args, values))
        return tuple(values[k] for k in self.results)

    def case(self) -> tuple[Any, Any, Any]:
        return tuple(self.args), tuple(self.ins), tuple(self.outs)


@kind
def alone(p: Program, i: int) -> None:
    square = (lambda x: x * x % 1000) if p.integer else jnp.tanh
    clamp = lambda x: jax.lax.clamp(jnp.array(-2, x.dtype), x, jnp.array(5, x.dtype))  # noqa: E731
    functions = (jnp.negative, jnp.abs, lambda x: x * 2 + 1, square, jnp.sign, clamp, lambda x: jnp.where(x > 0, x, x * 3))
    p.on(i, p.shapes[i], "alone", p.random.choice(functions))


@kind
def together(p: Program, i: int) -> None:
    same = [k for k, shape in enumerate(p.shapes) if shape == p.shapes[i]]
    k = p.random.choice(same) if p.random.random() < 0.5 else p.take(p.shapes[i])
    f = p.random.choice((jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, lambda x, y: jnp.where(x > y, x, y)))
    p.put(p.shapes[i], lambda args, values: f(values[i], values[k]), "together")


@kind
def spread(p: Program, i: int) -> None:
    n = p.random.choice((2, 4, 8))
    if np.prod(p.shapes[i]) < MOST_ELEMENTS and len(p.shapes[i]) < MOST_RANK:
        p.on(i, (n, *p.shapes[i]), "spread", lambda x: jnp.broadcast_to(x, (n, *x.shape)))


@kind
def reduced(p: Program, i: int) -> None:
    shape = p.shapes[i]
    axes = tuple(sorted(p.random.sample(range(len(shape)), p.random.randint(min(1, len(shape)), len(shape)))))
    f = p.random.choice((jnp.sum, jnp.max, jnp.min))
    p.on(i, [n for d, n in enumerate(shape) if d not in axes], "reduced", lambda x: f(x, axis=axes))


@kind
def product(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape or np.prod(shape) > MOST_ELEMENTS:
        return
    if len(shape) == 3 and p.random.random() < 0.5:
        k = p.take((shape[0], shape[2], n := p.random.choice((2, 8))))
        p.put((*shape[:2], n), lambda args, values: jnp.einsum("bij,bjk->bik", values[i], values[k]), "products")
        return
    d, n = p.random.randrange(len(shape)), p.random.choice((2, 4, 8))
    k = p.take((shape[d], n))
    p.put((*shape[:d], *shape[d + 1:], n), lambda args, values: jnp.tensordot(
        values[i], values[k], axes=((d,), (0,)), preferred_element_type=values[i].dtype), "product")


@kind
def turned(p: Program, i: int) -> None:
    order = list(range(len(p.shapes[i])))
    p.random.shuffle(order)
    p.on(i, [p.shapes[i][d] for d in order], "turned", lambda x: jnp.transpose(x, order))


@kind
def reshaped(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape or len(shape) >= MOST_RANK:
        return
    d = p.random.randrange(len(shape))
    ways = [(int(np.prod(shape)),), (*shape[:d], 1, *shape[d:])]
    ways += [(*shape[:d], n, shape[d] // n, *shape[d + 1:]) for n in (2, 4) if shape[d] % n == 0]
    ways += [(*shape[:d], shape[d] * shape[d + 1], *shape[d + 2:])] if d + 1 < len(shape) else []
    to = p.random.choice(ways)
    p.on(i, to, "reshaped", lambda x: jnp.reshape(x, to))


@kind
def cut(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape:
        return
    d = p.random.randrange(len(shape))
    low = p.random.randrange(shape[d])
    high, step, moved = p.random.randint(low + 1, shape[d]), p.random.choice((1, 1, 2)), p.random.randrange(-3, 17)
    n = len(range(low, high, step))
    if p.random.random() < 0.5:
        p.on(i, (*shape[:d], n, *shape[d + 1:]), "cut", lambda x: jax.lax.slice_in_dim(x, low, high, step, axis=d))
        return
    p.put((*shape[:d], n, *shape[d + 1:]), lambda args, values: jax.lax.dynamic_slice_in_dim(
        values[i], moved + 0 * jnp.sum(args[0]).astype(jnp.int32), n, axis=d), "cut somewhere")


@kind
def updated(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape:
        return
    d, moved = p.random.randrange(len(shape)), p.random.randrange(-3, 17)
    k = p.take((*shape[:d], p.random.randint(1, shape[d]), *shape[d + 1:]))
    p.put(shape, lambda args, values: jax.lax.dynamic_update_slice_in_dim(
        values[i], values[k], moved + 0 * jnp.sum(args[0]).astype(jnp.int32), axis=d), "updated")


@kind
def larger(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape or np.prod(shape) > MOST_ELEMENTS:
        return
    d, low, high = p.random.randrange(len(shape)), p.random.randrange(3), p.random.randrange(3)
    if p.random.random() < 0.5:
        p.on(i, (*shape[:d], 2 * shape[d], *shape[d + 1:]), "joined", lambda x: jnp.concatenate([x, x + 1], axis=d))
        return
    widths = [(low, high) if k == d else (0, 0) for k in range(len(shape))]
    p.on(i, (*shape[:d], shape[d] + low + high, *shape[d + 1:]), "padded", lambda x: jnp.pad(x, widths, constant_values=3))


@kind
def along(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape:
        return
    d = p.random.randrange(len(shape))
    f = p.random.choice((jnp.flip, jnp.sort, jnp.cumsum, lambda x, axis: x + jax.lax.broadcasted_iota(x.dtype, x.shape, axis)))
    p.on(i, shape, "along", lambda x: f(x, axis=d))


@kind
def largest(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if shape:
        d = p.random.randrange(len(shape))
        p.on(i, (*shape[:d], *shape[d + 1:]), "largest", lambda x: jnp.argmax(x, axis=d).astype(x.dtype))


@kind
def gathered(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape:
        return
    if len(shape) > 1 and p.random.random() < 0.4:
        k = p.indices(0, shape[-1], (*shape[:-1], 1))
        p.put((*shape[:-1], 1), lambda args, values: jnp.take_along_axis(values[i], args[k], axis=-1), "along rows")
        return
    d, n = p.random.randrange(len(shape)), p.random.choice((2, 4, 8))
    k = p.indices(-2, shape[d] + 2, (n,))
    p.put((*shape[:d], n, *shape[d + 1:]), lambda args, values: jnp.take(values[i], args[k], axis=d, mode="clip"), "gathered")


@kind
def scattered(p: Program, i: int) -> None:
    shape = p.shapes[i]
    if not shape:
        return
    n, best, fresh = p.random.choice((2, 4, 8)), p.random.random() < 0.5, p.random.random() < 0.5
    k, u = p.indices(-2, shape[0] + 2, (n,)), p.take((n, *shape[1:]))

    def scatter(args: Any, values: Any) -> Any:
        to = (jnp.zeros_like(values[i]) if fresh else values[i]).at[args[k]]
        return to.max(values[u]) if best else to.add(values[u])

    p.put(shape, scatter, "scattered")


@kind
def constrained(p: Program, i: int) -> None:
    sharding = p.sharding(p.shapes[i])
    p.on(i, p.shapes[i], "constrained", lambda x: jax.lax.with_sharding_constraint(x, sharding))


@kind
def scanned(p: Program, i: int) -> None:
    if len(p.shapes[i]) < 2:
        return

    def scan(x: Any) -> Any:
        total, each = jax.lax.scan(lambda c, e: (c + e, (c + e) * 2), jnp.zeros(x.shape[1:], x.dtype), x)
        return each + total

    p.on(i, p.shapes[i], "scanned", scan)


@kind
def looped(p: Program, i: int) -> None:
    n = p.random.randint(1, 3)
    p.on(i, p.shapes[i], "looped", lambda x: jax.lax.fori_loop(
        0, n, lambda k, z: z + (jnp.flip(z, 0) if z.ndim else z) + k.astype(z.dtype), x))


@kind
def branched(p: Program, i: int) -> None:
    p.on(i, p.shapes[i], "branched", lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda z: z + 1, lambda z: -z, x))


@kind
def randomised(p: Program, i: int) -> None:
    seed = p.random.randrange(100)
    p.on(i, p.shapes[i], "randomised", lambda x: x + jax.random.randint(jax.random.key(seed), x.shape, 0, 100).astype(x.dtype))


@kind
def smoothed(p: Program, i: int) -> None:
    if len(p.shapes[i]) == 2:
        p.on(i, p.shapes[i], "smoothed", lambda x: jax.lax.conv_general_dilated(
            x[:, None, :].astype(jnp.float32), jnp.ones((1, 1, 3), jnp.float32), (1,), "SAME")[:, 0].astype(x.dtype))
