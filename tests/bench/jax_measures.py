#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One measure of JAX, as lines `name number`; frameworks.py calls it, mostly once a platform.

usage: jax_measures.py dispatch|operations|transfers|growth
       jax_measures.py step PROGRAM SECONDS [DIRECTORY]    DIRECTORY: where the arguments are left as .npy
       jax_measures.py compile PROGRAM TIMES               PROGRAM: of programs()

The first device of JAX_PLATFORMS's first platform is measured. Times are in seconds.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples" / "bert"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.extend.mlir import serialize_portable_artifact  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

import model  # noqa: E402
import train  # noqa: E402

MIB = 1 << 20
STEPS, WARM = 10000, 1000
Program = tuple[Callable[..., Any], tuple]


TOLD: list[float] = []  # what JAX says that a platform's compiler took, from StableHLO on


def told(event: str, seconds: float, **_: Any) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        TOLD.append(seconds)


jax.monitoring.register_event_duration_secs_listener(told)


def put(name: str, value: float) -> None:
    print(f"{name} {value:.9g}", flush=True)


# ---- programs ----


def pairs(size: model.Size, batch: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    words = rng.integers(4, size.vocabulary, (batch, size.length)).astype(np.int32)
    segments = np.repeat(np.arange(2, dtype=np.int32), size.length // 2)[None].repeat(batch, 0)
    return words, segments, words, (rng.random(words.shape) < 0.15).astype(np.int32), np.arange(batch, dtype=np.int32) % 2


def bert_step(size: model.Size, batch: int) -> Program:
    """A training step of the case study's, without accumulation"""
    def step(state: Any, batches: Any, number: jax.Array) -> Any:
        return train.step(size, "fp32", None, state, batches, None, jnp.float32(1e-4), number)

    weights = model.initial(size, 0)
    zeros = {name: np.zeros_like(w) for name, w in weights.items()}
    return step, ((weights, zeros, zeros), tuple(a[None] for a in pairs(size, batch)), np.float32(1))


def bert_inference(size: model.Size, batch: int) -> Program:
    words, segments = pairs(size, batch)[:2]
    weights = {name: w for name, w in model.initial(size, 0).items() if name.split(".")[0] not in ("words", "next", "transform", "pooler")}
    return lambda p, w, s: model.encode(size, p, w, s), (weights, words, segments)


def cnn(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    for i in range(4):
        x = lax.conv_general_dilated(x, p[f"{i}.w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * p[f"{i}.gain"] + p[f"{i}.bias"]
        x = jax.nn.relu(x)
        if i % 2:
            x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(len(x), -1) @ p["out.w"] + p["out.b"]


def cnn_step() -> Program:
    """Four convolutions with batch norm, two maxima of windows, a dense layer, by AdamW; 32 images of 32 x 32"""
    rng, widths = np.random.default_rng(0), [3, 32, 32, 64, 64]
    weights = {}
    for i in range(4):
        weights[f"{i}.w"] = 0.1 * rng.standard_normal((3, 3, *widths[i:i + 2]), np.float32)
        weights |= {f"{i}.gain": np.ones(widths[i + 1], np.float32), f"{i}.bias": np.zeros(widths[i + 1], np.float32)}
    weights |= {"out.w": 0.02 * rng.standard_normal((64 * 64, 10), np.float32), "out.b": np.zeros(10, np.float32)}
    zeros = {name: np.zeros_like(w) for name, w in weights.items()}
    images, labels = rng.standard_normal((32, 32, 32, 3), np.float32), np.arange(32, dtype=np.int32) % 10

    def step(state: Any, x: jax.Array, y: jax.Array, number: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(lambda p: model.cross_entropy(cnn(p, x), y).mean())(state[0])
        return train.adamw(state, gradient, jnp.float32(1e-3), number), value

    return step, ((weights, zeros, zeros), images, labels, np.float32(1))


def adam() -> Program:
    """AdamW of 20 matrices alone"""
    rng = np.random.default_rng(0)
    parts = [{str(i): rng.standard_normal((256, 256), np.float32) for i in range(20)} for _ in range(4)]
    return (lambda state, g, number: train.adamw(state, g, jnp.float32(1e-3), number)), (tuple(parts[:3]), parts[3], np.float32(1))


BASE = model.Size(12, 768, 12, 30522, 128)
PROGRAMS: dict[str, Callable[[], Program]] = {
    "bert_base_8": lambda: bert_inference(BASE, 8),
    "transformer": lambda: bert_step(model.Size(4, 256, 4, 2048, 64), 16),
    "cnn": cnn_step,
    "adam": adam,
    "bert_base_step": lambda: bert_step(BASE, 8),
    "bert_large_step": lambda: bert_step(model.Size(24, 1024, 16, 30522, 128), 2),
}

# ---- measures ----


def measure_dispatch() -> None:
    function, x = jax.jit(lambda x: x + 1), jnp.arange(4, dtype=jnp.float32)
    function(x).block_until_ready()
    dispatch, ready = [], []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(1000):
            y = function(x)
        dispatch.append((time.perf_counter() - start) / 1000)
        y.block_until_ready()
        start = time.perf_counter()
        for _ in range(1000):
            function(x).block_until_ready()
        ready.append((time.perf_counter() - start) / 1000)
    put("dispatch", min(dispatch))
    put("ready", min(ready))
    put("ready-median", statistics.median(ready))


def operations() -> list[tuple[Callable[..., Any], tuple]]:
    """The operations of JAX's lax_test, each with the shapes that it is tried with there"""
    f, i, b = np.float32, np.int32, np.bool_
    shapes, out = [(), (3, 4), (2, 3, 4)], []
    unary = [lax.neg, lax.sign, lax.floor, lax.ceil, lax.round, lax.exp, lax.exp2, lax.expm1, lax.log, lax.log1p, lax.tanh, lax.logistic,
             lax.sin, lax.cos, lax.tan, lax.atan, lax.sqrt, lax.rsqrt, lax.cbrt, lax.abs, lax.erf, lax.erfc, lax.lgamma, lax.digamma, lax.square, lax.is_finite]
    binary = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.pow, lax.atan2, lax.eq, lax.lt]
    whole = [lax.add, lax.mul, lax.div, lax.rem, lax.max, lax.bitwise_and, lax.bitwise_xor, lax.shift_left, lax.shift_right_logical]
    for s in shapes:
        out += [(op, (np.ones(s, f),)) for op in unary] + [(op, (np.ones(s, f),) * 2) for op in binary]
        out += [(op, (np.ones(s, i),) * 2) for op in whole] + [(lax.population_count, (np.ones(s, i),)), (lax.bitwise_not, (np.ones(s, b),))]
    x, v = np.ones((3, 4, 5), f), np.ones((6,), f)
    out += [(lambda a, b: lax.dot(a, b), (np.ones(s, f), np.ones(t, f))) for s, t in (((4,), (4,)), ((3, 4), (4,)), ((3, 4), (4, 5)), ((32, 64), (64, 32)))]
    out += [(lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), (np.ones((3, 4, 5), f), np.ones((3, 5, 2), f)))]
    for window, strides, padding in ((3, 1, "SAME"), (3, 2, "VALID"), (2, 2, "SAME")):
        out += [(lambda a, w, s=strides, p=padding: lax.conv(a, w, (s, s), p), (np.ones((2, 3, 9, 10), f), np.ones((4, 3, window, window), f)))]
        out += [(lambda a, s=strides, p=padding, w=window: lax.reduce_window(a, -np.inf, lax.max, (1, 1, w, w), (1, 1, s, s), p), (np.ones((2, 3, 9, 10), f),))]
    for axes in ((0,), (1, 2), (0, 1, 2)):
        out += [(lambda a, axes=axes, op=op: op(a, axes), (x,)) for op in (jnp.sum, jnp.max, jnp.prod, jnp.any)]
    out += [(lambda a, n=n: lax.argmax(a, n, np.int32), (x,)) for n in range(3)] + [(lambda a, n=n: lax.cumsum(a, n), (x,)) for n in range(3)]
    out += [(lambda a, n=n: lax.sort(a, dimension=n), (x,)) for n in range(3)] + [(lambda a: lax.top_k(a, 2), (x,))]
    out += [(lambda a: lax.transpose(a, (2, 0, 1)), (x,)), (lambda a: lax.reshape(a, (15, 4)), (x,)), (lambda a: lax.rev(a, (0, 2)), (x,)),
            (lambda a: lax.pad(a, 0.0, [(1, 2, 0), (0, 1, 1), (-1, 0, 0)]), (x,)), (lambda a: lax.concatenate([a, a], 1), (x,)),
            (lambda a: lax.slice(a, (1, 0, 2), (3, 4, 5), (1, 2, 1)), (x,)), (lambda a, n: lax.dynamic_slice(a, (n, n, n), (1, 2, 3)), (x, i(1))),
            (lambda a, u, n: lax.dynamic_update_slice(a, u, (n, n, n)), (x, np.ones((1, 2, 2), f), i(1))),
            (lambda a: lax.broadcast_in_dim(a, (3, 6, 4), (1,)), (v,)), (lambda a: lax.convert_element_type(a, np.int8), (x,)),
            (lambda a: lax.bitcast_convert_type(a, np.int32), (x,)), (lambda a, n: a[n], (x, np.array([2, 0], i))),
            (lambda a, n, u: a.at[n].add(u), (x, np.array([2, 0], i), np.ones((2, 4, 5), f))), (lambda p, a, c: lax.select(p, a, c), (x > 0, x, x)),
            (lambda lo, a, hi: lax.clamp(lo, a, hi), (f(0), x, f(1))), (lambda: lax.iota(np.int32, 12), ()), (lambda a: jax.nn.softmax(a), (x,))]
    return out


def artifact(lowered: Any) -> float:
    """How long jaxlib takes to make of a program what it hands to a plug-in; XLA for CPUs is handed none"""
    if not jax.devices()[0].client.is_c_api:
        return 0
    module, version = lowered.compiler_ir(), stablehlo.get_current_version()
    start = time.perf_counter()
    serialize_portable_artifact(module, version)
    return time.perf_counter() - start


def measure_operations() -> None:
    took, own = [], []
    for function, arguments in operations():
        artifacts = []
        for _ in range(3):
            jax.clear_caches()  # what was lowered keeps what it was compiled to
            lowered = jax.jit(function).lower(*arguments)
            lowered.compile()
            artifacts.append(artifact(lowered))
        took.append(min(TOLD[-3:]))
        own.append(took[-1] - min(artifacts))
    put("count", len(took))
    for name, values in ("", sorted(took)), ("-own", sorted(own)):
        put(f"median{name}", statistics.median(values))
        put(f"p99{name}", values[len(values) * 99 // 100])


def measure_compile(name: str, times: str) -> None:
    function, arguments = PROGRAMS[name]()
    took, processor, artifacts = [], [], []
    for _ in range(int(times)):
        jax.clear_caches()
        lowered = jax.jit(function).lower(*arguments)
        cpu = time.process_time()
        lowered.compile()
        processor.append(time.process_time() - cpu)
        took.append(TOLD[-1])
        artifacts.append(artifact(lowered))
    put("compile", min(took))
    put("processor", min(processor))
    put("artifact", min(artifacts))


def measure_step(name: str, seconds: str, directory: str = "") -> None:
    function, arguments = PROGRAMS[name]()
    if directory:
        for number, leaf in enumerate(jax.tree.leaves(arguments)):
            np.save(Path(directory) / f"{number}.npy", leaf)
    arguments = jax.device_put(arguments)
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    put("compile", time.perf_counter() - start)
    start = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    put("first", time.perf_counter() - start)
    took, end = [], time.perf_counter() + float(seconds)
    while time.perf_counter() < end or not took:
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        took.append(time.perf_counter() - start)
    put("least", min(took))
    put("median", statistics.median(took))
    put("memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def measure_transfers() -> None:
    """64 MiB, in turns with memcpy; to where other such bytes were before, as an allocator that keeps pages has it"""
    host, other = (np.full(64 * MIB // 4, n, np.float32) for n in (1, 2))
    device = jax.devices()[0]
    took: dict[str, list[float]] = {"memcpy": [], "fresh": [], "in": [], "out": []}

    def timed(name: str, function: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = function()
        took[name].append(time.perf_counter() - start)
        return result

    for _ in range(30):
        timed("memcpy", lambda: np.copyto(other, host))
        timed("fresh", host.copy)
        there = timed("in", lambda: jax.device_put(host, device).block_until_ready())
        back = timed("out", lambda there=there: np.asarray(there))
        assert back[-1] == 1
        del there, back
    for name, values in took.items():
        put(name, min(values))
        put(f"{name}-median", statistics.median(values))


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measure_growth() -> None:
    """A step of a small classifier by AdamW; the rate of growth is of the last nine tenths"""
    rng = np.random.default_rng(0)
    weights = {"a": 0.1 * rng.standard_normal((64, 32), np.float32), "b": 0.1 * rng.standard_normal((32, 10), np.float32)}
    zeros = {name: np.zeros_like(w) for name, w in weights.items()}
    x, y = rng.standard_normal((32, 64), np.float32), np.arange(32, dtype=np.int32) % 10

    def step(state: Any, x: jax.Array, y: jax.Array, number: jax.Array) -> Any:
        value, g = jax.value_and_grad(lambda p: model.cross_entropy(jnp.tanh(x @ p["a"]) @ p["b"], y).mean())(state[0])
        return train.adamw(state, g, jnp.float32(1e-3), number), value

    one, state, before = jax.jit(step, donate_argnums=0), (weights, zeros, zeros), 0
    for number in range(STEPS):
        if number == WARM:
            before = resident()
        state, value = one(state, x, y, np.float32(number + 1))
        float(value)
    put("growth", (resident() - before) / (STEPS - WARM))


if __name__ == "__main__":
    globals()[f"measure_{sys.argv[1]}"](*sys.argv[2:])
