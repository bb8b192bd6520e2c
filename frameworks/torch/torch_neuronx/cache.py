# SPDX-License-Identifier: MIT
"""What was lowered and compiled, on disk, for other processes and later ones:

    DIRECTORY/ab/cd/HASH.neff    a program, by its StableHLO, neuronx-cc's options and build
    DIRECTORY/ab/cd/HASH.json    an operator's StableHLO and how its tensors lie, by its arguments and all that lowering depends on

DIRECTORY is TORCH_NEURONX_NEFF_CACHE_DIR's, else the user's own cache folder, which is believed only if nobody else may write to it. An entry never changes:
it is written beside its place and renamed. Readers refresh its time; a writer removes what was not used for longest when all is more than BYTES.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import itertools
import json
import os
import stat
import tempfile
import threading
import warnings
from pathlib import Path

import torch

BYTES = 1 << 30  # TORCH_NEURONX_NEFF_CACHE_BYTES says another number
LARGEST = 256 << 20  # of a file that is read
LOOKED_AFTER = 64  # files written between two looks at how much there is

_written = itertools.count()
_lock = threading.Lock()


def _off(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "yes", "on")


def directory() -> Path | None:
    """None: nothing is kept"""
    if _off(os.environ.get("TORCH_NEURONX_NEFF_DISABLE_CACHE")):
        return None
    if named := os.environ.get("TORCH_NEURONX_NEFF_CACHE_DIR"):
        return Path(named).expanduser()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    own = Path(os.environ.get("NEURON_CACHE") or home / "neuron-emulator") / "neff"
    try:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = own.lstat()
    except OSError:
        return None
    return own if stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid() and not there.st_mode & 0o022 else None


@functools.cache
def _made_by() -> str:
    """What made an entry: this package, the compiler, PyTorch and torch-mlir"""
    from .tracing import compiler

    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(compiler())):
        digest.update(path.read_bytes())
    try:
        lowers = importlib.metadata.version("torch-mlir")
    except importlib.metadata.PackageNotFoundError:
        lowers = "none"
    return f"{torch.__version__} {lowers} {digest.hexdigest()}"


def name(*parts: str) -> str:
    """Of an entry: the digest of what it depends on"""
    return hashlib.sha256("\0".join((_made_by(), *parts)).encode()).hexdigest()


def _path(folder: Path, entry: str, ending: str) -> Path:
    return folder / entry[:2] / entry[2:4] / f"{entry}.{ending}"


def read(entry: str, ending: str) -> bytes | None:
    """None: there is none"""
    folder = directory()
    if folder is None:
        return None
    try:
        file = os.open(_path(folder, entry, ending), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe of this name must not be waited for
    except OSError:
        return None
    try:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode) or not 0 < there.st_size <= LARGEST:
            return None
        with open(file, "rb", closefd=False) as stream:
            data = stream.read(LARGEST)
        with contextlib.suppress(OSError):  # another's file may be read
            os.utime(file)
    except OSError:
        return None
    finally:
        os.close(file)
    return data if len(data) == there.st_size else None


@functools.cache
def _said(what: str) -> None:
    warnings.warn(what, stacklevel=2)


def write(entry: str, ending: str, data: bytes) -> None:
    """Whatever hinders it is said once, and nothing is kept."""
    folder = directory()
    if folder is None or not 0 < len(data) <= LARGEST:
        return
    path = _path(folder, entry, ending)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as stream:
            try:
                stream.write(data)
                stream.close()
                os.replace(stream.name, path)
            except BaseException:
                Path(stream.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        _said(f"compiled programs are not kept in {folder}: {error.strerror}")
        return
    if next(_written) % LOOKED_AFTER == 0:
        _fit(folder, _most())


def drop(entry: str, ending: str) -> None:
    """Removes one that turned out to be spoilt."""
    folder = directory()
    if folder is not None:
        try:
            _path(folder, entry, ending).unlink(missing_ok=True)
        except OSError as error:
            _said(f"a spoilt program is not removed from {folder}: {error.strerror}")


def read_record(entry: str) -> dict | None:
    """A record that is as it was written; None: there is none"""
    data = read(entry, "json")
    if data is None:
        return None
    digest, _, body = data.partition(b"\n")
    if digest.decode(errors="replace") != hashlib.sha256(body).hexdigest():
        drop(entry, "json")
        return None
    return json.loads(body)


def write_record(entry: str, record: dict) -> None:
    body = json.dumps(record).encode()
    write(entry, "json", hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _most() -> int:
    given = os.environ.get("TORCH_NEURONX_NEFF_CACHE_BYTES")
    if not given:
        return BYTES
    if given.isdecimal():
        return int(given)
    _said(f"TORCH_NEURONX_NEFF_CACHE_BYTES={given}: expected a number of bytes; it is {BYTES}")
    return BYTES


def _fit(folder: Path, most: int) -> None:
    """Removes what was not used for longest, down to seven eighths, if there is more than is to be. Files of others in the folder stay."""
    with _lock:
        found = []
        for path in folder.glob("[0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]/*"):
            if path.suffix in (".neff", ".json") or path.name.startswith("."):
                try:
                    there = path.lstat()
                except OSError:
                    continue
                found.append((there.st_mtime_ns, there.st_size, path))
        total = sum(size for _, size, _ in found)
        if total <= most:
            return
        for _, size, path in sorted(found):
            if total <= most - most // 8:
                break
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue
            total -= size
