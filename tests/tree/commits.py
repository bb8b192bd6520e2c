#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""scripts/lint-commits in repositories made for it, as TAP.

usage: commits.py SOURCE_ROOT
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

from tap import Tap  # noqa: E402

WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "t"), ("EMAIL", "t@example.org"))}
ENV = {**{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LINT_"))}, **WHO,
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}  # fmt: skip
GOOD = ["core: a queue that nobody uses keeps its registers", "hlo, stablehlo: one check", "neuron-vm: " + "x" * 61]
BAD = ["neuron-vm: " + "x" * 62, "style", "sundry: what", "core:what", "core; isa: what", "core, sundry: what"]
GOOD_MERGES = ["Merge main: the suites of Debian"]
BAD_MERGES = ["Merge branch 'topic'", "Merge remote-tracking branch 'origin/topic': more", "merge: topic", "Merge topic"]


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "scripts").mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.commit("before the rule, in any form")
        shutil.copy(ROOT / "scripts/lint-commits", path / "scripts")
        shutil.copy(ROOT / "CONTRIBUTING.md", path)
        self.git("add", ".")
        self.commit("scripts: the rule")

    def git(self, *words: str) -> str:
        return subprocess.run(["git", "-C", self.path, *words], env=ENV, check=True, capture_output=True, text=True).stdout

    def commit(self, subject: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def merge(self, subject: str) -> None:
        self.git("checkout", "-q", "-b", "side")
        self.commit("tests: on a side")
        self.git("checkout", "-q", "-")
        self.git("merge", "-q", "--no-ff", "-m", subject, "side")
        self.git("branch", "-q", "-D", "side")

    def lint(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.path / "scripts/lint-commits", *words], env=ENV, capture_output=True, text=True, check=False)


def main() -> None:
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="commits.") as directory:
        work = Path(directory)
        repository = Repository(work / "new")
        repository.git("checkout", "-q", "-b", "topic")
        for make, subjects, status in ((repository.commit, GOOD, 0), (repository.merge, GOOD_MERGES, 0), (repository.commit, BAD, 1), (repository.merge, BAD_MERGES, 1)):
            for subject in subjects:
                make(subject)
                done = repository.lint()
                told = (subject in done.stderr) == bool(status)
                tap.ok(done.returncode == status and told, f"{'refused' if status else 'taken'}: {subject[:60]}", str(done))
                if status:
                    repository.git("reset", "-q", "--hard", "HEAD^")
        repository.commit("style")
        tap.ok(repository.lint("HEAD").returncode == 0, "what is in a named base is not looked at")
        tap.ok(repository.lint("HEAD^").returncode == 1, "what is not, is")
        tap.ok(repository.lint("nothing").returncode == 2, "a base that there is not")
        repository.git("clone", "-q", "--depth", "1", f"file://{repository.path}", str(work / "shallow"))
        for name, title in (("shallow", "a shallow clone"), ("plain", "without .git")):
            (work / name / "scripts").mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "scripts/lint-commits", work / name / "scripts")
            done = subprocess.run([work / name / "scripts/lint-commits"], env=ENV, capture_output=True, text=True, check=False)
            tap.ok(done.returncode == 0 and "skipped" in done.stderr, f"{title} is skipped", str(done))
    tap.done()


main()
