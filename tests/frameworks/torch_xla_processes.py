#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""torch_xla in two processes on one instance of neuron-emud, by xmp.spawn and by torchrun, against PyTorch's CPU. As TAP.

usage: torch_xla_processes.py --build DIRECTORY    the build beside the plug-in, of which neuron-emud is taken
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr
from torch import Tensor, nn

PROCESSES, STEPS, ROWS = 2, 4, 16
warnings.simplefilter("ignore", DeprecationWarning)


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 5))


def batch() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(7)
    return torch.randn(ROWS, 12, generator=draw), torch.randint(0, 5, (ROWS,), generator=draw)


def share(values: Tensor, rank: int) -> Tensor:
    return values[rank * ROWS // PROCESSES:(rank + 1) * ROWS // PROCESSES]


def on_cpu() -> list[float]:
    """The losses of a training with the whole batch"""
    net, (x, y) = model(), batch()
    optimizer, losses = torch.optim.AdamW(net.parameters(), 0.01), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def collectives(rank: int, device: torch.device) -> dict:
    own = torch.arange(4.0, device=device) + 10 * rank
    listed = [own.clone(), torch.full((2, 3), rank + 1.0, device=device)]
    xm.all_reduce("sum", listed)
    said = {"sum": xm.all_reduce("sum", own), "most": xm.all_reduce("max", own), "scaled": xm.all_reduce("sum", own, scale=0.5), "first": listed[0],
            "second": listed[1], "gathered": xm.all_gather(own), "unpinned": xm.all_gather(own, pin_layout=False),
            "scattered": xm.reduce_scatter("sum", own, 1.0, 0, PROCESSES), "changed": xm.all_to_all(own, 0, 0, PROCESSES),
            "moved": xm.collective_permute(own, [[0, 1], [1, 0]])}
    return {name: value.cpu().flatten().tolist() for name, value in said.items()}


def right_collectives(rank: int) -> dict:
    own = [[10.0 * r + k for k in range(4)] for r in range(PROCESSES)]
    total = [sum(values) for values in zip(*own)]
    return {"sum": total, "most": own[1], "scaled": [0.5 * v for v in total], "first": total, "second": [3.0] * 6, "gathered": own[0] + own[1],
            "unpinned": own[0] + own[1], "scattered": total[2 * rank:2 * rank + 2], "changed": [v for values in own for v in values[2 * rank:2 * rank + 2]],
            "moved": own[1 - rank]}


def trained(rank: int, net: nn.Module, device: torch.device, step) -> list[float]:
    x, y = (share(values, rank).to(device) for values in batch())
    optimizer, losses = torch.optim.AdamW(net.parameters(), 0.01), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        step(optimizer)
        xm.mark_step()
        losses.append(xm.mesh_reduce("loss", loss.item(), lambda values: sum(values) / len(values)))
    return losses


def spawned(rank: int, folder: str) -> None:
    device = xm.xla_device()
    said = {"rank": xr.global_ordinal(), "local": xr.local_ordinal(), "world": xr.world_size(), "devices": len(xm.get_xla_supported_devices()),
            "collectives": collectives(rank, device), "losses": trained(rank, model().to(device), device, xm.optimizer_step)}
    xm.rendezvous("the end")
    Path(folder, str(rank)).write_text(json.dumps(said), encoding="utf-8")


def launched(folder: str) -> None:
    """By torchrun: DDP, whose gradients are no views of the buckets, since torch_xla 2.9.0 hands on those of before the sum"""
    import torch.distributed as dist  # noqa: PLC0415
    import torch_xla.distributed.xla_backend  # noqa: F401, PLC0415

    dist.init_process_group("xla", init_method="xla://")
    rank, device = dist.get_rank(), xm.xla_device()
    net = nn.parallel.DistributedDataParallel(model().to(device))
    said = {"rank": rank, "world": dist.get_world_size(), "losses": trained(rank, net, device, lambda optimizer: optimizer.step())}
    Path(folder, str(rank)).write_text(json.dumps(said), encoding="utf-8")


def run(build: Path, way: str) -> list[dict]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(PROCESSES)] if way == "launched" else [sys.executable]
    environ = {**os.environ, "NEURONCORE_NUM_DEVICES": str(PROCESSES), "PJRT_DEVICE": "NEURON"}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "runtime/emud/neuron-emud", "--instance", "trn1.2xlarge", "--", *launcher, __file__, "--way", way, "--folder", folder],
                       env=environ, stdout=sys.stderr, check=False)
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).iterdir())]


def close(losses: list[float], right: list[float]) -> bool:
    return len(losses) == len(right) and all(abs(a - b) <= 1e-5 * abs(b) for a, b in zip(losses, right))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--way")
    parser.add_argument("--folder")
    options = parser.parse_args()
    if options.way == "spawned":
        xmp.spawn(spawned, args=(options.folder,))
        return 0
    if options.way == "launched":
        launched(options.folder)
        return 0
    spawn, torchrun, right = run(options.build, "spawned"), run(options.build, "launched"), on_cpu()
    cases = {
        "spawn: two processes with a device each": [(s["rank"], s["local"], s["world"], s["devices"]) for s in spawn] == [(0, 0, 2, 1), (1, 1, 2, 1)],
        "spawn: collectives": [s["collectives"] for s in spawn] == [right_collectives(rank) for rank in range(PROCESSES)],
        "spawn: the losses of a training are the CPU's": len(spawn) == PROCESSES and all(close(s["losses"], right) for s in spawn),
        "torchrun: two processes": [(s["rank"], s["world"]) for s in torchrun] == [(0, 2), (1, 2)],
        "torchrun: DDP's losses are the CPU's": len(torchrun) == PROCESSES and all(close(s["losses"], right) for s in torchrun),
    }
    print(f"1..{len(cases)}")
    for number, (name, passed) in enumerate(cases.items(), 1):
        print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    if not all(cases.values()):
        print("\n".join(f"# {s}" for s in (*spawn, *torchrun, right)))
    return not all(cases.values())


if __name__ == "__main__":
    sys.exit(main())
