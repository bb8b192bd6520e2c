# SPDX-License-Identifier: MIT
"""The Debian guest: a distribution image, a layer with the project's files, an initramfs over both."""

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from . import VmError, cpio, paths, process, ssh

SCRIPT = paths.TOP / "scripts" / "build-debian-guest"
LOGIN_CMDLINE = "console=ttyS0 quiet loglevel=4 mitigations=off random.trust_cpu=on no_timer_check tsc=reliable"


class Guest:
    """Files that QEMU boots."""

    def __init__(self, kernel: paths.Kernel, stage: Path, bare: bool = False):
        self.kernel = kernel
        self.stage = stage
        self.bare = bare  # the kernel's own modules, and nothing of the project's
        self.base = Path()
        self.layer = Path()
        self.initrd = Path()

    def prepare(self) -> None:
        """Makes what is missing or out of date; the distribution takes about a minute, once."""
        directory = paths.cache() / "guest"
        directory.mkdir(exist_ok=True)
        root, version = str(self.kernel.root), self.kernel.version
        with process.progress("making the distribution's image, once"):
            self.base = Path(_script("base"))
        initrd_key = _key([SCRIPT, paths.TOP / "scripts" / "debian" / "init", self.kernel.image])
        self.initrd = directory / f"initrd-{initrd_key}"
        if not self.initrd.exists():
            _script("initrd", root, version, str(self.initrd))
            _prune(directory, "initrd-*", 4)
        own = [] if self.bare else sorted(p for p in self.stage.rglob("*") if p.is_file())
        self.layer = directory / f"layer-{_key([SCRIPT, self.kernel.image, *own])}"
        if not self.layer.exists():
            with tempfile.TemporaryDirectory() as empty, process.progress("making the image of the programs"):
                self.stage.mkdir(parents=True, exist_ok=True)
                _script("layer", empty if self.bare else str(self.stage), root, version, str(self.layer))
            _prune(directory, "layer-*", 4)

    def bring(self, initrd: Path, copies: list[Path], command: list[str]) -> None:
        """Adds the keys of ssh, files for the user's home directory, and what the login shell runs first."""
        archive = cpio.Archive()
        ssh.add(archive)
        cpio.copy_all(archive, "copy", copies)
        if command:
            archive.data("copy/.neuron-command", shlex.join(command) + "\n")
        with open(initrd, "wb") as out:
            out.write(self.initrd.read_bytes())
            out.write(bytes(-out.tell() % 4))
            archive.write(out)
        self.initrd = initrd

    def keep_base(self, name: str) -> None:
        """The distribution's image that a disk was made over, in place of today's."""
        self.base = self.base.with_name(name)
        if not self.base.exists():
            raise VmError(f"the disk was made over {name}, which is no longer in {self.base.parent}")

    def args(self, cmdline: str) -> list[str]:
        argv = ["-kernel", str(self.kernel.image), "-initrd", str(self.initrd), "-append", cmdline]
        for name, image in [("base", self.base), ("layer", self.layer)]:
            argv += ["-drive", f"if=none,id={name},file={image},format=raw,read-only=on"]
            argv += ["-device", f"virtio-blk-pci,drive={name},addr={'6' if name == 'base' else '7'}.0,serial=neuron-{name}"]
        return argv + ["-device", "virtio-rng-pci,addr=3.0"]


def hostname(name: str) -> str:
    """The host name of a VM of that name: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def terminal() -> str:
    """Kernel options for a guest whose console is this terminal, or a file: the terminal's kind and its size."""
    if not os.isatty(1):
        return " TERM=dumb"
    size = os.get_terminal_size(1)
    kind = os.environ.get("TERM", "linux")
    kind = kind if re.fullmatch(r"[a-z0-9-]+", kind) else "linux"
    return f" TERM={kind}" + (f" neuron-vm.size={size.lines}x{size.columns}" if size.lines and size.columns else "")


def _script(*arguments: str) -> str:
    done = subprocess.run([str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise VmError(f"scripts/build-debian-guest {arguments[0]} failed")
    return done.stdout.strip()


def _key(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        info = path.stat()
        # whole seconds: a container image keeps no more, and has a guest's image beside the files
        digest.update(f"{path} {info.st_size} {int(info.st_mtime)}\n".encode())
    return digest.hexdigest()[:16]


def _prune(directory: Path, pattern: str, keep: int) -> None:
    images = sorted(directory.glob(pattern), key=lambda path: path.stat().st_mtime)
    for image in images[:-keep]:
        image.unlink(missing_ok=True)
