# SPDX-License-Identifier: MIT
"""Traces of several shapes in one module: a kernel in TorchScript, which the inputs go through first, says which of them is executed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from .tracing import trace


class BucketModelConfig:
    """bucket_kernel: a function that gives the kernel, of torch.jit.script: it takes a list of the inputs' tensors, and gives a list of those of the
    bucket and its number in a tensor. func_kwargs: what the functions of models are called with, one dict for all buckets or one for each."""

    def __init__(self, bucket_kernel: Callable, *, shared_state_buffer: list | None = None, shared_state_buffer_preprocessor: Callable | None = None,
                 func_kwargs: dict | Sequence[dict] | None = None) -> None:
        if shared_state_buffer or shared_state_buffer_preprocessor:
            raise NotImplementedError("shared_state_buffer of BucketModelConfig: each bucket has states of its own (input_output_aliases)")
        self.bucket_kernel, self.func_kwargs = bucket_kernel, func_kwargs

    def kwargs(self, bucket: int) -> dict:
        given = self.func_kwargs or {}
        return dict(given if isinstance(given, dict) else given[bucket])


class _Buckets(nn.Module):
    def __init__(self, kernel: torch.jit.ScriptFunction, models: Sequence[nn.Module]) -> None:
        super().__init__()
        self.kernel = kernel
        for number, model in enumerate(models):
            self.add_module(f"bucket{number}", model)


def _flat(inputs: object) -> tuple:
    flat = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if not all(isinstance(value, torch.Tensor) for value in flat):
        raise TypeError("example_inputs of a bucket: tensors, which the kernel has a list of")
    return flat


def _forward(sizes: Sequence[int]) -> str:
    """The way of the inputs, in TorchScript: as many as the longest bucket's"""
    names = [f"input{number}: Tensor" for number in range(max(sizes))]
    lines = [f"def forward(self, {', '.join(names)}):", f"    tensors, number = self.kernel([{', '.join(f'input{n}' for n in range(max(sizes)))}])",
             "    bucket = int(number)", "    if bucket < 0 or bucket >= " + str(len(sizes)) + ":",
             f"        raise RuntimeError('the kernel chose a bucket that is not there: there are {len(sizes)}')"]
    for number, size in enumerate(sizes):
        last = number == len(sizes) - 1
        call = f"return self.bucket{number}({', '.join(f'tensors[{n}]' for n in range(size))})"
        lines += [f"    {call}"] if last else [f"    if bucket == {number}:", f"        {call}"]
    return "\n".join(lines) + "\n"


def bucket_model_trace(func: Callable | Sequence[Callable], example_inputs: Sequence, bucket_config: BucketModelConfig, *,
                       compiler_workdir: str | None = None, compiler_args: str | list | None = None) -> torch.jit.ScriptModule:
    """Compiles a model for each of several example inputs; the result chooses among them (BucketModelConfig).

    func: gives a model and its input_output_aliases, or one function for each bucket. Raises as trace() does; ValueError: as many functions as buckets.
    """
    functions = list(func) if isinstance(func, (list, tuple)) else [func] * len(example_inputs)
    if not example_inputs or len(functions) != len(example_inputs):
        raise ValueError(f"{len(functions)} functions for {len(example_inputs)} example inputs")
    models = []
    for number, (function, inputs) in enumerate(zip(functions, example_inputs, strict=True)):
        model, aliases = function(**bucket_config.kwargs(number))
        models.append(trace(model, _flat(inputs), input_output_aliases=aliases, compiler_args=compiler_args,
                            compiler_workdir=str(Path(compiler_workdir) / f"bucket{number}") if compiler_workdir else None))
    module = torch.jit.script(_Buckets(bucket_config.bucket_kernel(), models))
    module.define(_forward([len(_flat(inputs)) for inputs in example_inputs]))
    return module
