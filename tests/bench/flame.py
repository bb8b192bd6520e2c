#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A flame graph in SVG from perf's samples.

usage: perf record -g -o perf.data PROGRAM...; perf script -i perf.data | flame.py TITLE >OUT.svg

The width of a box is its share of the samples, what calls is below what is called; boxes of less than a
two-hundredth are left out. The colour says whose function it is by its name.
"""

import sys
from html import escape
from typing import Any

WIDTH, ROW, LEAST = 960, 17, 1 / 200
COLOURS = [("avx", "#e8a33d"), ("scalar_", "#e8a33d"), ("exec_", "#e0703c"), ("tpb_", "#d9564a"), ("ncore_", "#b3588f"),
           ("run_batch", "#b3588f"), ("rt_", "#5b8fc7"), ("nrt", "#5b8fc7"), ("ndl", "#5b8fc7"), ("neff", "#63a375")]


def stacks(lines: Any) -> Any:
    """The functions of each sample, outermost first"""
    frames: list[str] = []
    for line in lines:
        if line.startswith(("\t", " ")) and line.strip():
            name = line.split(None, 1)[1].rsplit(" (", 1)[0].split("+0x")[0]
            if name != "[unknown]":  # between them: code without frame pointers
                frames.append(name)
        elif not line.strip() and frames:
            yield frames[::-1]
            frames = []
    if frames:
        yield frames[::-1]


def add(tree: dict[str, Any], frames: list[str]) -> None:
    tree["n"] += 1
    for name in frames:
        tree = tree["in"].setdefault(name, {"n": 0, "in": {}})
        tree["n"] += 1


def colour(name: str) -> str:
    return next((c for start, c in COLOURS if name.startswith(start)), "#a8a8a8")


def boxes(tree: dict[str, Any], name: str, x: float, depth: int, total: int, out: list[tuple]) -> int:
    """Appends the tree's boxes and returns its depth."""
    out.append((name, x, depth, tree["n"]))
    deepest = depth
    for child, sub in sorted(tree["in"].items(), key=lambda item: -item[1]["n"]):
        if sub["n"] >= LEAST * total:
            deepest = max(deepest, boxes(sub, child, x, depth + 1, total, out))
            x += sub["n"] / total * WIDTH
    return deepest


def main() -> None:
    tree: dict[str, Any] = {"n": 0, "in": {}}
    for frames in stacks(sys.stdin):
        add(tree, frames)
    total, out = tree["n"], []
    height = (boxes(tree, "all", 0, 0, total, out) + 3) * ROW
    print("<!-- SPDX-License-Identifier: MIT -->")
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="monospace" font-size="11">')
    print(f"<text x='4' y='13'>{escape(sys.argv[1])}</text>")
    for name, x, depth, n in out:
        width, y = n / total * WIDTH, height - (depth + 1) * ROW
        short = name if len(name) * 7 < width - 4 else name[: max(0, int(width / 7) - 2)]
        print(f"<g><title>{escape(name)} {n / total:.1%}</title><rect x='{x:.1f}' y='{y}' width='{width:.1f}' "
              f"height='{ROW - 1}' fill='{colour(name)}'/><text x='{x + 2:.1f}' y='{y + 12}'>{escape(short)}</text></g>")
    print("</svg>")


if __name__ == "__main__":
    main()
