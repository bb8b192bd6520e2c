#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuronx-cc says on a terminal how far a long compilation is, and only there; TAP.

usage: progress.py NEURONX-CC
"""

import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPERATIONS = 20000
STARTED = 0.1  # seconds of a processor: the compiler is at work by then, and not done
LONG = 2.5  # seconds: with these it has worked for long


def module() -> str:
    lines = ['module "long"', '%0 = f32[128,64] parameter index=0 "x"']
    lines += [f'%{i} = f32[128,64] {("add", "multiply")[i % 2]} %{i - 1}, %0 "v"' for i in range(1, OPERATIONS)]
    return "\n".join([*lines, f"return %{OPERATIONS - 1}", ""])


def worked(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compiled(argv: list, stderr: int) -> int:
    """Starts it, keeps it from working for a while, and returns its exit status"""
    with subprocess.Popen(argv, stderr=stderr) as child:
        while child.poll() is None and worked(child.pid) < STARTED:
            time.sleep(0.01)
        child.send_signal(signal.SIGSTOP)
        time.sleep(LONG)
        child.send_signal(signal.SIGCONT)
        return child.wait()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="progress.") as work:
        (Path(work) / "long.ir").write_text(module())
        argv = [sys.argv[1], "compile", "--framework", "IR", f"{work}/long.ir", "--output", f"{work}/long.neff"]
        ours, theirs = pty.openpty()
        status = compiled(argv, theirs)
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the other side is closed
            pass
        with open(f"{work}/stderr", "wb") as quiet:
            other = compiled(argv, quiet.fileno())
        results = [
            (status == 0 and other == 0, "a long module compiles"),
            (any(phase in said for phase in (b"passes: ", b"generating: ", b"scheduling", b"writing")),
             "a terminal sees the phase"),
            (said.endswith(b"\r\033[K"), "and nothing of it when all is done"),
            (not (Path(work) / "stderr").read_bytes(), "a file sees nothing"),
        ]
    for i, (right, text) in enumerate(results, 1):
        print(f"{'ok' if right else 'not ok'} {i} - {text}")
    if not all(right for right, _ in results):
        print(f"# the terminal saw {said!r}")
    print(f"1..{len(results)}")
    return 0 if all(right for right, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
