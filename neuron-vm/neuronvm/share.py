# SPDX-License-Identifier: MIT
"""--share: a host directory in the guest, served by virtiofsd: that of our QEMU build, or where QEMU has none, the machine's."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from . import VmError

PACKAGED = Path("/usr/libexec/virtiofsd")  # written in Rust; its options are others


def command(qemu_dir: Path, directory: Path, descriptor: int) -> list[str]:
    own = qemu_dir / "virtiofsd"
    # a mount namespace, the default, cannot be had in every container or chroot
    sandbox = ["sandbox=chroot"] if os.geteuid() == 0 else []
    if own.exists():
        options = [f"source={directory}", "cache=auto", *sandbox]
        return [str(own), f"--fd={descriptor}", *(word for option in options for word in ("-o", option))]
    if PACKAGED.exists():
        return [str(PACKAGED), f"--fd={descriptor}", f"--shared-dir={directory}", "--cache=auto", "--log-level=warn",
                *(f"--{option}" for option in sandbox)]
    raise VmError(f"no {PACKAGED} for --share: package virtiofsd (scripts/install-deps)")


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
    argv = command(qemu_dir, directory.resolve(), listener.fileno())
    if os.geteuid() != 0:
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
