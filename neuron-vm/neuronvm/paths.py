# SPDX-License-Identifier: MIT
"""Paths of the source tree, the cache, QEMU, the guest's kernel and our programs."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import VmError

TOP = Path(__file__).resolve().parents[2]
GUEST = TOP / "neuron-vm" / "guest"
PREFIX = "opt/aws/neuron"
INSTALLED = (TOP / "files").is_file()  # by scripts/stage-vm, in share/neuron-vm of the prefix


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(os.environ.get("NEURON_CACHE") or Path(home) / "neuron-emulator")
    path.mkdir(parents=True, exist_ok=True)
    return path


def build_dir(given: Path | None) -> Path:
    """The meson build directory whose programs the guest gets; what is made of the installed ones."""
    default = cache() / "installed" / "release" if INSTALLED else TOP / "build" / "release"
    return Path(given or os.environ.get("NEURON_BUILD") or default).resolve()


def make_stage(build: Path, kver: str) -> Path:
    """The files that `make install` would put into the root directory; empty if nothing is built."""
    out = build / "stage"
    if (build / "build.ninja").exists():
        argv = [str(TOP / "scripts" / "stage"), str(build), str(out), kver]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise VmError(f"the programs of {build} could not be collected (scripts/stage)\n"
                          f"{done.stdout[-1000:]}{done.stderr[-1000:]}")
    elif INSTALLED and build == build_dir(None):
        build.mkdir(parents=True, exist_ok=True)
        module = build.parent / "modules" / kver
        _build_module(module, kver)
        _stage_installed(out, kver, module / "neuron.ko")
    return out


def _stage_installed(out: Path, kver: str, module: Path) -> None:
    """make_stage() of the files that are installed beside neuron-vm; a package may have compressed some. What comes
    with the module is neuron-vm's own, as the module is: neuron-dkms need not be here."""
    root = TOP.parents[len((Path(PREFIX) / "share" / "neuron-vm").parts) - 1]
    names = [name for line in (TOP / "files").read_text().splitlines() for name in (line, line + ".gz")]
    wanted = "\n".join(name for name in names if os.path.lexists(root / name))
    with tempfile.TemporaryDirectory(dir=out.parent) as new:
        _rsync("-rlpt", "--files-from=-", f"{root}/", f"{new}/", given=wanted)
        _rsync("-rlpt", f"{TOP}/rootfs/", f"{new}/")
        if module.exists():
            updates = Path(new) / "usr" / "lib" / "modules" / kver / "updates"
            updates.mkdir(parents=True)
            shutil.copy2(module, updates)
        # images made of files that are the same stay valid
        _rsync("-rlptc", "--delete", f"{new}/", f"{out}/")


def _rsync(*arguments: str, given: str = "") -> None:
    done = subprocess.run(["rsync", *arguments], input=given, capture_output=True, text=True)
    if done.returncode:
        raise VmError(f"the installed programs could not be collected\n{done.stderr[-1000:]}")


def _build_module(out: Path, kver: str) -> None:
    """neuron.ko for the guest's kernel, from the source that is installed; needs the kernel's headers."""
    headers = headers_dir(kver)
    source = TOP / "module"
    built = out / "neuron.ko"
    newest = max(path.stat().st_mtime for path in source.rglob("*"))
    if not headers.exists() or (built.exists() and built.stat().st_mtime > newest):
        return
    if sys.stderr.isatty():
        print(f"neuron-vm: building the module for {kver}", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    argv = [str(TOP / "scripts" / "build-module"), str(headers), str(out)]
    done = subprocess.run(argv, env={**os.environ, "NEURON_SOURCE": str(source)}, capture_output=True, text=True)
    if done.returncode:
        raise VmError(f"the module could not be built for {kver}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


def suite(field: str) -> str:
    """The row of scripts/suite for this machine's Debian."""
    done = subprocess.run([str(TOP / "scripts" / "suite"), field], capture_output=True, text=True)
    if done.returncode:
        raise VmError(done.stderr.strip())
    return done.stdout.strip()


def headers_dir(kver: str) -> Path:
    """The headers that modules for that kernel are built against; need not be there."""
    argv = [str(TOP / "scripts" / "fetch-kernel"), "--headers", kver]
    return Path(subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


def qemu_dir() -> Path:
    """The directory of qemu-system-x86_64 and virtiofsd; builds them when our sources changed."""
    given = os.environ.get("NEURON_QEMU_DIR")
    if given:
        return Path(given)
    if INSTALLED:
        installed = TOP.parents[1] / "lib" / "qemu-system-neuron"
        if not (installed / "qemu-system-x86_64").exists():
            raise VmError(f"no QEMU in {installed}: package qemu-system-neuron, or NEURON_QEMU_DIR")
        return installed
    script = str(TOP / "scripts" / "build-qemu")
    done = subprocess.run([script, "--where"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        if sys.stderr.isatty():
            print("neuron-vm: building QEMU with the device (minutes the first time)", file=sys.stderr)
        done = subprocess.run([script], capture_output=True, text=True)
    if done.returncode:
        raise VmError(f"QEMU could not be built (scripts/build-qemu)\n{done.stderr[-3000:]}")
    return Path(done.stdout.strip())


class Kernel:
    """A Debian kernel: image and modules, installed or unpacked in the cache."""

    def __init__(self, version: str, root: Path):
        self.version = version
        self.root = root
        self.image = root / "boot" / f"vmlinuz-{version}"
        self.modules = root / "lib" / "modules" / version

    @property
    def compressed(self) -> bool:
        """Are the kernel's modules compressed? Debian 13 installs them so: the guests' first programs do not read them so."""
        index = self.modules / "modules.dep"
        return index.exists() and ".ko.xz:" in index.read_text()

    @property
    def debug(self) -> bool:
        """One of scripts/build-debug-kernel: its checkers cost time and memory."""
        return "-neuron-" in self.version


def _kernels() -> list[Kernel]:
    found = []
    for root in [Path("/"), *sorted((cache() / "kernel").glob("*"))]:
        for image in sorted((root / "boot").glob("vmlinuz-*")):
            kernel = Kernel(image.name.removeprefix("vmlinuz-"), root)
            if (kernel.modules / "kernel").is_dir() and not kernel.compressed:
                found.append(kernel)
    return found


def _version_key(kernel: Kernel) -> list[int]:
    return [int(part) for part in re.findall(r"[0-9]+", kernel.version)]


def kernel(version: str | None) -> Kernel:
    """The named kernel, that of $NEURON_KERNEL, or the newest cloud kernel of this machine's Debian."""
    version = version or os.environ.get("NEURON_KERNEL")
    line = re.escape(version) if version else suite("versions") + "-cloud-amd64"
    kernels = _kernels()
    if INSTALLED and not version and not any(re.fullmatch(line, k.version) for k in kernels):
        # unpacked into the cache; the machine's own boot menu stays as it is
        subprocess.run([str(TOP / "scripts" / "fetch-kernel")], stdout=subprocess.DEVNULL, check=False)
        kernels = _kernels()
    kernels = [k for k in kernels if re.fullmatch(line, k.version)]
    if not kernels:
        wanted = f"linux-image-{version}" if version else "linux-image-cloud-amd64"
        raise VmError(f"no kernel for the guest: package {wanted} (scripts/fetch-kernel)")
    return max(kernels, key=_version_key)
