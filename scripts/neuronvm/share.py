# SPDX-License-Identifier: MIT
"""--share: a host directory in the guest, served by the virtiofsd of our QEMU build."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from . import VmError


@contextlib.contextmanager
def serve(directory: Path | None, qemu_dir: Path, work: Path) -> Iterator[Path | None]:
    """Yields the socket for QEMU, or None when nothing is shared."""
    if directory is None:
        yield None
        return
    if not directory.is_dir():
        raise VmError(f"--share {directory}: not a directory")
    path = work / "share.sock"
    # a descriptor and not --socket-path: for that it wants a lock file that only root can make
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)
    argv = [str(qemu_dir / "virtiofsd"), f"--fd={listener.fileno()}"]
    argv += ["-o", f"source={directory.resolve()}", "-o", "cache=auto"]
    if os.geteuid() == 0:
        # a mount namespace, its default, cannot be had in every container or chroot
        argv += ["-o", "sandbox=chroot"]
    else:
        # root of a user namespace of its own may make a mount namespace
        argv = ["unshare", "--user", "--map-root-user", "--map-auto", *argv]
    log = open(work / "virtiofsd.log", "w+")
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              pass_fds=[listener.fileno()])
    listener.close()
    try:
        yield path
        if server.poll():
            raise VmError(f"virtiofsd ended\n{(work / 'virtiofsd.log').read_text()}")
    finally:
        server.terminate()
        server.wait()
        log.close()
