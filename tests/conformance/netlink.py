#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds include/uapi/neuron/neuron_netlink.h against docs/netlink/neuron.yaml, as TAP.

usage: netlink.py SPEC HEADER

The names and numbers that the kernel's generator gives a generic-netlink specification
(Documentation/userspace-api/netlink/specs.rst): enums count from 0, attributes and commands from 1,
names are made of the family's, the set's and the entry's. The compiler
says what the header's are.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

TYPES = {"u8", "u16", "u32", "u64", "string", "flag", "nest", "binary"}


def upper(*parts: str) -> str:
    return "_".join(parts).replace("-", "_").upper()


def names(entries: list[Any]) -> list[str]:
    return [e if isinstance(e, str) else e["name"] for e in entries]


def expected(spec: dict[str, Any]) -> dict[str, Any]:
    family = spec["name"]
    want: dict[str, Any] = {upper(family, "family-name"): family,
                            upper(family, "family-version"): spec.get("version", 1)}
    for group in spec["mcast-groups"]["list"]:
        want[upper(family, "mcgrp", group["name"])] = group["name"]
    for enum in spec["definitions"]:
        want |= {upper(family, enum["name"], n): i for i, n in enumerate(names(enum["entries"]))}
    lists = [(["a", s["name"]], names(s["attributes"])) for s in spec["attribute-sets"]]
    lists.append((["cmd"], names(spec["operations"]["list"])))
    for prefix, entries in lists:
        want |= {upper(family, *prefix, n): i for i, n in enumerate(entries, 1)}
        want["__" + upper(family, *prefix, "max")] = len(entries) + 1
        want[upper(family, *prefix, "max")] = len(entries)
    return want


def declared(header: Path) -> dict[str, Any]:
    """Every NEURON_ macro with a value and every constant, by asking the compiler."""
    text = header.read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    for name, value in re.findall(r'^#define (\w+) "?([\w-]+)"?$', text, re.M):
        found[name] = int(value) if value.isdigit() else value
    constants = re.findall(r"^\t(\w+)(?: =.*?)?,?(?: /\*.*)?$", text, re.M)
    program = f'#include "{header.resolve()}"\n#include <stdio.h>\nint main(void) {{\n'
    program += "".join(f'printf("{name} %d\\n", (int){name});\n' for name in constants) + "}\n"
    with tempfile.TemporaryDirectory() as directory:
        binary = f"{directory}/constants"
        subprocess.run(["cc", "-x", "c", "-o", binary, "-"], input=program.encode(), check=True)
        shown = subprocess.run([binary], stdout=subprocess.PIPE, check=True)
    for line in shown.stdout.decode().splitlines():
        name, value = line.split()
        found[name] = int(value)
    return found


def broken_references(spec: dict[str, Any]) -> list[str]:
    sets = {s["name"]: set(names(s["attributes"])) for s in spec["attribute-sets"]}
    enums = {d["name"] for d in spec["definitions"]}
    groups = set(names(spec["mcast-groups"]["list"]))
    ops = set(names(spec["operations"]["list"]))
    bad = []
    for entry in spec["attribute-sets"]:
        for a in entry["attributes"]:
            if a["type"] not in TYPES or a.get("enum", min(enums)) not in enums:
                bad.append(f"{entry['name']}/{a['name']}")
            if (a["type"] == "nest") != (a.get("nested-attributes") in sets):
                bad.append(f"{entry['name']}/{a['name']} nests nothing")
    for op in spec["operations"]["list"]:
        if "mcgrp" in op and op["mcgrp"] not in groups or op.get("notify", min(ops)) not in ops:
            bad.append(op["name"])
        parts = [op.get("event", {})] + [p for k in ("do", "dump") for p in op.get(k, {}).values()]
        for part in parts:
            if extra := set(part.get("attributes", [])) - sets[op.get("attribute-set", "device")]:
                bad.append(f"{op['name']}: {', '.join(sorted(extra))}")
    return bad


def main() -> int:
    spec = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    want, have = expected(spec), declared(Path(sys.argv[2]))
    checks = [
        ("every name in the specification is defined", broken_references(spec)),
        ("the header has what the specification names, with its numbers",
         [f"{n}: {have.get(n)}, not {v}" for n, v in want.items() if have.get(n) != v]),
        ("and nothing else", sorted(set(have) - set(want))),
    ]
    print(f"1..{len(checks)}")
    for number, (title, bad) in enumerate(checks, 1):
        print(f"{'not ok' if bad else 'ok'} {number} - {title}")
        for line in bad:
            print(f"# {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
