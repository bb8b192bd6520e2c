#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: another kernel command line, by kexec
"""A kernel that gives devices bounce buffers: host memory for the chip and the program at once is refused, copies are right."""

import sys
import tempfile
from pathlib import Path

import guest
from guest import BUILD, Guest, is_, program

from neuronvm.cli import MICRO_CMDLINE  # guest has put neuron-vm/ on the path

TOOL = BUILD / "tests" / "vm" / "driver" / "driver-tool"
STREAM = BUILD / "tests" / "vm" / "stream"
# no host memory, so no mapping; device memory and its copies do without
SCRIPT = ["sh", "-c", "cat /proc/cmdline; ./driver-tool use 0; ./stream node 0 2 4; dmesg | grep -c 'bounce buffers cannot be shared'"]
IOMMU = ["--machine", "q35", "--qemu-arg=-device", "--qemu-arg=intel-iommu,intremap=off"]


def check(words: str, options: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = guest.next_kernel(Path(name), SCRIPT, [TOOL, STREAM])
        jump = f"./kexec vmlinuz initrd '{MICRO_CMDLINE} {words}'"
        vm = Guest(["sh", "-c", jump], copies=files, options=["--instance", "inf1.xlarge", "--memory", "1536M", *options])
        vm.until("console=")
        wanted = ["-12 -22 0 0", *program("tests/vm/stream", "emu:inf1.xlarge", "0", "2", "4").splitlines(), "1"]
        is_(vm.rest()[-len(wanted):], wanted, f"{words}: host memory is refused and the log says why; copies are right")


def test_forced() -> None:
    check("swiotlb=force", [])


def test_behind_an_iommu() -> None:
    """Behind an IOMMU that translates nothing."""
    check("swiotlb=force iommu=pt", IOMMU)


sys.exit(guest.run_tests([test_forced, test_behind_an_iommu]))
