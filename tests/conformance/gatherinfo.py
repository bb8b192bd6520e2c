#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-gatherinfo with chips in process, as TAP: what is in its archive, and what never is.

usage: gatherinfo.py NEURON_GATHERINFO NEURON_DUMP NEURON_LS NEURONX_CC
"""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tap import Tap

TIMES = re.compile(r"(\w{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \.\.\.")


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes()), mode="r:gz") as tar:
        files = {m.name: tar.extractfile(m) for m in tar if m.isreg()}
        return {name.removeprefix("neuron-gatherinfo/"): file.read() for name, file in files.items() if file}


def main() -> None:
    tap = Tap()
    gather, dump, *programs = [str(Path(word).resolve()) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "bin").mkdir()
        for program in programs:
            (work / "bin" / Path(program).name).symlink_to(program)
        (work / "bin/neuron-dump").symlink_to(dump)
        (work / "cc/sub").mkdir(parents=True)
        (work / "run").mkdir()
        secret = work / "secret"
        for path, text in {"cc/graph_def.neuron-cc.log": "log", "cc/sub/all_metrics.csv": "1,2", "cc/model.hlo": "model", "cc/weights.pb": "pb",
                           "run/nrt.log": "runtime", "out.txt": "said", "extra": "more", "secret": "hunter2", "lines": "^x\n"}.items():  # fmt: skip
            (work / path).write_text(text)
        (work / "cc/hh-tr-operand-tensortensor.json").symlink_to(secret)
        (work / "run/link").symlink_to(secret)
        (work / "run/dir").symlink_to(work)
        os.mkfifo(work / "run/pipe")
        env = os.environ | {"NEURON_EMU": "inf1.6xlarge", "PATH": f"{work}/bin:{os.environ['PATH']}", "SECRET": "hunter2"}

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([gather, *words], cwd=work, env=env, capture_output=True, text=True, check=False)

        done = run("-s", "out.txt", "-o", "one", "-c", "cc", "-r", "run", "--additionalfileordir", "extra", "-v", "-i")
        tap.ok(done.returncode == 0 and not done.stderr, "an archive is written", str(done))
        tap.ok(f"Archive created at:\n        {work.resolve()}/one/neuron-gatherinfo.tar.gz\n" in done.stdout, "and where is said", done.stdout)
        tap.ok("Running cmd: neuron-ls and capturing output in file: " in done.stdout, "--verbose: each command", done.stdout)
        found = contents(work / "one/neuron-gatherinfo.tar.gz")
        tap.ok((work / "one/neuron-gatherinfo.tar.gz").stat().st_mode & 0o77 == 0, "only its user reads it")
        reports = [f"report-{report}.txt" for report in ("lscpu", "lshw", "lspci", "uname", "neuron-cc", "neuron-ls", "neuron-dump")]
        tap.ok(set(reports) <= set(found), "the vendor's reports", str(sorted(found)))
        tap.ok(b"0000:00:1f.0" in found["report-neuron-ls.txt"] and b"neuronx-cc" in found["report-neuron-cc.txt"], "of programs here")
        tap.ok(b"neuron-ls.json" in b"".join(n.encode() for n in contents_of_dump(found["neuron-dump.tar.gz"])), "neuron-dump's file")
        given = {"out.txt": b"said", "compiler/graph_def.neuron-cc.log": b"log", "compiler/sub/all_metrics.csv": b"1,2",
                 "runtime/run/nrt.log": b"runtime", "additional/extra": b"more"}  # fmt: skip
        tap.ok({k: found.get(k) for k in given} == given, "the files that were named", str(sorted(found)))
        tap.ok(not any(name.startswith("compiler/") and name not in given for name in found), "nothing that describes the model")
        everything = b"".join(data for name, data in found.items() if not name.endswith(".gz"))
        tap.ok(b"hunter2" not in everything, "neither environments nor what links lead to")
        left = found["left-out.txt"].decode().splitlines()
        tap.ok(sorted(left) == ["cc/hh-tr-operand-tensortensor.json: a symbolic link", "run/dir: a symbolic link", "run/link: a symbolic link",
                                "run/pipe: no regular file"], "what was left out is said", str(left))  # fmt: skip
        on_disk = {str(p.relative_to(work / "one/neuron-gatherinfo")): p.read_bytes() for p in (work / "one/neuron-gatherinfo").rglob("*") if p.is_file()}
        tap.ok(on_disk == found, "the directory is what the archive has")
        lines = found["syslog.txt"].decode().splitlines()
        tap.ok(all(re.search("nrtd|neuron|kernel:", line, re.I) or TIMES.fullmatch(line) for line in lines), "lines of the log, or their times", str(lines[:5]))

        done = run("-s", "out.txt", "-o", "two", "-c", "cc", "-m", "-f", "lines")
        found = contents(work / "two/neuron-gatherinfo.tar.gz")
        tap.ok(done.returncode == 0 and found["compiler/model.hlo"] == b"model" and "compiler/weights.pb" not in found, "--modeldata", str(sorted(found)))
        done = run("-s", "out.txt", "-o", "two")
        tap.ok(done.returncode == 1 and "it exists" in done.stderr and done.stderr.count("\n") == 1, "an old directory is not written into", str(done))
        (work / "lines").write_text("good\n(\n")
        for words, want, status in ((["-s", "out.txt", "-o", "three", "-f", "lines"], "lines: line 2: ", 1),
                                    (["-s", "out.txt", "-o", "three", "-f", "/dev/zero"], "bytes of patterns", 1),
                                    (["-s", "out.txt", "-o", "extra/three"], "extra", 1), (["-o", "three"], "-s/--stdout", 2),
                                    (["-s", "none", "-o", "three"], "none: not there", 2), (["-s", "out.txt", "-o", "three", "-c", "none"], "no directory", 2)):  # fmt: skip
            done = run(*words)
            tap.ok(done.returncode == status and want in done.stderr and not done.stdout, f"refused: {words}", str(done))
        tap.ok(not (work / "three/neuron-gatherinfo.tar.gz").exists(), "and nothing is left")
    tap.done()


def contents_of_dump(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        return tar.getnames()


main()
