#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: QEMU plugs and unplugs while the guest works
# later: many
"""Chips that go while a daemon, a program that executes and one that copies use them, round after round: unbound,
unplugged, or with the module, which the kernel unloads only when its users are gone.

Whoever used what went is told, nobody else notices, and every chip that is back gives the right bytes.
On types without programs there are copies alone, and chips are unbound, not unplugged. NEURON_ROUNDS and NEURON_SEED set
how many, and which.
"""

import os
import sys

import guest
from guest import BUILD, LONG, MANY, PROGRAMS, TOP, Guest, is_, ok

ROUNDS = int(os.environ.get("NEURON_ROUNDS", "1000" if LONG else "10"))
PER_GUEST = 250
SEED = int(os.environ.get("NEURON_SEED", "1"))
ADDRESS = ("1c.0", "1d.0", "1e.0", "1f.0")
LOST = 8 << 10  # KiB that a guest may have less at the end: slabs, logs and page tables of its own


def unplug(vm: Guest, chip: int) -> None:
    vm.qmp("device_del", id=f"chip{chip}")
    vm.qmp.wait_event("DEVICE_DELETED", lambda data: data.get("device") == f"chip{chip}")


def plug(vm: Guest, chip: int) -> None:
    vm.qmp("device_add", driver="neuron-inferentia", id=f"chip{chip}", fabric="f0", slot=chip, bus="pci.0",
           addr=ADDRESS[chip])


def rounds(count: int, seed: int) -> None:
    copies = [BUILD / "tests/unit/neff/testmodel_write", BUILD / "tests/vm/stream", TOP / "tests/vm/npy.sh",
              TOP / "tests/vm/removal.sh"]
    vm = Guest(["bash", "./removal.sh", str(count), str(seed)], copies=copies,
               options=["--instance", MANY, *(["--memory", "1G"] if PROGRAMS else [])])
    wrong, done, free = [], [], []
    while (line := vm.line()) is not None:
        print(f"# {line}", flush=True)
        if line.startswith("unplug "):
            unplug(vm, int(line.split()[1]))
        elif line.startswith("plug "):
            plug(vm, int(line.split()[1]))
        elif line.startswith("round "):
            done.append(line.split(": ")[1].split()[0])
        elif line.startswith("free "):
            free = [int(word) for word in line.split()[1:]]
        else:
            wrong.append(line)
    is_(vm.status(), 0, "the guest's script ends well")
    is_(wrong, [], "users of what went are told, nobody else notices, what is back is right")
    kinds = ", ".join(f"{kind} {done.count(kind)}" for kind in sorted(set(done)))
    is_(len(done), count, f"as many rounds as were asked for: {kinds}")
    ok(free and free[1] > free[0] - LOST, f"the guest's memory is what it was: {free} KiB free")


def test_rounds() -> None:
    for begin in range(0, ROUNDS, PER_GUEST):
        rounds(min(PER_GUEST, ROUNDS - begin), SEED + begin)


sys.exit(guest.run_tests([test_rounds]))
