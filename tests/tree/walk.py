#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""How far does a value go? Follows a function's parameter through the calls that pass it, or a part of it, on.

usage: walk.py SOURCE_ROOT                       the values of VALUES go no further than there, as TAP
       walk.py SOURCE_ROOT FILE FUNCTION PARAM   every step of one

A stay is a run of calls within one file: a value that is decided on in one place and used in another has few, one that
is handed to and fro has many. Each function is followed once, in the order of its text; a name that is given an
expression with the value in it is the value, too. It reads C as text: calls through pointers and macros are not
followed.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# file, function, parameter: the most stays that it may have
VALUES = {
    ("compiler/codegen/gen.c", "gen_op", "op"): 152,
    ("compiler/ncc.c", "compile", "m"): 235,
    ("runtime/nrt/requests/execute.c", "nrt_execute", "model"): 20,
}
ROOMS = ["asm", "compiler", "driver", "hal", "isa", "neff", "qemu-device", "runtime", "tools"]
IGNORED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"^(static\s)?[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*)\)\s*\n\{", re.MULTILINE)
STEP = re.compile(r"(\w+)\s*\(|(?<![\w.>])(\w+)(?:(?:->|\.)\w+|\[[^\]]*\])*\s*=(?!=)\s*([^;]*)")
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "defined"}


@dataclass
class Function:
    name: str
    path: Path
    private: bool
    params: list[str]
    body: str


def closing(text: str, start: int, pair: str) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if not depth:
            return at
    return len(text)


def parts(text: str) -> list[str]:
    """At the commas that are in no parentheses"""
    found, depth, last = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            found.append(text[last:at])
            last = at + 1
    return found + [text[last:]]


def parameter(text: str) -> str:
    named = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", text.strip()) or re.findall(r"\(\*(\w+)\)", text)
    return named[0] if named else ""


def functions(path: Path, text: str) -> list[Function]:
    text = IGNORED.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
    return [Function(m.group(2), path, bool(m.group(1)), [parameter(p) for p in parts(m.group(3))],
                     text[m.end():closing(text, m.end() - 1, "{}")]) for m in HEAD.finditer(text)]


class Code:
    def __init__(self, root: Path) -> None:
        self.public: dict[str, list[Function]] = {}
        self.own: dict[tuple[Path, str], Function] = {}
        for room in ROOMS:
            for path in sorted((root / room).rglob("*.c")):
                for f in functions(path.relative_to(root), path.read_text(encoding="utf-8")):
                    self.own[f.path, f.name] = f
                    if not f.private:
                        self.public.setdefault(f.name, []).append(f)

    def meant(self, caller: Function, name: str) -> Function | None:
        if (caller.path, name) in self.own:
            return self.own[caller.path, name]
        found = self.public.get(name, [])
        return found[0] if len(found) == 1 else None


@dataclass
class Walk:
    code: Code
    stays: list[str] = field(default_factory=list)
    files: set[Path] = field(default_factory=set)
    returns: int = 0  # to a file that was left before
    here: Path | None = None
    known: set[tuple[Path, str]] = field(default_factory=set)

    def enter(self, f: Function, param: str) -> None:
        if (f.path, f.name) in self.known:
            return
        self.known.add((f.path, f.name))
        if f.path != self.here:
            self.returns += f.path in self.files
            self.files.add(f.path)
            self.stays.append(f"{f.path}: {f.name} has it as {param}")
        self.here = f.path
        names = {param}
        for m in STEP.finditer(f.body):
            call, given, value = m.groups()
            if given:
                if has(value, names):
                    names.add(given)
                for inner in re.finditer(r"(\w+)\s*\(", value):
                    self.pass_on(f, inner.group(1), value, inner.end() - 1, names)
            elif call not in KEYWORDS:
                self.pass_on(f, call, f.body, m.end() - 1, names)

    def pass_on(self, f: Function, name: str, text: str, start: int, names: set[str]) -> None:
        other = self.code.meant(f, name)
        given = parts(text[start + 1:closing(text, start, "()")])
        for argument, param in zip(given, other.params if other else []):
            if param and has(argument, names):
                self.enter(other, param)


def has(text: str, names: set[str]) -> bool:
    """Is one of the names in it, as a variable and not as a member?"""
    return any(m.group(1) in names for m in re.finditer(r"(?<![\w.>])(\w+)", text))


def walk(code: Code, path: str, function: str, param: str) -> Walk:
    w = Walk(code)
    w.enter(code.own[Path(path), function], param)
    return w


def main() -> None:
    code = Code(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        w = walk(code, *sys.argv[2:5])
        print("\n".join(w.stays))
        print(f"{len(w.stays)} stays in {len(w.files)} files, {w.returns} of them returns; {len(w.known)} functions")
        return
    print(f"1..{len(VALUES)}")
    for number, (value, most) in enumerate(VALUES.items(), 1):
        stays = len(walk(code, *value).stays)
        print(f"{'ok' if stays <= most else 'not ok'} {number} - {' '.join(value)}: {stays} stays of at most {most}")


if __name__ == "__main__":
    main()
