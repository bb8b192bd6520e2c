#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our rules as JAX takes them, and calls of the host as a plug-in makes them, through the C function; TAP.

usage: calls.py
"""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import threading
import traceback
from collections.abc import Callable

import chip
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from neuron_emulator_jax import lowering
from neuron_emulator_jax.lowering import callbacks, private

X = np.arange(6, dtype=np.float32)
SHAPE = jax.ShapeDtypeStruct((6,), np.float32)
TESTS: list[Callable[[], None]] = []


def test(fn: Callable[[], None]) -> Callable[[], None]:
    TESTS.append(fn)
    return fn


def calls(fn: Callable, *args) -> tuple[object, list[int]]:
    """The lowered function, and the numbers of its calls in the order of the program"""
    low = chip.lowered(fn, *args)
    return low, [int(n) for n in re.findall(r"@neuron_python_callback\(.*index = (\d+) : ui64", low.as_text())]


class Plugin:
    """The other side of the contract, in the words of C"""

    def __init__(self) -> None:
        self.entry = callbacks.ENTRY_TYPE(callbacks.entry())

    @staticmethod
    def tensor(x: np.ndarray) -> callbacks.Tensor:
        kinds = {np.dtype(t): n for n, t in callbacks.TYPES.items()}
        dims = (ctypes.c_int64 * x.ndim)(*x.shape)
        return callbacks.Tensor(x.ctypes.data, dims, x.ndim, kinds[x.dtype])

    def call(self, index: int, operands: list[np.ndarray], results: list[np.ndarray]) -> tuple[int, str]:
        given = (callbacks.Tensor * max(len(operands), 1))(*map(self.tensor, operands))
        taken = (callbacks.Tensor * max(len(results), 1))(*map(self.tensor, results))
        message = ctypes.create_string_buffer(200)
        rc = self.entry(index, len(operands), given, len(results), taken, ctypes.addressof(message), len(message))
        return rc, message.value.decode()


PLUGIN = Plugin()


@test
def each_primitive_is_registered_or_named():
    said = TESTS_STATE[0]
    for name, what in said.items():
        assert what == "registered" or f"no primitive '{name}'" in what, (name, what)
    assert {"eigh", "svd", "eig", "schur", "lu", "pure_callback"} <= {n for n, w in said.items() if w == "registered"}


@test
def a_second_time_changes_nothing():
    before = private.own_rule(private.primitive("eigh"), "neuron")
    assert set(lowering.register().values()) <= {"has a rule"} | {w for w in TESTS_STATE[0].values() if w != "registered"}
    assert private.own_rule(private.primitive("eigh"), "neuron") is before


@test
def rules_of_other_platforms_stay():
    text = jax.jit(lambda x: lax.linalg.eigh(x)).trace(np.eye(3, dtype=np.complex64)).lower(lowering_platforms=("cpu",)).as_text()
    assert "lapack_cheevd_ffi" in text


@test
def an_unknown_platform_is_named():
    try:
        lowering.register("nowhere")
    except lowering.Missing as why:
        assert "'nowhere'" in str(why)
    else:
        raise AssertionError("registered for a platform that is not known")


@test
def what_jax_has_not_is_named():
    homes, private.HOMES = private.HOMES, ()
    try:
        assert all("no primitive" in what for what in lowering.register().values())
    finally:
        private.HOMES = homes


@test
def a_strict_program_binds_only_itself():
    a = np.eye(3, dtype=np.complex64)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        for fn in (jnp.linalg.cholesky, jnp.linalg.eigh, jnp.linalg.svd, jnp.linalg.qr, jnp.linalg.inv):
            assert "stablehlo" in chip.lowered(fn, a).as_text()
        try:
            chip.lowered(lambda x, y: x + y, np.ones(3, np.complex64), np.ones(3, np.float32))
        except ValueError:
            return
    raise AssertionError("what the program mixes is not refused")


@test
def float64_is_refused_by_name():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        try:
            chip.lowered(jnp.linalg.eigvalsh, np.eye(3))
        except NotImplementedError as why:
            assert "float64" in str(why) and "jax_enable_x64" in str(why), why
        else:
            raise AssertionError("lowered")


@test
def pure_callback_gives_the_functions_values():
    low, (number,) = calls(lambda x: jax.pure_callback(lambda y: np.cumsum(y) * 2, SHAPE, x), X)
    assert "has_side_effect" not in low.as_text()
    out = np.zeros(6, np.float32)
    assert PLUGIN.call(number, [X], [out]) == (0, "")
    np.testing.assert_array_equal(out, np.cumsum(X) * 2)


@test
def trees_types_and_empty_arrays_pass():
    shapes = {"a": jax.ShapeDtypeStruct((2, 3), jnp.bfloat16), "b": (jax.ShapeDtypeStruct((), bool), jax.ShapeDtypeStruct((0, 3), np.int8)),
              "c": jax.ShapeDtypeStruct((2,), np.complex64)}

    def host(x, y, k):
        return {"a": jnp.asarray(x + k, jnp.bfloat16), "b": (np.asarray(y[0]).item() == 5, np.zeros((0, 3), np.int8)),
                "c": np.array([1j, 2], np.complex64)}
    low, (number,) = calls(lambda x, y: jax.pure_callback(host, shapes, x, [y], k=2), X.reshape(2, 3), np.int32(5))
    operands = [X.reshape(2, 3), np.array(5, np.int32), np.array(2, np.int32)]
    out = [np.zeros((2, 3), jnp.bfloat16), np.zeros((), bool), np.zeros((0, 3), np.int8), np.zeros(2, np.complex64)]
    assert PLUGIN.call(number, operands, out) == (0, "")
    np.testing.assert_array_equal(out[0].astype(np.float32), X.reshape(2, 3) + 2)
    assert out[1] and (out[3] == [1j, 2]).all()
    del low


@test
def ordered_calls_follow_by_tokens():
    seen = []
    keep = lambda name: lambda x: (seen.append((name, float(x[0]))), x)[1]
    low, numbers = calls(lambda x: io_callback(keep("b"), SHAPE, io_callback(keep("a"), SHAPE, x, ordered=True) + 1, ordered=True), X)
    text = low.as_text()
    assert len(numbers) == 2 and text.count("has_side_effect = true") == 2
    first, second = re.findall(r"(%\d+):2 = stablehlo.custom_call @neuron_python_callback\((%\w+#?\d?)", text)
    assert second[1] == f"{first[0]}#0", text
    out = np.zeros(6, np.float32)
    for number in numbers:
        assert PLUGIN.call(number, [X], [out])[0] == 0
    assert [s[0] for s in seen] == ["a", "b"]


@test
def debug_print_prints_jax_format():
    low, (number,) = calls(lambda x: (jax.debug.print("x {a:.1f} {}", x[1], a=x[2]), x)[1], X)
    kept, sys.stdout = sys.stdout, __import__("io").StringIO()
    try:
        assert PLUGIN.call(number, [np.array(1.0, np.float32), np.array(2.0, np.float32)], [])[0] == 0
        said = sys.stdout.getvalue()
    finally:
        sys.stdout = kept
    assert said == "x 2.0 1.0\n", said
    del low


@test
def debug_callback_inside_a_loop_is_one_call_with_an_effect():
    seen = []

    def step(c, y):
        jax.debug.callback(lambda v: seen.append(float(v)), y, ordered=True)
        return c + y, None
    low, numbers = calls(lambda x: lax.scan(step, 0.0, x)[0], X)
    assert len(numbers) == 1 and "stablehlo.while" in low.as_text()
    for x in X:
        assert PLUGIN.call(numbers[0], [np.array(x)], [])[0] == 0
    assert seen == list(X)


@test
def an_exception_comes_back_as_text():
    def fails(x):
        raise ValueError("the third value is odd: " + "é" * 200)
    low, (number,) = calls(lambda x: jax.pure_callback(fails, SHAPE, x), X)
    callbacks.logging.disable(callbacks.logging.CRITICAL)
    try:
        rc, message = PLUGIN.call(number, [X], [np.zeros(6, np.float32)])
    finally:
        callbacks.logging.disable(callbacks.logging.NOTSET)
    assert rc == 1 and message.startswith("ValueError: the third value is odd: ééé"), message
    del low


@test
def wrong_results_are_refused():
    for result, words in ((np.zeros(5, np.float32), "Incorrect output shape for return value #0"),
                          (np.zeros(6, np.int32), "Incorrect output dtype for return value #0"), ((X, X), "Mismatched number of outputs")):
        low, (number,) = calls(lambda x, r=result: jax.pure_callback(lambda _: r, SHAPE, x), X)
        out = np.full(6, 7, np.float32)
        callbacks.logging.disable(callbacks.logging.CRITICAL)
        try:
            rc, message = PLUGIN.call(number, [X], [out])
        finally:
            callbacks.logging.disable(callbacks.logging.NOTSET)
        assert rc == 1 and words in message and (out == 7).all(), message
        del low


@test
def an_unknown_number_is_refused():
    callbacks.logging.disable(callbacks.logging.CRITICAL)
    try:
        rc, message = PLUGIN.call(1 << 60, [], [])
    finally:
        callbacks.logging.disable(callbacks.logging.NOTSET)
    assert rc == 1 and "not one of this process" in message, message


@test
def a_thread_of_c_may_call():
    low, (number,) = calls(lambda x: jax.pure_callback(np.sin, SHAPE, x), X)
    out = [np.zeros(6, np.float32) for _ in range(8)]
    threads = [threading.Thread(target=PLUGIN.call, args=(number, [X], [o])) for o in out]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((o == np.sin(X)).all() for o in out)
    del low


@test
def operands_are_the_callables_own():
    kept = []
    low, (number,) = calls(lambda x: io_callback(lambda y: kept.append(y), None, x), X)
    given = X.copy()
    PLUGIN.call(number, [given], [])
    given[:] = -1
    np.testing.assert_array_equal(np.asarray(kept[0]), X)
    del low


@test
def the_program_keeps_its_callables_and_no_one_else():
    low, (number,) = calls(lambda x: jax.pure_callback(lambda y: y, SHAPE, x), X)
    assert number in callbacks._table
    del low
    jax.clear_caches()
    gc.collect()
    assert number not in callbacks._table


TESTS_STATE: list[dict[str, str]] = []


def main() -> int:
    TESTS_STATE.append(chip.know_platform())
    print(f"1..{len(TESTS)}\n# JAX {jax.__version__}")
    failed = 0
    for number, fn in enumerate(TESTS, 1):
        try:
            fn()
            wrong = ""
        except Exception:  # told as a line of TAP
            wrong = traceback.format_exc()
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {fn.__name__.replace('_', ' ')}")
        for line in wrong.splitlines()[-4:]:
            print(f"# {line}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
