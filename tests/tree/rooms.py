#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Do the tree's directories lie in layers? No arrow upward, no circle between them. As TAP.

usage: rooms.py SOURCE_ROOT
       rooms.py --update SOURCE_ROOT    draw the picture in docs/architecture.md anew

A directory is looked at if it has C files, together with the public headers that are its contract. Its
arrow leads to another one of which a file includes a header. LAYERS is the only list of them.
"""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

from graphs import Graph, circle, reached

# From above: a directory includes headers of those of lower layers, or of its own layer if that makes no circle.
# DIR/* stands for every directory below DIR that has C files.
LAYERS: dict[str, list[str]] = {
    "programs": ["neuron-ls", "tools/neuron-bench", "tools/neuron-cli", "tools/neuron-monitor", "tools/neuron-profile", "tools/neuron-run", "tools/neuron-top", "tools/neuronx-cc", "examples/custom_op", "examples/digits", "neuron-vm/guest"],
    "what custom operators are made of": ["custom-op/*"],
    "what frameworks load": ["frameworks/pjrt", "frameworks/torch/memory"],
    "what programs share": ["tools/common", "tools/telemetry"],
    "servers": ["runtime/rtd", "runtime/emud"],
    "runtime and compiler": ["runtime/nrt", "runtime/nrt/*", "compiler", "compiler/*"],
    "ways to a chip": ["runtime/cc", "runtime/ndl", "driver", "qemu-device/qemu"],
    "the model file": ["neff"],
    "other processes' chips": ["qemu-device/peers"],
    "the chip": ["qemu-device/core", "qemu-device/core/*"],
    "procedures and tables": ["hal", "isa", "machines", "timing"],
    "contracts": ["gen", "include/nrt", "include/uapi/neuron"],
}
# Within a layer, from above: each may include headers of those behind it, and of what lies in lower layers
FLOORS = [
    ["runtime/nrt", *(f"runtime/nrt/{room}" for room in (
        "requests", "ndl", "transport", "load", "execution", "profile", "queue", "model", "memory", "process"))],
    ["compiler", *(f"compiler/{room}" for room in (
        "codegen", "plan", "machine", "passes", "frontend/onnx", *(f"frontend/onnx/{subject}" for subject in (
            "control", "attention", "ml", "images", "quantized", "recurrent", "products", "elements", "reductions", "moves",
            "dynamic", "values", "graph")),
        "frontend/stablehlo", "frontend/hlo", "kernel", "asm", "expand", "build", "proto", "ir", "include"))],
]
# The public headers of a directory, which lie apart from it
HEADERS = {"include/neuron/hw": "gen", "include/neuron/isa": "isa", "include/neuron": "timing",
           "include/nrt/nds": "include/nrt", "include/ndl": "include/nrt"}
# Made by the build, in no directory of the sources
GENERATED = re.compile(r"neuron_version\.h|\w+\.pb-c\.h")

SOURCES = (".c", ".h", ".def")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)
PICTURE = re.compile(r"(<!-- directories: [^>]*-->\n).*?(<!-- end of directories -->)", re.DOTALL)
PAGE = Path("docs/architecture.md")
PLANNED = re.compile(r"^\| \*\*([\w/-]+)\*\* \|.*\|([^|]*)\|$", re.MULTILINE)  # "Where the next parts stand": a part, what it may include


def sources(root: Path) -> list[Path]:
    tops = [p for p in root.iterdir() if p.is_dir() and p.name not in ("build", "tests") and p.name[0] != "."]
    found = [p for top in tops for p in top.rglob("*") if p.suffix in SOURCES and p.is_file()]
    return sorted(p.relative_to(root) for p in found)


def room_of(path: Path) -> str:
    directory = path.parent.as_posix()
    return HEADERS.get(directory, directory)


def shared(a: Path, b: Path) -> int:
    """The number of directories that both paths begin with."""
    count = 0
    for x, y in zip(a.parent.parts, b.parent.parts):
        if x != y:
            break
        count += 1
    return count


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = sources(root)
        self.named: dict[str, list[Path]] = defaultdict(list)
        for path in self.files:
            self.named[path.name].append(path)
        self.rooms = sorted({room_of(p) for p in self.files})
        self.ambiguous: list[str] = []
        self.graph = self.arrows()

    def meant(self, path: Path, include: str) -> Path | None:
        """The file that an include of path's names; None: one of the system's, or made by the build."""
        if (self.root / path.parent / include).is_file():
            return Path(os.path.normpath(path.parent / include))
        if (self.root / "include" / include).is_file():
            return Path("include") / include
        if GENERATED.fullmatch(include):
            return None
        end = "/" + include
        found = [p for p in self.named[Path(include).name] if f"/{p}".endswith(end) and p.parts[0] != "include"]
        found = [p for p in found if shared(p, path) == max(shared(o, path) for o in found)]
        if len(found) > 1:
            self.ambiguous.append(f"{path}: {include} may be any of {', '.join(map(str, found))}")
        return found[0] if found else None

    def arrows(self) -> Graph:
        graph: Graph = {room: {} for room in self.rooms}
        for path in self.files:
            for include in INCLUDE.findall((self.root / path).read_text(encoding="utf-8")):
                other = self.meant(path, include)
                if other and room_of(other) != room_of(path):
                    what = f"{path} includes {include}"
                    graph[room_of(path)].setdefault(room_of(other), set()).add(what)
        return graph


def layer_of(room: str) -> int | None:
    """The layer's number, 0 for the lowest; None if the directory is in no layer."""
    for number, rooms in enumerate(reversed(LAYERS.values())):
        for pattern in rooms:
            if room == pattern or (pattern.endswith("/*") and room.startswith(pattern[:-1])):
                return number
    return None


def unlisted(tree: Tree) -> list[str]:
    found = [f"{room} is in no layer" for room in tree.rooms if layer_of(room) is None]
    listed = [p for rooms in LAYERS.values() for p in rooms if not p.endswith("/*")]
    # a directory whose C files all lie in directories below it
    below = {room for room in listed if f"{room}/*" in [p for rooms in LAYERS.values() for p in rooms]}
    return found + [f"{room} has no C file" for room in listed if room not in tree.rooms and room not in below]


def upward(tree: Tree) -> list[str]:
    return [
        what
        for room, others in tree.graph.items()
        for other, whats in others.items()
        if (layer_of(room) or 0) < (layer_of(other) or 0)
        for what in sorted(whats)
    ]


def below(tree: Tree) -> list[str]:
    """Includes that go up within a list of FLOORS"""
    return [what for floors in FLOORS for room, others in tree.graph.items() for other, whats in others.items()
            if room in floors and other in floors and floors.index(room) > floors.index(other) for what in sorted(whats)] + [
        f"FLOORS has {room}, which there is not" for floors in FLOORS for room in floors if room not in tree.rooms]


def planned(tree: Tree) -> list[str]:
    """Includes of parts that the page foresaw, beyond what it says of them"""
    rows = PLANNED.findall((tree.root / PAGE).read_text(encoding="utf-8"))
    found = [] if rows else [f"{PAGE} has no table of the next parts"]
    for part, cell in rows:
        may = {part, *re.findall(r"`([\w/-]+)`", cell)}
        within = [room for room in tree.rooms if room == part or room.startswith(part + "/")]
        found += [what for room in within for other in tree.graph[room].keys() - may - set(within) for what in sorted(tree.graph[room][other])]
    return found


def circles(tree: Tree) -> list[str]:
    """The includes of the shortest one."""
    found = circle(tree.graph)
    return [what for room, other in zip(found, found[1:]) for what in sorted(tree.graph[room][other])]


def picture(tree: Tree) -> str:
    """Mermaid: an arrow that follows from others is left out."""
    lines = ["```mermaid", "flowchart TD"]
    names = {room: re.sub(r"\W", "_", room) for room in tree.rooms}
    for number, title in enumerate(LAYERS):
        lines.append(f'  subgraph l{number}["{title}"]')
        there = [room for room in tree.rooms if layer_of(room) == len(LAYERS) - 1 - number]
        lines += [f'    {names[room]}["{room}"]' for room in there]
        lines.append("  end")
    for room in tree.rooms:
        for other in sorted(tree.graph[room]):
            if other not in reached(tree.graph, room, without=other):
                lines.append(f"  {names[room]} --> {names[other]}")
    return "\n".join([*lines, "```", ""])


def drawn(tree: Tree) -> list[str]:
    page = (tree.root / PAGE).read_text(encoding="utf-8")
    found = PICTURE.search(page)
    if not found:
        return [f"{PAGE} has no picture between its marks"]
    same = found.group(0) == found.group(1) + picture(tree) + found.group(2)
    return [] if same else [f"{PAGE} shows another graph: tests/tree/rooms.py --update ."]


def update(tree: Tree) -> int:
    page = (tree.root / PAGE).read_text(encoding="utf-8")
    page = PICTURE.sub(lambda m: m.group(1) + picture(tree) + m.group(2), page)
    (tree.root / PAGE).write_text(page, encoding="utf-8")
    return 0


def main() -> int:
    if sys.argv[1] == "--update":
        return update(Tree(Path(sys.argv[2])))
    tree = Tree(Path(sys.argv[1]))
    checks = [
        ("each directory with C files is in one layer", unlisted(tree)),
        ("each include means one file", tree.ambiguous),
        ("no arrow leads upward", upward(tree)),
        ("none within a layer either, where FLOORS says what lies above", below(tree)),
        ("new parts include what the page says that they may", planned(tree)),
        ("no circle between directories", circles(tree)),
        ("the picture is the graph", drawn(tree)),
    ]
    print(f"1..{len(checks)}")
    for number, (title, findings) in enumerate(checks, 1):
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
