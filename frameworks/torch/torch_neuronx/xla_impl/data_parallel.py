# SPDX-License-Identifier: MIT
"""The same as in torch_neuronx"""

from ..parallel import DataParallel

__all__ = ["DataParallel"]
