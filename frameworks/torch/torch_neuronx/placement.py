# SPDX-License-Identifier: MIT
"""Which cores a trace is executed on: those that somebody chose for it, else one of the process's, whose turn it is."""

import contextlib
import functools
import itertools
import threading
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from . import runtime

_lock = threading.Lock()
_next = itertools.count()
_turns: dict[int, tuple[Tensor, Iterator[int]]] = {}  # by the address of a trace's NEFF, which is held so that no other gets it
_chosen = threading.local()  # by a context, of this thread


def any_core() -> int:
    """One of the process's cores, in turn"""
    return next(_next) % runtime.core_count()


def _traces(module: nn.Module) -> list[nn.Module]:
    return [part for part in module.modules() if hasattr(part, "neff") and hasattr(part, "settings")]


def traces(module: nn.Module) -> list[nn.Module]:
    """What trace() made, in a module or in several"""
    found = _traces(module)
    if not found:
        raise TypeError(f"{type(module).__name__}: nothing in it comes from torch_neuronx.trace")
    return found


def has_states(module: nn.Module) -> bool:
    traces(module)
    return any(part.states._parameters.keys() for part in module.modules() if hasattr(part, "states"))


def one_core_only(module: nn.Module) -> None:
    """ValueError: something in it has states, which lie on one core"""
    if has_states(module):
        raise ValueError("a trace with input_output_aliases has its states on one core")


def _range(start: int, count: int) -> tuple[int, ...]:
    """Cores from start on, count of them or, if that is below 1, all; below 0 a start is any core"""
    there = runtime.core_count()
    if start < 0:
        start = any_core() if count <= 1 else 0
    last = start + count if count > 0 else there
    if start >= there or last > there:
        raise ValueError(f"NeuronCores {start} to {last - 1}: this process has {there}, from 0 on")
    return tuple(range(start, last))


def _put(neff: Tensor, cores: tuple[int, ...]) -> None:
    with _lock:
        _turns[neff.data_ptr()] = neff, itertools.cycle(cores)


def next_core(neff: Tensor) -> int:
    """The core of the next execution"""
    core = getattr(_chosen, "core", None)
    if core is not None:
        return core
    with _lock:
        if neff.data_ptr() not in _turns:
            _turns[neff.data_ptr()] = neff, itertools.cycle((any_core(),))
        return next(_turns[neff.data_ptr()][1])


def placed(module: nn.Module) -> None:
    """Of what comes to be in a context, which says where it is executed"""
    cores = getattr(_chosen, "cores", None)
    for part in _traces(module) if cores else ():
        _put(part.neff, cores)


def set_neuron_cores(trace: nn.Module, start_nc: int = -1, nc_count: int = -1) -> None:
    """Has a trace executed on nc_count cores from start_nc on, in turn. -1: from any core on; as many as it needs, which is one"""
    cores = _range(start_nc, nc_count if nc_count > 0 else 1)
    if len(cores) > 1:
        one_core_only(trace)
    for part in traces(trace):
        _put(part.neff, cores)


def set_multicore(trace: nn.Module) -> None:
    """Has a trace executed on all cores of the process, in turn"""
    set_neuron_cores(trace, 0, runtime.core_count())


def move_trace_to_device(trace: nn.Module, device_id: int) -> None:
    """Has a trace executed on one core"""
    set_neuron_cores(trace, int(str(device_id).rpartition(":")[2]), 1)


def _watch_loads() -> None:
    """From the first context on torch.jit.load looks whether its thread is in one."""
    with _lock:
        load = torch.jit.load
        if hasattr(load, "places"):
            return

        def load_here(*args: object, **kwargs: object) -> torch.jit.ScriptModule:
            module = load(*args, **kwargs)
            placed(module)
            return module

        load_here.places = True
        torch.jit.load = functools.update_wrapper(load_here, load)


@contextlib.contextmanager
def _context(cores: tuple[int, ...]) -> Iterator[None]:
    """What is traced, or loaded by torch.jit.load, meanwhile is executed on these cores."""
    _watch_loads()
    before = getattr(_chosen, "cores", None)
    _chosen.cores = cores
    try:
        yield
    finally:
        _chosen.cores = before


def neuron_cores_context(start_nc: int = -1, nc_count: int = -1) -> contextlib.AbstractContextManager[None]:
    return _context(_range(start_nc, nc_count if nc_count > 0 else 1))


def multicore_context() -> contextlib.AbstractContextManager[None]:
    return _context(_range(0, runtime.core_count()))


@contextlib.contextmanager
def on_core(core: int) -> Iterator[None]:
    """This thread's executions are on a core, wherever else the trace is."""
    before = getattr(_chosen, "core", None)
    _chosen.core = core
    try:
        yield
    finally:
        _chosen.core = before
