#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: StableHLO's interpreter, which jaxlib has as stablehlo.eval_module, compares floats of the comparison type TOTALORDER
# as if it were FLOAT: 1 is not less than NaN, and -0 equals 0. The specification of compare has IEEE's totalOrder there; the same module
# compiled for the CPU follows it. JAX writes this comparison for each sort, so the interpreter puts NaN first where the compiled sort
# puts it last.
# usage: jaxlib-total-order.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, numpy as np
from jax import lax
from jax._src.lax.lax import lt_to_p
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
def both(f, *args):
    module = f.lower(*args).compiler_ir()
    with module.context, ir.Location.unknown():
        interpreted = stablehlo.eval_module(module, [ir.DenseElementsAttr.get(a) for a in args])
    return np.array(interpreted[0]).tolist(), np.asarray(f(*args)).tolist()
a, b = np.array([1, -0.0, 1], np.float32), np.array([np.nan, 0, 2], np.float32)
less = jax.jit(lambda a, b: lt_to_p.bind(a, b))
assert "LT, %arg0, %arg1, TOTALORDER" in less.lower(a, b).as_text()
compared, order = both(less, a, b), both(jax.jit(lax.sort), np.array([np.nan, 2, 1], np.float32))
print(f"jax {jax.__version__}: less interpreted {compared[0]}, compiled {compared[1]}; sorted interpreted {order[0]}, compiled {order[1]}")
raise SystemExit(compared != ([False, False, True], [True, True, True]) or str(order) != "([nan, 1.0, 2.0], [1.0, 2.0, nan])")
PY
