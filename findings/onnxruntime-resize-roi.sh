#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: a Resize with tf_crop_and_resize ignores the roi of each axis whose size stays. The operator's text has its sampled
# coordinates lie in the roi whatever the sizes: the middle half of 0, 1, 2, 3, by four elements, is 0.75, 1.25, 1.75, 2.25, as ONNX's
# reference evaluator (onnx 1.23.2) gives. onnxruntime returns 0, 1, 2, 3; by three or five elements both agree.
# usage: onnxruntime-resize-roi.sh [PYTHON >= 3.11]
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
x, roi = np.array([[[0, 1, 2, 3]]], np.float32), np.array([0, 0, 0.25, 1, 1, 0.75], np.float32)
info = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 4]), helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [6])]
got = {}
for size in 3, 4, 5:
    node = helper.make_node("Resize", ["x", "r", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="tf_crop_and_resize")
    sizes = helper.make_tensor("s", onnx.TensorProto.INT64, [3], [1, 1, size])
    graph = helper.make_graph([node], "g", info, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, size])], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    evaluated = ReferenceEvaluator(model).run(None, {"x": x, "r": roi})[0].ravel()
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x, "r": roi})[0].ravel()
    right = np.linspace(0.75, 2.25, size)
    got[size] = np.allclose(evaluated, right), np.allclose(run, right), np.allclose(run, np.arange(size))
    print(f"{size} elements: onnxruntime {onnxruntime.__version__} {run}, onnx {onnx.__version__} {evaluated}")
raise SystemExit(got != {3: (True, True, False), 4: (True, False, True), 5: (True, True, False)})
PY
