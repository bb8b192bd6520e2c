#!/bin/sh
# SPDX-License-Identifier: MIT
# torch-mlir 20261001: aten.remainder, whose result has the divisor's sign in PyTorch (-1 % 3 is 2), becomes StableHLO's remainder alone, which has the
# dividend's, as aten.fmod does: of negative numbers the program gives other results than PyTorch, without a word. The lowering to linalg has the correction.
# usage: torch-mlir-remainder-sign.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install --no-deps torch-mlir==20261001 numpy==2.5.5 ml_dtypes==0.6.0
"$d/venv/bin/python" - <<'PY'
import re

from torch_mlir import ir
from torch_mlir.dialects import torch as dialect
from torch_mlir.passmanager import PassManager

V = "!torch.vtensor<[4],f32>"
TEXT = """func.func @main(%x: {v}, %y: {v}) -> {v} {{
  %r = torch.aten.{name} %x, %y : {v}, {v} -> {v}
  return %r : {v}
}}"""


def operations(name: str, to: str) -> list[str]:
    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(TEXT.format(v=V, name=name))
        PassManager.parse(f"builtin.module(torch-backend-to-{to}-backend-pipeline)").run(module.operation)
        return re.findall(r"= (?:stablehlo|arith|math)\.(\w+)", str(module))


seen = {name: operations(name, "stablehlo") for name in ("remainder.Tensor", "fmod.Tensor")}
host = operations("remainder.Tensor", "linalg-on-tensors")
print(seen, host)
raise SystemExit(seen["remainder.Tensor"] != ["remainder"] or "select" not in host)
PY
