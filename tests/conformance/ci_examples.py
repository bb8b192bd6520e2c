#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The jobs of examples/ci, as TAP: GitHub's form and GitLab's have the same neuron-vm commands, and each is one that
neuron-vm's own parser takes; what broke when they were run (docs/compatibility.md) stays mended.

usage: ci_examples.py SOURCE_ROOT
"""

import fnmatch
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import yaml
from tap import Tap

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "neuron-vm"))
from neuronvm import cli, debian  # noqa: E402


def commands(tree: dict, job: str) -> list[str]:
    found = tree.get("jobs", tree)[job]
    if "script" in found:
        return found["script"] + found.get("after_script", [])
    return [step["run"] for step in found["steps"] if "run" in step]


def calls(file: str, job: str) -> list[list[str]]:
    """The words of each neuron-vm command, without the guest's journal, which only one form shows; sorted."""
    tree = yaml.safe_load((ROOT / "examples" / "ci" / file).read_text())
    text = "\n".join(commands(tree, job)).replace("${{ matrix.instance }}", "$INSTANCE")
    # a command ends at a newline, && or ; outside of quotes
    words = shlex.shlex(re.sub(r"\n(?=neuron-vm|make|trap)", " ; ", text), posix=True, punctuation_chars=";&")
    words.whitespace_split = True
    split: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set(";&"):
            split.append([])
        elif not word.startswith(">"):
            split[-1].append(word)
    return sorted(words for words in split if words[:1] == ["neuron-vm"] and "journalctl" not in words)


def forms(tap: Tap) -> None:
    """Files that a job writes are kept, and nothing in it changes with the day it runs on."""
    for file in ["github.yml", "gitlab.yml"]:
        tree = yaml.safe_load((ROOT / "examples" / "ci" / file).read_text())
        for job in ["driver", "client"]:
            lines, found = commands(tree, job), tree.get("jobs", tree)[job]
            tap.ok("apt-get" not in "\n".join(lines), f"{file}, {job}: packages, and so the kernel's headers, are the image's")
            artifacts = found.get("artifacts", {})
            kept = artifacts.get("paths", []) + [artifacts.get("reports", {}).get("junit", "")]
            for step in found.get("steps", []):
                if step.get("uses", "").startswith("actions/upload-artifact@"):
                    kept += step["with"]["path"].split()
            written = re.findall(r"(?:--junitxml=|>|--console )([\w.]+)", "\n".join(lines))
            tap.same([name for name in written if not any(fnmatch.fnmatch(name, path) for path in kept)], [],
                     f"{file}, {job}: {len(written)} logs and reports are kept")


def image(tap: Tap) -> None:
    """The image is made of packages, and prepared as its jobs find it."""
    text = (ROOT / "examples" / "ci" / "Containerfile").read_text()
    final = text[text.rindex("\nFROM"):]
    tap.ok("/var/lib/apt/lists" not in final, "the image keeps apt's lists, by which a job finds the guest's image")
    tap.ok("RUN neuron-vm prepare" in final, "the image has the guest's")
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    tap.ok("build" in ignored and not [line for line in ignored if line.startswith(".git")],
           "the context has git's files, for scripts/build-packages, and not what was built")
    # QEMU's and the tests' packages apart, the build takes no more than debian/control names
    rules = (ROOT / "debian" / "rules").read_text()
    tap.ok("-Dtests=false" in rules, "packages are built without the tests and what those need")
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "neuron.ko"
        file.write_text("a")
        os.utime(file, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
        made = debian._key([file])
        os.utime(file, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
        tap.same(debian._key([file]), made, "an image of the guest is found again by files whose time lost its fraction")
        os.utime(file, (1_700_000_001, 1_700_000_001))
        tap.ok(debian._key([file]) != made, "and not by files of another time")


def main() -> int:
    tap = Tap()
    forms(tap)
    image(tap)
    for job, count in [("driver", 1), ("client", 6)]:
        here, there = calls("github.yml", job), calls("gitlab.yml", job)
        tap.same(here, there, f"{job}: both forms have the same commands")
        tap.same(len(here), count, f"{job}: as many as there are")
        for words in here:
            try:
                cli.parser().parse_args(words[1:])
                tap.ok(True, f"{job}: {' '.join(words[:2])} is parsed")
            except SystemExit:
                tap.ok(False, f"{job}: {' '.join(words)}")
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
