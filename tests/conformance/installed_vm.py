#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What a guest gets from an installed neuron-vm where the module is not installed, as TAP: all that the tree's own
guest has, the rules of the device nodes too.

usage: installed_vm.py SOURCE_ROOT BUILD
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OF_THE_MODULE = ["usr/lib/sysusers.d", "usr/lib/udev"]  # debian/neuron-dkms.install
NOT_A_GUESTS = ("opt/aws/neuron/include/", "opt/aws/neuron/bin/neuron-vm", "usr/lib/modules/")
count = failed = 0


def equal(got: object, wanted: object, what: str) -> None:
    global count, failed
    count += 1
    failed += got != wanted
    print(f"{'ok' if got == wanted else 'not ok'} {count} - {what}", flush=True)
    if got != wanted:
        print(f"# {got}\n# {wanted}")


def names(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_symlink() or p.is_file()}


def main() -> int:
    top, build = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        subprocess.run([top / "scripts" / "stage", build, root], check=True, stdout=subprocess.DEVNULL)
        wanted = {name for name in names(root) if not name.startswith(NOT_A_GUESTS)}
        subprocess.run([top / "scripts" / "stage-vm", root, root], check=True)
        equal(all((root / d).is_dir() for d in OF_THE_MODULE), True, "what comes with the module")
        for directory in OF_THE_MODULE:
            shutil.rmtree(root / directory)

        os.environ["NEURON_CACHE"] = str(Path(work) / "cache")
        sys.path.insert(0, str(root / "opt/aws/neuron/share/neuron-vm/scripts"))
        from neuronvm import paths
        equal(paths.INSTALLED, True, "an installed neuron-vm")
        got = names(paths.make_stage(paths.build_dir(None), "of-no-kernel"))
        equal(sorted(wanted ^ got), [], f"{len(wanted)} files for a guest, without the module's package here")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
