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

OF_THE_MODULE = ["usr/lib/sysusers.d/neuron.conf", "usr/lib/udev/rules.d/60-neuron.rules"]
OTHERS = ["etc/ld.so.conf.d/neuron.conf", "opt/aws/neuron/bin/neuron-ls", "opt/aws/neuron/lib/libnrt.so.1",
          "usr/lib/systemd/system/neuron-rtd.service", "usr/share/man/man1/neuron-ls.1"]
NOT_A_GUESTS = ["opt/aws/neuron/include/nrt/nrt.h", "usr/lib/modules/6.1/updates/neuron.ko"]
count = failed = 0


def equal(got: object, wanted: object, what: str) -> None:
    global count, failed
    count += 1
    failed += got != wanted
    print(f"{'ok' if got == wanted else 'not ok'} {count} - {what}", flush=True)
    if got != wanted:
        print(f"# {got}\n# {wanted}")


def names(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_symlink() or p.is_file())


def main() -> int:
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        for name in OF_THE_MODULE + OTHERS + NOT_A_GUESTS:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
        subprocess.run([Path(sys.argv[1]) / "scripts" / "stage-vm", root, root], check=True)
        for name in OF_THE_MODULE:
            (root / name).unlink()

        os.environ["NEURON_CACHE"] = str(Path(work) / "cache")
        sys.path.insert(0, str(root / "opt/aws/neuron/share/neuron-vm/scripts"))
        from neuronvm import paths
        equal(paths.INSTALLED, True, "an installed neuron-vm")
        stage = paths.make_stage(paths.build_dir(None), "of-no-kernel")
        equal({name: (stage / name).read_text() for name in names(stage)}, {name: name for name in sorted(OF_THE_MODULE + OTHERS)},
              "a guest's files, without the module's package here")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
