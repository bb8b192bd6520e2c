#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The project's measures, printed as ratios or times of one run beside their goals.

usage: run.py [--build DIR] [--only NAME[,NAME...]]

Nothing here passes or fails: a machine under load gives other numbers. docs/performance.md says what
each measure means.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
VM = ROOT / "scripts" / "neuron-vm"
MIB = 1 << 20
LS = "/opt/aws/neuron/bin/neuron-ls"


class Failed(Exception):
    pass


def exec_argv(build: Path, instance: str, command: list[str], *options: str) -> list[str]:
    return [str(VM), "exec", "--build", str(build), "--instance", instance, *options, "--", *command]


def show(measure: str, value: str, goal: str = "") -> None:
    print(f"{measure:<58} {value:>12}{'   goal ' + goal if goal else ''}", flush=True)


def boot(build: Path) -> None:
    for instance, chips, goal in [("inf1.6xlarge", 4, "8 s"), ("inf1.24xlarge", 16, "12 s")]:
        argv = exec_argv(build, instance, [LS])
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # fills caches
        start = time.monotonic()
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as guest:
            line = guest.stdout.readline()
            seconds = time.monotonic() - start
            guest.stdout.read()
        if not line.startswith("+-"):
            raise Failed(f"neuron-ls in {instance} printed {line!r}")
        show(f"start to neuron-ls's first line, {chips} chips", f"{seconds:.1f} s", goal)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child] + children(child)
    return found


def find_qemu(pid: int) -> int:
    for child in children(pid):
        if Path(os.readlink(f"/proc/{child}/exe")).name.startswith("qemu-system"):
            return child
    raise Failed("no QEMU process")


def beyond_guest_ram(pid: int) -> int:
    """Resident bytes outside the largest mapping, which is guest RAM or a chip's (untouched) DRAM."""
    ram = resident = size = 0
    guest = int(re.search(r"-m\0(?:size=)?(\d+)", Path(f"/proc/{pid}/cmdline").read_text()).group(1)) * MIB
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if found := re.match(r"Size:\s+(\d+) kB", line):
            size = int(found.group(1)) << 10
        elif found := re.match(r"Rss:\s+(\d+) kB", line):
            resident += int(found.group(1)) << 10
            if size == guest:
                ram += int(found.group(1)) << 10
    if not ram:
        raise Failed("QEMU's guest RAM not found")
    return resident - ram


def without_chips(cmdline: list[str], ready: Path) -> list[str]:
    """The same QEMU with no chip, its guest's output in a file of ours."""
    argv = cmdline[:1]
    words = iter(cmdline[1:])
    for word in words:
        value = next(words) if word in ("-device", "-object", "-chardev", "-serial") else None
        if value is None:
            argv.append(word)
        elif not value.startswith("neuron-"):
            target = ready if "id=stdout" in value else "/dev/null"
            value = re.sub(r"path=/proc/self/fd/\d+", f"path={target}", value)
            argv += [word, re.sub(r"^file:.*", "null", value)]
    return argv


def wait_for(path: Path, word: str) -> None:
    deadline = time.monotonic() + 60
    while word not in path.read_text():
        if time.monotonic() > deadline:
            raise Failed(f"no {word} from the guest")
        time.sleep(0.1)


def baseline(cmdline: list[str]) -> int:
    with tempfile.NamedTemporaryFile() as out:
        ready = Path(out.name)
        with subprocess.Popen(without_chips(cmdline, ready), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as qemu:
            try:
                wait_for(ready, "ready")
                return beyond_guest_ram(qemu.pid)
            finally:
                qemu.terminate()


def memory(build: Path) -> None:
    command = ["/bin/sh", "-c", f"{LS} >/dev/null 2>&1; echo ready; sleep 600"]
    argv = exec_argv(build, "inf1.24xlarge", command, "--memory", "512M")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as guest:
        try:
            if guest.stdout.readline() != "ready\n":
                raise Failed("the guest did not come up")
            pid = find_qemu(guest.pid)
            sixteen = beyond_guest_ram(pid)
            none = baseline(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1])
        finally:
            guest.terminate()
    show("QEMU's memory beyond guest RAM, 16 idle chips", f"{sixteen / MIB:.0f} MiB")
    show("QEMU's memory beyond guest RAM, no chip", f"{none / MIB:.0f} MiB")
    show("  what 16 idle chips add", f"{(sixteen - none) / MIB:.0f} MiB", "64 MiB")


def rates(argv: list[str]) -> dict[str, float]:
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failed(f"{Path(argv[0]).name} exited with {done.returncode}")
    return {name: float(rate) for name, rate in (line.split() for line in done.stdout.splitlines())}


def copies(build: Path) -> None:
    program = build / "tests" / "bench" / "bench-copy"
    host = rates([str(program), "--memcpy"])["memcpy"]
    guest = rates(
        exec_argv(build, "inf1.xlarge", ["./bench-copy"], "--copy", str(program), "--memory", "1536M")
    )
    show("memcpy of 256 MiB, host", f"{host / 1e9:.2f} GB/s")
    show("memcpy of 256 MiB, guest", f"{guest['memcpy'] / 1e9:.2f} GB/s")
    for way, text in [("in", "to device"), ("out", "from device")]:
        show(f"zero-copy {text} / memcpy on the host", f"{guest['zerocopy-' + way] / host:.2f}", "0.50")
    for way, text in [("in", "to device"), ("out", "from device")]:
        show(f"buffered {text} / memcpy in the guest", f"{guest['buffered-' + way] / guest['memcpy']:.2f}")


def matmul(build: Path) -> None:
    got = rates([str(build / "tests" / "bench" / "bench-matmul")])
    show("128x128x512 bf16 matmuls, one core", f"{got['matmul'] / 1e9:.1f} GFLOP/s")
    show("OpenBLAS sgemm of that shape, one thread", f"{got['openblas'] / 1e9:.1f} GFLOP/s")
    show("matmul / OpenBLAS", f"{got['matmul'] / got['openblas']:.2f}", "0.60")


MEASURES: dict[str, Callable[[Path], None]] = {
    "boot": boot,
    "memory": memory,
    "copies": copies,
    "matmul": matmul,
}


def main() -> int:
    options = argparse.ArgumentParser(description="Print the project's measures.")
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="DIR")
    options.add_argument("--only", default=",".join(MEASURES), metavar="NAMES", help="of " + ", ".join(MEASURES))
    args = options.parse_args()
    status = 0
    for name in args.only.split(","):
        try:
            MEASURES[name](args.build)
        except (Failed, OSError) as error:
            print(f"run.py: {name}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
