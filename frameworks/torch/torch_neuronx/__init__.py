# SPDX-License-Identifier: MIT
"""Inference on Neuron devices: a PyTorch model is compiled ahead of time, and the result is a TorchScript module. dynamo.py is torch.compile's backend.

The names are the vendor's. What is traced runs wherever this module is imported and chips are: /dev/neuronN, or NEURON_EMU.
"""

from libneuronxla.version import VERSION as __version__

from . import experimental, utils
from .analysis import analyze
from .artifact import async_load, dynamic_batch, lazy_load, replace_weights
from .buckets import BucketModelConfig, bucket_model_trace
from .parallel import DataParallel
from .placement import move_trace_to_device, multicore_context, neuron_cores_context, set_multicore, set_neuron_cores
from .tracing import trace

__all__ = ["BucketModelConfig", "DataParallel", "analyze", "async_load", "bucket_model_trace", "dynamic_batch", "experimental", "lazy_load",
           "move_trace_to_device", "multicore_context", "neuron_cores_context", "replace_weights", "set_multicore", "set_neuron_cores", "trace", "utils",
           "__version__"]
