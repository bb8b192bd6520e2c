#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Do the C files of a directory lie in layers? No circle of files calls itself. As TAP.

usage: layers.py SOURCE_ROOT DIRECTORY...

A file depends on another one of its directory when it names a function or an object that the other
one defines and does not keep to itself. Calls through pointers are how a lower file may reach a higher
one, and do not count.
"""

import re
import sys
from collections import deque
from pathlib import Path

Graph = dict[str, dict[str, set[str]]]  # file: the files it depends on, and by which names

IGNORED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
FUNCTION = re.compile(r"^(?!static\b)([A-Za-z_][^;{}]*?\))\s*\n\{", re.MULTILINE)
NAME = re.compile(r"\b(?!__)(\w+)\s*\(")
OBJECT = re.compile(
    r"^(?!static\b|extern\b|typedef\b)(?:[A-Za-z_]\w*[\s*]+)+?(\w+)(?:\[[^\]]*\])*\s*(?:=|;)", re.MULTILINE
)
FORWARD = re.compile(r"^(?:struct|enum|union)\s+\w+\s*;", re.MULTILINE)
MACRO = re.compile(r"^DEFINE_\w+\((\w+)", re.MULTILINE)
WORD = re.compile(r"(?:\b(?:struct|enum|union)\s+|\.\s*|->\s*)?\b([A-Za-z_]\w*)")


def code(path: Path) -> str:
    text = IGNORED.sub(" ", path.read_text(encoding="utf-8"))
    return FORWARD.sub("", DIRECTIVE.sub("", text))


def defined(text: str) -> set[str]:
    names = set(OBJECT.findall(text)) | set(MACRO.findall(text))
    for head in FUNCTION.findall(text):
        if found := NAME.search(head):
            names.add(found.group(1))
    return names


def named(text: str) -> set[str]:
    """Words that are no tag of a structure and no member of one."""
    return {m.group(1) for m in WORD.finditer(text) if m.group(0) == m.group(1)}


def graph(directory: Path) -> Graph:
    texts = {path.name: code(path) for path in sorted(directory.glob("*.c"))}
    owner = {name: file for file, text in texts.items() for name in defined(text)}
    result: Graph = {}
    for file, text in texts.items():
        result[file] = {}
        for name in named(text):
            if name in owner and owner[name] != file:
                result[file].setdefault(owner[name], set()).add(name)
    return result


def circle(files: Graph) -> list[str]:
    """The shortest circle, with its first file again at the end; empty: there is none."""
    best: list[str] = []
    for start in files:
        before: dict[str, str] = {}
        queue = deque([start])
        while queue and start not in before:
            file = queue.popleft()
            for other in sorted(files[file]):
                if other not in before:
                    before[other] = file
                    queue.append(other)
        if start not in before:
            continue
        found = [start]
        while len(found) == 1 or found[-1] != start:
            found.append(before[found[-1]])
        if not best or len(found) < len(best):
            best = found[::-1]
    return best


def main() -> int:
    root, directories = Path(sys.argv[1]), sys.argv[2:]
    print(f"1..{len(directories)}")
    for number, directory in enumerate(directories, 1):
        files = graph(root / directory)
        found = circle(files)
        print(f"{'not ok' if found or not files else 'ok'} {number} - {directory}: {len(files)} files in layers")
        for file, other in zip(found, found[1:]):
            print(f"# {file} needs {', '.join(sorted(files[file][other]))} of {other}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
