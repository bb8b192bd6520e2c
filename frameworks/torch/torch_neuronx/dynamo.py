# SPDX-License-Identifier: MIT
"""torch.compile(backend="neuron"): forward and backward graphs become a program each, which runs on a NeuronCore.

Needs torch-mlir. Tensors are the CPU's: they pass to the core and back with each call. Random numbers are drawn by the host, by torch's generator.
"""

import functools
import weakref
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, fx

from . import decompositions, lowering, placement, runtime
from .artifact import NARROW, narrowed
from .tracing import compile_module, compiled_for, named

@functools.lru_cache(maxsize=256)
def _neff(text: str) -> bytes:
    """The program of a graph, compiled once"""
    return compile_module(text.encode(), compiled_for(None))


def _as_promised(like: Tensor) -> Tensor:
    """A new tensor that lies as the graph says; what repeats an element lies one after the other"""
    dense = all(step or size < 2 for step, size in zip(like.stride(), like.shape, strict=True))
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype) if dense else torch.empty(like.shape, dtype=like.dtype)


class _Program:
    """A graph on a core, where it is as long as this is"""

    def __init__(self, module: fx.GraphModule) -> None:
        self.lowered = lowering.Lowered(module)
        self.model = runtime.Loaded(_neff(self.lowered.text), placement.any_core()) if self.lowered.text else None
        if self.model:
            weakref.finalize(self, self.model.close).atexit = False

    def _run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        lowered, results = self.lowered, []
        with self.model.lock:
            for name, value in zip(named(lowered.inputs, "input"), inputs, strict=True):
                if name and name in self.model.tensors:
                    self.model.write(name, narrowed(value))
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
            results = self._run(values) if self.model else []
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
