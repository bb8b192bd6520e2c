#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2, onnxruntime 1.32.0: a Resize by a scale that gives no whole length has two results with align_corners. The operator's text
# divides by the length of the resized tensor less one; onnxruntime does, and the last element is the input's last: 4 of 1, 2, 3, 4 by
# 0.6. ONNX's reference evaluator takes the length before it is rounded down, 2.4, and gives 3.14. With the same lengths as sizes both
# give 4.
# usage: onnx-resize-corners.sh [PYTHON >= 3.11]
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
x = np.array([[[1, 2, 3, 4]]], np.float32)
got = []
for name, value in ("scales", np.array([1, 1, 0.6], np.float32)), ("sizes", np.array([1, 1, 2], np.int64)):
    inputs = {"x": x, name: value}
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    names = ["x", "", name] if name == "scales" else ["x", "", "", name]
    node = helper.make_node("Resize", names, ["y"], mode="linear", coordinate_transformation_mode="align_corners")
    graph = helper.make_graph([node], "g", info, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, 2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    evaluated = ReferenceEvaluator(model).run(None, inputs)[0].ravel()
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0].ravel()
    print(f"{name}: onnx {onnx.__version__} {evaluated}, onnxruntime {onnxruntime.__version__} {run}")
    got += [evaluated, run]
raise SystemExit(not np.allclose(got, [[1, 1 + 3 / 1.4], [1, 4], [1, 4], [1, 4]], atol=1e-5))
PY
