#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a JAX function or an ONNX file for neuronx-cc, with golden inputs and outputs.

As a module:

    import neuron_export
    neuron_export.export_jax(fn, [x, y], "out")            fn: jitted or not; arrays or trees of them
    neuron_export.export_onnx("model.onnx", {"x": x}, "out")
    neuron_export.compare("out", "ran")                    largest differences

A directory then holds model.hlo.pb or model.onnx, input<i>.npy in the order of the model's parameters and
golden<i>.npy in the order of its results. It needs jax and numpy, or onnx and numpy (onnxruntime is used where
it is installed), of the Python that runs it.
"""

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Sequence

VERSION = "@BUILD@"  # set at installation; the source tree has none


class Failed(Exception):
    """One line for the user"""


def _save(directory: Path, stem: str, arrays: Sequence[Any]) -> None:
    import numpy as np

    for i, x in enumerate(arrays):
        x = np.ascontiguousarray(x)
        if x.dtype.name == "bfloat16":
            x = x.view("V2")  # as neuron-run writes it
        np.save(directory / f"{stem}{i}.npy", x.astype(np.int8) if x.dtype == bool else x)


def export_jax(fn: Callable[..., Any], args: Sequence[Any], directory: str | Path) -> Path:
    """Writes the HLO of fn for arguments of these shapes, the arguments, and the results of fn"""
    import jax

    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    # jitted again, so that arguments that are not used stay inputs
    jitted = jax.jit(getattr(fn, "__wrapped__", fn), keep_unused=True)
    hlo = jitted.lower(*args).compiler_ir("hlo")
    path = directory / "model.hlo.pb"
    path.write_bytes(hlo.as_serialized_hlo_module_proto())
    with jax.default_matmul_precision("float32"):
        outputs = jax.tree.leaves(jitted(*args))
    _save(directory, "input", jax.tree.leaves(args))
    _save(directory, "golden", outputs)
    return path


def _run_onnx(path: Path, inputs: dict[str, Any]) -> list[Any]:
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, inputs)
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(path)).run(None, inputs)


def export_onnx(model: str | Path, inputs: dict[str, Any], directory: str | Path) -> Path:
    """Writes the model unchanged, these inputs, and the results of ONNX's reference or onnxruntime"""
    import onnx

    directory, graph = Path(directory), onnx.load(str(model)).graph
    constants = {x.name for x in graph.initializer}
    names = [x.name for x in graph.input if x.name not in constants]
    if missing := [n for n in names if n not in inputs]:
        raise Failed(f"{model}: no value for its input {', '.join(missing)}")
    if strange := [n for n in inputs if n not in names]:
        raise Failed(f"{model}: it has no input {', '.join(strange)}")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "model.onnx"
    if path.resolve() != Path(model).resolve():
        shutil.copyfile(model, path)
    _save(directory, "input", [inputs[n] for n in names])
    _save(directory, "golden", _run_onnx(path, inputs))
    return path


def compare(golden: str | Path, got: str | Path) -> list[float]:
    """For each output, the largest absolute difference; NaN where one side has one"""
    import numpy as np

    differences = []
    while (want := Path(golden) / f"golden{len(differences)}.npy").exists():
        a = np.load(want)
        b = np.load(Path(got) / f"output{len(differences)}.npy")
        if a.size != b.size:
            raise Failed(f"{want.name}: {a.size} elements, the output has {b.size}")
        wide = [np.asarray(_wide(x), np.float64).ravel() for x in (a, b)]
        same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
        differences.append(float(np.max(np.where(same, 0.0, np.abs(wide[0] - wide[1])), initial=0.0)))
    if not differences:
        raise Failed(f"{golden}: no golden0.npy")
    return differences


def _wide(x: Any) -> Any:
    """bfloat16 words as float32"""
    import numpy as np

    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if x.dtype.kind == "V" else x


def _argument(text: str, seed: int) -> Any:
    """FILE.npy, or 8x64:float32 for random values"""
    import numpy as np

    if text.endswith(".npy"):
        return np.load(text)
    dims, _, dtype = text.partition(":")
    try:
        shape = tuple(int(n) for n in dims.split("x")) if dims else ()
        kind = np.dtype(dtype or "float32")
    except (TypeError, ValueError):
        raise Failed(f"{text}: expected FILE.npy or a shape and a type such as 8x64:float32") from None
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(kind) if kind.kind == "f" else rng.integers(0, 8, shape).astype(kind)


def _function(text: str) -> Callable[..., Any]:
    path, _, name = text.rpartition(":")
    spec = importlib.util.spec_from_file_location("model", path)
    if not path or not spec or not spec.loader or not Path(path).exists():
        raise Failed(f"{text}: expected FILE.py:FUNCTION or MODEL.onnx")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec.loader.exec_module(module)
    if not callable(fn := getattr(module, name, None)):
        raise Failed(f"{path}: no function {name}")
    return fn


def _named(words: Sequence[str], seed: int) -> dict[str, Any]:
    inputs = {}
    for i, word in enumerate(words):
        name, equals, value = word.rpartition("=")
        if not equals:
            raise Failed(f"{word}: an ONNX model's input is NAME=FILE.npy or NAME=SHAPE:TYPE")
        inputs[name] = _argument(value, seed + i)
    return inputs


def _export(args: argparse.Namespace) -> int:
    if args.model.endswith(".onnx"):
        path = export_onnx(args.model, _named(args.input, args.seed), args.output_dir)
    else:
        values = [_argument(x, args.seed + i) for i, x in enumerate(args.input)]
        path = export_jax(_function(args.model), values, args.output_dir)
    print(path)
    return 0


def _compare(args: argparse.Namespace) -> int:
    differences = compare(args.model, args.output_dir)
    for i, d in enumerate(differences):
        print(f"output{i}: largest difference {d:.3g}")
    return 0 if args.tolerance is None or all(d <= args.tolerance for d in differences) else 1


def main() -> int:
    options = argparse.ArgumentParser(
        prog="neuron_export.py",
        description="Export a JAX function or an ONNX model with golden inputs and outputs, or compare with them.")
    options.add_argument("model", help="FILE.py:FUNCTION, MODEL.onnx, or with --compare the exported directory")
    options.add_argument("-i", "--input", action="append", default=[], metavar="VALUE",
                         help="FILE.npy, or 8x64:float32 for random values; NAME=... for ONNX; once for each")
    options.add_argument("-o", "--output-dir", required=True, metavar="DIR",
                         help="what to write; with --compare what neuron-run wrote")
    options.add_argument("--seed", type=int, default=0, metavar="N", help="of random values (default 0)")
    options.add_argument("--compare", action="store_true", help="print the largest difference of each output")
    options.add_argument("--tolerance", type=float, metavar="X", help="with --compare: exit 1 above it")
    version = "(source tree)" if VERSION.startswith("@") else VERSION
    options.add_argument("--version", action="version", version=f"neuron_export.py {version}")
    args = options.parse_args()
    try:
        return _compare(args) if args.compare else _export(args)
    except (Failed, OSError) as error:
        print(f"neuron_export.py: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"neuron_export.py: {error}: install it for {sys.executable}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
