# SPDX-License-Identifier: MIT
"""Models of one or a few nodes in libonnx-testdata's layout, with what onnxruntime and ONNX's reference evaluator give for them.

Both are asked; onnxruntime's is kept, or the evaluator's where onnxruntime has no such operator. Where they differ the maker
says which one is right, and why, by `right`.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MS = "com.microsoft"


def node(kind: str, inputs: str, outputs: str = "y", domain: str = "", **attributes: object):
    return helper.make_node(kind, inputs.split(",") if inputs else [], outputs.split(","), domain=domain, **attributes)


def ms(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    return node(kind, inputs, outputs, MS, **attributes)


def held(name: str, value: object):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)


def small(name: str, value: np.ndarray, kind: int) -> TensorProto:
    """A constant of a part of a byte"""
    return helper.make_tensor(name, kind, value.shape, value.ravel().tolist())


def by_runtime(model) -> list | str:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # else it multiplies what is dequantized in blocks with an operand that it quantizes to eight bits first
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model["bytes"], options, providers=["CPUExecutionProvider"]).run(None, model["inputs"])
    except Exception as e:
        return f"onnxruntime: {e}"


def by_evaluator(model) -> list | str:
    try:
        return ReferenceEvaluator(model["proto"]).run(None, model["inputs"])
    except Exception as e:
        return f"evaluator: {e}"


def near(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    room = 4e-3 if a.dtype == np.float16 else 2e-5
    return bool(np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=room, atol=room, equal_nan=True))


def choose(name: str, one: list | str, other: list | str, right: str) -> list:
    if isinstance(one, str) or isinstance(other, str):
        if isinstance(one, str) and isinstance(other, str):
            raise SystemExit(f"{name}: {one}; {other}")
        return other if isinstance(one, str) else one
    same = all(near(np.asarray(a), np.asarray(b)) for a, b in zip(one, other, strict=True))
    if not same and not right:
        print(f"{name}: onnxruntime and the evaluator differ\n{one}\n{other}", file=sys.stderr)
        raise SystemExit(1)
    return other if right == "evaluator" else one


def write(path: Path, name: str, value: np.ndarray) -> None:
    (path / f"{name}.pb").write_bytes(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict | None = None, outputs: str = "y", opset: int = 18,
         opened: dict | None = None, right: str = "", typed: bool = False, unasked: list | None = None) -> None:
    """unasked: results in place of anybody's, of a model that is refused; typed: onnxruntime does not find the results' type, float; right: "runtime" or "evaluator", where they differ; opened: dimensions of inputs that the model leaves open"""
    def info(key: str):
        return helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(inputs[key].dtype),
                                             (opened or {}).get(key, inputs[key].shape))

    names = outputs.split(",")
    blank = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) if typed else helper.make_empty_tensor_value_info(o) for o in names]
    graph = helper.make_graph(nodes, name, [info(k) for k in inputs], blank, [held(k, v) for k, v in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)], ir_version=10)
    asked = {"proto": model, "bytes": model.SerializeToString(), "inputs": inputs}
    found = choose(name, by_runtime(asked), by_evaluator(asked), right) if unasked is None else unasked
    del model.graph.output[:]
    for key, value in zip(names, found, strict=unasked is None):
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
        model.graph.output.append(helper.make_tensor_value_info(key, kind, None))
    data = to / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for i, value in enumerate(inputs.values()):
        write(data, f"input_{i}", value)
    for i, value in enumerate(found):
        write(data, f"output_{i}", np.asarray(value))
