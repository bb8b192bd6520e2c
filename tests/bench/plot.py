# SPDX-License-Identifier: MIT
"""The picture of docs/performance.md: every measure that has a goal, run by run, as an SVG without a library.

A panel is a measure; from left to right are the runs that have it, upward is better. The line is the goal; a step
between grid lines is a factor of two. A colour is a machine.
"""

from html import escape
from math import log2
from typing import Any

from measures import MEASURES, Measure

COLUMNS, WIDTH, HEIGHT, GAP = 4, 232, 74, 14
SPAN = 2.0  # factors of two above and below the goal; what is beyond lies on the edge
COLOURS = ("#1b6ca8", "#c0562b", "#3a7d44", "#7d4f9e", "#8a6d1d", "#4a4a4a")


def better(of: Measure, row: Any) -> float | None:
    """The factors of two by which a result is above its goal"""
    way, bound = of.goal.removeprefix("ratio ").split()
    value = float((row.ratio if of.goal.startswith("ratio") else row.now) or 0)
    if value <= 0:
        return SPAN if way == "<=" and (row.ratio if of.goal.startswith("ratio") else row.now) else None
    height = log2(value / float(bound)) * (-1 if way == "<=" else 1)
    return max(-SPAN, min(SPAN, height))


def panel(of: Measure, rows: list[Any], runs: list[tuple[str, str]], colour: dict[str, str], x: int, y: int) -> str:
    middle, step = y + 18 + (HEIGHT - 24) / 2, (HEIGHT - 24) / 2 / SPAN
    out = [f"<text x='{x}' y='{y + 10}'>{escape(of.name)} {escape(of.goal)}</text>"]
    for line in (-2, -1, 1, 2):
        out.append(f"<path d='M{x} {middle - line * step:.1f}h{WIDTH}' stroke='#ddd'/>")
    out.append(f"<path d='M{x} {middle:.1f}h{WIDTH}' stroke='#888' stroke-dasharray='4 2'/>")
    for row in rows:
        height = better(of, row)
        if height is None:
            continue
        at = x + 8 + (WIDTH - 16) * (runs.index(row.run) / max(1, len(runs) - 1))
        title = f"{row.date} {row.commit} {row.machine}: {row.now} {of.unit} {row.ratio}".strip()
        out.append(f"<circle cx='{at:.1f}' cy='{middle - height * step:.1f}' r='3.5' fill='{colour[row.machine]}'><title>{escape(title)}</title></circle>")
    return "\n".join(out)


def draw(rows: list[Any]) -> str:
    runs, machines = list(dict.fromkeys(row.run for row in rows)), list(dict.fromkeys(row.machine for row in rows))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(machines)}
    goals = [of for of in MEASURES.values() if of.goal and any(row.measure == of.name for row in rows)]
    top = GAP + 16 * len(machines)
    width, height = COLUMNS * (WIDTH + GAP) + GAP, top + -(-len(goals) // COLUMNS) * (HEIGHT + GAP) + GAP
    out = ["<!-- SPDX-License-Identifier: MIT -->",
           f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="10">',
           f"<rect width='{width}' height='{height}' fill='#fff'/>"]
    for i, name in enumerate(machines):
        y = GAP + 16 * i
        out.append(f"<circle cx='{GAP + 4}' cy='{y}' r='3.5' fill='{colour[name]}'/><text x='{GAP + 14}' y='{y + 4}'>{escape(name)}</text>")
    for i, of in enumerate(goals):
        x, y = GAP + i % COLUMNS * (WIDTH + GAP), top + i // COLUMNS * (HEIGHT + GAP)
        out.append(panel(of, [row for row in rows if row.measure == of.name], runs, colour, x, y))
    return "\n".join([*out, "</svg>\n"])
