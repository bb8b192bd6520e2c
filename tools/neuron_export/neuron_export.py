#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a JAX function or an ONNX file for neuronx-cc, with golden inputs and outputs.

As a module:

    import neuron_export
    neuron_export.export_jax(fn, [x, y], "out")            fn: jitted or not; arrays or trees of them
    neuron_export.export_onnx("model.onnx", {"x": x}, "out")
    neuron_export.compare("out", "ran")                    largest differences

A directory then holds model.hlo.pb or model.onnx (and the files of its external data), input<i>.npy in the order
of the model's parameters and golden<i>.npy in the order of its results. 64-bit inputs are written as the 32-bit
ones that the compiled model takes, complex arrays as fp32 with a last dimension of 2. It is written when all of it has been computed, or not at all. It needs jax and
numpy, or onnx and numpy (onnxruntime is used where it is installed), of the Python that runs it.
"""

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

VERSION = "@BUILD@"  # set at installation; the source tree has none


class Failed(Exception):
    """One line for the user"""


def _narrow(x: Any, name: str) -> Any:
    """An input as the compiled model takes it: 32 bits for 64"""
    import numpy as np

    x = np.asarray(x, order="C")
    to = {"f8": np.float32, "i8": np.int32, "u8": np.uint32, "c16": np.complex64}.get(x.dtype.str[1:])
    if to is None:
        return x
    if x.dtype.kind in "iu" and x.size and (x.min() < np.iinfo(to).min or x.max() > np.iinfo(to).max):
        raise Failed(f"{name}: {x.dtype} values from {x.min()} to {x.max()}, expected what {np.dtype(to)} holds")
    with np.errstate(over="ignore"):
        return x.astype(to)


def _save(directory: Path, stem: str, arrays: Sequence[Any]) -> None:
    import numpy as np

    for i, x in enumerate(arrays):
        x = np.asarray(x, order="C")
        if x.dtype == np.complex64:  # real and imaginary parts, as the compiled model takes them
            x = np.stack([x.real, x.imag], -1)
        if x.dtype.name == "bfloat16":
            x = x.view("V2")  # as neuron-run writes it
        np.save(directory / f"{stem}{i}.npy", x.astype(np.int8) if x.dtype == bool else x)


def _write(directory: Path, model: str, put: Callable[[Path], None], inputs: Sequence[Any],
           outputs: Sequence[Any]) -> Path:
    """All of an export, or nothing: made beside the directory, then moved into it"""
    near = directory.absolute()
    while not near.is_dir():
        near = near.parent
    with tempfile.TemporaryDirectory(prefix=".neuron_export-", dir=near) as made:
        stage = Path(made)
        put(stage)
        _save(stage, "input", inputs)
        _save(stage, "golden", outputs)
        for file in [x for x in stage.rglob("*") if x.is_file()]:
            to = directory / file.relative_to(stage)
            to.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, to)
    return directory / model


def export_jax(fn: Callable[..., Any], args: Sequence[Any], directory: str | Path) -> Path:
    """Writes the HLO of fn for arguments of these shapes, the arguments, and the results of fn"""
    import jax

    inputs = [jax.random.key_data(x) if jax.dtypes.issubdtype(jax.numpy.result_type(x), jax.dtypes.prng_key)
              else _narrow(x, f"input{i}") for i, x in enumerate(jax.tree.leaves(args))]
    # jitted again, so that arguments that are not used stay inputs
    jitted = jax.jit(getattr(fn, "__wrapped__", fn), keep_unused=True)
    hlo = jitted.lower(*args).compiler_ir("hlo").as_serialized_hlo_module_proto()
    with jax.default_matmul_precision("float32"):
        outputs = jax.tree.leaves(jitted(*args))
    return _write(Path(directory), "model.hlo.pb", lambda stage: (stage / "model.hlo.pb").write_bytes(hlo), inputs,
                  outputs)


def _run_onnx(path: Path, inputs: dict[str, Any]) -> list[Any]:
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # its errors are exceptions
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, inputs)
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(path)).run(None, inputs)


def _tensors(graph: Any) -> Iterator[Any]:
    """The constants of a graph and of those within it"""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner) if inner.node or inner.initializer else ()


def _external(model: Path, graph: Any) -> list[Path]:
    """The files of external data, relative to the model"""
    names = {Path(e.value) for t in _tensors(graph) if t.data_location == t.EXTERNAL
             for e in t.external_data if e.key == "location"}
    for name in names:
        if name.is_absolute() or ".." in name.parts:
            raise Failed(f"{model}: external data at '{name}', expected a place in the model's directory")
    return sorted(names)


def export_onnx(model: str | Path, inputs: dict[str, Any], directory: str | Path) -> Path:
    """Writes the model unchanged, these inputs, and the results of ONNX's reference or onnxruntime"""
    import onnx

    model = Path(model)
    graph = onnx.load(str(model), load_external_data=False).graph
    files = _external(model, graph)
    constants = {x.name for x in graph.initializer}
    names = [x.name for x in graph.input if x.name not in constants]
    if missing := [n for n in names if n not in inputs]:
        raise Failed(f"{model}: no value for its input {', '.join(missing)}")
    if strange := [n for n in inputs if n not in names]:
        raise Failed(f"{model}: it has no input {', '.join(strange)}")
    narrow = [_narrow(inputs[n], n) for n in names]
    outputs = _run_onnx(model, inputs)

    def put(stage: Path) -> None:
        shutil.copyfile(model, stage / "model.onnx")
        for name in files:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model.parent / name, stage / name)

    return _write(Path(directory), "model.onnx", put, narrow, outputs)


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
        try:
            return np.load(text)
        except (ValueError, EOFError):
            raise Failed(f"{text}: it is no .npy file of numbers") from None
    dims, _, dtype = text.partition(":")
    if importlib.util.find_spec("ml_dtypes"):
        import ml_dtypes  # noqa: F401, for bfloat16
    try:
        shape = tuple(int(n) for n in dims.split("x")) if dims else ()
        kind = np.dtype(dtype or "float32")
    except (TypeError, ValueError):
        raise Failed(f"{text}: expected FILE.npy or a shape and a type such as 8x64:float32") from None
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(kind) if kind.kind in "fV" else rng.integers(0, 8, shape).astype(kind)


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


def _line(error: Exception, model: str) -> str:
    """What went wrong, in one line: where in the user's file, of what kind, and its first sentence"""
    file = Path(model.rpartition(":")[0] or model)
    where = [f"{file.name}:{frame.lineno}: " for frame in traceback.extract_tb(error.__traceback__)
             if Path(frame.filename).absolute() == file.absolute()]
    if isinstance(error, SyntaxError) and error.filename:
        where = [f"{Path(error.filename).name}:{error.lineno}: "]
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{where[-1] if where else f'{file}: '}{type(error).__name__}{': ' * bool(text)}{text}"


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
    except Exception as error:  # whatever the model's code, or the library that runs it, raises
        print(f"neuron_export.py: {_line(error, args.model)}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
