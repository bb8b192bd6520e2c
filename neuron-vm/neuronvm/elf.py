# SPDX-License-Identifier: MIT
"""The shared libraries that programs need, added to an archive at /lib."""

import os
import re
import subprocess
from pathlib import Path

from . import VmError, cpio

MULTIARCH = "lib/x86_64-linux-gnu"


def is_elf(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _needed(program: Path, search: list[Path]) -> list[Path]:
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, search)), LC_ALL="C")
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=env)
    libraries = []
    for line in done.stdout.splitlines():
        if "not found" in line:
            raise VmError(f"{program} needs {line.split()[0]}, which is not there")
        match = re.search(r"(?:=> )?(/\S+) \(0x", line)
        if match:
            libraries.append(Path(os.path.normpath(match.group(1))))
    return libraries


def add_libraries(archive: cpio.Archive, programs: list[Path], own: list[Path] | None = None) -> None:
    """Libraries from the directories in own are taken to be in the archive already."""
    own = own or []
    libraries = {lib: None for program in programs for lib in _needed(program, own)}
    for library in libraries:
        if library.parent in own:
            continue
        if library.name.startswith("ld-linux"):
            archive.file(f"lib/{library.name}", library)
        else:
            archive.file(f"{MULTIARCH}/{library.name}", library)
