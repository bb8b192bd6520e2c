# SPDX-License-Identifier: MIT
"""Initramfs archives ("newc" cpio), written without root and always with the same bytes."""

import contextlib
import os
import stat
from pathlib import Path

from . import VmError

MAGIC = b"070701"


class Archive:
    """Collects entries by guest path; parents come by themselves; everything belongs to root."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes | Path]] = {}

    def directory(self, path: str, mode: int = 0o755) -> None:
        path = path.strip("/")
        if path and path not in self._entries:
            self.directory(os.path.dirname(path))
            self._entries[path] = (stat.S_IFDIR | mode, b"")

    def data(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        self._add(path, stat.S_IFREG | mode, data.encode() if isinstance(data, str) else data)

    def link(self, path: str, target: str) -> None:
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def file(self, path: str, source: Path) -> None:
        """A copy of a host file, symbolic links followed."""
        mode = stat.S_IMODE(source.stat().st_mode)
        self._add(path, stat.S_IFREG | mode, source)

    def tree(self, path: str, source: Path) -> None:
        """A copy of a host directory, symbolic links kept."""
        for entry in sorted(source.iterdir()):
            target = f"{path}/{entry.name}"
            if entry.is_symlink():
                self.link(target, os.readlink(entry))
            elif entry.is_dir():
                self.directory(target)
                self.tree(target, entry)
            else:
                self.file(target, entry)

    def __contains__(self, path: str) -> bool:
        return path.strip("/") in self._entries

    def _add(self, path: str, mode: int, content: bytes | Path) -> None:
        path = path.strip("/")
        self.directory(os.path.dirname(path))
        self._entries[path] = (mode, content)

    def write(self, out) -> None:
        for number, (path, (mode, content)) in enumerate(self._entries.items(), 1):
            data = content.read_bytes() if isinstance(content, Path) else content
            _write_entry(out, number, path, mode, data)
        _write_entry(out, 0, "TRAILER!!!", 0, b"")

    def freeze(self) -> None:
        """Reads the files now, so that their sources may go away."""
        for path, (mode, content) in self._entries.items():
            if isinstance(content, Path):
                self._entries[path] = (mode, content.read_bytes())

    def save(self, path: Path) -> None:
        temporary = path.with_suffix(f".{os.getpid()}")
        with writing(temporary) as out:
            self.write(out)
        temporary.rename(path)


@contextlib.contextmanager
def writing(path: Path):
    """A new file, which is whole or not there; an error, such as a full disk, names it"""
    try:
        with open(path, "wb") as out:
            yield out
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not error.filename:
            raise VmError(f"{path}: {error.strerror}") from error
        raise


def copy_all(archive: Archive, directory: str, sources: list[Path]) -> None:
    """Files and directories of the host, by their own names, into one directory of the guest."""
    archive.directory(directory)
    for source in sources:
        target = f"{directory}/{source.resolve().name}"
        if source.is_dir():
            archive.directory(target)
            archive.tree(target, source)
        elif source.is_file():
            archive.file(target, source)
        else:
            raise VmError(f"--copy {source}: no such file")


def _write_entry(out, number: int, path: str, mode: int, data: bytes) -> None:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = [number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0]
    head = MAGIC + b"".join(b"%08x" % value for value in fields) + name
    out.write(head + bytes(-len(head) % 4))
    out.write(data)
    out.write(bytes(-len(data) % 4))
