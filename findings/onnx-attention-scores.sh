#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.23.2: with a softcap, its reference evaluator's Attention gives for qk_matmul_output_mode 0, which the attribute's text has as
# the product of Q and K, what mode 1 gives, the product after the softcap: 0.76 and 0.995 of 1 and 3. onnxruntime 1.32.0 gives 1 and 3.
# usage: onnx-attention-scores.sh [PYTHON >= 3.11]
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
inputs = {n: np.array(v, np.float32) for n, v in (("q", [[[[1]]]]), ("k", [[[[1], [3]]]]), ("v", [[[[1], [2]]]]))}
info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, v.shape) for n, v in inputs.items()]
got = []
for mode in 0, 1:
    node = helper.make_node("Attention", list(inputs), ["y", "", "", "scores"], softcap=1.0, qk_matmul_output_mode=mode)
    graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name=n) for n in ("y", "scores")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    model = onnx.shape_inference.infer_shapes(model)
    evaluated = ReferenceEvaluator(model).run(["scores"], inputs)[0].ravel()
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(["scores"], inputs)[0].ravel()
    print(f"mode {mode}: onnx {onnx.__version__} {evaluated}, onnxruntime {onnxruntime.__version__} {run}")
    got += [evaluated, run]
capped = np.tanh([1, 3])
raise SystemExit(not np.allclose(got, [capped, [1, 3], capped, capped], atol=1e-4))
PY
