#!/bin/sh
# SPDX-License-Identifier: MIT
# ml_dtypes 0.6.0 and jaxlib 0.12.0.1: float4_e2m1fn has no NaN. ml_dtypes makes a zero of it whose sign is the NaN's turned round: -0 of a NaN
# without a sign, 0 of one with it; of numbers that become zero both keep the sign. XLA's CPU makes -0 of either, so that the same cast has
# two results in JAX, by where it is done.
# usage: ml-dtypes-float4-nan.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jaxlib, ml_dtypes, numpy as np
f4 = ml_dtypes.float4_e2m1fn
x = np.array([0x7FC00000, 0xFFC00000, 0x30000000, 0xB0000000], np.uint32).view(np.float32)  # NaN, -NaN, 2^-31, -2^-31
there = x.astype(f4).view(np.uint8).tolist()
here = np.asarray(jax.jit(lambda x: x.astype(f4))(x)).view(np.uint8).tolist()
print(f"ml_dtypes {ml_dtypes.__version__}: {there}; jaxlib {jaxlib.__version__}: {here}")
raise SystemExit((there, here) != ([8, 0, 0, 8], [8, 8, 0, 8]))
PY
