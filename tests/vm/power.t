#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: QEMU resets and wakes up while the guest works
# later: one
"""A chip at work when its guest is reset, jumps into another kernel, or sleeps."""

import hashlib
import sys
import tempfile
from pathlib import Path

import guest
from guest import BUILD, LONG, ONE, PROGRAMS, Guest, Model, is_, program

from neuronvm.cli import MICRO_CMDLINE  # guest has put neuron-vm/ on the path

TIMES = 5 if LONG else 1
STREAM = BUILD / "tests" / "vm" / "stream"
OPTIONS = ["--instance", ONE, "--memory", "1536M"]


class Copies:
    """In place of a model where there are no programs: a process that copies and ends."""

    def __init__(self, _: Path):
        self.copies: list[Path] = []
        self.digest = hashlib.sha256(program("tests/vm/stream", "emu:inf1.xlarge", "0", "8", "8").encode()).hexdigest()


WORK = Model if PROGRAMS else Copies
INFER = "neuron-run long.neff -d nd0 -i a=a.npy -i b=b.npy -o out >/dev/null && sha256sum <out/c.npy"
COPY = "./stream node 0 8 8 >copied && sha256sum <copied"
# copies in the background and an inference in the foreground, over and over; a failure starts again
BUSY = f"""
while :; do ./stream node 0 0 16; done &
while :; do {INFER if PROGRAMS else COPY}; done
"""
# once both have done something, a round of copies first, in the middle of the next: ACTION
THEN = """
ready=
(%s) | while read -r line; do
    echo "$line"
    case $ready$line in
    "round 0 "*) ready=copied ;;
    copied*-) ready=yes; %s ;;
    esac
done
"""


def wanted_rounds(count: int) -> list[str]:
    return program("tests/vm/stream", "emu:inf1.xlarge", "0", str(count), "16").splitlines()


def both(vm: Guest, work: Model | Copies, name: str) -> None:
    """From the first round of copies to the end of an inference: both right."""
    first = vm.until("round 0 ")
    vm.seen.clear()
    vm.until(work.digest[:8])
    rounds = [first] + [line for line in vm.seen if line.startswith("round ")]
    is_((rounds, vm.seen[-1]), (wanted_rounds(len(rounds)), f"{work.digest}  -"), name)


def busy(work: Model | Copies, script: str = BUSY, more: list[Path] | None = None) -> Guest:
    return Guest(["sh", "-c", script], copies=[*work.copies, STREAM, *(more or [])], options=OPTIONS)


def test_reset() -> None:
    """The machine's reset button, in the middle of both."""
    with tempfile.TemporaryDirectory() as name:
        work = WORK(Path(name))
        vm = busy(work)
        vm.qmp("set-action", reboot="reset")
        both(vm, work, "copies and inferences")
        for i in range(TIMES):
            vm.qmp("system_reset")
            vm.qmp.wait_event("RESET")
            both(vm, work, f"and again after reset {i + 1}")


def test_suspend() -> None:
    """Sleep in the middle of both: programs at work get errors, and those that start again continue."""
    with tempfile.TemporaryDirectory() as name:
        work = WORK(Path(name))
        vm = busy(work, THEN % (BUSY, "echo mem >/sys/power/state; echo awake"))
        both(vm, work, "copies and inferences")
        vm.qmp.wait_event("SUSPEND")
        vm.seen.clear()
        vm.qmp("system_wakeup")
        vm.qmp.wait_event("WAKEUP")
        vm.until("round 0 ")
        failed = [line for line in vm.seen if line.startswith("failed")]
        is_(failed, ["failed: copy: Input/output error"], "a copy under way when the machine slept fails")
        vm.until(work.digest[:8])
        is_(vm.line() is None, False, "after it, an inference is right and all goes on")


def test_kexec() -> None:
    """When another kernel takes the machine over (kexec), the old one's queues must not write into its memory."""
    with tempfile.TemporaryDirectory() as name:
        work = WORK(Path(name))
        jump = f"./kexec vmlinuz initrd '{MICRO_CMDLINE}'"
        vm = busy(work, THEN % (BUSY, jump), guest.next_kernel(Path(name), ["sh", "-c", BUSY], [*work.copies, STREAM]))
        both(vm, work, "copies and inferences")
        both(vm, work, "and again in the kernel that kexec started")
        vm.qmp("query-status")
        is_([e for e in vm.qmp.events if e["event"] == "RESET"], [], "without a reset of the machine")


sys.exit(guest.run_tests([test_reset, test_suspend, test_kexec]))
