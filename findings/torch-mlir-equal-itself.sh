#!/bin/sh
# SPDX-License-Identifier: MIT
# torch-mlir 20261001: a floating-point tensor compared with itself by aten.eq.Tensor becomes the constant true when it is made StableHLO, so that a NaN equals
# itself; isnan() by x != x of the same module stays a comparison. PyTorch gives false for x == x of a NaN.
# usage: torch-mlir-equal-itself.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install --no-deps torch-mlir==20261001 numpy==2.5.5 ml_dtypes==0.6.0
"$d/venv/bin/python" - <<'PY'
from torch_mlir import ir
from torch_mlir.dialects import torch as dialect
from torch_mlir.passmanager import PassManager

TEXT = """func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],i1> {{
  %r = torch.aten.{name}.Tensor %x, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],i1>
  return %r : !torch.vtensor<[4],i1>
}}"""


def compares(name: str) -> bool:
    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(TEXT.format(name=name))
        PassManager.parse("builtin.module(torch-backend-to-stablehlo-backend-pipeline)").run(module.operation)
        return "stablehlo.compare" in str(module)


seen = {name: compares(name) for name in ("eq", "ne", "le")}
print(seen)
raise SystemExit(seen != {"eq": False, "ne": True, "le": True})
PY
