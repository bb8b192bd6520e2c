#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/compiler-operations.md's table of HLO operations to the compiler's own, as TAP.

usage: hlo_table.py TREE NEURONX-CC

A cell of the table is a list: each item begins with the name of an operation or is a sentence of
several words; what stands in parentheses is about the item before.
"""

import re
import subprocess
import sys
from pathlib import Path

HEAD = "| kind | operations |\n|---|---|\n"


def documented(page: str) -> list[str]:
    _, _, rest = page.partition(HEAD)
    rows = rest.partition("\n\n")[0].splitlines()
    names = []
    for row in rows:
        cell = row.strip("| ").split(" | ", 1)[1]
        while (plain := re.sub(r"\([^()]*\)", "", cell)) != cell:
            cell = plain
        names += [item.strip() for item in re.split("[,;]", cell) if len(item.split()) == 1]
    return names


def main() -> int:
    tree, compiler = Path(sys.argv[1]), sys.argv[2]
    listed = subprocess.run([compiler, "list-operators", "--framework", "XLA"], capture_output=True, text=True,
                            check=True).stdout.split()
    names = documented((tree / "docs/compiler-operations.md").read_text())
    wrong = {
        "list-operators is in alphabetical order, each once": [n for n in listed if listed != sorted(set(listed))],
        "docs/compiler-operations.md has each operation": sorted(set(listed) - set(names)),
        "and no other, and none twice": sorted({n for n in names if n not in listed or names.count(n) > 1}),
    }
    print(f"1..{len(wrong)}")
    for number, (title, which) in enumerate(wrong.items(), 1):
        print(f"{'not ok' if which else 'ok'} {number} - {title}")
        for name in which:
            print(f"# {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
