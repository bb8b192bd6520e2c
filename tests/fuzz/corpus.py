#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kept inputs of a fuzzer: one archive each, tests/fuzz/corpus/TARGET.tar.

usage: corpus.py list TARGET
       corpus.py add TARGET FILE [NAME]      NAME says what a regression test was (default: a hash)
       corpus.py remove TARGET NAME...
       corpus.py unpack TARGET DIRECTORY

The same inputs give the same bytes: sorted, without times and owners, and not compressed, since git does that
and keeps what did not change.
"""

import hashlib
import io
import re
import sys
import tarfile
from pathlib import Path

KEPT = Path(__file__).resolve().parent / "corpus"


def load(target: str) -> dict[str, bytes]:
    path = KEPT / f"{target}.tar"
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def save(target: str, inputs: dict[str, bytes]) -> None:
    with tarfile.open(KEPT / f"{target}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(inputs):
            member = tarfile.TarInfo(name)
            member.size = len(inputs[name])
            archive.addfile(member, io.BytesIO(inputs[name]))


def unpack(target: str, directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    for name, data in load(target).items():
        (directory / name).write_bytes(data)
    return directory


def hashed(data: bytes) -> str:
    """The name that libFuzzer gives an input"""
    return hashlib.sha1(data).hexdigest()


def is_hash(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}", name) is not None


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] not in ("list", "add", "remove", "unpack"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    verb, target, *words = sys.argv[1:]
    inputs = load(target)
    if verb == "list":
        for name, data in inputs.items():
            print(f"{len(data):8} {name}")
    elif verb == "add":
        data = Path(words[0]).read_bytes()
        save(target, inputs | {words[1] if len(words) > 1 else hashed(data): data})
    elif verb == "remove":
        save(target, {name: data for name, data in inputs.items() if name not in words})
    else:
        unpack(target, Path(words[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
