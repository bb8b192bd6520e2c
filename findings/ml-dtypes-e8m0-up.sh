#!/bin/sh
# SPDX-License-Identifier: MIT
# ml_dtypes 0.6.0: float8_e8m0fnu has powers of two from 2^-127 on, and a cast takes the nearest, halfway the greater. Between 2^-127 and
# 2^-126, the step in which the numbers of fp32 and bf16 are subnormal, it always takes 2^-126, of 1.01 x 2^-127 too; of what is below 2^-127, however
# little, 2^-127. XLA's CPU (jaxlib 0.12.0.1) does the same.
# usage: ml-dtypes-e8m0-up.sh [PYTHON >= 3.11]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1 ml_dtypes==0.6.0 numpy==2.4.6
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, ml_dtypes, numpy as np
e8 = ml_dtypes.float8_e8m0fnu
x = np.array([1.01, 1.25, 1.49, 1.5, 0.25, 2**-20], np.float32)
def exponents(y): return (np.asarray(y).view(np.uint8).astype(int) - 127).tolist()
def of(power): return exponents(np.ldexp(x, power).astype(e8))
same = exponents(jax.jit(lambda x: x.astype(e8))(np.ldexp(x, -127))) == of(-127)
print(f"ml_dtypes {ml_dtypes.__version__}: {of(-127)}, twenty powers up {of(-107)}, XLA as at the end: {same}")
raise SystemExit((of(-127), of(-107), same) != ([-126] * 4 + [-127] * 2, [-107] * 3 + [-106, -109, -127], True))
PY
