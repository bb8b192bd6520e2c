# SPDX-License-Identifier: MIT
"""The types of chips for tests that drive them over qtest: numbers of docs/hardware.md, written down once more.

A suite runs for each of CHIPS, or for those that NEURON_CHIPS names.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

GIB = 1 << 30
DIE = 0x800000000000


@dataclass(frozen=True)
class Chip:
    type: str
    pci_id: int
    arch: int
    cores: int
    engines: int
    bar_size: dict[int, int]
    # where a test puts the BARs of its first chip, and of its second
    bars: tuple[dict[int, int], dict[int, int]]
    host: int  # the bit of a host address
    east: int  # the window of the first port
    misc: int  # offset in BAR0
    address: Callable[[int], int]  # the device address of a register's offset in BAR0
    udma: Callable[[int], int]  # of an engine: offset in BAR0
    core_bar: int
    core: Callable[[int], int]  # of a core's window: offset in its BAR
    core_address: Callable[[int], int]
    semaphores: int  # from one window of them to the next
    nq: Callable[[int], int]  # of a core's registers of notification queues, in BAR0
    nq_error: tuple[int, int, int, int]  # base low and high, size, head
    memories: tuple[tuple[int, int], ...]  # device address, offset in BAR4
    memory: int  # bytes of each
    ext_bar: int
    ext: int  # our registers in it
    dma_stopped: int
    nq_entries: int
    guard_queue: int
    dma_descs: int  # of core 0
    msix: tuple[int, int]  # table and pending bits, in the BAR of our registers
    ready: tuple[int, int]  # a word of MISC RAM, and what it reads when the chip is ready and alone

    def queue(self, engine: int, queue: int, s2m: bool) -> int:
        return self.udma(engine) + 0x1000 * (queue + 1) + 0x20000 * s2m

    def topsps(self) -> list[int]:
        """The offsets in BAR0 of the windows of the chip's TOP_SPs."""
        windows = {2: [(0x10000000, 6)], 3: [(0xF0000000, 8), (0xF2800000, 8)]}.get(self.arch, [])
        return [start + 0x400000 * i for start, count in windows for i in range(count)]

    def sem_dec(self, core: int) -> int:
        return self.core(core) + 0x2701000 + 3 * self.semaphores


INFERENTIA = Chip(
    type="neuron-inferentia", pci_id=0x7064, arch=1, cores=4, engines=12,
    bar_size={0: 16 << 20, 2: 256 << 20, 4: 8 * GIB},
    bars=({0: 0xE0000000, 2: 0xD0000000, 4: 0x400000000}, {0: 0xE1000000, 2: 0xC0000000, 4: 0x600000000}),
    host=1 << 46, east=1 << 47, misc=0x78E000,
    address=lambda offset: 0xFFFF0000000 + offset,
    udma=lambda engine: 0x40000 + engine // 3 * 0x100000 + engine % 3 * 0x40000,
    core_bar=2, core=lambda core: 0x4000000 * core, core_address=lambda core: 0xFFFC0000000 + 0x4000000 * core,
    semaphores=0x100, nq=lambda core: 0x404000 + 0x10000 * core, nq_error=(0x1074, 0x1078, 0x107C, 0x108C),
    memories=((0, 0), (0x1000000000, 4 * GIB)), memory=4 * GIB,
    ext_bar=0, ext=0x800000, dma_stopped=0x80, nq_entries=0xC0, guard_queue=0x200, dma_descs=0x1110,
    msix=(0x810000, 0x818000), ready=(0x1C, 0x80000000))


# The common part of chips with NeuronCore-v2 and later
V2 = {
    "bars": ({0: 0x1000000000, 2: 0xD0000000, 4: 0x4000000000}, {0: 0x1100000000, 2: 0xC0000000, 4: 0x8000000000}),
    "east": 1 << 52, "core_bar": 0, "semaphores": 0x400, "nq_error": (0x1C8, 0x1CC, 0x1D0, 0x1D4), "ext_bar": 2, "ext": 0,
    "dma_stopped": 0x200, "nq_entries": 0x60, "guard_queue": 0x4000, "dma_descs": 0x1150, "msix": (0x8000, 0xC000),
    "ready": (0x808, 0),
}


def of_trainium(name: str, pci_id: int) -> Chip:
    return Chip(
        type=name, pci_id=pci_id, arch=2, cores=2, engines=34, bar_size={0: GIB, 2: 0x10000, 4: 32 * GIB}, host=1 << 44,
        misc=0x30FA0000, address=lambda offset: 0xFFFC0000000 + offset,
        udma=lambda e: 0x30000000 + (0x700000 * (e // 16) + 0x40000 * (e % 16) if e < 32 else 0x600000 + 0x700000 * (e - 32)),
        core=lambda core: 0x4000000 * core, core_address=lambda core: 0xFFFC0000000 + 0x4000000 * core,
        nq=lambda core: 0x30535000 + 0x700000 * core, memories=((0, 0), (0x1000000000, 16 * GIB)), memory=16 * GIB, **V2)


def trainium2_address(offset: int) -> int:
    if offset < 0x80000000:
        return (DIE if offset & 0x40000000 else 0) + 0x8000000000 + (offset & 0x3FFFFFFF)
    die = DIE if offset & 0x20000000 else 0
    return die + (0x4000000000 if offset & 0x10000000 else 0) + 0x1000000000 + (offset & 0xFFFFFFF)


def trainium2_udma(engine: int) -> int:
    if engine < 128:
        return 0x82000000 + 0x10000000 * (engine // 32) + 0x2000000 * (engine // 32 % 2) + 0x100000 * (engine % 32)
    return (0x6800000 if engine < 130 else 0x46800000) + 0x100000 * (engine % 2)


def of_trainium2(name: str, pci_id: int, memory: int) -> Chip:
    slots = ((0, 0), (0x4000000000, 64 * GIB), (DIE, 128 * GIB), (DIE + 0x4000000000, 192 * GIB))
    return Chip(
        type=name, pci_id=pci_id, arch=3, cores=8, engines=132, bar_size={0: 4 * GIB, 2: 0x10000, 4: 256 * GIB}, host=1 << 46,
        misc=0x6C84000, address=trainium2_address, udma=trainium2_udma, core=lambda core: 0xD0000000 + 0x4000000 * core,
        core_address=lambda core: (DIE if core & 4 else 0) + (0x4000000000 if core & 2 else 0) + 0x2000000000
        + (0x1000000000 if core & 1 else 0),
        nq=lambda core: (0x40001000 if core & 4 else 0x1000) + (0x6400000 if core & 2 else 0x6000000) + 0x180000 * (core & 1),
        memories=slots, memory=memory, **{**V2, "east": 1 << 54})  # bit 52 leads to other instances


ALL = (INFERENTIA, of_trainium("neuron-trainium", 0x7164), of_trainium("neuron-inferentia2", 0x7264),
       of_trainium2("neuron-trainium2", 0x7364, 24 * GIB), of_trainium2("neuron-trainium3", 0x7564, 36 * GIB))
CHIPS = tuple(chip for chip in ALL if chip.type in os.environ.get("NEURON_CHIPS", chip.type).split())
