#!/bin/sh
# SPDX-License-Identifier: MIT
# torch-mlir 20261001: aten.slice_scatter with the end that PyTorch's exporters write for "to the end of the dimension", 9223372036854775807, raises
# MemoryError (std::bad_alloc) in the lowering to StableHLO, where the same slice with the dimension's size as its end is lowered. The gradients of
# rotary embeddings (Llama) have such operators. As far as slices that only read go, the same end is taken.
# usage: torch-mlir-slice-scatter-end.sh [PYTHON >= 3.12]
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

V = "!torch.vtensor<[2,8],f32>"
SCATTER = """func.func @main(%x: {v}, %s: !torch.vtensor<[2,4],f32>) -> {v} {{
  %one = torch.constant.int 1
  %start = torch.constant.int 4
  %end = torch.constant.int {end}
  %r = torch.aten.slice_scatter %x, %s, %one, %start, %end, %one : {v}, !torch.vtensor<[2,4],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> {v}
  return %r : {v}
}}"""
SLICE = """func.func @main(%x: {v}) -> !torch.vtensor<[2,4],f32> {{
  %one = torch.constant.int 1
  %start = torch.constant.int 4
  %end = torch.constant.int {end}
  %r = torch.aten.slice.Tensor %x, %one, %start, %end, %one : {v}, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2,4],f32>
  return %r : !torch.vtensor<[2,4],f32>
}}"""


def lowered(text: str, end: int) -> str:
    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(text.format(v=V, end=end))
        try:
            PassManager.parse("builtin.module(torch-backend-to-stablehlo-backend-pipeline)").run(module.operation)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "lowered"


seen = [lowered(text, end) for text in (SCATTER, SLICE) for end in (8, 2**63 - 1)]
print(*seen, sep="\n")
raise SystemExit(seen != ["lowered", "MemoryError: std::bad_alloc", "lowered", "lowered"])
PY
