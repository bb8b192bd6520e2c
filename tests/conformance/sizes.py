#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Outputs whose sizes the data decide, as neuron-run writes them: cut, unless --whole is given. Inputs that are
shorter than the bound, as it takes them: NumPy computes on what is there. TAP.

usage: sizes.py SOURCE_ROOT NEURONX-CC NEURON-RUN
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT, NEURONX_CC, NEURON_RUN = (Path(a) for a in sys.argv[1:4])
OWN = ROOT / "tests/data/onnx/own"
DYNAMIC = ROOT / "tests/data/hlo_ops/dynamic_parameters_4_3_4_2/module.hlo.pb"
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


    def parameters(n: int, m: int, k: int, l: int) -> list[np.ndarray]:
        """of DYNAMIC: x is f32[<=6,<=5], y f32[4], z f32[<=6], w pairs of <=3; whole numbers, whose sums are exact"""
        return [RNG.integers(-9, 9, shape).astype(np.float32) for shape in ((n, m), (4,), (k,), (l, 2))]

    def run(target: str, arrays: dict[str, np.ndarray], *options: str) -> tuple[list[np.ndarray], str]:
        to = Path(tempfile.mkdtemp(dir=top))
        for number, array in enumerate(arrays.values()):
            np.save(to / f"{number}.in.npy", array)
        inputs = [f"--input={name}={to / f'{number}.in.npy'}" for number, name in enumerate(arrays)]
        device = {"inf1": "emu:inf1.xlarge", "trn1": "emu:trn1.2xlarge"}[target]
        done = subprocess.run([NEURON_RUN, top / f"{target}.neff", *inputs, "--output-dir", to, "--device", device, *options],
                              capture_output=True, text=True, check=False, env={**os.environ, "NEURON_FAIL_ON_NAN": "1"})
        return [np.load(to / f"output{i}.npy") for i in range(5)] if not done.returncode else [], done.stderr

    def numpy(x: np.ndarray, y: np.ndarray, z: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
        n = min(len(x), len(z))
        return [x.sum(0), x.sum(), x[:n] + z[:n, None], y + y, w + w]

    def equal(got: list[np.ndarray], want: list[np.ndarray]) -> bool:
        return len(got) == len(want) and all(g.shape == w.shape and np.array_equal(g, w) for g, w in zip(got, want))

    for target in ("inf1", "trn1"):
        compiled = subprocess.run([NEURONX_CC, "compile", "--framework", "XLA", DYNAMIC, "--target", target, "--output",
                                   top / f"{target}.neff"], capture_output=True, text=True, check=False)
        ok(not compiled.returncode, f"{target}: a module of dynamic inputs compiles", compiled.stderr)
        for sizes in ((4, 3, 4, 2), (6, 5, 6, 3), (1, 5, 3, 0), (0, 2, 6, 1)):
            x, y, z, w = arrays = parameters(*sizes)
            got, said = run(target, dict(zip("xyzw", arrays)))
            ok(equal(got, numpy(*arrays)), f"{target}: {sizes}", said)
            lines = [f"neuron-run: input '{name}': {size} of {most} of dimension {d} are there ({number})"
                     for name, d, size, most, number in zip("xxzw", (0, 1, 0, 0), sizes, (6, 5, 6, 3), ("input4", "input5", "input6", "input7"))
                     if size < most]  # fmt: skip
            ok([line for line in said.splitlines() if "input '" in line] == lines, f"{target}: {sizes} is said", said)

    x, y, z, w = arrays = parameters(4, 5, 6, 3)
    given = {"x": x, "y": y, "z": z, "w": w, "input4": np.int32(3), "size of input2, dimension 0": np.int64(2)}
    got, said = run("inf1", given)
    ok(equal(got, numpy(x[:3], y, z[:2], w)), "sizes that are given stay", said)
    ok("input 'x': 4 of 6 of dimension 0 are there (input4 as given)\n" in said and "'z': " not in said, "which is said", said)
    for name, array, want in (("x", np.ones((7, 5), np.float32), "float32[7,5], the model takes float32[at most 6,at most 5]\n"),
                              ("w", np.ones((2, 1), np.float32), "float32[2,1], the model takes float32[at most 3,2]\n"),
                              ("y", np.ones(3, np.float32), "float32[3], the model takes float32[4]\n"),
                              ("z", np.ones(3, bool), "bool[3], the model takes float32[at most 6]\n"),
                              ("input4", np.ones(1, np.int32), "int32[1], the model takes int32[]\n")):  # fmt: skip
        got, said = run("inf1", given | {name: array})
        ok(not got and f" holds {want}" in said, f"refused: {name} of {array.dtype}{list(array.shape)}", said)
    got, said = run("inf1", dict(zip("xyzw", arrays)), "--rows")
    ok(not got and "input input4 (size of input0, dimension 0) is missing" in said, "refused: --rows", said)
    got, said = run("inf1", dict(zip("xyz", arrays)))
    ok(not got and "input input3 (w) is missing" in said, "refused: an input that is no size, not given", said)

print(f"1..{count}")
sys.exit(failed > 0)
