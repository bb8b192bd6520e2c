#!/bin/sh
# SPDX-License-Identifier: MIT
# jax 0.12: a conversion of a float that does not fit an integer type has another result if the float is a constant of the traced
# function than if it is an argument: lax.convert_element_type casts a NumPy constant by NumPy while it traces (0 of 1e10 as int8 on
# x86-64), and the compiled conversion saturates (127). jax 0.10 gives 127 both times.
# usage: jax-constant-convert.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat > "$d/show.py" <<'PY'
import sys, warnings
warnings.simplefilter("ignore")
import jax, numpy as np
from jax import lax
x = np.array([1e10, 300], np.float32)
constant = jax.jit(lambda: lax.convert_element_type(x, np.int8))()
argument = jax.jit(lambda x: lax.convert_element_type(x, np.int8))(x)
print(f"jax {jax.__version__}: of a constant {constant}, of an argument {argument}")
same = (constant == argument).all()
sys.exit(bool(same) != (sys.argv[1] == "same") or argument.tolist() != [127, 127])
PY
for pair in 0.10.2:same 0.12.0.1:differ; do
	"$python" -m venv "$d/${pair#*:}"
	"$d/${pair#*:}/bin/pip" -q install "jax==${pair%:*}" "jaxlib==${pair%:*}"
	JAX_PLATFORMS=cpu "$d/${pair#*:}/bin/python" "$d/show.py" "${pair#*:}"
done
