#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Do the models of tests/data compile to the NEFFs that they did? As TAP, a test per folder.

usage: neff_hashes.py [--write] [--every N] ROOT NEURONX_CC TEST_ONNX_NODES

tests/data/neff_hashes.txt has a line per model with a column per target: the first 16 digits of the SHA-256 of the
NEFF with zeros for its UUID, which is random, or - where the compiler refuses it. A change of the compiler that is to
leave its code alone (docs/compiler.md) leaves this file alone; another writes it anew (make neff-hashes).

--write writes the file. --every N looks at each N-th model of a folder.
"""

import argparse
import hashlib
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from tap import Tap

UUID = slice(204, 220)  # neff_header.uuid (neff)
LIMIT = 600  # seconds a model; the longest takes twelve
REFUSED = "-"
TARGETS = {
    "inf1": ["--target", "inf1"],
    "inf2": ["--target", "inf2"],
    "trn1": ["--target", "trn1"],
    "trn2": ["--target", "trn2"],
    "trn2-lnc2": ["--target", "trn2", "--lnc", "2"],
    "inf1-O1": ["--target", "inf1", "-O", "1"],
}
TEST_TARGETS = ["inf1", "inf2", "trn1", "trn2"]  # of ONNX's tests of operators
TESTS = Path("/usr/share/libonnx-testdata/data")
TESTS_RELEASE = "1.12"  # Debian 12's; others are not compared
FRAMEWORKS = {".pb": "XLA", ".onnx": "ONNX", ".mlirbc": "StableHLO", ".mlir": "StableHLO"}
HEAD = """# SPDX-License-Identifier: MIT
# SHA-256 of the NEFFs of these models, as neff_hashes.py --write (make neff-hashes) found them
"""


def digest(neff: Path) -> str:
    if not neff.exists():
        return REFUSED
    data = bytearray(neff.read_bytes())
    neff.unlink()
    data[UUID] = bytes(UUID.stop - UUID.start)
    return hashlib.sha256(data).hexdigest()[:16]


class Compiler:
    def __init__(self, data: Path, neuronx_cc: Path, onnx_nodes: Path, scratch: Path) -> None:
        self.data, self.neuronx_cc, self.onnx_nodes, self.scratch = data, neuronx_cc, onnx_nodes, scratch
        self.tests = {"own": data / "onnx/own"}
        if release_of_tests() == TESTS_RELEASE:
            self.tests |= {name: TESTS / name for name in ("node", "simple", "pytorch-operator", "pytorch-converted")}

    def models(self) -> list[str]:
        """All of tests/data; ONNX's own layout (a model.onnx with its data) goes by compile_tests()."""
        found = [path.relative_to(self.data).as_posix() for path in self.data.rglob("*")
                 if path.suffix in FRAMEWORKS and not path.is_relative_to(self.data / "onnx/own")
                 and not (path.suffix == ".pb" and not path.name.endswith(".hlo.pb"))]
        return sorted(found)

    def compile(self, model: str) -> list[str]:
        """The digests of one model, a target each."""
        found = []
        for target, options in TARGETS.items():
            neff = self.scratch / f"{model.replace('/', '_')}.{target}"
            argv = [self.neuronx_cc, "compile", "--framework", FRAMEWORKS[Path(model).suffix], *options, "--output", neff,
                    self.data / model]
            subprocess.run(argv, capture_output=True, check=False, timeout=LIMIT)
            found.append(digest(neff))
        return found

    def compile_tests(self, job: tuple[str, str]) -> list[str]:
        """The digests of a set of tests in ONNX's layout for one target, with the options of their table."""
        tests, target = job
        out = self.scratch / f"{tests}.{target}"
        out.mkdir()
        subprocess.run([self.onnx_nodes, self.data / f"onnx/{tests}.txt", self.tests[tests], "--neffs", out],
                       env=os.environ | {"TEST_TARGET": target}, check=True, timeout=LIMIT)
        return [digest(out / f"{name}.neff") for name in self.names(tests)]

    def all_tests(self, pool: ThreadPoolExecutor) -> dict[str, list[str]]:
        jobs = [(tests, target) for tests in self.tests for target in TEST_TARGETS]
        columns = dict(zip(jobs, pool.map(self.compile_tests, jobs)))
        return {f"onnx/{tests}/{name}": [columns[tests, target][i] for target in TEST_TARGETS]
                for tests in self.tests for i, name in enumerate(self.names(tests))}

    def names(self, tests: str) -> list[str]:
        return sorted(read(self.data / f"onnx/{tests}.txt"))


def release_of_tests() -> str:
    asked = ["dpkg-query", "-W", "-f", "${Version}", "libonnx-testdata"]
    try:
        version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
    return ".".join(version.split(".")[:2])


def read(path: Path) -> dict[str, list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines if not line.startswith("#")}


def folder(model: str) -> str:
    first, second, *_ = Path(model).parts
    return f"{first}/{second}" if first == "onnx" else first


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("paths", nargs=3, type=Path)
    args = parser.parse_args()
    root, neuronx_cc, onnx_nodes = (path.resolve() for path in args.paths)
    data = root / "tests/data"
    table = data / "neff_hashes.txt"
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        compiler = Compiler(data, neuronx_cc, onnx_nodes, Path(scratch))
        models = compiler.models()[::args.every]
        got = dict(zip(models, pool.map(compiler.compile, models)))
        if args.every == 1:
            got |= compiler.all_tests(pool)
    if args.write:
        lines = [f"{model} {' '.join(digests)}\n" for model, digests in sorted(got.items())]
        table.write_text(HEAD + f"# model {' '.join(TARGETS)}; of onnx/: {' '.join(TEST_TARGETS)}\n" + "".join(lines), encoding="utf-8")
        return
    want = read(table)
    tap = Tap()
    for name, members in groupby(sorted(got), folder):
        changed = [f"{m}: {' '.join(got[m])}, was {' '.join(want.get(m, ['not there']))}" for m in members
                   if got[m] != want.get(m)]
        tap.ok(not changed, f"NEFFs of {name}", *changed)
    listed = {model for model in want if not model.startswith("onnx/")}
    tap.same(sorted(listed ^ set(compiler.models())), [], "models that only the table has, or only the folder")
    tap.done()


if __name__ == "__main__":
    main()
