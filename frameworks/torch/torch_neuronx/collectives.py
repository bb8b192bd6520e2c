# SPDX-License-Identifier: MIT
"""Programs that processes execute together: StableHLO of one collective, of arrays of one dimension"""

import hashlib

import torch
from torch import Tensor

from . import layouts, memory, programs, runtime

WORDS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "ui8",
         torch.uint16: "ui16", torch.uint32: "ui32"}
REDUCERS = {"SUM": "add", "AVG": "add", "PRODUCT": "multiply", "MIN": "minimum", "MAX": "maximum", "BAND": "and", "BOR": "or", "BXOR": "xor"}
_OPERATION = """module @{kind} attributes {{mhlo.num_replicas = {ranks} : i32, mhlo.num_partitions = 1 : i32}} {{
  func.func @main(%arg0: {given}) -> {made} {{
    %0 = "stablehlo.{kind}"(%arg0) {region}{{{attributes}replica_groups = dense<[{members}]> : tensor<1x{ranks}xi64>}} : ({given}) -> {made}
    return %0 : {made}
  }}
}}
"""
_REGION = """({{
    ^bb0(%a: tensor<{word}>, %b: tensor<{word}>):
      %r = stablehlo.{reducer} %a, %b : tensor<{word}>
      stablehlo.return %r : tensor<{word}>
    }}) """


def _text(kind: str, word: str, ranks: int, count: int, made: int, reducer: str = "", root: int = 0) -> str:
    attributes = {"all_gather": "all_gather_dim = 0 : i64, ", "reduce_scatter": "scatter_dimension = 0 : i64, ",
                  "all_to_all": f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = {ranks} : i64, "}.get(kind, "")
    members = [root, *(rank for rank in range(ranks) if rank != root)]  # a broadcast is from the first one
    return _OPERATION.format(kind=kind, ranks=ranks, given=f"tensor<{count}x{word}>", made=f"tensor<{made}x{word}>", attributes=attributes,
                             members=f"[{', '.join(map(str, members))}]", region=_REGION.format(word=word, reducer=reducer) if reducer else "")


class Group:
    """Ranks of one or several processes' groups: name is theirs and no other's"""

    def __init__(self, name: str, rank: int, ranks: int) -> None:
        self.name, self.rank, self.ranks = name, rank, ranks
        self.loaded: dict[tuple, memory.Program] = {}

    def _run(self, text: str, given: Tensor, made: Tensor) -> None:
        key = (text, given.device.index)
        if key not in self.loaded:
            number = int.from_bytes(hashlib.sha256(f"{self.name}\n{text}".encode()).digest()[:8], "little") | 1
            self.loaded[key] = memory.Program(programs.neff(text), runtime.core_of(given.device.index), ["input0"], ["output0"], (self.rank, self.ranks, number))
        self.loaded[key].run([given, made], [given.nbytes, made.nbytes])

    def close(self) -> None:
        while self.loaded:
            self.loaded.popitem()[1].close()

    def moved(self, kind: str, given: Tensor, made: Tensor, root: int = 0) -> None:
        """Bytes of tensors without gaps, from rank to rank: "all_gather", "all_to_all" or "collective_broadcast\""""
        if not given.numel():
            return
        given, made = (layouts.words(value) for value in (given, made))
        self._run(_text(kind, WORDS[given.dtype], self.ranks, given.numel(), made.numel(), root=root), given, made)

    def reduced(self, kind: str, given: Tensor, made: Tensor, operation: str) -> None:
        """Element by element: "all_reduce" or "reduce_scatter", by one of REDUCERS. 64-bit integers and truth have other types for that"""
        if not given.numel():
            return
        if operation not in REDUCERS:
            raise ValueError(f"ReduceOp.{operation} is none of {', '.join(REDUCERS)}")
        other = {torch.int64: torch.int32, torch.bool: torch.uint8}.get(given.dtype)
        if other:
            result = torch.empty_like(made, dtype=other)
            self.reduced(kind, given.to(other), result, {"SUM": "MAX", "PRODUCT": "MIN"}.get(operation, operation) if given.dtype == torch.bool else operation)
            made.copy_(result)
            return
        if given.dtype not in WORDS:
            raise TypeError(f"{kind} of {given.dtype}: the chips have none")
        self._run(_text(kind, WORDS[given.dtype], self.ranks, given.numel(), made.numel(), REDUCERS[operation]), given, made)
        if operation == "AVG":
            made.div_(self.ranks) if made.is_floating_point() else made.floor_divide_(self.ranks)
