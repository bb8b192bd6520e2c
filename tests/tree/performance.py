#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/performance.md's tables and picture to the newest run of tests/bench/history.csv, as TAP.

usage: performance.py SOURCE_ROOT

The tables are read here as a reader does, cell by cell, and not made again by the code that wrote them.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "conformance")]

import performance  # noqa: E402
import plot  # noqa: E402
from measures import MEASURES, MODEL, measure  # noqa: E402
from tap import Tap  # noqa: E402

GOAL = re.compile(r"(?:(?:ratio )?[<>]= \d+(?:\.\d+)?)?")
NUMBER = re.compile(r"|–|-?\d+(?:\.\d+)?(?:e-?\d+)?")
HISTORICAL = re.compile(r"\b(since|earlier|another machine|in other runs|used to)\b")


def cells(text: str, columns: int) -> Iterator[list[str]]:
    for line in text.splitlines():
        row = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(row) == columns and row[0] not in ("measure", "model") and not row[0].startswith("---"):
            yield row


def values(rows: list[performance.Row], text: str) -> Iterator[str]:
    found = {row.measure: row for row in rows if row.run == rows[-1].run}
    want = [(of.what, found.get(of.name)) for of in MEASURES.values()]
    shown = list(cells(text, 6))
    for what, row in want:
        match = [cell for cell in shown if cell[0] == what]
        if not match:
            yield f"no row of {what}"
        elif row and not any((cell[3].strip("–"), cell[4].strip("–")) == (row.now, row.ratio) for cell in match):
            yield f"{what}: the page says {match}, history.csv {row.now}, {row.ratio}"
        elif not row and not any(cell[3] == "–" for cell in match):
            yield f"{what}: the page has {match}, history.csv nothing"
    for name, row in found.items():
        model = name.removeprefix(MODEL)
        if name.startswith(MODEL) and "/" not in model and [model, row.now, row.ratio] not in [cell[:3] for cell in cells(text, 4)]:
            yield f"{model}: {row.now}, {row.ratio} is not on the page"


def plain(text: str) -> Iterator[str]:
    for row in cells(text, 6):
        if not NUMBER.fullmatch(row[3]) or not NUMBER.fullmatch(row[4]):
            yield f"{row[0]}: '{row[3]}', '{row[4]}' is not one number each"
        if found := HISTORICAL.search(" ".join(row)):
            yield f"{row[0]}: '{found.group(0)}' belongs to the history"


def known(rows: list[performance.Row]) -> Iterator[str]:
    for of in MEASURES.values():
        if not GOAL.fullmatch(of.goal) or of.goal.startswith("ratio") and not of.compared:
            yield f"{of.name}: goal '{of.goal}'"
    for row in rows:
        try:
            measure(row.measure)
        except KeyError:
            yield f"history.csv has {row.measure}, which measures.py has not"


def main() -> None:
    tap, rows = Tap(), performance.read()
    page = performance.PAGE.read_text()
    text = page.partition(performance.BEGIN)[2].partition(performance.END)[0]
    for title, findings in (("history.csv and measures.py fit", known(rows)), ("the tables have the newest run's values", values(rows, text)),
                            ("one number a cell", plain(text))):
        why = list(findings)
        tap.ok(not why, title, "\n".join(why[:20]))
    tap.ok(performance.page(page, rows) == page, "nothing else stands between the marks", "tests/bench/performance.py --write makes them")
    tap.ok(performance.PICTURE.read_text() == plot.draw(rows), "the picture is of history.csv", "tests/bench/performance.py --write makes it")
    tap.done()


main()
