# SPDX-License-Identifier: MIT
"""run --detach: a VM in the background, whose console goes to a file."""

import os
import signal
import sys
import time
from collections.abc import Callable

from . import VmError, net, process, running, ssh

FAILURE_STATUS = 125
POLL = 0.2
TAIL = 20


def _child(name: str, body: Callable[[], int]) -> None:
    """Starts a child that neither the terminal's signals nor its streams reach."""
    os.setsid()
    with open(os.devnull) as null, open(running.log(name), "ab", opener=_private) as log:
        os.dup2(null.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    status = FAILURE_STATUS
    try:
        status = body()
    except VmError as error:
        print(f"neuron-vm: {error}", file=sys.stderr)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else FAILURE_STATUS
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _answers(name: str) -> bool:
    """Can somebody log in?"""
    if not (running.directory() / f"{name}.qmp").exists():
        return False
    try:
        return ssh.answers(net.ssh_port(running.find(name)))
    except (VmError, OSError):
        return False


def _lost(name: str) -> VmError:
    lines = running.log(name).read_text(errors="replace").splitlines()[-TAIL:]
    return VmError(f"VM {name} has ended" + "".join(f"\n  {line}" for line in lines))


def start(name: str, seconds: float, body: Callable[[], int]) -> int:
    """Returns once the VM answers; body runs it, in a process of its own."""
    running.log(name).unlink(missing_ok=True)
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(name, body)
    try:
        with process.progress(f"starting {name}"):
            while not _answers(name):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    raise _lost(name)
                if time.monotonic() - begun > seconds:
                    raise VmError(f"VM {name} runs but does not answer within {seconds:g} s (neuron-vm logs {name})")
                time.sleep(POLL)
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    print(f"{name} is up after {time.monotonic() - begun:.0f} s: neuron-vm ssh {name}")
    return 0
