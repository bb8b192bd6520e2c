# SPDX-License-Identifier: MIT
"""torch.compile(backend="neuron"): forward and backward graphs become a program each, which runs on a NeuronCore.

Needs torch-mlir. Tensors are the CPU's: they pass to the core and back with each call. Random numbers are drawn by the host, by torch's generator.
"""

import functools
import hashlib
import itertools
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, fx

from . import decompositions, lowering, runtime
from .artifact import NARROW
from .tracing import compile_module, compiled_for, named

_lock = threading.Lock()
_neffs: dict[str, bytes] = {}
_next_core = itertools.count()


def _neff(text: str) -> bytes:
    """The program of a graph, compiled once"""
    key = hashlib.sha256(text.encode()).hexdigest()
    with _lock:
        if key not in _neffs:
            with tempfile.TemporaryDirectory(prefix="torch-neuronx.") as folder:
                _neffs[key] = compile_module(text.encode(), Path(folder), compiled_for(None))
        return _neffs[key]


def _as_promised(like: Tensor) -> Tensor:
    """A new tensor that lies as the graph says; what repeats an element lies one after the other"""
    dense = all(step or size < 2 for step, size in zip(like.stride(), like.shape, strict=True))
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype) if dense else torch.empty(like.shape, dtype=like.dtype)


class _Program:
    """A graph on a core, which is loaded at its first call"""

    def __init__(self, module: fx.GraphModule) -> None:
        self.lowered = lowering.Lowered(module)
        self.neff = _neff(self.lowered.text) if self.lowered.text else None
        self.model: runtime.Loaded | None = None

    def _run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        if self.model is None:
            self.model = runtime.Loaded(self.neff, next(_next_core) % runtime.core_count())
        lowered, results = self.lowered, []
        with self.model.lock:
            for name, value in zip(named(lowered.inputs, "input"), inputs, strict=True):
                if name and name in self.model.tensors:
                    self.model.write(name, value.detach().to(NARROW.get(value.dtype, value.dtype)))
            self.model.execute()
            for name, like in zip(named(lowered.outputs, "output"), lowered.outputs, strict=True):
                value = torch.empty(like.shape, dtype=NARROW.get(like.dtype, like.dtype))
                if name:
                    self.model.read(name, value)
                results.append(_as_promised(like).copy_(value))
        return results

    def __call__(self, *inputs: Tensor) -> list[Tensor | None]:
        with torch.no_grad():
            values = [*inputs, *(draw() for draw in self.lowered.draws)]
            results = self._run(values) if self.neff else []
        return [results[what] if isinstance(what, int) else None if what is None else _as_promised(what) for what in self.lowered.results]


def _compile(module: fx.GraphModule, example_inputs: Sequence[object]) -> Callable:
    from functorch.compile import make_boxed_func

    if odd := [value for value in example_inputs if not isinstance(value, Tensor)]:
        raise lowering.Unsupported(f"an input of the graph is {type(odd[0]).__name__}: shapes have to be constant (dynamic=False)")
    return make_boxed_func(_Program(module))


_table = functools.cache(decompositions.table)


def neuron(module: fx.GraphModule, example_inputs: Sequence[object], **options: object) -> Callable:
    """The backend: torch.compile calls it by its name. RuntimeError: an operator cannot be lowered, or neuronx-cc refuses the program"""
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch._dynamo.config.automatic_dynamic_shapes = False  # a program for each shape
    with sdpa_kernel(SDPBackend.MATH):  # the other ways are the CPU's own operators
        return aot_module_simplified(module, example_inputs, fw_compiler=_compile, bw_compiler=_compile, decompositions=_table())
