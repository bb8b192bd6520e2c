# SPDX-License-Identifier: MIT
"""neuron-vm: virtual machines with emulated Neuron devices. Standard library only."""


class VmError(Exception):
    """An error whose text the user reads on one line; the program exits 125."""
