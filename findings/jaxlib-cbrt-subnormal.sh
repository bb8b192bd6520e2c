#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1, CPU (seen on x86-64): cbrt of a subnormal float32 is -5.6e-16, whatever its sign and size. It is neither the root
# (2.2e-13 of 1.1e-38) nor that of zero, which subnormal numbers count for in other functions of this compiler (log and sqrt, say), and an
# odd function has one sign for both. StableHLO's interpreter in the same package, stablehlo.eval_module, has the roots.
# usage: jaxlib-cbrt-subnormal.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, numpy as np
from jax import lax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
x = np.array([1.1e-38, -1.1e-38, 1e-45, 1.2e-38, 0], np.float32)
root = jax.jit(lax.cbrt)
module = root.lower(x).compiler_ir()
with module.context, ir.Location.unknown():
    interpreted = np.array(stablehlo.eval_module(module, [ir.DenseElementsAttr.get(x)])[0])
compiled = np.asarray(root(x))
print(f"jax {jax.__version__}: cbrt of {x}: interpreted {interpreted}, compiled {compiled}")
right = np.allclose(interpreted, np.cbrt(x.astype(np.float64)), atol=0, rtol=1e-5)
raise SystemExit(not right or not np.allclose(compiled[:3], -5.5951735e-16, atol=0, rtol=1e-5) or not np.allclose(compiled[3:], interpreted[3:], atol=0, rtol=1e-5))
PY
