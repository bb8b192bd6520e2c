#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# onnxruntime's Unique takes NaN for equal to any number: NaN is in no result, and is counted with numbers beside it
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/venv"
"$home/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$home/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([2, np.nan, 1, np.nan, 2], np.float32)
names = ["values", "first", "inverse", "counts"]
types = [TensorProto.FLOAT] + [TensorProto.INT64] * 3
graph = helper.make_graph([helper.make_node("Unique", ["x"], names)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5])],
                          [helper.make_tensor_value_info(n, t, [None]) for n, t in zip(names, types)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
got = [v.tolist() for v in onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})]
print("onnxruntime", onnxruntime.__version__, "Unique of", x.tolist(), "is", dict(zip(names, got)))
print("numpy.unique gives", np.unique(x, return_counts=True))
assert got[0] == [1.0, 2.0] and got[3] == [2, 3], "it is another now"
PY
