# SPDX-License-Identifier: MIT
"""DataParallel: a batch divided among cores"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from . import artifact, placement, runtime


def _number(device: int | str) -> int:
    text = str(device)
    if not text.removeprefix("nc:").isdigit():
        raise ValueError(f"device_ids: {device!r} is neither a number nor nc:# with one")
    return int(text.removeprefix("nc:"))


class DataParallel(nn.Module):
    """Executes a trace on several cores at once, each with a part of the batch.

    device_ids: cores of the process, as numbers or "nc:#"; None: all. dim: of the batch, in inputs and results. With dynamic batching (for dim 0) any
    batch is taken; without, one whose parts have the size that was traced. num_workers: threads; split_size: of a part, 0: the batch by the cores.
    """

    def __init__(self, model: nn.Module, device_ids: Sequence[int | str] | None = None, dim: int = 0, set_dynamic_batching: bool = True) -> None:
        super().__init__()
        there = runtime.core_count()
        self.device_ids = list(range(there)) if device_ids is None else [_number(device) for device in device_ids]
        if not self.device_ids or max(self.device_ids) >= there:
            raise ValueError(f"device_ids {self.device_ids}: this process has {there} NeuronCores, from 0 on")
        self.model, self.dim, self.num_workers, self.split_size = model, dim, 2 * len(self.device_ids), 0
        if len(self.device_ids) > 1:
            placement.one_core_only(model)
        if set_dynamic_batching and not dim:
            artifact.dynamic_batch(model)

    def disable_dynamic_batching(self) -> None:
        artifact.set_dynamic_batch(self.model, False)

    def _parts(self, leaves: Sequence[object]) -> list[list[object]]:
        """The inputs of each part; what has no such dimension is in all of them"""
        batches = {leaf.shape[self.dim] for leaf in leaves if isinstance(leaf, Tensor) and leaf.dim() > self.dim}
        if len(batches) != 1:
            raise ValueError(f"DataParallel: dimension {self.dim} of the inputs is to be one number, and is {sorted(batches)}")
        size = batches.pop()
        each = self.split_size or max(1, math.ceil(size / len(self.device_ids)))
        divided = [leaf.split(each, self.dim) if isinstance(leaf, Tensor) and leaf.dim() > self.dim else None for leaf in leaves]
        return [[leaf if parts is None else parts[i] for leaf, parts in zip(leaves, divided, strict=True)] for i in range(math.ceil(size / each))]

    def forward(self, *inputs: object) -> object:
        leaves, spec = pytree.tree_flatten(inputs)

        def run(numbered: tuple[int, list[object]]) -> object:
            number, part = numbered
            with torch.no_grad(), placement.on_core(self.device_ids[number % len(self.device_ids)]):
                return self.model(*pytree.tree_unflatten(part, spec))

        with ThreadPoolExecutor(self.num_workers) as pool:
            results = list(pool.map(run, enumerate(self._parts(leaves))))
        flat = [pytree.tree_leaves(result) for result in results]
        return pytree.tree_unflatten([torch.cat(pieces, self.dim) for pieces in zip(*flat, strict=True)], pytree.tree_structure(results[0]))
