#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: needs QEMU alone, no guest
"""Saved states of a chip that somebody has changed, given to QEMU's own loader.

A chip is saved in the middle of its work, its section of the stream is changed, and a new QEMU has to load it. It either
refuses, with a reason and status 1, or it runs: then it answers, stops, goes on, saves again and works after a reset.
Only the chip's own section is changed. Of the first type there are more states than of the later ones, unless NEURON_STATES says
how many; NEURON_SEED says which; NEURON_SANITIZE=1
loads them in the QEMU with sanitizers.
"""

import concurrent.futures
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import chips
import qtest
from qtest import Qemu

SLOT = 0x1F
LONG = os.environ.get("NEURON_TESTS") == "long"
COUNT = int(os.environ.get("NEURON_STATES", "0"))
FIRST, LATER = (600, 200) if LONG else (48, 16)
SEED = int(os.environ.get("NEURON_SEED", "1"))
OUTPUT = Path(os.environ.get("NEURON_OUTPUT", tempfile.gettempdir()))
SANITIZE = {"ASAN_OPTIONS": "detect_leaks=0:exitcode=99", "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}

REQUEST, RESPONSE, RINGS, TABLE, DATA, NOTES = 0x100000, 0x110000, 0x120000, 0x2000000, 0x200000, 0x500000
PAGE = 0x1000

# QEMU's migration stream
SECTION_START, SECTION_END, SECTION_FULL, FOOTER, DESCRIPTION, RAM_END = 0x01, 0x03, 0x04, 0x7E, 0x06, 0x10


results: list[bool] = []


def choose(chip: chips.Chip) -> None:
    """From here on it is this type: where its registers are, in a machine that has one."""
    global C, CHIP, BAR, EXT, MISC, MSIX_TABLE, QUEUE, HOST_WINDOW, READY
    C, BAR = chip, chip.bars[0]
    CHIP = ("-object", "neuron-fabric,id=f0,slots=4", "-device", f"{C.type},id=chip,addr=1f.0,fabric=f0,slot=0")
    EXT, HOST_WINDOW, READY = BAR[C.ext_bar] + C.ext, C.host, C.ready
    MISC, QUEUE, MSIX_TABLE = BAR[0] + C.misc, BAR[0] + C.udma(0), BAR[C.ext_bar] + C.msix[0]


def is_(got: object, wanted: object, name: str) -> None:
    name = f"{C.type}: {name}"
    results.append(got == wanted)
    print(f"{'ok' if got == wanted else 'not ok'} {len(results)} - {name}", flush=True)
    if got != wanted:
        print(f"#   got {got!r}\n#   wanted {wanted!r}", flush=True)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + qtest.DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")
        time.sleep(0.005)


# ---- a chip with much to save

def work(vm: Qemu) -> None:
    """A guarded queue in the middle of a packet, interrupts with one pending, an error queue, a semaphore."""
    vm.enable(SLOT, BAR)
    vm.write(TABLE, struct.pack("<Q", TABLE + 0x10000))
    vm.write(TABLE + 0x10000, struct.pack("<Q", TABLE + 0x11000))
    vm.write(TABLE + 0x11000, b"\5" * (16 << 20 >> 12))
    for offset, value in ((0x108, TABLE), (0x10C, 0), (0x140, 5), (C.guard_queue, 5), (0x100, 1)):
        vm.writel(EXT + offset, value)
    at = vm.config_read(SLOT, 0x34) & 0xFF
    while vm.config_read(SLOT, at) & 0xFF != 0x11:
        at = vm.config_read(SLOT, at) >> 8 & 0xFF
    vm.config_write(SLOT, at, vm.config_read(SLOT, at) | 1 << 31)
    for vector in range(C.cores):
        for word, value in enumerate((0x400000 + 4 * vector, 0, 0xC0DE00 + vector, vector & 1)):
            vm.writel(MSIX_TABLE + 16 * vector + 4 * word, value)
    for core in range(C.cores):
        for offset, value in zip(C.nq_error, (NOTES + PAGE * core, HOST_WINDOW >> 32, 4096)):
            vm.writel(BAR[0] + C.nq(core) + offset, value)
        vm.writel(EXT + C.nq_entries + 4 * core, 0)
        vm.writel(BAR[C.core_bar] + C.sem_dec(core), 1)  # below zero: an entry, an interrupt
    packets(vm)


def packets(vm: Qemu) -> None:
    """Two descriptors into four, of which two are there."""
    tx = [struct.pack("<IIQ", (0x05000000, 0x09000000)[i % 2] | 0x4000, 0x01080003, HOST_WINDOW | DATA) for i in range(64)]
    rx = [struct.pack("<IIQ", 0x01002000, 0, HOST_WINDOW | DATA + 0x100000) for i in range(64)]
    vm.write(RINGS, b"".join(tx))
    vm.write(RINGS + PAGE, b"".join(rx))
    for half, base in ((0x21000, RINGS + PAGE), (0x1000, RINGS)):
        for offset, value in ((0x28, base), (0x2C, HOST_WINDOW >> 32), (0x30, 64), (0x20, 0x03030000)):
            vm.writel(QUEUE + half + offset, value)
    vm.writel(QUEUE + 0x1000 + 0x38, 4)
    vm.writel(QUEUE + 0x21000 + 0x38, 2)
    wait_until(lambda: vm.readl(QUEUE + 0x21000 + 0x24) == 0)


def save(vm: Qemu, name: str) -> str:
    vm.qmp("migrate", uri=f"exec:cat >{name}")
    wait_until(lambda: vm.qmp("query-migrate").get("status") in ("completed", "failed"))
    return vm.qmp("query-migrate")["status"]


class Saved:
    """A stream without the pages of RAM, which make most of it, cut at the chip's section."""

    def __init__(self, data: bytes):
        devices = json.loads(self._description(data))["devices"]
        first = self._section(data, devices[0])
        chip = next(d for d in devices if d["vmsd_name"] == "neuron")
        begin = self._section(data, chip)
        self.fields = {}
        offset = 1 + 4 + 1 + len(chip["name"]) + 8
        for field in chip["fields"]:
            self.fields[field["name"]] = (offset, field["size"])
            offset += field["size"]
        end = begin + offset
        assert data[end] == FOOTER
        ram = data.index(b"\x03ram") - 5
        ident = data[ram + 1:ram + 5]
        done = data.index(struct.pack(">QB", RAM_END, FOOTER) + ident, ram) + 13
        assert data[ram] == SECTION_START
        no_pages = bytes([SECTION_END]) + ident + struct.pack(">QB", RAM_END, FOOTER) + ident
        self.head = data[:done] + no_pages + data[first:begin]
        self.section, self.tail = data[begin:end], data[end:]

    @staticmethod
    def _description(data: bytes) -> bytes:
        """The last section, its length before it: what it begins with is another in each version."""
        for found in re.finditer(rb'%c(.{4})(?=\{")' % DESCRIPTION, data, re.DOTALL):
            if found.end() + int.from_bytes(found[1], "big") == len(data):
                return data[found.end():]
        raise ValueError("no description at the stream's end")

    @staticmethod
    def _section(data: bytes, device: dict) -> int:
        name = device["name"].encode()
        text = bytes([len(name)]) + name + struct.pack(">II", device["instance_id"], device["version"])
        at = data.index(text) - 5
        assert data[at] == SECTION_FULL
        return at


# ---- changes

EXTREME = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


class Changes:
    def __init__(self, saved: Saved):
        self.saved, self.rng = saved, random.Random()
        self.at, self.size = saved.fields["saved"]
        # most of the state is zero; what is not is where it says something
        self.telling = [i for i in range(self.at, self.at + self.size) if saved.section[i]]

    def place(self) -> int:
        """In the chip's state."""
        if self.rng.random() < 0.3:
            return self.rng.randrange(self.at, self.at + self.size)
        near = self.rng.choice(self.telling) + self.rng.randrange(-8, 9)
        return min(max(near, self.at), self.at + self.size - 1)

    def bytes(self, data: bytearray) -> None:
        for _ in range(self.rng.randrange(1, 9)):
            data[self.place()] = self.rng.randrange(256)

    def words(self, data: bytearray) -> None:
        for _ in range(self.rng.randrange(1, 5)):
            at, size = self.place(), self.rng.choice((1, 2, 4, 8))
            at = min(at, self.at + self.size - size)
            data[at:at + size] = (self.rng.choice(EXTREME) & (1 << 8 * size) - 1).to_bytes(size, "little")

    def frame(self, data: bytearray) -> None:
        """QEMU's frame around a chip's state: PCI's registers, MSI-X, the slot, the size."""
        begin = self.saved.fields["parent_obj[0]"][0]
        for _ in range(self.rng.randrange(1, 4)):
            data[self.rng.randrange(begin, self.at)] = self.rng.randrange(256)

    def length(self, data: bytearray) -> None:
        """A size that is not what follows."""
        at, size = self.saved.fields["saved_size"]
        choices = (0, 1, 7, 8, 11, 12, self.size - 1, self.size + 1, 1 << 20, 64 << 20, (64 << 20) + 1, 1 << 31, (1 << 32) - 1)
        data[at:at + size] = self.rng.choice(choices).to_bytes(size, "big")

    def cut(self, data: bytearray) -> None:
        """Less or more of it, and the size says so."""
        at, size = self.place(), self.rng.choice((1, 4, 8, 64, 4096, 1 << 20))
        if self.rng.random() < 0.5:
            del data[at:min(at + size, self.at + self.size)]
        else:
            data[at:at] = self.rng.randbytes(size)
        where, width = self.saved.fields["saved_size"]
        data[where:where + width] = (len(data) - self.at).to_bytes(width, "big")

    def moved(self, data: bytearray) -> None:
        """A piece of it over another one."""
        size = self.rng.choice((4, 16, 256, 4096))
        source, target = (min(self.place(), self.at + self.size - size) for _ in range(2))
        data[target:target + size] = data[source:source + size]

    def header(self, data: bytearray) -> None:
        """The section's number, instance or version."""
        end = self.saved.fields["parent_obj[0]"][0]
        data[self.rng.choice((*range(1, 5), *range(end - 8, end)))] ^= 1 << self.rng.randrange(8)

    KINDS = ("bytes", "words", "frame", "length", "cut", "moved", "header", "end")

    def make(self, number: int) -> tuple[str, bytes]:
        """The stream of this number, which a seed makes the same every time."""
        self.rng.seed(f"{SEED} {number}")
        kind = self.KINDS[number % len(self.KINDS)]
        section = bytearray(self.saved.section)
        if kind == "end":  # of the file, in the section
            return kind, self.saved.head + section[:self.rng.randrange(len(section))]
        getattr(self, kind)(section)
        return kind, self.saved.head + bytes(section) + self.saved.tail


# ---- loading

def status_word(vm: Qemu) -> int:
    """The chip's answer to a question by mailbox; -1 for none."""
    vm.write(RESPONSE, bytes(12))
    vm.write(REQUEST, qtest.fwio_read_request(9, C.address(C.misc) + READY[0]))
    for offset, value in ((0x1F4, REQUEST), (0x1F0, HOST_WINDOW >> 32), (0x1FC, RESPONSE), (0x1F8, HOST_WINDOW >> 32)):
        vm.writel(MISC + offset, value)
    vm.writel(MISC + 0x800, 1)
    sequence, error, _, value = struct.unpack("<BBHI", vm.read(RESPONSE, 8))
    return value if sequence == 9 and not error else -1


def used(vm: Qemu) -> None:
    """A chip that was loaded: whatever it is at, it answers, and a reset brings it back."""
    for address in (MISC + READY[0], QUEUE + 0x1024, EXT + C.dma_stopped, BAR[C.core_bar]):
        vm.readl(address)  # where its BARs are, if they are
    for name in ("guest-errors-undefined", "sensor-power", "faults-fired"):
        vm.get("chip", name)
    vm.qmp("stop")
    vm.qmp("cont")
    if (said := save(vm, "/dev/null")) != "completed":
        raise RuntimeError(f"saved again: {said}")
    vm.qmp("cont")
    vm.qmp("system_reset")
    vm.enable(SLOT, BAR)
    wait_until(lambda: status_word(vm) == READY[1])
    if vm.close():
        raise RuntimeError("it ends with another status than 0")


def load(name: str) -> str:
    """"ran", "refused", or what is wrong."""
    vm = Qemu.__new__(Qemu)
    with tempfile.TemporaryFile("w+", errors="replace") as stderr:
        try:
            vm.__init__(*CHIP, "-incoming", f"exec:cat {name}", stderr=stderr)
            wait_until(lambda: vm.qmp("query-status")["status"] != "inmigrate")
            used(vm)
            return "ran"
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            trouble = f"{type(error).__name__}: {error}"
        try:
            status = vm.process.wait(qtest.DEADLINE)
        except subprocess.TimeoutExpired:
            vm.process.kill()
            return f"hangs: {trouble}"
        stderr.seek(0)
        said = stderr.read()
        if status == 1 and "load of migration failed" in said:
            return "refused"
        return f"status {status}: {trouble}: {said[-2000:]}"


def judged(number: int, kind: str, data: bytes) -> str:
    path = OUTPUT / f"hostile-state-{C.type}-{SEED}-{number}-{kind}.state"
    path.write_bytes(data)
    said = load(str(path))
    if said in ("ran", "refused"):
        path.unlink()
        return said
    return f"{path.name}: {said}"


def sanitize() -> None:
    """From here on it is the other QEMU."""
    os.environ.update(SANITIZE)
    done = subprocess.run([qtest.TOP / "scripts/build-qemu", "--sanitize"], stdout=subprocess.PIPE, check=True, text=True)
    qtest.qemu_binary = lambda: done.stdout.strip() + "/qemu-system-x86_64"


def check(count: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        vm = Qemu(*CHIP)
        work(vm)
        is_(save(vm, file.name), "completed", "a chip in the middle of its work is saved")
        vm.close()
        saved = Saved(Path(file.name).read_bytes())
    is_(judged(0, "unchanged", saved.head + saved.section + saved.tail), "ran", "unchanged, it is loaded")
    numbers = [int(word) for word in sys.argv[1:]] or list(range(count))
    lock, changes = threading.Lock(), Changes(saved)
    said: dict[str, list[str]] = {kind: [] for kind in Changes.KINDS}

    def one(number: int) -> None:
        with lock:
            kind, data = changes.make(number)
        said[kind].append(judged(number, kind, data))

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(one, numbers))
    for kind, whats in said.items():
        ran, refused = whats.count("ran"), whats.count("refused")
        wrong = [what for what in whats if what not in ("ran", "refused")]
        is_(wrong, [], f"{kind}: {ran} run, {refused} are refused")
    everything = {what for whats in said.values() for what in whats}
    if len(numbers) > len(Changes.KINDS):
        is_({"ran", "refused"} - everything, set(), "some run, some are refused")


if os.environ.get("NEURON_SANITIZE"):
    sanitize()
for chip in chips.CHIPS:
    choose(chip)
    check(COUNT or (FIRST if chip is chips.INFERENTIA else LATER))
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
