#!/bin/sh
# SPDX-License-Identifier: MIT
# ml_dtypes 0.6.0 and NumPy 2.4.6: of two vectors of a float8 or int4 the operator @ is not np.dot. np.dot keeps the type and rounds or
# wraps each step (72 in float8_e4m3fn, -6 in int4, of [5, 7] by itself); @ finds no loop for the type and takes float32's or int8's (74),
# which is the type of its result, too. NumPy's manual has matmul of one-dimensional arrays as their inner product. So it is with
# bfloat16, where @ is float32.
# usage: ml-dtypes-dot.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install ml_dtypes==0.6.0 numpy==2.4.6
"$d/venv/bin/python" - <<'PY'
import ml_dtypes, numpy as np
got = []
for kind in ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.bfloat16:
    v = np.array([5, 7], kind)
    dot, product = np.dot(v, v), v @ v
    got.append((float(dot), np.asarray(dot).dtype.name, float(product), np.asarray(product).dtype.name))
    print(f"ml_dtypes {ml_dtypes.__version__}, NumPy {np.__version__}: {v.dtype} dot {got[-1][:2]}, @ {got[-1][2:]}")
want = [(72, "float8_e4m3fn", 74, "float32"), (-6, "int4", 74, "int8"), (74, "bfloat16", 74, "float32")]
raise SystemExit(got != want)
PY
