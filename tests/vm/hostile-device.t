#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: needs QEMU alone, no guest
"""A guest that turns a chip, of each type, on itself: queues that feed themselves for ever while BARs vanish, bus
mastering goes off and the device is unplugged; host addresses and interrupts that lead back into BARs."""

import struct
import subprocess
import sys
import time
from collections.abc import Callable

import chips
import qtest
from chips import Chip
from qtest import Qemu

SLOT, EAST = 0x1F, 0x1E
CHIP = ("-object", "neuron-fabric,id=f0,slots=2")
RINGS, DATA, TARGET = 0x100000, 0x200000, 0x300000
RING_LEN = 32

C: Chip  # the type that is tested
BAR: dict[int, int]
EAST_BAR: dict[int, int]
DEVICE = NEIGHBOUR = ""
M2S = S2M = STOPPED = DESCS = 0  # addresses: queue 0 of engine 0, its bit of stopped queues, descriptors of core 0
results: list[bool] = []


def choose(chip: Chip) -> None:
    global C, BAR, EAST_BAR, DEVICE, NEIGHBOUR, M2S, S2M, STOPPED, DESCS
    C, (BAR, EAST_BAR) = chip, chip.bars
    DEVICE = f"{C.type},id=chip,addr=1f.0,fabric=f0,slot=0,ring-id-check=off"
    NEIGHBOUR = f"{C.type},id=east,addr=1e.0,fabric=f0,slot=1"
    M2S, S2M = (BAR[0] + C.queue(0, 0, half) for half in (False, True))
    STOPPED, DESCS = (BAR[C.ext_bar] + C.ext + at for at in (C.dma_stopped, C.dma_descs))


def is_(got: object, wanted: object, name: str) -> None:
    results.append(got == wanted)
    name = f"{C.type}: {name}"
    print(f"{'ok' if got == wanted else 'not ok'} {len(results)} - {name}", flush=True)
    if got != wanted:
        print(f"#   got {got!r}\n#   wanted {wanted!r}", flush=True)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + qtest.DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")


def setup_queue(vm: Qemu, base: int) -> None:
    for half, switch, at in ((M2S, 0xB0, base), (S2M, 0x64, base + 0x1000)):
        for offset, value in ((0x20, 0x3000000), (switch, 0x100), (0x28, at & 0xFFFFFFFF), (0x2C, at >> 32),
                              (0x30, RING_LEN), (0x20, 0x30000)):
            vm.writel(half + offset, value)


def bells(vm: Qemu, count: int) -> None:
    for half in (S2M, M2S):
        vm.writel(half + 0x38, count)


def copy(vm: Qemu, source: int, target: int) -> bool:
    """One descriptor of 8 bytes; False: the queue was stopped by an error."""
    setup_queue(vm, C.host + RINGS)
    vm.write(RINGS, struct.pack("<IIQ", 0x0D000008, 0x01080003, source))
    vm.write(RINGS + 0x1000, struct.pack("<IIQ", 0x01000008, 0, target))
    bells(vm, 1)
    wait_until(lambda: vm.readl(S2M + 0x24) == 0 or vm.readl(STOPPED) & 1 == 1)
    return vm.readl(STOPPED) & 1 == 0


def endless(vm: Qemu) -> None:
    """Packets that ring their own queue's two doorbells, each every second time, for two packets."""
    vm.enable(SLOT, BAR)
    vm.write(DATA, struct.pack("<I", 2))
    vm.write(RINGS, struct.pack("<IIQ", 0x0D000004, 0x01080003, C.host + DATA) * RING_LEN)
    vm.write(RINGS + 0x1000, b"".join(struct.pack("<IIQ", 0x01000004, 0, C.address(half - BAR[0]) + 0x38)
                                      for half in (M2S, S2M) * (RING_LEN // 2)))
    setup_queue(vm, C.host + RINGS)
    bells(vm, 20)
    goes_on(vm)


def goes_on(vm: Qemu) -> None:
    before = vm.readl(DESCS)
    wait_until(lambda: vm.readl(DESCS) - before & 0xFFFFFFFF > 10000)


def mailbox(vm: Qemu, bars: dict[int, int]) -> bool:
    """Does it tell the low word of the chip's serial number?"""
    vm.write(TARGET, bytes(8))
    vm.write(DATA + 0x1000, qtest.fwio_read_request(3, C.address(C.misc) + 0x38))
    for offset, value in ((0x1F4, DATA + 0x1000), (0x1F0, C.host >> 32), (0x1FC, TARGET), (0x1F8, C.host >> 32), (0x800, 1)):
        vm.writel(bars[0] + C.misc + offset, value)
    return vm.read(TARGET, 8) == struct.pack("<BBHI", 3, 0, 8, 1 + (bars is EAST_BAR))  # slot n's serial number


def test_endless_work() -> None:
    vm = Qemu(*CHIP, "-device", DEVICE, "-device", NEIGHBOUR)
    vm.enable(EAST, EAST_BAR)
    endless(vm)
    is_(vm.qmp("query-status")["status"], "running", "QMP answers while a queue feeds itself")
    is_([mailbox(vm, BAR), mailbox(vm, EAST_BAR)], [True, True], "so do both mailboxes")
    vm.qmp("stop")
    before = vm.readl(DESCS)
    is_(vm.readl(DESCS), before, "it rests while the VM is stopped")
    vm.qmp("cont")
    goes_on(vm)
    vm.config_write(SLOT, 0x04, 0x4)
    vm.config_write(SLOT, 0x04, 0x6)
    goes_on(vm)
    vm.config_write(SLOT, 0x04, 0x2)
    wait_until(lambda: vm.readl(STOPPED) & 1 == 1)
    is_(vm.readl(M2S + 0x24) > 0, True, "without bus mastering it is an abort, at once")
    endless(vm)
    vm.writel(BAR[0] + C.misc + 0x1EC, 1)
    vm.writel(BAR[0] + C.misc + 0x800, 1)
    is_(vm.readl(M2S + 0x24), 0, "a device reset ends it")
    endless(vm)
    vm.qmp("system_reset")
    vm.enable(SLOT, BAR)
    is_(vm.readl(M2S + 0x24), 0, "so does the machine's")
    endless(vm)
    vm.qmp("device_del", id="chip")
    vm.command("outl", 0xAE10, 0)
    vm.command("outl", 0xAE08, 1 << SLOT)
    vm.wait_event("DEVICE_DELETED")
    vm.enable(EAST, EAST_BAR)
    is_(mailbox(vm, EAST_BAR), True, "unplugged in the middle, and the neighbour works")
    vm.qmp("device_add", driver=C.type, id="chip", bus="pci.0", addr="1f.0", fabric="f0", slot=0)
    vm.enable(SLOT, BAR)
    is_(mailbox(vm, BAR), True, "plugged again it works")
    endless_again = Qemu(*CHIP, "-device", DEVICE)
    endless(endless_again)
    is_(endless_again.close(), 0, "QEMU quits while it goes on")
    is_(vm.close(), 0, "QEMU leaves with status 0")


def test_own_bars() -> None:
    vm = Qemu(*CHIP, "-device", DEVICE, "-device", NEIGHBOUR)
    vm.enable(SLOT, BAR)
    vm.enable(EAST, EAST_BAR)
    vm.write(DATA, b"01234567")
    is_(copy(vm, C.host + DATA, C.host + TARGET), True, "host memory to host memory")
    is_(copy(vm, C.host + DATA, C.host + BAR[0] + C.misc + 0x800), False, "not to the own doorbell through the host")
    is_(copy(vm, C.host + BAR[0] + C.misc, C.host + TARGET), False, "nor from a register")
    is_(copy(vm, C.host + DATA, C.host + BAR[C.core_bar] + C.sem_dec(0) - C.semaphores), False, "nor to a semaphore")
    is_(copy(vm, C.host + DATA, C.host + BAR[4]), False, "nor to the own DRAM")
    is_(copy(vm, C.host + DATA, C.host + EAST_BAR[0] + C.misc + 0xC0), False, "nor to a neighbour's registers")
    is_(vm.readl(EAST_BAR[0] + C.misc + 0xC0), 0, "which are as they were")
    is_(copy(vm, C.host + DATA, C.host + EAST_BAR[4] + 64), True, "a neighbour's DRAM is memory like any other")
    is_(vm.read(EAST_BAR[4] + 64, 8), b"01234567", "and has the bytes")
    for name, base in (("DRAM", BAR[4]), ("registers", BAR[0])):
        setup_queue(vm, C.host + base)
        bells(vm, 1)
        wait_until(lambda: vm.readl(STOPPED) & 1 == 1)
        is_(vm.readl(M2S + 0x24), 1, f"a ring in the own {name} through the host is an abort")
    errors = vm.get("chip", "guest-errors-undefined")
    own = C.host + BAR[0] + C.misc
    for offset, value in zip(C.nq_error, (own & 0xFFFFFFFF, own >> 32, 4096)):
        vm.writel(BAR[0] + C.nq(0) + offset, value)
    copy(vm, 1 << 63, C.host + TARGET)
    is_(vm.get("chip", "guest-errors-undefined"), errors + 2, "a notification queue in the own registers gets nothing")
    is_(mailbox(vm, BAR), True, "and the chip works")
    is_(vm.close(), 0, "QEMU leaves with status 0")


def table() -> int:
    """The table of the vectors' messages."""
    return BAR[C.ext_bar] + C.msix[0]


def start_interrupts(vm: Qemu) -> None:
    """Two vectors whose messages arm each other with a count that is wrong, which raises at once."""
    vm.enable(SLOT, BAR)
    at = vm.config_read(SLOT, 0x34) & 0xFF
    while vm.config_read(SLOT, at) & 0xFF != 0x11:
        at = vm.config_read(SLOT, at) >> 8 & 0xFF
    vm.config_write(SLOT, at, vm.config_read(SLOT, at) | 1 << 31)
    entries = BAR[C.ext_bar] + C.ext + C.nq_entries
    for vector, target in ((0, entries + 4), (1, entries)):
        for word, value in enumerate((target, 0, 7, 0)):
            vm.writel(table() + 16 * vector + 4 * word, value)
    vm.write(TARGET, bytes(8))
    vm.writel(entries, 7)


def test_interrupts_into_own_registers() -> None:
    vm = Qemu(*CHIP, "-device", DEVICE)
    start_interrupts(vm)
    is_(vm.qmp("query-status")["status"], "running", "QMP answers while two vectors raise each other")
    is_(mailbox(vm, BAR), True, "so does the mailbox")
    vm.writel(table() + 16, TARGET)
    wait_until(lambda: vm.readl(TARGET) == 7)
    is_(vm.readl(TARGET), 7, "they still did when one was led away")
    start_interrupts(vm)
    vm.qmp("stop")
    vm.qmp("cont")
    vm.qmp("system_reset")
    vm.enable(SLOT, BAR)
    is_(mailbox(vm, BAR), True, "a reset ends it")
    start_interrupts(vm)
    vm.qmp("device_del", id="chip")
    vm.command("outl", 0xAE10, 0)
    vm.command("outl", 0xAE08, 1 << SLOT)
    vm.wait_event("DEVICE_DELETED")
    is_(vm.close(), 0, "unplugged in the middle, QEMU leaves with status 0")


TESTS: list[Callable[[], None]] = [test_endless_work, test_own_bars, test_interrupts_into_own_registers]
for C in chips.CHIPS:
    choose(C)
    for test in TESTS:
        try:
            test()
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            is_(f"{type(error).__name__}: {error}", "no exception", test.__name__)
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
