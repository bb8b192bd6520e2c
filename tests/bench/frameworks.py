# SPDX-License-Identifier: MIT
"""JAX on the plug-in, beside JAX's CPU and neuron-run: run.py's group frameworks.

PYTHON names a Python with jax; else the environment of `make check-frameworks` is taken (the newest JAX).
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measures import COMPILED, STEPS

HERE = Path(__file__).resolve().parent
INSTANCE = "trn1.2xlarge"
SECONDS = 3
TRANSFER = 64 << 20  # bytes of jax_measures.py's
ENTRY = "import importlib.metadata as m; print(len(m.entry_points(group='jax_plugins', name='neuron_emulator')))"

Put = Callable[..., None]


class Missing(OSError):
    pass


def python() -> str:
    if chosen := os.environ.get("PYTHON"):
        return chosen
    home = Path(os.environ.get("NEURON_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neuron-emulator") / "frameworks"
    found = [(tuple(map(int, match.group(1).split("."))), path) for path in home.glob("jax-*")
             if (match := re.fullmatch(r"jax-([\d.]+)-py3\.\d+", path.name))]
    if not found:
        raise Missing("no JAX: make check-frameworks makes an environment with it, or PYTHON names a Python that has it")
    return str(max(found)[1] / "bin" / "python")


class Jax:
    """The environment of the measures: a Python, and the plug-in of a build"""

    def __init__(self, build: Path) -> None:
        self.python, library = python(), build / "frameworks" / "pjrt" / "libneuronpjrt.so"
        self.env = {**os.environ, "NEURON_EMULATOR_PJRT": str(library), "LD_LIBRARY_PATH": str(build / "runtime" / "nrt"),
                    "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        if subprocess.run([self.python, "-c", ENTRY], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() == "0":
            self.env["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"neuron:{library}"

    def start(self, platform: str, *argv: object, one_thread: bool = False, **env: str) -> subprocess.Popen:
        command = [self.python, str(HERE / "jax_measures.py"), *map(str, argv)]
        if one_thread:
            command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
        ours = {"JAX_PLATFORMS": "cpu"} if platform == "cpu" else {"JAX_PLATFORMS": "neuron,cpu", "NEURON_EMU": INSTANCE}
        return subprocess.Popen(command, env={**self.env, **ours, **env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def measure(self, platform: str, *argv: object, one_thread: bool = False, **env: str) -> dict[str, float]:
        return finish(self.start(platform, *argv, one_thread=one_thread, **env))


def finish(process: subprocess.Popen) -> dict[str, float]:
    out = process.communicate()[0]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args[1:])
    return {name: float(value) for name, value in (line.split() for line in out.splitlines())}


def dispatch(jax: Jax, build: Path, put: Put) -> None:
    ours, cpu = (jax.measure(platform, "dispatch") for platform in ("neuron", "cpu"))
    for name in ("dispatch", "ready"):
        put(f"frameworks/{name}", ours[name] * 1e6, ours[name] / cpu[name])


def operations(jax: Jax, build: Path, put: Put) -> None:
    ours, cpu = (jax.measure(platform, "operations", NEURON_CC_FLAGS="--no_cache") for platform in ("neuron", "cpu"))
    for name, which in (("operations", "median"), ("operations-p99", "p99")):
        put(f"frameworks/{name}", ours[which] * 1e3, ours[which] / cpu[which])
        put(f"frameworks/{name}/own", ours[f"{which}-own"] * 1e3, ours[f"{which}-own"] / cpu[which])


def neuron_run(build: Path, work: Path, arguments: int) -> float:
    """The least time of an execution of the program that the plug-in compiled, in ms"""
    neff = next((work / "cache").glob("*/*/model.neff"))
    inputs = [word for i in range(arguments) for word in ("-i", f"input{i}={work / f'{i}.npy'}")]
    argv = [build / "tools" / "neuron-run", neff, *inputs, "-o", work / "out", "-d", f"emu:{INSTANCE}"]
    env = {**os.environ, "NEURON_RT_EXEC_TIMEOUT": "600"}
    least = 0.0
    for repeat in (1, None):
        times = repeat or max(3, int(SECONDS * 1e6 / least))
        out = subprocess.run([*argv, "-r", str(times)], stdout=subprocess.PIPE, text=True, check=True, env=env).stdout
        least = float(re.search(r"min (\d+)", out).group(1))
    return least / 1e6


def steps(jax: Jax, build: Path, put: Put) -> None:
    for name, _ in STEPS:
        with tempfile.TemporaryDirectory() as directory:
            work = Path(directory)
            cache = {"NEURON_COMPILE_CACHE_URL": str(work / "cache")}
            ours, other = [], []
            for _ in range(3):
                ours.append(jax.measure("neuron", "step", name, SECONDS, work, **cache)["least"])
                other.append(neuron_run(build, work, len(list(work.glob("*.npy")))))
            cpu = jax.measure("cpu", "step", name, SECONDS, one_thread=True)["least"]
        put(f"frameworks/step/{name}", min(ours) * 1e3, min(ours) / min(other))
        put(f"frameworks/step/{name}/cpu", min(ours) * 1e3, min(ours) / cpu)


def compilations(jax: Jax, build: Path, put: Put) -> None:
    for name, _, _ in COMPILED:
        ours, cpu = ([jax.measure(platform, "compile", name, 2, NEURON_CC_FLAGS="--no_cache") for _ in range(2)] for platform in ("neuron", "cpu"))
        clock, processor = ([min(trial[what] for trial in side) for side in (ours, cpu)] for what in ("compile", "processor"))
        put(f"frameworks/compile/{name}", clock[0] * 1e3, clock[0] / clock[1])
        put(f"frameworks/compile/{name}/processor", processor[0] * 1e3, processor[0] / processor[1])
        own = min(trial["compile"] - trial["artifact"] for trial in ours)
        put(f"frameworks/compile/{name}/own", own * 1e3, own / clock[1])
    base = jax.measure("neuron", "compile", "bert_base_step", 1, NEURON_CC_FLAGS="--no_cache")
    put("frameworks/bert", base["compile"])
    put("frameworks/bert/processor", base["processor"])


def transfers(jax: Jax, build: Path, put: Put) -> None:
    took = jax.measure("neuron", "transfers")
    for name, way, other in (("in", "in", "memcpy"), ("out", "out", "fresh"), ("out-used", "out", "memcpy")):
        put(f"frameworks/{name}", TRANSFER / took[way] / 1e9, took[other] / took[way])


@contextlib.contextmanager
def served(build: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as work:
        socket = Path(work) / "s"
        server = subprocess.Popen([build / "runtime" / "emud" / "neuron-emud", "-i", INSTANCE, "-s", socket])
        try:
            while not socket.exists():
                if server.poll() is not None:
                    raise OSError(f"neuron-emud ended with {server.returncode}")
                time.sleep(0.05)
            yield f"unix:{socket}"
        finally:
            server.terminate()
            server.wait()


def processes(jax: Jax, build: Path, put: Put) -> None:
    """Two at once, each with chips of its own and both on those of one server, in turns"""
    took: dict[str, list[dict[str, float]]] = {}
    with served(build) as address:
        for _ in range(3):
            for machine in (f"emu:{INSTANCE}", address):
                both = [jax.start("neuron", "dispatch", NEURON_EMU=machine.removeprefix("emu:"), NEURON_RT_VISIBLE_CORES=str(core)) for core in range(2)]
                took.setdefault(machine[:4], []).extend(finish(process) for process in both)
    for what, name in (("ready-median", "processes"), ("ready", "processes/least")):
        own, on_server = (min(run[what] for run in took[machine]) for machine in ("emu:", "unix"))
        put(f"frameworks/{name}", (on_server - own) * 1e6)


def growth(jax: Jax, build: Path, put: Put) -> None:
    put("frameworks/growth", jax.measure("neuron", "growth")["growth"])


def measure(build: Path, put: Put) -> None:
    jax = Jax(build)
    for part in (dispatch, operations, steps, compilations, transfers, processes, growth):
        try:
            part(jax, build, put)
        except (OSError, StopIteration, KeyError, ValueError, subprocess.CalledProcessError) as error:
            print(f"run.py: frameworks, {part.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
