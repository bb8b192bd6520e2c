# SPDX-License-Identifier: MIT
"""Build a small ONNX model and export it with golden values. usage: build.py OUT_DIR"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import neuron_export


def model() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {"kernel": rng.standard_normal((8, 3, 3, 3), np.float32) * 0.2,
               "bias": rng.standard_normal(8, np.float32), "w": rng.standard_normal((8, 10), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "kernel", "bias"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "w"], ["y"])]
    graph = helper.make_graph(
        nodes, "example", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 3, 16, 16))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 10))],
        [numpy_helper.from_array(v, k) for k, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(model(), out / "model.onnx")
    x = np.random.default_rng(1).standard_normal((4, 3, 16, 16), np.float32)
    neuron_export.export_onnx(out / "model.onnx", {"x": x}, out)


main()
