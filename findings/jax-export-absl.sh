#!/bin/sh
# SPDX-License-Identifier: MIT
# jax 0.5.3: jax.export imports absl, which neither jax nor jaxlib requires: in an environment with nothing but what pip brings for jax,
# `from jax import export` is a ModuleNotFoundError.
# usage: jax-export-absl.sh [PYTHON 3.10 to 3.13]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.5.3 jaxlib==0.5.3
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax
try:
    from jax import export
    said = "imported"
except ModuleNotFoundError as e:
    said = str(e)
print(f"jax {jax.__version__}: from jax import export: {said}")
raise SystemExit(said != "No module named 'absl'")
PY
