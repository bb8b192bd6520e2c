#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs, unpacks and describes NEFF files: a header of 1024 bytes before a tar stream (docs/neff.md).

Anything may be in a file that is read: lengths are checked against the file, and a member leaves the
directory neither by its name nor as a link.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import struct
import sys
import tarfile
import tempfile
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Iterator

VERSION = "@BUILD@"
HEADER = struct.Struct("<5Q128sI32s16s256sI64sQI468x")
CORES_MAX = 64
MEMBERS_MAX = 65536
JSON_MAX = 64 << 20  # bytes of a member that is read as JSON
FEATURES = ("bin-weights", "collectives-offset", "custom-ops", "coalesced-cc")
DEBUG_DIRECTORY = "debug_info"
assert HEADER.size == 1024


class Refused(Exception):
    """One line for the user"""


def text(field: bytes) -> str:
    """What is printable of a text field up to its end."""
    found = field.split(b"\0", 1)[0].decode("ascii", "replace")
    return "".join(c if " " <= c <= "~" else "?" for c in found)


def printable(value: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in value)


@dataclass
class Header:
    pkg_version: int
    header_size: int
    data_size: int
    major: int
    minor: int
    build: bytes
    cores: int
    digest: bytes
    uuid: bytes
    name: bytes
    requested_cores: int
    cores_per_node: bytes
    features: int
    logical: int

    @classmethod
    def decode(cls, data: bytes) -> "Header":
        if len(data) < HEADER.size:
            raise Refused(f"{len(data)} bytes, a NEFF has at least {HEADER.size}")
        header = cls(*HEADER.unpack(data[: HEADER.size]))
        if header.pkg_version not in (1, 2):
            raise Refused(f"package version {header.pkg_version}, expected 1 or 2: this is no NEFF")
        if not HEADER.size <= header.header_size <= len(data):
            raise Refused(f"header size {header.header_size} in a file of {len(data)} bytes")
        if header.data_size > len(data) - header.header_size and header.data_size != len(data):
            raise Refused(f"data size {header.data_size}, but {len(data) - header.header_size} bytes follow the header")
        if not 1 <= header.cores <= CORES_MAX:
            raise Refused(f"{header.cores} cores, expected 1 to {CORES_MAX}")
        return header

    def encode(self) -> bytes:
        return HEADER.pack(*vars(self).values())

    def digest_of(self, payload: bytes) -> bytes:
        algorithm = hashlib.sha256 if self.pkg_version == 1 else hashlib.md5
        return algorithm(payload).digest().ljust(32, b"\0")

    def describe(self) -> dict[str, Any]:
        shown = self.digest if self.pkg_version == 1 else self.digest[:16]
        names = [name for bit, name in ((62, "emulator programs"),) if self.features >> bit & 1]
        return {
            "Package Version": self.pkg_version,
            "Header Size": self.header_size,
            "Data Size": self.data_size,
            "NEFF Version": f"{self.major}.{self.minor}",
            "NEFF Build Version": text(self.build),
            "Number of NeuronCores": self.cores,
            "Requested NeuronCores": self.requested_cores,
            "NeuronCores per Node": [count for count in self.cores_per_node if count],
            "Logical NeuronCore Size": self.logical,
            "Feature Bits": f"{self.features:#x}" + "".join(f" ({name})" for name in names),
            "Hash": shown.hex(),
            "UUID": self.uuid.hex(),
            "Network Name": text(self.name),
        }


def read_neff(path: Path) -> tuple[Header, bytes]:
    data = path.read_bytes()
    header = Header.decode(data)
    payload = data[header.header_size :]
    # some writers count the header, too
    return header, payload if header.data_size == len(data) else payload[: header.data_size]


def open_tar(payload: bytes) -> tarfile.TarFile:
    try:
        stream = gzip.GzipFile(fileobj=io.BytesIO(payload)) if payload[:2] == b"\x1f\x8b" else io.BytesIO(payload)
        return tarfile.open(fileobj=stream, mode="r|")  # type: ignore[call-overload,no-any-return]
    except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
        raise Refused(f"the payload is no tar stream: {error}") from error


def members(payload: bytes) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    """Files and directories by their names without "./", each while the stream is at it."""
    count = 0
    try:
        with open_tar(payload) as tar:
            for member in tar:
                count += 1
                path = PurePosixPath(member.name)
                if count > MEMBERS_MAX:
                    raise Refused(f"more than {MEMBERS_MAX} members")
                if path.is_absolute() or ".." in path.parts or "\0" in member.name:
                    raise Refused(f"a member leaves the directory: {printable(member.name)[:80]}")
                if not (member.isreg() or member.isdir()):
                    raise Refused(f"neither file nor directory: {printable(member.name)[:80]}")
                if path.parts:
                    yield str(path), member, tar
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, OverflowError) as error:
        raise Refused(f"the payload is damaged: {error}") from error
    if not count:
        raise Refused("the payload has no members")


def load_json(member: tarfile.TarInfo, tar: tarfile.TarFile) -> Any:
    if member.size > JSON_MAX:
        raise Refused(f"{member.name}: {member.size} bytes, at most {JSON_MAX} are read")
    file = tar.extractfile(member)
    try:
        return json.load(file) if file else None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{member.name}: {error}") from error


NUMPY = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4, "int8": 1, "uint8": 1}


def entry(graph: dict[str, Any], name: str, index: int) -> Any:
    """Entry number index of a list such as shape in the graph's attributes: [kind, [value, ...]]."""
    value = graph.get("attrs", {}).get(name, [None, []])
    return value[1][index] if isinstance(value, list) and len(value) == 2 and index < len(value[1]) else None


def nodes(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table of nodes: a kernel's inputs and outputs."""
    rows = []
    starts = graph["node_row_ptr"]
    for number, node in enumerate(graph["nodes"]):
        if node["op"] == "null":
            continue
        wires = [("IN", graph["nodes"][i[0]]["name"], starts[i[0]] + i[1]) for i in node["inputs"]]
        wires += [("OUT", None, index) for index in range(starts[number], starts[number + 1])]
        for kind, name, index in wires:
            shape, dtype = entry(graph, "shape", index) or [], entry(graph, "dltype", index) or ""
            size = NUMPY.get(str(dtype), 0)
            for dimension in shape:
                size *= int(dimension)
            rows.append({
                "NODE": number,
                "Executor": "Neuron Core" if node["op"] == "neuron_kernel" else "Host",
                "Name": str(node["name"]),
                "Variable": str(entry(graph, "tensor_name", index) or name or f"output{index - starts[number]}"),
                "Size": size or "",
                "Type": kind,
                "Format": {1: "N", 2: "NC", 3: "NHC", 4: "NHWC"}.get(len(shape), ""),
                "Shape": str([int(d) for d in shape]),
                "DataType": str(dtype),
                "TimeSeries": "false" if kind == "OUT" else "",
            })  # fmt: skip
    return rows


def describe_nodes(payload: bytes) -> tuple[list[dict[str, Any]], list[tuple[str, int]], list[tuple[str, str, int]]]:
    """Nodes; weights and their bytes; queue sets whose DMA spills (the scratchpad's variables)."""
    rows: list[dict[str, Any]] = []
    files: dict[str, int] = {}
    variables: dict[str, dict[str, Any]] = {}
    for name, member, tar in members(payload):
        files[name] = member.size
        if name == "neff.json":
            try:
                rows = nodes(load_json(member, tar))
            except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
                raise Refused(f"neff.json: not a graph: {type(error).__name__} {error}") from error
        elif name.endswith("/def.json"):
            found = load_json(member, tar)
            if isinstance(found, dict) and isinstance(found.get("var"), dict):
                variables[name.rpartition("/")[0]] = found["var"]
    weights, spills = [], []
    for graph, table in sorted(variables.items()):
        for variable, about in sorted(table.items()):
            kind = about.get("type") if isinstance(about, dict) else None
            # a constant of another graph is listed there
            if kind == "file" and "graph" not in about:
                file = f"{graph}/{about.get('file_name')}"
                weights.append((file, files.get(file, 0)))
            elif kind in ("tmp-buf", "virtual") and isinstance(about.get("size"), int):
                spills.append((graph, variable, about["size"]))
    return rows, weights, spills


def grid(rows: list[dict[str, Any]]) -> str:
    titles = list(rows[0])
    cells = [titles, *([printable(str(row[title])) for title in titles] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def info(options: argparse.Namespace) -> None:
    header, payload = read_neff(options.file)
    rows, weights, spills = describe_nodes(payload)
    about = header.describe() | {"Hash Valid": header.digest_of(payload) == header.digest}
    if options.json_output:
        found: dict[str, Any] = {"header": about, "nodes": rows}
        if options.weights:
            found["weights"] = [{"file": file, "size": size} for file, size in weights]
        if options.spills:
            found["spills"] = [{"subgraph": graph, "variable": name, "size": size} for graph, name, size in spills]
        print(json.dumps(found, indent=4))
        return
    width = max(len(key) for key in about) + 1
    for key, value in about.items():
        print(f"{key + ':':<{width}} {str(value).lower() if isinstance(value, bool) else value}")
    if rows:
        print(f"\nNEFF Nodes:\n{grid(rows)}")
    if options.weights:
        print("\nWeights:")
        print(grid([{"File": file, "Size": size} for file, size in weights]) if weights else "none")
    if options.spills:
        print("\nSpills:")
        print(grid([{"Subgraph": g, "Variable": n, "Size": s} for g, n, s in spills]) if spills else "none")


def unpack(options: argparse.Namespace) -> None:
    _, payload = read_neff(options.file)
    target: Path = options.output or Path(options.file.stem)
    if target.exists():
        raise Refused(f"{target} is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name:
        work = Path(name) / "neff"
        work.mkdir()
        for path, member, tar in members(payload):
            place = work / path
            if member.isdir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            file = tar.extractfile(member)
            with open(place, "wb") as out:
                if file:
                    shutil.copyfileobj(file, out)
        (work / "neff.tgz").write_bytes(payload)
        os.rename(work, target)


def version_pair(value: str) -> tuple[int, int]:
    major, dot, minor = value.partition(".")
    if not dot or not (major + minor).isascii() or not major.isdecimal() or not minor.isdecimal() or len(value) > 12:
        raise argparse.ArgumentTypeError(f"expected MAJOR.MINOR: {value}")
    return int(major), int(minor)


def cores(value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value[:4]) <= CORES_MAX:
        raise argparse.ArgumentTypeError(f"expected 1 to {CORES_MAX}: {value}")
    return int(value)


def field(value: str, size: int, option: str) -> bytes:
    data = value.encode()
    if len(data) >= size:
        raise Refused(f"{option}: {len(data)} bytes, at most {size - 1}")
    return data


def write_neff(path: Path, header: Header, payload: bytes) -> None:
    header.data_size = len(payload)
    header.digest = header.digest_of(payload)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(header.encode() + payload)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def create(options: argparse.Namespace) -> None:
    payload = options.input.read_bytes()
    if "kelf-0.json" not in {name for name, _, _ in members(payload)}:
        raise Refused(f"{options.input}: no kelf-0.json in it")
    if options.feature:
        raise Refused("the bits of features are not public; --like takes those of another file")
    name = field(options.name, 256, "-n")
    header = Header(options.header_version, HEADER.size, 0, *options.neff_version, field(options.tool_version, 128, "-v"),
                    options.cores, b"", uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(payload + name).hexdigest()).bytes, name,
                    options.cores, bytes([options.cores]), 0, 1)  # fmt: skip
    if options.like:
        like, _ = read_neff(options.like)
        for key in ("major", "minor", "cores", "requested_cores", "cores_per_node", "features", "logical"):
            setattr(header, key, getattr(like, key))
    write_neff(Path(f"{options.output}.neff"), header, payload)


def optimize(options: argparse.Namespace) -> None:
    """Without compression and debug files"""
    header, payload = read_neff(options.file)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as made:
        for name, member, tar in members(payload):
            if not options.keep_debug and (name.split("/")[0] == DEBUG_DIRECTORY or name.endswith(".dbg")):
                continue
            member.name = name
            made.addfile(member, tar.extractfile(member) if member.isreg() else None)
    header.header_size = HEADER.size
    write_neff(options.output or options.file, header, out.getvalue())


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="neuron-packager", description="Pack, unpack and describe NEFF files.")
    top.add_argument("-v", "--version", action="version", version=f"neuron-packager {VERSION}", help="print the version")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = commands.add_parser("create", help="make a NEFF of a tar file")
    made.add_argument("-i", "--input", type=Path, required=True, metavar="FILE", help="the tar file, compressed or not")
    made.add_argument("-o", "--output", default="NN", metavar="NAME", help="written as NAME.neff (default NN)")
    made.add_argument("-n", "--name", default="", help="the model's name")
    made.add_argument("-v", "--tool-version", default=VERSION, metavar="TEXT", help="of what packs it (default: this program's)")
    made.add_argument("-k", "--neff-version", type=version_pair, default=(0, 4), metavar="N.N", help="NEFF version (default 0.4)")
    made.add_argument("-r", "--header-version", type=int, choices=(1, 2), default=2, help="1: SHA-256, 2: MD5 (default)")
    made.add_argument("-t", "--cores", type=cores, default=1, metavar="N", help="NeuronCores (default 1)")
    made.add_argument("-e", "--feature", action="append", choices=FEATURES, help="a feature that a loader has to know")
    made.add_argument("--like", type=Path, metavar="FILE.neff", help="version, cores and features of this file")
    made.set_defaults(run=create)
    shown = commands.add_parser("info", help="print the header and the graph's nodes")
    shown.add_argument("file", type=Path, metavar="FILE.neff")
    shown.add_argument("-w", "--weights", action="store_true", help="list the weights")
    shown.add_argument("-s", "--spills", action="store_true", help="list the scratchpad's variables")
    shown.add_argument("--json-output", action="store_true", help="print JSON")
    shown.set_defaults(run=info)
    better = commands.add_parser("optimize", help="rewrite a NEFF without compression and debug files")
    better.add_argument("file", type=Path, metavar="FILE.neff")
    better.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it there (default: in its place)")
    better.add_argument("--keep-debug", action="store_true", help="keep the debug files")
    better.set_defaults(run=optimize)
    opened = commands.add_parser("unpack", help="write the members to a directory, and the payload as neff.tgz")
    opened.add_argument("file", type=Path, metavar="FILE.neff")
    opened.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: the file's name without .neff")
    opened.set_defaults(run=unpack)
    return top


def main() -> int:
    options = parser().parse_args()
    try:
        options.run(options)
        sys.stdout.flush()
    except Refused as error:
        print(f"neuron-packager: {getattr(options, 'file', '') or options.command}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if not error.filename:
            # what is left of standard output goes nowhere, as the end of Python would try again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"neuron-packager: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
