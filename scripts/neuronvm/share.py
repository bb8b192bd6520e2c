# SPDX-License-Identifier: MIT
"""--share: a host directory in the guest, served by the virtiofsd of our QEMU build."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from . import VmError

START_DEADLINE = 5.0  # it has to create one socket


@contextlib.contextmanager
def serve(directory: Path | None, qemu_dir: Path, work: Path) -> Iterator[Path | None]:
    """Yields the socket for QEMU, or None when nothing is shared."""
    if directory is None:
        yield None
        return
    if not directory.is_dir():
        raise VmError(f"--share {directory}: not a directory")
    socket = work / "share.sock"
    argv = [str(qemu_dir / "virtiofsd"), f"--socket-path={socket}"]
    argv += ["-o", f"source={directory.resolve()}", "-o", "cache=auto"]
    if os.geteuid() == 0:
        # a mount namespace, its default, cannot be had in every container or chroot
        argv += ["-o", "sandbox=chroot"]
    else:
        # root of a user namespace of its own may make a mount namespace
        argv = ["unshare", "--user", "--map-root-user", *argv]
    log = open(work / "virtiofsd.log", "w+")
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for(socket, server, work / "virtiofsd.log")
        yield socket
    finally:
        server.terminate()
        server.wait()


def _wait_for(socket: Path, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE
    while not socket.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise VmError(f"virtiofsd did not start\n{log.read_text()}")
        time.sleep(0.01)
