#!/bin/sh
# SPDX-License-Identifier: MIT
# jax.export writes top_k in two ways, though the module that is lowered has chlo.top_k both times. jax 0.8.3 has a custom_call of the
# target mhlo.topk: neither StableHLO's specification nor the module says what it does, and its k is in an attribute mhlo.attributes that
# custom_call has not. jax 0.12.0.1 has a composite chlo.top_k with a decomposition by sort. Who reads artifacts of several years needs both.
# usage: jax-export-topk.sh [PYTHON >= 3.12, < 3.14]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat > "$d/show.py" <<'PY'
import sys
import jax
from jax import export
f, x = jax.jit(lambda x: jax.lax.top_k(x, 2)), jax.ShapeDtypeStruct((4,), "float32")
lowered, exported = f.lower(x).as_text(), export.export(f, platforms=["cpu"])(x).mlir_module()
line = next(line.strip() for line in exported.splitlines() if line.lstrip().startswith("%0:2 ="))
print(f"jax {jax.__version__}: {line}")
forms = {"call": "stablehlo.custom_call @mhlo.topk(%arg0) {mhlo.attributes = {k = 2 : i64}, ", "composite": 'stablehlo.composite "chlo.top_k" %arg0 '}
sys.exit("chlo.top_k(%arg0, k = 2)" not in lowered or [n for n, form in forms.items() if form in line] != [sys.argv[1]])
PY
for pair in 0.8.3:call 0.12.0.1:composite; do
	"$python" -m venv "$d/${pair#*:}"
	"$d/${pair#*:}/bin/pip" -q install "jax==${pair%:*}" "jaxlib==${pair%:*}"
	JAX_PLATFORMS=cpu "$d/${pair#*:}/bin/python" "$d/show.py" "${pair#*:}"
done
