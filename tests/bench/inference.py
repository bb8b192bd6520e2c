# SPDX-License-Identifier: MIT
"""BERT-base and ResNet-50 on the chip beside JAX and onnxruntime: run.py's group inference."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
NETWORKS = HERE.parent / "networks"
MODELS = [("bert_base_8", "BERT-base, batch 8"), ("resnet50", "ResNet-50, batch 1")]
# a busy machine may be slow; the guest's client and the chip wait as long
PATIENCE = {**os.environ, "NEURON_RT_EXEC_TIMEOUT": "600"}
GUEST = """neuron-rtd -g unix:/run/neuron.sock &
until [ -S /run/neuron.sock ]; do sleep 1; done
id=$(neuron-cli load --start --timeout 600 {neff}) && neuron-cli infer $id {inputs} --shm --repeat {times} -o /tmp/out"""


def cache() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("NEURON_CACHE") or home / "neuron-emulator") / "networks"


def key(*files: Path) -> str:
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:16]


def python() -> Path:
    """A virtual environment with JAX and onnxruntime from PyPI, made the first time"""
    venv = cache() / f"bench-{key(HERE / 'requirements.txt')}"
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
    argv = [build / "compiler" / "neuronx-cc", "compile", "--framework", "XLA", module(name) / "module.hlo.pb"]
    subprocess.run([*argv, "--neuroncore-pipeline-cores", str(cores), "--output", to], check=True)
    return to


def in_process(build: Path, neff: Path, callers: int) -> dict[str, float]:
    return numbers([build / "tests" / "bench" / "bench-network", neff, str(callers), "10"], env=PATIENCE)


def through_socket(build: Path, name: str, neff: Path, guest: Callable[..., list[str]]) -> float:
    given = sorted(module(name).glob("in*.npy"))
    inputs = " ".join(f"-i input{i}={path.name}" for i, path in enumerate(given))
    copies = [word for path in [neff, *given] for word in ("--copy", str(path))]
    script = GUEST.format(neff=neff.name, inputs=inputs, times=5)
    argv = guest(build, "inf1.xlarge", ["sh", "-c", script], "--memory", "4G", "--timeout", "1800", *copies)
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    count, seconds = re.search(r" (\d+) inferences .*: ([\d.]+) s,", done.stdout).groups()
    return float(count) / float(seconds)


def measure(build: Path, show: Callable[..., None], guest: Callable[..., list[str]]) -> None:
    for name, text in MODELS:
        try:
            other = numbers([python(), "-B", HERE / "reference.py", name, "10"])
            neff = compiled(build, name, 1)
        except (OSError, subprocess.CalledProcessError) as error:
            show(f"{text}: skipped", str(error)[:60])
            continue
        best = max(other.values())
        for program, rate in other.items():
            show(f"{text}: {program} on one thread", f"{rate:.2f} /s")
        mine = in_process(build, neff, 1)["processor"]
        show(f"{text}: in process", f"{mine:.2f} /s")
        show("  / the faster of those", f"{mine / best:.2f}", "0.50")
        try:
            rate = through_socket(build, name, neff, guest)
        except subprocess.CalledProcessError as error:
            show(f"{text}: through the socket of a guest: failed", f"status {error.returncode}")
            continue
        show(f"{text}: through the socket of a guest", f"{rate:.2f} /s")
        show("  / the faster of those", f"{rate / best:.2f}", "0.50")
    try:
        one, four = (in_process(build, compiled(build, "resnet50", n), n)["clock"] for n in (1, 4))
    except (OSError, subprocess.CalledProcessError) as error:
        show("pipeline: skipped", str(error)[:60])
        return
    show(f"ResNet-50 over 4 cores / over 1, {os.cpu_count()} host threads", f"{four / one:.2f}")
