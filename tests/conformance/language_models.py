#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Language models as onnxruntime's tools leave them answer a prompt, token by token, as onnxruntime does; as TAP.

usage: language_models.py ROOT NEURONX_CC NEURON_RUN [DIR]

tests/data/language (or DIR) has each as two ONNX models, of a prompt and of one token, and as NAME.npz what onnxruntime answered
(tests/data/onnx/make_language.py). The cache goes from one run into the next, as the chip gave it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tap import Tap

ROOT, NEURONX_CC, NEURON_RUN = (Path(a).resolve() for a in sys.argv[1:4])
MODELS = Path(sys.argv[4]) if len(sys.argv) > 4 else ROOT / "tests/data/language"
DEVICES = {"inf1": "emu:inf1.xlarge", "trn1": "emu:trn1.2xlarge"}
RUNS = {"inf1": 4, "trn1": 33}
NEAR = 2e-5  # of the largest logit


def compiled(model: Path, target: str, scratch: Path) -> Path:
    neff = scratch / f"{model.stem}.neff"
    asked = ["compile", "--framework", "ONNX", model, "--target", target, "--auto-cast", "none", "--narrow-64bit", "--output", neff]
    subprocess.run([NEURONX_CC, *asked], check=True, capture_output=True)
    return neff


def run(neff: Path, target: str, inputs: dict[str, np.ndarray], scratch: Path, outputs: int) -> list[np.ndarray]:
    given = []
    for name, value in inputs.items():
        np.save(scratch / f"{name}.npy", value)
        given += ["--input", f"{name}={scratch / name}.npy"]
    subprocess.run([NEURON_RUN, neff, *given, "--device", DEVICES[target], "--output-dir", scratch], check=True, capture_output=True)
    return [np.load(scratch / f"output{i}.npy") for i in range(outputs)]


def caches_of(model: np.lib.npyio.NpzFile) -> dict[str, np.ndarray]:
    shape = tuple(model["cache"])
    return {f"past_{kind}.{layer}": np.zeros(shape[1:], np.float32) for layer in range(shape[0]) for kind in ("key", "value")}


def answer(tap: Tap, name: str, target: str) -> None:
    model = np.load(MODELS / f"{name}.npz")
    prompt, room = model["prompt"], int(model["cache"][3])
    caches, ids, tokens, worst = caches_of(model), prompt, [], 0.0
    with tempfile.TemporaryDirectory() as d:
        scratch = Path(d)
        neffs = [compiled(MODELS / f"{name}_{what}.onnx", target, scratch) for what in ("prompt", "token")]
        for step, want in enumerate(model["logits"][:RUNS[target]]):
            mask = (np.arange(room) < prompt.shape[1] + step).astype(np.int32)[None]
            inputs = {"input_ids": ids.astype(np.int32), "attention_mask": mask} | caches
            logits, *present = run(neffs[step > 0], target, inputs, scratch, 1 + len(caches))
            caches = dict(zip(caches, present, strict=True))
            got = logits.reshape(-1, want.size)[-1]
            worst = max(worst, float(np.max(np.abs(got - want)) / np.max(np.abs(want))))
            tokens.append(int(np.argmax(got)))
            ids = np.array([[tokens[-1]]])
    tap.same(tokens, model["tokens"][:RUNS[target]].tolist(), f"{name} on {target} chooses the tokens")
    tap.ok(worst < NEAR, f"{name} on {target} has the logits", f"{worst:.1e} of the largest")


def main() -> None:
    tap = Tap()
    for target in DEVICES:
        for path in sorted(MODELS.glob("*.npz")):
            answer(tap, path.stem, target)
    tap.done()


if __name__ == "__main__":
    main()
