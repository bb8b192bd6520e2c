#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Is a portable artifact the program that jaxlib takes it for? As TAP.

usage: [TEST_PART=I/N] stablehlo.py DIRECTORY NEURONX_CC NEURON_RUN [NAME...]

DIRECTORY has NAME.mlirbc and NAME.hlo.pb, the module that jaxlib's own conversion makes of the same
bytes. Both are compiled; the tensor IR after the passes has to be the same, whatever its order and
names, if same.txt has NAME. jaxlib simplifies the others before it writes them: then both have to give
the same bits for inputs drawn here. NAME.parts.mlirbc is for several devices, of each of which it is a
part: it has to be compiled (tests/frameworks has what comes out). NAME.refused.mlirbc has to be refused, with what NAME.refused.txt says.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

COMMUTE = {"add", "multiply", "maximum", "minimum", "and", "or", "xor", "compare-eq", "compare-ne"}
LINE = re.compile(r"%(\d+) = (\S+) (\S+)(.*)")
PARAMETER = re.compile(r"= (\w+)\[([\d,]*)\] parameter index=(\d+)(?: io=(\w+))?")
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": "bf16", "pred": "pred", "s8": np.int8, "u8": np.uint8, "s16": np.int16,
         "u16": np.uint16, "s32": np.int32, "u32": np.uint32}


def compile_model(cc: str, model: Path, neff: Path) -> tuple[int, str, str]:
    run = subprocess.run([cc, "compile", "--framework", "XLA", str(model), "--target", "trn1", "--narrow-64bit", "--print-ir",
                          "--output", str(neff)], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


def meaning(ir: str) -> list[str]:
    """The results of a function, as hashes of how they are computed: names, places and order are left out"""
    value: dict[str, str] = {}
    results = []
    for line in ir.splitlines():
        line = re.sub(r'"(?:\\.|[^"])*"', "", line).strip()
        found = LINE.match(line)
        if not found:
            if line.startswith("return"):
                results.append(re.sub(r"%(\d+)", lambda m: value[m.group(1)], line))
            continue
        number, kind, op, rest = found.groups()
        operands = [value[n] for n in re.findall(r"%(\d+)", rest)]
        if op in COMMUTE:
            operands.sort()
        attributes = re.sub(r"[\s,]+", " ", re.sub(r"%\d+|\bp=-?\d+", "", rest))
        value[number] = hashlib.sha256("|".join([kind, op, attributes, *operands]).encode()).hexdigest()
    return results


def inputs_of(ir: str, work: Path, name: str) -> list[str]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    options = []
    parameters = {int(index): (dims, io or kind) for kind, dims, index, io in PARAMETER.findall(ir)}
    for index, (dims, kind) in parameters.items():
        shape = [int(d) for d in dims.split(",") if d]
        if TYPES[kind] == "pred":
            x = rng.integers(0, 2, shape, dtype=np.int8)
        elif TYPES[kind] == "bf16":
            x = (rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
        elif np.issubdtype(TYPES[kind], np.integer):
            x = rng.integers(0, 7, shape, dtype=TYPES[kind])
        else:
            x = rng.standard_normal(shape).astype(TYPES[kind])
        np.save(work / f"in{index}.npy", x)
        options += ["--input", f"input{index}={work / f'in{index}.npy'}"]
    return options


def outputs_of(run: str, neff: Path, inputs: list[str], out: Path) -> dict[str, bytes]:
    out.mkdir()
    done = subprocess.run([run, str(neff), *inputs, "--output-dir", str(out)], capture_output=True, text=True, check=False)
    if done.returncode:
        return {done.stderr: neff.name.encode()}
    return {p.name: p.read_bytes() for p in out.iterdir()}


def differs(cc: str, run: str, directory: Path, name: str) -> tuple[str, str]:
    """The difference of two modules, or nothing; and how they were compared"""
    with tempfile.TemporaryDirectory() as d:
        work = Path(d)
        ours = compile_model(cc, directory / f"{name}.mlirbc", work / "ours.neff")
        theirs = compile_model(cc, directory / f"{name}.hlo.pb", work / "theirs.neff")
        if ours[0] or theirs[0]:
            return f"ours: {ours[2].strip()} theirs: {theirs[2].strip()}", ""
        if meaning(ours[1]) == meaning(theirs[1]):
            return "", "the same IR"
        if name in (directory / "same.txt").read_text().split():
            return "another IR, which same.txt has as the same", ""
        inputs = inputs_of(ours[1], work, name)
        a, b = (outputs_of(run, work / f"{who}.neff", inputs, work / who) for who in ("ours", "theirs"))
        unequal = [n for n in a if a[n] != b.get(n)]
        return ("other bits: " + ", ".join(unequal) if unequal or not a or len(a) != len(b) else ""), "the same bits"


def is_refused(cc: str, directory: Path, name: str) -> tuple[str, str]:
    text = (directory / f"{name}.txt").read_text().strip()
    with tempfile.TemporaryDirectory() as d:
        status, _, said = compile_model(cc, directory / f"{name}.mlirbc", Path(d) / "out.neff")
    return ("" if status and text in said else f"{status}: {said.strip()}"), text


def is_compiled(cc: str, directory: Path, name: str) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as d:
        status, _, said = compile_model(cc, directory / f"{name}.mlirbc", Path(d) / "out.neff")
    return (said.strip() if status else ""), "for several devices"


def main() -> int:
    part, parts = map(int, os.environ.get("TEST_PART", "1/1").split("/"))
    directory, cc, run = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    names = sys.argv[4:] or sorted(p.name.removesuffix(".mlirbc") for p in directory.glob("*.mlirbc"))
    names = names[part - 1::parts]
    print(f"1..{len(names)}", flush=True)
    for number, name in enumerate(names, 1):
        refused = name.endswith(".refused")
        if refused or name.endswith(".parts"):
            wrong, how = (is_refused if refused else is_compiled)(cc, directory, name)
        else:
            wrong, how = differs(cc, run, directory, name)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}: {how}", flush=True)
        if wrong:
            print(f"# {wrong[:1000]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
