#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""ONNX models with a dimension of which there are up to a maximum (--input-shape x=<=5x16), or none (c=0x16), as TAP.

usage: onnx_sizes.py ROOT NEURONX_CC NEURON_RUN

The oracle is NumPy on as many elements as there are; what lies behind them is NaN, which nobody may read.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

import numpy as np
from tap import Tap

ROOT, NEURONX_CC, NEURON_RUN = (Path(a).resolve() for a in sys.argv[1:4])
MOST = 5
RNG = np.random.default_rng(1)
DEVICES = {"inf1": "emu:inf1.xlarge", "trn1": "emu:trn1.2xlarge"}
Array = np.ndarray


def node(op: str, inputs: str, output: str, attributes: str = "", domain: str = "") -> str:
    given = " ".join(f'input: "{i}"' for i in inputs.split())
    return f'node {{ {given} output: "{output}" op_type: "{op}" domain: "{domain}" {attributes} }}'


def floats(name: str, x: Array) -> str:
    return f'attribute {{ name: "{name}" type: 6 {" ".join(f"floats: {v}" for v in x.ravel())} }}'


def ints(name: str, *values: int) -> str:
    return f'attribute {{ name: "{name}" type: 7 {" ".join(f"ints: {v}" for v in values)} }}'


def number(name: str, value: int) -> str:
    return f'attribute {{ name: "{name}" type: 2 i: {value} }}'


def constant(name: str, x: Array) -> str:
    dims = " ".join(f"dims: {d}" for d in x.shape)
    field, kind = ("float_data", 1) if x.dtype == np.float32 else ("int64_data", 7)
    return f'initializer {{ {dims} data_type: {kind} name: "{name}" {" ".join(f"{field}: {v}" for v in x.ravel())} }}'


def value(kind: str, name: str, *shape: int | str) -> str:
    dims = " ".join(f"dim {{ dim_value: {d} }}" if isinstance(d, int) else f'dim {{ dim_param: "{d}" }}' for d in shape)
    return f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}'


def write(to: Path, *parts: str) -> None:
    text = f'ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: "ai.onnx.ml" version: 3 }} graph {{ name: "g" {" ".join(parts)} }}'
    encode = ["protoc", f"--proto_path={ROOT / 'compiler/frontend/onnx'}", "--encode=ncc.onnx.Model", "onnx.proto"]
    to.write_bytes(subprocess.run(encode, input=text.encode(), capture_output=True, check=True).stdout)


def weights(*shape: int) -> Array:
    return (RNG.standard_normal(shape) / 2).astype(np.float32)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


W, V, Q, K, O = weights(16, 32), weights(32, 10), weights(16, 16), weights(16, 16), weights(16, 16)


def perceptron(to: Path) -> None:
    nodes = [node("MatMul", "x w", "a"), node("Relu", "a", "b"), node("MatMul", "b v", "c"), node("Softmax", "c", "y", number("axis", -1))]
    write(to, *nodes, constant("w", W), constant("v", V), value("input", "x", "batch", 16), value("output", "y", "batch", 10))


def means(to: Path) -> None:
    nodes = [node("Add", "x m", "s"), node("MatMul", "s w", "a"), node("Tanh", "a", "t"),
             node("ReduceMean", "t", "y", ints("axes", 1) + number("keepdims", 0)),
             node("ReduceMax", "t", "z", ints("axes", 1) + number("keepdims", 0))]  # fmt: skip
    inputs = [value("input", name, 2, "steps", 16) for name in "xm"]
    write(to, *nodes, constant("w", W), *inputs, value("output", "y", 2, 32), value("output", "z", 2, 32))


def attention(to: Path, *shape: int | str) -> None:
    nodes = [node("MatMul", "x q", "a"), node("MatMul", "x k", "b"), node("Transpose", "b", "c", ints("perm", 0, 2, 1)), node("MatMul", "a c", "s"),
             node("Softmax", "s", "p", number("axis", -1)), node("MatMul", "p x", "d"), node("MatMul", "d o", "e"), node("Add", "x e", "y")]  # fmt: skip
    write(to, *nodes, constant("q", Q), constant("k", K), constant("o", O), value("input", "x", *shape), value("output", "y", *shape))


def regression(to: Path) -> None:
    scaler = node("Scaler", "x", "s", floats("offset", W[:, 0]) + floats("scale", W[:, 1]), "ai.onnx.ml")
    linear = node("LinearRegressor", "s", "y", floats("coefficients", W[:, 2:5].T) + floats("intercepts", V[:3, 0]) + number("targets", 3), "ai.onnx.ml")
    write(to, scaler, linear, value("input", "x", "rows", 16), value("output", "y", "rows", 3))


def normalized(to: Path) -> None:
    nodes = [node("LayerNormalization", "x g", "n", number("axis", -1)), node("Relu", "n", "y")]
    write(to, *nodes, constant("g", W[:, 3].copy()), value("input", "x", 2, "steps", 16), value("output", "y", 2, "steps", 16))


def gram(to: Path) -> None:
    nodes = [node("Transpose", "x", "t", ints("perm", 0, 2, 1)), node("MatMul", "t x", "y")]
    write(to, *nodes, value("input", "x", 2, "steps", 16), value("output", "y", 2, 16, 16))


def normal(x: Array) -> Array:
    m = x - x.mean(-1, keepdims=True)
    return np.maximum(m / np.sqrt((m * m).mean(-1, keepdims=True) + 1e-5) * W[:, 3], 0)


def attended(x: Array) -> Array:
    return x + softmax(x @ Q @ (x @ K).transpose(0, 2, 1)) @ x @ O


# What makes it, the shapes, the open dimension of input 0, what NumPy makes of inputs that are there
CASES: dict[str, tuple[Callable[[Path], None], list[tuple[int, ...]], int, Callable[..., list[Array]]]] = {
    "perceptron": (perceptron, [(MOST, 16)], 0, lambda x: [softmax(np.maximum(x @ W, 0) @ V)]),
    "means": (means, [(2, MOST, 16)] * 2, 1, lambda x, m: [np.tanh((x + m) @ W).mean(1), np.tanh((x + m) @ W).max(1)]),
    "regression": (regression, [(MOST, 16)], 0, lambda x: [(x - W[:, 0]) * W[:, 1] @ W[:, 2:5] + V[:3, 0]]),
    "normalized": (normalized, [(2, MOST, 16)], 1, lambda x: [normal(x)]),
    "gram": (gram, [(2, MOST, 16)], 1, lambda x: [x.transpose(0, 2, 1) @ x]),
    "attention": (lambda to: attention(to, "batch", 7, 16), [(MOST, 7, 16)], 0, lambda x: [attended(x)]),
    "sequence": (lambda to: attention(to, 2, "steps", 16), [(2, MOST, 16)], 1, lambda x: [attended(x)]),
}


def compile_model(model: Path, target: str, *options: str) -> subprocess.CompletedProcess[str]:
    words = [NEURONX_CC, "compile", "--framework", "ONNX", model, "--target", target, "--auto-cast", "none", *options, "-o", model.with_suffix(".neff")]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def open_shape(shape: tuple[int, ...], d: int) -> str:
    return "x".join(f"<={n}" if i == d else str(n) for i, n in enumerate(shape))


def check_case(tap: Tap, work: Path, name: str, target: str) -> None:
    make, shapes, d, oracle = CASES[name]
    model = work / f"{name}.onnx"
    make(model)
    options = [word for input_name, shape in zip("xm", shapes) for word in ("--input-shape", f"{input_name}={open_shape(shape, d)}")]
    done = compile_model(model, target, *options)
    tap.ok(done.returncode == 0, f"{name} compiles for {target}", done.stderr)
    for asked in (1, 3, MOST, MOST + 4):
        there = min(asked, MOST)
        x = [RNG.standard_normal(s).astype(np.float32) for s in shapes]
        words = []
        for i, a in enumerate(x):
            a[(slice(None),) * d + (slice(there, None),)] = np.nan
            np.save(work / f"x{i}.npy", a)
            words += ["--input", f"input{i}={work / f'x{i}.npy'}"]
        np.save(work / "n.npy", np.int32(asked))
        words += ["--input", f"size of input0, dimension {d}={work / 'n.npy'}", "--output-dir", str(work)]
        done = subprocess.run([NEURON_RUN, model.with_suffix(".neff"), "--device", DEVICES[target], *words], capture_output=True, text=True, check=False)
        want = oracle(*(a[(slice(None),) * d + (slice(0, there),)].astype(np.float64) for a in x))
        got = [np.load(work / f"output{i}.npy") for i in range(len(want))] if not done.returncode else []
        same = [g.shape == w.shape and np.allclose(g, w, rtol=1e-4, atol=1e-5) for g, w in zip(got, want)]
        tap.ok(bool(same) and all(same), f"{name}, {target}: {asked} of up to {MOST}", done.stderr)


def step(to: Path) -> None:
    """A step of a decoder, which attends to the steps before it too, and hands them on"""
    write(to, value("input", "x", 2, "new", 16), value("input", "past", 2, "old", 16), value("output", "y", 2, "new", 16), value("output", "present", 2, "all", 16),
          node("Concat", "past x", "present", number("axis", 1)), node("Transpose", "present", "t", ints("perm", 0, 2, 1)), node("MatMul", "x t", "scores"),
          node("Softmax", "scores", "p", number("axis", -1)), node("MatMul", "p present", "y"))


def check_cache(tap: Tap, work: Path, target: str) -> None:
    """The first step, which has no steps before it, and the second"""
    model = work / "step.onnx"
    step(model)
    past = np.zeros((2, 0, 16), np.float32)
    for title in ("first", "second"):
        x = RNG.standard_normal((2, 3, 16)).astype(np.float32)
        np.save(work / "x.npy", x)
        np.save(work / "past.npy", past)
        shapes = ["--input-shape", "x=2x3x16", "--input-shape", f"past=2x{past.shape[1]}x16"]
        done = compile_model(model, target, *shapes, *([] if past.size else ["--input-value", "past="]))
        tap.ok(done.returncode == 0, f"the {title} step compiles for {target}", done.stderr)
        words = [NEURON_RUN, model.with_suffix(".neff"), "--device", DEVICES[target], "--input", f"input0={work / 'x.npy'}", "--output-dir", work]
        done = subprocess.run([*words, *(["--input", f"input1={work / 'past.npy'}"] if past.size else [])], capture_output=True, text=True, check=False)
        past = np.concatenate([past, x], 1)
        want = softmax(x.astype(np.float64) @ past.transpose(0, 2, 1)) @ past
        got = [np.load(work / f"output{i}.npy") for i in range(2)] if not done.returncode else []
        tap.ok(bool(got) and got[0].shape == want.shape and np.allclose(got[0], want, rtol=1e-4, atol=1e-5) and np.array_equal(got[1], past),
               f"the {title} step, {target}", done.stderr)


def check_refused(tap: Tap, work: Path) -> None:
    model = work / "refused.onnx"

    def refused(title: str, status: int, text: str, *shapes: str) -> None:
        done = compile_model(model, "trn1", *(word for s in shapes for word in ("--input-shape", s)))
        tap.ok(done.returncode == status and text in done.stderr, f"refused: {title}", done.stderr)

    means(model)
    refused("two maxima of one name", 1, "'steps' has two bounds, 5 and 6", "x=2x<=5x16", "m=2x<=6x16")
    refused("a dimension that is not open", 1, "dimension 0 is always 2", "x=<=2x5x16", "m=2x5x16")
    refused("no number", 2, "NAME=1x3x<=224", "x=2x<=x16", "m=2x5x16")
    refused("at most nothing", 2, "NAME=1x3x<=224", "x=2x<=0x16", "m=2x5x16")
    refused("less than nothing", 2, "NAME=1x3x<=224", "x=2x-1x16", "m=2x5x16")
    refused("nothing", 1, "input 'x' is empty: it must be a constant (--input-value)", "x=2x0x16", "m=2x5x16")


def main() -> int:
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        for target in DEVICES:
            for case in CASES:
                check_case(tap, Path(name), case, target)
            check_cache(tap, Path(name), target)
        check_refused(tap, Path(name))
    tap.done()
    return 0


sys.exit(main())
