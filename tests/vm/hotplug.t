#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: QEMU plugs and unplugs while the guest works
# later: one
"""Chips plugged and unplugged: ACPI on pc, a PCIe root port on q35; idle, in DMA, in an inference.

Of the later types one on bus 0 of the pc machine, which is plugged beside those of the instance if it has none there.
"""

import sys
import tempfile
from pathlib import Path

import guest
from guest import BUILD, CHIP, LONG, ONE, PROGRAMS, TOP, Guest, Model, is_, ok, program

TIMES = 5 if LONG else 1
Where = dict[str, str | int]  # numbers as such: QEMU 10 takes no text for one


class Chip:
    """The chip that comes and goes: the last of the guest's."""

    def __init__(self, vm: Guest, index: int, where: Where):
        self.vm, self.name = vm, f"chip{index}"
        self.add = {"driver": f"neuron-{CHIP}", "id": self.name, "fabric": "f0", "slot": index, **where}

    def unplug(self) -> None:
        self.vm.qmp("device_del", id=self.name)

    def gone(self) -> None:
        """The guest has let go of it, and so has QEMU: only then is there room for another."""
        self.vm.qmp.wait_event("DEVICE_DELETED", lambda data: data.get("device") == self.name)

    def plug(self) -> None:
        self.vm.qmp("device_add", **self.add)


def cycle(chip: Chip, name: str, nodes: str, without: str, lines: list[str]) -> None:
    """Out and in again; then copies are right."""
    chip.gone()
    is_(chip.vm.until("gone: "), f"gone: {without}", f"{name}: the node goes, the others stay")
    chip.plug()
    is_(chip.vm.until("there: "), f"there: {nodes}", f"{name}: plugged again, the node is back")
    is_(chip.vm.line(), lines[0], f"{name}: and the new chip works")


def check(options: list[str], index: int, where: Where) -> None:
    copied = program("tests/vm/stream", "emu:inf1.xlarge", "0", "2", "4").splitlines()[-1]
    nodes = " ".join(f"neuron{i}" for i in range(index + 1))
    without = " ".join(f"neuron{i}" for i in range(index)) or "neuron*"
    with tempfile.TemporaryDirectory() as name:
        work = Model(Path(name))
        copies = [*work.copies, BUILD / "tests" / "vm" / "stream", TOP / "tests" / "vm" / "hotplug.sh"]
        vm = Guest(["bash", "./hotplug.sh", str(index), str(TIMES), str(TIMES if PROGRAMS else 0)], copies=copies, options=options)
        chip = Chip(vm, index, where)
        is_(vm.line(), f"idle: {nodes}", "the chips that are there at start")
        chip.unplug()
        cycle(chip, "idle", nodes, without, [copied])
        for _ in range(TIMES):
            vm.until("round 1")
            chip.unplug()
            is_(vm.until("failed"), "failed: copy: No such device", "in DMA: the copy fails with ENODEV")
            is_(vm.line(), "stream 1", "in DMA: and its program goes on to its end")
            cycle(chip, "in DMA", nodes, without, [copied])
        for _ in range(TIMES if PROGRAMS else 0):
            vm.until("inference")
            chip.unplug()
            said = vm.until("neuron-run ")
            ok(said.startswith("neuron-run 1: ") and "No such device" in said, "in an inference: it fails and says why")
            print(f"# {said}")
            cycle(chip, "in an inference", nodes, without, [f"{work.digest}  -"])
        is_(vm.status(), 0, "the guest's script ends well")


def test_pc() -> None:
    check(["--instance", "inf1.6xlarge"], 3, {"bus": "pci.0", "addr": "1f.0"})


def test_q35() -> None:
    check(["--machine", "q35", "--memory", "768M"], 0, {"bus": "port0"})


def test_iommu() -> None:
    """Behind one that translates; idle and in DMA."""
    iommu = ["--qemu-arg=-device", "--qemu-arg=intel-iommu,intremap=off"]
    check(["--machine", "q35", "--memory", "768M", *iommu], 0, {"bus": "port0"})


def test_q35_native() -> None:
    """A chip is plugged without ACPI, of which the root port tells the guest itself."""
    bridges = "--qemu-arg=ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"
    check(["--machine", "q35", "--memory", "768M", "--qemu-arg=-global", bridges], 0, {"bus": "port0"})


WHERE: dict[str, Where] = {
    "trainium": {"bus": "pci.0", "addr": "1e.0"}, "inferentia2": {"bus": "pci.0", "addr": "1f.0"},
    "trainium2": {"bus": "pci.0", "addr": "1f.0", "fabric": "f1", "slot": 1},
}
# a fabric for a chip beside the instance's own
SECOND = ["--qemu-arg=-object", "--qemu-arg=neuron-fabric,id=f1,slots=2"]


def test_later() -> None:
    """Alone in its machine; beside a Trainium2 chip, whose own place is on another bus, one on bus 0."""
    options, index = ["--instance", ONE], 0
    if CHIP == "trainium2":
        index = 1
        device = ",".join([f"neuron-{CHIP}", "id=chip1", *(f"{key}={value}" for key, value in WHERE[CHIP].items())])
        words = ["-device", device, "-global", f"i440FX-pcihost.pci-hole64-size={8 << 40}"]
        # room for both; below 1 TiB an AMD processor has a hole that firmware does not go around
        for setting in ("phys-bits=46", "vendor=GenuineIntel"):
            words += ["-global", f"max-x86_64-cpu.{setting}"]
        options += SECOND + [f"--qemu-arg={word}" for word in words]
    check(options, index, WHERE[CHIP])


def test_no_room() -> None:
    """A guest without space for 256 GiB more of memory: the chip works, and says that its memory is not mapped."""
    copied = program("tests/vm/stream", "emu:inf1.xlarge", "0", "2", "4").splitlines()[-1]
    script = "until [ -e /dev/neuron1 ]; do usleep 10000; done; ./stream node 1 2 4 | tail -n 1; dmesg | grep -c 'BAR4 has no place'"
    hole = ["--qemu-arg=-global", f"--qemu-arg=i440FX-pcihost.pci-hole64-size={8 << 30}"]
    vm = Guest(["sh", "-c", f"echo up; {script}"], copies=[BUILD / "tests" / "vm" / "stream"],
               options=["--instance", ONE, *SECOND, *hole])
    vm.until("up")
    Chip(vm, 1, WHERE[CHIP]).plug()
    is_(vm.rest()[-2:], [copied, "1"], "a chip for whose memory there is no room is plugged: copies are right, the log says so")


TESTS = [test_pc, test_q35, test_iommu, *([test_q35_native] if LONG else [])] if PROGRAMS else [test_later]
if CHIP == "trainium2":
    TESTS.append(test_no_room)
sys.exit(guest.run_tests(TESTS))
