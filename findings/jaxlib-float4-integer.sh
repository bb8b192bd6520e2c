#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: XLA's CPU makes 2147483647 and -2147483648 of 6 and -6 in float4_e2m1fn as 32-bit integers, 127 and -128 as 8-bit ones: the
# format has no infinities, but its greatest exponent is taken for theirs. 4 has the same exponent and stays 4.
# usage: jaxlib-float4-integer.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jaxlib, ml_dtypes, numpy as np
x = np.array([3, 4, 6, -4, -6], np.float32).astype(ml_dtypes.float4_e2m1fn)
got = [np.asarray(jax.jit(lambda x, t=t: x.astype(t))(x)).tolist() for t in (np.int32, np.int8)]
print(f"jaxlib {jaxlib.__version__}: {got}")
raise SystemExit(got != [[3, 4, 2147483647, -4, -2147483648], [3, 4, 127, -4, -128]])
PY
