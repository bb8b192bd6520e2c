# SPDX-License-Identifier: MIT
"""The command neuron-emud of the wheels, in each of which this file is: it becomes that program."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "lib" / "neuron-emud"
    os.execv(program, ["neuron-emud", *sys.argv[1:]])
