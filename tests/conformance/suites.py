#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What differs between Debian's suites (scripts/suite) and who takes it from there, as TAP. The versions of kernels are
those of Debian's packages.

usage: suites.py SOURCE_ROOT
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap

ROOT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "neuron-vm"))
from neuronvm import VmError, paths, share  # noqa: E402

KERNELS = {
    "bookworm": ["6.1.0-9-cloud-amd64", "6.1.0-40-cloud-amd64", "6.1.0-56-cloud-amd64"],
    "trixie": ["6.12.38+deb13-cloud-amd64", "6.12.95+deb13-cloud-amd64", "6.12.118+deb13-cloud-amd64"],
}
# of backports, another flavour, real-time, a debug kernel of ours
OTHERS = ["6.12.95+deb12-cloud-amd64", "6.18.5+deb13-cloud-amd64", "6.1.0-56-amd64", "6.12.95+deb13-amd64",
          "6.12.95+deb13-rt-amd64", "6.1.192-neuron-kasan", "6.11.10+bpo-cloud-amd64"]
FIELDS = ["name", "debian", "kernel", "versions", "headers", "qemu", "clang"]
tap = Tap()


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    argv = [str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **environment})


def known(suite: str) -> None:
    fields = {field: run("suite", field, NEURON_SUITE=suite).stdout.strip() for field in FIELDS}
    tap.ok(all(fields.values()) and fields["name"] == suite, f"{suite}: every field", str(fields))
    taken = [k for k in sum(KERNELS.values(), OTHERS) if re.fullmatch(fields["versions"] + "-cloud-amd64", k)]
    tap.same(taken, KERNELS[suite], f"{suite}: its own kernels, and no other")
    patch = ROOT / "qemu-device" / "qemu" / f"tree-{fields['qemu']}.patch"
    tap.ok(patch.is_file(), f"{suite}: the patch for its QEMU, {patch.name}")


def unknown() -> None:
    """One line that says what is known comes first, and nothing is done."""
    for script, arguments in [("suite", []), ("install-deps", []), ("fetch-kernel", []), ("build-qemu", ["--where"]),
                              ("build-debug-kernel", ["--where", "kasan"]), ("check-host", ["sarge", os.devnull])]:
        with tempfile.TemporaryDirectory() as cache:
            if script == "check-host":
                arguments = ["sarge", cache]
            done = run(script, *arguments, NEURON_SUITE="sarge", NEURON_CACHE=cache)
            said = done.stdout + done.stderr
            good = all(f"Debian {n} ({name})" in said for n, name in [(12, "bookworm"), (13, "trixie")])
            tap.ok(done.returncode and said.count("\n") == 1 and good and "sarge" in said, f"{script}: an unknown suite", said)
            tap.same(os.listdir(cache), [], f"{script}: nothing was made")
    os.environ["NEURON_SUITE"] = "sarge"
    try:
        said = str(paths.kernel(None))
    except VmError as error:
        said = str(error)
    tap.ok("Debian 13 (trixie)" in said, "neuron-vm says the same", said)


def fetched() -> None:
    """The newest of the cache's, by number and not by letters; headers where they were unpacked."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"NEURON_SUITE": "trixie", "NEURON_CACHE": cache}
        os.environ.update(environment)
        tap.same(run("fetch-kernel", "--have").stdout, "", "trixie: no kernel yet")
        for version in sum(KERNELS.values(), OTHERS):
            (Path(cache) / "kernel" / version / "usr/src" / f"linux-headers-{version}").mkdir(parents=True)
        newest = KERNELS["trixie"][-1]
        tap.same(run("fetch-kernel", "--have").stdout.strip(), newest, "trixie: the newest of its own")
        headers = f"{cache}/kernel/{newest}/usr/src/linux-headers-{newest}"
        tap.same(run("fetch-kernel", "--headers", newest).stdout.strip(), headers, "its headers")
        tap.same(str(paths.headers_dir(newest)), headers, "neuron-vm finds them too")
        tap.same(run("fetch-kernel", "backports").stdout.strip(), "6.18.5+deb13-cloud-amd64", "trixie: that of its backports")
        tap.same(run("fetch-kernel", "backports", NEURON_SUITE="bookworm").stdout.strip(), "6.12.95+deb12-cloud-amd64",
                 "bookworm: that of its backports")


def compressed() -> None:
    """A kernel is taken for a guest as it lies only when the guest's first programs can read its modules."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update({"NEURON_SUITE": "trixie", "NEURON_CACHE": cache})
        for version, suffix in zip(KERNELS["trixie"], ["ko", "ko", "ko.xz"]):
            root = Path(cache) / "kernel" / version
            modules = root / "lib" / "modules" / version
            (modules / "kernel").mkdir(parents=True)
            (modules / "modules.dep").write_text(f"kernel/fs/ext4.{suffix}: kernel/lib/crc16.{suffix}\n")
            (root / "boot").mkdir()
            (root / "boot" / f"vmlinuz-{version}").touch()
        tap.same(paths.kernel(None).version, KERNELS["trixie"][1], "a kernel whose modules are compressed is none of a guest's")


def shared() -> None:
    """virtiofsd: QEMU's, with its options, or the package's, with others."""
    with tempfile.TemporaryDirectory() as work:
        qemu, packaged = Path(work) / "qemu", Path(work) / "packaged"
        qemu.mkdir()
        share.PACKAGED = packaged
        for name, make, want in [("none", [], "package virtiofsd"), ("the package's", [packaged], "--shared-dir=/what"),
                                 ("QEMU's", [qemu / "virtiofsd"], "source=/what")]:
            for path in make:
                path.touch()
            try:
                said = " ".join(share.command(qemu, Path("/what"), 7))
            except VmError as error:
                said = str(error)
            tap.ok(want in said and (not make or said.startswith(f"{make[0]} ")), f"virtiofsd: {name}", said)


def main() -> None:
    for suite in KERNELS:
        known(suite)
    unknown()
    fetched()
    compressed()
    shared()
    tap.done()


if __name__ == "__main__":
    main()
