#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Do guarantees and mutations (tests/mutate) fit the tree, its tests and docs/testing.md? As TAP.

usage: mutations.py SOURCE_ROOT BUILD_ROOT
       mutations.py --write SOURCE_ROOT   writes the guarantees into docs/testing.md
"""

import fnmatch
import json
import re
import sys
from pathlib import Path
from typing import Iterator

WRITE = sys.argv[1] == "--write"
ROOT, BUILD = Path(sys.argv[2 if WRITE else 1]), Path(sys.argv[2])
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- guarantees: written by tests/tree/mutations.py --write -->\n", "<!-- end of guarantees -->\n"
sys.path.insert(0, str(ROOT / "tests" / "mutate"))

from mutations import Killed, Mutation, Stale, guarantees, load, program_of, title  # noqa: E402


def stale(mutations: list[Mutation]) -> Iterator[str]:
    for mutation in mutations:
        try:
            mutation.applied((ROOT / mutation.file).read_text(encoding="utf-8"))
        except (OSError, Stale) as error:
            yield str(error)


def unshown(mutations: list[Mutation]) -> Iterator[str]:
    """A guarantee names mutations that there are, and each mutation shows one."""
    patterns = {pattern: g for g in guarantees() for pattern in g.mutations}
    texts = [g.text for g in guarantees()]
    for text in sorted({text for text in texts if texts.count(text) > 1}):
        yield f"twice: {text}"
    for pattern, g in sorted(patterns.items()):
        if not any(fnmatch.fnmatchcase(m.name, pattern) for m in mutations):
            yield f"{g.area}.list: '{g.text}' names {pattern}, which there is not"
    for mutation in mutations:
        if not any(fnmatch.fnmatchcase(mutation.name, p) for p in patterns):
            yield f"no guarantee of tests/mutate/*.list names {mutation.name}"


def tables() -> str:
    """One table an area"""
    text, area = "", ""
    for g in guarantees():
        if g.area != area:
            area = g.area
            text += f"\n### {area}\n\n{title(area)}\n\n| guarantee | test | oracle | mutations |\n|---|---|---|---|\n"
        text += f"| {g.text} | {g.test} | {g.oracle} | {', '.join(f'`{name}`' for name in g.mutations)} |\n"
    return text + "\n"


def page() -> str:
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + begin + tables() + END + rest.partition(END)[2]


def outdated(_: list[Mutation]) -> Iterator[str]:
    if PAGE.read_text(encoding="utf-8") != page():
        yield "tests/tree/mutations.py --write . writes it; rows belong into tests/mutate/*.list"


def unknown(mutations: list[Mutation]) -> Iterator[str]:
    """The tests that a row names are meson's, a suite in parts by the name of the whole, guests' (vm/NAME), or programs of tests/frameworks."""
    known = set()
    for test in json.loads((BUILD / "meson-info" / "intro-tests.json").read_text(encoding="utf-8")):
        known |= {test["name"], test["name"].rpartition("-")[0] if "TEST_PART" in test["env"] else test["name"]}
    for mutation in mutations:
        for test in mutation.tests:
            if test not in known and not (test.startswith(("vm/", "frameworks/")) and program_of(test).exists()):
                yield f"{mutation.name} names the test {test}, which there is not"


def main() -> int:
    if WRITE:
        had, text = PAGE.read_text(encoding="utf-8"), page()
        for row in sorted(set(had.partition(BEGIN)[2].partition(END)[0].splitlines()) - set(text.splitlines())):
            print(f"no list has it, so it is gone: {row}", file=sys.stderr)  # somebody wrote into the page
        PAGE.write_text(text, encoding="utf-8")
        return 0
    try:
        mutations = load()
    except Stale as error:
        print(f"1..1\nnot ok 1 - the list can be read\n# {error}")
        return 0
    print("1..4")
    checks = [("each text to change is there exactly once", stale), ("each shows a guarantee", unshown),
              ("docs/testing.md has the guarantees", outdated),
              ("each names tests that there are", unknown)]
    for number, (title, check) in enumerate(checks, 1):
        findings = list(check(mutations))
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
    killed = Killed()
    print(f"# {sum(not killed.has(m) for m in mutations)} rows were not seen killed as they are: make mutate RESUME=1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
