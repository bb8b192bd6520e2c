# SPDX-License-Identifier: MIT
"""Where the plug-in is. torch_xla takes a module that cannot be imported for none, and goes on with the CPU."""

import glob
import os
from pathlib import Path

NAME = "libneuronpjrt.so"
INSTALLED = Path("/opt/aws/neuron/lib")


def libneuronpjrt_path() -> str:
    """NEURON_EMULATOR_PJRT, this package's own library, or that of an installation"""
    chosen = os.environ.get("NEURON_EMULATOR_PJRT")
    places = [Path(chosen)] if chosen else [Path(__file__).parent / "lib" / NAME, INSTALLED / NAME]
    for path in places:
        if path.is_file():
            return str(path)
    raise FileNotFoundError(f"no {NAME}: {' nor '.join(map(str, places))}")


if not (os.environ.get("NEURON_EMU") or glob.glob("/dev/neuron[0-9]*") or os.environ.get("PJRT_DEVICE") == "NEURON"):
    raise ImportError("no Neuron devices: there is no /dev/neuron0, and NEURON_EMU (for example trn1.2xlarge) is not set")
