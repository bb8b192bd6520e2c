# SPDX-License-Identifier: MIT
"""Calls of the host in programs for several devices, for jax_devices.py: results, and who was called with what."""

import inspect
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

N = 8
X = np.arange(16, dtype=np.float32)
Y = np.arange(32, dtype=np.float32).reshape(8, 4)
PARTITIONED = "partitioned" in inspect.signature(jax.debug.callback).parameters
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map

Program = Callable[[Callable[..., None], Mesh], Callable[..., Any]]


def doubled(note: Callable[..., None], tag: str) -> Callable[..., Any]:
    def function(*operands: Any) -> Any:
        note(tag, *operands)
        return np.asarray(operands[0]) * 2
    return function


def like(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def run(program: Program, spec: Any, x: Any, mesh: Mesh) -> tuple[list[Any], list[Any]]:
    calls: list[Any] = []
    lock = threading.Lock()

    def note(tag: str, *operands: Any) -> None:
        with lock:
            calls.append((tag, *(np.asarray(o).tolist() for o in operands)))
    result = program(note, mesh)(jax.device_put(x, NamedSharding(mesh, spec)))
    result = [np.asarray(leaf) for leaf in jax.tree.leaves(result)]
    jax.effects_barrier()
    return result, sorted(calls, key=str)


def same(program: Program, spec: Any, x: Any, shape: tuple[int, ...] = (N,), names: tuple[str, ...] = ("x",)) -> None:
    ours, theirs = (run(program, spec, x, Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names))
                    for devices in (jax.devices(), jax.devices("cpu")))
    for a, b in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert ours[1] == theirs[1] and ours[1], (ours[1], theirs[1])


def on_parts(function: Callable[[Callable[..., None]], Callable[..., Any]], **more: Any) -> Program:
    check = {"check_vma": False} if hasattr(jax, "shard_map") else {"check_rep": False}
    return lambda note, mesh: jax.jit(shard_map(function(note), mesh=mesh, in_specs=P("x"), out_specs=P("x"), **check, **more))


def whole(function: Callable[[Callable[..., None]], Callable[..., Any]]) -> Program:
    return lambda note, mesh: jax.jit(function(note))


def in_iterations(note: Callable[..., None]) -> Callable[..., Any]:
    def body(state: Any) -> Any:
        i, x = state
        jax.debug.callback(lambda *a: note("iteration", *a), i, x)
        return i + 1, io_callback(doubled(note, "state"), like(x), x)
    return lambda x: lax.while_loop(lambda s: s[1].sum() < 1000, body, (0, x))


def ordered(note: Callable[..., None]) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        y = io_callback(doubled(note, "first"), like(x), x + 1, ordered=True)
        z = io_callback(doubled(note, "second"), like(x.sum()), y.sum(), ordered=True)
        return x + y + z
    return function


def uneven(note: Callable[..., None]) -> Callable[..., Any]:
    def body(state: Any) -> Any:
        jax.debug.callback(lambda *a: note("iteration", *a), *state)
        return state[0] + 1, state[1] + 1
    return lambda x: lax.while_loop(lambda s: s[0] < lax.axis_index("x"), body, (0 * lax.axis_index("x"), x))[1]


def parts(note: Callable[..., None]) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        jax.debug.callback(lambda *a: note("parts", *a), x, x.sum(0), partitioned=True)
        return x * 3
    return function


def seen(note: Callable[..., None]) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        jax.debug.callback(lambda *a: note("seen", *a), x, (x * 2).sum())
        return x * 3
    return function


def chosen(note: Callable[..., None], mesh: Mesh) -> Callable[..., Any]:
    sharding = SingleDeviceSharding(mesh.devices.flat[3])
    return jax.jit(lambda x: x + jax.pure_callback(doubled(note, "one"), like(x), x + 1, sharding=sharding))


def failing() -> None:
    """Whoever is asked first: the exception's text is in the error"""
    def bad(x: Any) -> Any:
        raise ValueError("no such luck")
    mesh = Mesh(np.array(jax.devices()[:N]), ("x",))
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    try:
        np.asarray(jax.jit(lambda x: x + jax.pure_callback(bad, like(x), x))(x))
    except Exception as e:
        assert "no such luck" in str(e), e
    else:
        raise AssertionError("no exception")
    assert float(jax.jit(lambda x: x.sum())(x)) == X.sum()


def many() -> None:
    """More steps than a set of 64 has room for"""
    calls: list[int] = []
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))

    def function(x: Any) -> Any:
        for i in range(100):
            x = jnp.roll(x, 1) + 1
            jax.debug.callback(lambda v, i=i: calls.append((i, float(v))), x[0])
        return x
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    y, wanted = np.asarray(jax.jit(function)(x)), X
    jax.effects_barrier()
    for i in range(100):
        wanted = np.roll(wanted, 1) + 1
        assert (i, float(wanted[0])) in calls
    np.testing.assert_array_equal(y, wanted)
    assert len(calls) == 100


def cases(case: Callable[[str, Callable[[], None]], None]) -> None:
    row = P("x")
    pure = whole(lambda note: lambda x: x + jax.pure_callback(doubled(note, "pure"), like(x), x + 1))
    case("a call: pure, of the whole array", lambda: same(pure, row, X))
    case("a call: on a device that is named", lambda: same(chosen, row, X))
    case("a call: with an effect", lambda: same(whole(seen), row, X))
    if tuple(int(n) for n in jax.__version__.split(".")[:2]) >= (0, 9):  # XLA's CPU refuses it before
        case("calls: ordered", lambda: same(whole(ordered), row, X))
    case("calls: in a loop", lambda: same(whole(in_iterations), row, X))
    case("calls: on parts, in loops of different lengths", lambda: same(on_parts(uneven), row, X))
    case("calls: on parts, pure", lambda: same(on_parts(
        lambda note: lambda x: lax.psum(jax.pure_callback(doubled(note, "part"), like(x), x), "x") + x), row, X))
    case("calls: on parts, ordered", lambda: same(on_parts(
        lambda note: lambda x: io_callback(doubled(note, "part"), like(x), x, ordered=True)), row, X))
    if PARTITIONED:
        case("calls: partitioned", lambda: same(whole(parts), P("x", "y"), Y, (4, 2), ("x", "y")))
        case("calls: partitioned, on parts", lambda: same(on_parts(parts), row, Y))
    if hasattr(jax, "shard_map"):
        case("a call: some axes left open", lambda: same(on_parts(seen, axis_names={"x"}), row, Y, (4, 2), ("x", "y")))
    case("a call: an exception", failing)
    case("calls: a hundred", many)
