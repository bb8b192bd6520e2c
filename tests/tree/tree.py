#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Checks the tree itself, as TAP: licences, sizes, modes, paths of a developer's machine.

usage: tree.py SOURCE_ROOT

A file states its licence on its first line (its second after `#!` or zsh's `#compdef`), or REUSE.toml states it; the text
of every licence named is in LICENSES/.
"""

import fnmatch
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Callable, Iterator

MAX_LINES = 650  # of code; the aim is 600
MAX_TEST_LINES = 800  # a test may be a long list
README, README_LINES, README_COLUMNS = Path("README.md"), 120, 100
MAX_BYTES = 4 << 20
CODE = (".c", ".h", ".py", ".sh")
SPDX = re.compile(r"SPDX-License-Identifier:\s*(\(?[\w.+-]*\w(?: (?:OR|AND|WITH) [\w.+-]*\w)*\)?)")
GENERATION = re.compile(r"\bNEURON_V\d_")
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|Users|work|builds)/\w|/tmp/b-\w")
SLEEP = re.compile(r"\b(f|m|s|u)sleep(_\w+)?\(|\bschedule_timeout\w*\(")
BUSY = re.compile(r"\b[mun]delay\(")
LOOP = re.compile(r"\t(while \(|for \(|do \{|list_for_each)")

SECTION = re.compile(r"(?:docs/)?([\w-]+)\.md,\s(?:\* )?\"([^\"]+)\"")

Finding = tuple[Path, str]


def files(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode:
        return []
    names = listed.stdout.decode().split("\0")
    return [Path(n) for n in sorted(names) if n and (root / n).is_file()]


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = files(root)
        self.text: dict[Path, list[str]] = {}
        for name in self.files:
            try:
                self.text[name] = (root / name).read_text(encoding="utf-8").split("\n")
            except UnicodeDecodeError:
                pass
        reuse = tomllib.loads((root / "REUSE.toml").read_text(encoding="utf-8"))
        self.annotations = [
            (path, note["SPDX-License-Identifier"])
            for note in reuse["annotations"]
            for path in ([note["path"]] if isinstance(note["path"], str) else note["path"])
        ]

    def licence(self, name: Path) -> str | None:
        lines = self.text.get(name, [])
        head = lines[1:2] if lines and lines[0].startswith(("#!", "#compdef ")) else lines[:1]
        if lines and lines[0].strip() in ("/*", '"""', "{"):
            head = lines[1:2]
        for line in head:
            if found := SPDX.search(line):
                return found.group(1).strip()
        for pattern, licence in reversed(self.annotations):
            if fnmatch.fnmatchcase(name.as_posix(), pattern.replace("**", "*")):
                return licence
        return None

    def code(self) -> Iterator[tuple[Path, list[str]]]:
        for name, lines in self.text.items():
            script = lines[0].startswith("#!") and name.parts[0] != "LICENSES"
            if name.suffix in CODE or script:
                yield name, lines


def unlicensed(tree: Tree) -> Iterator[Finding]:
    for name in tree.files:
        if name.parts[0] != "LICENSES" and not tree.licence(name):
            yield name, "no SPDX line, and none in REUSE.toml"


def texts(tree: Tree) -> Iterator[Finding]:
    have = {p.stem for p in (tree.root / "LICENSES").iterdir()}
    same = {"GPL-2.0-only": "GPL-2.0", "GPL-2.0-or-later": "GPL-2.0"}
    for name in tree.files:
        for word in re.findall(r"[\w.+-]+", tree.licence(name) or "" if name.parts[0] != "LICENSES" else ""):
            if word not in ("OR", "AND", "WITH") and same.get(word, word) not in have:
                yield name, f"LICENSES/ has no text of {word}"


def packaged_licences(tree: Tree) -> Iterator[Finding]:
    """debian/copyright, whose last paragraph that matches a file holds, says what the file says of itself."""
    copyright = "\n".join(tree.text[Path("debian/copyright")])
    said = [
        (pattern, found.group(2).replace("-2 with", "-2.0 with"))
        for found in re.finditer(r"^Files: (.*)\n(?:Copyright: .*\n)License: (.*)$", copyright, re.MULTILINE)
        for pattern in found.group(1).split()
    ]
    for name in tree.files:
        stated = (tree.licence(name) or "").strip("()").replace(" WITH Linux-syscall-note", " with Linux-syscall-note exception")
        stated = stated.replace(" OR ", " or ").replace("GPL-2.0-only", "GPL-2").replace("GPL-2.0-or-later", "GPL-2+")
        holds = next((licence for pattern, licence in reversed(said) if fnmatch.fnmatchcase(name.as_posix(), pattern)), None)
        if name.parts[0] != "LICENSES" and holds != stated:
            yield name, f"is under {stated}, and debian/copyright says {holds}"


def long_files(tree: Tree) -> Iterator[Finding]:
    for name, lines in tree.code():
        limit = MAX_TEST_LINES if name.parts[0] == "tests" else MAX_LINES
        if len(lines) > limit and name.parts[:2] != ("include", "uapi"):  # one contract, one file
            yield name, f"{len(lines)} lines, at most {limit}"


def trailing_blanks(tree: Tree) -> Iterator[Finding]:
    for name, lines in tree.code():
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                yield name, f"line {number} ends with blanks"
                break


def modes(tree: Tree) -> Iterator[Finding]:
    for name, lines in tree.text.items():
        executable = (tree.root / name).stat().st_mode & 0o111
        if bool(executable) != lines[0].startswith("#!"):
            yield name, "executable, but not a script" if executable else "a script, but not executable"


def machine_paths(tree: Tree) -> Iterator[Finding]:
    for name, lines in tree.text.items():
        if name == Path("tests/tree/tree.py"):
            continue
        for number, line in enumerate(lines, 1):
            if found := MACHINE_PATH.search(line):
                yield name, f"line {number} names {found.group(0)}"
                break


def large_files(tree: Tree) -> Iterator[Finding]:
    for name in tree.files:
        if (size := (tree.root / name).stat().st_size) > MAX_BYTES:
            yield name, f"{size} bytes, at most {MAX_BYTES}"


def fixed_sleeps(tree: Tree) -> Iterator[Finding]:
    """A function that sleeps has a loop, which checks between two sleeps what it waits for."""
    for name, lines in tree.text.items():
        if name.parts[0] != "driver" or name.suffix != ".c":
            continue
        loop = False
        for number, line in enumerate(lines, 1):
            loop = (loop or LOOP.search(line) is not None) and not line.startswith("{")
            if SLEEP.search(line) and not loop:
                yield name, f"line {number} sleeps outside a loop"
            if BUSY.search(line):
                yield name, f"line {number} is a busy wait of a fixed time"


def one_generation(tree: Tree) -> Iterator[Finding]:
    """A chip's numbers are in its description, and all other code reads them there."""
    for name, lines in tree.text.items():
        if name.parts[0] in ("gen", "tests", "docs") or name.parts[:3] == ("include", "neuron", "hw"):
            continue
        for number, line in enumerate(lines, 1):
            if GENERATION.search(line):
                yield name, f"line {number} has a number of one generation of chips"
                break


def named_files(tree: Tree) -> Iterator[Finding]:
    """In the documents that say where things are, each path in backquotes exists in the tree."""
    names = [name.as_posix() for name in tree.files]
    for document in ("CONTRIBUTING.md", "docs/architecture.md"):
        for word in re.findall(r"`([\w.-]+(?:/[\w.*-]+)+)/?`", "\n".join(tree.text.get(Path(document), []))):
            if not any(fnmatch.fnmatchcase(name, word) or name.startswith(word + "/") for name in names):
                yield Path(document), f"there is no {word}"


def named_sections(tree: Tree) -> Iterator[Finding]:
    """Where a page is named with a section in quotes, the page has it, as a heading or as bold words that begin a paragraph."""
    pages = {name.stem: "\n".join(lines) for name, lines in tree.text.items() if name.parts[0] == "docs" and name.suffix == ".md"}
    for name, lines in tree.text.items():
        for page, section in SECTION.findall("\n".join(lines)) if name.suffix in (*CODE, ".md", ".1", ".3", ".7", ".8") else ():
            section = re.sub(r"\s+(\* )?", " ", section)
            if page in pages and not re.search(rf"^(#+ |\*\*){re.escape(section)}", pages[page], re.MULTILINE):
                yield name, f"docs/{page}.md has no section {section}"


def short_readme(tree: Tree) -> Iterator[Finding]:
    lines = tree.text[README]
    if len(lines) - 1 > README_LINES:
        yield README, f"{len(lines) - 1} lines, at most {README_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > README_COLUMNS:
            yield README, f"line {number} has {len(line)} columns, at most {README_COLUMNS}"


def linked_files(tree: Tree) -> Iterator[Finding]:
    """A link of a document leads to a file of the tree."""
    for name, lines in tree.text.items():
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]*)?\)", "\n".join(lines)) if name.suffix == ".md" else ():
            if not (tree.root / name.parent / target).exists():
                yield name, f"a link to {target}, which there is not"


def types_of_chips(tree: Tree) -> Iterator[Finding]:
    page = Path("docs/testing.md")
    section = "\n".join(tree.text[page]).partition("\n## Types of chips\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`vm/([\w-]+)`", next((x for x in section.split("\n") if "check-chips" in x), "")))
    runs = {
        name.stem
        for name, lines in tree.text.items()
        if name.parts[:2] == ("tests", "vm") and name.suffix == ".t" and any(x.startswith("# later: ") for x in lines)
    }
    for test in sorted(named ^ runs):
        yield page, f"vm/{test} {'does not run' if test in named else 'runs'} on the types of chips after Inferentia"


CHECKS: list[tuple[str, Callable[[Tree], Iterator[Finding]]]] = [
    ("every file states its licence", unlicensed),
    ("LICENSES/ has the text of every licence", texts),
    ("debian/copyright has the licence of every file", packaged_licences),
    (f"no code file is longer than {MAX_LINES} lines", long_files),
    ("no line of code ends with blanks", trailing_blanks),
    ("scripts, and only scripts, are executable", modes),
    ("no path of a developer's machine", machine_paths),
    ("the module sleeps only between two looks at what it waits for", fixed_sleeps),
    ("numbers of a generation of chips are in its description", one_generation),
    ("CONTRIBUTING.md and architecture.md name files that exist", named_files),
    (f"README has at most {README_LINES} lines of {README_COLUMNS} columns", short_readme),
    ("links of documents lead to files", linked_files),
    ("sections that are named by their page exist", named_sections),
    ("docs/testing.md names the guest tests that run on types of chips after Inferentia", types_of_chips),
    (f"no file is larger than {MAX_BYTES >> 20} MiB", large_files),
]


def main() -> int:
    tree = Tree(Path(sys.argv[1]))
    if not tree.files:
        print("1..0 # SKIP not a git checkout")
        return 0
    print(f"1..{len(CHECKS)}")
    for number, (title, check) in enumerate(CHECKS, 1):
        findings = list(check(tree))
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for name, what in findings[:20]:
            print(f"# {name}: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
