#!/bin/sh
# SPDX-License-Identifier: MIT
# onnx 1.17.0: of its tests of CastLike those named FLOAT8E4M3FN_to_FLOAT and FLOAT8E5M2_to_FLOAT have inputs of FLOAT8E4M3FNUZ and
# FLOAT8E5M2FNUZ, as the tests of those names have, so that no test casts like a float from the two common formats. Cast's own tests, and
# CastLike's to them, have the types that they name.
# usage: onnx-castlike-float8-names.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install onnx==1.17.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import os, onnx
home = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/node")
def first(name):
    model = onnx.load(os.path.join(home, "test_" + name, "model.onnx"))
    return onnx.TensorProto.DataType.Name(model.graph.input[0].type.tensor_type.elem_type)
got = [first(n) for n in ("castlike_FLOAT8E4M3FN_to_FLOAT", "castlike_FLOAT8E5M2_to_FLOAT", "castlike_FLOAT8E4M3FNUZ_to_FLOAT", "cast_FLOAT8E4M3FN_to_FLOAT")]
print(f"onnx {onnx.__version__}: {got}")
raise SystemExit(got != ["FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT8E4M3FNUZ", "FLOAT8E4M3FN"])
PY
