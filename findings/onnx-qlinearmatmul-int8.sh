#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.17.0: its reference evaluator wraps the result of a QLinearMatMul of int8 that does not fit, where the operator's text has it
# saturate: -235.4 becomes 21. The package's test data has it so too (node/test_qlinearmatmul_2D_int8_float32 expects 20 of -235.7).
# onnxruntime 1.20.1 and onnx 1.23.2 give -128.
# usage: onnx-qlinearmatmul-int8.sh [PYTHON >= 3.11, < 3.13]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat > "$d/show.py" <<'PY'
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
values = [np.array([[-124, 87]], np.int8), np.array([0.5], np.float32), np.array([0], np.int8), np.array([[100], [-100]], np.int8),
          np.array([0.02], np.float32), np.array([0], np.int8), np.array([0.9], np.float32), np.array([-1], np.int8)]
types = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT}
inputs = [helper.make_tensor_value_info(n, types[v.dtype], v.shape) for n, v in zip(names, values)]
graph = helper.make_graph([helper.make_node("QLinearMatMul", names, ["y"])], "g", inputs,
                          [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 1])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
feed = dict(zip(names, values))
exact = (-124 * 100 + 87 * -100) * 0.5 * 0.02 / 0.9 - 1
reference = int(ReferenceEvaluator(model).run(None, feed)[0][0, 0])
print(f"onnx {onnx.__version__}: {exact:.1f} becomes {reference}")
if sys.argv[2:]:
    import onnxruntime
    run = int(onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)[0][0, 0])
    print(f"onnxruntime {onnxruntime.__version__}: {run}")
    sys.exit(run != -128 or reference != int(sys.argv[1]))
sys.exit(reference != int(sys.argv[1]))
PY
for case in "1.17.0 21 onnxruntime==1.20.1" "1.23.2 -128"; do
	# shellcheck disable=SC2086
	set -- $case
	"$python" -m venv "$d/$1"
	"$d/$1/bin/pip" -q install "onnx==$1" "numpy<2.3" ${3:+"$3"}
	"$d/$1/bin/python" "$d/show.py" "$2" ${3:+runtime}
done
