# SPDX-License-Identifier: MIT
"""neuron-vm: virtual machines with emulated Neuron devices. Standard library only."""


class VmError(Exception):
    """What the user should read on one line; the program exits 125."""
