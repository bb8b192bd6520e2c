#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Does the list of mutations (tests/mutate) fit the tree, its tests and docs/testing.md? As TAP.

usage: mutations.py SOURCE_ROOT BUILD_ROOT
"""

import fnmatch
import json
import re
import sys
from pathlib import Path
from typing import Iterator

ROOT, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests" / "mutate"))

from mutations import Mutation, Stale, load  # noqa: E402


def stale(mutations: list[Mutation]) -> Iterator[str]:
    for mutation in mutations:
        try:
            mutation.applied((ROOT / mutation.file).read_text(encoding="utf-8"))
        except (OSError, Stale) as error:
            yield str(error)


def documented(mutations: list[Mutation]) -> Iterator[str]:
    """docs/testing.md names them in its tables' last column, as AREA/NAME or a pattern of such."""
    areas = "|".join(sorted({m.area for m in mutations}))
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    cells = [line.split("|")[-2] for line in page.splitlines() if line.startswith("|")]
    patterns = set(re.findall(rf"`((?:{areas})/[\w*-]+)`", "\n".join(cells)))
    for pattern in sorted(patterns):
        if not any(fnmatch.fnmatchcase(m.name, pattern) for m in mutations):
            yield f"docs/testing.md names {pattern}, which is not in the list"
    for mutation in mutations:
        if not any(fnmatch.fnmatchcase(mutation.name, p) for p in patterns):
            yield f"docs/testing.md has no row that names {mutation.name}"


def unknown(mutations: list[Mutation]) -> Iterator[str]:
    """The tests that a row names are meson's, a suite in parts by the name of the whole, or guests' (vm/NAME)."""
    known = set()
    for test in json.loads((BUILD / "meson-info" / "intro-tests.json").read_text(encoding="utf-8")):
        known |= {test["name"], test["name"].rpartition("-")[0] if "TEST_PART" in test["env"] else test["name"]}
    for mutation in mutations:
        for test in mutation.tests:
            if test not in known and not (test.startswith("vm/") and (ROOT / "tests" / f"{test}.t").exists()):
                yield f"{mutation.name} names the test {test}, which there is not"


def main() -> int:
    try:
        mutations = load()
    except Stale as error:
        print(f"1..1\nnot ok 1 - the list can be read\n# {error}")
        return 0
    print("1..3")
    checks = [("each text to change is there exactly once", stale), ("docs/testing.md names each", documented),
              ("each names tests that there are", unknown)]
    for number, (title, check) in enumerate(checks, 1):
        findings = list(check(mutations))
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
