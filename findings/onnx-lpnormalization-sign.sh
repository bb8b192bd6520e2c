#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: its reference evaluator's LpNormalization with p = 1 divides by the sum of the elements, not of their absolute values, so
# signs turn and results exceed 1: [-0.5, 1.5] of [1, -3], where the operator's text divides by the Lp norm. onnxruntime 1.32.0 gives
# [0.25, -0.75]. Both agree as long as no element is negative, and with p = 2.
# usage: onnx-lpnormalization-sign.sh [PYTHON >= 3.11]
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
inputs = {"x": np.array([[1, -3], [-1, -1], [1, 3]], np.float32)}
info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
node = helper.make_node("LpNormalization", list(inputs), ["y"], p=1)
graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name=n) for n in ["y"]])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
model = onnx.shape_inference.infer_shapes(model)
evaluated = ReferenceEvaluator(model).run(None, inputs)
run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)

print(f"onnx {onnx.__version__}: {evaluated[0].tolist()}; onnxruntime {onnxruntime.__version__}: {run[0].tolist()}")
raise SystemExit(evaluated[0].tolist() != [[-0.5, 1.5], [0.5, 0.5], [0.25, 0.75]] or run[0].tolist() != [[0.25, -0.75], [-0.5, -0.5], [0.25, 0.75]])
PY
