# SPDX-License-Identifier: MIT
"""What trace() gives: a TorchScript module with the NEFF and the weights in it, around one operator, which runs the NEFF.

The module is saved and loaded by torch.jit, on any release of torch; the operator is there once torch_neuronx is imported.
"""

import hashlib
import itertools
import json
import threading
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from . import runtime

# on the device 64-bit numbers have 32 bits, and what is true or false a byte
NARROW = {torch.int64: torch.int32, torch.float64: torch.float32, torch.bool: torch.uint8}
DTYPES = {str(t).removeprefix("torch."): t for t in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16,
                                                      torch.int8, torch.uint8, torch.bool, torch.complex64)}

_library = torch.library.Library("neuron_emulator", "DEF")
_library.define("run(Tensor neff, Tensor[] weights, Tensor[] inputs, str about) -> Tensor[]")
_lock = threading.Lock()
_loaded: dict[tuple, runtime.Loaded] = {}
_next_core = itertools.count()
_tracing = threading.local()


def about_array(value: Tensor) -> dict:
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}


def _empty(arrays: Sequence[dict]) -> list[Tensor]:
    return [torch.zeros(array["shape"], dtype=DTYPES[array["dtype"]]) for array in arrays]


def _model(neff: Tensor, weights: Sequence[Tensor], about: dict) -> runtime.Loaded:
    """The model on a core, where it stays until the process ends; its weights are brought there once"""
    key = (about["hash"], neff.data_ptr(), *(weight.data_ptr() for weight in weights))
    with _lock:
        if key not in _loaded:
            core = about.get("core", -1)
            core = core if core >= 0 else next(_next_core) % runtime.core_count()
            model = runtime.Loaded(bytes(neff.numpy()), core)
            model.kept = (neff, *weights)  # so that no other tensor gets their addresses
            for name, weight in zip(about["weights"], weights, strict=True):
                if name:
                    model.write(name, weight.to(NARROW.get(weight.dtype, weight.dtype)))
            _loaded[key] = model
        return _loaded[key]


def _check(inputs: Sequence[Tensor], arrays: Sequence[dict]) -> None:
    for i, (value, array) in enumerate(zip(inputs, arrays, strict=True)):
        have = about_array(value)
        if have != {key: array[key] for key in have}:
            raise ValueError(f"input {i} is {have['dtype']}{have['shape']}, and was traced as {array['dtype']}{array['shape']}")


@torch.library.impl(_library, "run", "CPU")
def _run(neff: Tensor, weights: list[Tensor], inputs: list[Tensor], about: str) -> list[Tensor]:
    said = json.loads(about)
    if getattr(_tracing, "on", False):
        return _empty(said["outputs"])
    if len(inputs) != len(said["inputs"]):
        raise ValueError(f"{len(inputs)} inputs, traced with {len(said['inputs'])}")
    _check(inputs, said["inputs"])
    model, results = _model(neff, weights, said), []
    with model.lock:
        for value, array in zip(inputs, said["inputs"], strict=True):
            if array["name"]:
                model.write(array["name"], value.to(NARROW.get(value.dtype, value.dtype)))
        model.execute()
        for result, array in zip(_empty(said["outputs"]), said["outputs"], strict=True):
            narrow = result.to(NARROW.get(result.dtype, result.dtype))
            if array["name"]:
                model.read(array["name"], narrow)
            results.append(narrow.to(result.dtype))
    return results


class Runner(nn.Module):
    """The Python side of the TorchScript module. structure: of nested tuples, lists and dicts with results' numbers as leaves"""

    def __init__(self, neff: bytes, weights: list[Tensor], about: dict, structure: object) -> None:
        super().__init__()
        self.register_buffer("neff", torch.frombuffer(bytearray(neff), dtype=torch.uint8))
        self.names = [f"weight{number}" for number in range(len(weights))]
        for name, value in zip(self.names, weights, strict=True):
            self.register_buffer(name, value.detach().clone())
        self.about, self.structure = json.dumps({**about, "hash": hashlib.sha256(neff).hexdigest()}), structure

    def forward(self, *inputs: object) -> object:
        flat = torch.utils._pytree.tree_leaves(inputs)
        results = torch.ops.neuron_emulator.run(self.neff, [getattr(self, name) for name in self.names], flat, self.about)
        return arranged(self.structure, results)


def arranged(structure: object, results: Sequence[Tensor]) -> object:
    if isinstance(structure, dict):
        return {key: arranged(value, results) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(arranged(value, results) for value in structure)
    return results[structure]


def script(runner: Runner, example_inputs: tuple) -> torch.jit.ScriptModule:
    """Traces the operator, which meanwhile computes nothing: no chip is needed"""
    _tracing.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.trace(runner, example_inputs, strict=False, check_trace=False)
    finally:
        _tracing.on = False


def lazy_load(trace: torch.jit.ScriptModule, enable: bool = True) -> None:
    """Models are always loaded at their first execution."""


def async_load(trace: torch.jit.ScriptModule, enable: bool = True) -> None:
    """Nothing to say: loading takes milliseconds."""


def move_trace_to_device(trace: torch.jit.ScriptModule, device_id: int) -> None:
    raise NotImplementedError("move_trace_to_device: set NEURON_RT_VISIBLE_CORES for the process; models take its cores in turn")


def replace_weights(trace: torch.jit.ScriptModule, weights: nn.Module | dict[str, Tensor]) -> None:
    raise NotImplementedError("replace_weights: trace the model with the other weights")


def dynamic_batch(trace: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    raise NotImplementedError("dynamic_batch: trace the model for each size of batch")
