#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Outputs whose sizes the data decide, as neuron-run writes them: cut, unless --whole is given; TAP.

usage: sizes.py SOURCE_ROOT NEURONX-CC NEURON-RUN
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT, NEURONX_CC, NEURON_RUN = (Path(a) for a in sys.argv[1:4])
OWN = ROOT / "tests/data/onnx/own"
RNG = np.random.default_rng(1)


def boxes(n: int) -> np.ndarray:
    """Apart from each other, so that all are kept"""
    corner = np.arange(n, dtype=np.float32)[:, None] * 2
    return np.concatenate([corner, corner, corner + 1, corner + 1], 1)[None]


# name, inputs, options; and of the outputs: how many the model has, along which dimension they are cut
MODELS = (
    ("test_dyn_twice", [RNG.normal(size=120).astype(np.float32)], [], [0, 0, 1, 1]),
    ("test_dyn_twice", [RNG.normal(size=120).astype(np.float32)], ["--neuroncore-pipeline-cores", "3"], [0, 0, 1, 1]),
    ("test_dyn_nms_all", [boxes(700), RNG.uniform(size=(1, 1, 700)).astype(np.float32)], [], [0]),
)

count = failed = 0


def ok(condition: object, name: str, detail: str = "") -> None:
    global count, failed
    count += 1
    failed += not condition
    print(f"{'ok' if condition else 'not ok'} {count} - {name}")
    for line in detail.splitlines() if not condition else []:
        print(f"#   {line}")


def outputs(neff: Path, files: list[Path], to: Path, *options: str) -> tuple[list[np.ndarray], str]:
    inputs = [f"--input=input{i}={file}" for i, file in enumerate(files)]
    done = subprocess.run([NEURON_RUN, neff, *inputs, "--output-dir", to, *options], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return [], done.stderr
    return [np.load(to / f"output{i}.npy") for i in range(len(list(to.glob("*.npy"))))], done.stderr


with tempfile.TemporaryDirectory(prefix="sizes.") as made:
    top = Path(made)
    for number, (model, arrays, how, axes) in enumerate(MODELS):
        name = " ".join([model, *how])
        neff = top / f"{number}.neff"
        compiled = subprocess.run([NEURONX_CC, "compile", "--framework", "ONNX", OWN / model / "model.onnx", "--narrow-64bit",
                                   "--output", neff, *how], capture_output=True, text=True, check=False)
        ok(not compiled.returncode, f"{name} compiles", compiled.stderr)
        files = [top / f"{number}-in{i}.npy" for i in range(len(arrays))]
        for file, array in zip(files, arrays):
            np.save(file, array)
        whole, said = outputs(neff, files, top / f"{number}-whole", "--whole")
        ok(len(whole) == 2 * len(axes) and "are there" not in said, f"{name}: --whole cuts nothing", said)
        cut, said = outputs(neff, files, top / f"{number}-cut")
        for i, axis in enumerate(axes):
            size = int(whole[len(axes) + i])
            want = whole[i].take(range(size), axis)
            ok(0 < size and cut[i].shape == want.shape and np.array_equal(cut[i], want), f"{name}: output {i}",
               f"{cut[i].shape}, {size} of {whole[i].shape}")
            line = f"neuron-run: output 'output{i}': {size} of {whole[i].shape[axis]} of dimension {axis} are there"
            ok(f"{line} (output{len(axes) + i})\n" in said, f"{name}: it is said", said)

print(f"1..{count}")
sys.exit(failed > 0)
