#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: the activation ThresholdedRelu of an RNN without activation_alpha has the threshold 0, where the attribute's text
# gives it the default of the operator of that name, which is 1: 0.5 stays 0.5 in the RNN and is 0 in the operator ThresholdedRelu of the
# same runtime. LeakyRelu's default is the operator's.
# usage: onnxruntime-rnn-alpha.sh [PYTHON >= 3.11]
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
x = np.array([0.5, 2, -2], np.float32).reshape(3, 1, 1)
weights = {"w": np.ones((1, 1, 1), np.float32), "r": np.zeros((1, 1, 1), np.float32)}
got = []
for kind in "ThresholdedRelu", "LeakyRelu":
    nodes = [helper.make_node("RNN", ["x", "w", "r"], ["inside"], hidden_size=1, activations=[kind]), helper.make_node(kind, ["x"], ["alone"])]
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in {"x": x, **weights}.items()]
    outputs = [helper.make_tensor_value_info("inside", TensorProto.FLOAT, [3, 1, 1, 1]), helper.make_tensor_value_info("alone", TensorProto.FLOAT, [3, 1, 1])]
    model = helper.make_model(helper.make_graph(nodes, "g", info, outputs), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    got.append([y.ravel().tolist() for y in onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x, **weights})])
    print(f"onnxruntime {onnxruntime.__version__}: {kind} in an RNN {got[-1][0]}, alone {got[-1][1]}")
raise SystemExit(got[0] != [[0.5, 2, 0], [0, 2, 0]] or got[1][0] != got[1][1])
PY
