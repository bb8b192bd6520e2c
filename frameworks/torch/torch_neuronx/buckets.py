# SPDX-License-Identifier: MIT
"""Traces of several shapes in one module: a kernel in TorchScript, which the inputs go through first, says which of them is executed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from .artifact import Runner, Sharing, States, about_array, script
from .tracing import compiled


class BucketModelConfig:
    """bucket_kernel: a function that gives the kernel, of torch.jit.script: it takes a list of the inputs' tensors, and gives a list of those of the
    bucket and its number in a tensor. func_kwargs: what the functions of models are called with, one dict for all buckets or one for each.

    shared_state_buffer: tensors that are the states of all buckets (their input_output_aliases, in the order of the model's parameters, then buffers), as
    they are at first. shared_state_buffer_preprocessor: a function that gives another one of torch.jit.script, which takes the shapes of each bucket's
    states, the buffer and the bucket's number in a tensor, and gives the bucket's states: views, through which the buffer changes. With it alone the
    buffer is made of the states of the bucket that has the most; with neither, each bucket has states of its own.
    """

    def __init__(self, bucket_kernel: Callable, *, shared_state_buffer: Sequence[Tensor] | None = None,
                 shared_state_buffer_preprocessor: Callable | None = None, func_kwargs: dict | Sequence[dict] | None = None) -> None:
        if shared_state_buffer is not None and not all(isinstance(value, Tensor) for value in shared_state_buffer):
            raise TypeError("shared_state_buffer of BucketModelConfig is a list of tensors")
        self.shared_state_buffer = list(shared_state_buffer or [])
        self.bucket_kernel, self.shared_state_buffer_preprocessor, self.func_kwargs = bucket_kernel, shared_state_buffer_preprocessor, func_kwargs

    def kwargs(self, bucket: int) -> dict:
        given = self.func_kwargs or {}
        return dict(given if isinstance(given, dict) else given[bucket])


class _Shared:
    """The states of all buckets"""

    def __init__(self, config: BucketModelConfig, runners: Sequence[Runner]) -> None:
        self.each = [[getattr(runner.states, name).detach() for name in runner.states.names] for runner in runners]
        self.buffer = config.shared_state_buffer or max(self.each, key=lambda states: sum(value.numel() for value in states))
        self.preprocessor = config.shared_state_buffer_preprocessor and config.shared_state_buffer_preprocessor()
        self.shapes = [[list(value.shape) for value in states] for states in self.each]
        for number, states in enumerate(self.each):
            given = self.preprocessor(self.shapes, self.buffer, torch.tensor([number])) if self.preprocessor else self.buffer
            have, want = list(map(about_array, given)), list(map(about_array, states))
            if have != want:
                raise ValueError(f"bucket {number} has the states {want}, and of shared_state_buffer it is given {have}")

    def lines(self) -> list[str]:
        """What makes `states` of them, in TorchScript"""
        buffer = f"[{', '.join(f'self.states.state{number}' for number in range(len(self.buffer)))}]"
        return [f"    states = self.preprocessor({self.shapes}, {buffer}, number)" if self.preprocessor else f"    states = {buffer}"]


class _Buckets(nn.Module):
    def __init__(self, kernel: torch.jit.ScriptFunction, models: Sequence[nn.Module], shared: _Shared | None) -> None:
        super().__init__()
        self.kernel = kernel
        if shared:
            self.states = States(shared.buffer)
        if shared and shared.preprocessor:
            self.preprocessor = shared.preprocessor
        for number, model in enumerate(models):
            self.add_module(f"bucket{number}", model)


def _flat(inputs: object) -> tuple:
    flat = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if not all(isinstance(value, Tensor) for value in flat):
        raise TypeError("example_inputs of a bucket: tensors, which the kernel has a list of")
    return flat


def _forward(sizes: Sequence[int], shared: _Shared | None) -> str:
    """The way of the inputs, in TorchScript: as many as the longest bucket's"""
    names = [f"input{number}: Tensor" for number in range(max(sizes))]
    lines = [f"def forward(self, {', '.join(names)}):", f"    tensors, number = self.kernel([{', '.join(f'input{n}' for n in range(max(sizes)))}])",
             "    bucket = int(number)", "    if bucket < 0 or bucket >= " + str(len(sizes)) + ":",
             f"        raise RuntimeError('the kernel chose a bucket that is not there: there are {len(sizes)}')"]
    lines += shared.lines() if shared else []
    for number, size in enumerate(sizes):
        last = number == len(sizes) - 1
        call = f"return self.bucket{number}({', '.join(['states'] * bool(shared) + [f'tensors[{n}]' for n in range(size)])})"
        lines += [f"    {call}"] if last else [f"    if bucket == {number}:", f"        {call}"]
    return "\n".join(lines) + "\n"


def bucket_model_trace(func: Callable | Sequence[Callable], example_inputs: Sequence, bucket_config: BucketModelConfig, *,
                       compiler_workdir: str | None = None, compiler_args: str | list | None = None) -> torch.jit.ScriptModule:
    """Compiles a model for each of several example inputs; the result chooses among them (BucketModelConfig).

    func: gives a model and its input_output_aliases, or one function for each bucket. Raises as trace() does; ValueError: as many functions as buckets,
    states of the buffer's shapes.
    """
    functions = list(func) if isinstance(func, (list, tuple)) else [func] * len(example_inputs)
    if not example_inputs or len(functions) != len(example_inputs):
        raise ValueError(f"{len(functions)} functions for {len(example_inputs)} example inputs")
    flat, runners = list(map(_flat, example_inputs)), []
    for number, (function, inputs) in enumerate(zip(functions, flat, strict=True)):
        model, aliases = function(**bucket_config.kwargs(number))
        runners.append(compiled(model, inputs, aliases, str(Path(compiler_workdir) / f"bucket{number}") if compiler_workdir else None, compiler_args)[0])
    sharing = bucket_config.shared_state_buffer or bucket_config.shared_state_buffer_preprocessor
    shared = _Shared(bucket_config, runners) if sharing else None
    models = [script(Sharing(runner), (states, *inputs)) for runner, inputs, states in zip(runners, flat, shared.each, strict=True)] if shared else \
        [script(runner, inputs) for runner, inputs in zip(runners, flat, strict=True)]
    module = torch.jit.script(_Buckets(bucket_config.bucket_kernel(), models, shared))
    module.define(_forward(list(map(len, flat)), shared))
    return module
