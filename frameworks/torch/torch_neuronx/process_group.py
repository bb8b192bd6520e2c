# SPDX-License-Identifier: MIT
"""torch.distributed's backend "neuron": ranks are processes of one host on chips that all of them use, a core each.

Each collective is a program that all ranks of the group execute (collectives.py), so what comes has the same bits on all of them, and its call returns when it
is done. From rank to rank tensors pass while others work (messages.py).
"""

import datetime
import os
import uuid
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from . import neuron, runtime
from .collectives import Group
from .messages import Messages, done

_met: int | None = None  # the size of the job that this process is in, once the processes have met


def _meet(store: dist.Store, rank: int, size: int) -> None:
    """The processes of the first group, which is the job, learn of each other."""
    global _met
    if _met is not None or size == 1:
        return
    if not os.environ.get("NEURON_RT_ROOT_COMM_ID"):
        if rank == 0:
            store.set("neuron_root", f"127.0.0.1:{os.getpid()}")  # of this name the text counts, which other jobs do not have
        os.environ["NEURON_RT_ROOT_COMM_ID"] = store.get("neuron_root").decode()
    runtime.check(runtime.library().nrt_build_global_comm(runtime.core_of(neuron.current_device()), rank, size), "the processes meet")
    _met = size


def _plain(value: Tensor) -> Tensor:
    """In one dimension without gaps on this process's core: the tensor's own memory, or a copy. The CPU's tensors (of object collectives) pass by the core, too"""
    return value.detach().to(torch.device("neuron", neuron.current_device())).contiguous().view(-1)


def _operation(operation: object) -> str:
    name = str(operation).rpartition(".")[2]
    return name if name.isupper() else str(getattr(operation, "op", operation)).rpartition(".")[2]


class NeuronProcessGroup(dist.ProcessGroup):
    def __init__(self, name: str, messages: Messages) -> None:
        super().__init__(messages.rank, messages.ranks)
        self.mine, self.messages = Group(name, messages.rank, messages.ranks), messages

    def getBackendName(self) -> str:
        return "neuron"

    def _get_backend(self, device: torch.device) -> "NeuronProcessGroup":
        """Of all devices' tensors it is this one; batch_isend_irecv asks"""
        return self

    @property
    def pg_name(self) -> str:
        return dist.distributed_c10d._world.pg_names[self]

    group_name = pg_name

    def _alone(self) -> bool:
        return self.mine.ranks == 1

    def _reduce(self, tensors: Sequence[Tensor], operation: object) -> None:
        for value in tensors:
            flat = _plain(value)
            if not self._alone():
                made = torch.empty_like(flat)
                self.mine.reduced("all_reduce", flat, made, _operation(operation))
                value.copy_(made.view(value.shape))

    def allreduce(self, tensors: Sequence[Tensor], opts: object = None) -> dist.Work:
        self._reduce(tensors, opts.reduceOp if opts else dist.ReduceOp.SUM)
        return done(tensors)

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: object = None) -> dist.Work:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Sequence[Tensor], opts: object) -> dist.Work:
        kept = [value.clone() for value in tensors] if self.mine.rank != opts.rootRank else ()
        self._reduce(tensors, opts.reduceOp)
        for value, before in zip(tensors, kept, strict=False):
            value.copy_(before)
        return done(tensors)

    def broadcast(self, tensors: Sequence[Tensor], opts: object) -> dist.Work:
        for value in tensors:
            flat = _plain(value)
            if not self._alone():
                made = torch.empty_like(flat)
                self.mine.moved("collective_broadcast", flat, made, opts.rootRank)
                value.copy_(made.view(value.shape))
        return done(tensors)

    def _gathered(self, value: Tensor) -> Tensor:
        """All ranks' tensors, one behind the other"""
        flat = _plain(value)
        made = flat.new_empty(flat.numel() * self.mine.ranks)
        if self._alone():
            made.copy_(flat)
        else:
            self.mine.moved("all_gather", flat, made)
        return made

    def allgather(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: object = None) -> dist.Work:
        for places, value in zip(outputs, inputs, strict=True):
            # ranks may have tensors of different sizes: each takes the room of the largest
            sizes = {place.numel() for place in places}
            if len(sizes) == 1:
                parts = self._gathered(value).view(self.mine.ranks, -1)
            else:
                padded = value.new_zeros(max(sizes))
                padded[:value.numel()] = _plain(value)
                parts = self._gathered(padded).view(self.mine.ranks, -1)
            for place, part in zip(places, parts, strict=True):
                place.copy_(part[:place.numel()].view(place.shape))
        return done(outputs)

    def _allgather_base(self, output: Tensor, value: Tensor, opts: object = None) -> dist.Work:
        output.copy_(self._gathered(value).view(output.shape))
        return done(output)

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: object = None) -> dist.Work:
        for output, value in zip(outputs, inputs, strict=True):
            self._allgather_base(output, value)
        return done(outputs)

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def gather(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: object) -> dist.Work:
        parts = self._gathered(inputs[0]).view(self.mine.ranks, -1)
        if self.mine.rank == opts.rootRank:
            for place, part in zip(outputs[0], parts, strict=True):
                place.copy_(part.view(place.shape))
        return done(outputs)

    def scatter(self, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]], opts: object) -> dist.Work:
        place = outputs[0]
        every = torch.stack([_plain(value) for value in inputs[0]]) if self.mine.rank == opts.rootRank else place.new_empty([self.mine.ranks, place.numel()])
        self.broadcast([every], opts)
        place.copy_(every[self.mine.rank].view(place.shape))
        return done(outputs)

    def _reduce_scatter_base(self, output: Tensor, value: Tensor, opts: object = None) -> dist.Work:
        flat = _plain(value)
        made = flat if self._alone() else flat.new_empty(output.numel())
        if not self._alone():
            self.mine.reduced("reduce_scatter", flat, made, _operation(opts.reduceOp if opts else dist.ReduceOp.SUM))
        output.copy_(made.view(output.shape))
        return done(output)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter(self, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]], opts: object = None) -> dist.Work:
        for output, parts in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, torch.cat([_plain(part) for part in parts]), opts)
        return done(outputs)

    def reduce_scatter_tensor_coalesced(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: object = None) -> dist.Work:
        for output, value in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, value, opts)
        return done(outputs)

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def alltoall_base(self, output: Tensor, value: Tensor, output_sizes: Sequence[int] = (), input_sizes: Sequence[int] = (), opts: object = None) -> dist.Work:
        if not output_sizes and not input_sizes:
            flat = _plain(value)
            made = torch.empty_like(flat)
            made.copy_(flat) if self._alone() else self.mine.moved("all_to_all", flat, made)
            output.copy_(made.view(output.shape))
            return done(output)
        ranks = self.mine.ranks
        given = value.split(list(input_sizes) or [value.shape[0] // ranks] * ranks)
        places = output.split(list(output_sizes) or [output.shape[0] // ranks] * ranks)
        return self.alltoall(places, given)

    all_to_all_single = alltoall_base

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: object = None) -> dist.Work:
        """Of parts of any sizes: each takes the room of the largest of all ranks'"""
        flat = [_plain(value) for value in inputs]
        most = torch.tensor([max(value.numel() for value in flat)], dtype=torch.int32, device=flat[0].device)
        self._reduce([most], dist.ReduceOp.MAX)
        room = flat[0].new_zeros(self.mine.ranks, int(most.item()))
        for row, value in zip(room, flat, strict=True):
            row[:value.numel()] = value
        self.alltoall_base(room.view(-1), room.clone().view(-1))
        for place, row in zip(outputs, room, strict=True):
            place.copy_(row[:place.numel()].view(place.shape))
        return done(outputs)

    def barrier(self, opts: object = None) -> dist.Work:
        if not self._alone():
            self._reduce([torch.ones(1, device=f"neuron:{neuron.current_device()}")], dist.ReduceOp.SUM)
        return done(None)

    def send(self, tensors: Sequence[Tensor], to: int, tag: int = 0) -> dist.Work:
        return self.messages.send(tensors[0], to, tag)

    def recv(self, tensors: Sequence[Tensor], source: int, tag: int = 0) -> dist.Work:
        return self.messages.receive(tensors[0], source, tag)

    def recv_anysource(self, tensors: Sequence[Tensor], tag: int = 0) -> dist.Work:
        return self.messages.receive(tensors[0], None, tag)

    def shutdown(self) -> None:
        self.messages.close()
        self.mine.close()

    abort = shutdown


def make(store: dist.Store, rank: int, size: int, timeout: datetime.timedelta) -> NeuronProcessGroup:
    """For init_process_group and new_group"""
    _meet(store, rank, size)
    if rank == 0:
        store.set("neuron_group", uuid.uuid4().hex)
    return NeuronProcessGroup(store.get("neuron_group").decode(), Messages(store, rank, size, timeout.total_seconds()))


def register() -> None:
    if dist.is_available() and "neuron" not in dist.Backend.backend_list:
        dist.Backend.register_backend("neuron", make, devices=["neuron"])
