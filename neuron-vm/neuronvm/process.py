# SPDX-License-Identifier: MIT
"""Runs QEMU for one command: pumps the guest's ports, waits for its status, never hangs."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO, Callable, Iterator

from . import VmError, qmp
from .plain import Plain

TIMEOUT_STATUS = 124  # as timeout(1)
# the command's status, and how many bytes it wrote to stdout and stderr (a login guest does not say)
STATUS_LINE = re.compile(rb"^exit (\d{1,3})(?: (\d{1,18}) (\d{1,18}))?\n", re.MULTILINE)
STATUS_MAX = 128  # bytes of one line of the status port; a guest may write what it likes
LOG_TAIL = 25
PROGRESS_FROM, PROGRESS_EVERY = 2.0, 0.5
POWEROFF_DEADLINE = 10.0  # the guest powers itself off once it has reported
BOOT_LINE = b"init: started"  # neuron-vm/guest/micro-init, on the console
BOOT_POLL = 0.25
STOOD_LOOKS, STOOD_PAUSE = 3, 0.2
STOOD = ["info registers", "x/64gx $rsp"]  # of each processor
DRAIN_DEADLINE = 10.0  # no byte for so long: a guest that moved here sent some of them elsewhere
STOP_DEADLINE = 3.0  # QEMU answers SIGTERM at once unless the host is badly overloaded


class Port:
    """A guest port whose bytes come out of a pipe; a thread copies them to their destination.

    Without a sink it is the status port: of its lines the first that is a status is kept.
    """

    def __init__(self, name: str, sink: BinaryIO | None, on_start: Callable[[], None] = lambda: None):
        self.name = name
        self._on_start = on_start
        self.data = bytearray()
        self._sink = sink
        self._read, self.fd = os.pipe()
        self.seen = threading.Event()
        self._received, self._writing, self._started = 0, False, False
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._pump, daemon=True)

    def args(self) -> list[str]:
        # QEMU opens its own end of the pipe, so ours can be closed once it runs
        argv = ["-chardev", f"file,id={self.name},path=/proc/self/fd/{self.fd}"]
        return argv + ["-device", f"virtserialport,chardev={self.name},name=neuron.{self.name}"]

    def start(self) -> None:
        os.close(self.fd)
        self._thread.start()

    def finish(self) -> None:
        self._thread.join()

    def drain(self, count: int) -> None:
        """Waits until so many bytes have come: they lie in the guest while the pipe is full."""
        with self._moved:
            while self._received < count and (self._moved.wait(DRAIN_DEADLINE) or self._writing):
                pass

    def _note(self, received: int, writing: bool) -> None:
        with self._moved:
            self._received += received
            self._writing = writing
            self._moved.notify()

    def _take(self, chunk: bytes) -> None:
        if not self._started:
            self._on_start()
        self._started = True
        if self.seen.is_set():
            return
        self.data += chunk
        if match := STATUS_LINE.search(self.data):
            self.data = bytearray(match.group())
            self.seen.set()
            return
        del self.data[: self.data.rfind(b"\n") + 1]
        if len(self.data) > STATUS_MAX:
            self.data[:] = b"?"  # nor is the rest of this line a status

    def _pump(self) -> None:
        while chunk := os.read(self._read, 65536):
            self._note(len(chunk), True)
            if self._sink is None:
                self._take(chunk)
            elif not write(self._sink, chunk):
                self._sink = open(os.devnull, "wb")
            self._note(0, False)
        self._note(sys.maxsize, False)
        self.seen.set()
        os.close(self._read)


def write(sink: BinaryIO, chunk: bytes) -> bool:
    try:
        sink.write(chunk)
        sink.flush()
    except BrokenPipeError:
        return False
    return True


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """On a terminal, a line that counts the seconds of what takes longer than two; it goes when that is over."""
    if not sys.stderr.isatty():
        yield
        return
    done, begun = threading.Event(), time.monotonic()

    def count() -> None:
        if done.wait(PROGRESS_FROM):
            return
        while not done.wait(PROGRESS_EVERY):
            print(f"\rneuron-vm: {what}: {time.monotonic() - begun:.0f} s ", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def stop(qemu: subprocess.Popen) -> None:
    qemu.terminate()
    try:
        qemu.wait(STOP_DEADLINE)
    except subprocess.TimeoutExpired:
        qemu.kill()
        qemu.wait()


class Boot:
    """A guest until its first process runs: a kernel that stands still before is started again, once.

    An emulated processor's kernel does, once in many hundred boots, and spins: so what counts is the time of the
    host's processors that QEMU took, whatever else the host has to do. Where it stood is kept beside its console.
    """

    def __init__(self, monitor: Path, console: Path, seconds: float):
        self._monitor, self._console, self._seconds = monitor, console, seconds
        self._again = False

    def over(self, pid: int) -> bool:
        """Is the boot over, so that nothing is left to look at in a QEMU that runs?"""
        with contextlib.suppress(FileNotFoundError):
            if BOOT_LINE in self._console.read_bytes():
                if self._again:
                    self._command(lambda monitor: monitor("set-action", reboot="shutdown"))
                return True
        if not self._again and processor_time(pid) > self._seconds:
            self._start_again()
        return False

    def _start_again(self) -> None:
        self._again = True
        print(f"neuron-vm: the guest's kernel did not start its first process in {self._seconds:g} s of processor time: "
              "started again", file=sys.stderr, flush=True)

        def reset(monitor: qmp.Qmp) -> None:
            where = self._console.with_name(self._console.name + ".stood")
            where.write_text("".join(_stood(monitor) for _ in range(STOOD_LOOKS)))
            monitor("set-action", reboot="reset")  # in place of ending; firmware resets once more
            monitor("system_reset")

        self._command(reset)

    def _command(self, what: Callable[[qmp.Qmp], None]) -> None:
        try:
            with qmp.Qmp(self._monitor, alive=lambda: False) as monitor:
                what(monitor)
        except (VmError, OSError) as error:
            print(f"neuron-vm: {error}", file=sys.stderr, flush=True)


def _stood(monitor: qmp.Qmp) -> str:
    """The registers that tell a person where each processor is; some moments after the last look."""
    time.sleep(STOOD_PAUSE)
    asked = [(cpu["cpu-index"], what) for cpu in monitor("query-cpus-fast") for what in STOOD]
    return "".join(f"processor {cpu}, {what}:\n{monitor('human-monitor-command', cpu_index=cpu, command_line=what)}\n"
                   for cpu, what in asked)


def processor_time(pid: int) -> float:
    """Seconds, of a process with all its threads."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "".join(f"\n  {line}" for line in lines[-LOG_TAIL:])


def _release(initrd: Path) -> None:
    """The running guest has its copy of the initramfs: QEMU's mapping of the file needs no memory.

    The file keeps its size and reads as zeros, so what still looks at it comes to no harm.
    """
    with contextlib.suppress(OSError):
        argv = ["fallocate", "--punch-hole", "--length", str(initrd.stat().st_size), str(initrd)]
        subprocess.run(argv, stderr=subprocess.DEVNULL, check=False)


def _wait(status: Port, deadline: float, boot: Boot | None, pid: int) -> bool:
    """Until the status port is done; False: that is not in time."""
    while boot and time.monotonic() < deadline and not status.seen.wait(BOOT_POLL):
        if boot.over(pid):
            break
    return status.seen.wait(max(0.0, deadline - time.monotonic()))


def run_command(argv: list[str], timeout: float, console: Path, work: Path, done: Path | None,
                held: tuple[int, ...] = (), boot: Boot | None = None) -> int:
    """Runs QEMU with the three ports; returns the guest command's status.

    done: the initramfs of a guest that starts only once
    held: descriptors whose locks QEMU keeps
    """
    ports = [Port("stdout", sys.stdout.buffer), Port("stderr", sys.stderr.buffer)]
    status = Port("status", None, lambda: _release(done) if done else None)
    ports.append(status)
    full = list(argv)
    for port in ports:
        full += port.args()
    deadline = time.monotonic() + timeout
    complaints = open(work / "qemu.log", "w+")
    qemu = subprocess.Popen(full, stdin=subprocess.DEVNULL, stdout=complaints, stderr=complaints,
                            pass_fds=[*held, *(port.fd for port in ports)])
    try:
        for port in ports:
            port.start()
        finished = _wait(status, deadline, boot, qemu.pid)
        if match := STATUS_LINE.search(status.data):
            for port, count in zip(ports, match.groups()[1:]):
                port.drain(int(count or 0))
    finally:
        stop(qemu)
    for port in ports:
        port.finish()
    if not finished:
        print(f"neuron-vm: no end after {timeout:g} s{_tail(console)}", file=sys.stderr)
        return TIMEOUT_STATUS
    found = _parse_status(status)
    if found is None:
        logs = _tail(work / "qemu.log") + _tail(console)
        raise VmError(f"the guest ended before its command did{logs}")
    return found


def _parse_status(port: Port) -> int | None:
    match = STATUS_LINE.search(port.data)
    return int(match.group(1)) if match else None


def _copy_plain(source: BinaryIO) -> None:
    """Copies what the guest's terminal shows to a standard output that is no terminal."""
    plain = Plain()
    while data := os.read(source.fileno(), 65536):
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.buffer.write(plain.feed(data))
            sys.stdout.buffer.flush()


def run_once(argv: list[str], placed: Callable[[list[str]], list[str]], held: tuple[int, ...] = ()) -> int:
    """Runs QEMU on this terminal until the guest reports its command's status; placed: Machine.placed."""
    status = Port("status", None)
    full = placed([*argv, "-device", "virtio-serial-pci,addr=4.0", *status.args()])
    terminal = sys.stdout.isatty()
    sys.stdout.flush()
    qemu = subprocess.Popen(full, pass_fds=[*held, status.fd], stdout=None if terminal else subprocess.PIPE)
    copier = None if terminal else threading.Thread(target=_copy_plain, args=[qemu.stdout], daemon=True)
    try:
        if copier:
            copier.start()
        status.start()
        status.seen.wait()
        with contextlib.suppress(subprocess.TimeoutExpired):
            qemu.wait(POWEROFF_DEADLINE)
    finally:
        stop(qemu)
    if copier:
        copier.join()
    status.finish()
    found = _parse_status(status)
    if found is None:
        raise VmError("the guest ended before its command did")
    return found
