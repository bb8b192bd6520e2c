# SPDX-License-Identifier: MIT
"""QEMU without a guest: the qtest protocol moves memory and registers, QMP asks the rest.

For host tests of what QEMU does and no guest can show: properties, bad command lines, saved state.
"""

import atexit
import json
import socket
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
DEADLINE = 600.0  # of what only a hang does not do, on a machine as busy as may be
PCI_ADDRESS, PCI_DATA = 0xCF8, 0xCFC


def qemu_binary() -> str:
    done = subprocess.run([TOP / "scripts" / "build-qemu"], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.strip() + "/qemu-system-x86_64"


def refused(*args: str) -> str:
    """QEMU's message about a command line that it does not take; empty if it takes it."""
    argv = [qemu_binary(), "-machine", "pc,accel=qtest", "-nodefaults", "-display", "none", *args]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ""
    return done.stderr if done.returncode else ""


class Qemu:
    def __init__(self, *args: str, stderr: Any = None):
        self._dir = tempfile.TemporaryDirectory(prefix="neuron-qtest.")
        names = {name: f"{self._dir.name}/{name}" for name in ("qtest", "qmp")}
        listeners = {name: self._listen(path) for name, path in names.items()}
        argv = [qemu_binary(), "-machine", "pc,accel=qtest", "-nodefaults", "-display", "none", "-m", "64"]
        argv += ["-qtest", f"unix:{names['qtest']}", "-qtest-log", "/dev/null"]
        argv += ["-qmp", f"unix:{names['qmp']}", *args]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=stderr)
        atexit.register(self.process.kill)  # a test that failed on its way leaves nothing that runs
        self._qtest = self._accept(listeners["qtest"])
        self._qmp = self._accept(listeners["qmp"])
        self.events: list[dict[str, Any]] = []
        json.loads(self._qmp.readline())
        self.qmp("qmp_capabilities")

    @staticmethod
    def _listen(path: str) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(DEADLINE)
        return listener

    @staticmethod
    def _accept(listener: socket.socket):
        connection, _ = listener.accept()
        connection.settimeout(DEADLINE)
        listener.close()
        return connection.makefile("rw", encoding="ascii")

    def close(self) -> int:
        self.qmp("quit")
        status = self.process.wait(DEADLINE)
        self._dir.cleanup()
        return status

    def qmp(self, command: str, **arguments: Any) -> Any:
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp.flush()
        while True:
            answer = json.loads(self._qmp.readline())
            if "event" in answer:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(answer["error"]["desc"])
            else:
                return answer["return"]

    def wait_event(self, name: str) -> None:
        while not any(event["event"] == name for event in self.events):
            self.events.append(json.loads(self._qmp.readline()))

    def get(self, device: str, name: str) -> Any:
        return self.qmp("qom-get", path=f"/machine/peripheral/{device}", property=name)

    def set(self, device: str, name: str, value: Any) -> None:
        self.qmp("qom-set", path=f"/machine/peripheral/{device}", property=name, value=value)

    def command(self, *words: object) -> str:
        text = " ".join(hex(w) if isinstance(w, int) else str(w) for w in words)
        self._qtest.write(text + "\n")
        self._qtest.flush()
        while True:
            answer = self._qtest.readline().split()
            if not answer or answer[0] in ("OK", "FAIL", "ERR"):
                break
        if not answer or answer[0] != "OK":
            raise RuntimeError(f"{text}: {answer}")
        return answer[1] if len(answer) > 1 else ""

    def readl(self, address: int) -> int:
        return int(self.command("readl", address), 16)

    def writel(self, address: int, value: int) -> None:
        self.command("writel", address, value)

    def read(self, address: int, size: int) -> bytes:
        return bytes.fromhex(self.command("read", address, size)[2:])

    def write(self, address: int, data: bytes) -> None:
        self.command("write", address, len(data), "0x" + data.hex())

    def config_read(self, slot: int, offset: int) -> int:
        self.command("outl", PCI_ADDRESS, 0x80000000 | slot << 11 | offset & 0xFC)
        return int(self.command("inl", PCI_DATA), 16)

    def config_write(self, slot: int, offset: int, value: int) -> None:
        self.command("outl", PCI_ADDRESS, 0x80000000 | slot << 11 | offset & 0xFC)
        self.command("outl", PCI_DATA, value)

    def enable(self, slot: int, bars: dict[int, int]) -> None:
        """Places the BARs and turns on memory space and bus mastering."""
        for bar, address in bars.items():
            self.config_write(slot, 0x10 + 4 * bar, address & 0xFFFFFFFF)
            self.config_write(slot, 0x14 + 4 * bar, address >> 32)
        self.config_write(slot, 0x04, 0x6)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fwio_read_request(sequence: int, address: int) -> bytes:
    """A mailbox request (facts of the public driver): READ of one device address."""
    head = struct.pack("<BBH", sequence, 1, 16)
    payload = struct.pack("<Q", address)
    return head + struct.pack("<I", crc32c(head + bytes(4) + payload)) + payload
