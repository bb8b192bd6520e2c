#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: needs QEMU alone, no guest
"""The cost of idle chips: QEMU's memory with sixteen of a type, with their whole device memory, and with none."""

import subprocess
import sys
from pathlib import Path

import chips
from qtest import Qemu

CHIPS = 16
LIMIT = 4096  # KiB a chip
EJECT = 0xAE08  # the ACPI hot-plug controller of the pc machine: what a guest's eject writes
SLOT = 31

results: list[bool] = []


def ok(passed: bool, name: str) -> None:
    results.append(passed)
    print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}", flush=True)


def resident(vm: Qemu) -> int:
    """KiB of the whole process."""
    for line in Path(f"/proc/{vm.process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1])
    raise RuntimeError("no Rss in smaps_rollup")


def place(index: int) -> dict[str, object]:
    return {"id": f"chip{index}", "addr": f"{SLOT + 1 - CHIPS + index:x}.0", "fabric": "f0", "slot": index}


def replug(vm: Qemu, chip: chips.Chip) -> None:
    vm.qmp("device_del", id=f"chip{CHIPS - 1}")
    vm.command("outl", EJECT + 8, 0)
    vm.command("outl", EJECT, 1 << SLOT)
    vm.wait_event("DEVICE_DELETED")
    vm.events.clear()
    vm.qmp("device_add", driver=chip.type, bus="pci.0", **place(CHIPS - 1))


def check(chip: chips.Chip, none: int) -> None:
    args = ["-object", f"neuron-fabric,id=f0,slots={CHIPS}"]
    for i in range(CHIPS):
        args += ["-device", ",".join([chip.type, *(f"{k}={v}" for k, v in place(i).items())])]
    vm = Qemu(*args)
    each = (resident(vm) - none) // CHIPS
    ok(each < LIMIT, f"{chip.type}: each of {CHIPS} idle chips costs less than 4 MiB ({each} KiB)")
    vm.qmp("system_reset")
    for _ in range(4):
        replug(vm, chip)
    each = (resident(vm) - none) // CHIPS
    ok(each < LIMIT, f"{chip.type}: after a reset, and when one was plugged again and again, too ({each} KiB)")
    vm.close()


bare = Qemu()
NONE = resident(bare)
bare.close()
for C in chips.CHIPS:
    try:
        check(C, NONE)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        ok(False, f"{C.type}: {type(error).__name__}: {error}")
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
