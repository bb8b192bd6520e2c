# SPDX-License-Identifier: MIT
"""The guarantees and the mutations that show them: AREA.list beside this file, in paragraphs.

    guarantee: what holds
    test: who shows it
    oracle: by what it knows; may be left out
    mutations: those that show that the test can fail, as AREA/NAME, `*` for several; may be left out

is a row of docs/testing.md (tests/tree/mutations.py writes it there), and

    [name]
    file: the source file, from the top of the tree
    in: a function of it (may be left out): the text is looked for there only
    old: what stands there; any white space matches any other
    new: what takes its place; nothing may
    tests: which of them has to fail: names of `meson test --list`, vm/NAME for a test in a guest,
           frameworks/PROGRAM or frameworks/PROGRAM/POINT for one with PyTorch (tests/frameworks)
    needs: what the processor must have for it, of /proc/cpuinfo's flags; may be left out

a mutation. The comment at the head of a file is its area's title.

The text has to be there exactly once, so that an entry never silently changes something else.
Lines that begin with `#` are comments.
"""

import fcntl
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
C_FILES = (".c", ".h", ".cc", ".cpp")
COMMENT_OR_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
KEYS = ("file", "in", "old", "new", "tests", "needs")
GUARANTEE_KEYS = ("guarantee", "test", "oracle", "mutations")


class Stale(Exception):
    """An entry that is malformed or does not fit the tree."""


def program_of(test: str) -> Path:
    """The program of a test that is not meson's, or where it would be"""
    kind, _, name = test.partition("/")
    return HERE.parent / kind / (f"{name}.t" if kind == "vm" else f"{name.partition('/')[0]}.py")


@dataclass(frozen=True)
class Mutation:
    name: str  # AREA/NAME
    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]
    needs: str = ""

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

    def _place(self, text: str) -> tuple[int, int]:
        start, end = self._span(text)
        anchor = re.compile(r"\s+".join(re.escape(word) for word in self.old.split()))
        found = list(anchor.finditer(text, start, end))
        if len(found) != 1:
            where = f"{self.file}, {self.function}()" if self.function else self.file
            raise Stale(f"{self.name}: {len(found)} places in {where} read: {self.old}")
        return found[0].span()

    def applied(self, text: str) -> str:
        """The text with the change made."""
        start, end = self._place(text)
        changed = text[:start] + self.new + text[end:]
        if changed == text:
            raise Stale(f"{self.name} changes nothing")
        return changed

    def changed_code(self, text: str) -> str:
        """The function or table that the change is in, without its comments; the whole text where it is not C."""
        if not self.file.endswith(C_FILES):
            return text
        start, end = self._place(text)
        before, after = text.rfind("\n}", 0, start) + 1, text.find("\n}", end)
        block = text[before : after + 2 if after >= 0 else len(text)]
        return " ".join(COMMENT_OR_TEXT.sub(lambda found: " " if found[0].startswith("/") else found[0], block).split())


@dataclass(frozen=True)
class Guarantee:
    area: str
    text: str
    test: str
    oracle: str
    mutations: tuple[str, ...]


def _guarantee(path: Path, fields: dict[str, str]) -> Guarantee:
    if not fields.get("test"):
        raise Stale(f"{path.name}: the guarantee '{fields['guarantee']}' has no test:")
    named = tuple(name.strip() for name in fields["mutations"].split(",")) if "mutations" in fields else ()
    return Guarantee(path.stem, fields["guarantee"], fields["test"], fields.get("oracle", ""), named)


def _entry(path: Path, name: str, fields: dict[str, str]) -> Mutation:
    for key in ("file", "old", "new", "tests"):
        if key not in fields or (not fields[key] and key != "new"):
            raise Stale(f"{path.name}: [{name}] has no {key}:")
    tests = tuple(test.strip() for test in fields["tests"].split(","))
    return Mutation(f"{path.stem}/{name}", fields["file"], fields.get("in", ""), fields["old"], fields["new"], tests, fields.get("needs", ""))


def _paragraph(path: Path, name: str, fields: dict[str, str]) -> Mutation | Guarantee:
    return _entry(path, name, fields) if name else _guarantee(path, fields)


def _read(path: Path) -> list[Mutation | Guarantee]:
    found: list[Mutation | Guarantee] = []
    name, fields = "", {}
    for line in [*path.read_text(encoding="utf-8").splitlines(), "[]"]:
        key, colon, value = line.partition(":")
        if line.startswith("#") or not line.strip():
            continue
        head = re.fullmatch(r"\[([\w-]*)\]", line)
        if head or key == "guarantee":
            if name or fields:
                found.append(_paragraph(path, name, fields))
            name, fields = head.group(1) if head else "", {}
            if head:
                continue
        if (name or key == "guarantee" or fields) and colon and key in (KEYS if name else GUARANTEE_KEYS) and key not in fields:
            fields[key] = value.strip()
        else:
            raise Stale(f"{path.name}: [{name}]: what is '{line}'?")
    return found


def guarantees(directory: Path = HERE) -> list[Guarantee]:
    """Every guarantee, by area and in the files' order."""
    return [g for path in sorted(directory.glob("*.list")) for g in _read(path) if isinstance(g, Guarantee)]


def title(area: str, directory: Path = HERE) -> str:
    """The comment at the head of an area's file, behind the licence."""
    lines = (directory / f"{area}.list").read_text(encoding="utf-8").splitlines()[1:]
    return " ".join(line.removeprefix("#").strip() for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))])


def load(directory: Path = HERE) -> list[Mutation]:
    """Every mutation, by area and in the files' order; names are unique."""
    found = [m for path in sorted(directory.glob("*.list")) for m in _read(path) if isinstance(m, Mutation)]
    names = [m.name for m in found]
    for name in names:
        if names.count(name) > 1:
            raise Stale(f"{name} is there twice")
    return found


KILLED_HEAD = """# SPDX-License-Identifier: MIT
# The mutations that were seen killed, and the key of row and changed function: written by tests/mutate/run
"""


class Killed:
    """The rows that were seen killed: a line `NAME KEY` each in the file killed, by name. A key stands for the row and
    for the code of the function that it changes, so that what is there holds until one of them is another."""

    def __init__(self, path: Path = HERE / "killed") -> None:
        self.path = path
        self.lines = self._read()

    def _read(self) -> set[str]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return {line for line in text.splitlines() if not line.startswith("#")}

    @staticmethod
    def _line(mutation: Mutation) -> str:
        row = (mutation.name, mutation.old, mutation.new, mutation.tests)
        code = mutation.changed_code((HERE.parents[1] / mutation.file).read_text(encoding="utf-8"))
        key = hashlib.sha256(f"{row}\0{code}".encode()).hexdigest()[:16]
        return f"{mutation.name} {key}"

    def has(self, mutation: Mutation) -> bool:
        return self._line(mutation) in self.lines

    def add(self, mutation: Mutation) -> None:
        """Several runs may add at the same time."""
        with self.path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            others = {line for line in self._read() if line.split()[0] != mutation.name}
            self.lines = others | {self._line(mutation)}
            file.truncate(0)
            file.write(KILLED_HEAD)
            file.writelines(f"{line}\n" for line in sorted(self.lines))
