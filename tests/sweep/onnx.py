#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Operators of ONNX on the ends of their types, compiled, run and compared with onnxruntime; TAP.

usage: onnx.py [--build DIR] [--target T] [--update | --golden DIR] [NAME...]

NAME is a part of a case's name (onnx_cases.py). Where onnxruntime has no such operator, ONNX's reference evaluator says what
is right. onnx-differences.txt has each difference that there is: the case, the target or *, in how many elements at most, and
the reason, a row of a table in docs/compiler-operations.md. One that it has not fails, and so does a line without a difference.
--update writes it anew, where a new line has the reason `?`; --golden writes the cases that the tests in process run, with
what is right. Without onnxruntime this starts itself in a virtual environment with it (requirements.txt).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.remove(str(HERE))  # where this file would be the package onnx
DIFFERENCES = HERE / "onnx-differences.txt"
MACHINES = {"inf1": "inf1.xlarge", "trn1": "trn1.2xlarge", "inf2": "inf2.xlarge", "trn2": "trn2.3xlarge"}
Result = list | str  # or why there is none


def enter_venv() -> None:
    """Goes on in a virtual environment, which is made the first time."""
    loader = SourceFileLoader("networks", str(ROOT / "tests" / "networks" / "run"))
    networks = module_from_spec(spec_from_loader("networks", loader))
    loader.exec_module(networks)
    python = str(networks.venv(HERE / "requirements.txt") / "bin" / "python")
    os.execv(python, [python, "-B", *sys.argv])


try:
    import onnxruntime
except ImportError:
    enter_venv()
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

sys.path.append(str(HERE))
from onnx_cases import WITHOUT, Case, cases  # noqa: E402


def model_of(case: Case) -> onnx.ModelProto:
    def info(name: str) -> onnx.ValueInfoProto:
        value = case.inputs[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    results = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, list(case.inputs), results, domain=case.domain, **case.attributes)
    held = [numpy_helper.from_array(np.asarray(case.inputs[k]), k) for k in case.constants]
    graph = helper.make_graph([node], case.name, [info(k) for k in feeds_of(case)],
                              [helper.make_empty_tensor_value_info(r) for r in results], held)
    versions = [helper.make_opsetid(case.domain, case.opset)] + ([helper.make_opsetid("", 21)] if case.domain else [])
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def feeds_of(case: Case) -> dict[str, np.ndarray]:
    return {k: v for k, v in case.inputs.items() if k not in case.constants}


def wanted(case: Case, model: onnx.ModelProto) -> list:
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, feeds_of(case))
    except Exception:  # it has many kinds of its own
        return [np.asarray(v) for v in ReferenceEvaluator(model).run(None, feeds_of(case))]


def is_small_float(dtype: np.dtype) -> bool:
    return dtype.name == "bfloat16" or dtype.name.startswith("float8")


def save(path: Path, value: np.ndarray) -> None:
    np.save(path, value.view(f"u{value.itemsize}") if is_small_float(value.dtype) else value)


def got(case: Case, model: onnx.ModelProto, build: Path, target: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        onnx.save(model, home / "m.onnx")
        compiler = [build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "ONNX", home / "m.onnx", "--target", target,
                    "--auto-cast", "none", "--narrow-64bit", "--output", home / "m.neff"]
        done = subprocess.run(compiler, capture_output=True, text=True, check=False)
        if done.returncode == 1:
            return "refused"
        runner = [build / "tools/neuron-run", home / "m.neff", "--output-dir", home]
        for name, value in feeds_of(case).items():
            save(home / f"{name}.npy", value)
            runner += ["--input", f"{name}={home / name}.npy"]
        if not done.returncode:
            done = subprocess.run(runner, capture_output=True, text=True, check=False,
                                  env=os.environ | {"NEURON_EMU": MACHINES[target]})
        if done.returncode:
            return f"failed: {done.stderr.strip()}"
        return [np.load(home / f"output{i}.npy") for i in range(case.outputs)]


def different(case: Case, want: np.ndarray, have: np.ndarray) -> np.ndarray | None:
    """The indices of elements that differ; None: all, by their number"""
    have = have.view(want.dtype) if is_small_float(want.dtype) else have
    if want.shape != have.shape:
        return None
    if not is_small_float(want.dtype) and want.dtype.kind != "f":
        return want.astype(object) != have.astype(object)
    w, h = want.astype(np.float64), have.astype(np.float64)
    sign = np.signbit(w) == np.signbit(h)
    same = (w == h) & sign | np.isnan(w) & np.isnan(h)
    scale = np.maximum(np.abs(w), np.abs(h))
    if case.op in ("RNN", "GRU", "LSTM"):  # sums of what cancels
        scale, sign = np.abs(w[np.isfinite(w)]).max(initial=0), True
    finite = np.isfinite(w) & np.isfinite(h)
    return ~(same | finite & sign & (np.abs(w - h) <= case.near * scale))


def example(case: Case, want: list, have: list) -> str:
    """The first element that differs"""
    for i, (w, h) in enumerate(zip(want, have)):
        found = different(case, np.asarray(w), h)
        if found is None:
            return f"y{i} has the shape {h.shape}, expected {np.shape(w)}"
        if found.any():
            at = tuple(int(v) for v in np.argwhere(found)[0])
            return f"y{i}{list(at)} is {h[at]!r}, expected {np.asarray(w)[at]!r}"
    return ""


def count(case: Case, want: list, have: Result) -> int | str:
    """In how many elements they differ, or the word of what else there is"""
    if isinstance(have, str):
        return have
    found = [different(case, np.asarray(w), h) for w, h in zip(want, have)]
    return "shape" if any(f is None for f in found) else sum(int(np.sum(f)) for f in found)


def explained() -> dict[tuple[str, str], tuple[str, str]]:
    """The differences that are explained, by case and target: the most elements, and the reason"""
    lines = [line.split() for line in DIFFERENCES.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {(name, target): (most, reason) for name, target, most, reason in lines}


def is_explained(found: int | str, most: str) -> bool:
    return found <= int(most) if isinstance(found, int) and most.isdigit() else str(found) == most


def write(results: dict[str, dict[str, Any]]) -> None:
    """results: of each target the cases that differ"""
    known = explained()
    head = "".join(f"{line}\n" for line in DIFFERENCES.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
    lines = []
    for name in (c.name for c in cases()):
        of = {target: found[name] for target, found in results.items() if name in found}
        if len(of) == len(results) and all(isinstance(v, int) for v in of.values()):
            of = {"*": max(of.values())}
        elif len(of) == len(results) and len(set(of.values())) == 1:
            of = {"*": next(iter(of.values()))}
        for target, most in of.items():
            reason = next((known[k][1] for k in ((name, target), (name, "*"), (name, "inf1")) if k in known), "?")
            lines.append(f"{name} {target} {most} {reason}\n")
    DIFFERENCES.write_text(head + "".join(lines), encoding="utf-8")


def golden(to: Path) -> None:
    for case in cases():
        if not case.golden:
            continue
        model = model_of(case)
        want = [np.asarray(w) for w in wanted(case, model)]
        data = to / f"test_ends_{case.name.lower()}" / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        for info, w in zip(model.graph.output, want):
            info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(w.dtype), None))
        (data.parent / "model.onnx").write_bytes(model.SerializeToString())
        for kind, values in (("input", feeds_of(case).values()), ("output", want)):
            for i, value in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def missing(build: Path) -> list[str]:
    """Operators without a case"""
    argv = [build / "tools/neuronx-cc/neuronx-cc", "list-operators", "--framework", "ONNX"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return sorted(set(listed) - {c.op for c in cases()} - set(WITHOUT))


def check(case: Case, build: Path, target: str, known: dict) -> tuple[int | str, str]:
    """The result of a case, and what is wrong with it; "": nothing"""
    model = model_of(case)
    want, have = wanted(case, model), got(case, model, build, target)
    found = count(case, want, have)
    most, reason = known.get((case.name, target), known.get((case.name, "*"), ("0", "")))
    if found == 0 and most != "0":
        return found, f"onnx-differences.txt says that it differs ({reason})"
    if is_explained(found, most):
        return found, ""
    return found, have if isinstance(have, str) else f"{found} elements differ: {example(case, want, have)}"


def sweep(options: argparse.Namespace, target: str, known: dict) -> tuple[dict[str, Any], int]:
    """The cases that differ, and how many should not"""
    chosen = [c for c in cases() if not options.names or any(n in c.name for n in options.names)]
    results, wrong = {}, 0
    print(f"1..{len(chosen) + 1}")
    without = missing(options.build)
    print(f"{'not ok' if without else 'ok'} 1 - each operator has a case {' '.join(without)}")
    for number, case in enumerate(chosen, 2):
        found, trouble = check(case, options.build, target, known)
        if found:
            results[case.name] = found
        wrong += bool(trouble)
        print(f"{'not ok' if trouble else 'ok'} {number} - {case.name}", flush=True)
        if trouble:
            print(f"# {trouble}", flush=True)
    return results, wrong + bool(without)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--target", default="inf1", choices=MACHINES)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    onnxruntime.set_default_logger_severity(4)
    if options.golden:
        golden(options.golden)
        return 0
    if options.update:
        write({target: sweep(options, target, explained())[0] for target in ("inf1", "trn1")})
        return 0
    return 1 if sweep(options, options.target, explained())[1] else 0


if __name__ == "__main__":
    sys.exit(main())
