#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Are chlo's operations, in a text of StableHLO, the functions that they are named after? As TAP.

usage: chlo.py NEURONX_CC NEURON_RUN

One program has all of them. It is run on a chip in process; what comes out is compared with the
functions of numpy and of C in double precision, in units of the last place of what was expected.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

N = 400
STEEP = np.concatenate([np.logspace(-20, 37, N // 2), -np.logspace(-20, 37, N // 2)])


def erf_inv(x: np.ndarray) -> np.ndarray:
    low, high = np.full(x.shape, -7.0), np.full(x.shape, 7.0)
    erf = np.vectorize(math.erf)
    for _ in range(60):
        middle = (low + high) / 2
        below = erf(middle) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    small = x * math.sqrt(math.pi) / 2 * (1 + math.pi / 12 * x * x)  # its series
    return np.where(abs(x) == 1, np.copysign(np.inf, x), np.where(abs(x) < 1e-5, small, (low + high) / 2))


# name: (function, inputs, units in the last place)
UNARY = {
    "acos": (np.arccos, np.linspace(-1, 1, N), 3),
    "acosh": (np.arccosh, np.concatenate([1 + np.logspace(-6, 0, N // 2), np.logspace(0, 37, N // 2)]), 3),
    "asin": (np.arcsin, np.linspace(-1, 1, N), 3),
    "asinh": (np.arcsinh, STEEP, 3),
    "atan": (np.arctan, STEEP, 3),
    "atanh": (np.arctanh, np.concatenate([np.linspace(-0.999, 0.999, N // 2), np.logspace(-20, -1, N // 2)]), 3),
    "cosh": (np.cosh, np.linspace(-88, 88, N), 30),
    "sinh": (np.sinh, np.concatenate([np.linspace(-88, 88, N // 2), np.logspace(-20, 0, N // 2)]), 30),
    "erf": (np.vectorize(math.erf), np.linspace(-4, 4, N), 3),
    "erf_inv": (erf_inv, np.concatenate([np.linspace(-0.9999, 0.9999, N - 3), [1, -1, 0]]), 40),
    "square": (np.square, np.linspace(-9, 9, N), 1),
    "tan": (np.tan, np.linspace(-1.5, 1.5, N), 3),
}
ODD = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38, -3e38, 1.4e-45, -1.4e-45, 1.17549435e-38, 2.5, 0.1], np.float32)
ODD = np.resize(ODD, N)
TRUTHS = {"is_inf": np.isinf, "is_pos_inf": np.isposinf, "is_neg_inf": np.isneginf}


def program() -> str:
    real, truth = f"tensor<{N}xf32>", f"tensor<{N}xi1>"
    names = [*UNARY, *TRUTHS, "next_after"]
    lines = [f"%r{i} = chlo.{n} %x{i} : {real} -> {truth if n in TRUTHS else real}" for i, n in enumerate(names[:-1])]
    lines.append(f"%r{len(lines)} = chlo.next_after %x{len(lines)}, %x{len(lines) + 1} : {real}, {real} -> {real}")
    args = ", ".join(f"%x{i}: {real}" for i in range(len(names) + 1))
    kinds = ", ".join(truth if n in TRUTHS else real for n in names)
    results = ", ".join(f"%r{i}" for i in range(len(names)))
    return f"func.func @main({args}) -> ({kinds}) {{\n" + "\n".join(lines) + f"\nreturn {results} : {kinds}\n}}\n"


def far(out: np.ndarray, expected: np.ndarray, most: float) -> str:
    """The distance of two results, if it is too large"""
    with np.errstate(over="ignore"):
        near = expected.astype(np.float32)
    finite = np.isfinite(near)
    if not np.array_equal(out[~finite], near[~finite], equal_nan=True):
        return "other infinities"
    units = abs(out[finite] - expected[finite]) / np.spacing(abs(near[finite])).astype(np.float64)
    at = int(np.argmax(units))
    return f"{units[at]:.1f} units at {expected[finite][at]}" if units[at] > most else ""


def main() -> int:
    cc, run = sys.argv[1:]
    inputs = [x.astype(np.float32) for _, x, _ in UNARY.values()] + [ODD] * len(TRUTHS) + [ODD, np.roll(ODD, 3)]
    wrong = {}
    with tempfile.TemporaryDirectory() as d:
        work = Path(d)
        (work / "chlo.mlir").write_text(program())
        options = []
        for i, x in enumerate(inputs):
            np.save(work / f"in{i}.npy", x)
            options += ["--input", f"input{i}={work / f'in{i}.npy'}"]
        subprocess.run([cc, "compile", "--framework", "StableHLO", str(work / "chlo.mlir"), "--target", "trn1", "--output",
                        str(work / "chlo.neff")], check=True)
        subprocess.run([run, str(work / "chlo.neff"), *options, "--output-dir", str(work / "out")], check=True, capture_output=True)
        outs = [np.load(work / "out" / f"output{i}.npy") for i in range(len(inputs) - 1)]
    for (name, (fn, _, most)), x, out in zip(UNARY.items(), inputs, outs):
        wrong[name] = far(out, fn(x.astype(np.float64)), most)
    for (name, fn), out in zip(TRUTHS.items(), outs[len(UNARY):]):
        wrong[name] = "" if np.array_equal(out != 0, fn(ODD)) else "other truths"
    after = np.nextafter(inputs[-2], inputs[-1])
    same = (outs[-1].view(np.int32) == after.view(np.int32)) | (np.isnan(outs[-1]) & np.isnan(after))
    wrong["next_after"] = "" if same.all() else "other bits"
    print(f"1..{len(wrong)}")
    for number, (name, what) in enumerate(wrong.items(), 1):
        print(f"{'not ok' if what else 'ok'} {number} - {name}" + (f"\n# {what}" if what else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
