#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What goes wrong around JAX programs on the plug-in: an exception that says so, and the process and others go on. As TAP.

usage: jax_bad_input.py [--emud NEURON_EMUD]    in an environment with jax and neuron-emulator-jax, JAX_PLATFORMS=neuron,cpu

Each case is a program of its own, which is judged by what NumPy computes, by its exit and by what it prints.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path

CASES: list[tuple[str, Callable[[], None]]] = []
LONGEST = 600  # seconds, which only a hang takes
HEAD = """
import os, signal, sys, threading, time
import jax, jax.numpy as jnp, numpy as np
A = np.arange(32, dtype=np.float32).reshape(4, 8)

def right(device=None):
    with jax.default_device(device or jax.devices()[0]):
        np.testing.assert_allclose(np.asarray(jax.jit(lambda x: x @ x.T + 1)(A)), A @ A.T + 1, rtol=1e-6)

def refused(*words, by=Exception):
    class Refused:
        def __enter__(self):
            pass
        def __exit__(self, kind, e, trace):
            assert e is not None, "it was not refused"
            assert isinstance(e, by), repr(e)
            assert all(word in str(e) for word in words), str(e)
            return True
    return Refused()
"""


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES.append((function.__name__.replace("_", " "), function))
    return function


def start(code: str, *arguments: str, **environ: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", HEAD + textwrap.dedent(code), *arguments], env={**os.environ, **environ}, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ends(process: subprocess.Popen, status: int = 0) -> str:
    try:
        out, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it hung: {process.communicate()}") from None
    assert process.returncode == status, f"status {process.returncode}: {out}{err}"
    return out


def program(code: str, *arguments: str, **environ: str) -> str:
    return ends(start(code, *arguments, **environ))


@case
def a_second_copy_of_the_plug_in() -> None:
    from neuron_emulator_jax import library_path

    with tempfile.TemporaryDirectory() as work:
        copy = shutil.copy(library_path(), f"{work}/libother.so")
        libraries = library_path().parents[1].with_name("neuron_emulator_jax.libs")
        environ = {"LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"} if libraries.is_dir() else {}
        program("""
            first, second = jax.devices("neuron")[0], jax.devices("second")[0]
            for _ in range(2):
                right(first), right(second)
            np.testing.assert_array_equal(np.asarray(jax.device_put(jax.device_put(A, first), second)), A)
            """, PJRT_NAMES_AND_LIBRARY_PATHS=f"second:{copy}", JAX_PLATFORMS="neuron,second,cpu", **environ)


@case
def a_child_of_fork() -> None:
    program("""
        right()
        x = jnp.asarray(A)
        child = os.fork()
        if not child:
            for use in (lambda: x + 1, lambda: jax.jit(lambda x: x * 3)(A), lambda: jax.device_put(A), lambda: np.asarray(x * 1)):
                with refused("forked", by=jax.errors.JaxRuntimeError):
                    use()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        right()
        np.testing.assert_array_equal(np.asarray(x), A)
        """)


@case
def a_child_that_is_forked_before_the_chips_are_used() -> None:
    program("""
        child = os.fork()
        right()
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """)


@case
def eight_threads_that_compile_and_run() -> None:
    program("""
        failures = []
        def work(n):
            try:
                device = jax.devices()[n % 2]
                rng = np.random.default_rng(n)
                for i in range(6):
                    a = rng.integers(-4, 5, (n + 2, i + 3)).astype(np.float32)
                    for _ in range(3):
                        y = jax.jit(lambda x: x.T @ x * (n + 1) - i)(jax.device_put(a, device))
                        np.testing.assert_array_equal(np.asarray(y), a.T @ a * (n + 1) - i)
            except BaseException as e:
                failures.append(e)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not failures, failures
        """)


@case
def buffers_after_their_donation() -> None:
    program("""
        add = jax.jit(lambda x, y: x + y, donate_argnums=0)
        x = jnp.asarray(A)
        y = add(x, x + 1)
        for use in (lambda: x + 1, lambda: np.asarray(x), lambda: add(x, y), lambda: x.block_until_ready()):
            with refused("deleted"):
                use()
        with refused("donate"):
            jax.jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))(y, y)
        np.testing.assert_array_equal(np.asarray(y), 2 * A + 1)
        right()
        """)


@case
def more_than_the_device_memory() -> None:
    program("""
        device = jax.devices()[0]
        before, limit = (device.memory_stats()[what] for what in ("bytes_in_use", "bytes_limit"))
        n = limit // 4 // 1024 + 1
        with refused("RESOURCE_EXHAUSTED", by=jax.errors.JaxRuntimeError):
            jax.jit(lambda: jnp.zeros((n, 1024), jnp.float32))().block_until_ready()
        with refused("RESOURCE_EXHAUSTED", str(4 * 1024 * n), by=jax.errors.JaxRuntimeError):
            jax.device_put(np.broadcast_to(np.float32(1), (n, 1024))).block_until_ready()
        assert device.memory_stats()["bytes_in_use"] == before
        right()
        """)


FAULTED = """
    f = jax.jit(lambda x: jnp.tanh(x) @ x.T)
    want = np.tanh(A) @ A.T
    seen = []
    for _ in range(8):
        try:
            np.testing.assert_allclose(np.asarray(f(A)), want, rtol=1e-4, atol=1e-4)
        except jax.errors.JaxRuntimeError as e:
            seen.append(str(e))
    print(len(seen), *seen[:1])
    for device in jax.devices():
        right(device)
    """


def strikes(fault: str, *words: str, code: str = FAULTED) -> None:
    """One execution fails with words, and those after it are right"""
    said = program(code, NEURON_EMU_FAULTS=f"nd0:{fault}", NEURON_RT_EXEC_TIMEOUT="5")
    assert said.startswith("1 ") and any(word in said for word in words), said


@case
def an_engine_that_hangs() -> None:
    strikes("engine-hang=1:after=30", "TIMEOUT", "timed out")


@case
def an_error_of_device_memory() -> None:
    strikes("dram-ecc-uncorrected=1:after=40:queue=program", "HBM_UE", "memory")


@case
def an_aborted_transfer() -> None:
    strikes("dma-abort=1:after=20:queue=program", "DMA abort")


@case
def a_core_that_is_reset_no_more() -> None:
    said = program("""
        with refused(by=jax.errors.JaxRuntimeError):
            for _ in range(4):
                np.asarray(jax.jit(lambda x: jnp.tanh(x) @ x.T)(A))
        with refused(by=jax.errors.JaxRuntimeError):
            np.asarray(jax.jit(lambda x: jnp.tanh(x) @ x.T)(A))
        right(jax.devices("cpu")[0])
        print("went on")
        """, NEURON_EMU_FAULTS="nd0:engine-hang=always:after=10 nd0:reset-hang=always:after=4", NEURON_RT_EXEC_TIMEOUT="3")
    assert "went on" in said, said


def joined(*parts: str) -> str:
    return "".join(map(textwrap.dedent, parts))


RESET = """
    import ctypes
    class How(ctypes.Structure):
        _fields_ = [("initialize_device", ctypes.c_int), ("regions", ctypes.c_int), ("map_hbm", ctypes.c_int)]
    jax.devices()
    with open("/proc/self/maps") as maps: # the plug-in's: a wheel gives it a name of its own
        nrt, chip = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libnrt" in line)), ctypes.c_void_p()
    assert not nrt.ndl_open_device(0, ctypes.byref(How()), ctypes.byref(chip))
    def reset(cores):
        return nrt.ndl_reset_ncs(0, cores, ctypes.byref(ctypes.c_uint32()))
    """
LONG = """
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 2000000000, lambda i, y: y * 0.5 + i, x)).lower(A).compile()
    """


@case
def a_chip_that_is_reset_under_a_program() -> None:
    program(joined(RESET, LONG, """
        other = jax.jit(lambda x: x * 3)
        x = jax.device_put(A, jax.devices()[1])
        np.asarray(other(x))
        y = f(A)
        assert reset(1) == 0
        with refused("UNAVAILABLE", "nd0 nc0 was reset", by=jax.errors.JaxRuntimeError):
            y.block_until_ready()
        np.testing.assert_array_equal(np.asarray(other(x)), A * 3)
        for device in jax.devices():
            right(device)
        """), NEURON_RT_EXEC_TIMEOUT="3600")


UNPLUGGED = """
    f = jax.jit(lambda x: jnp.tanh(x) @ x.T)
    x = jnp.asarray(A)
    with refused("UNAVAILABLE", "No such device", "unplugged", by=jax.errors.JaxRuntimeError):
        for _ in range(1000):
            np.testing.assert_allclose(np.asarray(f(A)), np.tanh(A) @ A.T, rtol=1e-4, atol=1e-4)
    for use in (lambda: f(A).block_until_ready(), lambda: jax.device_put(A).block_until_ready(), lambda: np.asarray(x + 1),
                lambda: jax.jit(lambda x: x - 7)(x).block_until_ready()):
        with refused("UNAVAILABLE", "No such device", by=jax.errors.JaxRuntimeError):
            use()
    """


@case
def a_chip_that_is_unplugged_under_a_program() -> None:
    said = program(joined(UNPLUGGED, """
        for device in jax.devices()[2:]:
            right(device)
        right(jax.devices("cpu")[0])
        print("went on")
        """), NEURON_EMU="trn1.32xlarge", NEURON_RT_NUM_CORES="4", NEURON_EMU_FAULTS="nd0:unplug=1:after=100")
    assert said == "went on\n", said


@case
def the_end_with_programs_in_flight() -> None:
    said = program("""
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 20000, lambda i, y: y * 0.5 + i, x))
        for device in jax.devices():
            x = jax.device_put(A, device)
            for _ in range(20):
                x = f(x)
        print("over", flush=True)
        """)
    assert said == "over\n", said


@case
def a_signal_with_programs_in_flight() -> None:
    process = start("""
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 20000, lambda i, y: y * 0.5 + i, x))
        x = f(A).block_until_ready()
        print("running", flush=True)
        while True:
            x = f(x)
            if time.monotonic() < 0:
                break
        """)
    assert process.stdout.readline() == "running\n", process.communicate()
    process.send_signal(signal.SIGINT)
    try:
        err = process.communicate(timeout=LONGEST)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("Ctrl-C did not end it") from None
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err, (process.returncode, err)


LOOP = """
    f = jax.jit(lambda x: jnp.tanh(x) @ x.T)
    want = np.tanh(A) @ A.T
    told = []
    threading.Thread(target=lambda: told.append(sys.stdin.readline()), daemon=True).start()
    n = 0
    while not told or n < 20:
        np.testing.assert_allclose(np.asarray(f(A)), want, rtol=1e-4, atol=1e-4)
        n += 1
        if n == 1:
            print("ready", flush=True)
    print("went on", flush=True)
    """


class Server:
    """neuron-emud on a socket of its own"""

    def __init__(self, emud: str, instance: str = "trn1.2xlarge", faults: str = "") -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = f"{self.directory.name}/emud"
        self.process = subprocess.Popen([emud, "--instance", instance, "--socket", self.path],
                                        env={**os.environ, "NEURON_EMU": "", "NEURON_EMU_FAULTS": faults})

    def __enter__(self) -> "Server":
        while not Path(self.path).exists():  # it appears when the server is ready
            assert self.process.poll() is None, "neuron-emud ended"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()

    def client(self, core: int, code: str) -> subprocess.Popen:
        return start(code, NEURON_EMU=f"unix:{self.path}", NEURON_RT_VISIBLE_CORES=str(core))


def a_killed_client(emud: str) -> None:
    with Server(emud) as server:
        one, other = (server.client(core, LOOP) for core in (0, 1))
        for process in (one, other):
            assert process.stdout.readline() == "ready\n", process.communicate()
        one.kill()
        one.communicate()
        assert "went on" in ends(server.client(0, "right(); print('went on')"))  # whose core it was, is free
        other.stdin.write("\n")
        said = ends(other)
        assert said == "went on\n", said


def a_server_that_is_killed(emud: str) -> None:
    with Server(emud) as server:
        client = server.client(0, """
            f = jax.jit(lambda x: x + 1)
            x = f(A).block_until_ready()
            print("ready", flush=True)
            sys.stdin.readline()
            for use in (lambda: f(x).block_until_ready(), lambda: jax.device_put(A + 1).block_until_ready(), lambda: np.asarray(f(A))):
                with refused(by=jax.errors.JaxRuntimeError):
                    use()
            right(jax.devices("cpu")[0])
            print("went on", flush=True)
            """)
        assert client.stdout.readline() == "ready\n", client.communicate()
        server.process.kill()
        server.process.wait()
        client.stdin.write("\n")
        assert ends(client) == "went on\n"


def a_reset_of_what_is_another_clients(emud: str) -> None:
    with Server(emud) as server:
        one = server.client(0, LOOP)
        assert one.stdout.readline() == "ready\n", one.communicate()
        assert ends(server.client(1, joined(RESET, """
            right()
            assert reset(1) == -16 and reset(-1) == -16, "another's core"
            assert reset(2) == 0
            with refused("was reset", by=jax.errors.JaxRuntimeError):
                right()
            right()
            print("went on")
            """))) == "went on\n"
        one.stdin.write("\n")
        said = ends(one)
        assert said == "went on\n", said


def a_reset_of_ones_own_core(emud: str) -> None:
    with Server(emud) as server:
        other = server.client(1, LOOP)
        assert other.stdout.readline() == "ready\n", other.communicate()
        assert ends(server.client(0, joined(RESET, LONG, """
            y = f(A)
            assert reset(1) == 0
            with refused("UNAVAILABLE", "nd0 nc0 was reset", by=jax.errors.JaxRuntimeError):
                y.block_until_ready()
            right()
            print("went on")
            """))) == "went on\n"
        other.stdin.write("\n")
        assert ends(other) == "went on\n"


def a_chip_of_a_server_that_is_unplugged(emud: str) -> None:
    with Server(emud, "trn1.32xlarge", "nd0:unplug=1:after=200") as server:
        other = server.client(2, LOOP)  # the second chip's
        assert other.stdout.readline() == "ready\n", other.communicate()
        assert ends(server.client(0, joined(UNPLUGGED, "print('went on')"))) == "went on\n"
        other.stdin.write("\n")
        assert ends(other) == "went on\n"


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("--emud", help="neuron-emud, for the cases of a server")
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    if options.emud:
        for function in (a_killed_client, a_server_that_is_killed, a_reset_of_what_is_another_clients, a_reset_of_ones_own_core,
                         a_chip_of_a_server_that_is_unplugged):
            CASES.append((function.__name__.replace("_", " "), lambda function=function: function(options.emud)))
    chosen = [(name, function) for name, function in CASES if options.only in name]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()[-12:]), end="", flush=True)
    raise SystemExit(failed > 0)


main()
