#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: needs QEMU alone, no guest
"""The QEMU device's own duties, of each type: properties, refusals, BARs, DMA limits, errors, saved state."""

import concurrent.futures
import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import chips
import qtest
from chips import Chip
from qtest import Qemu

SLOT = 0x1F
CHIP = ("-object", "neuron-fabric,id=f0,slots=4")
REQUEST, RESPONSE, RINGS = 0x100000, 0x110000, 0x120000
BIOS = 0xFFFF0000
STATE_MAGIC = (0x5249484355524E).to_bytes(8, "little")  # opens the core's saved state
LONG = os.environ.get("NEURON_TESTS") == "long"
SERIAL = 0x38  # in MISC RAM: slot n's is n + 1

C: Chip  # the type that is tested
BAR: dict[int, int]
MISC = EXT = 0  # addresses of its MISC RAM and of our registers
results: list[bool] = []


def choose(chip_type: Chip) -> None:
    global C, BAR, MISC, EXT
    C, BAR = chip_type, chip_type.bars[0]
    MISC, EXT = BAR[0] + C.misc, BAR[C.ext_bar] + C.ext


def device(*more: str, slot: int = 0) -> str:
    where = ("id=chip,addr=1f.0", "id=east,addr=1e.0")[slot]
    return ",".join((C.type, where, f"fabric=f0,slot={slot}", *more))


def queue(engine: int, index: int, s2m: bool) -> int:
    return BAR[0] + C.queue(engine, index, s2m)


def is_(got: object, wanted: object, name: str) -> None:
    results.append(got == wanted)
    name = f"{C.type}: {name}"
    print(f"{'ok' if got == wanted else 'not ok'} {len(results)} - {name}", flush=True)
    if got != wanted:
        print(f"#   got {got!r}\n#   wanted {wanted!r}", flush=True)


def chip(*more: str, properties: str = "") -> Qemu:
    return Qemu(*CHIP, "-device", device(properties) if properties else device(), *more)


def fwio(vm: Qemu, register: int, sequence: int, response: int = RESPONSE, window: int = 0) -> int | None:
    """Asks the mailbox for a MISC RAM word, the chip's own or a neighbour's; None without an answer."""
    vm.write(RESPONSE, bytes(8))
    vm.write(REQUEST, qtest.fwio_read_request(sequence, window | C.address(C.misc + register)))
    for offset, value in [(0x1F4, REQUEST), (0x1F0, (REQUEST | C.host) >> 32),
                          (0x1FC, response & 0xFFFFFFFF), (0x1F8, (response | C.host) >> 32)]:
        vm.writel(MISC + offset, value)
    vm.writel(MISC + 0x800, 1)
    got, error, _size, value = struct.unpack("<BBHI", vm.read(RESPONSE, 8))
    return value if got == sequence and not error else None


def link(vm: Qemu, sequence: int) -> bool:
    """Is there a neighbour in the east? The status word says so too, where it has links."""
    register, alone = C.ready
    got = fwio(vm, SERIAL, sequence, window=C.east)
    is_(fwio(vm, register, sequence + 1), alone | (C.arch == 1 and got is not None), "the status word")
    return got == 2


def test_help() -> None:
    done = subprocess.run([qtest.qemu_binary(), "-device", f"{C.type},help"], capture_output=True, text=True)
    ours = ["dram-bar-size", "fabric", "nan-fill", "on-guest-error", "pool", "ring-id-check", "serial", "slot", "firmware-version",
            "server-id"]
    lines = {line.split("=")[0].strip(): line for line in done.stdout.splitlines()}
    is_([name for name in ours if " - " not in lines.get(name, "")], [], "help describes every property")
    for m in range(len(C.memories)):
        ours += [f"sensor-dram{m}-ecc-{kind}" for kind in ("corrected", "uncorrected")]
    undescribed = [n for n, line in lines.items() if n.startswith(("sensor-", "guest-errors-", "fault")) and " - " not in line]
    is_(undescribed, [], "and every sensor, counter and fault")


def test_refusals() -> None:
    for name, args, wanted in [
        ("a BAR size that is no power of two", [f"{C.type},dram-bar-size=3M"], "power of two"),
        ("a BAR larger than the DRAM", [f"{C.type},dram-bar-size={2 * C.bar_size[4]}"], "power of two"),
        ("a slot without a fabric", [f"{C.type},slot=1"], "slot needs fabric"),
        ("a slot beyond the fabric", [f"{C.type},fabric=f0,slot=4"], "cannot create the chip in slot 4"),
        ("a slot that is taken", [f"{C.type},fabric=f0,slot=2"] * 2, "cannot create the chip in slot 2"),
        ("an unknown reaction", [f"{C.type},on-guest-error=panic"], "on-guest-error"),
        ("no version of a firmware", [f"{C.type},firmware-version=8"], "1 to 7 expected"),
        ("nor is 0 one", [f"{C.type},firmware-version=0"], "1 to 7 expected"),
        ("no server's number", [f"{C.type},server-id=32768"], "server-id 32768"),
        ("the abstract base", ["neuron-base"], "abstract"),
    ]:
        said = qtest.refused(*CHIP, *[word for device in args for word in ("-device", device)])
        is_(wanted if wanted in said else said, wanted, f"refused: {name}")
    said = qtest.refused("-object", "neuron-fabric,id=f0,topology=star")
    is_("line or ring" in said, True, "refused: an unknown topology")
    said = qtest.refused("-object", "neuron-trim,id=t0,seconds=0")
    is_("1 to 3600 expected" in said, True, "refused: no time to be idle in")


def test_config_space() -> None:
    vm = chip()
    ids = hex(C.pci_id << 16 | 0x1D0F)
    is_(hex(vm.config_read(SLOT, 0x00)), ids, "vendor and device id")
    is_(hex(vm.config_read(SLOT, 0x08)), "0x8800001", "class 0x088000, revision 1")
    is_(hex(vm.config_read(SLOT, 0x2C)), ids, "subsystem ids")
    for bar, size in C.bar_size.items():
        flags = 0xC if bar == 4 or C.arch > 1 else 0x4
        for half in (0, 4):
            vm.config_write(SLOT, 0x10 + 4 * bar + half, 0xFFFFFFFF)
        low, high = (vm.config_read(SLOT, 0x10 + 4 * bar + half) for half in (0, 4))
        mask = (high << 32 | low) & ~0xF
        is_((low & 0xF, (1 << 64) - mask), (flags, size), f"BAR{bar}: type and size")
    pointer = vm.config_read(SLOT, 0x34) & 0xFF
    words = [vm.config_read(SLOT, pointer + 4 * i) for i in range(14)]
    version, size = (1, 0x18) if C.arch == 1 else (2, 0x38)
    is_((words[0] & 0xFF, words[0] >> 16 & 0xFF), (0x09, size), "a vendor-specific capability")
    is_(words[1], 0x4E55524E, "with our magic")
    is_((words[2] & 0xFFFF, words[2] >> 16 & 0xFF), (version, C.ext_bar), "its version, and the BAR of our registers")
    is_((words[4], words[5]), (0x800000, 0x10000) if version == 1 else (0, 0x8000), "their place there and size")
    if version == 2:
        is_(words[6:], [0x40, 0x200, 0x60, 0x140, 0x4000, 0x1000, 0x200, 0x140], "places of what there is one of a core or engine")
    is_(vm.close(), 0, "QEMU leaves with status 0")


def test_memory_and_reset() -> None:
    vm = chip()
    vm.enable(SLOT, BAR)
    ends = [at + end for _, at in C.memories for end in (0, C.memory - 16)]
    for i, at in enumerate(ends):
        vm.write(BAR[4] + at, bytes(range(i, i + 16)))
    is_([vm.read(BAR[4] + at, 16)[0] for at in ends], list(range(len(ends))), "BAR4 is all memories")
    between = [vm.read(BAR[4] + at + C.memory, 4) for _, at in C.memories[:-1] if at + C.memory not in ends]
    is_(len(set(between)) <= 1, True, "between them there is nothing")
    vm.qmp("system_reset")
    vm.enable(SLOT, BAR)
    is_([vm.read(BAR[4] + at, 16) for at in ends], [bytes(16)] * len(ends), "memory reads zero after a reset")
    vm.close()
    vm = chip(properties="dram-bar-size=64M")
    vm.config_write(SLOT, 0x20, 0xFFFFFFFF)
    is_((vm.config_read(SLOT, 0x20) & ~0xF) ^ 0xFFFFFFFF, (64 << 20) - 1, "dram-bar-size is honoured")
    vm.close()


def test_mailbox() -> None:
    vm = chip("-device", device(slot=1))
    vm.enable(SLOT, BAR)
    is_(link(vm, 2), True, "through the mailbox: a neighbour in the east, none in the west")
    before = vm.get("chip", "guest-errors-undefined")
    is_(fwio(vm, SERIAL, 4, BAR[0] + 0x100), None, "no answer into the chip's own BAR")
    is_(fwio(vm, SERIAL, 5, 0xFFFFFFF0000), None, "nor where no memory is")
    total = sum(vm.get("chip", f"guest-errors-{kind}") for kind in
                ("undefined", "unsupported", "unimplemented", "implementation-defined"))
    is_(total - before >= 2, True, "both are counted as guest errors")
    is_(fwio(vm, SERIAL, 6), 1, "and the mailbox still works")
    vm.set("chip", "sensor-sram-ecc-corrected", 3)
    vm.set("chip", "sensor-sram-ecc-uncorrected", 1)
    is_(fwio(vm, 0x40, 7), 3 << 16 | 1, "a sensor set from outside is what the mailbox shows")
    is_(vm.get("chip", "sensor-sram-ecc-corrected"), 3, "and what QOM shows")
    for memory in range(len(C.memories)):
        vm.set("chip", f"sensor-dram{memory}-ecc-corrected", 10 + memory)
        vm.set("chip", f"sensor-dram{memory}-ecc-uncorrected", 20 + memory)
    is_([vm.readl(MISC + 0x44 + 4 * memory) for memory in range(len(C.memories))],
        [10 + memory << 16 | 20 + memory for memory in range(len(C.memories))], "so are those of each memory, in its own word")
    vm.close()


def test_firmware() -> None:
    """The versions themselves: tests/unit/core/test_firmware."""
    vm = chip()
    vm.enable(SLOT, BAR)
    is_((vm.readl(MISC), vm.readl(MISC + 0x70)), (3 if C.arch == 1 else 5, 0), "the firmware's version, and no server")
    vm.close()
    vm = chip(properties="firmware-version=7" + (",server-id=291" if C.arch > 1 else ""))
    vm.enable(SLOT, BAR)
    is_((vm.readl(MISC), vm.readl(MISC + 0x70)), (7, 0x8123 if C.arch > 1 else 0), "those that were chosen")
    vm.set("chip", "sensor-sram-ecc-uncorrected", 3)
    vm.set("chip", "sensor-dram0-ecc-uncorrected", 2)
    is_((vm.readl(MISC + 0x40), vm.readl(MISC + 0x44)), (3, 2 << 12),
        "and the form of a memory's word of errors is that version's, of the SRAM's as before")
    vm.close()
    if C.arch == 1:
        said = qtest.refused(*CHIP, "-device", device("server-id=1"))
        is_("this chip has none" in said or said, True, "a server's number is refused where chips do not tell it")


def test_faults() -> None:
    """Properties alone; what each fault does is shown by tests/unit/core/test_fault and by fault-*.t."""
    rows = re.findall(r'^NEURON_FAULT\(\w+, "([a-z-]+)"', (qtest.TOP / "include/neuron/hw/faults.def").read_text(), re.M)
    vm = chip(properties="fault-mailbox-silence=1:after=1")
    vm.enable(SLOT, BAR)
    names = [row["name"] for row in vm.qmp("device-list-properties", typename=C.type)]
    is_(sorted(name for name in names if name.startswith("fault-")), sorted(f"fault-{row}" for row in rows),
        "a property each")
    is_(vm.get("chip", "fault-mailbox-silence"), "1:after=1", "injected on the command line")
    answers = [fwio(vm, SERIAL, sequence) for sequence in (2, 3, 4)]
    is_(answers, [1, None, 1], "the second request is not answered, the third is")
    is_(vm.get("chip", "fault-mailbox-silence"), "off", "then it is over")
    vm.set("chip", "fault-mailbox-bad-crc", "2")
    is_(fwio(vm, SERIAL, 5), None, "injected while the VM runs")
    vm.qmp("system_reset")
    vm.enable(SLOT, BAR)
    is_(vm.get("chip", "fault-mailbox-bad-crc"), "1", "a reset leaves it injected")
    is_(fwio(vm, SERIAL, 6), None, "and it strikes")
    is_(vm.get("chip", "faults-fired"), "mailbox-silence=1 mailbox-bad-crc=2", "what has struck is counted")
    try:
        vm.set("chip", "fault-dma-abort", "sometimes")
    except RuntimeError as error:
        is_(str(error), 'fault-dma-abort: "sometimes" is no specification of this fault', "nonsense is refused")
    is_(vm.get("chip", "fault-dma-abort"), "off", "and changes nothing")
    said = qtest.refused(*CHIP, "-device", device("fault-link-east-down=5"))
    is_("is no specification" in said or said, True, "on the command line too")
    vm.close()


def test_stop_vm() -> None:
    vm = chip(properties="on-guest-error=stop-vm")
    vm.enable(SLOT, BAR)
    fwio(vm, SERIAL, 2, BAR[0] + 0x100)
    vm.wait_event("STOP")
    is_(vm.qmp("query-status")["status"], "paused", "on-guest-error=stop-vm pauses the VM")
    vm.close()


def save(vm: Qemu, name: str) -> str:
    vm.qmp("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    vm.qmp("migrate", uri=f"exec:cat >{name}")
    while (status := vm.qmp("query-migrate").get("status")) in ("setup", "active", "device"):
        pass
    return status


def test_saved_state() -> None:
    with tempfile.NamedTemporaryFile() as file:
        vm = chip()
        vm.enable(SLOT, BAR)
        vm.write(BAR[4] + (5 << 30), b"device DRAM")
        vm.writel(MISC + 0xC0, 7)
        for i, window in enumerate(C.topsps()):
            vm.writel(BAR[0] + window + 0x1800 + 4 * 255, 5 + i)  # adds to the last semaphore
            vm.writel(BAR[0] + window, 9)  # the first event
        vm.set("chip", "sensor-power", 1234)
        is_(save(vm, file.name), "completed", "a chip at rest is saved")
        vm.close()

        vm = chip("-incoming", f"exec:cat {file.name}")
        while vm.qmp("query-status")["status"] == "inmigrate":
            pass
        is_(vm.read(BAR[4] + (5 << 30), 11), b"device DRAM", "its DRAM comes back")
        is_(fwio(vm, 0xC0, 9), 7, "and its registers")
        is_([(vm.readl(BAR[0] + window + 0x13FC), vm.readl(BAR[0] + window)) for window in C.topsps()],
            [(5 + i, 9) for i in range(len(C.topsps()))], "and its TOP_SPs' semaphores and events")
        is_(vm.close(), 0, "QEMU leaves with status 0")

        for what, offset, wanted in [("of another version", len(STATE_MAGIC), "a state of another version"),
                                     ("of a gigabyte", -4, "size of the chip's state")]:
            data = bytearray(open(file.name, "rb").read())
            data[data.index(STATE_MAGIC) + offset] ^= 0x40
            with tempfile.NamedTemporaryFile() as bad:
                bad.write(data)
                bad.flush()
                said = qtest.refused("-m", "64", *CHIP, "-device", device(), "-incoming", f"exec:cat {bad.name}")
            is_(wanted in said or said, True, f"a state {what} is refused, saying so")


def forward(source: socket.socket, target: socket.socket, change: Callable[[bytearray], None]) -> None:
    """All that the source sends; what change does to a state's head, which may come in pieces."""
    kept = b""
    with contextlib.suppress(OSError):  # either may have given up
        while chunk := source.recv(1 << 16):
            data = bytearray(kept + chunk)
            change(data)
            held = max(n for n in range(len(STATE_MAGIC) + 1) if data.endswith(STATE_MAGIC[:n]))
            kept = bytes(data[len(data) - held:])
            target.sendall(data[:len(data) - held])
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def other_version(data: bytearray) -> None:
    at = data.find(STATE_MAGIC)
    if 0 <= at < len(data) - len(STATE_MAGIC):
        data[at + len(STATE_MAGIC)] ^= 0x40


def test_live_refusal() -> None:
    """Between two processes, with a return path: the source learns of it, and goes on."""
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor() as threads:
        vm = chip()
        vm.enable(SLOT, BAR)
        vm.writel(MISC + 0xC0, 7)
        path, middle = Path(name) / "wire", Path(name) / "middle"
        target = threads.submit(qtest.refused, "-m", "64", *CHIP, "-device", device(), "-incoming", f"unix:{path}")
        wait_until(path.exists)
        listener = Qemu._listen(str(middle))
        vm.qmp("migrate-set-capabilities", capabilities=[{"capability": "return-path", "state": True}])
        vm.qmp("migrate", uri=f"unix:{middle}")
        source, _ = listener.accept()
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(str(path))
        threads.submit(forward, wire, source, lambda data: None)
        threads.submit(forward, source, wire, other_version)
        said = target.result(qtest.DEADLINE)
        wanted = "cannot load the chip's state: a state of another version"
        is_(wanted in said or said, True, "another version offered by a live migration is refused, saying so")
        wait_until(lambda: vm.qmp("query-migrate").get("status") in ("completed", "failed"))
        is_(vm.qmp("query-migrate")["status"], "failed", "the source is told")
        wait_until(lambda: vm.qmp("query-status")["status"] == "running")
        is_(fwio(vm, 0xC0, 9), 7, "and its chip goes on")
        is_(vm.close(), 0, "QEMU leaves with status 0")


def test_unplug() -> None:
    vm = chip("-device", device(slot=1))
    vm.enable(SLOT, BAR)
    vm.write(BAR[4], b"in use")
    is_(link(vm, 2), True, "a neighbour in the east")
    for _ in range(2):
        vm.qmp("device_del", id="east")
        # the guest's part: ACPI eject of slot 1e (bus selector, then the slot's bit)
        vm.command("outl", 0xAE10, 0)
        vm.command("outl", 0xAE08, 1 << 0x1E)
        vm.wait_event("DEVICE_DELETED")
        vm.events.clear()
        is_(link(vm, 4), False, "unplugged: the link is down")
        vm.qmp("device_add", driver=C.type, id="east", bus="pci.0", addr="1e.0", fabric="f0", slot=1)
        is_(link(vm, 6), True, "plugged again: the link is up")
    is_(vm.close(), 0, "QEMU leaves with status 0")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + qtest.DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")


def ring(vm: Qemu, engine: int, index: int, count: int) -> None:
    """Sets a queue up on the rings at RINGS, and rings it."""
    for s2m, base in ((True, RINGS + 0x1000), (False, RINGS)):
        block = queue(engine, index, s2m)
        vm.writel(block + 0x28, base)
        vm.writel(block + 0x2C, C.host >> 32)
        vm.writel(block + 0x30, 128)
        vm.writel(block + 0x20, 0x03030000)
    for s2m in (True, False):
        vm.writel(queue(engine, index, s2m) + 0x38, count)


def reset_queue(vm: Qemu, engine: int, index: int) -> None:
    vm.writel(queue(engine, index, False) + 0xB0, 0x100)
    vm.writel(queue(engine, index, True) + 0x64, 0x100)


def fill_rings(vm: Qemu, source: int, target: int) -> None:
    vm.write(RINGS, struct.pack("<IIQ", 0x0D001000, 0x01080003, C.host | source) * 128)
    vm.write(RINGS + 0x1000, struct.pack("<IIQ", 0x01001000, 0, C.host | target) * 128)


def test_pool_outlives_its_name() -> None:
    vm = chip()
    vm.enable(SLOT, BAR)
    vm.qmp("object-del", id="neuron-default-pool")
    vm.write(0x200000, b"by a worker")
    fill_rings(vm, 0x200000, 0x300000)
    ring(vm, 0, 0, 100)
    wait_until(lambda: vm.readl(queue(0, 0, False) + 0x24) == 0)
    is_(vm.read(0x300000, 11), b"by a worker", "the default pool lives as long as a chip uses it")
    is_(vm.close(), 0, "QEMU leaves with status 0")


VECTOR_RAM = 0x400000  # a message is a write: here it lands in RAM, where it can be seen


def capability(vm: Qemu, wanted: int) -> int:
    at = vm.config_read(SLOT, 0x34) & 0xFF
    while at and vm.config_read(SLOT, at) & 0xFF != wanted:
        at = vm.config_read(SLOT, at) >> 8 & 0xFF
    return at


def msix(which: int) -> int:
    return BAR[C.ext_bar] + C.msix[which]


def enable_msix(vm: Qemu) -> None:
    at = capability(vm, 0x11)
    vm.config_write(SLOT, at, vm.config_read(SLOT, at) | 1 << 31)
    for vector in range(C.cores):
        for word, value in enumerate((VECTOR_RAM + 4 * vector, 0, 0xC0DE00 + vector, 0)):
            vm.writel(msix(0) + 16 * vector + 4 * word, value)


def error_queue(vm: Qemu, core: int) -> None:
    for offset, value in zip(C.nq_error, (0x500000 + 0x1000 * core, C.host >> 32, 4096)):
        vm.writel(BAR[0] + C.nq(core) + offset, value)


def make_entry(vm: Qemu, core: int) -> None:
    vm.writel(BAR[C.core_bar] + C.sem_dec(core), 1)  # subtract from a semaphore that is 0


def message(vm: Qemu, vector: int) -> int:
    return vm.readl(VECTOR_RAM + 4 * vector)


def test_interrupts() -> None:
    with tempfile.NamedTemporaryFile() as file:
        vm = chip()
        vm.enable(SLOT, BAR)
        at = capability(vm, 0x11)
        is_((vm.config_read(SLOT, at) >> 16 & 0x7FF, vm.config_read(SLOT, at + 4), vm.config_read(SLOT, at + 8)),
            (C.cores - 1, C.msix[0] | C.ext_bar, C.msix[1] | C.ext_bar), "MSI-X: a vector a core, table and pending bits by our registers")
        is_(vm.config_read(SLOT, capability(vm, 0x09) + 0x0C) & 8, 8, "and the capability announces interrupts")
        enable_msix(vm)
        error_queue(vm, 1)
        vm.writel(EXT + C.nq_entries + 4, 0)
        make_entry(vm, 1)
        wait_until(lambda: message(vm, 1) == 0xC0DE01)
        is_(vm.readl(EXT + C.nq_entries + 4), 1, "an entry of core 1 sends vector 1's message")
        vm.write(VECTOR_RAM, bytes(16))
        vm.writel(msix(0) + 0x1C, 1)
        vm.writel(EXT + C.nq_entries + 4, 1)
        make_entry(vm, 1)
        wait_until(lambda: vm.readl(msix(1)) == 2)
        is_(vm.read(VECTOR_RAM, 16), bytes(16), "masked: the pending bit instead")
        save(vm, file.name)
        vm.close()

        vm = chip("-incoming", f"exec:cat {file.name}")
        wait_until(lambda: vm.qmp("query-status")["status"] != "inmigrate")
        is_((vm.readl(msix(1)), vm.readl(EXT + C.nq_entries + 4)), (2, 2), "the pending bit and the count travel with the VM")
        vm.writel(msix(0) + 0x1C, 0)
        is_(message(vm, 1), 0xC0DE01, "unmasked: the message is sent")
        is_(vm.readl(msix(1)), 0, "and nothing is pending")
        is_(vm.close(), 0, "QEMU leaves with status 0")


TX_SIZE, RX_SIZE, PACKETS = 64 << 10, 40 << 10, 4  # a packet: two TX descriptors into four RX ones


def write_packets(vm: Qemu) -> bytes:
    """Rings that copy from memory 0 to memory 1; what that has to hold at the end."""
    tx = rx = wanted = b""
    for i in range(2 * PACKETS):
        vm.command("memset", BAR[4] + i * TX_SIZE, TX_SIZE, 1 + i)
        tx += struct.pack("<IIQ", 0x01000000 | (0x04000000, 0x08000000)[i % 2], 0x01080003, i * TX_SIZE)
    for i in range(4 * PACKETS):
        rx += struct.pack("<IIQ", 0x01000000 | RX_SIZE, 0, C.memories[1][0] + i * RX_SIZE)
    for packet in range(PACKETS):
        data = bytes([1 + 2 * packet]) * TX_SIZE + bytes([2 + 2 * packet]) * TX_SIZE
        wanted += data.ljust(4 * RX_SIZE, b"\0")
    vm.write(RINGS, tx)
    vm.write(RINGS + 0x1000, rx)
    return wanted


def moved(vm: Qemu) -> Qemu:
    """Moves the state of a QEMU, which ends, into another one."""
    with tempfile.NamedTemporaryFile() as file:
        vm.qmp("migrate", uri=f"exec:cat >{file.name}")
        wait_until(lambda: vm.qmp("query-migrate").get("status") in ("completed", "failed"))
        vm.close()
        vm = chip("-incoming", f"exec:cat {file.name}")
        wait_until(lambda: vm.qmp("query-status")["status"] != "inmigrate")
    return vm


def test_saved_in_dma() -> None:
    """A copy stands where it has no RX descriptors left: between packets, in one, in a descriptor."""
    tx, rx = queue(0, 0, False), queue(0, 0, True)
    for rung in (2, 5, 8) if C.arch == 1 or LONG else (5,):  # the larger ones take longer to move
        vm = chip()
        vm.enable(SLOT, BAR)
        wanted = write_packets(vm)
        ring(vm, 0, 0, 0)
        vm.writel(tx + 0x38, 2 * PACKETS)
        vm.writel(rx + 0x38, rung)
        wait_until(lambda: vm.readl(rx + 0x24) == 0)
        left = vm.readl(tx + 0x24)
        vm = moved(vm)
        is_((left > 0, vm.readl(tx + 0x24)), (True, left), f"saved after {rung} RX descriptors, as it stood")
        vm.writel(rx + 0x38, 4 * PACKETS - rung)
        wait_until(lambda: vm.readl(tx + 0x24) == 0)
        is_(vm.read(BAR[4] + C.memories[1][1], len(wanted)) == wanted, True, "loaded, it copies the rest, byte for byte")
        is_(vm.readl(EXT + C.dma_stopped), 0, "and no queue has stopped")
        vm.close()


TABLE, MIDDLE, LEAF = 0x2000000, 0x2010000, 0x2011000  # 64 KiB, a page, a page for each 16 MiB
PAGE, SOURCE, MINE, THEIRS, NOTES = 0x1000, 0x200000, 0x300000, 0x400000, 0x500000
DOMAIN = 5


def guard_on(vm: Qemu) -> None:
    """Queue 0 of engine 0, and core 0, are of a domain that has the rings, SOURCE, MINE and NOTES."""
    vm.write(TABLE, struct.pack("<Q", MIDDLE))
    vm.write(MIDDLE, struct.pack("<4Q", *(LEAF + PAGE * i for i in range(4))))
    for address, pages in ((RINGS, 2), (SOURCE, 4), (MINE, 4), (NOTES, 1)):
        vm.write(LEAF + address // PAGE, bytes([DOMAIN]) * pages)
    for offset, value in ((0x108, TABLE), (0x10C, 0), (0x140, DOMAIN), (C.guard_queue, DOMAIN), (0x100, 1)):
        vm.writel(EXT + offset, value)


def guarded(vm: Qemu) -> None:
    """Three packets for a guarded queue, of which one is done; the third goes where it may not."""
    vm.enable(SLOT, BAR)
    for i in range(3):
        vm.write(SOURCE + PAGE * i, bytes([1 + i]) * PAGE)
        vm.write(RINGS + 16 * i, struct.pack("<IIQ", 0x0D001000, 0x01080003, C.host | SOURCE + PAGE * i))
        target = (MINE, MINE + PAGE, THEIRS)[i]
        vm.write(RINGS + 0x1000 + 16 * i, struct.pack("<IIQ", 0x01001000, 0, C.host | target))
    vm.write(THEIRS, b"theirs")
    error_queue(vm, 0)
    guard_on(vm)
    ring(vm, 0, 0, 0)
    vm.writel(queue(0, 0, False) + 0x38, 3)
    vm.writel(queue(0, 0, True) + 0x38, 1)
    wait_until(lambda: vm.readl(queue(0, 0, True) + 0x24) == 0)


def check_guarded(vm: Qemu, name: str) -> None:
    is_([vm.readl(EXT + offset) for offset in (0x100, 0x108, 0x140, C.guard_queue)], [1, TABLE, DOMAIN, DOMAIN],
        f"a guarded chip, {name}: the guard's registers")
    is_((vm.read(MINE, 1), vm.read(MINE + PAGE, 1), vm.readl(EXT + C.dma_stopped)), (b"\1", b"\0", 0),
        f"{name}: it stands where it stood")
    vm.writel(queue(0, 0, True) + 0x38, 2)
    wait_until(lambda: vm.readl(EXT + C.dma_stopped) == 1)
    is_(vm.read(MINE + PAGE, PAGE), b"\2" * PAGE, f"{name}: what it was granted it may write")
    is_(vm.read(THEIRS, 6), b"theirs", f"{name}: and nothing else")
    kind, _engine, code, ident, _time, data = struct.unpack("<BBHIQQ", vm.read(NOTES, 24))
    is_((kind, code, ident, data), (3, 9, 0, C.host | THEIRS), f"{name}: the error entry says where")


def add_disk(vm: Qemu, name: str) -> None:
    """A qcow2 image as the block device "disk", for snapshots."""
    vm.qmp("blockdev-add", **{"driver": "file", "node-name": "file", "filename": name})
    vm.qmp("blockdev-create", **{"job-id": "create", "options": {"driver": "qcow2", "file": "file", "size": 1 << 20}})
    wait_until(lambda: vm.qmp("query-jobs")[0]["status"] == "concluded")
    vm.qmp("job-dismiss", id="create")
    vm.qmp("blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": "file"})


def snapshot(vm: Qemu, command: str) -> None:
    vm.events.clear()
    vm.qmp(command, **{"job-id": command, "tag": "s", "vmstate": "disk", "devices": ["disk"]})
    wait_until(lambda: vm.qmp("query-jobs")[0]["status"] == "concluded")
    if error := vm.qmp("query-jobs")[0].get("error"):
        raise RuntimeError(f"{command}: {error}")
    vm.qmp("job-dismiss", id=command)


def test_guarded() -> None:
    """Loaded where the guard has been changed since, and in a QEMU that never had one."""
    with tempfile.NamedTemporaryFile(suffix=".qcow2") as file:
        vm = chip()
        add_disk(vm, file.name)
        guarded(vm)
        snapshot(vm, "snapshot-save")
        for offset, value in ((0x100, 0), (0x108, 0), (0x140, 0xFF), (C.guard_queue, 0xFF), (0x104, 1)):
            vm.writel(EXT + offset, value)
        vm.writel(queue(0, 0, True) + 0x38, 2)
        wait_until(lambda: vm.readl(queue(0, 0, False) + 0x24) == 0)
        is_(vm.read(THEIRS, 6), b"\3" * 6, "without the guard, all three packets arrive")
        snapshot(vm, "snapshot-load")
        check_guarded(vm, "as a snapshot")
        is_(vm.close(), 0, "QEMU leaves with status 0")
    vm = chip()
    guarded(vm)
    vm = moved(vm)
    check_guarded(vm, "in another process")
    vm.close()


def test_dma_to_rom() -> None:
    """A worker must not wait for the big lock, whose holder may be waiting for the worker."""
    vm = chip()
    vm.enable(SLOT, BAR)
    fill_rings(vm, 0x200000, BIOS)
    was = vm.read(BIOS, 64)
    for _ in range(20):
        for i in range(48):
            ring(vm, i // 16, i % 16, 100)  # too many for the doorbell write itself
            reset_queue(vm, i // 16, i % 16)
    ring(vm, 0, 0, 100)
    wait_until(lambda: vm.readl(EXT + C.dma_stopped) == 1)
    is_(vm.read(BIOS, 64), was, "a descriptor that writes ROM is an abort, and nothing hangs")
    is_(vm.close(), 0, "QEMU leaves with status 0")


def test_trace_points() -> None:
    source = qtest.TOP / "qemu-device" / "qemu" / "trace-events"
    ours = set(re.findall(r"^ncore_(\w+)\(", source.read_text(), re.M))
    core = set()
    for path in (qtest.TOP / "qemu-device" / "core").rglob("*.c"):
        core |= set(re.findall(r'\[NCORE_EV_\w+\] = "(\w+)"', path.read_text()))
    is_(ours, core, "trace events have the core's names")
    done = subprocess.run([qtest.qemu_binary(), "-trace", "help"], capture_output=True, text=True)
    is_([name for name in sorted(core) if f"ncore_{name}" not in done.stdout.split()], [], "and are in QEMU")


TESTS: list[Callable[[], None]] = [
    test_help, test_refusals, test_config_space, test_memory_and_reset, test_mailbox, test_firmware, test_faults,
    test_stop_vm, test_saved_state, test_live_refusal, test_unplug, test_pool_outlives_its_name, test_interrupts, test_saved_in_dma,
    test_guarded, test_dma_to_rom, test_trace_points,
]
for C in chips.CHIPS:
    choose(C)
    for test in TESTS:
        try:
            test()
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            is_(f"{type(error).__name__}: {error}", "no exception", test.__name__)
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
