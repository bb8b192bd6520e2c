#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: Where loses the sign of a zero that it takes from its second operand: 0 of -0, even where both operands are -0. One
# from the third operand keeps its sign. ONNX's text has it behave as numpy.where, which copies elements.
# usage: onnxruntime-where-zero.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
condition = np.array([True, True, False])
x, y = np.array([-0.0, -0.0, 1], np.float32), np.array([1, -0.0, -0.0], np.float32)
info = [helper.make_tensor_value_info("c", TensorProto.BOOL, [3])] + [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xyz"]
graph = helper.make_graph([helper.make_node("Where", ["c", "x", "y"], ["z"])], "g", info[:3], info[3:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
z = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"c": condition, "x": x, "y": y})[0]
print(f"onnxruntime {onnxruntime.__version__}: {z.tolist()}, numpy {np.where(condition, x, y).tolist()}")
raise SystemExit(np.signbit(z).tolist() != [False, False, True] or z.any().item())
PY
