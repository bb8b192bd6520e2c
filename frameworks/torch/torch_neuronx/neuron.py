# SPDX-License-Identifier: MIT
"""torch.neuron: the device "neuron" of PyTorch, whose indices are the NeuronCores of this process.

The names are the vendor's (TorchNeuron), and torch.cuda's where that has them.
"""

import contextlib
import glob
import os
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from . import glue, memory, runtime

_local = threading.local()


class _Properties(NamedTuple):
    name: str
    total_memory: int
    major: int
    minor: int


def is_available() -> bool:
    """Whether there are chips: /dev/neuron*, or those that NEURON_EMU names. Does not begin to use them"""
    return bool(os.environ.get("NEURON_EMU") or glob.glob("/dev/neuron[0-9]*"))


def device_count() -> int:
    """The cores of this process or, if it has one of several as torchrun started it, the machine's, whose numbers all name it"""
    if not is_available() or memory.forked():
        return 0
    return runtime.machine_cores() if runtime.one_core() else runtime.core_count()


def is_initialized() -> bool:
    return runtime.initialised()


is_neuron_runtime_initialized = is_initialized


def init() -> None:
    """Begins to use the chips; the first tensor does, too"""
    memory.library()


def _is_in_bad_fork() -> bool:
    return memory.forked()


def index_of(device: object) -> int:
    """The number of a core of this process. One that torchrun started with others has one core, which all numbers name."""
    if device is not None and not isinstance(device, int):
        device = torch.device(device)
        if device.type != "neuron":
            raise ValueError(f"expected a device of type neuron, not {device}")
        device = device.index
    if runtime.one_core() and not glue.loaded():
        return 0
    return current_device() if device is None else device


def current_device() -> int:
    return glue.current_device() if glue.loaded() else getattr(_local, "device", 0)


def _make_current(device: int) -> None:
    if glue.loaded():
        glue.set_current_device(device)
    else:
        _local.device = device


def set_device(device: object) -> None:
    number = device if isinstance(device, int) else torch.device(device).index or 0
    if not 0 <= number < device_count():
        raise RuntimeError(f"neuron:{number}: this process has the NeuronCores 0 to {device_count() - 1}")
    _make_current(index_of(device))


@contextlib.contextmanager
def device(device: object) -> Iterator[None]:
    before = current_device()
    number = index_of(device)
    if number >= 0:
        set_device(number)
    try:
        yield
    finally:
        _make_current(before)


def synchronize(device: object = None) -> None:
    """Returns when all that was asked for is done; operators return when they are"""
    index_of(device)


def get_device_name(device: object = None) -> str:
    return get_device_properties(device).name


def get_device_properties(device: object = None) -> _Properties:
    number = index_of(device)
    return _Properties(runtime.architecture(), runtime.core_memory(runtime.core_of(number))[1], *get_device_capability(number))


def get_device_capability(device: object = None) -> tuple[int, int]:
    """The chips' generation: (2, 0) of Trainium 1 and Inferentia 2"""
    return {"inf1": 1, "trn2": 3, "trn3": 4}.get(runtime.architecture(), 2), 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.bfloat16, torch.float16]


def empty_cache() -> None:
    memory.empty_cache()


def memory_allocated(device: object = None) -> int:
    return memory.statistics(index_of(device))["allocated"]


def max_memory_allocated(device: object = None) -> int:
    return memory.statistics(index_of(device))["allocated_peak"]


def memory_reserved(device: object = None) -> int:
    return memory.statistics(index_of(device))["reserved"]


def max_memory_reserved(device: object = None) -> int:
    return memory.statistics(index_of(device))["reserved_peak"]


def reset_peak_memory_stats(device: object = None) -> None:
    memory.reset_peaks(index_of(device))


_ACCUMULATED = ("allocations", "frees", "retries", "failures")
_forgotten: dict[int, dict[str, int]] = {}  # of these, by device


def reset_accumulated_memory_stats(device: object = None) -> None:
    """Counts of allocations, frees, retries and failures begin with 0."""
    number = index_of(device)
    _forgotten[number] = memory.statistics(number)


def memory_stats(device: object = None) -> dict[str, int]:
    number = index_of(device)
    have = memory.statistics(number)
    current = have["allocations"] - have["frees"]
    have |= {name: have[name] - _forgotten[number][name] for name in _ACCUMULATED if number in _forgotten}
    return {"allocated_bytes.all.current": have["allocated"], "allocated_bytes.all.peak": have["allocated_peak"],
            "active_bytes.all.current": have["allocated"], "active_bytes.all.peak": have["allocated_peak"],
            "reserved_bytes.all.current": have["reserved"], "reserved_bytes.all.peak": have["reserved_peak"],
            "allocation.all.allocated": have["allocations"], "allocation.all.freed": have["frees"],
            "allocation.all.current": current, "segment.all.allocated": have["segments"],
            "num_alloc_retries": have["retries"], "num_ooms": have["failures"]}


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Free and all bytes of the core's memory"""
    used, total = runtime.core_memory(runtime.core_of(index_of(device)))
    return total - used, total


def memory_summary(device: object = None, abbreviated: bool = False) -> str:
    number = index_of(device)
    return "\n".join([f"neuron:{number}", *(f"{name:32} {value:>16}" for name, value in memory_stats(number).items())])


class Event:
    """A point in a stream's work. As all work is done when its call returns, it is reached once it is recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing, self.time = enable_timing, 0

    def record(self, stream: object = None) -> None:
        self.time = time.perf_counter_ns()

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds between two that were recorded"""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.time and end_event.time):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event.time - self.time) / 1e6

    def wait(self, stream: object = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


class Stream(torch.Stream):
    """A queue of a core's work. All streams of a core do it in the order of the calls."""

    def __new__(cls, device: object = None, priority: int = 0) -> "Stream":
        return super().__new__(cls, device=torch.device("neuron", index_of(device)), priority=priority)

    def wait_event(self, event: Event) -> None:
        pass

    def wait_stream(self, stream: torch.Stream) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


def default_stream(device: object = None) -> Stream:
    return Stream(device)


def current_stream(device: object = None) -> Stream:
    chosen = getattr(_local, "stream", None)
    return chosen if chosen and chosen.device.index == index_of(device) else Stream(device)


def set_stream(stream: Stream) -> None:
    _local.stream = stream


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    before = getattr(_local, "stream", None)
    _local.stream = stream or before
    try:
        yield
    finally:
        _local.stream = before


StreamContext = stream


# Random numbers are the CPU's generator's
def manual_seed(seed: int) -> None:
    torch.default_generator.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """torch.manual_seed calls it, and has seeded the one generator that there is"""


def seed() -> int:
    return torch.default_generator.seed()


seed_all = seed


def initial_seed() -> int:
    return torch.default_generator.initial_seed()


def get_rng_state(device: object = None) -> Tensor:
    return torch.default_generator.get_state()


def set_rng_state(new_state: Tensor, device: object = None) -> None:
    torch.default_generator.set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    return [get_rng_state()] * max(1, device_count())


def set_rng_state_all(new_states: list[Tensor]) -> None:
    set_rng_state(new_states[0])


def get_fallback_ops() -> list[str]:
    """The operators that the CPU computed, as no program of theirs could be compiled"""
    from . import eager

    return sorted(eager.fallen_back)


def get_executed_ops() -> list[str]:
    """The operators that cores computed, one by one"""
    from . import eager

    return sorted(eager.executed)


def get_dynamo_metrics() -> dict[str, int]:
    """How many graphs torch.compile's backend has compiled, forward and backward, and how often they ran"""
    from . import dynamo

    return {name: dynamo.metrics[name] for name in ("forward_graphs", "backward_graphs", "executions")}


def reset_dynamo_metrics() -> None:
    from . import dynamo

    dynamo.metrics.clear()


def clear_op_tracking() -> None:
    from . import eager

    eager.fallen_back.clear()
    eager.executed.clear()
