# SPDX-License-Identifier: MIT
"""Instance types as data, and the QEMU command line of one."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from . import VmError, metadata
from .paths import TOP

TABLE = TOP / "machines" / "instances.json"
GIB = 1 << 30
GRAIN = 1 << 20  # of a node's memory
MEMORY_MIN = 256 << 20  # below that no kernel unpacks its initramfs
CPUS_MAX = 255  # of QEMU's pc
CHIP_SPAN = 2  # of the 64-bit PCI hole for each chip, times its BAR4, which is naturally aligned: and room
HOLE_MIN = 32  # GiB; what QEMU takes by itself, 2 GiB on pc, has no place for a chip plugged later
EXPANDER_FIRST = 0x10  # slot on bus 0 of the first expander bridge
BRIDGE_SLOT = "1f.0"  # on a bus, where the bridge to the bus after it sits
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
    cpus: dict[str, str] = field(default_factory=dict)  # of a node, of the real instance
    dram_gib: int = 8  # that a chip shows in BAR4
    product: str = ""  # DMI name, where it is another
    ultraserver: int = 0  # nodes of the one that it is a node of

    @property
    def device(self) -> str:
        return f"neuron-{self.generation}"

    @property
    def hole_gib(self) -> int:
        """The size of the hole for 64-bit PCI space."""
        return max(HOLE_MIN, CHIP_SPAN * self.dram_gib * len(self.chips))

    @property
    def address_bits(self) -> int:
        """That a processor needs to reach it, and memory below."""
        return (self.hole_gib * GIB).bit_length()

    @property
    def nodes(self) -> int:
        return max(self.numa_nodes.values(), default=-1) + 1

    def scaled(self, cpus: int, memory: str) -> str:
        """Resources of the real instance that the guest does not have; empty: it has all."""
        have = size_bytes(memory) / GIB
        parts = [f"{cpus} of {self.vcpus} processors"] if cpus < self.vcpus else []
        parts += [f"{have:.4g} of {self.memory_gib} GiB of memory"] if have < self.memory_gib else []
        return " and ".join(parts)


def size_bytes(text: str) -> int:
    """The bytes of a size as QEMU reads it: a number of MiB, or with a unit."""
    found = re.fullmatch(r"(\d+)([KMGT]?)", text, re.IGNORECASE)
    if not found or not int(found[1]):
        raise VmError(f"{text!r} is no size of memory, such as 2G")
    return int(found[1]) << {"K": 10, "M": 20, "G": 30, "T": 40}[found[2].upper() or "M"]


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
    """A VM's parts, apart from its disks and consoles."""

    instance: Instance
    accel: list[str]
    cpus: int
    memory: str
    share: Path | None = None
    extra: list[str] = field(default_factory=list)
    kind: str = "pc"
    qmp: Path | None = None
    faults: dict[int, str] = field(default_factory=dict)  # of a slot, as device options
    name: str | None = None  # that its user gave it
    ultraserver: tuple[Path, int] | None = None  # the directory in which its nodes meet, and which one this is

    def args(self) -> list[str]:
        argv = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        # processors of one socket share a cache, which those of two nodes cannot
        sockets = f",sockets={self.cpus},cores=1,threads=1" if self.instance.nodes > 1 else ""
        argv += [*self.accel, "-machine", self._machine(), "-smp", f"{self.cpus}{sockets}"]
        argv += ["-m", self.memory, "-rtc", "base=utc"]
        argv += self._hole() + self._smbios() + self._nodes() + self._share()
        argv += self._ports() if self.kind == "q35" else self._chips()
        if self.qmp:
            argv += ["-qmp", f"unix:{self.qmp},server=on,wait=off"]
        return argv + self.extra

    def _machine(self) -> str:
        return self.kind + (",memory-backend=ram" if self.share and not self.instance.nodes else "")

    def _hole(self) -> list[str]:
        host = "i440FX-pcihost" if self.kind == "pc" else "q35-pcihost"
        return ["-global", f"{host}.pci-hole64-size={self.instance.hole_gib * GIB}"]

    def _smbios(self) -> list[str]:
        uuid = metadata.system_uuid(self.seed)
        tables = [
            "type=0,vendor=Amazon EC2,version=1.0",
            f"type=1,manufacturer=Amazon EC2,product={self.type},family=,uuid={uuid},serial={uuid}",
            f"type=2,manufacturer=Amazon EC2,asset={metadata.instance_id(self.seed)}",
            "type=3,manufacturer=Amazon EC2,asset=Amazon EC2",
        ]
        return [word for table in tables for word in ("-smbios", table)]

    @property
    def type(self) -> str:
        """The instance type, as the machine's firmware tells it: that of an UltraServer has drivers look for its other nodes."""
        return self.instance.name if self.ultraserver else self.instance.product or self.instance.name

    @property
    def seed(self) -> str:
        """The seed of the instance's id and the like: the same name, the same id."""
        return self.name or self.instance.name + (f" {self.ultraserver[1]}" if self.ultraserver else "")

    def metadata(self, work: Path) -> list[str]:
        return metadata.qemu_args(work, self.type, self.seed)

    def _backend(self, name: str, size: str) -> list[str]:
        """virtiofsd reads and writes the guest's memory, so it has to be shared."""
        kind = "memfd,share=on" if self.share else "ram"
        return ["-object", f"memory-backend-{kind},id={name},size={size}"]

    def _nodes(self) -> list[str]:
        """Nodes share memory and processors evenly; with few processors the last have none."""
        nodes, argv = self.instance.nodes, []
        memory = size_bytes(self.memory) // GRAIN
        if nodes > memory:
            raise VmError(f"--memory {self.memory} is too little for {nodes} nodes")
        for node in range(nodes):
            size = memory * (node + 1) // nodes - memory * node // nodes
            mine = [n for n in range(self.cpus) if n % nodes == node]
            argv += self._backend(f"ram{node}", str(size * GRAIN))
            argv += ["-numa", f"node,nodeid={node},memdev=ram{node}" + "".join(f",cpus={n}" for n in mine)]
        return argv

    def _share(self) -> list[str]:
        if not self.share:
            return []
        argv = [] if self.instance.nodes else self._backend("ram", self.memory)
        argv += ["-chardev", f"socket,id=share,path={self.share}"]
        return argv + ["-device", "vhost-user-fs-pci,chardev=share,tag=share,addr=5.0"]

    def _fabric(self) -> list[str]:
        row = self.instance
        if not self.ultraserver:
            return ["-object", f"neuron-fabric,id=f0,topology={row.topology},slots={len(row.chips)}"]
        where, node = str(self.ultraserver[0]).replace(",", ",,"), self.ultraserver[1]
        return ["-object", f"neuron-fabric,id=f0,topology=ultraserver,slots={len(row.chips)},ultraserver={where},node={node}"]

    def placed(self, argv: list[str]) -> list[str]:
        """A whole command line whose devices of bus 0 say so: QEMU would take the newest host bridge, an expander's."""
        if not self._buses():
            return argv
        placed = list(argv)
        for i, (before, value) in enumerate(zip(argv, argv[1:])):
            if before == "-device" and ",addr=" in value and ",bus=" not in value:
                placed[i + 1] = value + ",bus=pci.0"
        return placed

    def _buses(self) -> list[str]:
        """Buses other than 0: behind an expander bridge each, or behind a bridge on the bus before it.

        An expander bridge is a host bridge of its own with a number, and the bus of its devices is one higher.
        """
        row, argv = self.instance, []
        buses = sorted({int(chip[:2], 16) for chip in row.chips} - {0})
        for slot, bus in enumerate(bus for bus in buses if bus - 1 not in buses):
            number = row.numa_nodes.get(f"{bus:02x}")
            node = "" if number is None else f",numa_node={number}"
            argv += ["-device", f"pxb,id=bus{bus:02x},bus_nr={bus - 1},addr={EXPANDER_FIRST + slot:x}.0{node}"]
            while bus + 1 in buses:
                if f"{bus:02x}:{BRIDGE_SLOT}" in row.chips:
                    raise VmError(f"{row.name} has a chip where the bridge to bus {bus + 1:02x} belongs")
                where = f"bus=bus{bus:02x},addr={BRIDGE_SLOT},chassis_nr={bus + 1},shpc=off"
                argv += ["-device", f"pci-bridge,id=bus{bus + 1:02x},{where}"]
                bus += 1
        return argv

    def _chips(self) -> list[str]:
        row = self.instance
        argv = self._fabric() + self._buses()
        for slot, address in enumerate(row.chips):
            bus, addr = address.split(":")
            where = f"addr={addr}" if bus == "00" else f"bus=bus{bus},addr={addr}"
            argv += ["-device", f"{row.device},id=chip{slot},{where},fabric=f0,slot={slot}{self.faults.get(slot, '')}"]
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
