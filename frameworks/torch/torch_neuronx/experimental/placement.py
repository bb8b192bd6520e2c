# SPDX-License-Identifier: MIT
"""The same of torch_neuronx.placement"""

from ..placement import multicore_context, neuron_cores_context, set_multicore, set_neuron_cores

__all__ = ["multicore_context", "neuron_cores_context", "set_multicore", "set_neuron_cores"]
