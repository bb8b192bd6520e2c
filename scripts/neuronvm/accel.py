# SPDX-License-Identifier: MIT
"""Whether KVM really works: a tiny guest has to run one instruction within a second."""

import os
import subprocess
import tempfile
from pathlib import Path

ROM_SIZE = 65536
# at the reset vector: mov $0, %al; out %al, $0xf4; hlt. isa-debug-exit turns 0 into exit status 1
RESET_CODE = bytes([0xB0, 0x00, 0xE6, 0xF4, 0xF4])
EXPECTED_STATUS = 1
KVM_CPU = "host"
DEADLINE = 1.0  # a working KVM needs some 50 ms; a broken nested one hangs


def kvm_works(qemu: Path) -> bool:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with tempfile.NamedTemporaryFile(suffix=".rom") as rom:
        rom.write(bytes(ROM_SIZE - 16) + RESET_CODE.ljust(16, b"\xf4"))
        rom.flush()
        argv = [str(qemu), "-machine", "pc,accel=kvm", "-cpu", KVM_CPU, "-m", "16", "-nodefaults",
                "-display", "none"]
        argv += ["-bios", rom.name, "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]
        try:
            done = subprocess.run(argv, timeout=DEADLINE, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == EXPECTED_STATUS


def accel_args(choice: str, qemu: Path) -> list[str]:
    """QEMU's -accel and -cpu for auto, kvm or tcg."""
    if choice == "kvm" or (choice == "auto" and kvm_works(qemu)):
        return ["-accel", "kvm", "-cpu", KVM_CPU]
    # Five-level paging costs an emulated CPU a level of walk and gives this guest nothing; with erms
    # the guest's kernel copies by rep movsb, which TCG runs a byte at a time.
    return ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off,fsrm=off"]
