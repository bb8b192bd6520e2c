#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: ConvTranspose with auto_pad SAME_UPPER or SAME_LOWER and a stride beyond its kernel has two sizes in one package. The
# attribute's text has each axis input times stride, 9 for 3 elements, stride 3, kernel 2, and the reference evaluator gives 9; shape
# inference says 8, and onnxruntime 1.32.0 gives 8: the padding would be negative, and they take none. SAME_UPPER's missing element comes
# first in the evaluator's result.
# usage: onnx-convtranspose-same.sh [PYTHON >= 3.11]
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
x, w = np.array([[[1, 2, 3]]], np.float32), np.array([[[10, 20]]], np.float32)
info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, v.shape) for n, v in {"x": x, "w": w}.items()]
node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[3], auto_pad="SAME_UPPER")
graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name="y")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
model = onnx.shape_inference.infer_shapes(model)
inferred = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
evaluated = ReferenceEvaluator(model).run(None, {"x": x, "w": w})[0].ravel().tolist()
run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x, "w": w})[0].ravel().tolist()
print(f"onnx {onnx.__version__}: inferred {inferred}, evaluated {evaluated}; onnxruntime {onnxruntime.__version__}: {run}")
shifted = [10, 20, 0, 20, 40, 0, 30, 60]
raise SystemExit(inferred != [1, 1, 8] or evaluated != [0, *shifted] or run != shifted)
PY
