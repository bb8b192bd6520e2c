#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: where ceil_mode lets the last window of a LpPool reach beyond the input, its reference evaluator scales what there is up to
# a whole window: 7.07 of a window of two that holds 5 alone, where the operator's text has the norm of the window's values, 5, as
# onnxruntime 1.32.0 gives. Explicit padding, which adds zeros, is not scaled by either: there the same window is 5.
# usage: onnx-lppool-ceil.sh [PYTHON >= 3.11]
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
x = np.array([[[3, 4, 5]]], np.float32)
got = []
for name, attributes in ("ceil_mode", {"ceil_mode": 1}), ("pads", {"pads": [0, 1]}):
    node = helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[2], strides=[2], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    evaluated = ReferenceEvaluator(model).run(None, {"x": x})[0]
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    print(f"{name}: onnx {onnx.__version__} {evaluated.tolist()}, onnxruntime {onnxruntime.__version__} {run.tolist()}")
    got += [float(evaluated[0, 0, 1]), float(run[0, 0, 1])]
raise SystemExit(not np.allclose(got, [50 ** 0.5, 5, 5, 5]))
PY
