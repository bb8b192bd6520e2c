#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What neuron-vm makes for guests is whole or not there when the disk is full, and it says which file, as TAP. A limit on the
size of a file is the full disk.

usage: vm_cache.py SOURCE_ROOT
"""

import contextlib
import resource
import sys
import tempfile
from pathlib import Path

import tap as taps

sys.path.insert(0, f"{sys.argv[1]}/neuron-vm")
from neuronvm import VmError, cpio  # noqa: E402

ROOM = 1 << 16
tap = taps.Tap()


@contextlib.contextmanager
def full():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refusal(archive: cpio.Archive, path: Path) -> str:
    try:
        with full():
            archive.save(path)
    except VmError as error:
        return str(error)
    return "saved"


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        large, path = Path(work, "large"), Path(work, "base.cpio")
        large.write_bytes(bytes(2 * ROOM))
        archive = cpio.Archive()
        archive.file("large", large)
        said = refusal(archive, path)
        tap.ok(said.startswith(f"{work}/base.") and said.endswith(": File too large"), "the file and the reason are said", said)
        tap.same(sorted(p.name for p in Path(work).iterdir()), ["large"], "nothing of it is left")
        archive.save(path)
        tap.ok(path.stat().st_size > 2 * ROOM, "with room it is there")
        before = path.read_bytes()
        refusal(archive, path)
        tap.ok(path.read_bytes() == before, "and what was there stays as it was")
        large.unlink()
        try:
            archive.save(path)
            said = ""
        except OSError as error:
            said = str(error.filename)
        tap.same(said, str(large), "a file that is missing is the one that is named")
    tap.done()


if __name__ == "__main__":
    main()
