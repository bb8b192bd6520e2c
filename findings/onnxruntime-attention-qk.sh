#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: MultiHeadAttention's fourth result, which its text has as "normalized Q * K", is the scaled product with the mask's
# number added, before the softmax: its rows do not sum up to 1. Without a declared type of that result the model does not load.
# usage: onnxruntime-attention-qk.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime
from onnx import helper
from onnxruntime.capi import onnxruntime_pybind11_state as state
text = [o.description for s in state.get_all_operator_schema() if s.name == "MultiHeadAttention" for o in s.outputs][3]
q, k, v = (np.array([[[1, 2]]], np.float32), np.array([[[1, 0], [0, 3]]], np.float32), np.ones((1, 2, 2), np.float32))
inputs = {"q": q, "k": k, "v": v, "m": np.array([[1, 0]], np.int32)}
node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "m"], ["y", "", "", "s"], domain="com.microsoft", num_heads=1, scale=1.0,
                        mask_filter_value=-3.0)
info = [helper.make_tensor_value_info(n, 6 if n == "m" else 1, a.shape) for n, a in inputs.items()]
def run(kind):
    out = [helper.make_tensor_value_info("y", 1, None), helper.make_tensor_value_info("s", kind, None) if kind else helper.make_empty_tensor_value_info("s")]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", info, out), opset_imports=opsets, ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(["s"], inputs)[0].ravel().tolist()
scores = run(1)
print(f"onnxruntime {onnxruntime.__version__}: '{text}' {scores}")
try:
    run(0)
    loaded = True
except Exception as e:
    loaded = "type inference failed" not in str(e)
    print(str(e)[:160])
raise SystemExit(loaded or "normalized" not in text or scores != [1, 3])
PY
