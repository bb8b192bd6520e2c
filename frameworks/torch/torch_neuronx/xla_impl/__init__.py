# SPDX-License-Identifier: MIT
"""Where programs find some functions of torch_neuronx"""

from . import data_parallel, trace

__all__ = ["data_parallel", "trace"]


def __getattr__(name: str) -> object:
    """NotImplementedError, which an import keeps: programs know the name, and it is not here"""
    why = {"custom_op": "operators in C++ for the GpSimd are not called from PyTorch", "ops": "a trace takes no kernels of NKI (nki_jit)"}
    if name in why:
        raise NotImplementedError(f"torch_neuronx.xla_impl.{name}: {why[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
