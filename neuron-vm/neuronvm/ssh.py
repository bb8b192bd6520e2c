# SPDX-License-Identifier: MIT
"""ssh into Debian guests: the user's key, the guests' host key, and the commands ssh and cp.

Both keys are made on first use and belong to the user alone. A guest gets the host key from neuron-vm, so that ssh knows
from the start whom it talks to.
"""

import os
import re
import shlex
import socket
import subprocess
import time
from pathlib import Path

from . import VmError, cpio, net, running

USER = "user"
ALIAS = "neuron-vm"  # the guests' name in known_hosts
KEY = "id_ed25519"
HOST_KEY = "ssh_host_ed25519_key"
KNOWN = "known_hosts"
POLL = 0.3
BANNER_DEADLINE = 5.0  # sshd is started by the connection, on an emulated processor
REMOTE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})?:(.*)", re.DOTALL)


def directory() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "neuron-vm"


def _private(path: Path) -> None:
    """A key that others can read or change is none."""
    info = path.lstat()
    if path.is_symlink() or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise VmError(f"{path}: others can reach this; it has to be yours alone (chmod go= {path})")


def keys() -> Path:
    """The directory of both keys and of known_hosts; makes what is missing."""
    path = directory()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _private(path)
    for name, comment in [(KEY, "neuron-vm"), (HOST_KEY, "neuron-vm guests")]:
        if not (path / name).exists():
            _generate(path / name, comment)
        _private(path / name)
        if not (path / f"{name}.pub").exists():
            raise VmError(f"{path / name}.pub is missing; remove {path / name}, and both are made again")
    known = f"{ALIAS} {(path / f'{HOST_KEY}.pub').read_text()}"
    if not (path / KNOWN).exists() or (path / KNOWN).read_text() != known:
        (path / KNOWN).write_text(known)
    return path


def _generate(path: Path, comment: str) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise VmError("no ssh-keygen: package openssh-client (scripts/install-deps)") from error
    if done.returncode and not path.exists():  # another neuron-vm may have been first
        raise VmError(f"{path}: {done.stderr.strip()}")


def add(archive: cpio.Archive) -> None:
    """Adds the files that a guest's initramfs puts into /etc/ssh."""
    path = keys()
    for name in [HOST_KEY, f"{HOST_KEY}.pub"]:
        archive.data(f"ssh/{name}", (path / name).read_text())
    archive.data("ssh/neuron-vm.keys", (path / f"{KEY}.pub").read_text())


def options() -> list[str]:
    path = keys()
    pairs = {"IdentityFile": path / KEY, "IdentitiesOnly": "yes", "UserKnownHostsFile": path / KNOWN,
             "GlobalKnownHostsFile": "/dev/null", "HostKeyAlias": ALIAS, "StrictHostKeyChecking": "yes",
             "LogLevel": "ERROR", "PasswordAuthentication": "no"}
    # ssh takes the quotes off a path with spaces
    return ["-F", "/dev/null", *(word for key, value in pairs.items() for word in ("-o", f'{key}="{value}"'))]


def answers(port: int) -> bool:
    """Does a guest's sshd say who it is?"""
    try:
        with socket.create_connection((net.LOOPBACK, port), BANNER_DEADLINE) as connection:
            connection.settimeout(BANNER_DEADLINE)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def wait(name: str, seconds: float) -> int:
    """The port of a VM that may have only just started, once its sshd answers."""
    end = time.monotonic() + seconds
    path = running.find(name)
    port = 0
    while time.monotonic() < end:
        if not running.alive(name):
            raise VmError(f"VM {name} has ended")
        if path.exists():
            port = port or net.ssh_port(path)
            if answers(port):
                return port
        time.sleep(POLL)
    raise VmError(f"VM {name} does not answer within {seconds:g} s (neuron-vm logs {name})")


def command(name: str | None, words: list[str], seconds: float) -> int:
    name = running.find_name(name, "NAME")
    argv = ["ssh", *options(), "-p", str(wait(name, seconds)), f"{USER}@{net.LOOPBACK}"]
    if words:
        argv += ["--", f"bash -lc {shlex.quote(shlex.join(words))}"]
    return _run(argv)


def copy(sources: list[str], target: str, recursive: bool, seconds: float) -> int:
    """Copies files as scp does: NAME:PATH, or :PATH of the only VM, on one side or the other."""
    found = {REMOTE.fullmatch(word)[1] for word in [*sources, target] if _remote(word)}
    if not found:
        raise VmError("cp: neither is in a VM: NAME:PATH is, :PATH of the only VM")
    if len(found) > 1:
        raise VmError("cp: one VM at a time")
    if _remote(target) and any(_remote(word) for word in sources):
        raise VmError("cp: one side is the host's")
    name = running.find_name(found.pop(), "NAME:PATH")
    argv = ["scp", *options(), "-P", str(wait(name, seconds)), *(["-r"] if recursive else []), "--"]
    return _run(argv + [_place(word) for word in [*sources, target]])


def _remote(word: str) -> bool:
    """A file of the host whose name has a colon is written ./a:b, as for scp."""
    return bool(REMOTE.fullmatch(word))


def _place(word: str) -> str:
    found = REMOTE.fullmatch(word)
    if found:
        return f"{USER}@{net.LOOPBACK}:{found[2]}"
    return word if word.startswith("/") else f"./{word}"


def _run(argv: list[str]) -> int:
    try:
        return subprocess.run(argv, check=False).returncode
    except FileNotFoundError as error:
        raise VmError(f"no {argv[0]}: package openssh-client (scripts/install-deps)") from error
