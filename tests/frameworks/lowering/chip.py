# SPDX-License-Identifier: MIT
"""Runs functions of JAX on the emulated chip: lowered for "neuron" with our rules, compiled by neuronx-cc, run by neuron-run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(ROOT / "frameworks/python"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import xla_bridge  # noqa: E402
from neuron_emulator_jax import lowering  # noqa: E402

MACHINES = {"inf1": "inf1.xlarge", "trn1": "trn1.2xlarge", "inf2": "inf2.xlarge", "trn2": "trn2.3xlarge"}


class Refused(Exception):
    """A refusal, with the words of the compiler or the runtime"""


def no_chip(*_, **__):
    raise RuntimeError("this platform only lowers")


def know_platform() -> dict[str, str]:
    """Makes the platform known as registering the plug-in does, and then our rules"""
    if "neuron" not in xla_bridge.known_platforms():
        xla_bridge.register_backend_factory("neuron", no_chip, priority=-1, fail_quietly=True)
    return lowering.register()


def lowered(fn: Callable, *args):
    return jax.jit(fn, keep_unused=True).trace(*args).lower(lowering_platforms=("neuron",))


def said(command: list, **more) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise Refused((done.stderr + done.stdout).strip())


def saved(path: Path, x: np.ndarray) -> None:
    """Complex numbers are pairs (docs/compiler-operations.md)."""
    x = np.ascontiguousarray(x)
    if x.dtype == np.complex64:
        x = x.view(np.float32).reshape(*x.shape, 2)
    np.save(path, x.astype(np.int8) if x.dtype == bool else x)


def loaded(path: Path, like) -> np.ndarray:
    x = np.load(path)
    if like.dtype == np.complex64:
        x = x[..., 0] + 1j * x[..., 1]
    return x.astype(like.dtype).reshape(like.shape)


def run(build: Path, target: str, fn: Callable, *args: np.ndarray) -> list[np.ndarray]:
    """The leaves of fn(*args), computed by a chip of the target's"""
    args = [np.asarray(a) for a in args]
    low = lowered(fn, *args)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "m.hlo.pb").write_bytes(low.compiler_ir("hlo").as_serialized_hlo_module_proto())
        said([build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "XLA", home / "m.hlo.pb", "--target", target,
              "--auto-cast", "none", "--output", home / "m.neff"])
        inputs = []
        for i, a in enumerate(args):
            saved(home / f"in{i}.npy", a)
            inputs += ["--input", f"input{i}={home}/in{i}.npy"]
        said([build / "tools/neuron-run", home / "m.neff", "--output-dir", home / "out", *inputs],
             env={**os.environ, "NEURON_EMU": MACHINES[target]})
        shapes = jax.tree.leaves(jax.eval_shape(fn, *args))
        return [loaded(home / "out" / f"output{i}.npy", s) for i, s in enumerate(shapes)]
