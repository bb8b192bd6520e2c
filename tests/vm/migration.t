#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: two QEMU processes at once
# later: one
"""Saving, loading and live migration of guests in the middle of DMA and of inferences.

The oracle is a run that nobody disturbs: the same program on a chip in this host's own process.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import guest
from guest import BUILD, CHIP, LONG, ONE, PROGRAMS, TOP, Guest, Model, VmError, is_, ok, program, wait_for

HOPS = 6 if LONG else 1
SNAPSHOTS = 5 if LONG else 2
AHEAD = 20  # rounds from a snapshot to going back to it: more than are on their way when it is made
STREAM_MIB = 16
OPTIONS = ["--instance", ONE, "--memory", "768M"]
DRAM = {"inferentia": 8, "trainium": 32, "inferentia2": 32, "trainium2": 96}[CHIP] << 30
FEW = 512 << 20  # bytes of it that copies make resident, at most
ROWS = 64
DAEMON = """
neuron-rtd -g unix:/run/neuron.sock --log-console >&2 &
until [ -S /run/neuron.sock ]; do usleep 20000; done
neuron-cli load digits.neff --copies 16 --start >&2
while neuron-cli infer --all --each --rows --input input0=images.npy --output-dir out >&2; do
    [ "$(find out -name output0.npy | wc -l)" = 16 ] || exit 1
    sha256sum out/*/output0.npy | cut -c1-64 | sort -u
    rm -r out
done
"""
FOREVER = "while neuron-run {} -d nd0 -o out >&2; do sha256sum <out/{}.npy; done"
EVENTS = [{"capability": "events", "state": True}]


class Stream:
    """Copies to, in and from the chip, for ever; a line for each round, whose bytes were compared."""

    command = ["./stream", "node", "0", "0", str(STREAM_MIB)]
    copies = [BUILD / "tests" / "vm" / "stream"]

    @staticmethod
    def wanted(rounds: int) -> list[str]:
        args = ["emu:inf1.xlarge", "0", str(rounds), str(STREAM_MIB)]
        return program("tests/vm/stream", *args).splitlines()


class Long(Model):
    """Work of seconds, in the engines."""

    command = FOREVER.format("long.neff -i a=a.npy -i b=b.npy", "c")


class Gather:
    """Work of seconds as well, in three queues that ring each other: a quarter of a million words by index, again and
    again."""

    ROWS, N = 65536, 1 << 18
    command = FOREVER.format("words.neff -i table=table.npy -i index=index.npy -r 10", "y")

    def __init__(self, work: Path):
        rng = np.random.default_rng(2)
        table = rng.integers(-128, 128, (self.ROWS, 4), dtype=np.int8)
        index = rng.integers(0, self.ROWS, (1, self.N), dtype=np.int32)
        program("tests/unit/neff/testmodel_write", "words", str(work / "words.neff"))
        self.copies = [work / name for name in ("words.neff", "table.npy", "index.npy")]
        np.save(work / "table.npy", table)
        np.save(work / "index.npy", index)
        np.save(work / "y.npy", table[index[0]])
        self.digest = hashlib.sha256((work / "y.npy").read_bytes()).hexdigest()


def resident(vm: Guest, size: int) -> list[int]:
    """Bytes resident of each mapping of that size, which is a chip's DRAM."""
    found, wanted = [], False
    for line in Path(f"/proc/{vm.qemu_pid()}/smaps").read_text().splitlines():
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if head:
            wanted = int(head[2], 16) - int(head[1], 16) == size
        elif wanted and line.startswith("Rss:"):
            found.append(int(line.split()[1]) << 10)
    return found


def migrate(source: Guest, uri: str) -> None:
    source.qmp("migrate-set-capabilities", capabilities=EVENTS)
    source.qmp("migrate-set-parameters", max_bandwidth=1 << 40)
    source.qmp("migrate", uri=uri)
    source.qmp.wait_event("MIGRATION", lambda data: data["status"] in ("completed", "failed"))
    answer = source.qmp("query-migrate")
    if answer["status"] != "completed":
        raise VmError(f"migration: {answer}")


def inferring(work: Long | Gather, qemu: list[str] | None = None) -> Guest:
    return Guest(["sh", "-c", work.command], copies=work.copies, options=OPTIONS, qemu=qemu)


def right(work: Long | Gather, lines: list[str | None]) -> bool:
    return bool(lines) and all(line == f"{work.digest}  -" for line in lines)


def moved(source: Guest, start: Callable[[list[str]], Guest]) -> Guest:
    """The guest in another QEMU process; the first one ends."""
    wire = source.dir / "wire"
    target = start(["-incoming", f"unix:{wire}"])
    wait_for(wire.exists, "the other QEMU")
    migrate(source, f"unix:{wire}")
    target.qmp.wait_event("RESUME")
    source.end()
    return target


def copying(qemu: list[str] | None = None) -> Guest:
    return Guest(Stream.command, copies=Stream.copies, options=OPTIONS, qemu=qemu)


def test_live_dma() -> None:
    """Copies go on from one process to the next; no byte is lost, and no memory made up."""
    vm = copying()
    lines = [vm.until("round 0")]
    for _ in range(HOPS):
        before = resident(vm, DRAM)
        vm.seen.clear()
        target = moved(vm, copying)
        lines += vm.rest()
        lines += [target.until("round ") for _ in range(2)]
        after = resident(target, DRAM)
        vm = target
    is_(lines, Stream.wanted(len(lines)), f"rounds of copies over {HOPS} live migrations, none lost or repeated")
    print(f"# {len(lines)} rounds; resident of the DRAM: {before[0] >> 20} MiB there, {after[0] >> 20} MiB here")
    ok(before[0] < FEW > after[0], "the DRAM that nobody used is resident on neither side")


def live(kind: type[Long] | type[Gather], what: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        work = kind(Path(name))
        vm = inferring(work)
        lines = [vm.line()]
        for _ in range(HOPS):
            vm.seen.clear()
            target = moved(vm, lambda qemu: inferring(work, qemu))
            lines += vm.rest()
            lines += [target.line() for _ in range(2)]
            vm = target
        ok(right(work, lines), f"{what} over {HOPS} live migrations give NumPy's bits")
        print(f"# {len(lines)} {what}")


def test_live_inference() -> None:
    live(Long, "inferences")


def test_live_gather() -> None:
    live(Gather, "gathers")


def version_of(vm: Guest) -> str:
    version = vm.qmp("query-version")["qemu"]
    return f"{version['major']}.{version['minor']}"


def test_newer_qemu() -> None:
    """From this Debian's QEMU to the newest one, and back: a machine that both have, of Debian 12's."""
    own = subprocess.check_output([TOP / "scripts" / "suite", "qemu"], text=True).strip()
    machine = ["-machine", "pc-i440fx-7.2"]

    def start(version: str, qemu: list[str]) -> Guest:
        return Guest(Stream.command, copies=Stream.copies, options=OPTIONS, qemu=[*machine, *qemu], version=version)

    vm = start("", [])
    lines, seen = [vm.until("round 0")], []
    for version in ("newest", "", "newest"):
        seen.append(version_of(vm))
        vm.seen.clear()
        target = moved(vm, lambda qemu, version=version: start(version, qemu))
        lines += vm.rest()
        lines += [target.until("round ") for _ in range(2)]
        vm = target
    seen.append(version_of(vm))
    is_(seen, [own, "10.2", own, "10.2"], f"live from QEMU {own} to 10.2, back, and there again")
    is_(lines, Stream.wanted(len(lines)), "rounds of copies on the way, none lost or repeated")


def digits(work: Path) -> str:
    """A model, its inputs, and the digest of its output on a chip in this process."""
    tools, data = BUILD / "stage" / "opt" / "aws" / "neuron" / "bin", TOP / "tests" / "data" / "digits"
    np.save(work / "images.npy", np.load(data / "images.npy")[:ROWS])
    subprocess.run([tools / "neuronx-cc", "compile", "--framework", "XLA", data / "digits.hlo.pb", "--target", "inf1",
                    "--output", work / "digits.neff"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tools / "neuron-run", work / "digits.neff", "--rows", "--input", f"input0={work}/images.npy",
                    "--output-dir", work / "out"], check=True, stdout=subprocess.DEVNULL)
    return hashlib.sha256((work / "out" / "output0.npy").read_bytes()).hexdigest()


def test_live_daemon() -> None:
    """Four chips, a model on each of 16 cores, a daemon and its client: all of it moves."""
    options = ["--instance", "inf1.6xlarge"]
    with tempfile.TemporaryDirectory() as name:
        wanted = digits(Path(name))
        copies = [Path(name) / "digits.neff", Path(name) / "images.npy"]

        def start(qemu: list[str] | None = None) -> Guest:
            return Guest(["sh", "-c", DAEMON], copies=copies, options=options, qemu=qemu)

        vm = start()
        lines = [vm.line()]
        for _ in range(HOPS):
            vm.seen.clear()
            target = moved(vm, start)
            lines += vm.rest()
            lines += [target.line() for _ in range(2)]
            vm = target
        is_(set(lines), {wanted}, f"16 cores over {HOPS} live migrations give the bits of a chip in process")
        print(f"# {len(lines)} times {ROWS} rows on each core")


def test_saved_inference() -> None:
    """To a file, and from it more often than it was written."""
    with tempfile.TemporaryDirectory() as name:
        work, state = Long(Path(name)), Path(name) / "state"
        vm = inferring(work)
        vm.line()
        migrate(vm, f"exec:cat >{state}")
        vm.end()
        for time in ("once", "and again"):
            vm = inferring(work, ["-incoming", f"exec:cat {state}"])
            lines = [vm.line() for _ in range(2)]
            ok(right(work, lines), f"an inference loaded from a file goes on to NumPy's bits, {time}")
            vm.end()


def job(vm: Guest, command: str, tag: str) -> None:
    vm.qmp(command, job_id=tag, tag=tag, vmstate="disk", devices=["disk"])
    vm.qmp.wait_event("JOB_STATUS_CHANGE", lambda data: data["id"] == tag and data["status"] == "concluded")
    error = vm.qmp("query-jobs")[0].get("error")
    vm.qmp("job-dismiss", id=tag)
    if error:
        raise VmError(f"{command}: {error}")


def create(vm: Guest, options: dict[str, object]) -> None:
    vm.qmp("blockdev-create", job_id="create", options=options)
    vm.qmp.wait_event("JOB_STATUS_CHANGE", lambda data: data["id"] == "create" and data["status"] == "concluded")
    vm.qmp("job-dismiss", id="create")


def number(vm: Guest) -> int:
    """Of the next round"""
    return int(vm.until("round ").split()[1])


def test_snapshots() -> None:
    """savevm and loadvm in one process: rounds are run again from where the snapshot was."""
    vm = copying()
    image = str(vm.dir / "disk.qcow2")
    create(vm, {"driver": "file", "filename": image, "size": 0})
    vm.qmp("blockdev-add", driver="file", node_name="file", filename=image)
    create(vm, {"driver": "qcow2", "file": "file", "size": 1 << 20})
    vm.qmp("blockdev-add", driver="qcow2", node_name="disk", file="file")
    vm.until("round 0")
    again = 0
    for i in range(SNAPSHOTS):
        job(vm, "snapshot-save", f"s{i}")
        for _ in range(AHEAD):
            at = number(vm)
        job(vm, "snapshot-load", f"s{i}")
        for _ in range(AHEAD * AHEAD):  # until they step back; some may have been on their way
            before, at = at, number(vm)
            if at <= before:
                again += 1
                break
        vm.until("round ")
    is_(again, SNAPSHOTS, f"{SNAPSHOTS} snapshots saved in the middle of copies go on where they were")
    wanted = Stream.wanted(1 + max(int(line.split()[1]) for line in vm.seen))
    is_([line for line in vm.seen if line not in wanted], [], "and every round gives its bytes each time")


TESTS = [test_live_dma, test_snapshots]
if PROGRAMS:
    TESTS += [test_live_inference, test_live_gather, test_live_daemon, test_saved_inference]
# With NEURON_QEMU there are two QEMUs; and kernel 6.12 does not boot reliably under the emulation of 7.2
if os.environ.get("NEURON_QEMU") == "newest" and not os.environ.get("NEURON_KERNEL"):
    TESTS.append(test_newer_qemu)
sys.exit(guest.run_tests(TESTS))
