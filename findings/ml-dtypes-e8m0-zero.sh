#!/bin/sh
# SPDX-License-Identifier: MIT
# ml_dtypes 0.6.0 and NumPy 2.4.6: float8_e8m0fnu, which has no zero, has two for NumPy. np.zeros clears bytes, and the byte 0 is 2^-127;
# a 0 that is converted is NaN. So np.zeros and np.full of 0 differ, and np.sum, which starts at a converted 0, is NaN of any array. onnx
# 1.23.2's Cast, whose table has 0 become 0 by default, gives 2^-127 where astype gives NaN.
# usage: ml-dtypes-e8m0-zero.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install ml_dtypes==0.6.0 numpy==2.4.6 onnx==1.23.2
"$d/venv/bin/python" - <<'PY'
import ml_dtypes, numpy as np, onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
scale = ml_dtypes.float8_e8m0fnu
graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT8E8M0, [1])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
got = {"zeros": np.zeros(1, scale), "full": np.full(1, 0, scale), "astype": np.zeros(1, np.float32).astype(scale), "sum": np.ones(2, scale).sum(),
       "Cast": ReferenceEvaluator(model).run(None, {"x": np.zeros(1, np.float32)})[0]}
got = {n: float(np.ravel(v)[0]) for n, v in got.items()}
print(f"ml_dtypes {ml_dtypes.__version__}, NumPy {np.__version__}, onnx {onnx.__version__}: {got}")
small = 2.0 ** -127
raise SystemExit(str(got) != str({"zeros": small, "full": float("nan"), "astype": float("nan"), "sum": float("nan"), "Cast": small}))
PY
