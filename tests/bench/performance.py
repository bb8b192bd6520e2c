#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What `make bench` measured: printed, kept in history.csv, and shown by docs/performance.md and its picture.

usage: performance.py --write   makes the page's tables and the picture again (after a change of measures.py)

A run is a commit on a machine; history.csv has a row for each of its measures, the newest run last. The page
shows that run alone, the picture all of them. tests/tree/performance.py holds both to the two tables.
"""

import csv
import io
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import plot
from measures import GROUPS, MEASURES, MODEL, Measure, measure, missed

ROOT = Path(__file__).resolve().parents[2]
HISTORY = Path(__file__).resolve().with_name("history.csv")
PAGE, PICTURE = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.svg"
OURS = [f":!{path.relative_to(ROOT)}" for path in (HISTORY, PAGE, PICTURE)]  # what --write changes
HEAD = "# SPDX-License-Identifier: MIT\n"
BEGIN, END = "<!-- measures: written by `make bench WRITE=1` -->\n", "<!-- end of measures -->\n"
SETS = (("avx512_bf16", "AVX512-BF16"), ("avx512_vnni", "AVX512-VNNI"), ("avx512f", "AVX-512"), ("avx2", "AVX2"))  # the best names a machine


class Row(NamedTuple):
    date: str
    commit: str
    machine: str
    load: str  # average of processes that ran when the run began; empty: nobody wrote it down
    measure: str
    now: str
    ratio: str
    spread: str

    @property
    def run(self) -> tuple[str, str]:
        return self.commit, self.machine


def number(value: float | None) -> str:
    """Three digits, as a person writes them"""
    if value is None:
        return ""
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e+" in text else text


def git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit() -> str:
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *OURS)
    head = git("rev-parse", "--short=8", "HEAD")
    return (head or (ROOT / "VERSION").read_text().strip()) + ("-dirty" if changed else "")


def accelerator() -> str:
    """The accelerator that neuron-vm runs guests with here"""
    argv = [ROOT / "neuron-vm" / "neuron-vm", "exec", "--instance", "inf1.xlarge", "--dry-run", "--", "true"]
    found = re.search(r"-accel (\w+)", subprocess.run(argv, capture_output=True, text=True, check=False).stdout)
    return found.group(1).upper() if found else "no guests"


def machine() -> str:
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)", text, re.M)
    flags = set(re.search(r"^(?:flags|Features)\s*:\s*(.*)", text, re.M).group(1).split())
    best = next((f" with {name}" for flag, name in SETS if flag in flags), "")
    name = re.sub(r"\((?:R|TM)\)|\s+CPU.*|\s+@.*|\s+\d+-Core.*", "", model.group(1)) if model else platform.machine()
    return f"{name}{best}, {len(os.sched_getaffinity(0))} processors, {accelerator()}"


def read() -> list[Row]:
    if not HISTORY.exists():
        return []
    lines = [line for line in HISTORY.read_text().splitlines() if not line.startswith("#")]
    return [Row(*row) for row in csv.reader(lines[1:])]


def save(rows: list[Row]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    HISTORY.write_text(HEAD + out.getvalue())


class Results:
    """A run's results: put() prints one and keeps it, write() writes all down"""

    def __init__(self) -> None:
        self.load, self.found, self.who = f"{os.getloadavg()[0]:.0f}", {}, (commit(), machine())

    def put(self, name: str, now: float | None, ratio: float | None = None, spread: float | None = None) -> None:
        of = measure(name)
        self.found[name] = now, ratio, spread
        text = f"{of.what:<72} {number(now):>9} {of.unit if now is not None else ''}"
        text += f"  {number(ratio)} of {of.compared}" if ratio is not None else ""
        text += f", spread {spread:.0%}" if spread is not None else ""
        text += f"   goal {of.goal}{', missed' if missed(of, now, ratio) else ''}" if of.goal else ""
        print(text, flush=True)

    def write(self) -> None:
        date, rows = time.strftime("%Y-%m-%d", time.gmtime()), read()
        mine = {row.measure: row for row in rows if row.run == self.who}
        for name, values in self.found.items():
            mine[name] = Row(date, *self.who, self.load, name, *map(number, values))
        order = {name: i for i, name in enumerate(MEASURES)}
        last = sorted(mine.values(), key=lambda row: (order.get(row.measure, len(order)), row.measure))
        save([row for row in rows if row.run != self.who] + last)
        show()


def goal(of: Measure) -> str:
    text = of.goal.replace(">=", "≥").replace("<=", "≤")
    return text if not text or text.startswith("ratio") else f"{text} {of.unit}".strip()


def table(group: str, found: dict[str, Row]) -> str:
    lines = [f"### {group}", "", "| measure | unit | goal | now | ratio | what is compared |", "|---|---|---|---|---|---|"]
    rows = [of for of in GROUPS[group]()] + [measure(name) for name in found if name.startswith(MODEL) and name.endswith("/socket") and group == "zoo"]
    for of in rows:
        row = found.get(of.name)
        now, ratio = (row.now or "–", row.ratio or "–") if row else ("–", "–")
        lines.append(f"| {of.what} | {of.unit} | {goal(of)} | {now} | {ratio if of.compared else ''} | {of.compared} |")
    return "\n".join(lines) + "\n"


def models(found: dict[str, Row]) -> str:
    """The zoo's models, the one that is furthest ahead of its reference first"""
    rows = [row for name, row in found.items() if name.startswith(MODEL) and not name.endswith("/socket")]
    if not rows:
        return ""
    lines = ["Each model of the zoo; the ratio is the reference's time divided by ours:", "", "| model | ours, ms | ratio | spread |", "|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -float(row.ratio)):
        lines.append(f"| {row.measure.removeprefix(MODEL)} | {row.now} | {row.ratio} | {float(row.spread) * 100:.0f} % |")
    return "\n".join(lines) + "\n"


def tables(rows: list[Row]) -> str:
    last = [row for row in rows if row.run == rows[-1].run]
    found = {row.measure: row for row in last}
    bad = [of.name for name, row in found.items() for of in [measure(name)]
           if missed(of, float(row.now or 0), float(row.ratio) if row.ratio else None)]  # fmt: skip
    goals = sum(bool(measure(name).goal) for name in found)
    row = last[-1]
    loads = sorted({row.load for row in last if row.load}, key=float)
    beside = f", with {loads[0]}{' to ' + loads[-1] if len(loads) > 1 else ''} processes running when it began" if loads else ""
    head = f"Commit {row.commit} on {row.machine}, {row.date}{beside}: {goals - len(bad)} of {goals} goals are met.\n"
    if bad:
        head += "Missed: " + ", ".join(bad) + ".\n"
    return "\n".join([head, *(table(group, found) for group in GROUPS), *filter(None, [models(found)])])


def page(text: str, rows: list[Row]) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no marks of the measures")
    return f"{before}{begin}\n{tables(rows)}\n{end}{after}"


def show() -> None:
    rows = read()
    PAGE.write_text(page(PAGE.read_text(), rows))
    PICTURE.write_text(plot.draw(rows))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    show()
