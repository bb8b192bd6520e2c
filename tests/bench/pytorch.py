# SPDX-License-Identifier: MIT
"""PyTorch's device "neuron" and traces, beside its CPU, inductor and onnxruntime: run.py's group pytorch. In the environments of `make check-frameworks`, with the
wheel that this unpacked; transformers and onnxruntime are laid beside them, in the cache."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "frameworks"))

import environments

Put = Callable[..., None]


def measured(build: Path, *argv: str, environment: Callable = environments.torch_native, beside: tuple[str, ...] = ()) -> dict[str, float]:
    """beside: of environments.ADDITIONS"""
    site = build / "wheel-site-torch"
    if not site.exists():
        raise FileNotFoundError(f"{site}: make check-frameworks JAX=torch_native makes it")
    python, needed = environment()
    path = ":".join(map(str, (site, *(environments.addition(python, name) for name in beside))))
    environ = {**os.environ, **needed, "PYTHONPATH": path, "NEURON_EMU": "trn1.2xlarge", "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if "inductor" in argv else []
    done = subprocess.run([*command, python, "-W", "ignore", HERE / "torch_measures.py", *argv], env=environ, stdout=subprocess.PIPE, text=True, check=True)
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


def generate(build: Path, put: Put) -> None:
    took = measured(build, "generate", beside=("transformers-5.24.0",))
    put("pytorch/generate", 1 / took["static"], took["cpu"] / took["static"])
    put("pytorch/generate/operators", 1 / took["operators"], took["cpu"] / took["operators"])


def trace(build: Path, put: Put) -> None:
    took = measured(build, "trace", environment=environments.torch_xla, beside=("transformers-4.57.1", "onnx"))
    put("pytorch/trace", 1 / took["neuron"], took["onnxruntime"] / took["neuron"])


def measure(build: Path, put: Put) -> None:
    for part in (add, step, generate, trace):
        try:
            part(build, put)
        except (OSError, KeyError, ValueError, environments.Unavailable, subprocess.CalledProcessError) as error:
            print(f"run.py: pytorch, {part.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
