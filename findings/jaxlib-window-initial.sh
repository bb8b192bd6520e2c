#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1: a reduce_window whose initial value is not its operation's identity has two results in one package. StableHLO's
# interpreter, which jaxlib has as stablehlo.eval_module, pads with the initial value as its specification says, so that it counts once
# more for every missing element: [2, 2, 4, 6] of 0, 1, 2, 3, windows of two, one element of padding, initial value 1. The same module
# compiled for the CPU leaves the padding out: [1, 2, 4, 6].
# usage: jaxlib-window-initial.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat > "$d/show.py" <<'PY'
import sys
import jax, numpy as np
from jax import lax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
x = np.arange(4, dtype=np.float32)
sums = jax.jit(lambda x: lax.reduce_window(x, np.float32(1), lambda p, q: p + q, (2,), (1,), [(1, 0)]))
module = sums.lower(x).compiler_ir()
with module.context:
    interpreted = np.array(stablehlo.eval_module(module, [ir.DenseElementsAttr.get(x)])[0])
compiled = np.asarray(sums(x))
print(f"jax {jax.__version__}: interpreted {interpreted}, compiled {compiled}")
sys.exit(interpreted.tolist() != [2, 2, 4, 6] or compiled.tolist() != [1, 2, 4, 6])
PY
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" "$d/show.py"
