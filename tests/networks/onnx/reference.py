#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The float64 results of an ONNX model, and the standard deviation of its error (sampling.py).

usage: reference.py DIR

DIR has model.onnx and in<i>.npy; gets out<i>.npy and sigma_<mode><i>.npy as ../generate.py writes them. The model
is run node by node in JAX, so that sampling.py sees every operation. That this reads the model rightly is
held by onnxruntime, whose fp32 results have to lie within the bound of --auto-cast none; else this fails.

Needs jax, onnx and onnxruntime.
"""

import functools
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import errors  # noqa: E402
import sampling  # noqa: E402
from operators import OPERATORS  # noqa: E402


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def run(model: onnx.ModelProto, fixed: dict[str, Any], weights: dict[str, Any], *inputs: Any) -> list[Any]:
    known = {**fixed, **weights, "": None} | {i.name: x for i, x in zip(model.graph.input, inputs)}
    for node in model.graph.node:
        args = [known[name] for name in node.input]
        call = functools.partial(OPERATORS[node.op_type], attributes(node), *args)
        if node.op_type != "Shape" and any(isinstance(x, jax.Array) for x in args):
            found = call()
        else:
            with jax.ensure_compile_time_eval():  # what says how to reshape has to be numbers
                found = jax.tree.map(np.asarray, call())
        known |= dict(zip(node.output, found if isinstance(found, tuple) else [found]))
    return [known[o.name] for o in model.graph.output]


def held(model: Path, inputs: list[np.ndarray], results: list[tuple[np.ndarray, list[np.ndarray]]]) -> None:
    """By onnxruntime"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    none = [mode.name for mode in errors.MODES].index("none")
    for i, got in enumerate(session.run(None, dict(zip(names, inputs)))):
        want, sigma = results[i][0], results[i][1][none]
        if errors.is_real(want) and not np.max(sigma) < np.max(np.abs(want)):
            sys.exit("the bound is larger than what it bounds")
        error = np.abs(got - want)
        ratio = np.divide(error, sigma, out=np.where(error > 0, np.inf, 0.0), where=sigma > 0)
        worst, limit = float(np.max(ratio)), errors.quantile(want.size)
        print(f"# {model.parent.name}: onnxruntime's output {i}: {worst:.2f} sigma of at most {limit:.2f}", flush=True)
        if not worst <= limit:
            sys.exit("the reference is not what onnxruntime computes")


def main() -> None:
    to = Path(sys.argv[1])
    model = onnx.load(to / "model.onnx")
    given = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    weights = {name: x for name, x in given.items() if x.dtype == np.float32}
    fixed = {name: x for name, x in given.items() if name not in weights}
    inputs = [np.load(to / f"in{i}.npy") for i in range(len(model.graph.input))]
    with jax.enable_x64(True):
        results = sampling.analyse(functools.partial(run, model, fixed), weights, inputs)
    held(to / "model.onnx", inputs, results)
    for i, (x, sigmas) in enumerate(results):
        high = x.astype(np.float32)
        np.save(to / f"out{i}.npy", np.stack([high, (x - high).astype(np.float32)]))
        for mode, sigma in zip(errors.MODES, sigmas):
            np.save(to / f"sigma_{mode.name}{i}.npy", sigma.astype(np.float32))


if __name__ == "__main__":
    main()
