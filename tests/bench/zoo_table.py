# SPDX-License-Identifier: MIT
"""Every model of the zoo on the chip beside JAX, or onnxruntime if it is an ONNX model: run.py's group zoo."""

import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Callable, NamedTuple

import inference
from measures import MODEL

RUNNER = inference.NETWORKS / "run"
WORDS = ("zoo_", "onnx_")  # what the names of the zoo's models start with
ROUNDS = 3  # reference, ours, reference, ours, ...
SECONDS = 0.3  # of each
LARGE = 5.0  # ms of the reference, from which on ratios are plain
FIXED = 0.1  # ms that an inference may cost whatever it computes
LONG = 50.0  # ms of ours, from which on the socket is measured too


class Row(NamedTuple):
    name: str
    reference: float  # ms of a processor
    ours: float
    spread: float  # of the ratio, over the turns
    seconds: float  # of compilation
    bytes: int
    neff: Path
    data: Path

    @property
    def ratio(self) -> float:
        """A small model's: after the fixed cost, and not above 1, lest a few that are faster hide the rest"""
        if self.reference >= LARGE:
            return self.reference / self.ours
        return min(1.0, self.reference / max(self.ours - FIXED, 1e-6))


class Reference:
    """reference.py, asked again and again, so that both sides of a ratio are measured right after each other"""

    def __init__(self) -> None:
        argv = [inference.python(), "-B", inference.HERE / "reference.py"]
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def milliseconds(self, name: str, data: Path) -> float:
        print(name, SECONDS, *[data] * name.startswith("onnx_"), file=self.child.stdin, flush=True)
        program, _, rate = self.child.stdout.readline().partition(" ")
        self.child.stdout.readline()  # by the clock
        if program not in ("jax", "onnxruntime"):
            raise OSError(f"reference.py: {program} {rate}".strip())
        return 1e3 / float(rate)

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait()


def pinned() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def milliseconds(build: Path, neff: Path, data: Path) -> float:
    argv = [build / "tests" / "bench" / "bench-network", neff, "1", str(SECONDS), *inference.inputs_in(data)]
    return 1e3 / inference.numbers(argv, env=inference.PATIENCE, preexec_fn=pinned)["processor"]


def one_model(build: Path, name: str, work: Path, reference: Reference) -> Row:
    argv = [RUNNER, "--build", build, "--output", work, "--compile-only", "--keep", f"{name}:matmult"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise OSError(done.stdout.strip().split("\n")[0])
    record = json.loads((work / "networks.json").read_text())[f"{name}:matmult"]
    data, neff = Path(record["data"]), work / name / "matmult.neff"
    turns = [(reference.milliseconds(name, data), milliseconds(build, neff, data)) for _ in range(ROUNDS)]
    ratios = [a / b for a, b in turns]
    a, b = (statistics.median(column) for column in zip(*turns))
    spread = (max(ratios) - min(ratios)) / statistics.median(ratios)
    return Row(name, a, b, spread, record["seconds"], record["bytes"], neff, data)


def mean(rows: list[Row]) -> float:
    return math.exp(statistics.fmean(math.log(row.ratio) for row in rows))


def summary(rows: list[Row], put: Callable[..., None]) -> None:
    large, small = ([row for row in rows if (row.reference >= LARGE) == of] for of in (True, False))
    if large:
        put("zoo/large", None, mean(large))
        put("zoo/least", None, min(row.ratio for row in large))
    if small:
        put("zoo/small", None, mean(small))
    put("zoo/seconds", max(row.seconds for row in rows))
    put("zoo/memory", max(row.bytes for row in rows) / (1 << 20))


def sockets(build: Path, rows: list[Row], put: Callable[..., None], guest: Callable[..., list[str]]) -> None:
    """The rows' rates through the socket of a guest, by its clock"""
    for row in rows:
        given = inference.inputs_in(row.data)
        try:
            mine = inference.in_process(build, row.neff, 1, *given)["clock"]
            rate = inference.through_socket(build, row.neff, given, round(inference.SECONDS * mine), guest)
        except (OSError, IndexError, ValueError, subprocess.CalledProcessError) as error:
            inference.skipped(f"{row.name} through the socket", error)
            continue
        put(f"{MODEL}{row.name}/socket", rate, rate / mine)


def models() -> list[str]:
    done = subprocess.run([RUNNER, "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2]
        print(f"ONNX models skipped, what exports them is not there: {why}", file=sys.stderr)
        argv = [inference.python(), "-B", inference.NETWORKS / "generate.py"]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    return [name for name in done.stdout.split() if name.startswith(WORDS)]


def measure(build: Path, put: Callable[..., None], guest: Callable[..., list[str]]) -> None:
    work = build / "bench" / "zoo"
    work.mkdir(parents=True, exist_ok=True)
    reference, rows = Reference(), []
    for name in models():
        try:
            row = one_model(build, name, work, reference)
        except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            inference.skipped(name, error)
            continue
        put(f"{MODEL}{name}", row.ours, row.reference / row.ours, row.spread)
        rows.append(row)
        if row.ours < LONG:
            row.neff.unlink()
    reference.close()
    if rows:
        summary(rows, put)
    sockets(build, [row for row in rows if row.ours >= LONG], put, guest)
