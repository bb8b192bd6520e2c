# SPDX-License-Identifier: MIT
"""BERT-base and ResNet-50 on the chip beside JAX and onnxruntime: run.py's group inference."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

from measures import INFERENCE

HERE = Path(__file__).resolve().parent
NETWORKS = HERE.parent / "networks"
# a busy machine may be slow; the guest's client and the chip wait as long
PATIENCE = {**os.environ, "NEURON_RT_EXEC_TIMEOUT": "600"}
# the first inference touches memory and is not counted
GUEST = """neuron-rtd -g unix:/run/neuron.sock &
until [ -S /run/neuron.sock ]; do sleep 1; done
id=$(neuron-cli load --start --timeout 600 {neff}) && neuron-cli infer $id {inputs} --shm -o /tmp/first &&
neuron-cli infer $id {inputs} --shm --repeat {times} -o /tmp/out &&
for output in /tmp/first/*; do cmp "$output" "/tmp/out/${{output##*/}}" || exit 1; done"""
# one host thread for the chip, one for the guest
THREADS = ["--cpus", "1", "--qemu-arg=-object", "--qemu-arg=neuron-pool,id=one,threads=1",
           "--qemu-arg=-global", "--qemu-arg=neuron-inferentia.pool=one"]
SECONDS = 10


def cache() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("NEURON_CACHE") or home / "neuron-emulator") / "networks"


def key(*files: Path) -> str:
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:16]


def python() -> Path:
    """A virtual environment with JAX and onnxruntime from PyPI, made the first time"""
    venv = cache() / f"venv-{key(HERE / 'requirements.txt')}"
    if not venv.exists():
        made = venv.with_name(f"{venv.name}.{os.getpid()}")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
        pip = [sys.executable, "-m", "pip", f"--python={made / 'bin' / 'python'}"]
        wanted = [*pip, "install", "--quiet", "-r", HERE / "requirements.txt"]
        subprocess.run(wanted, check=True, stdout=sys.stderr)
        made.rename(venv)
    return venv / "bin" / "python"


def numbers(argv: list, **options: object) -> dict[str, float]:
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, **options)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def module(name: str) -> Path:
    home = cache() / f"modules-{key(*sorted(NETWORKS.glob('*.py')))}"
    if not (home / name / "module.hlo.pb").exists():
        subprocess.run([python(), "-B", NETWORKS / "generate.py", "--module-only", home, name], check=True)
    return home / name


def compiled(build: Path, name: str, cores: int) -> Path:
    to = build / "bench" / f"{name}-{cores}.neff"
    to.parent.mkdir(exist_ok=True)
    argv = [build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "XLA", module(name) / "module.hlo.pb"]
    subprocess.run([*argv, "--neuroncore-pipeline-cores", str(cores), "--output", to], check=True)
    return to


def inputs_in(data: Path) -> list[Path]:
    return sorted(data.glob("in*.npy"), key=lambda path: int(path.stem[2:]))


def in_process(build: Path, neff: Path, callers: int, *inputs: Path) -> dict[str, float]:
    argv = [build / "tests" / "bench" / "bench-network", neff, str(callers), str(SECONDS), *inputs]
    return numbers(argv, env=PATIENCE)


def through_socket(build: Path, neff: Path, given: list[Path], times: int, guest: Callable[..., list[str]]) -> float:
    """By the guest's clock: neuron-cli's report of many inferences, several in flight"""
    inputs = " ".join(f"-i input{i}={path.name}" for i, path in enumerate(given))
    copies = [word for path in [neff, *given] for word in ("--copy", str(path))]
    script = GUEST.format(neff=neff.name, inputs=inputs, times=times)
    options = [*THREADS, "--memory", "4G", "--timeout", "1800", *copies]
    argv = guest(build, "inf1.xlarge", ["sh", "-c", script], *options)
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    count, seconds = re.findall(r" (\d+) inferences .*: ([\d.]+) s,", done.stdout)[-1]
    return float(count) / float(seconds)


def one_network(build: Path, name: str, put: Callable[..., None], guest: Callable[..., list[str]]) -> None:
    other = numbers([python(), "-B", HERE / "reference.py", name, str(SECONDS)])
    neff = compiled(build, name, 1)
    clock = {key: rate for key, rate in other.items() if key.endswith("-clock")}
    best, best_clock = max(rate for key, rate in other.items() if key not in clock), max(clock.values())
    mine = in_process(build, neff, 1)
    for key, rate in other.items():
        if key not in clock:
            put(f"inference/{name}/{key}", rate)
    put(f"inference/{name}", mine["processor"], mine["processor"] / best)
    times = max(3, round(SECONDS * mine["clock"]))
    rate = through_socket(build, neff, inputs_in(module(name)), times, guest)
    put(f"inference/{name}/socket", rate, rate / mine["clock"])
    put(f"inference/{name}/socket-faster", rate, rate / best_clock)


def skipped(what: str, error: Exception) -> None:
    print(f"run.py: {what} skipped: {type(error).__name__}: {error}", file=sys.stderr)


def measure(build: Path, put: Callable[..., None], guest: Callable[..., list[str]]) -> None:
    for name, text, _ in INFERENCE:
        try:
            one_network(build, name, put, guest)
        except (OSError, IndexError, ValueError, subprocess.CalledProcessError) as error:
            skipped(text, error)
    try:
        one, four = (in_process(build, compiled(build, "resnet50", n), n)["clock"] for n in (1, 4))
    except (OSError, subprocess.CalledProcessError) as error:
        skipped("pipeline", error)
        return
    put("inference/pipeline", four, four / one)
