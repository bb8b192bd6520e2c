#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/compiler-operations.md's tables of ONNX operators, and of why results differ, to what the tests found, as TAP.

usage: onnx_table.py [--write] TREE NEURONX-CC

The tables lie between two comments and are made of tests/data/onnx/node.txt, which test_onnx_nodes
checks, and of what neuronx-cc list-operators prints. --write puts them there.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

BEGIN, END = "<!-- begin: onnx_table.py -->\n", "<!-- end: onnx_table.py -->\n"
WIDTH = 110


def wrapped(words: list[str]) -> str:
    lines, line = [], ""
    for i, word in enumerate(words):
        word += "," if i + 1 < len(words) else "."
        if line and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line]) + "\n"


def reason(message: str) -> str:
    """The compiler's message without the node's names."""
    text = re.sub(r"^\w+ '[^']*': ", "", message)
    text = re.sub(r"\(domain '([^']*)'\)", r"(\1)", text)
    return re.sub(r" ?\(?'[^']*'\)?", "", text).replace("input is", "an input is").replace("input:", "an input:")


def tables(tree: Path, operators: set[str]) -> str:
    passed: dict[str, int] = defaultdict(int)
    refused: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    options = drawn = 0
    for line in (tree / "tests/data/onnx/node.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        _, operator, status, with_options, message = line.split("\t")
        if status == "passed":
            passed[operator] += 1
            options += not {"-", "drawn"} >= set(with_options.split(","))
            drawn += "drawn" in with_options.split(",")
        else:
            refused[operator][reason(message)] += 1
    failed = sum(sum(why.values()) for why in refused.values())
    good = sorted(o for o in passed if o not in refused and o != "several")
    out = (f"Of libonnx-testdata's {sum(passed.values()) + failed} tests {sum(passed.values())} pass, "
           f"{options} of them with constant inputs or\n`--narrow-64bit`, and {failed} are refused. Of {drawn} whose results\n"
           "are random the shapes are compared. "
           "Operators that pass all their tests, with their number:\n\n")
    out += wrapped([f"{o} {passed[o]}" for o in good])
    out += "\nRead, but without a test in that package (`tests/data/onnx/own` has some):\n\n"
    out += wrapped(sorted(operators - set(passed) - set(refused)))
    out += "\nThe others; \"several\" are models of more than one node, most of them operators written as functions:\n\n"
    out += "| operator | pass | refused, and why |\n|---|---|---|\n"
    for operator in sorted(refused):
        why = "; ".join(f"{count}: {text}" for text, count in sorted(refused[operator].items()))
        out += f"| {operator} | {passed[operator]} | {why} |\n"
    return out


def reasons(tree: Path, text: str) -> tuple[set[str], set[str]]:
    """Those of the sweep's list, and those that the document has"""
    listed = (tree / "tests/sweep/onnx-differences.txt").read_text().splitlines()
    section = text.partition("## The ends of types\n")[2].partition("\n## ")[0]
    return ({line.split()[3] for line in listed if not line.startswith("#")}, set(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)))


def main() -> int:
    write = "--write" in sys.argv
    tree, compiler = Path(sys.argv[-2]), sys.argv[-1]
    listed = subprocess.run([compiler, "list-operators", "--framework", "ONNX"], capture_output=True, text=True,
                            check=True).stdout.split()
    page = tree / "docs/compiler-operations.md"
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    want = before + BEGIN + tables(tree, set(listed)) + END + after
    if write:
        page.write_text(want)
    found, told = reasons(tree, text)
    print("1..2")
    print(f"{'ok' if write or text == want else 'not ok'} 1 - docs/compiler-operations.md has the tables of ONNX operators")
    if not write and text != want:
        print("# tests/conformance/onnx_table.py --write . build/release/tools/neuronx-cc/neuronx-cc")
    print(f"{'ok' if found == told else 'not ok'} 2 - and the reasons of the sweep's differences {' '.join(sorted(found ^ told))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
