#!/bin/sh
# SPDX-License-Identifier: MIT
# torch-mlir 20261001: aten.avg_pool3d with a divisor_override is lowered to StableHLO as if it had none: sums of windows are divided by the window's size (8),
# not by the divisor (5), without a word. aten.avg_pool2d with one is refused.
# usage: torch-mlir-average-pool-divisor.sh [PYTHON >= 3.12]
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

TEXT = """func.func @main(%x: {given}) -> {made} {{
  %two = torch.constant.int 2
  %zero = torch.constant.int 0
  %divisor = torch.constant.int 5
  %no = torch.constant.bool false
  %yes = torch.constant.bool true
  %k = torch.prim.ListConstruct {twos} : ({ints}) -> !torch.list<int>
  %p = torch.prim.ListConstruct {zeros} : ({ints}) -> !torch.list<int>
  %r = torch.aten.avg_pool{n}d %x, %k, %k, %p, %no, %yes, %divisor : {given}, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.int -> {made}
  return %r : {made}
}}"""


def whole_numbers(n: int) -> list[str]:
    given, made = (f"!torch.vtensor<[1,2,{','.join([size] * n)}],f32>" for size in "42")
    text = TEXT.format(n=n, given=given, made=made, twos=", ".join(["%two"] * n), zeros=", ".join(["%zero"] * n), ints=", ".join(["!torch.int"] * n))
    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(text)
        try:
            PassManager.parse("builtin.module(torch-backend-to-stablehlo-backend-pipeline)").run(module.operation)
        except ir.MLIRError:
            return ["refused"]
        return re.findall(r"constant dense<(\d+)>", str(module))


seen = [whole_numbers(2), whole_numbers(3)]
print(*seen)
raise SystemExit(seen != [["refused"], ["8"]])
PY
