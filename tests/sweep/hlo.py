#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Operations of HLO on the ends of their types, compiled, run and compared with NumPy or JAX; TAP.

usage: hlo.py [--build DIR] [--target T] [NAME...]

NAME is a part of a group's or an operation's name. hlo-differences.txt has each difference that there is, with its reason: a
difference that it has not fails, and a line without a difference. Without JAX this starts itself in a virtual
environment with it (tests/networks/requirements.txt).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.remove(str(HERE))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
MACHINES = {"inf1": "inf1.xlarge", "trn1": "trn1.2xlarge", "inf2": "inf2.xlarge", "trn2": "trn2.3xlarge"}
DIFFERENCES = HERE / "hlo-differences.txt"


def enter_venv() -> None:
    """Goes on in the networks' virtual environment, which is made the first time."""
    sys.path.append(str(ROOT / "tests" / "networks"))
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader
    loader = SourceFileLoader("run", str(ROOT / "tests/networks/run"))
    run = module_from_spec(spec_from_loader("run", loader))
    loader.exec_module(run)
    python = run.venv(ROOT / "tests/networks/requirements.txt") / "bin" / "python"
    os.execv(python, [str(python), "-B", *sys.argv])


try:
    import jax
except ImportError:
    enter_venv()
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

sys.path.append(str(HERE))
from hlo_cases import F32, Group, groups  # noqa: E402


def save(path: Path, x: np.ndarray) -> None:
    x = np.asarray(x)
    if x.dtype in (np.int64, np.float64):
        x = x.astype(x.dtype.name.replace("64", "32"))
    np.save(path, x.view("V2") if x.dtype == jnp.bfloat16 else x.astype(np.int8) if x.dtype == np.bool_ else x)


# Operations that are not swept: what JAX never writes or what has no ends, what several devices take, and batch norm, which is imported as
# sums, products and a root that are swept
NOT_SWEPT = {"after-all", "copy", "dynamic-reshape", "fusion", "get-dimension-size", "logistic", "map", "rng", "rng-bit-generator",
             "set-dimension-size", "topk", "tuple",
             "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute", "partition-id", "reduce-scatter", "replica-id",
             "batch-norm-grad", "batch-norm-inference", "batch-norm-training"}
met: set[str] = set()  # operations of the modules


def module_of(group: Group, ops: list) -> bytes:
    with jax.enable_x64(group.wide):
        traced = jax.jit(lambda *x: [op.fn(*x) for op in ops], keep_unused=True).trace(*group.args)
        lowered = traced.lower(lowering_platforms=(group.platform,))
    hlo = lowered.compiler_ir("hlo")
    met.update(re.findall(r" = \S+ ([a-z][a-z0-9-]*)\(", re.sub(r"\([^()]*\) (?=[a-z-]+\()", "x ", hlo.as_hlo_text())))
    return hlo.as_serialized_hlo_module_proto()


def not_met(build: Path) -> list[str]:
    listed = [build / "tools/neuronx-cc/neuronx-cc", "list-operators", "--framework", "XLA"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    return [n for n in names if n not in met | NOT_SWEPT]


def run(build: Path, target: str, group: Group, ops: list, shapes: list) -> list | str:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "m.hlo.pb").write_bytes(module_of(group, ops))
        compiler = [build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "XLA", home / "m.hlo.pb", "--target",
                    target, "--auto-cast", "none", *group.flags, "--output", home / "m.neff"]
        done = subprocess.run(compiler, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().replace(folder, "")
        runner = [build / "tools/neuron-run", home / "m.neff", "--output-dir", home / "out"]
        for i, a in enumerate(group.args):
            save(home / f"in{i}.npy", a)
            runner += ["--input", f"input{i}={home}/in{i}.npy"]
        done = subprocess.run(runner, capture_output=True, text=True, env={**os.environ, "NEURON_EMU": MACHINES[target]})
        if done.returncode:
            return (done.stderr + done.stdout).strip()
        return [np.load(home / "out" / f"output{i}.npy") for i in range(len(shapes))]


def wanted(group: Group, op) -> list:
    with np.errstate(all="ignore"):
        if op.right:
            right = op.right(*group.args)
            right = right if isinstance(right, (list, tuple)) else [right]
        with jax.enable_x64(group.wide):
            if not op.right:
                return [np.asarray(x) for x in jax.tree.leaves(jax.jit(op.fn)(*group.args))]
            given = jax.tree.leaves(jax.eval_shape(op.fn, *group.args))
        narrow = [np.dtype(str(g.dtype).replace("64", "32")) if group.wide else g.dtype for g in given]
        return [np.asarray(r).astype(F32).astype(t) if np.asarray(r).dtype == np.float64 else np.asarray(r).astype(t)
                for r, t in zip(right, narrow)]


def kinds(want: np.ndarray, got: np.ndarray, near: float) -> np.ndarray:
    """The kind of each element's difference; "": none"""
    kind = np.full(want.shape, "", "U20")
    if want.dtype.kind in "iub":
        kind[want != got] = "value"
        return kind
    info = jnp.finfo(want.dtype)
    w, g = want.astype(np.float64), got.astype(np.float64)
    unit = np.maximum(np.abs(w), float(info.tiny)) * float(info.eps)
    with np.errstate(all="ignore"):
        kind[np.abs(w - g) > (near * unit if near else 0)] = "rounding"
        small = (np.abs(w) < float(info.tiny)) | (np.abs(g) < float(info.tiny))
        kind[(np.abs(w - g) > 0) & small & (np.abs(w - g) <= float(info.tiny)) & (kind != "")] = "subnormal"
        if not near:
            kind[(w == g) & (np.signbit(w) != np.signbit(g))] = "zero's sign"
        else:
            kind[(w == 0) & (g == 0) & (np.signbit(w) != np.signbit(g))] = "zero's sign"
        kind[(np.isinf(w) | np.isinf(g)) & (w != g)] = "infinity"
        kind[np.isnan(w) & ~np.isnan(g)] = "NaN lost"
        kind[np.isnan(g) & ~np.isnan(w)] = "NaN made"
        kind[np.isnan(g) & np.isnan(w)] = ""
    return kind


def example(group: Group, want: np.ndarray, got: np.ndarray, at: tuple) -> str:
    args = [str(a[at]) for a in group.args if a.shape == want.shape]
    return f"{'(' + ', '.join(args) + ')' if args else list(map(int, at))}: {got[at]}, expected {want[at]}"


def sweep(build: Path, target: str, names: list[str]) -> dict[tuple[str, str, str], str]:
    """(operation, types, kind): an example"""
    found = {}
    for group in groups():
        ops = [op for op in group.ops if not names or any(n in f"{group.name} {op.name}" for n in names)]
        if not ops:
            continue
        want = [wanted(group, op) for op in ops]
        flat = [(op, w) for op, many in zip(ops, want) for w in many]
        got = run(build, target, group, ops, flat)
        if isinstance(got, str):
            found[", ".join(op.name for op in ops), group.name, "refused"] = got
            continue
        for (op, w), g in zip(flat, got):
            g = g.view(jnp.bfloat16) if w.dtype == jnp.bfloat16 else g.astype(bool) if w.dtype == np.bool_ else g
            if w.shape != g.shape:
                found[op.name, group.name, "shape"] = f"{g.shape}, expected {w.shape}"
                continue
            kind = kinds(w, g, op.near)
            for k in sorted(set(kind.ravel()) - {""}):
                at = np.argwhere(kind == k)
                more = f" ({len(at)} of {w.size})"
                found[op.name, group.name, str(k)] = "; ".join(example(group, w, g, tuple(a)) for a in at[:4]) + more
    return found


def explained(target: str) -> dict[tuple[str, str, str], str]:
    """Lines: operations | types | kind | targets | reason"""
    rows = {}
    for line in DIFFERENCES.read_text().splitlines():
        if line and not line.startswith("#"):
            ops, types, kind, targets, reason = re.split(r" *\| *", line)
            for op in ops.split(", ") if target in targets.split() or targets == "all" else []:
                for t in types.split(", "):
                    rows[op, t, kind] = reason
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--target", default="inf1", choices=MACHINES)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    found, known = sweep(options.build, options.target, options.names), explained(options.target)
    unexplained = [f"{' | '.join(k)}: {v}" for k, v in found.items() if k not in known]
    gone = [] if options.names else [" | ".join(k) for k in known if k not in found]
    missing = [] if options.names else not_met(options.build)
    print("1..3")
    for number, (title, lines) in enumerate((("each difference is explained", unexplained),
                                             ("each explained difference is there", gone),
                                             ("each operation is among them", missing)), 1):
        print(f"{'not ok' if lines else 'ok'} {number} - {title}")
        for line in lines:
            print("# " + line.replace("\n", " / "))
    return bool(unexplained or gone or missing)


if __name__ == "__main__":
    sys.exit(main())
