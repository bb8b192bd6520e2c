# SPDX-License-Identifier: MIT
"""Tensors of PyTorch in device memory, by libneurontorch (frameworks/torch/memory): they come by DLPack, whose deleter gives the memory back."""

import ctypes
import functools
import os
import struct
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

import torch
from torch import Tensor

from . import layouts, runtime

# DLPack's codes of data types
CODES = {torch.bool: 6, torch.uint8: 1, torch.uint16: 1, torch.uint32: 1, torch.uint64: 1, torch.int8: 0, torch.int16: 0, torch.int32: 0, torch.int64: 0,
         torch.float16: 2, torch.float32: 2, torch.float64: 2, torch.bfloat16: 4, torch.complex64: 5, torch.complex128: 5,
         torch.float8_e4m3fn: 10, torch.float8_e4m3fnuz: 11, torch.float8_e5m2: 12, torch.float8_e5m2fnuz: 13}
NO_ROOM = 4  # NRT_RESOURCE
HOST = -1  # in place of a device: memory of the host that devices reach


class _Shape(ctypes.Structure):
    _fields_ = [("device", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("bytes", c_uint64)]


class Span(ctypes.Structure):
    """Bytes of a tensor's memory: base is where the memory begins"""

    _fields_ = [("base", c_void_p), ("offset", c_uint64), ("bytes", c_uint64)]


class _Load(ctypes.Structure):
    _fields_ = [("neff", c_char_p), ("bytes", c_uint64), ("core", c_int32), ("inputs", c_uint32), ("outputs", c_uint32), ("names", POINTER(c_char_p)),
                ("rank", c_uint32), ("ranks", c_uint32), ("group", c_uint64)]


STATISTICS = ("allocated", "allocated_peak", "reserved", "reserved_peak", "allocations", "frees", "segments", "retries", "failures")


class _Statistics(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in STATISTICS]


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_DLTENSOR = b"dltensor"
_from_dlpack = torch._C._from_dlpack
by_allocator = False  # whether PyTorch has an allocator for the device (glue.py)
_process = 0  # that uses the chips; others are its children


def path() -> Path:
    import libneuronxla

    return Path(libneuronxla.__file__).parent / "lib/libneurontorch.so"


@functools.cache
def loaded() -> ctypes.CDLL:
    """libneurontorch, before the chips are used"""
    found = ctypes.CDLL(str(path()))
    found.nt_alias.restype = c_void_p
    found.nt_alias.argtypes = [c_void_p, POINTER(_Shape)]
    found.nt_is_pinned.restype, found.nt_is_pinned.argtypes = ctypes.c_bool, [c_void_p]
    found.nt_program_load.argtypes = [POINTER(_Load), POINTER(c_void_p)]
    found.nt_program_run.argtypes = [c_void_p, c_char_p]  # the spans' bytes
    found.nt_program_unload.argtypes = [c_void_p]
    found.nt_read.argtypes = found.nt_write.argtypes = [POINTER(Span), c_void_p]
    found.nt_copy.argtypes = [POINTER(Span), POINTER(Span)]
    return found


@functools.cache
def library() -> ctypes.CDLL:
    """The same, once they are"""
    global _process
    runtime.library()
    _process = os.getpid()
    return loaded()


def forked() -> bool:
    """Whether the chips are those of the process that this one was forked from"""
    return bool(_process) and _process != os.getpid()


def _ours() -> ctypes.CDLL:
    if forked():
        raise RuntimeError("Cannot re-initialize Neuron in forked subprocess. To use Neuron with multiprocessing, you must use the 'spawn' start method")
    return library()


def check(status: int, what: str) -> None:
    if status:
        runtime.check(status, what)


@functools.lru_cache(maxsize=4096)
def _shape(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype, device: int) -> _Shape:
    if dtype not in CODES:
        raise TypeError(f"tensors of {dtype} cannot lie on a Neuron device")
    count = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    n = len(size)
    return _Shape(device, n, CODES[dtype], dtype.itemsize * 8, (c_int64 * n)(*size), (c_int64 * n)(*stride), max(1, count * dtype.itemsize))


def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype, device: int) -> Tensor:
    """A tensor on a device. torch.OutOfMemoryError: it has no room for it"""
    if by_allocator and device != HOST:
        return torch.empty_strided(size, stride, dtype=dtype, device=f"neuron:{device}")
    shape, tensor = _shape(tuple(size), tuple(stride), dtype, device), c_void_p()
    if status := _ours().nt_empty(byref(shape), byref(tensor)):
        if status == NO_ROOM:
            have = statistics(device)
            where = "host" if device == HOST else f"neuron:{device}"
            raise torch.OutOfMemoryError(f"{where} is out of memory: {shape.bytes} bytes were asked for, {have['allocated']} are in tensors, "
                                         f"{have['reserved']} taken from the device\n{runtime.details()}")
        check(status, f"neuron:{device}: {shape.bytes} bytes")
    return _from_dlpack(_capsule(tensor, _DLTENSOR, None))


def _on_cpu(address: int, size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> Tensor:
    shape = _shape(tuple(size), tuple(stride), dtype, 0)
    return _from_dlpack(_capsule(_ours().nt_alias(address, byref(shape)), _DLTENSOR, None))


def _as(value: Tensor, seen: Tensor) -> Tensor:
    if value.is_conj():
        seen = seen.conj()
    return torch._neg_view(seen) if value.is_neg() else seen


def alias(value: Tensor) -> Tensor:
    """The same elements as a tensor of the CPU's, while the tensor is there"""
    return _as(value, _on_cpu(value.data_ptr(), value.shape, value.stride(), value.dtype))


def aliases(values: Sequence[Tensor]) -> list[Tensor]:
    """The same of several, of which those that share a storage still do, as PyTorch looks at that"""
    bases, storages = [base(value) for value in values], {}
    if len(set(bases)) == len(bases):
        return [alias(value) for value in values]
    seen = []
    for value, begin in zip(values, bases, strict=True):
        if begin not in storages:
            storages[begin] = _on_cpu(begin, (value.untyped_storage().nbytes(),), (1,), torch.uint8).untyped_storage()
        seen.append(_as(value, torch.empty(0, dtype=value.dtype).set_(storages[begin], value.storage_offset(), value.shape, value.stride())))
    return seen


def pinned(value: Tensor) -> bool:
    """Whether a tensor of the CPU's lies in memory that devices reach"""
    return bool(_process) and library().nt_is_pinned(value.untyped_storage().data_ptr())


def placed(value: Tensor, size: int) -> tuple[int, int, int]:
    """What nt_span says of bytes of a tensor: where its memory begins, how far behind that they begin, and how many there are"""
    offset = value.storage_offset() * value.itemsize
    return value.data_ptr() - offset, offset, size


def base(value: Tensor) -> int:
    """Where a tensor's memory begins"""
    return placed(value, 0)[0]


def common(a: Tensor, b: Tensor) -> str:
    """What two tensors have in common, as PyTorch sees it, which looks at those without gaps alone: "all", "some" or nothing"""
    if base(a) != base(b) or not (a.numel() and b.numel() and layouts.dense(a) and layouts.dense(b)):
        return ""
    first, second = a.data_ptr(), b.data_ptr()
    if first == second and a.nbytes == b.nbytes:
        return "all" if a.stride() == b.stride() else "some"
    return "some" if first < second + b.nbytes and second < first + a.nbytes else ""


def meet(written: Sequence[Tensor], read: Sequence[Tensor]) -> bool:
    """Whether one that is written reaches into another one"""
    if len({base(value) for value in (*written, *read)}) == len(written) + len(read):
        return False
    reached, to = 0, 0  # by all so far, and by those written
    for begin, end, changed in sorted((*_reach(value), changed) for values, changed in ((written, True), (read, False)) for value in values if value.numel()):
        if begin < (reached if changed else to):
            return True
        reached, to = max(reached, end), max(to, end if changed else 0)
    return False


def _reach(value: Tensor) -> tuple[int, int]:
    begin = value.data_ptr()
    return begin, begin + value.itemsize * (1 + sum((n - 1) * step for n, step in zip(value.shape, value.stride(), strict=True)))


def span(value: Tensor) -> Span:
    """Of a tensor without gaps"""
    return Span(*placed(value, value.nbytes))


def _seen(value: Tensor) -> Tensor:
    return alias(value) if value.device.type == "neuron" else value


def copy(source: Tensor, to: Tensor) -> None:
    """Elements to a tensor of the same shape: of any types, lying as they may, from and to a device, the CPU at most on one side"""
    if not to.numel():
        return
    if source._is_zerotensor():
        to.zero_()
        return
    plain = (source.dtype == to.dtype and source.stride() == to.stride() and layouts.dense(source) and source.is_conj() == to.is_conj()
             and source.is_neg() == to.is_neg())
    if plain and source.device == to.device:
        check(_ours().nt_copy(byref(span(source)), byref(span(to))), "copy on the device")
    elif plain and source.device.type == "cpu":
        check(_ours().nt_write(byref(span(to)), source.data_ptr()), "copy to the device")
    elif plain and to.device.type == "cpu":
        check(_ours().nt_read(byref(span(source)), to.data_ptr()), "copy from the device")
    else:
        _seen(to).copy_(_seen(source))


def copy_on(value: Tensor, device: int) -> Tensor:
    """A new tensor on a device, without gaps"""
    made = empty_strided(value.shape, layouts.strides(value.shape, value.stride()), value.dtype, device)
    copy(value, made)
    return made


def statistics(device: int) -> dict[str, int]:
    """Bytes and counts; all are 0 before the device's first tensor"""
    found = _Statistics()
    if _process:
        library().nt_statistics(device, byref(found))
    return {name: getattr(found, name) for name in STATISTICS}


def reset_peaks(device: int) -> None:
    if _process:
        library().nt_reset_peaks(device)


def empty_cache() -> None:
    if _process:
        library().nt_empty_cache()


class Program:
    """A model on a core: inputs and outputs in an order of the caller's, by their names in the NEFF"""

    def __init__(self, neff: bytes, core: int, inputs: Sequence[str], outputs: Sequence[str], together: tuple[int, int, int] = (0, 0, 0)) -> None:
        """together: of a program of several processes this one's rank, how many there are, and a number for what they load (nt_load)"""
        self.program, self.process = c_void_p(), os.getpid()
        names = (c_char_p * (len(inputs) + len(outputs)))(*(name.encode() for name in (*inputs, *outputs)))
        load = _Load(neff, len(neff), core, len(inputs), len(outputs), names, *together)
        check(_ours().nt_program_load(byref(load), byref(self.program)), "load")
        self.pack = struct.Struct(f"@{3 * len(names)}Q").pack
        self.run_ = library().nt_program_run

    def where(self, tensors: Sequence[Tensor], sizes: Sequence[int]) -> bytes:
        """Spans of inputs, then outputs, without gaps, of so many bytes"""
        words: list[int] = []
        for value, size in zip(tensors, sizes, strict=True):
            words += placed(value, size)
        return self.pack(*words)

    def run(self, tensors: Sequence[Tensor], sizes: Sequence[int]) -> None:
        """An output shares its memory with no other tensor"""
        if status := self.run_(self.program, self.where(tensors, sizes)):
            check(status, "execution")

    def close(self) -> None:
        if self.process == os.getpid():
            library().nt_program_unload(self.program)
