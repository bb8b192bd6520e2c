#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: XLA's CPU refuses a product of float4_e2m1fn that has float32 results: its own pass, which makes float32 of the operands,
# leaves their layout's element size of four bits, and the verifier behind it says that such sizes are not supported. Operands that the program
# casts itself are multiplied, and jax.nn.scaled_matmul, which does, runs.
# usage: jaxlib-float4-dot.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jaxlib, ml_dtypes, numpy as np
x, f32 = np.ones((4, 4), ml_dtypes.float4_e2m1fn), np.float32
def says(f):
    try:
        return float(np.asarray(jax.jit(f)(x))[0, 0])
    except Exception as e:
        return "custom element sizes" in str(e)
got = [says(lambda x: jax.lax.dot(x, x, preferred_element_type=f32)), says(lambda x: jax.lax.dot(x.astype(f32), x.astype(f32)))]
print(f"jaxlib {jaxlib.__version__}: {got}")
raise SystemExit(got != [True, 4.0])
PY
