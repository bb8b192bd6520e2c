# SPDX-License-Identifier: MIT
"""glue.cpp: what PyTorch takes of a device from C++ alone. `python -m torch_neuronx glue` builds it for the torch that is installed; from then on it is used."""

import ctypes
import functools
import hashlib
import os
import subprocess
from ctypes import CFUNCTYPE, POINTER, c_bool, c_int, c_uint64
from pathlib import Path

import torch

from . import memory, runtime

SOURCE, HEADERS = Path(__file__).with_name("glue.cpp"), Path(__file__).with_name("include")


class _Machine(ctypes.Structure):
    _fields_ = [("available", CFUNCTYPE(c_bool)), ("count", CFUNCTYPE(c_int)), ("ready", CFUNCTYPE(c_int)),
                ("memory", CFUNCTYPE(None, c_int, POINTER(c_uint64), POINTER(c_uint64)))]


def place() -> Path:
    """Where it is once it has been built: in the cache, by what it is made of"""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    sources = b"".join(path.read_bytes() for path in (SOURCE, *sorted(HEADERS.rglob("*.h"))))
    made_of = hashlib.sha256(sources + torch.__version__.encode() + str(memory.path()).encode()).hexdigest()[:16]
    return Path(os.environ.get("NEURON_CACHE") or home / "neuron-emulator") / "glue" / f"torch-{torch.__version__}-{made_of}.so"


def build() -> Path:
    """RuntimeError: there is no compiler, or it refuses"""
    found, home = place(), Path(torch.__file__).parent
    found.parent.mkdir(parents=True, exist_ok=True)
    made = found.with_suffix(f".{os.getpid()}")
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-fPIC", "-shared", "-w", f"-I{HEADERS}", f"-I{home / 'include'}", f"-I{home / 'include/torch/csrc/api/include'}",
               str(SOURCE), "-o", str(made), f"-L{home / 'lib'}", "-lc10", "-ltorch_cpu", str(memory.path()), f"-Wl,-rpath,{memory.path().parent}",
               "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise RuntimeError(f"no C++ compiler: {missing.filename}") from missing
    if done.returncode:
        made.unlink(missing_ok=True)
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    made.rename(found)
    return found


_library: ctypes.CDLL | None = None


def loaded() -> bool:
    return _library is not None


def load() -> bool:
    """Registers it, once a process; False: it has not been built, or NEURON_TORCH_GLUE=0"""
    global _library
    if _library is None and os.environ.get("NEURON_TORCH_GLUE") != "0" and place().is_file():
        memory.loaded()
        _library = ctypes.CDLL(str(place()))
        _library.neuron_glue_register(ctypes.byref(_machine()))
        if runtime.one_core():
            memory.loaded().nt_only_core(0)
    return loaded()


@functools.cache
def _machine() -> _Machine:
    from . import neuron

    def ready() -> int:
        if memory.forked():
            return 2
        try:
            memory.library()
        except RuntimeError:
            return 1
        return 0

    def sizes(device: int, free: object, total: object) -> None:
        used, total[0] = runtime.core_memory(runtime.core_of(device))
        free[0] = total[0] - used

    kinds = dict(_Machine._fields_)
    return _Machine(kinds["available"](neuron.is_available), kinds["count"](neuron.device_count), kinds["ready"](ready), kinds["memory"](sizes))


def current_device() -> int:
    return _library.neuron_glue_current()


def set_current_device(device: int) -> None:
    _library.neuron_glue_set_current(device)
