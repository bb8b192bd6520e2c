#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The jobs of examples/ci, as TAP: GitHub's form and GitLab's have the same neuron-vm commands, and each is one that
neuron-vm's own parser takes.

usage: ci_examples.py SOURCE_ROOT
"""

import re
import shlex
import sys
from pathlib import Path

import yaml
from tap import Tap

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
from neuronvm import cli  # noqa: E402


def calls(file: str, job: str) -> list[list[str]]:
    """The words of each neuron-vm command, without the guest's journal, which only one form shows; sorted."""
    tree = yaml.safe_load((ROOT / "examples" / "ci" / file).read_text())
    found = tree.get("jobs", tree)[job]
    if "script" in found:
        lines = found["script"] + found.get("after_script", [])
    else:
        lines = [step["run"] for step in found["steps"] if "run" in step]
    text = "\n".join(lines).replace("${{ matrix.instance }}", "$INSTANCE")
    # a command ends at a newline, && or ; outside of quotes
    words = shlex.shlex(re.sub(r"\n(?=neuron-vm|make|apt)", " ; ", text), posix=True, punctuation_chars=";&")
    words.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set(";&"):
            commands.append([])
        else:
            commands[-1].append(word)
    return sorted(words for words in commands if words[:1] == ["neuron-vm"] and "journalctl" not in words)


def main() -> int:
    tap = Tap()
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
