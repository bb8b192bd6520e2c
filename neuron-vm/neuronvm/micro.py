# SPDX-License-Identifier: MIT
"""The micro guest: an initramfs with busybox, udev, kernel modules, our programs and one command."""

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import VmError, cpio, elf, paths

# what the guest's kernel needs besides our module; their dependencies come by themselves
MODULES = ["virtio_pci", "virtio_console", "virtio_net", "virtio_blk", "virtiofs", "virtio-rng"]
PROGRAMS = ["/bin/busybox", "/bin/udevadm", "/usr/bin/lspci", "/bin/bash"]
DATA = ["/usr/lib/udev/rules.d/80-drivers.rules", "/usr/share/misc/pci.ids"]
PASSWD = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"
GROUP = "root:x:0:\nneuron:x:990:\nuser:x:1000:\nnogroup:x:65534:\n"
UDEV_MODULE_DIR = "updates"


def _busybox_links(archive: cpio.Archive) -> None:
    applets = subprocess.run(["busybox", "--list"], stdout=subprocess.PIPE, text=True, check=True)
    for applet in applets.stdout.split():
        if f"bin/{applet}" not in archive and applet not in ("busybox", "bash"):
            archive.link(f"bin/{applet}", "busybox")


def base_archive() -> cpio.Archive:
    """The part of the archive that depends on the host's packages alone."""
    archive = cpio.Archive()
    for name in ["dev", "proc", "sys", "run", "tmp", "root", "var", "etc/udev"]:
        archive.directory(name, 0o1777 if name == "tmp" else 0o755)
    for merged in ["sbin", "usr/bin", "usr/sbin"]:
        archive.link(merged, "/bin")
    archive.link("lib64", "/lib")
    archive.link("usr/lib", "/lib")
    for program in PROGRAMS:
        archive.file("bin/" + Path(program).name, Path(program))
    elf.add_libraries(archive, [Path(p) for p in PROGRAMS])
    _busybox_links(archive)
    archive.link("lib/systemd/systemd-udevd", "/bin/udevadm")
    for name in DATA:
        archive.file(name.replace("/usr/lib/", "/lib/").replace("/usr/share", "/share"), Path(name))
    archive.link("usr/share", "/share")
    archive.data("etc/passwd", PASSWD)
    archive.data("etc/group", GROUP)
    archive.data("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    archive.data("etc/hosts", "127.0.0.1 localhost neuron\n")
    archive.file("init", paths.GUEST / "micro-init")
    return archive


def _module_files(kernel: paths.Kernel, root: Path) -> list[Path]:
    found: dict[Path, None] = {}
    for name in MODULES:
        argv = ["modprobe", "-d", str(root), "-S", kernel.version, "--show-depends", "-a", name]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise VmError(f"kernel {kernel.version} has no module {name}")
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "insmod":
                found[Path(rest.split()[0])] = None
    return list(found)


def modules_archive(kernel: paths.Kernel, module: Path | None) -> cpio.Archive:
    """The guest's /lib/modules, indexed, with the project's in updates/ so that udev finds it by alias."""
    archive = cpio.Archive()
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "lib" / "modules" / kernel.version
        tree.mkdir(parents=True)
        for source in _module_files(kernel, kernel.root):
            target = tree / source.resolve().relative_to(kernel.modules.resolve())
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        if module:
            (tree / UDEV_MODULE_DIR).mkdir()
            copy = shutil.copy(module, tree / UDEV_MODULE_DIR / module.name)
            # debug information is nine tenths of a module, and nothing in the guest reads it
            subprocess.run(["strip", "--strip-debug", copy], stderr=subprocess.DEVNULL, check=False)
        for index in ["modules.order", "modules.builtin", "modules.builtin.modinfo"]:
            shutil.copy(kernel.modules / index, tree)
        subprocess.run(["depmod", "-b", name, kernel.version], check=True)
        archive.tree(f"lib/modules/{kernel.version}", tree)
        return _resolved(archive)


def _resolved(archive: cpio.Archive) -> cpio.Archive:
    archive.freeze()
    return archive


def stage_archive(stage: Path) -> cpio.Archive:
    """Our programs with the libraries they need, udev rules included; modules come separately."""
    archive = cpio.Archive()
    elfs = []
    for path in sorted(stage.rglob("*")):
        name = path.relative_to(stage).as_posix().removeprefix("usr/")
        if name.startswith("lib/modules") or name.endswith((".a", ".h")):
            continue
        if path.is_symlink():
            archive.link(name, str(path.readlink()))
        elif path.is_file():
            archive.file(name, path)
            if elf.is_elf(path):
                elfs.append(path)
    elf.add_libraries(archive, elfs, [stage / paths.PREFIX / "lib"])
    return archive


def staged_module(stage: Path, kernel: paths.Kernel) -> Path | None:
    """The module that `make modules` built for the kernel, or scripts/build-module beside the programs."""
    module = stage / "usr" / "lib" / "modules" / kernel.version / "updates" / "neuron.ko"
    if not module.exists():
        module = stage.parents[1] / "modules" / kernel.version / "neuron.ko"
    return module if module.exists() else None


def command_archive(command: list[str], copies: list[Path]) -> cpio.Archive:
    archive = cpio.Archive()
    archive.data("neuron-vm/command", "exec " + shlex.join(command) + "\n")
    cpio.copy_all(archive, "root", copies)
    return archive


def _key(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


def _stamp(paths_: list[Path]) -> list[str]:
    stamps = []
    for path in paths_:
        info = path.stat()
        stamps.append(f"{path} {info.st_size} {info.st_mtime_ns}")
    return stamps


def _cached(kind: str, key: str, build) -> Path:
    path = paths.cache() / "initramfs" / f"{kind}-{key}.cpio"
    if path.exists():
        path.touch()
        return path
    path.parent.mkdir(exist_ok=True)
    build().save(path)
    for old in sorted(path.parent.glob(f"{kind}-*.cpio"), key=lambda p: -p.stat().st_mtime)[8:]:
        old.unlink(missing_ok=True)
    return path


def build(out: Path, kernel: paths.Kernel, module: Path | None, stage: Path,
          command: cpio.Archive) -> None:
    """Writes the whole initramfs: cached parts one after the other, then the command."""
    if not (stage / paths.PREFIX / "libexec" / "neuron-vm-relay").exists():
        raise VmError(f"nothing is built in {stage.parent} (make programs)")
    code = sorted(Path(__file__).parent.glob("*.py")) + [paths.GUEST / "micro-init"]
    programs = [Path(p) for p in PROGRAMS + DATA]
    own = sorted(p for p in stage.rglob("*") if p.is_file()) if stage.is_dir() else []
    parts = [
        _cached("base", _key(*_stamp(code + programs)), base_archive),
        _cached(
            "modules",
            _key(*_stamp(code + ([module] if module else [])), kernel.root, kernel.version),
            lambda: modules_archive(kernel, module),
        ),
    ]
    if own:
        key = _key(*_stamp(code + own))
        parts.append(_cached("stage", key, lambda: stage_archive(stage)))
    with cpio.writing(out) as target:
        for part in parts:
            with open(part, "rb") as source:
                shutil.copyfileobj(source, target)
        command.write(target)
