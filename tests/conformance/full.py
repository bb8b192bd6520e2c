#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A program whose standard output has no room says so in one line and fails, as TAP. The kernel's /dev/full is that output.

usage: full.py TESTMODEL_WRITE PACKAGER PROGRAM...
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tap as taps

tap = taps.Tap()
ENV = {**os.environ, "NEURON_EMU": "inf1.xlarge"}
ARGUMENTS = {
    "neuron-ls": ["--json-output"],
    "neuron-monitor": [],
    "neuron-top": ["--once"],
    "neuron-objdump": ["-d", "add.neff"],
    "neuron-run": ["add.neff", "-i", "a=a.npy", "-i", "b=a.npy", "-o", "out"],
    "neuron-bench": ["exec", "-n", "3", "add.neff"],
    "neuronx-cc": ["list-operators", "--framework", "XLA"],
    "neuron-packager": ["info", "add.neff"],
}


def npy(path: Path, shape: tuple[int, ...]) -> None:
    """Zeros of fp32, without NumPy"""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    size = 4
    for n in shape:
        size *= n
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(size))


def run(command: list, output: str, where: str) -> subprocess.CompletedProcess:
    with open(output, "w", encoding="utf-8") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=where, env=ENV, check=False)


def main() -> None:
    model, packager, *programs = (os.path.realpath(path) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([model, "add", f"{work}/add.neff"], check=True)
        npy(Path(work, "a.npy"), (128, 64))
        for program in [*programs, packager]:
            name = Path(program).name.removesuffix(".py")
            command = [sys.executable] * program.endswith(".py") + [program, *ARGUMENTS[name]]
            done = run(command, "/dev/full", work)
            lines = [line for line in done.stderr.splitlines() if "No space left on device" in line]
            tap.ok(done.returncode == 1 and len(lines) == 1, f"{name}: status 1 and a line that says why", f"{done}")
            if name != "neuron-monitor":  # which does not end by itself
                done = run(command, os.devnull, work)
                tap.ok(done.returncode == 0 and "No space" not in done.stderr, f"{name}: with room it has neither", f"{done}")
    tap.done()


if __name__ == "__main__":
    main()
