# SPDX-License-Identifier: MIT
"""Running VMs by name: each has a QMP socket in one directory of its user's."""

import contextlib
import os
import re
from pathlib import Path

from . import VmError, qmp

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def directory() -> Path:
    """Nobody else reaches it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(runtime) / "neuron-vm" if runtime else Path(f"/tmp/neuron-vm-{os.getuid()}")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        raise VmError(f"{path} is not a directory of neuron-vm's")
    return path


def _socket(name: str) -> Path:
    if not NAME.fullmatch(name):
        raise VmError(f"{name!r} is no name for a VM: letters, digits, dots and dashes")
    return directory() / f"{name}.qmp"


def connect(path: Path) -> qmp.Qmp:
    try:
        return qmp.Qmp(path, alive=lambda: False)
    except OSError as error:
        raise VmError(f"{path}: {error.strerror}") from error


class Registered:
    """The socket of a VM that runs under a name, for the time of a `with`."""

    def __init__(self, name: str | None):
        self.path = _socket(name or f"vm{os.getpid()}")

    def __enter__(self) -> "Registered":
        if self.path.exists():
            with contextlib.suppress(VmError):
                connect(self.path).close()
                raise SystemExit(f"neuron-vm: a VM named {self.path.stem} runs already")
            self.path.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)

    def args(self) -> list[str]:
        return ["-qmp", f"unix:{self.path},server=on,wait=off"]


def find(name: str | None) -> Path:
    """The socket of the named VM, or of the only one there is."""
    if name:
        return _socket(name)
    paths = sorted(directory().glob("*.qmp"))
    if len(paths) != 1:
        names = ", ".join(path.stem for path in paths)
        raise VmError(f"--vm needed, one of: {names}" if paths else "no VM is running")
    return paths[0]
