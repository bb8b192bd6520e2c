#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: its reference evaluator's NegativeLogLikelihoodLoss without weights takes the ignore_index -1 for none when it averages:
# ignored samples are left out of the sum but counted, so that the mean of a loss 1 beside an ignored sample is 0.5. With -2, or any other
# number, it is 1, and with -1, too, in SoftmaxCrossEntropyLoss of the same package and in onnxruntime 1.32.0.
# usage: onnx-nllloss-minus-one.sh [PYTHON >= 3.11]
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
got = []
for ignored in -1, -2:
    inputs = {"x": np.array([[-1, -2], [-8, -16]], np.float32), "t": np.array([0, ignored], np.int64)}
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    node = helper.make_node("NegativeLogLikelihoodLoss", list(inputs), ["y"], ignore_index=ignored)
    graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    evaluated = ReferenceEvaluator(model).run(None, inputs)[0]
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    print(f"ignore_index {ignored}: onnx {onnx.__version__} {evaluated}, onnxruntime {onnxruntime.__version__} {run}")
    got += [float(evaluated), float(run)]
raise SystemExit(got != [0.5, 1, 1, 1])
PY
