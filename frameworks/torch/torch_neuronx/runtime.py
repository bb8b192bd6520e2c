# SPDX-License-Identifier: MIT
"""Models on NeuronCores by libnrt: what is loaded, its tensors on the device, its executions."""

import ctypes
import functools
import os
import threading
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import torch

DEVICE, PYTORCH = 0, 3  # nrt_tensor_placement_t, nrt_framework_type_t
INPUT = 0  # nrt_tensor_usage_t


class _Info(ctypes.Structure):
    _fields_ = [("name", c_char * 256), ("usage", c_int), ("size", c_size_t), ("dtype", c_int), ("shape", POINTER(c_uint32)), ("ndim", c_uint32)]


class _Infos(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("infos", _Info * 0)]


class _Instance(ctypes.Structure):
    _fields_ = [("family", c_uint32), ("size", c_uint32), ("arch", c_char * 16), ("revision", c_char * 8)]


class _Memory(ctypes.Structure):
    _fields_ = [("used", c_size_t), ("limit", c_size_t)]


class NeuronError(RuntimeError):
    """A status of the runtime, with its reasons"""


_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def _places() -> list[Path]:
    import libneuronxla

    package = Path(libneuronxla.__file__).parent
    return [*sorted(package.parent.glob("neuron_emulator_torch.libs/libnrt-*.so*")), Path("/opt/aws/neuron/lib/libnrt.so.1")]


@functools.cache
def one_core() -> bool:
    """Whether torchrun has started this process as one of several, whose share of the cores nobody has chosen: it has one, that of its local rank."""
    named = any(os.environ.get(name) for name in ("NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES"))
    return not named and int(os.environ.get("LOCAL_WORLD_SIZE") or 1) > 1 and "LOCAL_RANK" in os.environ


def core_of(device: int) -> int:
    """The core that a device's number names"""
    return 0 if one_core() else device


def _choose_core() -> None:
    if one_core():
        os.environ["NEURON_RT_VISIBLE_CORES"] = os.environ["LOCAL_RANK"]


@functools.cache
def _loaded() -> ctypes.CDLL:
    """libnrt, which may not be initialised; the wheel's own, which torch_xla's plug-in uses too, or an installation's"""
    path = next((path for path in _places() if path.is_file()), None)
    if path is None:
        raise NeuronError(f"no libnrt: {' nor '.join(map(str, _places()))}")
    nrt = ctypes.CDLL(str(path))
    nrt.nrtx_error_details.restype = nrt.nrt_get_status_as_str.restype = c_char_p
    return nrt


def library() -> ctypes.CDLL:
    """libnrt, initialised for this process, which has its cores from then on"""
    global _library
    with _lock:
        if _library is None:
            _choose_core()
            nrt = _loaded()
            _check(nrt, nrt.nrt_init(PYTORCH, b"", b""), "no Neuron device")
            _library = nrt
    return _library


def _check(nrt: ctypes.CDLL, status: int, what: str) -> None:
    if status:
        raise NeuronError(f"{what}: {nrt.nrt_get_status_as_str(status).decode()}\n{_details(nrt)}".strip())


def _details(nrt: ctypes.CDLL) -> str:
    return (nrt.nrtx_error_details() or b"").decode(errors="replace").strip()


def check(status: int, what: str) -> None:
    """NeuronError: a status of a call is not success"""
    _check(library(), status, what)


def details() -> str:
    """What the runtime said of this thread's last call"""
    return _details(library())


def architecture() -> str:
    """The chips that are here, as neuronx-cc names them: "trn1" """
    info, nrt = _Instance(), library()
    _check(nrt, nrt.nrt_get_instance_info(byref(info), c_size_t(ctypes.sizeof(info))), "the machine")
    return {"trn2u": "trn2"}.get(info.arch.decode(), info.arch.decode())


def core_count() -> int:
    """The cores that this process has, or will have; does not begin to use them"""
    count = c_uint32()
    if _library:
        _check(_library, _library.nrt_get_visible_vnc_count(byref(count)), "cores")
        return count.value
    if one_core():
        return 1
    visible, most = os.environ.get("NEURON_RT_VISIBLE_CORES"), os.environ.get("NEURON_RT_NUM_CORES")
    if visible:
        parts = (part.partition("-") for part in visible.split(","))
        return sum(int(last or first) - int(first) + 1 for first, _, last in parts)
    return min(machine_cores(), int(most)) if most else machine_cores()


def machine_cores() -> int:
    """The cores of the machine"""
    count, nrt = c_uint32(), _loaded()
    _check(nrt, nrt.nrt_get_total_vnc_count(byref(count)), "cores")
    return count.value


def core_memory(core: int) -> tuple[int, int]:
    """Bytes of a core's memory: those in use, and all"""
    have, nrt = _Memory(), library()
    _check(nrt, nrt.nrt_get_vnc_memory_stats(core, byref(have), c_size_t(ctypes.sizeof(have)), byref(c_size_t())), f"core {core}")
    return have.used, have.limit


def initialised() -> bool:
    """Whether this process uses the chips"""
    return _library is not None


class Loaded:
    """A model on a core. One execution at a time; its inputs and outputs have tensors of their own on the device."""

    def __init__(self, neff: bytes, core: int) -> None:
        self.nrt, self.lock, self.core, self.versions, self.process = library(), threading.RLock(), core, [], os.getpid()
        self.model, self.sets, self.tensors = c_void_p(), (c_void_p(), c_void_p()), {}
        self._call("load", self.nrt.nrt_load(neff, c_size_t(len(neff)), c_int32(core), c_int32(-1), byref(self.model)))
        infos = POINTER(_Infos)()
        self._call("tensors", self.nrt.nrt_get_model_tensor_info(self.model, byref(infos)))
        for tensors in self.sets:
            self._call("tensors", self.nrt.nrt_allocate_tensor_set(byref(tensors)))
        for info in ctypes.cast(ctypes.addressof(infos.contents.infos), POINTER(_Info * infos.contents.count)).contents:
            tensor = c_void_p()
            self._call(f"{info.size} bytes", self.nrt.nrt_tensor_allocate(DEVICE, core, c_size_t(info.size), info.name, byref(tensor)))
            self._call("tensors", self.nrt.nrt_add_tensor_to_tensor_set(self.sets[info.usage != INPUT], info.name, tensor))
            self.tensors[info.name.decode()] = (tensor, info.size)
        self.nrt.nrt_free_model_tensor_info(infos)

    def _call(self, what: str, status: int) -> None:
        _check(self.nrt, status, what)

    def write(self, name: str, value: torch.Tensor) -> None:
        tensor, size = self.tensors[name]
        value = value.detach().contiguous()
        if value.nbytes != size:
            raise NeuronError(f"{name} has {value.nbytes} bytes, expected {size}")
        self._call(name, self.nrt.nrt_tensor_write(tensor, c_void_p(value.data_ptr()), c_size_t(0), c_size_t(size)))

    def read(self, name: str, value: torch.Tensor) -> None:
        tensor, size = self.tensors[name]
        if value.nbytes != size:
            raise NeuronError(f"{name} has {size} bytes, expected {value.nbytes}")
        self._call(name, self.nrt.nrt_tensor_read(tensor, c_void_p(value.data_ptr()), c_size_t(0), c_size_t(size)))

    def execute(self) -> None:
        self._call("execution", self.nrt.nrt_execute(self.model, *self.sets))

    def close(self) -> None:
        if os.getpid() != self.process:  # a child of fork has no chips
            return
        self.nrt.nrt_unload(self.model)
        for tensors in self.sets:
            self.nrt.nrt_destroy_tensor_set(byref(tensors))
        for tensor, _ in self.tensors.values():
            self.nrt.nrt_tensor_free(byref(tensor))
