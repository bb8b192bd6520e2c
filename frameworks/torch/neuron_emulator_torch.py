# SPDX-License-Identifier: MIT
"""What `import torch` calls: makes the device "neuron" known where PyTorch takes devices from Python (2.15). It is never the reason that torch cannot be imported."""

import importlib.util
import warnings


def autoload() -> None:
    import torch

    if not hasattr(torch._C, "_acc") or importlib.util.find_spec("torch_xla"):
        return  # older, or the one whose way to the chips is another
    try:
        from torch_neuronx import registration

        registration.register()
    except (ImportError, RuntimeError) as error:
        warnings.warn(f'no device "neuron": {error}', stacklevel=2)
