# SPDX-License-Identifier: MIT
"""list, stop and logs: what is done with VMs that run, or ran in the background."""

import os
import re
import signal
import socket
import struct
import sys
import time
from pathlib import Path

from . import VmError, full, net, process, qmp, running

POWERDOWN_DEADLINE = 60.0  # a guest stops its services first, on an emulated processor
QUIT_DEADLINE = 10.0
FOLLOW_POLL = 0.2
BLOCK = 65536
# sequences that move a terminal's cursor or colour it
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x08\x0b-\x1a\x1c-\x1f]")


def _since(seconds: float) -> str:
    seconds = max(0, int(seconds))
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02}"
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _seen(name: str, kind: str) -> tuple[str, str]:
    """A VM's state, its ssh port and its other forwarded ports; one that does not answer has none to show."""
    does = "running" if kind == "run" else "command"
    path = running.directory() / f"{name}.qmp"
    try:
        with qmp.Qmp(path, deadline=2.0, alive=lambda: False) as monitor:
            forwards = net.forwarded(monitor)
            does = "disk full" if full.waits(monitor) else does
    except (VmError, OSError):
        return does, "-"
    shown = [f"{f.host}->{f.guest}" + ("/udp" if f.protocol == "udp" else "") for f in forwards]
    return does, " ".join(shown) or "-"


def list_vms(all_: bool) -> int:
    row = "{:<16} {:<9} {:<14} {:>5} {:>8} {:>8}  {}"
    print(row.format("NAME", "STATE", "INSTANCE", "CHIPS", "PID", "UP", "PORTS"))
    for name in running.names():
        state = running.state(name)
        up = _since(time.time() - state.started) if state.started else "-"
        what, ports = _seen(name, state.kind)
        print(row.format(name, what, state.instance or "-", state.chips, state.pid, up, ports))
    for name in running.ended() if all_ else []:
        state = running.state(name)
        status = "died" if state.status is None else f"ended {state.status}"
        print(row.format(name, status, state.instance or "-", state.chips, "-", "-", "-"))
    return 0


def _qemu_pid(path: Path) -> int:
    """The kernel's word for who listens there, whether or not QEMU answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", found)[0]


def _command(path: Path, command: str) -> None:
    try:
        with qmp.Qmp(path, deadline=QUIT_DEADLINE, alive=lambda: False) as monitor:
            monitor(command)
    except (VmError, OSError):
        pass  # it may be ending, and whether it does is seen by its lock


def _stop(name: str, force: bool, seconds: float) -> None:
    path = running.find(name)
    if not force and running.state(name).kind == "run":
        _command(path, "system_powerdown")
        if running.wait_end(name, seconds):
            return
        print(f"neuron-vm: {name} does not power off within {seconds:g} s; ending it", file=sys.stderr)
    _command(path, "quit")
    if running.wait_end(name, QUIT_DEADLINE):
        return
    try:
        os.kill(_qemu_pid(path), signal.SIGKILL)
    except OSError:
        os.kill(running.state(name).pid, signal.SIGTERM)  # not as far as QEMU yet
    if not running.wait_end(name, QUIT_DEADLINE):
        raise VmError(f"{name} does not end")


def stop(names: list[str], all_: bool, force: bool, seconds: float) -> int:
    if all_ and names:
        raise VmError("stop: names, or --all")
    targets = running.names() if all_ else [running.find_name(name, "NAME") for name in names or [None]]
    for name in targets:
        _stop(name, force, seconds)
    return 0


def _show(data: bytes) -> None:
    process.write(sys.stdout.buffer, data if sys.stdout.isatty() else ESCAPES.sub(b"", data))


def logs(name: str | None, follow: bool) -> int:
    """The console's output; without a terminal, without what controls one."""
    name = name or running.find_name(None, "NAME")
    path = running.log(name)
    try:
        file = open(path, "rb")
    except FileNotFoundError as error:
        raise VmError(f"nothing is kept of a VM named {name}") from error
    with file:
        while True:
            ending = not (follow and running.alive(name))
            # whole lines, so that no sequence is cut in two
            while line := file.readline(BLOCK):
                _show(line)
            if ending:
                return 0
            time.sleep(FOLLOW_POLL)
