# SPDX-License-Identifier: MIT
"""Tells JAX about Neuron devices, if there are some: the entry point of the group jax_plugins."""

import glob
import logging
import os
from pathlib import Path

from .version import VERSION as __version__

__all__ = ["initialize", "library_path", "__version__"]

NAME = "libneuronpjrt.so"
INSTALLED = Path("/opt/aws/neuron/lib")
PRIORITY = 500  # above those of JAX's own platforms: who has installed this wants it

_logger = logging.getLogger(__name__)
_told = False


def library_path() -> Path | None:
    """The plug-in: NEURON_EMULATOR_PJRT's, this package's own, or that of an installation; None: there is none."""
    chosen = os.environ.get("NEURON_EMULATOR_PJRT")
    places = [Path(chosen)] if chosen else [Path(__file__).parent / "lib" / NAME, INSTALLED / NAME]
    return next((path for path in places if path.is_file()), None)


def _has_chips() -> bool:
    return bool(os.environ.get("NEURON_EMU")) or bool(glob.glob("/dev/neuron[0-9]*"))


def _tell(message: str, *args: object) -> None:
    """Once a process, however often JAX looks for plug-ins."""
    global _told
    if not _told:
        _logger.warning(message, *args)
    _told = True


def initialize() -> None:
    """Registers the platform "neuron"; called by JAX when it looks for its devices."""
    path = library_path()
    if path is None:
        _tell("no %s: neither in this package nor in %s", NAME, INSTALLED)
        return
    if not _has_chips():
        _tell("no Neuron devices: there is no /dev/neuron0, and NEURON_EMU (for example trn1.2xlarge) is not set")
        return
    from jax._src import xla_bridge

    from . import lowering  # which imports jax.numpy
    from . import signals
    from .lowering import callbacks

    options = {"host_callback": callbacks.entry(), "host_callback_hold": callbacks.hold(), "python_signals": signals.addresses()}
    xla_bridge.register_plugin("neuron", priority=PRIORITY, library_path=str(path), options=options)

    try:
        lowering.register()
    except lowering.Missing as why:
        _tell("this JAX has no place for lowering rules (%s): eigh, svd and the like are refused", why)
