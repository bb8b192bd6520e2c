#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds what the compiler says of HLO's fields to what jaxlib has, and docs/compiler-operations.md to it, as TAP.

usage: hlo_fields.py [--write] TREE

tests/data/hlo_versions/jaxlib-VERSION.txt are the fields of XLA's messages in the oldest and the newest
jaxlib. Each of a message that the importer reads is in compiler/frontend/hlo/hlo.proto, with its name and type,
or in the table of compiler/frontend/hlo/fields.c. --write makes the document's list of them.
"""

import re
import sys
from pathlib import Path
from typing import Iterator

BEGIN, END = "<!-- begin: hlo_fields.py -->\n", "<!-- end: hlo_fields.py -->\n"
WIDTH = 110
Fields = dict[tuple[str, int], tuple[str, str]]


def of_table(tree: Path) -> tuple[Fields, dict[str, str], dict[str, list[str]], dict[str, range]]:
    """The table's rows; XLA's names of hlo.proto's messages; words and ranges of values"""
    source = (tree / "compiler/frontend/hlo/fields.c").read_text()
    rows = re.findall(r'{ "([\w.]+)", (\d+), "(\w+)", (IGNORED|REFUSED) }', source)
    names = re.findall(r"&ncc__hlo__(\w+?)__descriptor,\s+\"([\w.]+)\"", source)
    words = re.findall(r'{ \d+, "(\w+)", { ((?:"\w*"(?:, )?)+) } }', source)
    ranges = re.findall(r'{ \d+, "(\w+)", (\d+), (\d+) }', source)
    fields = {(m, int(n)): (name, meaning) for m, n, name, meaning in rows}
    assert len(fields) == len(rows), "a field twice"
    return (fields, {a.replace("_", ""): b for a, b in names},
            {n: re.findall(r'"(\w*)"', v) for n, v in words},
            {n: range(int(a), int(b) + 1) for n, a, b in ranges})


def of_proto(tree: Path, names: dict[str, str]) -> Fields:
    fields: Fields = {}
    source = re.sub(r"//.*", "", (tree / "compiler/frontend/hlo/hlo.proto").read_text())
    for message, body in re.findall(r"message (\w+) {(.*?)}", source, re.S):
        for kind, name, number in re.findall(r"((?:repeated )?\w+) (\w+) = (\d+);", body):
            fields[names.get(message.lower(), message), int(number)] = (name, kind)
    return fields


def of_jaxlib(tree: Path) -> dict[str, tuple[Fields, dict[str, dict[str, int]]]]:
    versions = {}
    for path in sorted((tree / "tests/data/hlo_versions").glob("jaxlib-*.txt")):
        fields: Fields = {}
        enums: dict[str, dict[str, int]] = {}
        for line in path.read_text().splitlines():
            message, number, name, kind = line.split(" ", 3)
            if kind == "enum":
                enums.setdefault(message.split(".")[-1], {})[name] = int(number)
            else:
                fields[message, int(number)] = (name, kind)
        versions[path.stem] = fields, enums
    return versions


def same_type(ours: str, theirs: str, enums: dict[str, dict[str, int]], names: dict[str, str]) -> bool:
    ours, theirs = ours.split()[-1], theirs.split()[-1]
    xla = names.get(ours.lower(), ours).split(".")[-1]
    return xla == theirs or (ours == "int32" and theirs in enums)


def fields_of(tree: Path) -> Iterator[str]:
    table, names, _, _ = of_table(tree)
    proto = of_proto(tree, names)
    read = {message for message, _ in proto}
    for version, (fields, enums) in of_jaxlib(tree).items():
        for (message, number), (name, kind) in fields.items():
            if message not in read:
                continue
            known, listed = proto.get((message, number)), table.get((message, number))
            if bool(known) == bool(listed):
                yield f"{version}: field {number} of {message} ({name}) is in {'both' if known else 'neither'}"
            elif listed and listed[0] != name:
                yield f"{version}: field {number} of {message} is {name}, in the table {listed[0]}"
            elif known and (known[0] != name or not same_type(known[1], kind, enums, names)):
                yield f"{version}: field {number} of {message} is {kind} {name}, in hlo.proto {known}"


def nothing_else(tree: Path) -> Iterator[str]:
    table, names, _, _ = of_table(tree)
    have = {key for fields, _ in of_jaxlib(tree).values() for key in fields}
    for key in {*table, *of_proto(tree, names)} - have:
        yield f"field {key[1]} of {key[0]}"


def values_of(tree: Path) -> Iterator[str]:
    _, _, _, ranges = of_table(tree)
    header = (tree / "compiler/frontend/hlo/hlo.h").read_text()
    body = re.sub(r"/\*.*?\*/", "", header.partition("enum hlo_type {")[2].partition("}")[0], flags=re.S)
    number = 0
    types = {}
    for name, value in re.findall(r"(HLO_\w+)(?: = (\d+))?", body):
        number = int(value) if value else number + 1
        types[name[4:]] = number
    end = types.pop("TYPES")
    kinds = {"distribution": "RandomDistribution", "fft_type": "FftType", "rng_algorithm": "RandomAlgorithm"}
    for version, (_, enums) in of_jaxlib(tree).items():
        for name, value in enums["PrimitiveType"].items():
            if value and types.get(name.replace("OPAQUE_TYPE", "OPAQUE")) != value:
                yield f"{version}: element type {value} ({name}) is not in enum hlo_type"
            if value >= end:
                yield f"{version}: element type {value} is beyond HLO_TYPES"
        for field, enum in kinds.items():
            if not set(enums[enum].values()) <= set(ranges[field]):
                yield f"{version}: {field} has {sorted(enums[enum].values())}"


def document(tree: Path) -> str:
    table, names, _, _ = of_table(tree)
    proto = of_proto(tree, names)
    text = "\n| message | read | refused if set | left out |\n|---|---|---|---|\n"
    for message in sorted({m for m, _ in [*table, *proto]}):
        cells = []
        for rows in ({k: n for k, (n, _) in proto.items()},
                     {k: n for k, (n, how) in table.items() if how == "REFUSED"},
                     {k: n for k, (n, how) in table.items() if how == "IGNORED"}):
            mine = sorted((n, name) for (m, n), name in rows.items() if m == message)
            cells.append(", ".join(f"{n} {name}" for n, name in mine))
        text += f"| {message} | {' | '.join(cells)} |\n"
    return text + "\n"


def outdated(tree: Path) -> Iterator[str]:
    page = (tree / "docs/compiler-operations.md").read_text()
    if page.partition(BEGIN)[2].partition(END)[0] != document(tree):
        yield "tests/conformance/hlo_fields.py --write . makes it"


def main() -> int:
    write, tree = sys.argv[1] == "--write", Path(sys.argv[-1])
    if write:
        page = tree / "docs/compiler-operations.md"
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(before + BEGIN + document(tree) + END + rest.partition(END)[2])
        return 0
    checks = [("each field of the oldest and the newest jaxlib is read, or in the table", fields_of),
              ("no other field is", nothing_else),
              ("each enumerated value is known", values_of),
              ("docs/compiler-operations.md has the table", outdated)]
    print(f"1..{len(checks)}")
    for number, (title, check) in enumerate(checks, 1):
        findings = list(check(tree))
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
