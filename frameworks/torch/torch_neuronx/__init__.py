# SPDX-License-Identifier: MIT
"""Inference on Neuron devices: a PyTorch model is compiled ahead of time, and the result is a TorchScript module.

The names are the vendor's. What is traced runs wherever this module is imported and chips are: /dev/neuronN, or NEURON_EMU.
"""

from libneuronxla.version import VERSION as __version__

from .artifact import async_load, dynamic_batch, lazy_load, move_trace_to_device, replace_weights
from .tracing import trace

__all__ = ["async_load", "dynamic_batch", "lazy_load", "move_trace_to_device", "replace_weights", "trace", "__version__"]
