#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""How far does a value go? Follows a function's parameter through the calls that pass it, or a part of it, on.

usage: walk.py SOURCE_ROOT                       the values of VALUES go no further than there, as TAP
       walk.py SOURCE_ROOT FILE FUNCTION PARAM   every step of one

A stay is a run of calls within one file: a value that is decided on in one place and used in another has few, one that
is handed to and fro has many. Each function is followed once, in the order of its text; a name that is given an
expression with the value in it is the value, too. It reads C as text: calls through pointers and macros are not
followed.

Of a value in HANDED only what still is it counts: a parameter whose structure is one of those named, or may hold one. A
number, a shape or a view that was taken from it is another value. Calls through tables of functions are followed there.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# file, function, parameter: the most stays that it may have
VALUES = {
    ("compiler/codegen/gen.c", "gen_op", "op"): 35,
    ("compiler/plan/plan.c", "ncc_plan", "m"): 14,
    ("compiler/ncc.c", "compile", "m"): 99,
    ("runtime/nrt/requests/execute.c", "nrt_execute", "model"): 20,
}
HANDED = {("compiler/codegen/gen.c", "gen_op", "op"): ["ncc_op", "plan_op"]}
ROOMS = ["asm", "compiler", "driver", "hal", "isa", "neff", "qemu-device", "runtime", "tools"]
IGNORED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"^(static\s)?[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*)\)\s*\n\{", re.MULTILINE)
STEP = re.compile(r"(\w+)\s*\(|(?<![\w.>])(\w+)(?:(?:->|\.)\w+|\[[^\]]*\])*\s*=(?!=)\s*([^;]*)")
TYPE = re.compile(r"struct (\w+)[ *]+(?:const )?(\w+)")
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(\w+)\s*\[[^\]]*\]\)?(?:\([^()]*\))?\s*=\s*\{([^;{}]*)\};")
HANDED_STEP = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)?\(|(?<![\w.>])(\w+)((?:(?:->|\.)\w+|\[[^\]]*\])*)\s*=(?!=)")
ITSELF = re.compile(r"\s*&?(\w+)(?:(?:->|\.)\w+)*\s*")
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "defined"}


@dataclass
class Function:
    name: str
    path: Path
    private: bool
    params: list[str]
    types: dict[str, str]  # of parameters that are structures
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
                     {name: tag for tag, name in TYPE.findall(m.group(3))},
                     text[m.end():closing(text, m.end() - 1, "{}")]) for m in HEAD.finditer(text)]


class Code:
    def __init__(self, root: Path) -> None:
        self.public: dict[str, list[Function]] = {}
        self.own: dict[tuple[Path, str], Function] = {}
        self.tables: dict[tuple[Path, str], list[str]] = {}
        self.structs: dict[str, str] = {}
        for path in sorted(p for room in ROOMS for p in (root / room).rglob("*.[ch]")):
            text = path.read_text(encoding="utf-8")
            self.structs |= dict(STRUCT.findall(text))
            if path.suffix == ".c":
                self.read(path.relative_to(root), text)

    def read(self, path: Path, text: str) -> None:
        for m in TABLE.finditer(text):
            self.tables[path, m.group(1)] = re.findall(r"=\s*(\w+)", m.group(2))
        for f in functions(path, text):
            self.own[f.path, f.name] = f
            if not f.private:
                self.public.setdefault(f.name, []).append(f)

    def holders(self, types: list[str]) -> set[str]:
        """Those structures, and what may have one of them as a part, or point to it"""
        found, before = set(types), 0
        while len(found) > before:
            before = len(found)
            found |= {name for name, body in self.structs.items() if found & set(re.findall(r"struct (\w+)", body))}
        return found

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

    def stay(self, f: Function, param: str) -> bool:
        """False: the function was followed before"""
        if (f.path, f.name) in self.known:
            return False
        self.known.add((f.path, f.name))
        if f.path != self.here:
            self.returns += f.path in self.files
            self.files.add(f.path)
            self.stays.append(f"{f.path}: {f.name} has it as {param}")
        self.here = f.path
        return True

    def enter(self, f: Function, param: str) -> None:
        if not self.stay(f, param):
            return
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


class Handed(Walk):
    """Of a value that is one of some structures: only what is one, or holds one"""

    def __init__(self, code: Code, types: list[str]) -> None:
        super().__init__(code)
        self.holders = code.holders(types)

    def follow(self, f: Function, given: set[str]) -> None:
        names = {p for p in given if f.types.get(p) in self.holders}
        if not names or not self.stay(f, min(names)):
            return
        for m in HANDED_STEP.finditer(f.body):
            call, name, member = m.groups()
            if name:
                value = parts(f.body[m.end():f.body.find(";", m.end())])[0]
                itself = ITSELF.fullmatch(value)
                if itself.group(1) in names if member and itself else not member and has(value, names):
                    names.add(name)
            elif call not in KEYWORDS:
                start = m.end() - 1
                arguments = parts(f.body[start + 1:closing(f.body, start, "()")])
                for other in self.code.tables.get((f.path, call), [call]):
                    if meant := self.code.meant(f, other):
                        self.follow(meant, {p for a, p in zip(arguments, meant.params) if p and has(a, names)})


def has(text: str, names: set[str]) -> bool:
    """Is one of the names in it, as a variable and not as a member?"""
    return any(m.group(1) in names for m in re.finditer(r"(?<![\w.>])(\w+)", text))


def walk(code: Code, path: str, function: str, param: str) -> Walk:
    start = code.own[Path(path), function]
    if types := HANDED.get((path, function, param)):
        handed = Handed(code, types)
        handed.follow(start, {param})
        return handed
    w = Walk(code)
    w.enter(start, param)
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
