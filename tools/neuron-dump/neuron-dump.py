#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Collects what a report about a machine's Neuron devices needs, in one compressed tar file.

It looks at devices and takes none; it reads the kernel's and the daemon's lines that are about Neuron, and neither
environments nor files of programs. What cannot be had is said in the file's summary.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "@BUILD@"
COMMAND_DEADLINE = 60  # seconds
LOG_LINES = 5000
FILE_MAX = 1 << 20  # bytes of a file of sysfs, or of an output
SYSFS = (Path("/sys/devices/virtual/neuron_device"), Path("/sys/module/neuron"))
SHOWN_AFTER = 2.0  # seconds until a terminal is told how far it is
ABOUT_NEURON = re.compile(r"neuron|nrtd|NEURON_HW_ERR|1d0f:", re.IGNORECASE)

# name in the file: words; those without a directory are looked for beside this program first
COMMANDS = {
    "neuron-ls.txt": ["neuron-ls", "--format", "modern", "--show-all-procs", "--wide"],
    "neuron-ls-topology.txt": ["neuron-ls", "--topology"],
    "neuron-ls.json": ["neuron-ls", "--json-output"],
    "neuron-ls-version.txt": ["neuron-ls", "--version"],
    "neuron-top.txt": ["neuron-top", "--once"],
    "neuron-rtd-version.txt": ["neuron-rtd", "--version"],
    "list-model.txt": ["neuron-cli", "list-model"],
    "list-ncg.txt": ["neuron-cli", "list-ncg"],
    "lspci.txt": ["lspci", "-nnvv", "-d", "1d0f:"],
    "modinfo.txt": ["modinfo", "neuron"],
}
LOGS = {
    "kernel-log.txt": ["dmesg"],
    "daemon-log.txt": ["journalctl", "--no-pager", "--lines", str(LOG_LINES), "--unit", "neuron-rtd"],
}


@dataclass
class Collection:
    files: dict[str, bytes] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)

    def add(self, name: str, data: bytes) -> None:
        if len(data) > FILE_MAX:
            self.cut.append(name)
        self.files[name] = data[:FILE_MAX]


def program_environment() -> dict[str, str]:
    own = Path(__file__).resolve().parent
    return os.environ | {"PATH": f"{own}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}


def output(words: list[str]) -> tuple[bytes, str]:
    """What a command writes, and why that is not all; empty: it is."""
    try:
        done = subprocess.run(words, env=program_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=COMMAND_DEADLINE, check=False)  # fmt: skip
    except OSError as error:
        return b"", error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return b"", f"no end after {COMMAND_DEADLINE} s"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return done.stdout, f"status {done.returncode}: {said[-1] if said else ''}" if done.returncode else ""


def monitor_record() -> tuple[bytes, str]:
    """The first line; neuron-monitor would go on."""
    try:
        with subprocess.Popen(["neuron-monitor"], env=program_environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # fmt: skip
            line = process.stdout.readline(FILE_MAX) if process.stdout else b""
            process.terminate()
    except OSError as error:
        return b"", error.strerror or str(error)
    return line, "" if line.endswith(b"\n") else "no line"


def about_neuron(log: bytes) -> bytes:
    lines = [line for line in log.decode(errors="replace").splitlines() if ABOUT_NEURON.search(line)]
    return "".join(line + "\n" for line in lines[-LOG_LINES:]).encode()


def take_sysfs(collection: Collection, top: Path) -> None:
    if not top.is_dir():
        collection.missing[str(top)] = "not there"
        return
    for directory, _, names in os.walk(top):
        for name in sorted(names):
            path = Path(directory) / name
            if path.is_symlink() or not path.is_file() or name in ("uevent", "reset"):
                continue
            try:
                with open(path, "rb") as file:
                    collection.add(str(path).lstrip("/"), file.read(FILE_MAX + 1))
            except OSError as error:
                collection.missing[str(path)] = error.strerror or str(error)


def collect(progress: "Progress") -> Collection:
    collection = Collection()
    for number, (name, words) in enumerate([*COMMANDS.items(), *LOGS.items(), ("neuron-monitor.json", [])]):
        progress.step(number, len(COMMANDS) + len(LOGS) + 2)
        data, why = output(words) if words else monitor_record()
        if why:
            collection.missing[name] = why
        if name in LOGS:
            data = about_neuron(data)
        if data:
            collection.add(name, data)
    for top in SYSFS:
        take_sysfs(collection, top)
    for name in ("/proc/devices", "/etc/os-release"):
        try:
            collection.add(name.lstrip("/"), Path(name).read_bytes())
        except OSError as error:
            collection.missing[name] = error.strerror or str(error)
    return collection


class Progress:
    """On a terminal, once it has taken two seconds"""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.shown = False

    def step(self, done: int, total: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self.began > SHOWN_AFTER:
            self.shown = True
            print(f"\rcollecting: {done} of {total}\033[K\r", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def summary(collection: Collection) -> bytes:
    about = {
        "program": f"neuron-dump {VERSION}",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "root": os.geteuid() == 0,
        "missing": collection.missing,
        "cut": collection.cut,
    }
    return json.dumps(about, indent=4).encode() + b"\n"


def write(path: Path, collection: Collection, top: str) -> None:
    """All of it or nothing, and nobody else's to read"""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name, data in {"summary.json": summary(collection), **collection.files}.items():
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size, member.mtime = len(data), int(time.time())
                tar.addfile(member, io.BytesIO(data))
        os.replace(partial, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def main() -> int:
    top = time.strftime("neuron-dump-%Y%m%d-%H%M%S", time.gmtime())
    parser = argparse.ArgumentParser(prog="neuron-dump", description="Collect what a report about Neuron devices needs.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file (default neuron-dump-DATE-TIME.tar.gz)")
    parser.add_argument("--version", action="version", version=f"neuron-dump {VERSION}", help="print the version")
    options = parser.parse_args()
    path: Path = options.output or Path(f"{top}.tar.gz")
    progress = Progress()
    try:
        collection = collect(progress)
        progress.end()
        write(path, collection, top)
    except OSError as error:
        print(f"neuron-dump: {error.filename or path}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"{path}: {len(collection.files)} files; {len(collection.missing)} things are missing, see summary.json in it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
