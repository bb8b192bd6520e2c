# SPDX-License-Identifier: MIT
"""--disk: a qcow2 image that keeps what a Debian guest writes over its read-only images.

What is written lies over one distribution image and fits no other, so the disk says in a header extension of its own
which one that was. Only plain images are taken: one with a backing or data file would show the guest other files.
"""

import fcntl
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import VmError, machine, qmp

# docs/interop/qcow2.txt of QEMU: all big-endian
MAGIC = 0x514649FB
HEADER = struct.Struct(">IIQIIQIIQQIIQQQQII")
VERSION = 3
INCOMPATIBLE_DIRTY = 1 << 0  # QEMU repairs that by itself
EXTENSION = struct.Struct(">II")
EXTENSION_END = 0
EXTENSION_BASE = 0x6E726E62  # ours: the name of the distribution image
CLUSTER_MIN, CLUSTER_MAX = 9, 21
BASE_NAME = re.compile(r"debian-[0-9a-f]{16}\.sqfs")

SIZE = "16G"
SIZE_MIN, SIZE_MAX = 64 << 20, 1 << 44  # ext4 and its journal; its largest
SERIAL = "neuron-disk"  # by which the initramfs knows it
ADDRESS = "9.0"


def _header(path: Path) -> tuple[int, dict[int, bytes], int]:
    """The header of an image: where the list of its extensions ends, these, and the first cluster's size."""
    if not path.is_file():
        raise VmError(f"--disk {path}: not a file")
    with open(path, "rb") as file:
        raw = file.read(HEADER.size)
        if len(raw) < HEADER.size or HEADER.unpack(raw)[0] != MAGIC:
            raise VmError(f"--disk {path}: not a qcow2 image")
        fields = HEADER.unpack(raw)
        version, backing, bits, incompatible, length = (fields[i] for i in (1, 2, 4, 13, 17))
        if version != VERSION or not CLUSTER_MIN <= bits <= CLUSTER_MAX or length < HEADER.size:
            raise VmError(f"--disk {path}: not an image that neuron-vm made")
        if backing or incompatible & ~INCOMPATIBLE_DIRTY or fields[6]:
            raise VmError(f"--disk {path}: has a backing file, an encryption or another file for its data")
        file.seek(0)
        cluster = file.read(1 << bits)
    extensions, at = {}, length
    while at + EXTENSION.size <= len(cluster):
        kind, size = EXTENSION.unpack_from(cluster, at)
        if kind == EXTENSION_END:
            return at, extensions, len(cluster)
        extensions[kind] = cluster[at + EXTENSION.size:at + EXTENSION.size + size]
        at += EXTENSION.size + (size + 7) // 8 * 8
    raise VmError(f"--disk {path}: the header has no end")


def base_name(path: Path) -> str:
    """The file name of the distribution image that the disk was made over."""
    name = _header(path)[1].get(EXTENSION_BASE, b"").decode("ascii", "replace")
    if not BASE_NAME.fullmatch(name):
        raise VmError(f"--disk {path}: not an image that neuron-vm made")
    return name


def _write_base(path: Path, name: str) -> None:
    at, _, size = _header(path)
    data = name.encode()
    record = EXTENSION.pack(EXTENSION_BASE, len(data)) + data.ljust((len(data) + 7) // 8 * 8, b"\0")
    record += EXTENSION.pack(EXTENSION_END, 0)
    if at + len(record) > size:
        raise VmError(f"--disk {path}: no room in its header")
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(record)


def _job(monitor: qmp.Qmp, name: str, options: dict[str, object]) -> None:
    monitor("blockdev-create", job_id=name, options=options)
    monitor.wait_event("JOB_STATUS_CHANGE", lambda data: data["id"] == name and data["status"] == "concluded")
    done = next(job for job in monitor("query-jobs") if job["id"] == name)
    monitor("job-dismiss", id=name)
    if "error" in done:
        raise VmError(f"the disk cannot be made: {done['error']}")


def _count(size: str) -> int:
    count = machine.size_bytes(size)
    if not SIZE_MIN <= count <= SIZE_MAX:
        raise VmError(f"--disk-size {size}: a disk has {SIZE_MIN >> 20}M to {SIZE_MAX >> 40}T")
    return count


def check(path: Path, size: str, snapshot: bool) -> None:
    """A disk that a VM can have, or a place for one."""
    if path.exists():
        base_name(path)
        with locked(path, not snapshot):
            return
    _count(size)
    if snapshot or not path.parent.is_dir():
        raise VmError(f"--disk {path}: No such file or directory")


def create(path: Path, size: str, base: str, qemu: Path) -> None:
    """QEMU itself makes the image, under another name until it is whole."""
    count = _count(size)
    try:
        with tempfile.TemporaryDirectory(prefix=".neuron-vm.", dir=path.parent) as work:
            new = Path(work) / "disk"
            _create(new, count, qemu)
            _write_base(new, base)
            os.link(new, path)
    except OSError as error:
        raise VmError(f"--disk {path}: {error.strerror}") from error


def _create(new: Path, count: int, qemu: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="neuron-vm.") as work:
        socket = Path(work) / "qmp"
        argv = [str(qemu), "-nodefaults", "-display", "none", "-machine", "none", "-qmp",
                f"unix:{socket},server=on,wait=off"]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        try:
            _make_image(new, count, qmp.Qmp(socket, alive=lambda: process.poll() is None))
            process.wait(qmp.DEADLINE)
        finally:
            process.kill()
            process.wait()


def _make_image(new: Path, count: int, connected: qmp.Qmp) -> None:
    with connected as monitor:
        _job(monitor, "file", {"driver": "file", "filename": str(new), "size": 0})
        monitor("blockdev-add", driver="file", node_name="file", filename=str(new))
        _job(monitor, "qcow2", {"driver": "qcow2", "file": "file", "size": count, "version": "v3"})
        monitor("quit")


@contextmanager
def locked(path: Path, alone: bool) -> Iterator[int]:
    """Nobody else has the disk, or all who have it only read; the descriptor goes to QEMU, which may outlive us."""
    try:
        fd = os.open(path, os.O_RDONLY if not alone else os.O_RDWR)
    except OSError as error:
        raise VmError(f"--disk {path}: {error.strerror}") from error
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise VmError(f"--disk {path}: another VM has it") from error
    try:
        yield fd
    finally:
        os.close(fd)


def args(path: Path, snapshot: bool) -> list[str]:
    """snapshot: QEMU writes to a temporary file instead."""
    name = str(path).replace(",", ",,")
    mode = "snapshot=on" if snapshot else "discard=unmap"
    return ["-drive", f"if=none,id=disk,file={name},format=qcow2,{mode}",
            "-device", f"virtio-blk-pci,drive=disk,addr={ADDRESS},serial={SERIAL}"]
