#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1, CPU: population_count of an int4 counts the bits of the byte that holds it: 8 of -1, which int4 has as -8, where four
# bits are set.
# usage: jaxlib-small-integers.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jax.numpy as jnp, numpy as np
bits = np.asarray(jax.lax.population_count(jnp.asarray([-1, 3], jnp.int4))).astype(int)
print(f"jax {jax.__version__}: bits of -1 and 3 as int4: {bits}")
raise SystemExit(bits.tolist() != [-8, 2])
PY
