#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds docs/address-map.svg, and architecture.md's table of generations, to the tables in gen/, as TAP.

usage: maps.py SOURCE_ROOT MAPS            MAPS: the program of maps.c
       maps.py --write SOURCE_ROOT MAPS    draws and writes them
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tap import Tap

PICTURE, PAGE = Path("docs/address-map.svg"), Path("docs/architecture.md")
BEGIN, END = "<!-- generations: written by tests/conformance/maps.py --write -->\n", "<!-- end of generations -->\n"
WIDTH, ROW, GAP = 396, 15, 18
WHAT = {
    "core": ("NeuronCore window", "NeuronCore windows", "#d9e8f6"), "topsp": ("TOP_SP", "TOP_SPs", "#e6dff2"),
    "udma": ("UDMA engine", "UDMA engines", "#f8e3d4"), "tdma": ("DMA wrapper", "DMA wrappers", "#fbf1e6"),
    "nq": ("core's notification queues", "cores' notification queues", "#e3f0e0"), "misc": ("MISC RAM", "MISC RAM", "#eeeeee"),
    "array": ("core's array counters", "cores' array counters", "#e3f0e0"), "ext": ("emulator's registers", "emulator's registers", "#f4d9d9"),
    "kept": ("block of words that hold a value", "blocks of words that hold a value", "#f5f5f5"), "regs": ("register space", "register space", "#ffffff"),
    "memory": ("memory", "memories", "#fdf3c4"),
}  # fmt: skip


class Place(NamedTuple):
    kind: str
    bar: int | None
    count: int
    start: int
    stride: int
    size: int

    @property
    def end(self) -> int:
        return self.start + (self.count - 1) * self.stride + self.size


class Generation:
    def __init__(self, line: str) -> None:
        self.name, self.counts = fields(line)
        self.core: dict[str, int] = {}
        self.engines: list[tuple[str, int]] = []
        self.places: list[Place] = []
        self.host, self.ports = 0, []

    def add(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "core":
            self.core = fields("core " + "x version " + rest)[1]
        elif word == "engine":
            name, _, cycle = rest.split()
            self.engines.append((name, int(cycle)))
        elif word == "memory":
            start, size = (int(x, 0) for x in rest.split())
            self.places.append(Place("memory", None, 1, start, size, size))
        elif word == "block":
            kind, at = fields("block " + rest)
            self.places.append(Place(kind, at["bar"], at["count"], at["at"], at["stride"], at["size"]))
        elif word == "host":
            self.host = int(rest, 0)
        else:
            self.ports.append(int(rest, 0))


def fields(line: str) -> tuple[str, dict[str, int]]:
    """WORD NAME key number key number ..."""
    words = line.split()
    return words[1], {key: int(value, 0) for key, value in zip(words[2::2], words[3::2])}


def read(program: str) -> list[Generation]:
    found: list[Generation] = []
    for line in subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        if line.startswith("generation "):
            found.append(Generation(line))
        else:
            found[-1].add(line)
    return found


def bytes_of(size: int) -> str:
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift - 2) == 0:
            return f"{size / (1 << shift):g} {unit}"
    return f"{size} bytes"


def rows(places: list[Place]) -> list[tuple[int, Place, int]]:
    """(indent, place, how many): register spaces with what lies in them, blocks of one kind and size as one row"""
    spaces = [p for p in places if p.kind == "regs"]
    inside = {p: next((s for s in spaces if s != p and s.start <= p.start and p.end <= s.end), None) for p in places}

    def merged(those: list[Place]) -> list[tuple[Place, int]]:
        out: dict[tuple[str, int], tuple[Place, int]] = {}
        for p in sorted(those, key=lambda p: p.start):
            first, count = out.get((p.kind, p.size), (p, 0))
            out[p.kind, p.size] = first, count + p.count
        return list(out.values())

    found: list[tuple[int, Place, int]] = []
    group: list[Place] = []
    for p in sorted((p for p in places if inside[p] is None), key=lambda p: p.start):
        if group and (p.kind, p.size) != (group[0].kind, group[0].size) or p.kind == "regs":
            found += [(0, *row) for row in merged(group)]
            group = []
        if p.kind == "regs":
            found.append((0, p, 1))
            found += [(1, *row) for row in merged([q for q in places if inside[q] == p])]
        else:
            group.append(p)
    return found + [(0, *row) for row in merged(group)]


def sizes(gens: list[Generation], place: Place) -> str:
    """The sizes of memories, of each of the generations that differ in them alone"""
    each = [bytes_of(q.size) for gen in gens for p, q in zip(gens[0].places, gen.places) if p == place]
    return ", ".join(dict.fromkeys(each))


def column(gens: list[Generation], x: int) -> tuple[str, int]:
    gen, names = gens[0], ", ".join(gen.name for gen in gens)
    out, y = [f"<text x='{x}' y='16' font-weight='bold' font-size='13'>{escape(names)}</text>"], 26
    for indent, place, count in rows(gen.places):
        one, many, colour = WHAT[place.kind]
        what = f"{one if count == 1 else f'{count} {many}'}, {sizes(gens, place)}{'' if count == 1 else ' each'}"
        left, width = x + indent * 14, WIDTH - indent * 14
        out.append(f"<rect x='{left}' y='{y}' width='{width}' height='{ROW - 1}' fill='{colour}' stroke='#bbb'/>")
        out.append(f"<text x='{left + 4}' y='{y + 11}'><tspan font-family='monospace'>{place.start:#015x}</tspan> {escape(what)}"
                   f"{'' if place.bar is None else f', BAR{place.bar}'}</text>")
        y += ROW
    for name, start in [("host memory", gen.host), *((f"neighbour at port {i}", port) for i, port in enumerate(gen.ports))]:
        out.append(f"<rect x='{x}' y='{y}' width='{WIDTH}' height='{ROW - 1}' fill='#d7ecec' stroke='#bbb'/>")
        out.append(f"<text x='{x + 4}' y='{y + 11}'><tspan font-family='monospace'>{start:#015x}</tspan> window: {name}</text>")
        y += ROW
    return "\n".join(out), y


def draw(generations: list[Generation]) -> str:
    maps: dict[Any, list[Generation]] = {}
    for gen in generations:
        key = tuple(p._replace(size=0, stride=0) if p.kind == "memory" else p for p in gen.places)
        maps.setdefault((key, gen.host, tuple(gen.ports)), []).append(gen)
    drawn = [column(gens, GAP + i * (WIDTH + GAP)) for i, gens in enumerate(maps.values())]
    width, height = GAP + len(drawn) * (WIDTH + GAP), max(y for _, y in drawn) + GAP
    return "\n".join(["<!-- SPDX-License-Identifier: MIT -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
                      f"<rect width='{width}' height='{height}' fill='#fff'/>", *(text for text, _ in drawn), "</svg>\n"])


def table(generations: list[Generation]) -> str:
    text = "| chip | cores | engines of a core, GHz | SBUF | PSUM | semaphores, events of a core | UDMA engines | TOP_SPs | memory |\n|---|---|---|---|---|---|---|---|---|\n"
    for gen in generations:
        core, memories = gen.core, [p for p in gen.places if p.kind == "memory"]
        engines = ", ".join(f"{name} {1000 / cycle:.1f}" for name, cycle in gen.engines)
        sizes = [bytes_of(core[name] * core["partitions"]) for name in ("sbuf", "psum")]
        text += (f"| {gen.name} | {gen.counts['cores']} NeuronCores-v{core['version']} | {engines} | {' | '.join(sizes)} | {core['semaphores']}, {core['events']} | "
                 f"{gen.counts['dma']} | {gen.counts['topsps'] or ''} | {len(memories)} x {bytes_of(memories[0].size)} |\n")
    return text


def page(text: str, generations: list[Generation]) -> str:
    before, begin, rest = text.partition(BEGIN)
    return before + begin + "\n" + table(generations) + "\n" + END + rest.partition(END)[2] if begin else text


def main() -> None:
    root, generations = Path(sys.argv[-2]), read(sys.argv[-1])
    text = (root / PAGE).read_text(encoding="utf-8")
    if sys.argv[1] == "--write":
        (root / PICTURE).write_text(draw(generations), encoding="utf-8")
        (root / PAGE).write_text(page(text, generations), encoding="utf-8")
        return
    tap, how = Tap(), f"tests/conformance/maps.py --write . {sys.argv[-1]}"
    tap.ok((root / PICTURE).read_text(encoding="utf-8") == draw(generations), "the address map is of gen/", how)
    tap.ok(BEGIN in text and page(text, generations) == text, "architecture.md's table of generations is of gen/", how)
    named = re.findall(r"^\| (\w+) \|", text.partition(BEGIN)[2].partition(END)[0], re.MULTILINE)
    tap.same(named[1:], [gen.name for gen in generations], "a row each")
    tap.done()


main()
