# SPDX-License-Identifier: MIT
"""What trace() gives: a TorchScript module with the NEFF, the weights and the states in it, around one operator, which runs the NEFF.

The module is saved and loaded by torch.jit, on any release of torch; the operator is there once torch_neuronx is imported.
"""

import hashlib
import json
import threading
import warnings
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from . import placement, runtime

# on the device 64-bit numbers have 32 bits, and what is true or false a byte
NARROW = {torch.int64: torch.int32, torch.float64: torch.float32, torch.bool: torch.uint8}
DTYPES = {str(t).removeprefix("torch."): t for t in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16,
                                                      torch.int8, torch.uint8, torch.bool, torch.complex64)}
DYNAMIC_BATCH = 0  # place in a module's settings

_library = torch.library.Library("neuron_emulator", "DEF")
_library.define("run(Tensor neff, Tensor settings, Tensor[] weights, Tensor(a!)[] states, Tensor[] inputs, str about) -> Tensor[]")
_lock = threading.Lock()
_loaded: dict[tuple, runtime.Loaded] = {}
_tracing = threading.local()


def about_array(value: Tensor) -> dict:
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}


def _empty(arrays: Sequence[dict]) -> list[Tensor]:
    return [torch.zeros(array["shape"], dtype=DTYPES[array["dtype"]]) for array in arrays]


def narrowed(value: Tensor) -> Tensor:
    return value.detach().to(NARROW.get(value.dtype, value.dtype))


def _model(neff: Tensor, weights: Sequence[Tensor], about: dict) -> runtime.Loaded:
    """The model on the core whose turn it is; it stays there until the process ends, and has the weights as they are now"""
    core = placement.next_core(neff)
    key = (about["hash"], neff.data_ptr(), core, *(weight.data_ptr() for weight in weights))
    with _lock:
        if key not in _loaded:
            _loaded[key] = runtime.Loaded(bytes(neff.numpy()), core)
            _loaded[key].kept = (neff, *weights)  # so that no other tensor gets their addresses
        model = _loaded[key]
    versions = [0 if weight.is_inference() else weight._version for weight in weights]
    with model.lock:
        if model.versions != versions:
            for name, weight in zip(about["weights"], weights, strict=True):
                if name:
                    model.write(name, narrowed(weight))
            model.versions = versions
    return model


def _check(inputs: Sequence[Tensor], arrays: Sequence[dict], what: str = "input") -> None:
    for i, (value, array) in enumerate(zip(inputs, arrays, strict=True)):
        have = about_array(value)
        if have != {key: array[key] for key in have}:
            raise ValueError(f"{what} {i} is {have['dtype']}{have['shape']}, and was traced as {array['dtype']}{array['shape']}")


def _execute(model: runtime.Loaded, states: Sequence[Tensor], inputs: Sequence[Tensor], about: dict) -> list[Tensor]:
    """One execution; the states have what it makes of them afterwards. If all results are such, an empty one is given: what TorchScript does not
    need it does not execute."""
    results = []
    with model.lock:
        for value, array in zip((*states, *inputs), (*about["states"], *about["inputs"]), strict=True):
            if array["name"]:
                model.write(array["name"], narrowed(value))
        model.execute()
        for number, (result, array) in enumerate(zip(_empty(about["outputs"]), about["outputs"], strict=True)):
            narrow = narrowed(result)
            if array["name"]:
                model.read(array["name"], narrow)
            if number in about["aliases"]:
                states[about["aliases"].index(number)].detach().copy_(narrow)
            else:
                results.append(narrow.to(result.dtype))
    return results or [torch.empty(0)]


def _batches(inputs: Sequence[Tensor], about: dict) -> Iterator[tuple[list[Tensor], int]]:
    """Inputs of the traced batch, the last one filled up with zeros, and how much of each is not"""
    sizes = {value.shape[0] if value.dim() else 0 for value in inputs}
    traced = {array["shape"][0] if array["shape"] else 0 for array in about["inputs"]}
    if len(sizes) != 1 or len(traced) != 1 or not min(sizes) or not min(traced):
        raise ValueError("dynamic_batch: the first dimensions of all inputs have to be alike, and not 0; "
                         f"they are {[list(value.shape) for value in inputs]}, and were traced as {[array['shape'] for array in about['inputs']]}")
    size, each = sizes.pop(), traced.pop()
    if any(array["shape"][:1] != [each] for array in about["outputs"]):
        raise ValueError(f"dynamic_batch: the results' first dimensions have to be the batch's, {each}; they are {[array['shape'] for array in about['outputs']]}")
    for start in range(0, size, each):
        there = min(each, size - start)
        yield [torch.cat([value[start:start + there], value.new_zeros(each - there, *value.shape[1:])]) for value in inputs], there


def _in_batches(model: runtime.Loaded, inputs: Sequence[Tensor], about: dict) -> list[Tensor]:
    if [list(value.shape) for value in inputs] == [array["shape"] for array in about["inputs"]]:
        _check(inputs, about["inputs"])
        return _execute(model, (), inputs, about)
    parts = []
    for some, there in _batches(inputs, about):
        _check(some, about["inputs"])
        parts.append([result[:there] for result in _execute(model, (), some, about)])
    return [torch.cat(pieces) for pieces in zip(*parts, strict=True)]


@torch.library.impl(_library, "run", "CPU")
def _run(neff: Tensor, settings: Tensor, weights: list[Tensor], states: list[Tensor], inputs: list[Tensor], about: str) -> list[Tensor]:
    said = json.loads(about)
    if getattr(_tracing, "on", False):
        return [value for number, value in enumerate(_empty(said["outputs"])) if number not in said["aliases"]] or [torch.empty(0)]
    if len(inputs) != len(said["inputs"]):
        raise ValueError(f"{len(inputs)} inputs, traced with {len(said['inputs'])}")
    with torch.no_grad():
        if settings[DYNAMIC_BATCH]:
            return _in_batches(_model(neff, weights, said), inputs, said)
        if len(states) != len(said["states"]):
            raise ValueError(f"{len(states)} states, traced with {len(said['states'])}")
        _check(inputs, said["inputs"])
        _check(states, said["states"], "state")
        return _execute(_model(neff, weights, said), states, inputs, said)


class States(nn.Module):
    """What executions change; by the names of its parameters it is read and written from outside"""

    def __init__(self, values: Sequence[Tensor]) -> None:
        super().__init__()
        self.names = [f"state{number}" for number in range(len(values))]
        for name, value in zip(self.names, values, strict=True):
            self.register_parameter(name, nn.Parameter(value.detach().clone(), requires_grad=False))


class Runner(nn.Module):
    """The Python side of the TorchScript module.

    about: what the operator is told. sources: what it is not, for who changes the module. structure: of nested tuples, lists and dicts with results'
    numbers as leaves.
    """

    def __init__(self, neff: bytes, weights: list[Tensor], states: list[Tensor], about: dict, sources: dict, structure: object) -> None:
        super().__init__()
        self.register_buffer("neff", torch.frombuffer(bytearray(neff), dtype=torch.uint8))
        self.register_buffer("settings", torch.zeros(8, dtype=torch.int64))
        self.names = [f"weight{number}" for number in range(len(weights))]
        for name, value in zip(self.names, weights, strict=True):
            self.register_buffer(name, value.detach().clone())
        self.states = States(states)
        self.register_buffer("sources", torch.frombuffer(bytearray(json.dumps(sources).encode()), dtype=torch.uint8))
        self.about, self.structure = json.dumps({**about, "hash": hashlib.sha256(neff).hexdigest()}), structure

    def forward(self, *inputs: object) -> object:
        return self.executed([getattr(self.states, name) for name in self.states.names], inputs)

    def executed(self, states: list[Tensor], inputs: tuple) -> object:
        flat = torch.utils._pytree.tree_leaves(inputs)
        results = torch.ops.neuron_emulator.run(self.neff, self.settings, [getattr(self, name) for name in self.names], states, flat, self.about)
        return results[0] if self.structure in ((), {}) else arranged(self.structure, results)


def arranged(structure: object, results: Sequence[Tensor]) -> object:
    if isinstance(structure, dict):
        return {key: arranged(value, results) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(arranged(value, results) for value in structure)
    return results[structure]


class Sharing(nn.Module):
    """A runner whose states are handed to it, as a list before the inputs"""

    def __init__(self, runner: Runner) -> None:
        super().__init__()
        runner.states = States([])
        self.runner = runner

    def forward(self, states: list[Tensor], *inputs: object) -> object:
        return self.runner.executed(states, inputs)


def script(runner: Runner | Sharing, example_inputs: tuple) -> torch.jit.ScriptModule:
    """Traces the operator, which meanwhile computes nothing: no chip is needed"""
    _tracing.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(runner, example_inputs, strict=False, check_trace=False)
    finally:
        _tracing.on = False
    placement.placed(traced)
    return traced


def dynamic_batch(trace: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """The trace takes any batch from now on, in place, and once it is saved and loaded: of the first dimension of all inputs.

    It is executed as often as it takes, the last time with zeros beside what there is. ValueError: it has states.
    """
    if placement.has_states(trace):
        raise ValueError("dynamic_batch: a trace with input_output_aliases has states of one batch")
    set_dynamic_batch(trace, True)
    return trace


def set_dynamic_batch(trace: nn.Module, on: bool) -> None:
    for part in (part for part in trace.modules() if hasattr(part, "settings")):
        part.settings[DYNAMIC_BATCH] = on


def lazy_load(trace: torch.jit.ScriptModule, enable: bool = True) -> None:
    """Models are always loaded at their first execution."""


def async_load(trace: torch.jit.ScriptModule, enable: bool = True) -> None:
    """Nothing to say: loading takes milliseconds."""


def replace_weights(trace: torch.jit.ScriptModule, weights: nn.Module | dict[str, Tensor]) -> None:
    """Gives a trace of inline_weights_to_neff=False other weights, by the names that they had in the traced model.

    KeyError: one is missing; ValueError: one has another shape. A trace that was made otherwise warns and stays as it is.
    """
    values = dict(weights.state_dict()) if isinstance(weights, nn.Module) else dict(weights)
    placement.traces(trace)
    for part in (part for part in trace.modules() if hasattr(part, "sources")):
        sources = json.loads(bytes(part.sources.numpy()))
        if not sources["apart"]:
            warnings.warn("replace_weights: the trace was made with its weights inlined (inline_weights_to_neff=True), and keeps them", stacklevel=2)
            continue
        own = {name: getattr(part, f"weight{number}") for number, name in enumerate(sources["weights"]) if name}
        if missing := own.keys() - values.keys():
            raise KeyError(f"replace_weights: there is no {', '.join(sorted(missing))}")
        for name, value in own.items():
            if value.shape != values[name].shape:
                raise ValueError(f"replace_weights: {name} is {list(values[name].shape)}, and was traced as {list(value.shape)}")
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(values[name])
