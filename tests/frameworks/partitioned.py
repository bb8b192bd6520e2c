#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Programs whose arrays are divided among eight devices, each device's program run by XLA's CPU client. As TAP.

usage: partitioned.py LIBNCC [FIRST] [COUNT]    so many drawn programs from number FIRST on (0, 40), after the written ones

Integers have the bits that one device gives, floats are near. The plug-in and the chips are not in it.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import jax  # noqa: E402

if tuple(int(n) for n in jax.__version__.split(".")[:2]) < (0, 12):
    print("1..0 # skip: it needs JAX 0.12's own interface to XLA")
    sys.exit(0)

import divided  # noqa: E402
import drawn  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

RNG = np.random.default_rng(0)
DEVICES = np.array(jax.devices()[:divided.N])
GRID = Mesh(DEVICES.reshape(4, 2), ("d", "m"))
TURNED = Mesh(DEVICES[[3, 1, 0, 2, 7, 6, 5, 4]], ("z",))
LAYERS, BATCH, TOKENS, WIDTH, HEADS, WORDS = 3, 8, 4, 16, 2, 32


def on(*axes: Any, mesh: Mesh = GRID) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*axes))


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape, dtype=np.float32)


def layer(h: Any, w: Any) -> tuple[Any, None]:
    """A layer of a transformer"""
    q, k, v = (jnp.einsum("bte,ehd->bhtd", h, w[n].reshape(WIDTH, HEADS, WIDTH // HEADS)) for n in "qkv")
    scores = jnp.where(jnp.tril(jnp.ones((TOKENS, TOKENS), bool)), jnp.einsum("bhtd,bhsd->bhts", q, k) / 2, -1e9)
    seen = jnp.einsum("bhts,bhsd->bthd", jax.nn.softmax(scores, -1), v).reshape(BATCH, TOKENS, WIDTH)
    h = h + seen @ w["o"]
    normal = (h - jnp.mean(h, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(h, -1, keepdims=True) + 1e-5)
    return h + jax.nn.gelu(normal @ w["1"]) @ w["2"], None


def loss(w: Any, x: Any, y: Any) -> Any:
    h, _ = jax.lax.scan(layer, w["words"][x], w["layers"])
    logits = jnp.einsum("bte,ve->btv", h, w["words"])
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1))


def step(w: Any, m: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    value, gradient = jax.value_and_grad(loss)(w, x, y)
    m = jax.tree.map(lambda a, b: 0.9 * a + b, m, gradient)
    return jax.tree.map(lambda a, b: a - 0.01 * b, w, m), m, value


def steps() -> dict[str, Any]:
    sizes = {n: (WIDTH, WIDTH) for n in "qkvo"} | {"1": (WIDTH, 4 * WIDTH), "2": (4 * WIDTH, WIDTH)}
    w = {"words": draw(WORDS, WIDTH), "layers": {n: draw(LAYERS, *s) / 4 for n, s in sizes.items()}}
    m = jax.tree.map(np.zeros_like, w)
    x, y = (RNG.integers(0, WORDS, (BATCH, TOKENS)).astype(np.int32) for _ in range(2))
    ways: dict[str, tuple[Any, Any]] = {
        "data parallel": (jax.tree.map(lambda _: on(), w), on(("d", "m"))),
        "fully sharded": ({"words": on("d"), "layers": dict.fromkeys(sizes, on(None, "d"))}, on("d")),
        "tensor parallel": ({"words": on("m"), "layers": dict.fromkeys("qkv1", on(None, None, "m"))
                             | dict.fromkeys("o2", on(None, "m"))}, on("d")),
    }
    return {f"a training step, {name}": (step, (w, m, x, y), (ws, ws, xs, xs), (ws, ws, on()))
            for name, (ws, xs) in ways.items()}


def small() -> dict[str, Any]:
    """A function, its arguments, how they are divided, and how its results are"""
    whole, rows = on(), on("d")
    table, i, updates = draw(32, 4), RNG.integers(0, 32, 16).astype(np.int32), draw(16, 4)
    bytes8 = [RNG.integers(-9, 9, shape).astype(np.int8) for shape in ((8, 16), (16, 8))]
    return {
        "devices in another order": (lambda a, b: (a @ b, a.sum(0), a[::-1]), (draw(8, 8), draw(8, 8)),
                                     (on("z", mesh=TURNED), on(None, "z", mesh=TURNED)),
                                     (on("z", mesh=TURNED), on("z", mesh=TURNED), on(None, "z", mesh=TURNED))),
        "random numbers": (lambda k, x: jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(k), 0.5, x.shape), x, 0),
                           (np.arange(2, dtype=np.uint32), draw(16, 8)), (whole, rows), rows),
        "rows and their gradient": (lambda t, i, u: (t[i], jnp.zeros_like(t).at[i].add(u)), (table, i, updates),
                                    (whole, rows, rows), (rows, whole)),
        "products of bytes": (lambda a, b: jax.lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32),
                              tuple(bytes8), (on(None, "d"), rows), whole),
        "truths and products": (lambda x: ((x > 1).any(0), (x > -2).all(1), x.prod(0)), (draw(8, 8),), (on("d", "m"),), None),
        "a loop until a sum": (lambda x: jax.lax.while_loop(lambda c: jnp.sum(c[0]) < 100, lambda c: (c[0] * 2 + 1, c[1] + 1),
                                                            (jnp.abs(x), 0)), (draw(8, 8),), (rows,), None),
        "a computation on partitions inside": (
            lambda x: jax.shard_map(lambda a: jax.lax.psum(a, "d") * 2 + jax.lax.axis_index("m"), mesh=GRID,
                                    in_specs=PartitionSpec("d", "m"), out_specs=PartitionSpec(None, "m"))(x + 1).sum(0),
            (draw(8, 8),), (on("m"),), whole),
        "a computation on partitions along one axis": (
            lambda x: jax.shard_map(lambda a: jax.lax.psum(a, "d") * 2, mesh=GRID, axis_names={"d"},
                                    in_specs=PartitionSpec("d"), out_specs=PartitionSpec(None))(x + 1).sum(0),
            (draw(8, 8),), (on("m"),), whole),
        "a computation on partitions in another": (
            lambda x: jax.shard_map(lambda a: jax.shard_map(lambda b: jax.lax.psum(b * 2, "m"), axis_names={"m"},
                                                            in_specs=PartitionSpec("m"), out_specs=PartitionSpec())(a),
                                    mesh=GRID, axis_names={"d"}, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d"))(x),
            (draw(8, 8),), (on("m"),), whole),
        "moved to another dimension": (lambda x: x.T + 1, (draw(8, 8),), (rows,), rows),
    }


def report(number: int, name: str, run: Callable[[], tuple[str, Any]]) -> bool:
    problem, passed = run()
    print(f"{'not ok' if problem else 'ok'} {number} - {name}{': ' + problem if problem else ''}")
    print(f"# {', '.join(f'{n} {kind}' for kind, n in passed.items()) or 'nothing is passed'}", flush=True)
    return not problem


def main() -> int:
    library = divided.load(Path(sys.argv[1]))
    first, count = (int(n) for n in [*sys.argv[2:], *("0", "40")[len(sys.argv) - 2:]])
    written = steps() | small()
    good, number = True, 0
    print(f"1..{len(written) + count}")
    for number, (name, row) in enumerate(written.items(), 1):
        good &= report(number, name, lambda row=row: divided.check(library, *row, rtol=1e-3))
    for seed in range(first, first + count):
        program = drawn.Program(seed)
        good &= report(number + 1 + seed - first, f"drawn program {seed} ({' '.join(program.kinds())})",
                       lambda program=program: divided.check(library, program, *program.case()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
