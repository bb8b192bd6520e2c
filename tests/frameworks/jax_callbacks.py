#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Callbacks in programs on the plug-in: results and effects, in their order, are those of JAX on its CPU. As TAP.

usage: jax_callbacks.py [CASE...]    as jax_plugin.py
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "neuron,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import io_callback  # noqa: E402

S = jax.ShapeDtypeStruct
V = np.arange(6, dtype=np.float32)
SIX = S((6,), np.float32)
ONE = S((), np.float32)
SEEN: list[tuple] = []
PROGRAMS: dict[str, Callable] = {}
CASES: dict[str, Callable[[], None]] = {}


def note(*values: Any) -> None:
    SEEN.append(tuple(np.asarray(v).tolist() for v in values))


def program(fn: Callable) -> Callable:
    PROGRAMS[fn.__name__] = fn
    return fn


def case(fn: Callable[[], None]) -> Callable[[], None]:
    CASES[fn.__name__] = fn
    return fn


@program
def pure(x):
    return jax.pure_callback(lambda y: np.cumsum(y) * 2, SIX, x) + 1


@program
def ordered(x):
    x = io_callback(lambda y: (note("a", y[0]), y + 1)[1], SIX, x, ordered=True)
    x = io_callback(lambda y: (note("b", y[0]), y * 2)[1], SIX, x, ordered=True)
    jax.debug.callback(lambda y: note("c", y[1]), x, ordered=True)
    return x


@program
def scan(x):
    def step(c, y):
        jax.debug.callback(note, c, y, ordered=True)
        return c + y, c * y
    return lax.scan(step, jnp.float32(0), x)


@program
def loop_without_operands(x):
    def body(_, c):
        jax.debug.callback(lambda: note("hello"))
        return c * 2
    return lax.fori_loop(0, 5, body, x)


@program
def while_by_a_callback(x):
    def body(s):
        jax.debug.callback(note, s[0], ordered=True)
        y = jax.pure_callback(lambda u: np.float32(u * 3 + 1), ONE, s[0])
        return y, s[1] + y
    return lax.while_loop(lambda s: s[0] < 100, body, (x[1], x))


@program
def taken_branch(x):
    return lax.cond(x.sum() > 3, lambda v: (jax.debug.callback(lambda a: note("yes", a), v), v + 1)[1],
                    lambda v: (jax.debug.callback(lambda a: note("no", a), v), v - 1)[1], x)


@program
def other_branch(x):
    return lax.cond(x.sum() > 300, lambda v: io_callback(lambda a: (note("yes", a), a)[1], SIX, v), lambda v: v - 1, x)


@program
def switch(x):
    def branch(k):
        return lambda v: (jax.debug.callback(lambda a: note(k, a), v, ordered=True), v * k)[1]
    return lax.switch(x[2].astype(int), [branch(k) for k in range(4)], x)


@program
def nested_loops(x):
    def outer(i, c):
        def inner(j, d):
            jax.debug.callback(note, i, j, d[0], ordered=True)
            return d + 1
        return lax.fori_loop(0, i + 1, inner, c)
    return lax.fori_loop(0, 3, outer, x)


@program
def branch_in_a_loop(x):
    def body(i, c):
        lax.cond(i % 2 == 0, lambda: jax.debug.callback(note, i, c[1], ordered=True), lambda: None)
        return c + 1
    return lax.fori_loop(0, 6, body, x)


@program
def vmap(x):
    one = jax.vmap(lambda y: jax.pure_callback(lambda u: u * u, ONE, y, vmap_method="sequential"))
    every = jax.vmap(lambda y: jax.pure_callback(lambda u: u + 3, ONE, y, vmap_method="expand_dims"))
    return one(x), every(x)


@program
def gradient(x):
    @jax.custom_jvp
    def f(y):
        return jax.pure_callback(lambda u: u * u, SIX, y)

    @f.defjvp
    def _(p, t):
        return f(p[0]), jax.pure_callback(lambda u: 2 * u, SIX, p[0]) * t[0]

    def loss(y):
        jax.debug.callback(note, y)
        return f(y).sum()
    return jax.value_and_grad(loss)(x)


@program
def types(x):
    shapes = (S((2, 3), jnp.bfloat16), S((), np.bool_), S((0, 3), np.int8), S((2,), np.complex64), S((3,), np.int8),
              S((3,), np.uint8), S((3,), np.int16), S((3,), np.uint32), S((3,), np.float16))

    def host(y, b, z, c, i8, u16):
        note(y.shape, b, z.shape, c, i8, u16)
        return (np.asarray(y.reshape(2, 3), jnp.bfloat16), np.array(not b), np.zeros((0, 3), np.int8),
                np.array([1j, 2] + np.asarray(c)[:2], np.complex64), np.array([-1, 2, 127], np.int8),
                np.array([1, 255, 3], np.uint8), np.array([-3, 2, 300], np.int16),
                np.array([1, 2, 4000000000], np.uint32), np.array([.5, 2, 3], np.float16))
    r = jax.pure_callback(host, shapes, x, x[1] > 0, jnp.zeros((0,)), x * (1 + 2j), x.astype(jnp.int8), x.astype(jnp.uint16))
    return r[0] * 2, r[1], r[2], r[3] * 2, r[3].imag, r[4] + 1, r[5] + 1, r[6] * 2, r[7] + 1, r[8] * 2


@program
def no_result(x):
    jax.debug.callback(lambda a: note("only", a), x)


@program
def nothing_but_no_elements(x):
    return jax.pure_callback(lambda a: np.zeros(0, np.float32), S((0,), np.float32), x)


@program
def constants(x):
    jax.debug.callback(note, jnp.float32(3), jnp.ones((2, 2)), ordered=True)
    return x


@program
def half_of_a_result(_):
    return io_callback(lambda: (np.arange(3, dtype=np.complex64) * 1j, np.float32(3)), (S((3,), np.complex64), ONE))[0].imag


@program
def mapped(x):
    return lax.map(lambda y: io_callback(lambda u: (note(u), u * 2)[1], ONE, y, ordered=True), x)


def on(device: jax.Device, fn: Callable) -> tuple[Any, list[tuple]]:
    SEEN.clear()
    with jax.default_device(device):
        result = jax.tree.map(np.asarray, jax.jit(fn)(jax.device_put(V, device)))
    jax.effects_barrier()
    return result, list(SEEN)


def compare(fn: Callable) -> None:
    ours, theirs = on(jax.devices()[0], fn), on(jax.devices("cpu")[0], fn)
    assert ours[1] == theirs[1], f"{ours[1]} is not {theirs[1]}"
    a, b = jax.tree.leaves(ours[0]), jax.tree.leaves(theirs[0])
    assert [(x.dtype, x.shape) for x in a] == [(x.dtype, x.shape) for x in b]
    for x, y in zip(a, b):
        np.testing.assert_allclose(x.astype(np.complex64), y.astype(np.complex64), rtol=1e-6)


def fails(fn: Callable[[], Any], *words: str) -> None:
    try:
        fn()
    except Exception as why:
        assert all(word in str(why) for word in words), why
    else:
        raise AssertionError("nothing was raised")


@case
def an_exception_is_the_executions_error():
    def bad(_):
        raise ValueError("the third is odd")
    fn = jax.jit(lambda x: jax.pure_callback(bad, SIX, x))
    logging.disable(logging.CRITICAL)
    try:
        for _ in range(2):
            fails(lambda: fn(V).block_until_ready(), "neuron_python_callback", "ValueError: the third is odd")
    finally:
        logging.disable(logging.NOTSET)
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(V), V + 1)


@case
def a_callback_runs_programs_on_its_device():
    device = jax.devices()[0]

    def inner(x):
        return np.asarray(jax.jit(lambda z: z * 3 + 1)(jax.device_put(np.asarray(x), device)))

    def outer(x):
        return np.asarray(jax.jit(lambda z: jax.pure_callback(inner, SIX, z) * 2)(jax.device_put(np.asarray(x), device)))
    fn = jax.jit(lambda x: jax.pure_callback(outer, SIX, x) + 1)
    for r in [fn(V) for _ in range(5)]:
        np.testing.assert_array_equal(r, (V * 3 + 1) * 2 + 1)


@case
def waiting_for_what_comes_later_is_refused():
    behind, begin, said = [], threading.Event(), []

    def late(x):
        begin.wait(60)
        try:
            np.asarray(behind[0])
        except Exception as why:
            said.append(str(why))
        return x
    first = jax.jit(lambda x: jax.pure_callback(late, SIX, x))(V)
    behind.append(jax.jit(lambda x: x * 2)(V))
    begin.set()
    np.testing.assert_array_equal(first, V)
    assert len(said) == 1 and "waits for the callback" in said[0], said
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2)(V), V * 2)


@case
def it_is_not_serialized():
    try:
        from jax.experimental import serialize_executable
    except ImportError:
        return
    compiled = jax.jit(lambda x: jax.pure_callback(lambda y: y, SIX, x)).lower(V).compile()
    fails(lambda: serialize_executable.serialize(compiled), "callbacks")


@case
def a_callable_outlives_its_program_until_it_has_run():
    gate = threading.Event()
    results = [jax.jit(lambda x, k=k: jax.pure_callback(lambda y, k=k: (gate.wait(60), y + k)[1], SIX, x))(V) for k in range(4)]
    jax.clear_caches()
    gate.set()
    for k, r in enumerate(results):
        np.testing.assert_array_equal(r, V + np.float32(k))


@case
def tokens_are_arguments_and_results():
    token = lax.create_token()
    x, again = jax.jit(lambda x: (x + 2, token))(np.float32(7))
    assert x == 9 and type(again) is type(token)
    assert type(jax.jit(lax.create_token)(1.0)) is type(token)


def main() -> int:
    cases = {**{name: lambda fn=fn: compare(fn) for name, fn in PROGRAMS.items()}, **CASES}
    chosen = [(n, c) for n, c in cases.items() if not sys.argv[1:] or n in sys.argv[1:]]
    print(f"1..{len(chosen)}\n# JAX {jax.__version__}")
    failed = 0
    for number, (name, fn) in enumerate(chosen, 1):
        try:
            fn()
            wrong = ""
        except Exception:  # told as a line of TAP
            wrong = traceback.format_exc()
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name.replace('_', ' ')}", flush=True)
        for line in wrong.splitlines()[-6:]:
            print(f"# {line}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
