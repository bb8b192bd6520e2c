#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""JAX on the plug-in against JAX on its CPU. As TAP.

usage: jax_plugin.py    in an environment with jax and neuron-emulator-jax, or with the plug-in by PJRT_NAMES_AND_LIBRARY_PATHS;
                        NEURON_EMU says of which instance, JAX_PLATFORMS=neuron,cpu
"""

import os
import pty
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "neuron,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

CASES: list[tuple[str, Callable[[], None]]] = []
RNG = np.random.default_rng(0)
A = RNG.standard_normal((6, 8), dtype=np.float32)
B = RNG.standard_normal((8, 5), dtype=np.float32)


class Skipped(Exception):
    pass


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES.append((function.__name__.replace("_", " "), function))
    return function


def both(function: Callable[..., Any], *arguments: Any, rtol: float = 2e-5, atol: float = 1e-5) -> None:
    """The function's results on the first device and on the CPU: as near as that, integers equal."""
    results = []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            results.append(jax.tree.map(np.asarray, function(*arguments)))
    ours, theirs = map(jax.tree.leaves, results)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs):
        assert our.dtype == their.dtype and our.shape == their.shape, (our.dtype, their.dtype, our.shape, their.shape)
        if np.issubdtype(our.dtype, np.integer) or our.dtype == np.bool_:
            np.testing.assert_array_equal(our, their)
        else:
            np.testing.assert_allclose(our.astype(np.float64), their.astype(np.float64), rtol=rtol, atol=atol)


@case
def devices() -> None:
    assert jax.default_backend() == "neuron"
    device = jax.devices()[0]
    assert device.platform == "neuron" and device.device_kind.startswith("NC_v"), device.device_kind
    kinds = {memory.kind for memory in device.addressable_memories()}
    assert device.default_memory().kind == "device" and kinds == {"device", "pinned_host", "unpinned_host"}
    assert device.memory_stats()["bytes_limit"] > 1 << 30


@case
def arrays_there_and_back() -> None:
    types = [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.bool_, np.complex64,
             ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4]
    for dtype in types:
        array = np.arange(24).reshape(2, 3, 4).astype(dtype)
        for view in (array, array[::-1], array.T, array[:, ::2], array[..., ::-1], array[1, 2, 3], array[:, :0]):
            for device in jax.devices()[:2]:
                there = jax.device_put(view, device)
                assert there.devices() == {device}
                np.testing.assert_array_equal(np.asarray(there).astype(np.complex64), view.astype(np.complex64))


@case
def scaled_products() -> None:
    """MXFP4 and MXFP8, of numbers whose sums are exact, as NumPy has them"""
    if not hasattr(jax.nn, "scaled_matmul"):
        raise Skipped("JAX before 0.6")
    shape, blocks = (2, 48, 64), (2, 48, 2)
    fours = [RNG.integers(0, 16, shape).astype(np.uint8).view(ml_dtypes.float4_e2m1fn) for _ in range(2)]
    scales = [np.exp2(RNG.integers(-3, 4, blocks)).astype(ml_dtypes.float8_e8m0fnu) for _ in range(2)]
    for dtype in (ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        operands = [x.astype(np.float32).astype(dtype) for x in fours]
        wide = [x.astype(np.float32) * np.repeat(s.astype(np.float32), 32, 2) for x, s in zip(operands, scales)]
        ours = jax.nn.scaled_matmul(*map(jnp.asarray, (*operands, *scales)), preferred_element_type=jnp.float32)
        np.testing.assert_array_equal(np.asarray(ours), np.einsum("bmk,bnk->bmn", *wide))


@case
def eager_operations() -> None:
    both(lambda: (jnp.ones(3), jnp.zeros((2, 3)) + 1, jnp.full((2,), 7), jnp.arange(5), jnp.float32(3) * 2, jnp.eye(3)))
    both(lambda x: (x[2], x[::-1], x[1:4, ::2], x.sum(), x.mean(0), x.max(1), x.T @ x, x > 0, x.astype(jnp.int32)), A)
    both(lambda x, y: (x @ y, jnp.dot(x, y), jnp.einsum("ij,jk->ki", x, y)), A, B)
    x = jnp.asarray(A)
    assert int(x.argmax()) == A.argmax() and bool(x[0, 0] > 0) == bool(A[0, 0] > 0) and x[1, 2].item() == A[1, 2]
    assert str(jnp.arange(3)) == "[0 1 2]" and "float32" in repr(jnp.ones(1))


@case
def jitted_functions() -> None:
    both(jax.jit(lambda x: jnp.tanh(x) * 2 + jnp.exp(-x * x)), A, rtol=1e-4)
    both(jax.jit(lambda x, y: {"a": jax.nn.softmax(x @ y), "b": (x, y.sum(0))}), A, B)
    both(jax.jit(jax.vmap(lambda x: jnp.sort(x))), A)
    both(jax.jit(lambda x: (jnp.argmax(x, 1), jnp.cumsum(x, 0), jnp.where(x > 0, x, 0), jnp.concatenate([x, x], 1))), A)
    both(jax.jit(lambda x, i: x[i]), A, np.array([3, 0, 5]))
    both(jax.jit(lambda x, i: x.at[i].add(1.0)), A, np.array([3, 0, 3]))


@case
def control_flow() -> None:
    both(jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda i, y: y * 0.5 + i, x)), A)
    both(jax.jit(lambda x: jax.lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(8), x)), A)
    both(jax.jit(lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)), A)
    both(jax.jit(lambda x: jax.lax.while_loop(lambda v: v[0] < 7, lambda v: (v[0] + 2, v[1] * 1.5), (0, x))), A)


@case
def a_loop_of_thousands_of_operations() -> None:
    def body(x: Any, _: Any) -> Any:
        for i in range(1500):
            x = (x + i) ^ (x >> 3)
        return x, None

    both(jax.jit(lambda x: jax.lax.scan(body, x, None, length=7)[0]), np.arange(5, dtype=np.int32) * 1000003)


@case
def results_that_are_arguments() -> None:
    function = jax.jit(lambda x: x)
    x = jnp.asarray(A)
    y = function(x)
    x.delete()
    np.testing.assert_array_equal(np.asarray(y), A)
    both(jax.jit(lambda x, y: (y, x * 2, x)), A, B)


@case
def arrays_without_elements() -> None:
    none = np.zeros((0, 8), np.float32)
    both(jax.jit(lambda e, x, c, y: (jnp.concatenate([e, x]), e * 2, y.sum(), c + 1, x[:, :0], e.T @ e, y)), none, A,
         np.zeros((3, 0), np.int8), np.arange(4))
    both(jax.jit(lambda e: (e + 1, e[:, 0])), none)
    both(jax.jit(lambda e, x: (x + e.sum(), e * 3), donate_argnums=(0, 1)), none, A)


@case
def values_that_repeat() -> None:
    for shape in ((1 << 20,), (2049,), (3, 50001), (2100, 2000), (40, 64, 3)):
        x = np.asarray(jax.jit(lambda c: jnp.full(shape, c))(np.float32(3)))
        assert x.shape == shape and (x == 3).all(), shape
    rows = np.arange(300, dtype=np.int32)[:, None]
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: jnp.broadcast_to(x, (300, 500)))(rows)), np.broadcast_to(rows, (300, 500)))


@case
def arrays_of_many_dimensions() -> None:
    """More than the compiler has, of one element mostly; jnp.tile makes two of each"""
    x, many = RNG.standard_normal((2, 3, 1, 4, 5), dtype=np.float32), (1, 2, 1, 3, 1, 1, 4, 1, 5, *(1,) * 9)
    half, backwards = many[:9], tuple(range(17, -1, -1))
    for function in (lambda x: jnp.tile(x.reshape(half), (3, 1, 2, *(1,) * 6)).reshape(3, -1),
                     lambda x: jnp.tile(x.reshape(half), (2, *(1,) * 7, 3)).reshape(2, -1),
                     lambda x: jnp.where(x.reshape(many) > 0, 2 * x.reshape(many), 3).transpose(backwards).ravel(),
                     lambda x: x.reshape(many).astype(jnp.int32).reshape(6, 20),
                     lambda x: jnp.real(jnp.tile((x + 1j * x).reshape(half), (2, *(1,) * 8))).ravel(),
                     lambda x: jax.lax.broadcast_in_dim(x, (1, 7, 1, 2, 3, 1, 4, 5, *(1,) * 10), (3, 4, 5, 6, 7)).reshape(7, -1)):
        both(jax.jit(function), x, rtol=0, atol=0)
    for function in (lambda x: x.reshape(many), lambda x: x.reshape(many).sum(3).ravel()):
        try:
            jax.jit(function)(x)
            raise AssertionError("not refused")
        except jax.errors.JaxRuntimeError as error:
            assert "at most 16 is supported" in str(error), error


@case
def windows_that_move() -> None:
    x, u = (RNG.standard_normal((rows, 16), dtype=np.float32) for rows in (10000, 5000))
    dims = jax.lax.ScatterDimensionNumbers((0, 1), (), (0,))
    for scatter in (jax.lax.scatter_add, jax.lax.scatter_mul, jax.lax.scatter_max):
        for start in (0, 17, 5000, 5001, -1):  # the last two are outside, and change nothing
            both(lambda x, at, u: scatter(x, at, u, dims, mode="fill"), x, np.array([start]), u)


@case
def arrays_by_dlpack() -> None:
    device = jax.devices()[0]
    x = jax.dlpack.from_dlpack(A, device=device)  # an array of NumPy's, as of torch's, is copied to the device
    assert x.devices() == {device}
    np.testing.assert_array_equal(np.asarray(x + 0), A)

    class OnTheHost:
        """A copy for others: JAX hands out memory of platforms that it knows"""

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0  # kDLCPU

        def __dlpack__(self, **_: Any) -> Any:
            return x.__dlpack__(dl_device=(1, 0), copy=True)

    np.testing.assert_array_equal(np.from_dlpack(OnTheHost()), A)
    try:
        x.__dlpack__()
        raise AssertionError("JAX knows a DLPack device of this platform now: use it")
    except jax.errors.JaxRuntimeError as e:
        assert "DLPack device" in str(e), e
    back = np.from_dlpack(jax.device_put(x * 2, jax.devices("cpu")[0]))  # JAX hands out what lies on its CPU
    np.testing.assert_array_equal(back, A * 2)


@case
def gradients() -> None:
    def loss(w: Any, x: Any) -> Any:
        return (jax.nn.relu(x @ w["a"]) @ w["b"]).sum() ** 2

    w = {"a": B, "b": RNG.standard_normal((5, 2), dtype=np.float32)}
    both(jax.grad(loss), w, A, rtol=1e-4, atol=1e-3)
    both(jax.value_and_grad(jax.checkpoint(loss)), w, A, rtol=1e-4, atol=1e-3)


@case
def random_numbers() -> None:
    def draw(seed: int) -> Any:
        key, other = jax.random.split(jax.random.key(seed))
        return (jax.random.uniform(key, (50,)), jax.random.normal(other, (50,)), jax.random.randint(key, (9,), 0, 100),
                jax.random.permutation(key, 20), jax.random.bits(other, (4,)), jax.random.bernoulli(key, 0.3, (20,)))

    both(draw, 0)
    both(draw, 1234)


def train(steps: int) -> Any:
    """A classifier with Adam, its state donated at each step."""
    keys = jax.random.split(jax.random.key(0), 2)
    p = {"w": jax.random.normal(keys[0], (16, 32)) * 0.1, "v": jax.random.normal(keys[1], (32, 4)) * 0.1, "b": jnp.zeros(4)}
    state = (p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros((), jnp.int32))

    def loss(p: Any, x: Any, y: Any) -> Any:
        logits = jax.nn.gelu(x @ p["w"]) @ p["v"] + p["b"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    def step(state: Any, x: Any, y: Any) -> Any:
        p, m, v, t = state
        value, g = jax.value_and_grad(loss)(p, x, y)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p - 0.01 * m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), p, m, v)
        return (p, m, v, t), value

    step = jax.jit(step, donate_argnums=0)
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(steps):
        x = rng.standard_normal((8, 16), dtype=np.float32)
        state, value = step(state, x, (x[:, :4].argmax(1)).astype(np.int32))
        losses.append(value)
    return jnp.stack(losses), state[0]


@case
def a_training_run() -> None:
    both(train, 20, rtol=1e-3, atol=1e-4)


@case
def large_donated_arguments() -> None:
    """Large donated arguments change hands; the same program runs with an argument that somebody else has"""
    def step(state: Any, x: Any) -> Any:
        return {name: value + x * (i + 1) for i, (name, value) in enumerate(sorted(state.items()))}, state["b"].sum()

    def steps(x: Any) -> Any:
        one, state, sums = jax.jit(step, donate_argnums=0), {"a": x * 2, "b": x * 3, "c": x + 0}, []
        for _ in range(4):
            state, last = one(state, x)
            sums.append(last)
        return state, jnp.stack(sums)

    both(steps, RNG.integers(-9, 9, (700, 1000)).astype(np.float32), rtol=0, atol=0)


@case
def donated_arguments() -> None:
    add = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = jnp.ones(1000), jnp.ones(1000)
    z = add(x, y)
    assert x.is_deleted() and not y.is_deleted() and float(z[0]) == 2
    try:
        x + 1
        raise AssertionError("a deleted array was used")
    except RuntimeError as e:
        assert "deleted" in str(e)


@case
def two_devices() -> None:
    first, second = jax.devices()[:2]
    x = jax.device_put(A, first)
    y = jax.device_put(x, second)
    z = jax.jit(lambda x: x * 2)(y)
    assert z.devices() == {second}
    np.testing.assert_array_equal(np.asarray(jax.device_put(z, first)), A * 2)
    chain = x
    for i in range(6):
        chain = jax.device_put(chain + 1, (second, first)[i % 2])
    np.testing.assert_array_equal(np.asarray(chain), A + 1 + 1 + 1 + 1 + 1 + 1)


@case
def memories_of_the_host() -> None:
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    x = jax.device_put(A, sharding)
    assert x.sharding.memory_kind == "pinned_host"
    y = jax.device_put(x, sharding.with_memory_kind("device"))
    np.testing.assert_array_equal(np.asarray(x), A)
    np.testing.assert_array_equal(np.asarray(y + 0), A)


@case
def what_is_asked_of_a_program() -> None:
    compiled = jax.jit(lambda x, y: x @ y).lower(A, B).compile()
    costs = compiled.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs  # JAX 0.4
    assert costs["flops"] == 2 * 6 * 8 * 5, costs
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == A.nbytes + B.nbytes and memory.output_size_in_bytes == 6 * 5 * 4
    assert "dot" in compiled.as_text()
    np.testing.assert_allclose(np.asarray(compiled(A, B)), A @ B, rtol=1e-4, atol=1e-5)
    lowered = jax.jit(lambda x: x + 1).lower(A)
    assert lowered.compile(compiler_options={"optlevel": "1"})(A)[0, 0] == A[0, 0] + 1
    try:
        lowered.compile(compiler_options={"xla_neuron_x": "y"})
        raise AssertionError("an unknown option was taken")
    except jax.errors.JaxRuntimeError as e:
        assert "xla_neuron_x" in str(e) and "INVALID_ARGUMENT" in str(e)


@case
def bfloat16() -> None:
    both(jax.jit(lambda x, y: (x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).astype(jnp.float32)), A, B, rtol=2e-2, atol=2e-2)
    both(lambda x: x.astype(jnp.bfloat16) + 1, A, rtol=1e-2)


@case
def types_of_64_bits_are_refused() -> None:
    x, big, shape = np.arange(4, dtype=np.float32), 2**40 + 5, jax.ShapeDtypeStruct
    uses: list[Callable[[], Any]] = [
        lambda: jnp.arange(3) + 1,
        lambda: jnp.asarray(big),
        lambda: jax.device_put(np.ones(3)),
        lambda: jax.device_put(np.array([1j])),
        lambda: jax.jit(lambda: jnp.full((2,), big))(),
        lambda: jax.jit(lambda x: x.astype(jnp.float64))(x),
        lambda: jnp.argmax(jnp.asarray(x)),
        lambda: jax.random.normal(jax.random.key(0), (2,)),
        # numbers inside of a program, which 32 bits would change
        lambda: jax.jit(lambda x: ((x.astype(jnp.int64) + big) >> 38).astype(jnp.int32))(x),
        lambda: jax.jit(lambda x: ((x.astype(jnp.float64) * 1e200) / 1e199).astype(jnp.float32))(x),
        lambda: jax.jit(lambda x: jax.lax.population_count(x.astype(jnp.int64) - 5).astype(jnp.int32))(x),
        lambda: jax.jit(lambda x: jax.lax.fori_loop(2**33, 2**33 + 3, lambda i, y: y + (i >> 33).astype(jnp.float32), x))(x),
        lambda: jax.jit(lambda x: jax.pure_callback(lambda v: v, shape((4,), np.float64), x))(x),
        lambda: jax.jit(lambda x: jax.pure_callback(lambda v: v, shape((4,), np.int32), x.astype(jnp.int64) + big))(x),
    ]
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for number, use in enumerate(uses):
            try:
                y = use()
            except jax.errors.JaxRuntimeError as e:
                assert "jax_enable_x64" in str(e), (number, e)
            else:
                raise AssertionError(f"use {number} of a 64-bit type gave {y}")


@case
def what_cannot_be_compiled_says_so() -> None:
    if not hasattr(jax, "ffi"):
        raise Skipped("this JAX has no jax.ffi")

    def nobody(x: Any) -> Any:
        return jax.ffi.ffi_call("nobody_has_this", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    try:
        jax.jit(nobody)(A)
        raise AssertionError("it was compiled")
    except jax.errors.JaxRuntimeError as e:
        assert "nobody_has_this" in str(e) and "FFI" in str(e) and "jax_plugin.py:" in str(e), e
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    whole, rows = (jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)) for axes in ((), ("x",)))
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x + 1, in_shardings=whole, out_shardings=whole)(A)), A + 1)
    assert jax.jit(lambda x: x + 1)(jax.device_put(A, whole)).sharding.is_fully_replicated
    y = jax.jit(lambda x: x + 1, out_shardings=rows)(A)
    assert [s.data.shape for s in y.addressable_shards] == [(3, 8)] * 2
    np.testing.assert_array_equal(np.asarray(y), A + 1)


PERSISTENT = """
import jax, jax.numpy as jnp, sys
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
from jax._src import monitoring
monitoring.register_event_listener(lambda event, **_: hits.append(event))
print(float(jax.jit(lambda x: jnp.tanh(x).sum())(jnp.arange(5.0))), sum("cache_hits" in h for h in hits))
"""


@case
def jax_persistent_cache() -> None:
    with tempfile.TemporaryDirectory() as directory:
        outputs = [subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", PERSISTENT, directory], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout.split() for _ in range(2)]
    assert outputs[0][0] == outputs[1][0] and outputs[0][1] == "0" and int(outputs[1][1]) > 0, outputs


@case
def exported_programs() -> None:
    try:
        import flatbuffers  # noqa: F401
    except ImportError:
        raise Skipped("flatbuffers is not installed") from None
    from jax import export

    blob = export.export(jax.jit(lambda x: jnp.sin(x) + 1), platforms=["neuron", "cpu"])(A).serialize()
    both(export.deserialize(blob).call, A)


@case
def profiles() -> None:
    if getattr(jax.profiler, "ProfileData", None) is None:
        raise Skipped("this JAX does not read profiles")
    function = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())
    with tempfile.TemporaryDirectory() as directory:
        with jax.profiler.trace(directory):
            for _ in range(3):
                function(A).block_until_ready()
        files = [os.path.join(where, name) for where, _, names in os.walk(directory) for name in names if name.endswith(".xplane.pb")]
        planes = {plane.name: {line.name: [event.name for event in line.events] for line in plane.lines}
                  for plane in jax.profiler.ProfileData.from_file(files[0]).planes}
    assert planes["/device:NEURON:0"]["Programs"].count("jit__lambda") == 3, planes["/device:NEURON:0"]
    assert planes["/device:NEURON:0"]["Runtime"].count("nrt_execute jit__lambda") == 3
    assert "compile jit__lambda" in planes["/host:neuron-pjrt"]["Compilations and callbacks"]


COMPILING = """
import jax, jax.numpy as jnp, os, signal, sys, threading
def deep(x):
    for i in range(int(sys.argv[1])):
        x = jnp.sin(x) @ jnp.ones((64, 64)) * (i + 1)
    return x
lowered = jax.jit(deep).lower(jnp.ones((64, 64)))
if sys.argv[2:]:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    lowered.compile()
    print("compiled")
except KeyboardInterrupt:
    print("interrupted", jax.jit(lambda x: x + 1)(41))
"""
UNCACHED = {**os.environ, "NEURON_CC_FLAGS": "--no_cache"}


@case
def an_interrupt_ends_a_compilation() -> None:
    if jax.__version_info__[:2] == (0, 10):
        raise Skipped("jaxlib 0.10 compiles in another thread, whose program it frees on an interrupt")
    done = subprocess.run([sys.executable, "-c", COMPILING, "4000", "now"], env=UNCACHED, check=True, text=True, capture_output=True)
    assert done.stdout == "interrupted 42\n", (done.stdout, done.stderr)


@case
def a_long_compilation_has_a_line_on_a_terminal() -> None:
    command = [sys.executable, "-c", COMPILING, "1200"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env={**UNCACHED, "NEURON_PJRT_PROGRESS_MS": "0"}, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while some := os.read(ours, 4096):
                said += some
        except OSError:  # the other end is gone
            pass
        assert process.stdout.read() == b"compiled\n"
    os.close(ours)
    assert b"compiling jit_deep: " in said and said.endswith(b"\r\x1b[K"), said
    done = subprocess.run(command, env=UNCACHED, check=True, capture_output=True)
    assert b"compiling" not in done.stderr, done.stderr


def main() -> None:
    print(f"# jax {jax.__version__}, {jax.devices()}")
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (name, function) in enumerate(CASES, 1):
        try:
            function()
            print(f"ok {number} - {name}")
        except Skipped as e:
            print(f"ok {number} - {name} # SKIP {e}")
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()[-12:]), end="", flush=True)
    raise SystemExit(failed > 0)


main()
