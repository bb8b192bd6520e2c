#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: SplitToSequence with keepdims 0 drops the axis also where its input split is given as a scalar 1, although the
# attribute's text has keepdims ignored when that input is there. ONNX's shape inference and its reference evaluator (onnx 1.23.2) keep
# it: an element of 2 x 3 split by rows has the shape 1 x 3 there and 3 in onnxruntime.
# usage: onnxruntime-split-keepdims.sh [PYTHON >= 3.11]
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
x = np.arange(6, dtype=np.float32).reshape(2, 3)
held = [helper.make_tensor(n, onnx.TensorProto.INT64, [], [v]) for n, v in (("parts", 1), ("at", 0))]
nodes = [helper.make_node("SplitToSequence", ["x", "parts"], ["s"], keepdims=0), helper.make_node("SequenceAt", ["s", "at"], ["y"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])], [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], held)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
inferred = [d.dim_value for d in onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim]
evaluated = ReferenceEvaluator(model).run(None, {"x": x})[0].shape
run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0].shape
print(f"onnx {onnx.__version__}: inferred {inferred}, evaluated {evaluated}; onnxruntime {onnxruntime.__version__}: {run}")
raise SystemExit(inferred != [1, 3] or evaluated != (1, 3) or run != (3,))
PY
