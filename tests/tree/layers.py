#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Do the tree's C files lie in layers? No circle of files calls itself but those that
docs/architecture.md lists with their reasons, a few at most. As TAP.

usage: layers.py SOURCE_ROOT
       layers.py --calls SOURCE_ROOT FILE    which files a file depends on, and by which names

A file depends on another one when it names a function or an object that the other one defines and
does not keep to itself, and that a header which it includes declares. Calls through pointers are how
a lower file may reach a higher one, and do not count.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from graphs import Graph, circle, circles
from rooms import INCLUDE, Tree

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
ANY = re.compile(r"[A-Za-z_]\w*")


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


class Calls:
    def __init__(self, root: Path) -> None:
        self.tree = Tree(root)
        self.files = [p for p in self.tree.files if p.suffix == ".c"]
        texts = {p: code(root / p) for p in self.files}
        self.owners: dict[str, list[Path]] = defaultdict(list)
        for path, text in texts.items():
            for name in defined(text) - {"main"}:
                self.owners[name].append(path)
        self.words: dict[Path, set[str]] = {}
        self.seen: dict[Path, set[Path]] = {}
        self.graph: Graph = {}
        for path, text in texts.items():
            arrows: dict[str, set[str]] = {}
            for name in named(text) & self.owners.keys():
                for other in self.meant(path, name):
                    arrows.setdefault(str(other), set()).add(name)
            self.graph[str(path)] = arrows

    def headers(self, path: Path) -> set[Path]:
        """The headers that a file includes, itself or through others."""
        if path not in self.seen:
            self.seen[path] = set()  # headers that include each other
            text = (self.tree.root / path).read_text(encoding="utf-8")
            for include in INCLUDE.findall(text):
                if other := self.tree.meant(path, include):
                    self.seen[path] |= {other} | self.headers(other)
        return self.seen[path]

    def mentions(self, header: Path, name: str) -> bool:
        if header not in self.words:
            self.words[header] = set(ANY.findall((self.tree.root / header).read_text(encoding="utf-8")))
        return name in self.words[header]

    def meant(self, path: Path, name: str) -> list[Path]:
        """The files that define what path calls by a name: programs may have a name each."""
        owners = self.owners[name]
        if path in owners:
            return []
        near = [o for o in owners if o.parent == path.parent]
        declared = {h.parent for h in self.headers(path) if self.mentions(h, name)}
        if not declared:
            return near
        beside = [o for o in owners if o.parent in declared]
        return near or beside or (owners if len(owners) == 1 else [])


def shortest(graph: Graph, group: list[str]) -> list[str]:
    within: Graph = {a: {b: names for b, names in graph[a].items() if b in group} for a in group}
    found = circle(within)
    return [f"{a} needs {', '.join(sorted(within[a][b]))} of {b}" for a, b in zip(found, found[1:])]


def main() -> int:
    if sys.argv[1] == "--calls":
        for other, names in sorted(Calls(Path(sys.argv[2])).graph[sys.argv[3]].items()):
            print(f"{other}: {', '.join(sorted(names))}")
        return 0
    graph = Calls(Path(sys.argv[1])).graph
    found = circles(graph)
    print(f"1..1\n{'not ok' if found or not graph else 'ok'} 1 - {len(graph)} files in layers")
    for group in found:
        print(f"# {len(group)} files: {' '.join(group)}")
        for line in shortest(graph, group):
            print(f"#   {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
