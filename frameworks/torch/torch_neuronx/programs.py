# SPDX-License-Identifier: MIT
"""Graphs of operators on a NeuronCore: compiled once a process, loaded where they run, and unloaded when others need the room."""

import collections
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, fx

from . import cache, debugging, layouts, lowering, memory, runtime
from .tracing import compile_module, compiled_for, named

LOADED = 1024  # programs of a core, at most


@functools.lru_cache(maxsize=4096)
def neff(text: str) -> bytes:
    """The program of a graph, compiled once"""
    options = compiled_for(None)
    entry = cache.name(text, *options)
    return cache.read(entry, "neff") or _compiled(entry, text, options)


def _compiled(entry: str, text: str, options: list[str]) -> bytes:
    made = compile_module(text.encode(), options)
    cache.write(entry, "neff", made)
    return made


def loaded(text: str, core: int, inputs: Sequence[str], outputs: Sequence[str]) -> memory.Program:
    """A program on a core. One from the cache that cannot be loaded is compiled anew"""
    made = neff(text)
    try:
        return memory.Program(made, core, inputs, outputs)
    except runtime.NeuronError:
        options = compiled_for(None)
        entry = cache.name(text, *options)
        if cache.read(entry, "neff") is None:
            raise
        cache.drop(entry, "neff")
        neff.cache_clear()
        anew = neff(text)
        if anew == made:
            raise
        return memory.Program(anew, core, inputs, outputs)


class _Loaded(collections.OrderedDict):
    """The programs of a core, the last used at the end"""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    def get_or_load(self, key: object, load: Callable[[], memory.Program]) -> memory.Program:
        if key in self:
            self.move_to_end(key)
            return self[key]
        while len(self) >= LOADED:
            self.popitem(last=False)[1].close()
        for give_back in (memory.empty_cache, self._close, None):  # what is missing may be among that
            try:
                self[key] = load()
                break
            except runtime.NeuronError:
                if give_back is None:
                    raise
                give_back()
        return self[key]

    def _close(self) -> None:
        while self:
            self.popitem(last=False)[1].close()

    def forget(self, key: object) -> None:
        with self.lock:
            program = self.pop(key, None)
            if program:
                program.close()


_cores: dict[int, _Loaded] = collections.defaultdict(_Loaded)


class _Place:
    """How an input has to lie"""

    def __init__(self, number: int, like: Tensor) -> None:
        self.number, self.dtype = number, like.dtype if like.dtype != torch.float64 else torch.float32
        self.size = tuple(like.shape)
        self.lies = layouts.layout(like.shape, like.stride())
        self.stride = like.stride() if self.lies else None  # of those that need no copy
        self.steps = like.stride() if self.lies else layouts.strides(like.shape, like.stride())  # of those that do
        self.lies = self.lies or layouts.layout(self.size, self.steps)
        self.bytes = math.prod(self.lies.sizes) * self.dtype.itemsize

    def fitted(self, value: Tensor, device: int) -> Tensor:
        """A tensor on the device that lies so: itself, or a copy"""
        if value.device.type == "neuron" and (value.stride() == self.stride or layouts.layout(value.shape, value.stride()) == self.lies):
            return value
        made = memory.empty_strided(self.size, self.steps, self.dtype, device)
        to = made
        for dim, (n, step) in enumerate(zip(self.size, self.steps, strict=True)):
            if n > 1 and not step:
                to, value = to.narrow(dim, 0, 1), value.narrow(dim, 0, 1)
        memory.copy(value, to)
        return made


class Graph:
    """A graph, lowered; run() executes it on any core. Inputs lie as the graph's examples do, or have gaps."""

    def __init__(self, module: fx.GraphModule | lowering.Kept, name: str) -> None:
        """name: what profilers call it"""
        self.name, self.files = name, debugging.Kept(name)
        if isinstance(module, fx.GraphModule):
            self.files.write("fx_graphs", "txt", str(module.graph))
            module = lowering.Lowered(module)
        self.lowered = module
        self.files.write("stablehlo", "mlir", module.text)
        names = named(self.lowered.inputs, "input")
        self.places = [_Place(number, like) for number, like in enumerate(self.lowered.inputs) if names[number]]
        self.inputs = [name for name in names if name]
        self.outputs = [name for name in named(self.lowered.outputs, "output") if name]
        self.results = [(tuple(like.shape), layouts.strides(like.shape, like.stride()), like.dtype) for like in self.lowered.outputs]
        self.bytes = [place.bytes for place in self.places] + [like.nbytes for like in self.lowered.outputs]

    def _load(self, core: int) -> memory.Program:
        program = loaded(self.lowered.text, core, self.inputs, self.outputs)
        self.files.write("neff", "neff", neff(self.lowered.text))
        return program

    def made(self, device: int, there: Mapping[int, Tensor] | None = None) -> list[Tensor]:
        """Tensors for the program's outputs, of which some are there"""
        return [there[number] if there and number in there else memory.empty_strided(*how, device) for number, how in enumerate(self.results)]

    def run(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], device: int) -> None:
        if not self.lowered.text:
            return
        values = [*inputs, *(draw() for draw in self.lowered.draws)]
        values = [place.fitted(values[place.number], device) for place in self.places]
        number = runtime.core_of(device)
        core = _cores[number]
        with core.lock:
            program = core.get_or_load(self, functools.partial(self._load, number))
            with debugging.executed(self.name):
                program.run([*values, *outputs], self.bytes)

    def forget(self) -> None:
        """Gives back what it has on cores."""
        for core in list(_cores.values()):
            core.forget(self)

    def all(self, outputs: Sequence[Tensor], device: torch.device | None = None) -> list[Tensor | None]:
        """The graph's results: outputs, what has no elements (on a device, or where the graph says), and None"""
        return [outputs[what] if isinstance(what, int) else None if what is None else
                torch.empty_strided(what.shape, layouts.strides(what.shape, what.stride()), dtype=what.dtype, device=device or what.device)
                for what in self.lowered.results]
