#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-top on a terminal, as TAP: its screen, keys, sizes, and that it gives the terminal back.

usage: neuron_top.py NEURON_TOP

The terminal is a small interpreter of the sequences that terminfo has for "vt100", written from its
description.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from tap import Tap

# parameters and the final letter of a sequence; charset changes, keypad modes, save and restore have two or three bytes
SEQUENCE = re.compile(rb"\x1b\[([?>]?[\d;]*)([A-Za-z])|\x1b[()][0AB]|\x1b[=>78DMEH]")


class Terminal:
    def __init__(self, program: str, rows: int, columns: int) -> None:
        self.rows, self.columns, self.raw = rows, columns, b""
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self._set_size()
        env = os.environ | {"NEURON_EMU": "trn2.48xlarge", "TERM": "vt100"}
        env.pop("LINES", None)
        env.pop("COLUMNS", None)
        self.process = subprocess.Popen([program], env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def _set_size(self) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    def resize(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.raw = rows, columns, b""
        self._set_size()

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def read(self, seconds: float) -> None:
        """What comes in so long; it may come for ever."""
        end = time.monotonic() + seconds
        while select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                self.raw += os.read(self.master, 65536)
            except OSError:
                return
            if time.monotonic() >= end:
                return

    def screen(self) -> list[str]:
        """Everything since the last change of size, put where the sequences say."""
        cells = [[" "] * self.columns for _ in range(self.rows)]
        y = x = at = 0
        last = " "
        while at < len(self.raw):
            found = SEQUENCE.match(self.raw, at)
            if found:
                at = found.end()
                values = [int(v) for v in (found[1] or b"").decode().strip("?>").split(";") if v]
                n = values[0] if values else 1
                kind = found[2]
                if kind == b"H":
                    y, x = (n - 1, values[1] - 1) if len(values) > 1 else (n - 1 if values else 0, 0)
                elif kind in (b"A", b"B"):
                    y += n if kind == b"B" else -n
                elif kind in (b"C", b"D"):
                    x += n if kind == b"C" else -n
                elif kind == b"J":
                    cells[y][x:] = [" "] * (self.columns - x)
                    for row in range(y + 1, self.rows):
                        cells[row] = [" "] * self.columns
                elif kind == b"K" and values == [1]:
                    cells[y][: x + 1] = [" "] * (x + 1)
                elif kind == b"K":
                    cells[y][x:] = [" "] * (self.columns - x)
                continue
            byte = self.raw[at : at + 1]
            at += 1
            if byte == b"\r":
                x = 0
            elif byte == b"\n":
                y = min(y + 1, self.rows - 1)
            elif byte == b"\b":
                x -= 1
            elif byte == b"\t":
                x = (x // 8 + 1) * 8
            elif byte >= b" ":
                last = byte.decode("latin-1")
                if 0 <= y < self.rows and 0 <= x < self.columns:
                    cells[y][x] = last
                x += 1
        return ["".join(row).rstrip() for row in cells]

    def until(self, text: str, seconds: float = 600) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            self.read(0.2)
            if any(text in line for line in self.screen()):
                return True
        return any(text in line for line in self.screen())

    def quit(self) -> int:
        self.press(b"q")
        end = time.monotonic() + 600
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        return self.process.wait(1)


def check_screen(tap: Tap, program: str) -> None:
    t = Terminal(program, 60, 140)
    tap.ok(t.until(">all<"), "a screen", "\n".join(t.screen()))
    lines = t.screen()
    tap.ok(lines[0].startswith("neuron-top ") and lines[0].endswith("instance-type: trn2.48xlarge"), "its title", lines[0])
    tap.ok(lines[1] == "NeuronCore v3d Utilization", "cores", lines[1])
    rows = [line for line in lines if re.match(r"ND\d+ +NC\d+ *\[", line)]
    tap.ok(len(rows) == 16 and all(row.count("%") == 4 for row in rows), "sixteen chips of four logical cores", "\n".join(lines))
    for section in ("VCPU Utilization", "Memory Usage Summary", "Host Used Memory", "Device Used Memory", "Memory Usage Details"):
        tap.ok(any(line.startswith(section) for line in lines), section)
    tap.ok(lines[-1].startswith(">all<"), "the bar at the bottom", lines[-1])
    t.press(b"f")
    tap.ok(t.until("NeuronCore v3d TFLOPS"), "f shows operations", "\n".join(t.screen()[:3]))
    t.press(b"x\x1b[A\x1b[Bad19\x1bOA\x01\xff")
    t.press(b"F")
    tap.ok(t.until("NeuronCore v3d Utilization"), "other keys do no harm", "\n".join(t.screen()[:3]))
    for rows_, columns in ((20, 60), (70, 200), (1, 1), (2, 3), (200, 600), (24, 80)):
        t.resize(rows_, columns)
        time.sleep(0.3)
        t.read(1.5)
        alive = t.process.poll() is None
        shown = columns < 30 or t.until("neuron-top ")
        tap.ok(alive and shown, f"{columns} columns and {rows_} lines", "\n".join(t.screen()))
    tap.ok(t.quit() == 0, "q ends it")
    tap.ok(termios.tcgetattr(t.slave) == t.before, "the terminal is as it was")


def check_refused(tap: Tap, program: str) -> None:
    env = os.environ | {"NEURON_EMU": "inf2.xlarge"}
    done = subprocess.run([program], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 1 and not done.stdout and "terminal" in done.stderr, "no terminal: refused", str(done))
    done = subprocess.run([program, "--once"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0 and "\x1b" not in done.stdout and "NeuronCore v2 Utilization" in done.stdout, "--once: plain text", str(done))
    done = subprocess.run([program, "--once"], env=env | {"NEURON_EMU": "bogus"}, capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 1 and "failed to discover" in done.stderr and not done.stdout, "no device: said", str(done))
    for option in ("--bogus", "extra"):
        done = subprocess.run([program, option], capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 2 and not done.stdout, f"refused: {option}", str(done))


def main() -> None:
    tap = Tap()
    check_screen(tap, sys.argv[1])
    check_refused(tap, sys.argv[1])
    tap.done()


main()
