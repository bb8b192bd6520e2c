# SPDX-License-Identifier: MIT
"""Running VMs by name: each has a few files in one directory of its user's.

NAME.lock is held by the VM's neuron-vm, and by QEMU, which may outlive it: whether a VM runs is whether somebody holds
its lock, so a VM that died leaves nothing that looks alive. NAME.qmp is QEMU's monitor, NAME.json says what was started,
NAME.log has the console. The last two stay after a VM that ran in the background, until the next of its name or until
many others have ended.
"""

import contextlib
import fcntl
import json
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from . import VmError, qmp

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDED_MAX = 16  # VMs of which something is kept
POLL = 0.1


def directory() -> Path:
    """Nobody else reaches it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(runtime) / "neuron-vm" if runtime else Path(f"/tmp/neuron-vm-{os.getuid()}")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = path.lstat()
    if path.is_symlink() or info.st_uid != os.getuid() or info.st_mode & 0o022:
        raise VmError(f"{path} is not a directory of neuron-vm's")
    return path


def _file(name: str, kind: str) -> Path:
    if not NAME.fullmatch(name):
        raise VmError(f"{name!r} is no name for a VM: letters, digits, dots and dashes")
    return directory() / f"{name}.{kind}"


def log(name: str) -> Path:
    return _file(name, "log")


def connect(path: Path) -> qmp.Qmp:
    try:
        return qmp.Qmp(path, alive=lambda: False)
    except OSError as error:
        raise VmError(f"{path}: {error.strerror}") from error


@dataclass
class State:
    """The state of a VM, which NAME.json has."""

    kind: str = ""  # run or exec
    instance: str = ""
    chips: int = 0
    pid: int = 0  # of neuron-vm
    started: float = 0.0  # seconds since the epoch
    status: int | None = None  # of neuron-vm, once it has ended


def state(name: str) -> State:
    """The state of a VM, running or not; a file that is not of this program's is as none."""
    try:
        found = json.loads(_file(name, "json").read_text())
        made = State(**found)
        return made if all(isinstance(getattr(made, key), type(value)) for key, value in asdict(State()).items()
                           if value is not None) else State()
    except (OSError, ValueError, TypeError):
        return State()


def check_free(name: str) -> None:
    """The name can be given to a VM."""
    if _file(name, "lock").exists() and alive(name):
        raise VmError(f"a VM named {name} runs already")


def alive(name: str) -> bool:
    try:
        fd = os.open(_file(name, "lock"), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def names() -> list[str]:
    """The names of VMs that run."""
    return [path.stem for path in sorted(directory().glob("*.lock")) if alive(path.stem)]


def ended() -> list[str]:
    """The names of VMs of which something is left."""
    return [path.stem for path in sorted(directory().glob("*.json")) if not alive(path.stem)]


def wait_end(name: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while alive(name):
        if time.monotonic() > end:
            return False
        time.sleep(POLL)
    return True


def find_name(name: str | None, option: str = "--vm") -> str:
    """The named VM, which has to run, or the only one that does."""
    running = names()
    if name:
        _file(name, "lock")
        if name not in running:
            raise VmError(f"no VM named {name} is running")
        return name
    if len(running) != 1:
        raise VmError(f"{option} needed, one of: {', '.join(running)}" if running else "no VM is running")
    return running[0]


def find(name: str | None) -> Path:
    """The socket of the named VM, or of the only one there is."""
    return _file(find_name(name), "qmp")


class Registered:
    """A VM that runs under a name, for the time of a `with`."""

    def __init__(self, name: str | None):
        self.name = name or f"vm{os.getpid()}"
        self.path = _file(self.name, "qmp")
        self.lock = -1
        self.keep = False  # what it was and its console, when it has ended
        self._state = State()

    def __enter__(self) -> "Registered":
        self.lock = self._locked()
        self.path.unlink(missing_ok=True)
        if not self.keep:
            _file(self.name, "log").unlink(missing_ok=True)
        return self

    def _locked(self) -> int:
        path = _file(self.name, "lock")
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(fd)
                raise VmError(f"a VM named {self.name} runs already") from error
            # not one that its VM removed in between
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(fd).st_ino:
                    return fd
            os.close(fd)

    def describe(self, kind: str, instance: str, chips: int) -> None:
        self._state = State(kind, instance, chips, os.getpid(), time.time())
        self._write()

    def _write(self) -> None:
        path = _file(self.name, "json")
        new = path.with_suffix(".json-new")
        new.write_text(json.dumps(asdict(self._state)) + "\n")
        new.replace(path)

    def ended(self, status: int) -> None:
        self._state.status = status
        if self.keep and self._state.kind:
            self._write()

    def __exit__(self, *_: object) -> None:
        gone = ["qmp", "lock"] if self.keep else ["qmp", "json", "log", "lock"]
        for kind in gone:
            _file(self.name, kind).unlink(missing_ok=True)
        os.close(self.lock)
        prune()

    def args(self) -> list[str]:
        return ["-qmp", f"unix:{self.path},server=on,wait=off"]


def prune() -> None:
    """Removes the files of VMs that died, but for their console and what they were; and the oldest of that."""
    for path in directory().glob("*.lock"):
        if not alive(path.stem):
            path.unlink(missing_ok=True)
            path.with_suffix(".qmp").unlink(missing_ok=True)
    left = [(path, path.stat().st_mtime) for path in directory().glob("*.json") if not alive(path.stem)]
    for path, _ in sorted(left, key=lambda pair: -pair[1])[ENDED_MAX:]:
        path.unlink(missing_ok=True)
        path.with_suffix(".log").unlink(missing_ok=True)
