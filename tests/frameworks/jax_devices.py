#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Programs for eight devices: JAX on the plug-in against JAX on eight devices of its CPU. As TAP.

usage: jax_devices.py    as jax_plugin.py, with NEURON_EMU of an instance that has eight cores (trn1.32xlarge), and
                         XLA_FLAGS=--xla_force_host_platform_device_count=8
"""

import os
import traceback
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "neuron,cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import devices_calls  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

N = 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 8), dtype=np.float32)
W = RNG.standard_normal((8, 32), dtype=np.float32)
V = RNG.standard_normal((32, 8), dtype=np.float32)
WHOLE = RNG.integers(-1000, 1000, (16, 8)).astype(np.int32)
TYPES = {"f32": X, "bf16": X.astype(jnp.bfloat16), "f16": X.astype(np.float16), "s32": WHOLE, "s16": WHOLE.astype(np.int16),
         "u8": (WHOLE & 7).astype(np.uint8), "pred": WHOLE > 0}
ROUND = [(i, (i + 1) % N) for i in range(N)]
CASES: list[tuple[str, Callable[[], None]]] = []
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map


def meshes(shape: tuple[int, ...], names: tuple[str, ...]) -> list[Mesh]:
    """Meshes of our devices and of the CPU's"""
    return [Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names) for devices in (jax.devices(), jax.devices("cpu"))]


def unchecked() -> dict[str, bool]:
    return {"check_vma": False} if hasattr(jax, "shard_map") else {"check_rep": False}


def compare(ours: Any, theirs: Any, rtol: float) -> None:
    for our, their in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert our.dtype == their.dtype and our.shape == their.shape, (our.dtype, their.dtype, our.shape, their.shape)
        exact = not rtol or np.issubdtype(our.dtype, np.integer) or our.dtype == np.bool_
        if exact:
            np.testing.assert_array_equal(our, their)
        else:
            np.testing.assert_allclose(our.astype(np.float64), their.astype(np.float64), rtol=rtol, atol=rtol)


def on_parts(function: Callable[..., Any], specs: tuple[Any, ...], out: Any, *arguments: Any, shape: tuple[int, ...] = (N,),
             names: tuple[str, ...] = ("x",), rtol: float = 0) -> None:
    results = []
    for mesh in meshes(shape, names):
        program = jax.jit(shard_map(function, mesh=mesh, in_specs=specs, out_specs=out, **unchecked()))
        given = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arguments, specs)]
        results.append(jax.tree.map(np.asarray, program(*given)))
    compare(*results, rtol)


def divided(function: Callable[..., Any], specs: tuple[Any, ...], *arguments: Any, shape: tuple[int, ...] = (N,),
            names: tuple[str, ...] = ("x",), rtol: float = 1e-5, out: Any = None) -> None:
    results = []
    for mesh in meshes(shape, names):
        given = [jax.tree.map(lambda leaf, s=s, mesh=mesh: jax.device_put(leaf, NamedSharding(mesh, s)), a) for a, s in zip(arguments, specs)]
        program = jax.jit(function, **({} if out is None else {"out_shardings": NamedSharding(mesh, out)}))
        results.append(jax.tree.map(np.asarray, program(*given)))
    compare(*results, rtol)


def case(name: str, function: Callable[[], None]) -> None:
    CASES.append((name, function))


def collectives() -> None:
    for kind, x in TYPES.items():
        narrow = 2e-2 if kind in ("bf16", "f16") else 2e-6
        if kind != "pred":
            case(f"psum of {kind}", lambda x=x, r=narrow: on_parts(lambda v: lax.psum(v, "x"), (P("x"),), P("x"), x, rtol=r))
            case(f"psum_scatter of {kind}", lambda x=x, r=narrow: on_parts(
                lambda v: lax.psum_scatter(v, "x", tiled=True), (P(None),), P("x"), x, rtol=r))
        for op in ("pmax", "pmin"):
            case(f"{op} of {kind}", lambda x=x, op=op: on_parts(lambda v: getattr(lax, op)(v, "x"), (P("x"),), P("x"), x))
        case(f"all_gather of {kind}", lambda x=x: on_parts(lambda v: lax.all_gather(v, "x", axis=1, tiled=True), (P("x"),), P("x"), x))
        case(f"all_gather of {kind}, untiled", lambda x=x: on_parts(lambda v: lax.all_gather(v, "x"), (P("x"),), P("x"), x))
        case(f"all_to_all of {kind}", lambda x=x: on_parts(lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True), (P("x"),), P("x"), x))
        case(f"all_to_all of {kind}, one dimension", lambda x=x: on_parts(
            lambda v: lax.all_to_all(v, "x", 1, 1, tiled=True), (P("x"),), P("x"), x))
        case(f"ppermute of {kind}", lambda x=x: on_parts(lambda v: lax.ppermute(v, "x", ROUND), (P("x"),), P("x"), x))
        case(f"ppermute of {kind}, of some", lambda x=x: on_parts(
            lambda v: lax.ppermute(v, "x", [(0, 3), (5, 1)]), (P("x"),), P("x"), x))
    case("pmean", lambda: on_parts(lambda v: lax.pmean(v, "x"), (P("x"),), P("x"), X, rtol=2e-6))
    case("axis_index", lambda: on_parts(lambda v: v + lax.axis_index("x"), (P("x"),), P("x"), X))
    case("two axes", lambda: on_parts(
        lambda v: (lax.psum(v, "a"), lax.psum(v, "b"), lax.psum(v, ("a", "b")), v + lax.axis_index("a") * 10 + lax.axis_index("b")),
        (P("a", "b"),), P("a", "b"), X, shape=(2, 4), names=("a", "b"), rtol=2e-6))
    case("many bytes", lambda: on_parts(
        lambda v: lax.psum(v, "x"), (P("x"),), P("x"), RNG.standard_normal((8, 40001), dtype=np.float32), rtol=1e-5))
    case("in a scan", lambda: on_parts(
        lambda v: lax.scan(lambda c, t: (lax.psum(c * 0.1 + t, "x") * 0.5, c.sum()), v, jnp.arange(100, dtype=jnp.float32))[0],
        (P("x"),), P("x"), X, rtol=1e-5))
    case("in a while loop", lambda: on_parts(
        lambda v: lax.while_loop(lambda c: c[1] < 7, lambda c: (lax.ppermute(c[0], "x", ROUND) * 1.5, c[1] + 1), (v, 0))[0],
        (P("x"),), P("x"), X))


def layer_norm(a: Any) -> Any:
    return (a - a.mean(-1, keepdims=True)) * lax.rsqrt(a.var(-1, keepdims=True) + 1e-5)


def shardings() -> None:
    rows, columns = P("x"), P(None, "x")
    one = {"elementwise": lambda a: jnp.tanh(a) * 2 + jnp.where(a > 0, a, 0.0), "sum": lambda a: a.sum(), "sum of columns": lambda a: a.sum(0),
           "sum of rows": lambda a: a.sum(1), "maximum": lambda a: a.max(0), "deviation": lambda a: (a - a.mean(0)) / a.std(0),
           "layer norm": layer_norm, "reshape": lambda a: a.reshape(128) * 2, "reshape that gathers": lambda a: a.reshape(4, 4, 8).sum(1),
           "transpose": lambda a: a.T + 1, "sort": lambda a: jnp.sort(a, axis=0), "cumulative sum": lambda a: jnp.cumsum(a, axis=0),
           "rows by index": lambda a: a[jnp.array([3, 1, 15])], "concatenate": lambda a: jnp.concatenate([a, a * 2], 1),
           "slice": lambda a: a[:, 2:5] + a[:, 1:4], "pad": lambda a: jnp.pad(a, ((0, 0), (1, 2))), "argmax": lambda a: jnp.argmax(a, 0),
           "scan": lambda a: lax.scan(lambda c, t: (jnp.sin(c) + t, c.sum()), a, jnp.arange(20.0))[0],
           "count": lambda a: a + jnp.arange(16.0)[:, None] + jnp.arange(8.0)}
    for name, function in one.items():
        case(f"divided: {name}", lambda f=function: divided(f, (rows,), X))
    case("divided: softmax over what is divided", lambda: divided(lambda a: jax.nn.softmax(a, -1), (columns,), X))
    case("divided: another sharding of the result", lambda: divided(lambda a: a + 1, (rows,), X, out=columns))
    case("product: rows", lambda: divided(jnp.matmul, (rows, P()), X, W))
    case("product: columns", lambda: divided(jnp.matmul, (P(), columns), X, W))
    case("product: what is summed over", lambda: divided(jnp.matmul, (columns, rows), X, W))
    case("product: one of both", lambda: divided(jnp.matmul, (P(), rows), X, W))
    case("product: rows and columns along one axis", lambda: divided(jnp.matmul, (rows, columns), X, W))
    case("two layers, data and model", lambda: divided(
        lambda a, w, v: jax.nn.gelu(a @ w) @ v, (P("d"), P(None, "m"), P("m", None)), X, W, V, shape=(2, 4), names=("d", "m")))


def loss(p: dict[str, Any], x: Any, y: Any) -> Any:
    return ((jnp.tanh(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2).mean()


def step(p: dict[str, Any], x: Any, y: Any) -> Any:
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    return jax.tree.map(lambda q, g: q - 0.1 * g, p, gradient), value


def train(run: Callable[..., Any], put: Callable[[Any, P], Any]) -> list[float]:
    p = put({"w": W, "v": V, "b": np.zeros(32, np.float32)}, P())
    losses = []
    for _ in range(20):
        p, value = run(p, put(X, P("x")), put(X, P("x")))
        losses.append(float(np.asarray(value)))
    return losses


def training() -> None:
    """Data parallel on eight cores is what one core computes: the mean of the parts' gradients is that of all"""
    alone = train(jax.jit(step), lambda tree, _: jax.device_put(tree, jax.devices()[0]))
    mesh = meshes((N,), ("x",))[0]

    def put(tree: Any, spec: P) -> Any:
        return jax.tree.map(lambda leaf: jax.device_put(leaf, NamedSharding(mesh, spec)), tree)

    def each(p: dict[str, Any], x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        value, gradient = lax.pmean((value, gradient), "x")
        return jax.tree.map(lambda q, g: q - 0.1 * g, p, gradient), value

    parts = jax.jit(shard_map(each, mesh=mesh, in_specs=(P(), P("x"), P("x")), out_specs=(P(), P()), **unchecked()))
    assert alone[-1] < alone[0] / 2, alone
    np.testing.assert_allclose(train(parts, put), alone, rtol=1e-5)
    np.testing.assert_allclose(train(jax.jit(step), put), alone, rtol=1e-5)


def pmap() -> None:
    x = X.reshape(N, 16)
    with_sum = jax.pmap(lambda v: v / lax.psum(v, "i"), axis_name="i")
    np.testing.assert_allclose(np.asarray(with_sum(x)), x / x.sum(0), rtol=1e-5)


def in_order() -> None:
    """Two programs that pass something, one behind the other many times without a wait between"""
    mesh = meshes((N,), ("x",))[0]
    one, two = (jax.jit(shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), **unchecked()))
                for f in (lambda v: lax.ppermute(v, "x", ROUND), lambda v: v - lax.psum(v, "x") / N))
    y = jax.device_put(X, NamedSharding(mesh, P("x")))
    want = X.astype(np.float64)
    for _ in range(20):
        y = two(one(y))
        want = np.roll(want, 2, 0)
        want = (want.reshape(N, 2, 8) - want.reshape(N, 2, 8).mean(0)).reshape(16, 8)
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-4, atol=1e-5)


def as_hlo() -> None:
    """JAX before 0.10 finds in a program's HLO how arguments and results lie"""
    mesh = meshes((N,), ("x",))[0]
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    compiled = jax.jit(lambda a: (jnp.sort(a, 0), a.sum()), in_shardings=rows, out_shardings=(columns, None)).lower(X).compile()
    assert "num_partitions=8" in compiled.as_text()
    found = compiled.runtime_executable().hlo_modules()[0].spmd_parameters_shardings
    assert [list(sharding.tile_assignment_dimensions) for sharding in found] == [[8, 1]], found
    split = shard_map(lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True), mesh=mesh, in_specs=P("x"), out_specs=P("x"), **unchecked())
    assert "all-to-all" in jax.jit(split).lower(X).compile().as_text()


def main() -> None:
    assert len(jax.devices()) >= N and len(jax.devices("cpu")) >= N, "eight devices are needed"
    collectives()
    shardings()
    case("data parallel training is a core's", training)
    case("pmap", pmap)
    case("programs in one order on all devices", in_order)
    case("a program as HLO", as_hlo)
    devices_calls.cases(case)
    print(f"# jax {jax.__version__}, {jax.devices()[0].device_kind}")
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (name, function) in enumerate(CASES, 1):
        try:
            function()
            print(f"ok {number} - {name}")
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()[-12:]), end="", flush=True)
    raise SystemExit(failed > 0)


main()
