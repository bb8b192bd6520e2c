# SPDX-License-Identifier: MIT
"""Does KVM really work? A tiny guest has to count down from many millions within a second."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from . import VmError, paths

ROM_SIZE = 65536
# Some /dev/kvm interpret an ordinary guest instead of running it, a thousand times slower, and then
# fail in its kernel; so the guest has to be fast.
TURNS = 50_000_000
# at the reset vector: mov $TURNS, %ecx; 1: dec %ecx; jnz 1b; jmp to the end's code, as the vector has
# 16 bytes; there: mov $0, %al; out %al, $0xf4; hlt. isa-debug-exit turns 0 into exit status 1
RESET_CODE = b"\x66\xb9" + TURNS.to_bytes(4, "little") + b"\x66\x49\x75\xfc" + b"\xeb\xe4"
END_CODE = b"\xb0\x00\xe6\xf4\xf4"
EXPECTED_STATUS = 1
KVM_CPU = "host"
DEADLINE = 1.0  # a working KVM needs some 50 ms; a broken nested one hangs

TCG_ADDRESS_BITS = 40  # of QEMU's processor max
TCG_ADDRESS_BITS_MAX = 46  # that four-level page tables of the guest reach

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CPUINFO = Path("/proc/cpuinfo")


def kvm_works(qemu: Path) -> bool:
    """A failure is remembered until the machine boots again: it takes the whole deadline to see."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    failed, boot = paths.cache() / "kvm-failed", BOOT_ID.read_text()
    if failed.exists() and failed.read_text() == boot:
        return False
    works = _counts_down(qemu)
    if not works:
        failed.write_text(boot)
    return works


def _counts_down(qemu: Path) -> bool:
    with tempfile.NamedTemporaryFile(suffix=".rom") as rom:
        rom.write(bytes(ROM_SIZE - 32) + END_CODE.ljust(16, b"\xf4") + RESET_CODE.ljust(16, b"\xf4"))
        rom.flush()
        argv = [str(qemu), "-machine", "pc,accel=kvm", "-cpu", KVM_CPU, "-m", "16", "-nodefaults",
                "-display", "none"]
        argv += ["-bios", rom.name, "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]
        try:
            done = subprocess.run(argv, timeout=DEADLINE, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == EXPECTED_STATUS


def host_address_bits() -> int:
    """The address bits of the host's processors, which under KVM are the guest's."""
    found = re.search(r"^address sizes\s*: (\d+) bits physical", CPUINFO.read_text(), re.MULTILINE)
    return int(found[1]) if found else TCG_ADDRESS_BITS


def accel_args(choice: str, qemu: Path, address_bits: int) -> list[str]:
    """QEMU's -accel and -cpu for auto, kvm or tcg; the guest's PCI space needs so many bits."""
    fits = address_bits <= host_address_bits()
    if choice == "kvm" and not fits:
        raise VmError(f"--accel kvm: the chips' memory needs {address_bits} address bits, "
                      f"this host's processors have {host_address_bits()}")
    if choice == "kvm" or (choice == "auto" and fits and kvm_works(qemu)):
        return ["-accel", "kvm", "-cpu", KVM_CPU]
    # On an AMD processor the end of 40 bits is reserved: SeaBIOS 1.16.3 then puts PCI's space once its
    # length lower, below zero if that takes the upper half. Chips that need all 40 bits therefore get more.
    # Five-level paging costs an emulated CPU a level of walk and gives this guest nothing; with erms
    # the guest's kernel copies by rep movsb, which TCG runs a byte at a time.
    more = f",phys-bits={TCG_ADDRESS_BITS_MAX}" if address_bits >= TCG_ADDRESS_BITS else ""
    argv = ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off,fsrm=off" + more]
    # Code that was translated while the guest booted is most of QEMU's own memory: an idle guest gives it back.
    return [*argv, "-object", "neuron-trim,id=trim0"]


def clock(accel: list[str], stage: Path) -> str:
    """Options for an emulated guest's kernel: the frequency of its time stamp counter, which is the host's.

    The kernel would measure that against a timer, and on a busy host find a tenth or less; its clock would then
    run ten times as fast as it should, with all of its timeouts.
    """
    program = stage / paths.PREFIX / "libexec" / "neuron-vm-tsc"
    if "kvm" in accel or not program.exists():
        return ""
    done = subprocess.run([program], stdout=subprocess.PIPE, check=True, text=True)
    return f" tsc_early_khz={done.stdout.strip()}"
