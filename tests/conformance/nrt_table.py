#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/nrt.md to the table of the public functions, as TAP: its section Functions has each of them once.

usage: nrt_table.py SOURCE_ROOT
"""

import re
import sys
from collections import Counter
from pathlib import Path


def main() -> int:
    root = Path(sys.argv[1])
    tables = [root / "tests/data/nrt" / name for name in ("functions.txt", "async-3.0.txt")]
    rows = [line.split("\t") for table in tables for line in table.read_text(encoding="utf-8").splitlines()]
    public = {row[1] for row in rows if len(row) == 4 and not row[1].startswith("(")}
    section = (root / "docs/nrt.md").read_text(encoding="utf-8").partition("\n## Functions\n")[2]
    cells = [cell for line in section.splitlines() if line.startswith("|") for cell in line.split("|")]
    told = Counter(re.findall(r"\b(?:nrta?|ndl|nds|nec)_[a-z0-9_]+\b", " ".join(re.sub(r"`[^`]*`", "", cell) for cell in cells)))
    problems = [f"{name}: {told[name]} times" for name in sorted(public) if told[name] != 1]
    problems += [f"{name}: not a public function" for name in sorted(told.keys() - public)]
    counted = re.search(r"All (\d+) functions", section)
    print("1..2")
    print(f"{'not ok' if problems else 'ok'} 1 - each function once")
    for problem in problems:
        print(f"# {problem}")
    right = counted is not None and int(counted.group(1)) == len(public)
    print(f"{'ok' if right else 'not ok'} 2 - and their number")
    return 0


if __name__ == "__main__":
    sys.exit(main())
