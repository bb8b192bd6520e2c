#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/compiler-operations.md's table of the ends of HLO's types to what make check-sweep expects, as TAP.

usage: hlo_differences.py [--write] TREE
"""

import re
import sys
from pathlib import Path

BEGIN, END = "<!-- begin: hlo_differences.py -->\n", "<!-- end: hlo_differences.py -->\n"


def table(tree: Path) -> str:
    text = "\n| operation | types | difference | targets | |\n|---|---|---|---|---|\n"
    for line in (tree / "tests/sweep/hlo-differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            text += f"| {' | '.join(re.split(r' *[|] *', line))} |\n"
    return text + "\n"


def main() -> int:
    tree = Path(sys.argv[-1])
    page = tree / "docs/compiler-operations.md"
    before, _, rest = page.read_text().partition(BEGIN)
    has, _, after = rest.partition(END)
    if sys.argv[1] == "--write":
        page.write_text(before + BEGIN + table(tree) + END + after)
        return 0
    print("1..1")
    print(f"{'ok' if has == table(tree) else 'not ok'} 1 - docs/compiler-operations.md has tests/sweep/hlo-differences.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
