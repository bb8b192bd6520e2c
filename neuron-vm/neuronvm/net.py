# SPDX-License-Identifier: MIT
"""The Debian guest's network: QEMU's user network, ports of the host that lead into it."""

import contextlib
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from . import VmError, qmp

LOOPBACK = "127.0.0.1"
SSH_PORT = 22
PORT_MAX = 65535
FORWARD = re.compile(r"(?:(tcp|udp):)?(?:(\d{1,3}(?:\.\d{1,3}){3}):)?(\d{1,5}):(\d{1,5})")
# a line of the monitor's "info usernet": what is forwarded, where from and to
FORWARDED = re.compile(r"^\s*(TCP|UDP)\[HOST_FORWARD\]\s+\d+\s+(\S+)\s+(\d+)\s+\S+\s+(\d+)\s", re.MULTILINE)


@dataclass
class Forward:
    protocol: str
    address: str
    host: int
    guest: int

    def option(self) -> str:
        return f"hostfwd={self.protocol}:{self.address}:{self.host}-:{self.guest}"


def parse(text: str) -> Forward:
    """[tcp:|udp:][ADDRESS:]HOST:GUEST"""
    found = FORWARD.fullmatch(text)
    if not found:
        raise VmError(f"--forward {text}: not of the form [tcp:|udp:][ADDRESS:]PORT:GUEST-PORT")
    protocol, address, host, guest = found.groups()
    if any(int(part) > 255 for part in (address or LOOPBACK).split(".")):
        raise VmError(f"--forward {text}: {address} is no address")
    if int(host) > PORT_MAX or not 0 < int(guest) <= PORT_MAX:
        raise VmError(f"--forward {text}: ports are 1 to {PORT_MAX}, on the host also 0 for any that is free")
    return Forward(protocol or "tcp", address or LOOPBACK, int(host), int(guest))


def check_free(forwards: list[Forward]) -> None:
    """QEMU takes the ports as it starts, and would say it in its own words."""
    for forward in forwards:
        kind = socket.SOCK_STREAM if forward.protocol == "tcp" else socket.SOCK_DGRAM
        with contextlib.closing(socket.socket(socket.AF_INET, kind)) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((forward.address, forward.host))
            except OSError as error:
                raise VmError(f"--forward: port {forward.host} of {forward.address}: {error.strerror}") from error


def args(forwards: list[Forward]) -> list[str]:
    """ssh is always forwarded, from a port that the host has free."""
    options = [f.option() for f in [Forward("tcp", LOOPBACK, 0, SSH_PORT), *forwards]]
    argv = ["-netdev", ",".join(["user,id=net,ipv6=off", *options])]
    return [*argv, "-device", "virtio-net-pci,netdev=net,addr=2.0,romfile="]


def forwarded(monitor: qmp.Qmp) -> list[Forward]:
    """The ports that a running VM forwards, with those of the host that were free."""
    text = monitor("human-monitor-command", command_line="info usernet")
    return [Forward(m[1].lower(), m[2], int(m[3]), int(m[4])) for m in FORWARDED.finditer(text)]


def ssh_port(path: Path) -> int:
    """The ssh port of the VM whose monitor listens there."""
    with qmp.Qmp(path, alive=lambda: False) as monitor:
        ports = [f.host for f in forwarded(monitor) if f.guest == SSH_PORT and f.protocol == "tcp"
                 and f.address == LOOPBACK]
    if not ports:
        raise VmError(f"{path.stem} has no ssh: only the guests of `neuron-vm run` do")
    return ports[0]
