# SPDX-License-Identifier: MIT
"""A disk whose file finds no room on the host. QEMU stops the guest at the write that failed, and tries it again when the
guest goes on; here that is said, and the guest goes on when there is room. Who asks for VMs sees it by `waits`.
"""

import os
import sys
import threading
import time
from pathlib import Path

from . import VmError, qmp

SPACE = 16 << 20
POLL = 1.0
STATUS = "io-error"  # QEMU's word for a guest that it stopped so


class Watch:
    """Has a monitor of its own: that of the VM's name answers one at a time."""

    def __init__(self, work: Path, disk: Path):
        self._socket = work / "events.qmp"
        self._disk = disk
        self._thread = threading.Thread(target=self._run, daemon=True)

    def args(self) -> list[str]:
        return ["-qmp", f"unix:{self._socket},server=on,wait=off"]

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            with qmp.Qmp(self._socket) as monitor:
                monitor.patient()
                while True:
                    monitor.wait_event("BLOCK_IO_ERROR", lambda data: data["action"] == "stop")
                    self._wait()
                    monitor("cont")
        except (VmError, OSError):
            pass  # QEMU has ended

    def _space(self) -> bool:
        there = os.statvfs(self._disk)
        return there.f_bavail * there.f_frsize >= SPACE

    def _wait(self) -> None:
        if self._space():
            time.sleep(POLL)  # another write of the same moment, or of QEMU's temporary file
            return
        print(f"neuron-vm: {self._disk} finds no room in {self._disk.parent}: the guest waits until {SPACE >> 20} MiB are free",
              file=sys.stderr, flush=True)
        while not self._space():
            time.sleep(POLL)
        print("neuron-vm: there is room again: the guest goes on", file=sys.stderr, flush=True)


def waits(monitor: qmp.Qmp) -> bool:
    return monitor("query-status")["status"] == STATUS
