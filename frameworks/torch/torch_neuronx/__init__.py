# SPDX-License-Identifier: MIT
"""Inference on Neuron devices: a PyTorch model is compiled ahead of time, and the result is a TorchScript module. dynamo.py is torch.compile's backend.

The names are the vendor's. What is traced runs wherever this module is imported and chips are: /dev/neuronN, or NEURON_EMU.
"""

import importlib.util

from libneuronxla.version import VERSION as __version__

from . import experimental, tracing, utils, xla_impl
from .analysis import analyze
from .artifact import async_load, dynamic_batch, lazy_load, replace_weights
from .buckets import BucketModelConfig, bucket_model_trace
from .parallel import DataParallel
from .partitions import PartitionerConfig
from .placement import move_trace_to_device, multicore_context, neuron_cores_context, set_multicore, set_neuron_cores
from .tracing import trace

__all__ = ["BucketModelConfig", "DataParallel", "PartitionerConfig", "analyze", "async_load", "bucket_model_trace", "dynamic_batch", "experimental",
           "lazy_load", "move_trace_to_device", "multicore_context", "neuron_cores_context", "replace_weights", "set_multicore", "set_neuron_cores", "trace",
           "utils", "xla_impl", "__version__"]


def __getattr__(name: str) -> object:
    """The names of torch.neuron are this module's, too, as the vendor's are. NotImplementedError, which an import keeps: it is of neuronx_distributed"""
    if name in tracing.OF_NXD:
        raise NotImplementedError(f"{name}: {tracing.NO_NXD}")
    if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is None:
        names = importlib.import_module(f"{__name__}.neuron")
        if hasattr(names, name):
            return getattr(names, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
