#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""ONNX models whose constants lie in files beside them, as TAP: the same NEFF as with them inside, and nothing outside
the model's directory is read.

usage: external_data.py SOURCE_ROOT NEURONX-CC
"""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT, NEURONX_CC = Path(sys.argv[1]), Path(sys.argv[2])
OWN = ROOT / "tests/data/onnx/own"
MODELS = ["test_convolutional", "test_constants_u8", "test_constants_u32", "test_attention", "test_gather_rows",
          "test_loop_in_if", "test_pad_axes"]
HEADER = 1024  # bytes of a NEFF before its tar
EXTERNAL = 1

WORK = tempfile.TemporaryDirectory(prefix="external-data.")
TOP = Path(WORK.name)
subprocess.run(["protoc", f"-I{ROOT / 'compiler/frontend'}", f"--python_out={TOP}", "onnx/onnx.proto"], check=True)
sys.path.insert(0, str(TOP))
from onnx.onnx_pb2 import Model  # noqa: E402

count = failed = 0


def ok(condition: Any, name: str, detail: str = "") -> None:
    global count, failed
    count += 1
    failed += not condition
    print(f"{'ok' if condition else 'not ok'} {count} - {name}")
    for line in detail.splitlines() if not condition else []:
        print(f"#   {line}")


def constants(model: Any) -> list[Any]:
    """The tensors with raw bytes: initializers, and those of Constant nodes in the graph and in functions."""
    nodes = list(model.graph.node) + [n for f in model.functions for n in f.node]
    found = list(model.graph.initializer) + [a.t for n in nodes for a in n.attribute if a.HasField("t")]
    return [t for t in found if t.raw_data]


def put(tensor: Any, location: str, **where: int) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = EXTERNAL
    for key, value in {"location": location, **where}.items():
        tensor.external_data.add(key=key, value=str(value).encode())


def compile(model: Path, cwd: Path | None = None) -> tuple[dict[str, bytes], str]:
    """The files in the NEFF, none if the model was refused, and what the compiler said."""
    out = TOP / "out.neff"
    out.unlink(missing_ok=True)
    done = subprocess.run([NEURONX_CC.resolve(), "compile", "--framework", "ONNX", model, "--target", "inf1", "--output", out],
                          cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, done.stderr
    with tarfile.open(fileobj=io.BytesIO(out.read_bytes()[HEADER:])) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    # the name of the source is a hash of the model's file alone
    files["info.json"] = re.sub(rb"[0-9a-f]{16}", b"", files["info.json"])
    return files, done.stderr


def moved(name: str, align: int, apart: bool) -> None:
    """All constants of a model in one file, or each in one of its own in a directory below."""
    source = (OWN / name / "model.onnx").read_bytes()
    model = Model.FromString(source)
    directory = TOP / f"{name}.{align}.{apart}"
    (directory / "weights").mkdir(parents=True)
    data = bytearray()
    assert constants(model), f"{name} has no constants of raw bytes"
    for i, tensor in enumerate(constants(model)):
        raw = tensor.raw_data
        if apart:
            (directory / f"weights/{i}").write_bytes(raw)
            put(tensor, f"weights/{i}")
            continue
        data += bytes(-len(data) % align + (align == 1))
        put(tensor, "model.onnx.data", offset=len(data), length=len(raw))
        data += raw
    (directory / "model.onnx.data").write_bytes(data)
    (directory / "model.onnx").write_bytes(model.SerializeToString())
    neff, text = compile(directory / "model.onnx")
    want, _ = compile(OWN / name / "model.onnx")
    how = "a file each" if apart else f"one file, aligned to {align}"
    ok(neff and neff == want, f"{name}: {how}", text)
    if name == MODELS[0] and apart:
        neff, text = compile(Path("model.onnx"), directory)
        ok(neff and neff == want, f"{name}: a model of the working directory", text)


def refused(what: str, expected: str, location: str) -> None:
    model = Model.FromString((OWN / "test_convolutional/model.onnx").read_bytes())
    for tensor in constants(model):
        put(tensor, location)
    path = TOP / "refused/model.onnx"
    path.write_bytes(model.SerializeToString())
    neff, text = compile(path)
    lines = text.splitlines()  # one for each constant that is refused
    ok(not neff and expected in text and all("constant '" in line for line in lines), f"refused: {what}", text)


def main() -> int:
    for name in MODELS:
        moved(name, 4096, False)
        moved(name, 1, False)
        moved(name, 1, True)

    directory = TOP / "refused"
    (directory / "below").mkdir(parents=True)
    (TOP / "secret").write_bytes(bytes(1 << 20))
    (directory / "link").symlink_to("../secret")
    (directory / "inside").symlink_to("below/data")
    (directory / "up").symlink_to("..")
    (directory / "below/data").write_bytes(bytes(1 << 20))
    (directory / "empty").touch()
    os.mkfifo(directory / "pipe")
    refused("a path upward", "expected a path below the model's directory", "../secret")
    refused("a path upward from below", "expected a path below the model's directory", "below/../../secret")
    refused("an absolute path", "expected a path below the model's directory", str(TOP / "secret"))
    refused("a symbolic link", "'link': a symbolic link", "link")
    refused("one that stays inside", "'inside': a symbolic link", "inside")
    refused("a symbolic link on the way", "'up/secret': a symbolic link", "up/secret")
    refused("a file on the way", "'below/data/x': Not a directory", "below/data/x")
    refused("no such file", "'none': No such file or directory", "none")
    refused("a directory", "'below': Is a directory", "below")
    refused("a pipe", "'pipe': ", "pipe")
    refused("an empty file", "the file has 0", "empty")
    refused("a long name", "File name too long", "x" * 300)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
