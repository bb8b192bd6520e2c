#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: version_converter brings an Upsample of opset 9 or a Resize of opset 10 to opset 11 as a Resize without
# coordinate_transformation_mode. Both old operators take elements at x / scale, which opset 11 calls asymmetric, and the new one's
# default is half_pixel: converted models pass the checker and interpolate elsewhere. onnxruntime 1.32.0 gives 0, 0.5, 1, 1 of 0, 1 by 2
# before and 0, 0.25, 0.75, 1 after.
# usage: onnx-convert-resize.sh [PYTHON >= 3.11]
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
x = np.array([[[[0, 1]]]], np.float32)
before, after = [], []
for op, opset in ("Upsample", 9), ("Resize", 10):
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1, 1, m]) for n, m in (("x", 2), ("y", 4))]
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 1, 2])
    graph = helper.make_graph([helper.make_node(op, ["x", "s"], ["y"], mode="linear")], "g", info[:1], info[1:], [scales])
    old = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    new = version_converter.convert_version(old, 11)
    onnx.checker.check_model(new, full_check=True)
    for model, results in (old, before), (new, after):
        results.append(onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0].ravel().tolist())
    print(f"onnx {onnx.__version__}: {op} of opset {opset} gives {before[-1]}, converted to 11 {after[-1]}")
raise SystemExit(before != [[0, 0.5, 1, 1]] * 2 or after != [[0, 0.25, 0.75, 1]] * 2)
PY
