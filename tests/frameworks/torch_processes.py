#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""torch.distributed's backend "neuron": processes with a core each on one instance of neuron-emud, by torchrun, against PyTorch's CPU. As TAP.

usage: torch_processes.py --build DIRECTORY    the build beside the wheel, of which neuron-emud is taken; in an environment of environments.torch_native()
"""

import argparse
import copy
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch_neuronx import glue

PROCESSES, STEPS, ROWS = 4, 3, 16
TIME = datetime.timedelta(minutes=2)  # for what is to fail, or to be done
INSTANCE = "trn1.32xlarge"


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 8))


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
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def trained(rank: int, net: nn.Module) -> list[float]:
    x, y = (share(values, rank).to("neuron") for values in batch())
    optimizer, losses = torch.optim.AdamW(net.parameters(), 0.01), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(mean.item())
    return losses


def collectives(rank: int) -> dict:
    """What comes to a rank of the numbers 0 to 7, each with ten times the rank"""
    device = f"neuron:{rank}"  # a process has one core, which all numbers name

    def own(dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.arange(8, device=device, dtype=dtype) + 10 * rank

    def filled(count: int) -> Tensor:
        return torch.zeros(count, device=device)

    said: dict[str, Tensor | list] = {"sum": own(), "most": own(torch.int64), "first's": own(torch.bfloat16), "reduced": own()}
    dist.all_reduce(said["sum"])
    dist.all_reduce(said["most"], dist.ReduceOp.MAX)
    dist.broadcast(said["first's"], 2)
    dist.reduce(said["reduced"], 1)
    said["gathered"], said["scattered"], said["changed"] = filled(8 * PROCESSES), filled(2), filled(8)
    dist.all_gather_into_tensor(said["gathered"], own())
    dist.reduce_scatter_tensor(said["scattered"], own())
    dist.all_to_all_single(said["changed"], own())
    uneven = filled(sum(1 + sender for sender in range(PROCESSES)))  # a rank gives each other one its number of elements and one
    dist.all_to_all_single(uneven, filled((1 + rank) * PROCESSES) + rank, [1 + sender for sender in range(PROCESSES)], [1 + rank] * PROCESSES)
    said["uneven"] = uneven
    parts = [filled(8) for _ in range(PROCESSES)]
    dist.gather(own(), parts if rank == 3 else None, dst=3)
    said["to one"] = torch.cat(parts)
    said["from one"] = filled(2)
    dist.scatter(said["from one"], list(own().split(2)) if rank == 1 else None, src=1)
    pairs = [dist.new_group([0, 3]), dist.new_group([1, 2])]
    said["of a pair"] = own()
    dist.all_reduce(said["of a pair"], group=pairs[rank in (1, 2)])
    said["sent"] = filled(8)
    if rank < 2:
        dist.send(own(), rank + 2)
    else:
        dist.recv(said["sent"], rank - 2)
    objects: list = [None] * PROCESSES
    dist.all_gather_object(objects, {"rank": rank})
    said["objects"] = [value["rank"] for value in objects]
    dist.barrier()
    return {name: value.float().cpu().tolist() if isinstance(value, Tensor) else value for name, value in said.items()}


def right_collectives(rank: int) -> dict:
    every = [[10.0 * r + k for k in range(8)] for r in range(PROCESSES)]
    total = [sum(values) for values in zip(*every, strict=True)]
    return {"sum": total, "most": every[-1], "first's": every[2], "reduced": total if rank == 1 else every[rank], "gathered": sum(every, []),
            "scattered": total[2 * rank:2 * rank + 2], "changed": [v for values in every for v in values[2 * rank:2 * rank + 2]],
            "uneven": [float(sender) for sender in range(PROCESSES) for _ in range(1 + sender)], "to one": sum(every, []) if rank == 3 else [0.0] * 8 * PROCESSES,
            "from one": every[1][2 * rank:2 * rank + 2], "of a pair": [a + b for a, b in zip(every[rank], every[3 - rank], strict=True)],
            "sent": every[rank - 2] if rank > 1 else [0.0] * 8, "objects": list(range(PROCESSES))}


def messages(rank: int) -> dict:
    """From rank to rank in orders in which those that wait would wait for each other, in a ring, and what is refused"""
    device, after, before = f"neuron:{rank}", (rank + 1) % PROCESSES, (rank - 1) % PROCESSES

    def own(more: int = 0) -> Tensor:
        return torch.arange(4, device=device) + 10 * rank + more

    def places(count: int) -> list[Tensor]:
        return [torch.zeros(4, device=device, dtype=torch.int64) for _ in range(count)]

    said: dict[str, list | str] = {}
    first, total, given = places(1)[0], torch.ones(1, device=device), own()
    sent, came = dist.isend(given, after), dist.irecv(first, before)
    summed = dist.all_reduce(total, async_op=True)
    summed.wait(TIME)
    both = [work.wait() and work.is_completed() for work in (sent, came)]
    said["isend, irecv, a collective"] = [first.tolist(), int(total.item()), both]
    ring, many, tagged = places(1), places(40), places(2)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, given, after), dist.P2POp(dist.irecv, ring[0], before)]):
        work.wait()
    outstanding = [dist.isend(own(number), after) for number in range(len(many))] + [dist.irecv(place, before) for place in many]
    for work in outstanding:
        work.wait()
    outstanding = [dist.isend(own(tag), after, tag=tag) for tag in (1, 2)]
    dist.recv(tagged[1], before, tag=2)
    dist.recv(tagged[0], before, tag=1)
    for work in outstanding:
        work.wait()
    said |= {"a ring": ring[0].tolist(), "many": [place.tolist() for place in many], "tags": [place.tolist() for place in tagged]}
    flat, turned = torch.arange(6.0, device=device) + rank, torch.zeros(2, 3, device=device).t()
    work = dist.isend(flat, after)
    dist.recv(turned, before)
    work.wait()
    said["with gaps"] = turned.cpu().tolist()
    if rank == 0:
        place = places(1)[0]
        said["from any"] = sorted([dist.recv(place), place[0].item()] for _ in range(1, PROCESSES))
    else:
        dist.send(given, 0)
    if rank < 2:
        said["unequal"] = refused(dist.isend(given, 1) if rank == 0 else dist.irecv(torch.zeros(5, device=device), 0))
    dist.barrier()
    return said


def refused(work: dist.Work) -> str:
    try:
        work.wait(TIME)
    except RuntimeError as error:
        return str(error)
    return "nothing"


def right_messages(rank: int) -> dict:
    base = 10 * ((rank - 1) % PROCESSES)
    given = [[base + k + more for k in range(4)] for more in range(40)]
    said = {"isend, irecv, a collective": [given[0], PROCESSES, [True, True]], "a ring": given[0], "many": given, "tags": given[1:3],
            "with gaps": [[float(2 * row + k + base // 10) for k in range(2)] for row in range(3)]}
    if rank == 0:
        said["from any"] = [[sender, 10 * sender] for sender in range(1, PROCESSES)]
    if rank < 2:
        said["unequal"] = "rank 0 sends 4 elements of torch.int64 (shape [4]), rank 1 receives 5 elements of torch.float32 (shape [5]), tag 0"
    return said


def sharded() -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    net = model().to("neuron")
    for part in (net[0], net[2], net):
        fully_shard(part)
    return net


def divided() -> float:
    """The largest difference of a tensor-parallel network's results to the CPU's"""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    whole = model()
    mesh = dist.device_mesh.init_device_mesh("neuron", (PROCESSES,))
    net = parallelize_module(copy.deepcopy(whole).to("neuron"), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = batch()[0]
    return float((net(x.to("neuron")).cpu() - whole(x)).detach().abs().max())


def launched(folder: str) -> None:
    dist.init_process_group("neuron")
    rank = dist.get_rank()
    torch.neuron.set_device(int(os.environ["LOCAL_RANK"]))
    said = {"rank": rank, "world": dist.get_world_size(), "core": torch.neuron.current_device(), "glue": glue.loaded(), "collectives": collectives(rank), "messages": messages(rank),
            "ddp": trained(rank, nn.parallel.DistributedDataParallel(model().to(f"neuron:{rank}"), device_ids=[rank])), "fsdp": trained(rank, sharded()),
            "difference": divided(), "fallback": torch.neuron.get_fallback_ops()}
    Path(folder, str(rank)).write_text(json.dumps(said), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def left(folder: str) -> None:
    """One rank ends; the others wait for it in a collective, and for what it was to send and to receive."""
    dist.init_process_group("neuron")
    rank, x = dist.get_rank(), torch.ones(4, device="neuron")
    waiting = [dist.irecv(x.clone(), 1), dist.isend(x, 1)] if rank != 1 else []
    dist.all_reduce(x)
    if rank == 1:
        os._exit(0)
    start = time.monotonic()
    try:
        dist.all_reduce(x)
    except RuntimeError as error:
        said = [str(error), *map(refused, waiting), refused(dist.isend(x, 1))]
        Path(folder, str(rank)).write_text(json.dumps({"said": said, "seconds": time.monotonic() - start}), encoding="utf-8")
    os._exit(0)


def run(build: Path, way: str) -> list[dict]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(PROCESSES)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "runtime/emud/neuron-emud", "--instance", INSTANCE, "--", *launcher, __file__, "--way", way, "--folder", folder],
                       env={name: value for name, value in os.environ.items() if name != "NEURON_EMU"}, stdout=sys.stderr, check=False)
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).iterdir())]


def close(losses: list[float], right: list[float]) -> bool:
    return len(losses) == len(right) and all(abs(a - b) <= 1e-5 * abs(b) for a, b in zip(losses, right, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--way")
    parser.add_argument("--folder")
    options = parser.parse_args()
    if options.way:
        {"launched": launched, "left": left}[options.way](options.folder)
        return 0
    ranks, ended, right = run(options.build, "launched"), run(options.build, "left"), on_cpu()
    every = len(ranks) == PROCESSES
    cases = {
        "ranks with a core each": every and [(s["rank"], s["world"], s["core"]) for s in ranks] == [(rank, PROCESSES, rank * s["glue"]) for rank, s in enumerate(ranks)],
        "collectives": [s["collectives"] for s in ranks] == [right_collectives(rank) for rank in range(PROCESSES)],
        "from rank to rank": [s["messages"] for s in ranks] == [right_messages(rank) for rank in range(PROCESSES)],
        "DDP's losses are the CPU's": every and all(close(s["ddp"], right) for s in ranks),
        "FSDP2's losses are the CPU's": every and all(close(s["fsdp"], right) for s in ranks),
        "a network divided among the ranks has the CPU's results": every and all(s["difference"] < 1e-5 for s in ranks),
        "no operator runs on the CPU": every and not any(s["fallback"] for s in ranks),
        "a rank that ends is an error of the others, at once": len(ended) == PROCESSES - 1 and all(
            len(s["said"]) == 4 and all("rank 1" in text and "has ended" in text for text in s["said"]) and s["seconds"] < 20 for s in ended),
    }
    print(f"1..{len(cases)}")
    for number, (name, passed) in enumerate(cases.items(), 1):
        print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    if not all(cases.values()):
        print("\n".join(f"# {s}" for s in (*ranks, *ended, right)))
    return not all(cases.values())


if __name__ == "__main__":
    sys.exit(main())
