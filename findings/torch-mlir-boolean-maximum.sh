#!/bin/sh
# SPDX-License-Identifier: MIT
# torch-mlir 20261001: the maximum of truth values along a dimension (aten.max.dim of i1) becomes a StableHLO reduction that begins with true, and the minimum
# one that begins with false: they give true and false whatever the elements are. The maximum of integers begins with their least value, as it should.
# usage: torch-mlir-boolean-maximum.sh [PYTHON >= 3.12]
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

TEXT = """func.func @main(%x: !torch.vtensor<[3,4],{t}>) -> !torch.vtensor<[3],{t}> {{
  %dim = torch.constant.int 1
  %keep = torch.constant.bool false
  %r:2 = torch.aten.{name}.dim %x, %dim, %keep : !torch.vtensor<[3,4],{t}>, !torch.int, !torch.bool -> !torch.vtensor<[3],{t}>, !torch.vtensor<[3],si64>
  return %r#0 : !torch.vtensor<[3],{t}>
}}"""


def begins(name: str, kind: str) -> str:
    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(TEXT.format(t=kind, name=name))
        PassManager.parse("builtin.module(torch-backend-to-stablehlo-backend-pipeline)").run(module.operation)
        text = str(module)
    first = re.search(r"reduce\(%\w+ init: (%\w+)\)", text).group(1)
    return re.search(rf"{first} = stablehlo\.constant dense<([^>]*)>", text).group(1)


seen = [begins("max", "i1"), begins("min", "i1"), begins("max", "si32")]
print(*seen)
raise SystemExit(seen != ["true", "false", "-2147483648"])
PY
