#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: from opset 13 on Softmax, LogSoftmax and Hardmax work along one axis, before on all from it on. version_converter minds
# this for Softmax and LogSoftmax from 11 to 13 alone: Hardmax goes to 13, and Softmax back to 11, as it is, without an error, with other
# results. A Softmax along axis 0 of two by two, whose columns have the sum 1, has the sum 1 altogether after the conversion to 11.
# usage: onnx-convert-softmax.sh [PYTHON >= 3.11]
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
from onnx import TensorProto, helper, version_converter
x = np.array([[1, 2], [4, 3]], np.float32)
sums = {}
for op, old, new in ("Softmax", 11, 13), ("Softmax", 13, 11), ("Hardmax", 11, 13):
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], axis=0)], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", old)], ir_version=6)
    converted = version_converter.convert_version(model, new)
    onnx.checker.check_model(converted, full_check=True)
    y = [onnxruntime.InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in (model, converted)]
    sums[op, old, new] = [round(float(v.sum()), 4) for v in y]
    print(f"onnx {onnx.__version__}: {op} of opset {old} has the sum {sums[op, old, new][0]}, converted to {new} {sums[op, old, new][1]}")
raise SystemExit(list(sums.values()) != [[1, 1], [2, 1], [1, 2]])
PY
