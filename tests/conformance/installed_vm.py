#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What a guest gets from an installed neuron-vm where the module is not installed, as TAP: all that was installed, the
rules of the device nodes too.

usage: installed_vm.py SOURCE_ROOT
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap

OF_THE_MODULE = ["usr/lib/sysusers.d/neuron.conf", "usr/lib/udev/rules.d/60-neuron.rules"]
OTHERS = ["etc/ld.so.conf.d/neuron.conf", "opt/aws/neuron/bin/neuron-ls", "opt/aws/neuron/lib/libnrt.so.1",
          "usr/lib/systemd/system/neuron-rtd.service", "usr/share/man/man1/neuron-ls.1"]
NOT_A_GUESTS = ["opt/aws/neuron/include/nrt/nrt.h", "usr/lib/modules/6.1/updates/neuron.ko"]
tap = Tap()


def names(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_symlink() or p.is_file())


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        for name in OF_THE_MODULE + OTHERS + NOT_A_GUESTS:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
        subprocess.run([Path(sys.argv[1]) / "scripts" / "stage-vm", root, root], check=True)
        for name in OF_THE_MODULE:
            (root / name).unlink()

        os.environ["NEURON_CACHE"] = str(Path(work) / "cache")
        sys.path.insert(0, str(root / "opt/aws/neuron/share/neuron-vm/neuron-vm"))
        from neuronvm import paths
        tap.same(paths.INSTALLED, True, "an installed neuron-vm")
        stage = paths.make_stage(paths.build_dir(None), "of-no-kernel")
        tap.same({name: (stage / name).read_text() for name in names(stage)},
                 {name: name for name in sorted(OF_THE_MODULE + OTHERS)}, "a guest's files, without the module's package here")
    tap.done()


if __name__ == "__main__":
    main()
