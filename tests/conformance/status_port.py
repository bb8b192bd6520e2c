#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What neuron-vm makes of its status port, as TAP: a guest that writes for ever takes no memory of the
host, and of what it writes the first whole status line counts.

usage: status_port.py SOURCE_ROOT
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "neuron-vm"))
from neuronvm import process  # noqa: E402

KEPT = 4096 + 65536  # a pipe's read at once, and little more

CASES = [
    ("a status", [b"exit 3 10 20\n"], 3),
    ("in pieces", [b"start\nex", b"it ", b"4", b"\n"], 4),
    ("of a guest that counts no bytes", [b"exit 5\n"], 5),
    ("the first of two", [b"exit 6 0 0\nexit 7 0 0\n", b"exit 8\n"], 6),
    ("after noise", [b"x" * 65536] * 64 + [b"\n", b"exit 9\n"], 9),
    ("in pieces behind many short lines", [b"x\n" * 30000 + b"exi", b"t 13\n"], 13),
    ("not the end of a long line", [b"x" * 65536, b"\r", b"exit 10\n"], None),
    ("not a line that does not end", [b"exit 11"], None),
    ("not an endless number", [b"exit " + b"1" * 65536, b"1\n"], None),
    ("nor a long one", [b"exit " + b"1" * 5000 + b"\n"], None),
    ("nor so many bytes", [b"exit 12 0 " + b"1" * 5000 + b"\n"], None),
]


def ported(chunks: list[bytes]) -> tuple[int | None, int, int]:
    """The status, the most bytes held at one time, and how often the start was told."""
    started: list[int] = []
    port = process.Port("status", None, lambda: started.append(1))
    guest = os.dup(port.fd)
    most = sent = 0
    port.start()
    for chunk in chunks:
        sent += os.write(guest, chunk)
        port.drain(sent)  # or two would be read as one
        most = max(most, len(port.data))
    os.close(guest)
    port.finish()
    return process._parse_status(port), max(most, len(port.data)), len(started)


def main() -> int:
    failed = 0
    print(f"1..{len(CASES)}")
    for number, (name, chunks, want) in enumerate(CASES, 1):
        status, most, started = ported(chunks)
        good = status == want and most <= KEPT and started == 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print(f"# status {status}, expected {want}; {most} bytes held; {started} starts")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
