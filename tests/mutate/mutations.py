# SPDX-License-Identifier: MIT
"""The list of mutations: AREA.list beside this file, in paragraphs.

    [name]
    file: the source file, from the top of the tree
    in: a function of it (may be left out): the text is looked for there only
    old: what stands there; any white space matches any other
    new: what takes its place; nothing may
    tests: which of them has to fail: names of `meson test --list`, or vm/NAME for a test in a guest

The text has to be there exactly once, so that an entry never silently changes something else.
Lines that begin with `#` are comments.
"""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = ("file", "in", "old", "new", "tests")


class Stale(Exception):
    """An entry that is malformed or does not fit the tree."""


@dataclass(frozen=True)
class Mutation:
    name: str  # AREA/NAME
    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def area(self) -> str:
        return self.name.partition("/")[0]

    def _span(self, text: str) -> tuple[int, int]:
        if not self.function:
            return 0, len(text)
        head = rf"^\w[^\n;={{}}]*\b{re.escape(self.function)}\([^;{{}}]*\)\s*\{{"
        found = list(re.finditer(head, text, re.MULTILINE))
        if len(found) != 1:
            raise Stale(f"{self.name}: {self.file} has {len(found)} functions {self.function}()")
        return found[0].start(), text.index("\n}", found[0].end() - 1) + 2

    def applied(self, text: str) -> str:
        """The text with the change made."""
        start, end = self._span(text)
        anchor = re.compile(r"\s+".join(re.escape(word) for word in self.old.split()))
        found = list(anchor.finditer(text, start, end))
        if len(found) != 1:
            where = f"{self.file}, {self.function}()" if self.function else self.file
            raise Stale(f"{self.name}: {len(found)} places in {where} read: {self.old}")
        changed = text[: found[0].start()] + self.new + text[found[0].end() :]
        if changed == text:
            raise Stale(f"{self.name} changes nothing")
        return changed


def _entry(path: Path, name: str, fields: dict[str, str]) -> Mutation:
    for key in ("file", "old", "new", "tests"):
        if key not in fields or (not fields[key] and key != "new"):
            raise Stale(f"{path.name}: [{name}] has no {key}:")
    tests = tuple(test.strip() for test in fields["tests"].split(","))
    return Mutation(f"{path.stem}/{name}", fields["file"], fields.get("in", ""), fields["old"], fields["new"], tests)


def _read(path: Path) -> list[Mutation]:
    found, name, fields = [], "", {}
    for line in [*path.read_text(encoding="utf-8").splitlines(), "[]"]:
        key, colon, value = line.partition(":")
        if line.startswith("#") or not line.strip():
            continue
        if head := re.fullmatch(r"\[([\w-]*)\]", line):
            if name:
                found.append(_entry(path, name, fields))
            name, fields = head.group(1), {}
        elif name and colon and key in KEYS and key not in fields:
            fields[key] = value.strip()
        else:
            raise Stale(f"{path.name}: [{name}]: what is '{line}'?")
    return found


def load(directory: Path = HERE) -> list[Mutation]:
    """Every entry of the list, by area and in the files' order; names are unique."""
    found = [m for path in sorted(directory.glob("*.list")) for m in _read(path)]
    names = [m.name for m in found]
    for name in names:
        if names.count(name) > 1:
            raise Stale(f"{name} is there twice")
    return found
