#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-dump with chips in process, as TAP: what is in its file, and what is said of the rest.

usage: dump.py NEURON_DUMP NEURON_LS NEURON_MONITOR NEURON_TOP
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tap import Tap


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes()), mode="r:gz") as tar:
        files = {m.name.split("/", 1)[1]: tar.extractfile(m) for m in tar if m.isreg()}
        return {name: file.read() for name, file in files.items() if file}


def main() -> None:
    tap = Tap()
    dump, *programs = [str(Path(word).resolve()) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "bin").mkdir()
        for program in programs:
            (work / "bin" / Path(program).name).symlink_to(program)
        # a kernel's log of our own
        (work / "bin" / "dmesg").write_text("#!/bin/sh\necho 'neuron: nd0 works'\necho 'eth0: secret'\necho 'x NEURON_HW_ERR=DMA_ERROR y'\n")
        (work / "bin" / "journalctl").write_text("#!/bin/sh\necho refused >&2\nexit 3\n")
        for script in ("dmesg", "journalctl"):
            (work / "bin" / script).chmod(0o755)
        env = os.environ | {"NEURON_EMU": "inf2.24xlarge", "PATH": f"{work}/bin:{os.environ['PATH']}", "SECRET": "hunter2",
                            "NEURON_RTD_ADDRESS": f"unix:{work}/none"}  # fmt: skip
        done = subprocess.run([dump, "-o", "out.tar.gz"], cwd=work, env=env, capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 0 and done.stdout.startswith("out.tar.gz: ") and not done.stderr, "a file is written", str(done))
        found = contents(work / "out.tar.gz")
        tap.ok((work / "out.tar.gz").stat().st_mode & 0o77 == 0, "only its user reads it")
        tap.ok(len(json.loads(found["neuron-ls.json"])) == 6, "neuron-ls's JSON")
        tap.ok(found["neuron-ls.txt"].startswith(b"instance-type: inf2.24xlarge\n"), "its table")
        record = json.loads(found["neuron-monitor.json"])
        tap.ok(record["neuron_hardware_info"]["neuron_device_count"] == 6, "a record of neuron-monitor")
        tap.ok(b"NeuronCore v2 Utilization" in found["neuron-top.txt"], "neuron-top")
        tap.ok(found["kernel-log.txt"] == b"neuron: nd0 works\nx NEURON_HW_ERR=DMA_ERROR y\n", "lines about Neuron alone", str(found.get("kernel-log.txt")))
        about = json.loads(found["summary.json"])
        tap.ok(about["missing"]["daemon-log.txt"] == "status 3: refused", "what could not be had, and why", str(about))
        tap.ok("/sys/devices/virtual/neuron_device" in about["missing"], "no module: said", str(about))
        tap.ok(not any(b"hunter2" in data for data in found.values()), "no environment")
        before = sorted(p.name for p in work.iterdir())
        done = subprocess.run([dump, "-o", "none/out.tar.gz"], cwd=work, env=env, capture_output=True, text=True, check=False)
        tap.ok((done.returncode, done.stderr) == (1, "neuron-dump: none/out.tar.gz: No such file or directory\n"), "where it cannot be written: said", str(done))
        tap.ok(sorted(p.name for p in work.iterdir()) == before, "and nothing is left")
        done = subprocess.run([dump, "extra"], cwd=work, env=env, capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 2, "refused: an argument")
    tap.done()


main()
