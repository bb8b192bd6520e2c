#!/bin/sh
# SPDX-License-Identifier: MIT
# jax 0.12.0.1: jax.ffi writes a call of XLA's typed interface that a reader by StableHLO's specification takes for one of the oldest kind
# without its numbers. The specification of custom_call has backend_config hold a dictionary when api_version is 4
# (API_VERSION_TYPED_FFI); in the StableHLO that jax lowers to and exports api_version is its default, 1 (API_VERSION_ORIGINAL),
# backend_config is empty, and the dictionary is an attribute that the specification has not, mhlo.backend_config. The HLO made from the
# same module says API_VERSION_TYPED_FFI. JAX's own LAPACK calls are written so, too: here the triangle that a Cholesky decomposition
# reads is there alone.
# usage: jax-ffi-dictionary.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jax.numpy as jnp
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
def call(text):
    found = []
    def visit(op):
        found.extend([{n: str(op.attributes[n]) for n in op.attributes}] if op.name == "stablehlo.custom_call" else [])
        return ir.WalkResult.ADVANCE
    with mlir.make_ir_context():
        ir.Module.parse(text).operation.walk(visit)
    return {n: found[0].get(n) for n in ("api_version", "backend_config", "mhlo.backend_config")}
f, x = jax.jit(jnp.linalg.cholesky), jax.ShapeDtypeStruct((4, 4), "float32")
lowered, exported = call(f.lower(x).as_text()), call(export.export(f, platforms=["cpu"])(x).mlir_module())
hlo = f.lower(x).as_text("hlo")
print(f"jax {jax.__version__}: lowered {lowered}, exported {exported}, HLO {'API_VERSION_TYPED_FFI' in hlo}")
triangle = "{uplo = 76 : ui8}"
for attributes in lowered, exported:
    assert attributes["api_version"] in (None, "1 : i32") and attributes["backend_config"] in (None, '""') and attributes["mhlo.backend_config"] == triangle
raise SystemExit("API_VERSION_TYPED_FFI" not in hlo)
PY
