#!/bin/sh
# SPDX-License-Identifier: MIT
# From jaxlib 0.12 on a serialized HLO module says the order of a comparison of floats only in HloInstructionProto's new field
# comparison_order (102, "TOTAL" or "PARTIAL"), no longer in comparison_type (72, "TOTALORDER" or "FLOAT"); jaxlib 0.11 writes both. A reader that knows field 72
# alone takes every comparison as partial, and sorts and searches with a NaN have wrong results without an error.
# usage: hlo-comparison-order.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat > "$d/show.py" <<'PY'
import sys
import jax, jax.numpy as jnp, jaxlib, numpy as np
t = np.array([0, 1, np.nan], np.float32)
b = jax.jit(lambda t, x: jnp.searchsorted(t, x)).lower(t, t).compiler_ir("hlo").as_serialized_hlo_module_proto()
# the tags of fields 72 and 102, both of strings, and what follows
old, new = b"\xc2\x04\x0aTOTALORDER" in b, b"\xb2\x06\x05TOTAL" in b
print(f"jaxlib {jaxlib.__version__}: field 72 TOTALORDER {old}, field 102 TOTAL {new}")
sys.exit((old, new) != (sys.argv[1] == "both", True))
PY
for pair in 0.11.2:both 0.12.0:new; do
	"$python" -m venv "$d/${pair#*:}"
	"$d/${pair#*:}/bin/pip" -q install "jax==${pair%:*}" "jaxlib==${pair%:*}"
	JAX_PLATFORMS=cpu "$d/${pair#*:}/bin/python" "$d/show.py" "${pair#*:}"
done
