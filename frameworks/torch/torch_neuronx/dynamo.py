# SPDX-License-Identifier: MIT
"""torch.compile(backend="neuron"): forward and backward graphs become a program each, which runs on a NeuronCore.

Needs torch-mlir. Tensors of the CPU pass to a core and back with each call. Random numbers are drawn by the host, by torch's generator.
"""

import collections
import functools
import os
import weakref
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, fx

from . import decompositions, lowering, placement, programs


metrics: collections.Counter = collections.Counter()  # forward_graphs, backward_graphs, executions


class _Program:
    """A graph on the core of its inputs or, if all are the CPU's, on one of the process's; it stays as long as this does"""

    def __init__(self, module: fx.GraphModule, name: str) -> None:
        self.graph, self.core = programs.Graph(module, name), None
        weakref.finalize(self, self.graph.forget).atexit = False

    def _device(self, inputs: Sequence[Tensor]) -> int:
        places = {value.device.index for value in inputs if value.device.type == "neuron"}
        if os.environ.get("TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY", "0") not in ("", "0"):
            for number, value in enumerate(inputs):
                if value.device.type == "cpu":
                    raise RuntimeError(f"Input tensor at index {number} is on cpu device, and TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY is set")
        if len(places) > 1:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(f'neuron:{n}' for n in sorted(places))}!")
        if not places and self.core is None:
            self.core = placement.any_core()
        return places.pop() if places else self.core

    def __call__(self, *inputs: Tensor) -> list[Tensor | None]:
        with torch.no_grad():
            device = self._device(inputs)
            metrics["executions"] += 1
            outputs = self.graph.made(device)
            self.graph.run(inputs, outputs, device)
            return self.graph.all([value.cpu() if like.device.type == "cpu" else value for value, like in zip(outputs, self.graph.lowered.outputs, strict=True)])


def _compile(way: str, module: fx.GraphModule, example_inputs: Sequence[object]) -> Callable:
    from functorch.compile import make_boxed_func

    if odd := [value for value in example_inputs if not isinstance(value, Tensor)]:
        raise lowering.Unsupported(f"an input of the graph is {type(odd[0]).__name__}: shapes have to be constant (dynamic=False)")
    program = _Program(module, f"neuron::{way}_{metrics[f'{way}_graphs']}")
    metrics[f"{way}_graphs"] += 1
    return make_boxed_func(program)


_table = functools.cache(decompositions.table)


def neuron(module: fx.GraphModule, example_inputs: Sequence[object], **options: object) -> Callable:
    """The backend: torch.compile calls it by its name. RuntimeError: an operator cannot be lowered, or neuronx-cc refuses the program"""
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch._dynamo.config.automatic_dynamic_shapes = False  # a program for each shape
    with sdpa_kernel(SDPBackend.MATH):  # the other ways are the CPU's own operators
        return aot_module_simplified(module, example_inputs, fw_compiler=functools.partial(_compile, "forward"), bw_compiler=functools.partial(_compile, "backward"), decompositions=_table())
