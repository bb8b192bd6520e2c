# SPDX-License-Identifier: MIT
"""Instance types as data, and the QEMU command line of one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from . import VmError

TABLE = Path(__file__).with_name("instances.json")


@dataclass
class Instance:
    name: str
    device: str
    vcpus: int
    memory_gib: int
    topology: str
    chips: list[str]


def instances() -> dict[str, Instance]:
    table = json.loads(TABLE.read_text())
    return {n: Instance(name=n, **row) for n, row in table.items() if not n.startswith("_")}


def instance(name: str) -> Instance:
    table = instances()
    if name not in table:
        raise VmError(f"unknown instance type {name}: one of {', '.join(table)}")
    return table[name]


@dataclass
class Machine:
    """What a VM is made of, apart from its disks and consoles."""

    instance: Instance
    accel: list[str]
    cpus: int
    memory: str
    share: Path | None = None
    extra: list[str] = field(default_factory=list)

    def args(self) -> list[str]:
        argv = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        argv += [*self.accel, "-machine", self._machine(), "-smp", str(self.cpus)]
        argv += ["-m", self.memory, "-rtc", "base=utc"]
        argv += self._smbios() + self._share() + self._chips()
        return argv + self.extra

    def _machine(self) -> str:
        # on q35 the chipset itself sits at 00:1f.0, where the real instance has a chip
        return "pc,memory-backend=ram" if self.share else "pc"

    def _smbios(self) -> list[str]:
        name = self.instance.name
        system = f"type=1,manufacturer=Amazon EC2,product={name},family="
        return ["-smbios", "type=0,vendor=Amazon EC2,version=1.0", "-smbios", system]

    def _share(self) -> list[str]:
        if not self.share:
            return []
        argv = ["-object", f"memory-backend-memfd,id=ram,size={self.memory},share=on"]
        argv += ["-chardev", f"socket,id=share,path={self.share}"]
        return argv + ["-device", "vhost-user-fs-pci,chardev=share,tag=share,addr=5.0"]

    def _chips(self) -> list[str]:
        row = self.instance
        argv = ["-object", f"neuron-fabric,id=f0,topology={row.topology},slots={len(row.chips)}"]
        for slot, addr in enumerate(row.chips):
            argv += ["-device", f"{row.device},id=chip{slot},addr={addr},fabric=f0,slot={slot}"]
        return argv
