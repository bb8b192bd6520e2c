#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fuzzer of the QEMU device, of each type in turns: a QEMU with sanitizers, driven over qtest like a guest that does anything
would drive it. Registers, rings, programs that feed themselves, and meanwhile BARs that move or
vanish, bus mastering that goes off, resets, stops and unplug. usage: device.py --help

Each round is one seed. What is sent to QEMU is written to a log first; --replay sends a log again.
After each round both chips have to answer their mailbox and to copy. Exit status 1: something found.
"""

import argparse
import os
import random
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP / "tests/vm"))
import chips  # noqa: E402
import qtest  # noqa: E402
from chips import Chip  # noqa: E402

ANSWER = 60.0  # seconds until an answer is overdue; commands take microseconds
RAM = 64 << 20
SLOTS = (0x1F, 0x1E)
RINGS, DATA, PROGRAMS, MAILBOX, NOTES = 0x100000, 0x200000, 0x300000, 0x400000, 0x480000
PROPERTIES = ("", ",ring-id-check=off")
MSIX = 0x40  # its capability: the first
EJECT = 0xAE08  # the ACPI hot-plug controller of the pc machine: what a guest's eject writes


FAULTS = re.findall(r'^NEURON_FAULT\(\w+, "([\w-]+)"', (TOP / "include/neuron/hw/faults.def").read_text(), re.M)


class Died(Exception):
    pass


def device(chip: Chip, which: int) -> str:
    return f"{chip.type},id=chip{which},addr={SLOTS[which]:x}.0,fabric=f0,slot={which}{PROPERTIES[which]}"


class Vm:
    """QEMU with two chips of a type, the log of what it was sent, and answers read in bulk."""

    def __init__(self, log: Path, chip: Chip):
        self.c = chip
        self.dir = tempfile.TemporaryDirectory(prefix="neuron-fuzz.")
        self.log = log.open("w")
        self.stderr = open(self.dir.name + "/stderr", "w+", errors="replace")
        self.pending, self.commands = 0, 0
        self.buffer: list[str] = []
        names = {name: f"{self.dir.name}/{name}" for name in ("qtest", "qmp")}
        listeners = {name: qtest.Qemu._listen(path) for name, path in names.items()}
        binary = subprocess.run([TOP / "scripts/build-qemu", "--sanitize"], stdout=subprocess.PIPE, check=True, text=True)
        argv = [binary.stdout.strip() + "/qemu-system-x86_64", "-machine", "pc,accel=qtest", "-nodefaults", "-display",
                "none", "-m", str(RAM >> 20), "-qtest", f"unix:{names['qtest']}", "-qtest-log", "/dev/null",
                "-qmp", f"unix:{names['qmp']}", "-object", "neuron-fabric,id=f0,slots=2"]
        for which in (0, 1):
            argv += ["-device", device(chip, which)]
        env = os.environ | {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
                            "UBSAN_OPTIONS": "print_stacktrace=1"}
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=self.stderr, env=env)
        self.qt, self.qm = (self.accept(listeners[name]) for name in ("qtest", "qmp"))
        self.reply("return", first=True)
        self.qmp('{"execute": "qmp_capabilities"}')

    def accept(self, listener):
        connection, _ = listener.accept()
        connection.settimeout(ANSWER)
        listener.close()
        return connection.makefile("rw", encoding="ascii")

    def reply(self, wanted: str, first: bool = False) -> str:
        while True:
            line = self.qm.readline()
            if not line:
                raise Died("QMP closed")
            if first or '"event"' not in line:
                return line

    def qmp(self, text: str) -> str:
        self.flush()
        print(text, file=self.log, flush=True)
        try:
            self.qm.write(text + "\n")
            self.qm.flush()
            return self.reply("return")
        except (OSError, TimeoutError) as error:
            raise Died(f"no answer to {text}: {error}") from error

    def send(self, text: str) -> None:
        self.buffer.append(text)
        if len(self.buffer) >= 64:
            self.flush()

    def flush(self) -> list[str]:
        """Sends the queued commands; returns the words after OK in their answers."""
        lines, self.buffer = self.buffer, []
        if not lines:
            return []
        text = "\n".join(lines) + "\n"
        self.log.write(text)
        self.log.flush()
        self.commands += len(lines)
        got: list[str] = []
        try:
            self.qt.write(text)
            self.qt.flush()
            while len(got) < len(lines):
                answer = self.qt.readline()
                if not answer:
                    raise Died(f"QEMU closed the connection after {lines[len(got)]}")
                if not answer.startswith("IRQ"):
                    got.append(answer.rstrip("\n"))
        except (OSError, TimeoutError) as error:
            raise Died(f"no answer to {lines[len(got)]}: {error}") from error
        return got

    def ask(self, text: str) -> str:
        self.send(text)
        return self.flush()[-1]

    def config(self, slot: int, offset: int, value: int, width: str = "l") -> None:
        self.send(f"outl 0xcf8 {0x80000000 | slot << 11 | offset & 0xFC:#x}")
        self.send(f"out{width} {0xCFC + (offset & 3):#x} {value:#x}")

    def write(self, address: int, data: bytes) -> None:
        self.send(f"write {address:#x} {len(data):#x} 0x{data.hex()}")

    def enable(self, chip: int) -> None:
        for bar, address in self.c.bars[chip].items():
            self.config(SLOTS[chip], 0x10 + 4 * bar, address & 0xFFFFFFFF)
            self.config(SLOTS[chip], 0x14 + 4 * bar, address >> 32)
        self.config(SLOTS[chip], 0x04, 0x6)

    def close(self) -> str:
        """Ends QEMU and returns its messages."""
        self.process.kill() if self.process.poll() is None else None
        self.process.wait()
        self.stderr.seek(0)
        text = self.stderr.read()
        self.dir.cleanup()
        return text


class Round:
    def __init__(self, vm: Vm, seed: int):
        self.vm, self.c, self.rnd = vm, vm.c, random.Random(seed)

    def pick(self, *choices):
        return self.rnd.choice(choices)

    def reg(self, chip: int, offset: int, value: int) -> None:
        self.vm.send(f"writel {self.c.bars[chip][0] + offset:#x} {value & 0xFFFFFFFF:#x}")

    def engine(self) -> int:
        """One of a few, so that work meets; the driver's own for copies among them"""
        return self.pick(0, 1, self.c.engines // 2, self.c.engines - 1)

    def ring(self, engine: int, queue: int) -> int:
        """The address of a queue's descriptors, behind RINGS or the like"""
        return (engine % 4 * 3 + queue) * 0x2000

    def ext(self, chip: int, offset: int) -> int:
        return self.c.bars[chip][self.c.ext_bar] + self.c.ext + offset

    def address(self) -> int:
        """A device address: that of a block, an edge of one, or any"""
        r, c, bars = self.rnd, self.c, self.c.bars[self.rnd.randrange(2)]
        core, host = c.core_address(r.randrange(c.cores)), c.host
        fifo = core + 0x265C000 + 0x4000 * r.randrange(4)
        doorbell = c.address(c.queue(self.engine(), r.randrange(3), bool(r.randrange(2)))) + 0x38
        base = self.pick(host + DATA, host + DATA, host + PROGRAMS, host + RINGS, host + RAM - 64, host + RAM, host + 0xA0000,
                         host + 0xC0000, host + 0xFFFF0000, host + bars[0] + c.misc, host + bars[2], host + bars[4],
                         host + bars[4] + c.bar_size[4] - 64, host + 0xFEE00000, 0x10000, c.memory - 64, c.memory,
                         c.memories[-1][0], c.memories[-1][0] + c.memory - 64, core, core + 0x20000 - 64, core + 0x2000000,
                         fifo, fifo, core + 0x2701000 + 2 * c.semaphores, core + 0x2700000, doorbell, doorbell,
                         c.address(c.misc), c.address(c.misc) + 0x800)
        base += r.randrange(64) * 64 if r.random() < 0.4 else 0
        if r.random() < 0.1:
            base = base & ~host | self.pick(c.east, 3 * c.east // 2 if c.arch == 1 else c.east | 1 << 50)
        return r.getrandbits(64) if r.random() < 0.02 else base

    def setup(self, chip: int) -> None:
        r = self.rnd
        engine, queue, length = self.engine(), r.randrange(3), self.pick(32, 32, 64, 48, 0, 33)
        host, bars = self.c.host, self.c.bars
        where = self.pick(host + RINGS, host + RINGS, host + RINGS, 0x20000, host + bars[chip][0], host + bars[1 - chip][4])
        for half, switch in ((0, 0xB0), (1, 0x64)):
            block, base = self.c.queue(engine, queue, half), where + self.ring(engine, queue) + half * 0x1000
            for offset, value in ((0x20, 0x3000000), (switch, 0x100), (0x28, base), (0x2C, base >> 32), (0x30, length),
                                  (0x20, 0x30000)):
                self.reg(chip, block + offset, value)
        self.packets(chip, engine, queue, length or 32, where & host != 0)

    def packets(self, chip: int, engine: int, queue: int, length: int, host: bool) -> None:
        r, count = self.rnd, min(length, self.pick(1, 4, 31, 64))
        rings = [b"", b""]
        for _ in range(count):
            size = self.pick(4, 8, 64, 64, 128, 4096, 0, 65535, 1)
            flags = 0xD000000 if r.random() < 0.97 else r.getrandbits(32) & 0xFF000000
            rings[0] += struct.pack("<IIQ", size | flags, 0x1080003, self.address())
            rings[1] += struct.pack("<IIQ", size | 0x1000000, 0, self.address())
        at = (RINGS if host else self.c.bars[chip][4] + 0x20000) + self.ring(engine, queue)
        for half in (0, 1):
            self.vm.write(at + half * 0x1000, rings[half])
        for half in (1, 0):
            self.reg(chip, self.c.queue(engine, queue, half) + 0x38, count)

    def self_feeding(self, chip: int) -> None:
        """A queue whose packets ring its own two doorbells: with ring ids unchecked it never ends"""
        engine, queue = self.engine(), 3
        for half, switch in ((0, 0xB0), (1, 0x64)):
            block, base = self.c.queue(engine, queue, half), self.c.host + PROGRAMS + half * 0x1000
            for offset, value in ((0x20, 0x3000000), (switch, 0x100), (0x28, base), (0x2C, base >> 32), (0x30, 32),
                                  (0x20, 0x30000)):
                self.reg(chip, block + offset, value)
        word = self.c.host + PROGRAMS + 0x2000
        self.vm.write(PROGRAMS + 0x2000, struct.pack("<I", 2))  # for two packets, as each bell rings every second time
        for half in (0, 1):
            where = [word] * 32 if half == 0 else [self.c.address(self.c.queue(engine, queue, i & 1)) + 0x38 for i in range(32)]
            self.vm.write(PROGRAMS + half * 0x1000, b"".join(
                struct.pack("<IIQ", 4 | (0xD000000 if half == 0 else 0x1000000), 0x1080003 if half == 0 else 0, a)
                for a in where))
        for half in (1, 0):
            self.reg(chip, self.c.queue(engine, queue, half) + 0x38, 20)

    def instructions(self, chip: int) -> None:
        """Instructions for all engines: nops that wait or count, writes that ring doorbells, noise"""
        r, out = self.rnd, b""
        for _ in range(32):
            word = bytearray(64)
            word[0] = self.pick(1, 1, 2, 4, 5, 5, 0x30, 0x35, r.randrange(256))
            if word[0] == 5:
                struct.pack_into("<QQII", word, 16, self.address() & ~3, self.address() & ~3, 1, 1)
            elif word[0] > 5:
                word[1:] = r.randbytes(63) if r.random() < 0.3 else bytes(63)
            out += bytes(word)
        self.vm.write(DATA, out)
        self.setup(chip)

    def mailbox(self, chip: int) -> None:
        r = self.rnd
        n = self.pick(1, 2, 16, 200, 8000)
        head = struct.pack("<BBH", self.pick(0, 1, 2, 7, 255), self.pick(1, 1, 1, 2, 9), self.pick(8 + 8 * n, 8 + 8 * n, 65535, 0))
        body = b"".join(struct.pack("<Q", self.address() & ~3) for _ in range(n))
        crc = qtest.crc32c(head + bytes(4) + body) if n < 300 and r.random() < 0.9 else r.getrandbits(32)
        self.vm.write(MAILBOX, (head + struct.pack("<I", crc) + body)[:0x10000])
        host, bars = self.c.host, self.c.bars
        response = self.pick(host + MAILBOX + 0x20000, host + bars[chip][0] + self.c.misc, host + RAM - 8, self.address())
        request = self.pick(host + MAILBOX, host + MAILBOX, self.address())
        for offset, value in ((0x1EC, 0), (0x1F4, request), (0x1F0, request >> 32), (0x1FC, response), (0x1F8, response >> 32),
                              (0x800, 1)):
            self.reg(chip, self.c.misc + offset, value)

    def notifications(self, chip: int) -> None:
        host, bars = self.c.host, self.c.bars
        low, high, size, head = self.c.nq_error
        for core in range(self.c.cores):
            # the queue of errors, or another one near it
            group = self.c.nq(core) + (self.pick(0, 0x20, -0x478, -0x3F8) if self.c.arch == 1 else 0x28 * self.pick(0, 1, 3, -5))
            base = self.pick(host + NOTES, host + bars[chip][0], host + bars[1 - chip][4], self.address())
            for offset, value in ((low, base), (high, base >> 32), (size, self.pick(64, 4096, 0, 1 << 31, 96)),
                                  (head, self.pick(0, 1, 5))):
                self.reg(chip, group + offset, value)

    def interrupts(self, chip: int) -> None:
        """Vectors on, their messages anywhere, armed with any count"""
        vm, r = self.vm, self.rnd
        bars, table = self.c.bars, self.c.bars[chip][self.c.ext_bar] + self.c.msix[0]
        vm.config(SLOTS[chip], MSIX + 2, self.pick(0x8000, 0x8000, 0xC000, 0), "w")
        for vector in range(self.c.cores):
            target = self.pick(NOTES, self.ext(chip, self.c.nq_entries + 4 * r.randrange(self.c.cores)), table + 0xC + 16 * vector,
                               self.ext(1 - chip, self.c.nq_entries), bars[chip][0] + self.c.queue(0, 0, 1) + 0x38,
                               bars[chip][4], 0xFEE00000, r.getrandbits(32) & ~3)
            for word, value in enumerate((target & 0xFFFFFFFF, target >> 32, self.pick(0, 1, 7, 0x4041), self.pick(0, 0, 0, 1))):
                self.vm.send(f"writel {table + 16 * vector + 4 * word:#x} {value:#x}")
            self.vm.send(f"writel {self.ext(chip, self.c.nq_entries + 4 * vector):#x} {self.pick(0, 1, 7):#x}")

    def raw(self, chip: int) -> None:
        c = self.c
        for _ in range(8):
            bar = self.pick(0, 0, 2, 4)
            offset = self.pick(c.misc, c.ext, c.udma(0), c.udma(c.engines - 1) + 0x21000, c.nq(c.cores - 1), 0x265C000, 0x2701000,
                               c.core(c.cores - 1) + 0x2701000, 0) + self.rnd.randrange(0x1000)
            offset %= c.bar_size[bar]
            width = self.pick("b", "w", "l", "l", "q")
            if self.rnd.random() < 0.5:
                self.vm.send(f"read{width} {c.bars[chip][bar] + offset:#x}")
            else:
                size = {"b": 8, "w": 16, "l": 32, "q": 64}[width]
                self.vm.send(f"write{width} {c.bars[chip][bar] + offset:#x} {self.rnd.getrandbits(size):#x}")

    def map_change(self, chip: int) -> None:
        vm, slot, r = self.vm, SLOTS[chip], self.rnd
        kind = r.randrange(6)
        if kind == 0:  # bus mastering off, on
            vm.config(slot, 4, 0x2)
            self.packets(chip, self.engine(), 0, 32, True)
            vm.config(slot, 4, 0x6)
        elif kind == 1:  # no memory space
            vm.config(slot, 4, 0x4)
            self.raw(chip)
            vm.config(slot, 4, 0x6)
        elif kind == 2:  # a BAR over the rings, over RAM's end, over the other chip's, nowhere
            bar, where = self.pick(0, 2, 4), self.pick(0, RINGS & ~0xFFFFFF, RAM - (16 << 20), self.c.bars[1 - chip][0], 0xFFFFFFFF)
            vm.config(slot, 0x10 + 4 * bar, where)
            self.raw(chip)
            self.self_feeding(chip)
        elif kind == 3:
            vm.config(slot, r.randrange(256), r.getrandbits(32), self.pick("b", "w", "l"))
        elif kind == 4:  # PAM: what is RAM at 0xC0000 becomes ROM or PCI and back
            for offset in range(0x59, 0x60):
                vm.config(0, offset, self.pick(0x00, 0x11, 0x22, 0x33), "b")
        vm.enable(chip)

    def reset(self, chip: int) -> None:
        kind = self.rnd.randrange(5)
        if kind < 2:
            self.reg(chip, self.c.misc + 0x1D8, self.rnd.randrange(1 << self.c.cores))
            self.reg(chip, self.c.misc + 0x1EC, 1 + kind)
            self.reg(chip, self.c.misc + 0x800, 1)
        elif kind == 2:
            self.vm.qmp('{"execute": "system_reset"}')
            self.vm.enable(0), self.vm.enable(1)
        elif kind == 3:
            self.vm.qmp('{"execute": "stop"}')
            self.raw(chip)
            self.vm.qmp('{"execute": "cont"}')
        else:
            self.unplug(chip)

    def fault(self, chip: int) -> None:
        """Injects faults; the end of the round takes them back."""
        name = self.pick(*FAULTS)
        spec = self.pick("1", "2:after=5", "always", "on", "700", "always:core=1", "1:queue=copy", "on:port=1", "off")
        self.vm.qmp(set_property(chip, f"fault-{name}", spec))

    def unplug(self, chip: int) -> None:
        vm = self.vm
        vm.qmp(f'{{"execute": "device_del", "arguments": {{"id": "chip{chip}"}}}}')
        vm.send(f"outl {EJECT + 8:#x} 0")
        vm.send(f"outl {EJECT:#x} {1 << SLOTS[chip]:#x}")
        self.raw(chip)
        vm.flush()
        plug(vm, chip)

    def run(self, steps: int) -> None:
        actions = [self.setup] * 6 + [self.self_feeding] * 2 + [self.instructions] * 3 + [self.mailbox, self.notifications]
        actions += [self.fault, self.interrupts] + [self.raw] * 3 + [self.map_change] * 2 + [self.reset]
        for _ in range(steps):
            self.rnd.choice(actions)(self.rnd.randrange(2))
        self.vm.flush()


def set_property(chip: int, name: str, value: str) -> str:
    arguments = f'{{"path": "/machine/peripheral/chip{chip}", "property": "{name}", "value": "{value}"}}'
    return f'{{"execute": "qom-set", "arguments": {arguments}}}'


def plug(vm: Vm, chip: int) -> None:
    """Plugs the device in again. An eject may be late, so refusals are tried again, within bounds."""
    words = dict(w.split("=") for w in device(vm.c, chip).split(",")[1:])
    slot = words.pop("slot")
    extra = "".join(f', "{k}": "{v}"' for k, v in words.items())
    for _ in range(50):
        done = vm.qmp(f'{{"execute": "device_add", "arguments": {{"driver": "{vm.c.type}", "slot": {slot}{extra}}}}}')
        if '"return"' in done:
            break
        vm.ask("clock_step 1000000")
    vm.enable(chip)


def settled(vm: Vm) -> None:
    """Resets the machine, after which both chips have to work."""
    for chip in (0, 1):
        for name in FAULTS:
            vm.qmp(set_property(chip, f"fault-{name}", "off"))
    vm.qmp('{"execute": "system_reset"}')
    for chip in (0, 1):
        vm.enable(chip)
        vm.write(MAILBOX + 0x20000, bytes(8))
        c = vm.c
        vm.write(MAILBOX, qtest.fwio_read_request(5, c.address(c.misc) + 0x38))
        for offset, value in ((0x1F4, MAILBOX), (0x1F0, c.host >> 32), (0x1FC, MAILBOX + 0x20000), (0x1F8, c.host >> 32),
                              (0x800, 1)):
            vm.send(f"writel {c.bars[chip][0] + c.misc + offset:#x} {value:#x}")
        answer = vm.ask(f"read {MAILBOX + 0x20000:#x} 8")
        if answer != "OK 0x" + struct.pack("<BBHI", 5, 0, 8, 1 + chip).hex():  # the serial number of its slot
            raise Died(f"chip {chip} does not answer after a reset: {answer}")


def fuzz(args: argparse.Namespace, out: Path) -> int:
    end, seed, rounds, commands, vm = time.monotonic() + args.time, args.seed, 0, 0, None
    types = [chip for chip in chips.CHIPS if not args.chip or chip.type == args.chip]
    while time.monotonic() < end:
        log = out / "last.log"
        vm = Vm(log, types[0])
        types = types[1:] + types[:1]
        why = ""
        try:
            for chip in (0, 1):
                vm.enable(chip)
            for _ in range(args.rounds):
                print(f"# seed {seed}", file=vm.log)
                Round(vm, seed).run(args.steps)
                settled(vm)
                seed, rounds = seed + 1, rounds + 1
                if time.monotonic() >= end:
                    break
        except Died as died:
            why = str(died)
            if select.select([], [], [], 1) and vm.process.poll() is None:
                os.kill(vm.process.pid, 6)  # it hangs: a core, or a stack from the sanitizer
                vm.process.wait()
        commands += vm.commands
        text = vm.close()
        reports = [line for line in text.splitlines() if "runtime error" in line or "ERROR: AddressSanitizer" in line
                   or "Assertion" in line or "assertion" in line]
        if why or reports:
            kept = out / f"seed{seed}.log"
            log.rename(kept)
            (out / f"seed{seed}.txt").write_text(text)
            print(f"found with seed {seed}, {vm.c.type}: {why}", *reports[:5],
                  f"replay: {sys.argv[0]} --chip {vm.c.type} --replay {kept}", sep="\n  ")
            return 1
    print(f"{rounds} rounds, {commands} qtest commands in {args.time} s, seeds {args.seed} to {seed - 1}: nothing found")
    return 0


def replay(path: Path, chip: Chip) -> int:
    with tempfile.NamedTemporaryFile() as log:
        vm = Vm(Path(log.name), chip)
        try:
            for line in path.read_text().splitlines():
                if line.startswith("{"):
                    vm.qmp(line)
                elif not line.startswith("#"):
                    vm.send(line)
            vm.flush()
            why = ""
        except Died as died:
            why = str(died)
        print(vm.close(), why)
    return 1 if why else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=int, default=60, help="seconds (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (default 1)")
    parser.add_argument("--steps", type=int, default=60, help="actions a round (default 60)")
    parser.add_argument("--rounds", type=int, default=20, help="rounds a QEMU lives (default 20)")
    parser.add_argument("--output", type=Path, default=TOP / "build/fuzz-device", help="logs (default build/fuzz-device)")
    parser.add_argument("--replay", type=Path, help="send the commands of a log again")
    parser.add_argument("--chip", choices=[chip.type for chip in chips.CHIPS], help="this type alone (default: all, in turns)")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    chosen = next(chip for chip in chips.CHIPS if chip.type == (args.chip or chip.type))
    return replay(args.replay, chosen) if args.replay else fuzz(args, args.output)


if __name__ == "__main__":
    sys.exit(main())
