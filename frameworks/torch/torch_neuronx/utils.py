# SPDX-License-Identifier: MIT
"""What programs ask of torch_neuronx.utils"""

import os

from . import runtime


def get_platform_target() -> str:
    """The chips that programs are compiled for: NEURON_PLATFORM_TARGET_OVERRIDE, or those that are here ("trn1")"""
    return os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or runtime.architecture()
