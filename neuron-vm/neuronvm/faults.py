# SPDX-License-Identifier: MIT
"""Fault injection: the table that the device is built from, and injecting its faults into a running VM."""

import re
import socket
import sys
import textwrap
import threading
from dataclasses import dataclass
from pathlib import Path

from . import VmError, paths, qmp, running

TABLE = paths.TOP / "include" / "neuron" / "hw" / "faults.def"
ROW = re.compile(r'^NEURON_FAULT\(\w+, "([\w-]+)", (\w+),\n\t"(.*)"\)$', re.MULTILINE)
DEFAULT = {"TIMES": "1", "STATE": "on", "LINKS": "on"}
SPEC = """A fault that strikes on occasions takes a count or "always", then, as wished, ":after=N" (N
occasions pass first), ":core=N" and ":queue=copy" or ":queue=program"; without a value it is 1. One that lasts takes
"on" (link-down also with ":port=N", once or more), a reading takes a number. "off" ends each of them, the word "clear" in place of a fault ends all."""


@dataclass
class Fault:
    name: str
    kind: str
    text: str


def table() -> dict[str, Fault]:
    return {row[0]: Fault(*row) for row in ROW.findall(TABLE.read_text())}


def epilog() -> str:
    """The list for --help."""
    lines = ["faults:"]
    for fault in table().values():
        lines.append(textwrap.fill(fault.text, 100, initial_indent=f"  {fault.name:<22}", subsequent_indent=" " * 24))
    return "\n".join(lines) + "\n\n" + textwrap.fill(" ".join(SPEC.split()), 100)


def chip(word: str) -> int:
    match = re.fullmatch(r"nd(\d{1,3})", word)
    if not match:
        raise VmError(f"{word!r} is no chip: nd0, nd1 and so on")
    return int(match.group(1))


def assignment(word: str) -> tuple[str, str]:
    """NAME or NAME=VALUE as property and value."""
    name, equals, value = word.partition("=")
    fault = table().get(name)
    if not fault:
        raise VmError(f"unknown fault {name!r}: see neuron-vm fault --help")
    if not equals and fault.kind not in DEFAULT:
        raise VmError(f"{name} needs a value")
    return f"fault-{name}", value if equals else DEFAULT[fault.kind]


def device_options(words: list[str], chips: int) -> dict[int, str]:
    """--fault ndN:NAME=VALUE... as what goes onto the -device argument of each chip."""
    found: dict[int, str] = {}
    for word in words:
        where, colon, what = word.partition(":")
        slot = chip(where)
        if not colon or slot >= chips:
            raise VmError(f"--fault {word}: ndN:FAULT=VALUE expected, ndN below nd{chips}")
        name, value = assignment(what)
        found[slot] = found.get(slot, "") + f",{name}={value.replace(',', ',,')}"
    return found


def _chips(vm: qmp.Qmp) -> list[int]:
    rows = vm("qom-list", path="/machine/peripheral")
    names = [match.group(1) for row in rows if (match := re.fullmatch(r"chip(\d+)", row["name"]))]
    return sorted(map(int, names))


def _path(vm: qmp.Qmp, slot: int) -> str:
    if slot not in _chips(vm):
        raise VmError(f"the VM has no chip nd{slot}")
    return f"/machine/peripheral/chip{slot}"


def inject(vm: qmp.Qmp, slot: int, words: list[str]) -> None:
    where = _path(vm, slot)
    for word in words:
        pairs = [(f"fault-{name}", "off") for name in table()] if word == "clear" else [assignment(word)]
        for name, value in pairs:
            vm("qom-set", path=where, property=name, value=value)


def show(vm: qmp.Qmp, slots: list[int]) -> str:
    lines = []
    for slot in slots:
        where = _path(vm, slot)
        fired = dict(re.findall(r"(\S+)=(\d+)", vm("qom-get", path=where, property="faults-fired")))
        for name in table():
            spec = vm("qom-get", path=where, property=f"fault-{name}")
            if spec != "off" or name in fired:
                lines.append(f"nd{slot:<3} {name:<22} {spec:<24} struck {fired.get(name, 0)}\n")
    return "".join(lines)


def command(name: str | None, where: str | None, words: list[str]) -> int:
    """neuron-vm fault."""
    with running.connect(running.find(name)) as vm:
        if words:
            inject(vm, chip(where or ""), words)
        else:
            sys.stdout.write(show(vm, [chip(where)] if where else _chips(vm)))
    return 0


class Port:
    """The guest's own way to inject faults: lines `ndN FAULT...` on a virtio port, each answered by one."""

    def __init__(self, work: Path, vm: Path):
        self._path, self._vm = work / "fault", vm
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def args(self) -> list[str]:
        argv = ["-chardev", f"socket,id=fault,path={self._path}"]
        return argv + ["-device", "virtserialport,chardev=fault,name=neuron.fault"]

    def start(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rw", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                lines.write(self._answer(line.split()) + "\n")
                lines.flush()

    def _answer(self, words: list[str]) -> str:
        try:
            with running.connect(self._vm) as vm:
                inject(vm, chip(words[0] if words else ""), words[1:])
        except VmError as error:
            return f"error: {error}"
        return "ok"
