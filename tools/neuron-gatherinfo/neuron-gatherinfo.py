#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gathers what a report about a compilation or a run needs: reports about the machine, log lines about Neuron, and files
of the compiler and the runtime that the user names. They stay in a directory, to be looked through, and in one archive.

It follows no symbolic links: what root gathers of another user's directory lies in that directory.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

VERSION = "@BUILD@"
NAME = "neuron-gatherinfo"
COMMAND_DEADLINE = 120  # seconds
LINE_MAX = 4096  # characters of a line of a log that are looked at
PATTERN_MAX = 1 << 16  # bytes of a file of patterns
ABOUT_NEURON = re.compile(r"nrtd|neuron|kernel:", re.IGNORECASE)
# The time that a line of a log begins with: of the traditional form, or ISO 8601
TIME = re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,:+\-Z]*")
LOGS = (Path("/var/log/syslog"), Path("/var/log/messages"))
# name of the report: words; a program that is not there leaves a line that says so
REPORTS = {
    "lscpu": ["lscpu"],
    "lshw": ["lshw", "-quiet"],
    "lspci": ["lspci", "-nn"],
    "uname": ["uname", "-a"],
    "neuron-cc": ["neuronx-cc", "--version"],
    "neuron-ls": ["neuron-ls"],
}
# Of the compiler's directory; the others describe the model
COMPILER_FILES = ("graph_def.neuron-cc.log", "all_metrics.csv", "hh-tr-operand-tensortensor.json")


@dataclass
class Gathering:
    top: Path  # the directory that becomes the archive
    verbose: bool
    packaged: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        if self.verbose:
            print(text, flush=True)


def environment() -> dict[str, str]:
    own = Path(__file__).resolve().parent
    return os.environ | {"PATH": f"{own}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}


def output(words: list[str]) -> bytes:
    """What a command says on both streams, and why that may not be all"""
    try:
        done = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=COMMAND_DEADLINE, check=False)  # fmt: skip
    except OSError as error:
        return f"{NAME}: {words[0]}: {error.strerror}\n".encode()
    except subprocess.TimeoutExpired:
        return f"{NAME}: {words[0]}: no end after {COMMAND_DEADLINE} s\n".encode()
    return done.stdout + (f"{NAME}: {words[0]}: status {done.returncode}\n".encode() if done.returncode else b"")


def take_reports(gathering: Gathering) -> None:
    for name, words in REPORTS.items():
        path = gathering.top / f"report-{name}.txt"
        gathering.say(f"Running cmd: {' '.join(words)} and capturing output in file: {path.resolve()}")
        said = output(words)
        if name == "lspci":
            said = b"".join(line for line in said.splitlines(keepends=True) if re.search(rb"amazon|neuron-", line, re.IGNORECASE))
        path.write_bytes(said)
    path = gathering.top / "neuron-dump.tar.gz"
    gathering.say(f"Running cmd: neuron-dump -o {path.resolve()}")
    (gathering.top / "report-neuron-dump.txt").write_bytes(output(["neuron-dump", "-o", str(path)]))


def take_log(gathering: Gathering, wanted: list[re.Pattern[str]], times: bool) -> None:
    """Lines about Neuron; with times also when the others were written, and nothing else of them"""
    log = next((path for path in LOGS if path.is_file()), None)
    gathering.say(f"Copying lines of {log or 'the journal'}")
    if log:
        try:
            text = log.read_bytes()
        except OSError as error:
            gathering.left_out.append(f"{log}: {error.strerror}")
            return
    else:
        text = output(["journalctl", "--no-pager", "--quiet", "--output", "short"])
    with open(gathering.top / "syslog.txt", "w", encoding="utf-8") as file:
        for line in text.decode(errors="replace").splitlines():
            line = line[:LINE_MAX]
            if any(pattern.search(line) for pattern in wanted):
                file.write(line + "\n")
            elif times and (when := TIME.match(line)):
                file.write(when.group() + " ...\n")


def copy(gathering: Gathering, source: Path, to: Path, directory: int | None = None) -> None:
    """A regular file, of a directory that is open: the one that was looked at, whatever its names lead to by now"""
    name = source.name if directory is not None else source
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        gathering.left_out.append(f"{source}: {'a symbolic link' if error.errno == errno.ELOOP else error.strerror}")
        return
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            gathering.left_out.append(f"{source}: no regular file")
            return
        to.parent.mkdir(parents=True, exist_ok=True)
        with open(to, "wb") as copied:
            shutil.copyfileobj(file, copied)
    gathering.packaged.append(str(source))


def take_directory(gathering: Gathering, source: Path, to: Path, wanted: Callable[[str], bool] = lambda name: True) -> None:
    """The files below it whose names are wanted"""
    own = os.stat(gathering.top)
    for directory, names, files, descriptor in os.fwalk(source):
        for name in sorted(names):
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                gathering.left_out.append(f"{directory}/{name}: a symbolic link")
            elif (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino):
                names.remove(name)  # the archive's own may be below the one that is gathered
        for name in sorted(filter(wanted, files)):
            path = Path(directory) / name
            copy(gathering, path, to / path.relative_to(source), descriptor)


def take_any(gathering: Gathering, source: Path, to: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        take_directory(gathering, source, to / source.resolve().name)
    else:
        copy(gathering, source, to / source.name)


def take_files(gathering: Gathering, options: argparse.Namespace) -> None:
    copy(gathering, options.stdout, gathering.top / options.stdout.name)
    if options.compileroutdir:
        wanted = (lambda name: not name.endswith(".pb")) if options.modeldata else COMPILER_FILES.__contains__
        take_directory(gathering, options.compileroutdir, gathering.top / "compiler", wanted)
    if options.runtimeoutdir:
        take_any(gathering, options.runtimeoutdir, gathering.top / "runtime")
    if options.additionalfileordir:
        take_any(gathering, options.additionalfileordir, gathering.top / "additional")


def archive(gathering: Gathering) -> Path:
    """All of it or nothing, and nobody else's to read"""
    path = gathering.top.parent / f"{NAME}.tar.gz"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            tar.add(gathering.top, arcname=NAME)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def frame(*lines: str) -> None:
    print("\n    ******", *(f"    {line}" for line in lines), "    ******\n", sep="\n")


def patterns(path: Path | None) -> list[re.Pattern[str]]:
    if not path:
        return [ABOUT_NEURON]
    with open(path, "rb") as file:
        text = file.read(PATTERN_MAX + 1)
    if len(text) > PATTERN_MAX:
        raise ValueError(f"{path}: more than {PATTERN_MAX} bytes of patterns")
    found = [ABOUT_NEURON]
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        try:
            found += [re.compile(line)] if line.strip() else []
        except re.error as error:
            raise ValueError(f"{path}: line {number}: {error}") from error
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Gather what a report about a compilation or a run on Neuron devices needs."
    )
    parser.add_argument("--additionalfileordir", type=Path, metavar="PATH", help="a file or directory to gather, too")
    parser.add_argument("-c", "--compileroutdir", type=Path, metavar="DIR", help="where the compiler left its files")
    parser.add_argument("-i", "--include", action="store_true", help="of other lines of the log, take their times")
    parser.add_argument("-f", "--filter", type=Path, metavar="FILE", help="regular expressions of more lines to take, one a line")
    parser.add_argument("-m", "--modeldata", action="store_true", help="all files of the compiler, but for .pb: they describe the model")
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", required=True, help="where the files and the archive are written")
    parser.add_argument("-r", "--runtimeoutdir", type=Path, metavar="DIR", help="where the runtime left its files")
    parser.add_argument("-s", "--stdout", type=Path, metavar="FILE", required=True, help="what the compiler or the program printed")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what is done")
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}", help="print the version")
    options = parser.parse_args()
    for path in (options.compileroutdir, options.runtimeoutdir):
        if path and not path.is_dir():
            parser.error(f"{path}: no directory")
    for path in (options.stdout, options.additionalfileordir):
        if path and not path.exists():
            parser.error(f"{path}: not there")
    return options


def gather(options: argparse.Namespace) -> None:
    wanted = patterns(options.filter)
    gathering = Gathering(options.out / NAME, options.verbose)
    options.out.mkdir(parents=True, exist_ok=True)
    gathering.top.mkdir(mode=0o700)  # an old one is not mixed with this one
    take_reports(gathering)
    take_log(gathering, wanted, options.include)
    take_files(gathering, options)
    (gathering.top / "left-out.txt").write_text("".join(f"{line}\n" for line in gathering.left_out))
    path = archive(gathering)
    frame("Archive created at:", f"    {path.resolve()}", "From directory:", f"    {gathering.top.resolve()}")
    frame("Based on your command line options, these files are packaged, too:", *(f"    {name}" for name in gathering.packaged))
    if gathering.left_out:
        frame("These are not:", *(f"    {line}" for line in gathering.left_out))


def main() -> int:
    options = arguments()
    try:
        gather(options)
    except FileExistsError as error:
        print(f"{NAME}: {error.filename}: it exists; move it away, or name another directory", file=sys.stderr)
    except OSError as error:
        print(f"{NAME}: {error.filename or options.out}: {error.strerror}", file=sys.stderr)
    except ValueError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
