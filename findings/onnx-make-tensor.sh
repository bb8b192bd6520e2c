#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: what helper.make_tensor does with a number that its type has not depends on the type: one of INT4 or UINT4 wraps without a
# word (8 becomes -8), one of INT8 is an OverflowError, and one of a float8 is the largest (448 of 1000 as FLOAT8E4M3FN), although the
# array of ml_dtypes 0.6.0 that the package gives for this type makes NaN of it, and numpy_helper.from_array of such an array keeps the
# NaN.
# usage: onnx-make-tensor.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.23.2 ml_dtypes==0.6.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
def made(kind, number):
    try:
        return float(numpy_helper.to_array(helper.make_tensor("t", kind, [1], [number]))[0])
    except OverflowError:
        return "OverflowError"
array = np.array([1000.0]).astype(helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E4M3FN))
got = {"INT4 of 8": made(TensorProto.INT4, 8), "UINT4 of 16": made(TensorProto.UINT4, 16), "INT8 of 128": made(TensorProto.INT8, 128),
       "FLOAT8E4M3FN of 1000": made(TensorProto.FLOAT8E4M3FN, 1000.0), "an array of 1000": float(numpy_helper.to_array(numpy_helper.from_array(array))[0])}
print(f"onnx {onnx.__version__}: {got}")
raise SystemExit(str(list(got.values())) != "[-8.0, 0.0, 'OverflowError', 448.0, nan]")
PY
