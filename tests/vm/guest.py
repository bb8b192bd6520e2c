# SPDX-License-Identifier: MIT
"""Guests of host tests: neuron-vm exec in the background, its lines as they come, QEMU by QMP; TAP.

A test that needs two guests at once, or one that is saved, moved, reset or has chips plugged.
"""

import contextlib
import hashlib
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NEURON_BUILD", TOP / "build" / "release"))
OUTPUT = Path(os.environ.get("NEURON_OUTPUT", "."))
LONG = os.environ.get("NEURON_TESTS") == "long"  # make check-migration
# The type of chip, as tests/vm/run takes it, and instances that have one, and more. Programs there are for the first type alone.
CHIP = os.environ.get("NEURON_CHIP") or "inferentia"
ONE = {"inferentia": "inf1.xlarge", "trainium": "trn1.2xlarge", "inferentia2": "inf2.xlarge", "trainium2": "trn2.3xlarge"}[CHIP]
MANY = {"inferentia": "inf1.6xlarge", "trainium": "trn1.32xlarge", "inferentia2": "inf2.24xlarge",
        "trainium2": "trn2.48xlarge"}[CHIP]
PROGRAMS = CHIP == "inferentia"
sys.path.insert(0, str(TOP / "neuron-vm"))

from neuronvm import VmError, micro, paths  # noqa: E402
from neuronvm.qmp import Qmp  # noqa: E402

DEADLINE = 1200.0  # of one thing that has to happen; only a failure waits for it
TROUBLE = ("WARNING: ", "BUG: ", "Oops", "general protection", "Call Trace", "lockdep")

results: list[bool] = []


def is_(got: object, wanted: object, name: str) -> None:
    results.append(got == wanted)
    print(f"{'ok' if got == wanted else 'not ok'} {len(results)} - {name}", flush=True)
    if got != wanted:
        print(f"#   got {got!r}\n#   wanted {wanted!r}", flush=True)


def ok(good: object, name: str) -> None:
    is_(bool(good), True, name)


def run_tests(tests: list[Callable[[], None]]) -> int:
    """All of them; what goes wrong in one is a failure, and its guests end."""
    wanted = sys.argv[1:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        try:
            test()
        except (OSError, ValueError, VmError, subprocess.SubprocessError) as error:
            is_(f"{type(error).__name__}: {error}", "no exception", test.__name__)
        finally:
            Guest.end_all()
    print(f"1..{len(results)}")
    return 0 if results and all(results) else 1


def program(name: str, *args: str) -> str:
    """The output of a program of the build directory on this host."""
    return subprocess.run([BUILD / name, *args], check=True, text=True, stdout=subprocess.PIPE).stdout


class Model:
    """A program of seconds on one engine, each instruction on the result of the one before: its files,
    and the digest of the output's file by NumPy."""

    STEPS, SHAPE = 2000, (128, 4096)

    def __init__(self, work: Path):
        rng = np.random.default_rng(1)
        a = rng.standard_normal(self.SHAPE, dtype=np.float32)
        b = (1 + rng.uniform(-1e-3, 1e-3, self.SHAPE)).astype(np.float32)
        program("tests/unit/neff/testmodel_write", "long", str(work / "long.neff"))
        self.copies = [work / name for name in ("long.neff", "a.npy", "b.npy")]
        np.save(work / "a.npy", a)
        np.save(work / "b.npy", b)
        for _ in range(self.STEPS):
            a = a * b
        np.save(work / "c.npy", a)
        self.digest = hashlib.sha256((work / "c.npy").read_bytes()).hexdigest()


class Guest:
    _count = 0
    _all: list["Guest"] = []

    def __init__(self, command: list[str], *, copies: list[Path] | None = None, options: list[str] | None = None,
                 qemu: list[str] | None = None, version: str | None = None):
        """Boots, or waits for a state if qemu says -incoming. version: as NEURON_QEMU, in its place."""
        Guest._count += 1
        self.name = f"{Path(sys.argv[0]).stem}-{Guest._count}"
        self.console = OUTPUT / f"{self.name}.console"
        self._work = tempfile.TemporaryDirectory(prefix="neuron-guest.")
        self.dir = Path(self._work.name)
        argv = [str(TOP / "neuron-vm" / "neuron-vm"), "exec", "--build", str(BUILD), "--console", str(self.console)]
        argv += ["--qmp", str(self.dir / "qmp"), "--timeout", "3600", *(options or [])]
        for path in copies or []:
            argv += ["--copy", str(path)]
        argv += [f"--qemu-arg={word}" for word in qemu or []]
        env = os.environ if version is None else os.environ | {"NEURON_QEMU": version}
        self._process = subprocess.Popen([*argv, "--", *command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=open(OUTPUT / f"{self.name}.stderr", "w"), text=True)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.seen: list[str] = []
        threading.Thread(target=self._pump, daemon=True).start()
        Guest._all.append(self)
        self.qmp = Qmp(self.dir / "qmp", DEADLINE, lambda: self._process.poll() is None)

    def _pump(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self) -> str | None:
        """The next line of the guest's command; None at its end."""
        try:
            line = self._lines.get(timeout=DEADLINE)
        except queue.Empty as error:
            raise VmError(f"{self.name} said nothing for {DEADLINE:g} s after {self.seen[-3:]}") from error
        if line is None:
            self._lines.put(None)
        else:
            self.seen.append(line)
        return line

    def until(self, start: str) -> str:
        """The next line that begins so."""
        while (line := self.line()) is not None:
            if line.startswith(start):
                return line
        raise VmError(f"{self.name} ended without '{start}': {self.seen[-10:]}")

    def rest(self) -> list[str]:
        """All lines to the end of the command."""
        while self.line() is not None:
            pass
        return self.seen

    def status(self) -> int:
        return self._process.wait(DEADLINE)

    def qemu_pid(self) -> int:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.dir / "qmp"))
            return struct.unpack("iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def kernel_log(self) -> str:
        return self.console.read_text(errors="replace")

    def end(self) -> None:
        """Ends QEMU, whatever the guest does; its kernel log must be clean."""
        if self not in Guest._all:
            return
        Guest._all.remove(self)
        if hasattr(self, "qmp"):  # else it never came up
            with contextlib.suppress(VmError, OSError):
                self.qmp("quit")
            self.qmp.close()
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
        log = self.kernel_log() if self.console.exists() else ""
        if any(word in log for word in TROUBLE):
            is_(log, "", f"{self.name}: the kernel log is clean")
        self._work.cleanup()

    @classmethod
    def end_all(cls) -> None:
        for guest in list(cls._all):
            guest.end()


def wait_for(condition: Callable[[], Any], what: str, pause: float = 0.01) -> Any:
    """Asks until the answer is true; there is no event for it."""
    end = time.monotonic() + DEADLINE
    while not (answer := condition()):
        if time.monotonic() > end:
            raise VmError(f"waited in vain for {what}")
        time.sleep(pause)
    return answer


def next_kernel(directory: Path, command: list[str], copies: list[Path]) -> list[Path]:
    """The guest's kernel and an initramfs with a command, and what jumps there."""
    kernel = paths.kernel(None)
    stage = paths.make_stage(BUILD, kernel.version)
    module = Path(os.environ["NEURON_MODULE"]) if "NEURON_MODULE" in os.environ else micro.staged_module(stage, kernel)
    micro.build(directory / "initrd", kernel, module, stage, micro.command_archive(command, copies))
    (directory / "vmlinuz").write_bytes(kernel.image.read_bytes())
    return [directory / "vmlinuz", directory / "initrd", BUILD / "tests" / "vm" / "kexec"]
