# SPDX-License-Identifier: MIT
"""PyTorch's device "neuron", beside its CPU and inductor: run.py's group pytorch. In the environment of `make check-frameworks`, with the wheel that this unpacked."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "frameworks"))

import environments

Put = Callable[..., None]


def measured(build: Path, *argv: str) -> dict[str, float]:
    site = build / "wheel-site-torch"
    if not site.exists():
        raise FileNotFoundError(f"{site}: make check-frameworks JAX=torch_native makes it")
    python, needed = environments.torch_native()
    environ = {**os.environ, **needed, "PYTHONPATH": str(site), "NEURON_EMU": "trn1.2xlarge", "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if "inductor" in argv else []
    done = subprocess.run([*command, python, HERE / "torch_measures.py", *argv], env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def add(build: Path, put: Put) -> None:
    took = measured(build, "add")
    put("pytorch/add", took["neuron"] * 1e6, took["neuron"] / took["cpu"])


def step(build: Path, put: Put) -> None:
    ours = [measured(build, "step", "neuron") for _ in range(2)]
    least = {name: min(trial[name] for trial in ours) for name in ours[0]}
    put("pytorch/step", least["step"] * 1e3, least["step"] / least["executions"])
    other = measured(build, "step", "inductor")
    put("pytorch/step/inductor", least["step"] * 1e3, least["step"] / other["step"])
    put("pytorch/compile", least["compile"] * 1e3, least["compile"] / other["compile"])


def measure(build: Path, put: Put) -> None:
    for part in (add, step):
        try:
            part(build, put)
        except (OSError, KeyError, ValueError, environments.Unavailable, subprocess.CalledProcessError) as error:
            print(f"run.py: pytorch, {part.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
