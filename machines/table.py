#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Writes the table of instances as C, for libndl, libnrt and neuron-ls.

usage: table.py INSTANCES.json OUTPUT.c
"""

import json
import re
import sys
from pathlib import Path

ADDRESS = re.compile(r"([0-9a-f]{2}):([01][0-9a-f])\.([0-7])")
NAME = re.compile(r"(\w+)\.(\d*)xlarge")
TOPOLOGIES = ("line", "ring", "torus", "hypercube", "all")


def chip(address: str, row: dict) -> str:
    found = ADDRESS.fullmatch(address)
    if not found:
        raise ValueError(f"PCI address {address}")
    bus, slot, function = found.groups()
    node, cpus = row.get("numa_nodes", {}).get(bus, -1), row.get("cpus", {})
    near = cpus.get("machine" if node < 0 else str(node), "")
    return f'\t{{ 0x{bus}, 0x{slot}, {function}, {node}, "{near}" }},'


def rows(table: dict[str, dict]) -> tuple[list[str], list[str]]:
    """The chips of all instances one after the other, and the instances."""
    chips: list[str] = []
    instances: list[str] = []
    for name, row in table.items():
        found = NAME.fullmatch(name)
        if not found:
            raise ValueError(f"instance {name}")
        if row["topology"] not in TOPOLOGIES:
            raise ValueError(f"{name}: topology {row['topology']}")
        if len(set(row["chips"])) < len(row["chips"]):
            raise ValueError(f"{name}: two chips at one address")
        instances.append(
            f'\t{{ "{name}", {found[2] or 1}, &neuron_gen_{row["generation"]}, NEURON_TOPOLOGY_{row["topology"].upper()}, '
            f'{len(row["chips"])}, &chips[{len(chips)}] }},')
        chips += [chip(address, row) for address in row["chips"]]
    return chips, instances


def main() -> int:
    table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    del table["_comment"]
    chips, instances = rows(table)
    lines = ["// SPDX-License-Identifier: MIT", "/* Generated from instances.json by table.py */",
             '#include "instance.h"', "",
             "static const struct neuron_instance_chip chips[] = {", *chips, "};", "",
             "const struct neuron_instance neuron_instances[] = {", *instances, "};", "",
             "const size_t neuron_instances_count = sizeof(neuron_instances) / sizeof(neuron_instances[0]);", ""]
    Path(sys.argv[2]).write_text("\n".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
