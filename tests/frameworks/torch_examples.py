#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The case study's trainings in PyTorch, in their small form, against PyTorch's CPU. As TAP.

usage: torch_examples.py    in an environment as torch_xla_programs.py's, or torch_device.py's

They need transformers, which `make bench ONLY=pytorch` lays beside the environments; without it everything is skipped.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import environments
import numpy as np
from points import run_points

BERT = Path(__file__).resolve().parents[2] / "examples" / "bert"
WAY, NAME = ("torch_xla_train.py", "transformers-4.57.1") if importlib.util.find_spec("torch_xla") else ("torch_train.py", "transformers-5.24.0")
SMALL = ("--layers", "1", "--hidden", "32", "--rate", "3e-3")
TRANSFORMERS = environments.addition_there(Path(sys.executable), NAME)


def losses(program: str, *options: str, **environ: str) -> np.ndarray:
    """Of words and of the next sentence, step by step"""
    path = f"{os.environ.get('PYTHONPATH', '')}:{TRANSFORMERS}"
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        subprocess.run([sys.executable, "-B", BERT / program, *SMALL, *options, "--output", out.name], env={**os.environ, "PYTHONPATH": path, **environ}, check=True)
        return np.genfromtxt(out.name, delimiter=",", names=True)[["words", "next"]].tolist()


def beside_the_cpu(steps: int, tolerance: float, *options: str) -> None:
    ours = losses(WAY, "--steps", str(steps), *options)
    theirs = losses("torch_train.py", "--steps", str(steps), *options, TORCH_DEVICE="cpu")
    np.testing.assert_allclose(ours, theirs, rtol=tolerance)


def fp32() -> None:
    """The losses of some steps are the CPU's; what differs grows from step to step"""
    beside_the_cpu(8, 1e-4)


def bf16() -> None:
    """The same in bf16, where the CPU narrows elsewhere"""
    beside_the_cpu(4, 2e-2, "--mode", "bf16")


def at_random() -> None:
    """Rounding at random gives other losses than to the nearest, the same ones for a seed"""
    nearest, *others = (losses(WAY, "--steps", "3", "--mode", mode) for mode in ("bf16", "bf16-sr", "bf16-sr"))
    assert others[0] == others[1] != nearest
    np.testing.assert_allclose(others[0], nearest, rtol=2e-2)


if __name__ == "__main__":
    if not TRANSFORMERS.exists():
        print(f"1..0 # skip {NAME} is not in the cache: make bench ONLY=pytorch lays it there")
        sys.exit()
    run_points({"fp32": fp32, "bf16": bf16, "at random": at_random})
