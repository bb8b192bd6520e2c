#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: its reference evaluator runs GRU and LSTM without a word as if sequence_lens, clip and activations were not there: each
# sequence has the full length, every gate is a Sigmoid or Tanh, and nothing is clipped. An LSTM of 2 whose input weights are 1 is 0.608
# with clip 0.5, too, where onnxruntime 1.32.0 has 0.174, and a step beyond a sequence's length, 0 in onnxruntime, is not.
# usage: onnx-recurrent-ignored.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
x, one = np.full((2, 1, 1), 2, np.float32), np.ones(1, np.int32)
failed = False
for op, gates, functions in ("GRU", 3, ["Sigmoid", "Relu"]), ("LSTM", 4, ["Sigmoid", "Relu", "Relu"]):
    plain = {"x": x, "w": np.ones((1, gates, 1), np.float32), "r": np.zeros((1, gates, 1), np.float32)}
    cases = {"plain": ({}, {}), "clip": ({}, {"clip": 0.5}), "activations": ({}, {"activations": functions}), "lengths": ({"l": one}, {})}
    evaluated, run = {}, {}
    for name, (more, attributes) in cases.items():
        inputs = plain | more
        info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
        node = helper.make_node(op, ["x", "w", "r", "", *more], ["y"], hidden_size=1, **attributes)
        graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name="y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        evaluated[name] = ReferenceEvaluator(model).run(None, inputs)[0].ravel()
        run[name] = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0].ravel()
        print(f"{op}, {name}: onnx {onnx.__version__} {evaluated[name]}, onnxruntime {onnxruntime.__version__} {run[name]}")
    same = [[np.allclose(r[n], r["plain"], atol=1e-4) for n in cases] for r in (evaluated, run)]
    failed |= same != [[True] * 4, [True, False, False, False]] or float(run["lengths"][1]) != 0
raise SystemExit(failed)
PY
