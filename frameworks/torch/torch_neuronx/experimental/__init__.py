# SPDX-License-Identifier: MIT
"""Names that programs know from before"""

from .placement import multicore_context, neuron_cores_context, set_multicore, set_neuron_cores

__all__ = ["multicore_context", "neuron_cores_context", "set_multicore", "set_neuron_cores"]
