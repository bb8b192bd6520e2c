#!/bin/sh
# SPDX-License-Identifier: MIT
# onnxruntime 1.32.0: onnxruntime.transformers.optimizer ends with "TypeError: 'NodeProto' object is not subscriptable" on an RMS norm that
# squares x as Mul(x, x), a form that the comment in fusion_simplified_layernorm.py draws; as Pow(x, 2) it is fused. One whose ReduceMean has
# no keepdims, of which ONNX's default is 1, is left as it is.
# usage: onnxruntime-rms-norm-square.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.23.2 onnx-ir==1.1.0 sympy==1.14.0 onnxruntime==1.32.0 numpy==2.4.6
"$d/venv/bin/python" - "$d/m.onnx" <<'PY'
import sys
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.transformers import optimizer
found = []
for square, keep in (["x", "two"], 1), (["x", "x"], 1), (["x", "two"], None):
    steps = [("Pow" if "two" in square else "Mul", square, "s"), ("ReduceMean", ["s"], "m"), ("Add", ["m", "eps"], "e"), ("Sqrt", ["e"], "r"),
             ("Div", ["one", "r"], "i"), ("Mul", ["x", "i"], "n"), ("Mul", ["n", "w"], "y")]
    nodes = [helper.make_node(k, i, [o], **({"axes": [-1]} | ({"keepdims": keep} if keep else {}) if k == "ReduceMean" else {}))
             for k, i, o in steps]
    held = {"two": np.float32(2), "eps": np.float32(1e-5), "one": np.float32(1), "w": np.ones(4, np.float32)}
    info = [helper.make_tensor_value_info(n, 1, [2, 4]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], [numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
    try:
        found.append([n.op_type for n in optimizer.optimize_model(sys.argv[1], "bert", opt_level=0).model.graph.node][0])
    except TypeError as e:
        found.append(str(e))
    print(f"onnxruntime {onnxruntime.__version__}, square {square}, keepdims {keep}: {found[-1]}")
raise SystemExit(found != ["SimplifiedLayerNormalization", "'NodeProto' object is not subscriptable", "Pow"])
PY
