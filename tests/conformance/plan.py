#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuronx-cc --print-plan: what it says of small models, that their programs have the instructions that follow from it,
and that it is whole for the modules that JAX exported. TAP.

usage: plan.py SOURCE_ROOT NEURONX_CC

The instructions are counted in the finished streams (--report), by their opcodes; which ones an operation takes is
docs/isa.md's to say.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap

ROOT, NEURONX_CC = (Path(a) for a in sys.argv[1:3])
# Moves to where operands are wanted, and what every stream has
ELSEWHERE = {"ldweights", "nop", "program_start", "pseudo_dma_trigger", "sem_range_clear", "transpose"}
OPERATION = re.compile(r"  %(\d+) ([\w-]+): (\w+)(.*)")

DOT = "dot %0, %1 lhs_batch={} rhs_batch={} lhs_contract={1} rhs_contract={0}"
INPUTS = ["f32[64,32] parameter index=0", "f32[32,48] parameter index=1"]
BIASED = [*INPUTS, "f32[48] parameter index=2", f"f32[64,48] {DOT}", "f32[64,48] broadcast %2 map={1}",
          "f32[64,48] add %3, %4", "f32[64,48] tanh %5"]
PAIR = ["f32[64,128] parameter index=0", "f32[64,128] parameter index=1", "f32[] constant {2}",
        "f32[64,128] broadcast %2 map={}", "f32[64,128] multiply %0, %3", "f32[64,128] add %4, %1", "f32[64,128] tanh %5"]


def sum_of(rows: int, columns: int) -> list[str]:
    return [f"f32[{rows},{columns}] parameter index={i}" for i in range(2)] + [f"f32[{rows},{columns}] add %0, %1"]


# Operations, of which the last is the result; options; the plan, but for parameters of which it says no more; instructions that
# compute; bytes of variables for what SBUF has no room for
MODELS = {
    # A scale and a bias go into the one instruction of ACT that takes the product out of PSUM ...
    "a product and its epilogue": (
        [*INPUTS, f"f32[64,48] {DOT}", "f32[] constant {0.5}", "f32[64,48] broadcast %3 map={}", "f32[64,48] multiply %2, %4",
         "f32[] constant {3}", "f32[64,48] broadcast %6 map={}", "f32[64,48] add %5, %7", "f32[64,48] tanh %8"], [],
        ["dot: later in the place of %9", "constant: lazy 0.5", "broadcast: lazy 0.5", "multiply: later in the place of %9",
         "constant: lazy 3", "broadcast: lazy 3", "add: later in the place of %9",
         "tanh: whole of {%2, %5 constant + %8 constant + %9 function} stationary=%0 p=0"],
        {"matmul": 1, "activate": 1}, 0),
    # ... a tensor does not, but POOL reads it beside the product
    "a tensor in an epilogue": (
        BIASED, [],
        ["dot: later in the place of %6", "broadcast: view", "add: later in the place of %6",
         "tanh: whole of {%3, %5 tensor, %6 function} stationary=%0 p=0"],
        {"matmul": 1, "tensor_tensor": 1, "activate": 1}, 0),
    # two operations are one instruction of POOL, the function is none of ACT's before them
    "two steps of an epilogue": (
        [*INPUTS, f"f32[64,48] {DOT}", "f32[64,48] tanh %2", "f32[] constant {0.5}", "f32[64,48] broadcast %4 map={}",
         "f32[64,48] subtract %3, %5", "f32[64,48] maximum %6, %5"], [],
        ["dot: later in the place of %7", "tanh: later in the place of %7", "constant: lazy 0.5", "broadcast: lazy 0.5",
         "subtract: later in the place of %7",
         "maximum: whole of {%2, %3 function, %6 constant + %7 constant} stationary=%0 p=0"],
        {"matmul": 1, "activate": 1, "tensor_scalar": 1}, 0),
    # each by itself, the product copied out of PSUM
    "-O1: no epilogue": (
        BIASED, ["-O1"],
        ["dot: whole stationary=%0 p=0", "broadcast: view", "add: whole p=0", "tanh: whole p=0"],
        {"matmul": 1, "tensor_copy": 1, "tensor_tensor": 1, "activate": 1}, 0),
    # two members are one instruction
    "a group": (
        PAIR, [],
        ["constant: lazy 2", "broadcast: lazy 2", "multiply: later in the place of %6", "add: later in the place of %6",
         "tanh: group of {%4, %5, %6} p=0"],
        {"scalar_tensor_tensor": 1, "activate": 1}, 0),
    "-O1: no group": (
        PAIR, ["-O1"],
        ["constant: lazy 2", "broadcast: lazy 2", "multiply: whole p=0", "add: whole p=0", "tanh: whole p=0"],
        {"tensor_scalar": 1, "tensor_tensor": 1, "activate": 1}, 0),
    # weights that two products read, each of its own input, are fetched once
    "weights that are kept": (
        [*INPUTS, "f32[64,32] parameter index=2", f"f32[64,48] {DOT}", f"f32[64,48] {DOT.replace('%0', '%2')}",
         "f32[64,48] add %3, %4"], ["-O1"],
        ["parameter: input kept", "dot: whole stationary=%0 p=0", "dot: whole stationary=%2 p=0", "add: whole p=0"],
        {"matmul": 2, "tensor_copy": 2, "tensor_tensor": 1}, 0),
    # 192 KiB of a partition are all that there is: 64 KiB are a result in SBUF, 256 KiB one in DRAM
    "at once": (sum_of(128, 64), [], ["add: whole p=0"], {"tensor_tensor": 1}, 0),
    "in pieces": (sum_of(128, 65536), [], ["add: pieces p=0"], {"tensor_tensor": None}, 128 * 65536 * 4),
    "views": (
        ["f32[64,32] parameter index=0", "f32[32,64] transpose %0 map={1,0}", "f32[8,64] slice %1 start={4,0} stride={2,1}",
         "f32[8,4,16] reshape %2"], [], ["transpose: view", "slice: view", "reshape: view"], {}, 0),
    # the borders alone are written for the pad
    "a pad around what it reads": (
        ["f32[64,32] parameter index=0", "f32[64,32] tanh %0", "f32[] constant {1}",
         "f32[64,36] pad %1, %2 low={0,1} high={0,3} interior={0,0}", "f32[64,36] exponential %3"], [],
        ["tanh: whole in %3 p=0", "constant: lazy 1", "pad: around", "exponential: whole p=0"],
        {"activate": 2, "memset": 2}, 0),
    # nothing is copied for the concatenation
    "parts of a concatenation": (
        ["f32[64,12] parameter index=0", "f32[64,12] tanh %0", "f32[64,8] parameter index=1", "f32[64,8] exponential %2",
         "f32[64,20] concatenate %1, %3 axis=1", "f32[64,20] logistic %4"], [],
        ["tanh: whole in %4 p=0", "exponential: whole in %4 p=0", "concatenate: whole p=0", "logistic: whole p=0"],
        {"activate": 3}, 0),
    "a type that the operation before writes": (
        ["f32[64,8] parameter index=0", "f32[64,8] tanh %0", "bf16[64,8] convert %1", "bf16[64,8] negate %2"], [],
        ["tanh: whole p=0 as bf16", "convert: cast by %1", "negate: whole p=0"], {"activate": 1, "tensor_scalar": 1}, 0),
    # an initial value that changes nothing takes no instruction; another one does
    "a sum from 0": (
        ["f32[64,128] parameter index=0", "f32[] constant {0}", "f32[64] reduce %0, %1 dims={1} func=add"], [],
        ["constant: lazy 0", "reduce: whole p=0"], {"tensor_reduce": 1}, 0),
    "a sum from 5": (
        ["f32[64,128] parameter index=0", "f32[] constant {5}", "f32[64] reduce %0, %1 dims={1} func=add"], [],
        ["constant: lazy 5", "reduce: whole p=0"], {"tensor_reduce": 1, "tensor_scalar": 1}, 0),
    # rows of 16 bytes lie in DRAM one behind the other
    "short rows by index": (
        ["f32[1000,4] parameter index=0", "s32[512] parameter index=1", "f32[512,4] gather %0, %1"], [],
        ["gather: pieces p=0"], {}, 512 * 4 * 4),
}


def ir(operations: list[str]) -> str:
    lines = [f'  %{i} = {text} "v{i}"' for i, text in enumerate(operations)]
    return "\n".join(['module "m"', *lines, f"  return %{len(operations) - 1}"]) + "\n"


def compiled(scratch: Path, framework: str, model: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [NEURONX_CC, "compile", "--framework", framework, model, "--target", "trn1", "--output", scratch / "x.neff", *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def small(tap: Tap, scratch: Path) -> None:
    for name, (operations, options, plan, instructions, memory) in MODELS.items():
        model, report = scratch / "m.ir", scratch / "r.json"
        model.write_text(ir(operations), encoding="utf-8")
        done = compiled(scratch, "IR", model, "--print-plan", "--report", str(report), *options)
        printed = [OPERATION.fullmatch(line) for line in done.stdout.splitlines()[1:]]
        got = [f"{m.group(2)}: {m.group(3)}{m.group(4)}" for m in printed if m and m.group(0)[-5:] != "input"]
        tap.same("\n".join([*got, done.stderr]), "\n".join([*plan, ""]), f"{name}: the plan")
        if done.returncode:
            continue
        found = json.loads(report.read_text(encoding="utf-8"))
        opcodes: dict[str, int | None] = {}
        for engine in found["engines"].values():
            for opcode, n in engine["opcodes"].items():
                if opcode not in ELSEWHERE:
                    opcodes[opcode] = None if instructions.get(opcode, 0) is None else (opcodes.get(opcode) or 0) + n
        tap.same((opcodes, found["dram"]["scratch"]), (instructions, memory), f"{name}: the instructions, and memory")
        if "matmul" in instructions:
            inputs = sum("parameter" in operation for operation in operations)
            tap.same(found["queues"]["in"]["transfers"], inputs, f"{name}: each input is fetched once")


def faults(text: str) -> list[str]:
    """What contradicts itself in a plan"""
    said = {int(m.group(1)): (m.group(3), m.group(4)) for m in map(OPERATION.fullmatch, text.splitlines()[1:]) if m}
    found = [] if sorted(said) == list(range(len(text.splitlines()) - 1)) else ["operations without a line"]
    placed: dict[int, int] = {}
    for number, (how, rest) in said.items():
        if done := re.search(r"\{(.*)\}", rest):
            members = [int(n) for n in re.findall(r"%(\d+)", done.group(1))]
            placed |= {member: number for member in members if member != number}
            found += [] if members[-1] == number and how in ("group", "whole", "pieces") else [f"%{number}: {how}{rest}"]
    later = {number: int(rest.split("%")[1]) for number, (how, rest) in said.items() if how == "later"}
    return found + ([] if later == placed else [f"later: {later}, in others' places: {placed}"])


def exported(tap: Tap, scratch: Path) -> None:
    for path in sorted(ROOT.glob("tests/data/hlo/*/module.hlo.pb")):
        done = compiled(scratch, "XLA", path, "--print-plan", "--narrow-64bit")
        plans = re.split(r"^(?=plan )", done.stdout, flags=re.MULTILINE)[1:]
        wrong = [fault for plan in plans for fault in faults(plan)]
        tap.ok(not wrong and (plans or done.returncode), f"{path.parent.name}: every operation has a place", *wrong, done.stderr)


def main() -> None:
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="plan.") as made:
        small(tap, Path(made))
        exported(tap, Path(made))
    tap.done()


if __name__ == "__main__":
    main()
