#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: XLA's CPU sorts float8_e5m2fnuz but for the negative numbers from -2^-14 to -2^-15, subnormal in float16 and normal here:
# they come out in descending order. Compared by < the same numbers are in order; float8_e4m3fnuz, which has none so small, is sorted.
# usage: jaxlib-fnuz-sort.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jaxlib, ml_dtypes, numpy as np
def backwards(t):
    x = np.arange(256, dtype=np.uint8).view(t)
    x = x[~np.isnan(x.astype(np.float32))]
    y = np.asarray(jax.jit(jax.numpy.sort)(x)).astype(np.float32)
    return [float(v) for v in y[1:][np.diff(y) < 0]]
got = {t.__name__: backwards(t) for t in (ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e4m3fnuz)}
print(f"jaxlib {jaxlib.__version__}: {got}")
raise SystemExit(got != {"float8_e5m2fnuz": [-1.25 * 2**-15, -1.5 * 2**-15, -1.75 * 2**-15, -(2**-14)], "float8_e4m3fnuz": []})
PY
