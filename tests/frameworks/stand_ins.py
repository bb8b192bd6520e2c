# SPDX-License-Identifier: MIT
"""Shared libraries that stand in for those of other chips, which torch's wheel from PyPI needs to be loaded: gigabytes
of which a program for ours calls nothing. Each defines the symbols that torch's libraries take from it, by the versions
that they name, as functions that return an error's number.

usage: stand_ins.py LIBRARIES OUT     (torch/lib, a new folder)
"""

import re
import subprocess
import sys
from pathlib import Path

HOST = re.compile(r"(libc|libm|libz|libquadmath|libdl|librt|libpthread|libgcc_s|libstdc\+\+|libgomp.*|ld-linux.*)\.so")
# whose a symbol without a version is, by how it begins
PREFIXES = (("nccl", "libnccl"), ("cuFile", "libcufile"), ("curand", "libcurand"), ("cusparseLt", "libcusparseLt"), ("nvshmem", "libnvshmem_host"),
            ("cu", "libcuda."))
ERROR = 999  # "unknown", of the functions that return a status

Symbols = dict[str, dict[str, set[str]]]  # by library, by version ("" for none)


def readelf(*arguments: object) -> str:
    return subprocess.run(["readelf", "-W", *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True).stdout


def versions(library: Path) -> dict[str, str]:
    """The library that each version of a symbol is from"""
    found, owner = {}, ""
    for line in readelf("-V", library).splitlines():
        if match := re.search(r"\bFile: (\S+)", line):
            owner = match.group(1)
        elif match := re.search(r"\bName: (\S+) +Flags", line):
            found[match.group(1)] = owner
    return found


def owner_of(name: str, version: str, of_version: dict[str, str], needed: set[str]) -> str | None:
    if version:
        return of_version.get(version)
    start = next((library for prefix, library in PREFIXES if name.startswith(prefix)), None)
    return next((library for library in needed if start and library.startswith(start)), None)


def wanted(folder: Path) -> Symbols:
    """What the libraries of a folder take from libraries that are neither there nor the host's"""
    libraries = sorted(folder.glob("*.so*"))
    here = {path.name for path in libraries}
    needed = {name for path in libraries for name in re.findall(r"\(NEEDED\).*\[(.*?)\]", readelf("-d", path))}
    needed = {name for name in needed - here if not HOST.match(name)}
    found: Symbols = {name: {} for name in needed}
    for path in libraries:
        of_version = versions(path)
        for line in readelf("--dyn-syms", path).splitlines():
            words = line.split()
            if len(words) < 8 or words[6] != "UND":
                continue
            name, _, version = words[7].partition("@")
            owner = owner_of(name, version.lstrip("@"), of_version, needed)
            if owner in needed:
                found[owner].setdefault(version.lstrip("@"), set()).add(name)
    return found


def make(folder: Path, out: Path) -> None:
    out.mkdir(parents=True)
    for library, symbols in wanted(folder).items():
        source, script = out / "symbols.c", out / "symbols.map"
        source.write_text("".join(f"int {name}(void) {{ return {ERROR}; }}\n" for names in symbols.values() for name in sorted(names)))
        script.write_text("".join(f"{version} {{ global: {'; '.join(sorted(names))}; }};\n" for version, names in symbols.items() if version))
        mapped = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", out / library, source, f"-Wl,-soname,{library}", *mapped], check=True)
        source.unlink()
        script.unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
