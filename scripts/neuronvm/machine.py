# SPDX-License-Identifier: MIT
"""Instance types as data, and the QEMU command line of one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from . import VmError
from .paths import TOP

TABLE = TOP / "machines" / "instances.json"
GIB = 1 << 30
CHIP_SPAN = 2  # of the 64-bit PCI hole for each chip, times its BAR4, which is naturally aligned: and room
HOLE_MIN = 32  # GiB; what QEMU takes by itself, 2 GiB on pc, has no place for a chip plugged later
# q35: a chip's BAR0 and BAR2 cannot be prefetched, so a root port passes them on below 4 GiB only,
# where there is room for two of these windows
PORT_MAX = 2
PORT_WINDOWS = "mem-reserve=512M,pref64-reserve=8G"
PORT_DRAM = 8  # GiB: chips with more have a BAR0 of 1 GiB and more as well
PORT_FIRST = 0x10


@dataclass
class Instance:
    name: str
    generation: str
    vcpus: int
    memory_gib: int
    topology: str
    chips: list[str]  # PCI addresses
    numa_nodes: dict[str, int] = field(default_factory=dict)  # of a bus
    dram_gib: int = 8  # that a chip shows in BAR4
    driver: str = ""  # "public": this project's module does not serve the chips

    @property
    def device(self) -> str:
        return f"neuron-{self.generation}"


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
    kind: str = "pc"
    qmp: Path | None = None
    faults: dict[int, str] = field(default_factory=dict)  # of a slot, as device options

    def args(self) -> list[str]:
        argv = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        argv += [*self.accel, "-machine", self._machine(), "-smp", str(self.cpus)]
        argv += ["-m", self.memory, "-rtc", "base=utc"]
        argv += self._hole() + self._smbios() + self._share()
        argv += self._ports() if self.kind == "q35" else self._chips()
        if self.qmp:
            argv += ["-qmp", f"unix:{self.qmp},server=on,wait=off"]
        return argv + self.extra

    def _machine(self) -> str:
        return self.kind + (",memory-backend=ram" if self.share else "")

    def _hole(self) -> list[str]:
        host = "i440FX-pcihost" if self.kind == "pc" else "q35-pcihost"
        size = max(HOLE_MIN, CHIP_SPAN * self.instance.dram_gib * len(self.instance.chips))
        return ["-global", f"{host}.pci-hole64-size={size * GIB}"]

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

    def _fabric(self) -> list[str]:
        row = self.instance
        return ["-object", f"neuron-fabric,id=f0,topology={row.topology},slots={len(row.chips)}"]

    def _chips(self) -> list[str]:
        row = self.instance
        argv = self._fabric()
        for slot, address in enumerate(row.chips):
            bus, addr = address.split(":")
            if bus != "00":
                raise VmError(f"{row.name} has a chip on bus {bus}: there is bus 00 only")
            argv += ["-device", f"{row.device},id=chip{slot},addr={addr},fabric=f0,slot={slot}{self.faults.get(slot, '')}"]
        return argv

    def _ports(self) -> list[str]:
        """q35: each chip behind a root port. The chipset sits at 00:1f.0, where an instance has a chip."""
        row = self.instance
        if row.dram_gib > PORT_DRAM:
            raise VmError(f"--machine q35 has no room for the registers of {row.name}'s chips behind root ports")
        if len(row.chips) > PORT_MAX:
            raise VmError(f"--machine q35 has room for {PORT_MAX} chips behind root ports, "
                          f"{row.name} has {len(row.chips)}")
        argv = self._fabric()
        for slot in range(len(row.chips)):
            where = f"addr={PORT_FIRST + slot:x}.0,chassis={slot + 1},slot={slot + 1}"
            argv += ["-device", f"pcie-root-port,id=port{slot},{where},{PORT_WINDOWS}"]
            argv += ["-device", f"{row.device},id=chip{slot},bus=port{slot},fabric=f0,slot={slot}{self.faults.get(slot, '')}"]
        return argv
