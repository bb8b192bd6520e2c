#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: XLA's CPU computes with float8_e8m0fnu in fp32, where the format's least number, 2^-127, is subnormal and taken for zero, which
# the format has not: 2^-127 + 2^-127 and 2^-127 / 2^-127 are NaN. A cast to fp32 and the reverse keep it.
# usage: jaxlib-e8m0-least.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jaxlib, ml_dtypes, numpy as np
x = np.zeros(1, np.uint8).view(ml_dtypes.float8_e8m0fnu)
def code(f): return int(np.asarray(jax.jit(f)(x)).view(np.uint8)[0])
got = [code(lambda x: x + x), code(lambda x: x / x), code(lambda x: x.astype(np.float32).astype(x.dtype))]
print(f"jaxlib {jaxlib.__version__}: {got}, 255 is NaN")
raise SystemExit(got != [255, 255, 0])
PY
