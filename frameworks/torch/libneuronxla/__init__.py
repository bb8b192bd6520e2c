# SPDX-License-Identifier: MIT
"""What torch_xla asks of the vendor's module of this name: where the PJRT plug-in is, and what environment it wants."""

import importlib.metadata
import os

from .version import VERSION as __version__

__all__ = ["configure_environment", "__version__"]

VENDORS = ("libneuronxla", "torch-neuronx")  # distributions that have modules of these names


def _refuse_neighbours() -> None:
    for name in VENDORS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        raise RuntimeError(f"{name} {version} and neuron-emulator-torch have modules of the same names: uninstall one of them")


_refuse_neighbours()


def configure_environment() -> None:
    """Called by torch_xla before it makes a client. PyTorch's integers are of 64 bits, the chips' of 32."""
    os.environ.setdefault("NEURON_PJRT_NARROW_64BIT", "1")
