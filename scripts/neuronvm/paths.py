# SPDX-License-Identifier: MIT
"""Where things are: the source tree, the cache, QEMU, the guest's kernel and our programs."""

import os
import re
import subprocess
from pathlib import Path

from . import VmError

TOP = Path(__file__).resolve().parents[2]
GUEST = TOP / "scripts" / "guest"
DEFAULT_LINE = r"6\.1\..*-cloud-amd64"  # what Debian 12 runs
PREFIX = "opt/aws/neuron"


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(os.environ.get("NEURON_CACHE") or Path(home) / "neuron-emulator")
    path.mkdir(parents=True, exist_ok=True)
    return path


def stage() -> Path:
    """The tree that make fills: what `make install` would put into the root directory."""
    return Path(os.environ.get("NEURON_STAGE") or TOP / "build" / "stage")


def qemu_dir(build: bool = True) -> Path:
    given = os.environ.get("NEURON_QEMU_DIR")
    if given:
        return Path(given)
    argv = [str(TOP / "scripts" / "build-qemu")] + ([] if build else ["--where"])
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True)
    if done.returncode and build:
        raise VmError("QEMU could not be built (scripts/build-qemu)")
    return Path(done.stdout.strip())


class Kernel:
    """A Debian kernel: image and modules, installed or unpacked in the cache."""

    def __init__(self, version: str, root: Path):
        self.version = version
        self.root = root
        self.image = root / "boot" / f"vmlinuz-{version}"
        self.modules = root / "lib" / "modules" / version


def _kernels() -> list[Kernel]:
    found = []
    for root in [Path("/"), *sorted((cache() / "kernel").glob("*"))]:
        for image in sorted((root / "boot").glob("vmlinuz-*")):
            kernel = Kernel(image.name.removeprefix("vmlinuz-"), root)
            if (kernel.modules / "kernel").is_dir():
                found.append(kernel)
    return found


def _version_key(kernel: Kernel) -> list[int]:
    return [int(part) for part in kernel.version.replace("-", ".").split(".") if part.isdigit()]


def kernel(version: str | None) -> Kernel:
    """The named kernel, or the newest cloud kernel of the 6.1 line."""
    kernels = _kernels()
    if version:
        kernels = [k for k in kernels if k.version == version]
        wanted = f"linux-image-{version}"
    else:
        kernels = [k for k in kernels if re.fullmatch(DEFAULT_LINE, k.version)]
        wanted = "linux-image-cloud-amd64"
    if not kernels:
        raise VmError(f"no kernel for the guest: package {wanted} (scripts/install-deps)")
    return max(kernels, key=_version_key)
