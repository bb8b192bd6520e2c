# SPDX-License-Identifier: MIT
"""The same as in torch_neuronx"""

from ..artifact import async_load, lazy_load, replace_weights
from ..placement import move_trace_to_device
from ..tracing import trace

__all__ = ["async_load", "lazy_load", "move_trace_to_device", "replace_weights", "trace"]
