#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Holds a manual page to what it is about, as TAP: `--help` and the page list the same options.

usage: manual.py PAGE PROGRAM [SUBCOMMAND...]
       manual.py PAGE HEADER.h...
       manual.py PAGE SOURCE.c|SOURCE.py...

A page of section 3 has the declaration of each function of the library's headers, one of section 7 each variable of the environment and each
option of a table that the sources have. An option is what a line of --help starts with, and in a page the line after `.TP`. A page also has a
NAME section that names the program, and groff reads it without a warning.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[A-Za-z])(?![\w-])")


def head(line: str) -> list[str]:
    """The options before the description, which two blanks set off."""
    return OPTION.findall(re.split(r"\s{2,}(?!-)", line.strip())[0]) if line.strip().startswith("-") else []


def help_options(program: list[str], subcommands: list[str]) -> set[str]:
    found: set[str] = set()
    for words in [[]] + [[name] for name in subcommands]:
        done = subprocess.run(program + words + ["--help"], capture_output=True, text=True, check=False)
        if done.returncode or done.stderr:
            raise SystemExit(f"Bail out! {' '.join(program + words)} --help: status {done.returncode}")
        for line in done.stdout.splitlines():
            found.update(head(line))
    return found


def page_options(text: str) -> set[str]:
    found: set[str] = set()
    lines = text.splitlines()
    for before, line in zip(lines, lines[1:]):
        if before.strip() in (".TP", ".TQ"):
            plain = re.sub(r"\\f.|^\.[BI]R? ?", "", line).replace("\\-", "-")
            found.update(head(plain))
    return found


DECLARATION = re.compile(r"^[a-z][\w\s*]*\b\w+\([^;{]*\);", re.MULTILINE | re.IGNORECASE)


def plain(declaration: str) -> str:
    return re.sub(r"\s+", " ", declaration)


def declared(headers: list[str]) -> set[str]:
    found: set[str] = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", Path(header).read_text(encoding="utf-8"), flags=re.S | re.M)
        found.update(plain(one) for one in DECLARATION.findall(text))
    return found


def page_declarations(text: str) -> set[str]:
    return {plain(one) for one in re.findall(r'^\.T[PQ]\n\.B "(.*)"$', text, re.MULTILINE)}


ASKED = re.compile(r'(?:getenv|environ\.get)\("(\w+)"')
OPTIONS_ROW = re.compile(r'^\t(?:ENUM\(|\{ )"(\w+)",(?! NOTHING)', re.MULTILINE)


def asked(sources: list[str]) -> set[str]:
    texts = [Path(source).read_text(encoding="utf-8") for source in sources]
    return {name for text in texts for pattern in (ASKED, OPTIONS_ROW) for name in pattern.findall(text)}


def page_names(text: str) -> set[str]:
    return set(re.findall(r"^\.T[PQ]\n\.B (\w+)$", text, re.MULTILINE))


def main() -> int:
    page, program, subcommands = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    text = page.read_text(encoding="utf-8")
    if program.endswith(".h"):
        source, told, written = "the headers", declared(sys.argv[2:]), page_declarations(text)
    elif page.suffix == ".7":
        source, told, written = "the sources", asked(sys.argv[2:]), page_names(text)
    else:
        source, told, written = "--help", help_options([program], subcommands), page_options(text)
    name = re.search(r"^\.SH NAME\n(.*)$", text, re.MULTILINE)
    named = bool(name) and name.group(1).replace("\\-", "-").startswith(page.stem)
    print("1..4")
    print(f"{'not ok' if told - written else 'ok'} 1 - {page.name} has all of {source}")
    for option in sorted(told - written):
        print(f"# not in the page: {option}")
    print(f"{'not ok' if written - told else 'ok'} 2 - {page.name} has nothing else")
    for option in sorted(written - told):
        print(f"# not in {source}: {option}")
    print(f"{'ok' if named else 'not ok'} 3 - {page.name} names {page.stem}")
    if not shutil.which("groff"):
        print("ok 4 # SKIP no groff")
        return 0
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True)
    print(f"{'not ok' if done.stderr or done.returncode else 'ok'} 4 - groff reads {page.name} without a warning")
    for line in done.stderr.splitlines():
        print(f"# {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
