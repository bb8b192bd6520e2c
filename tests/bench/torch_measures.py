# SPDX-License-Identifier: MIT
"""What pytorch.py measures, in an environment with torch 2.15: prints lines "NAME SECONDS".

usage: torch_measures.py add | step neuron|inductor
"""

import os
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

warnings.simplefilter("ignore")
torch.set_num_threads(1)
SECONDS = 4


def least(call: Callable[[], object], seconds: float = SECONDS) -> float:
    call()
    found, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def add() -> None:
    for place in ("neuron", "cpu"):
        a, b = (torch.ones(1024, device=place) for _ in range(2))

        def many(a: Tensor = a, b: Tensor = b) -> None:
            for _ in range(100):
                a + b

        print(place, least(many) / 100)


class Transformer(nn.Module):
    """Four layers of 128, as the group frameworks has"""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(1000, 128), nn.Linear(128, 1000)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True) for _ in range(4))

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return nn.functional.cross_entropy(self.out(x).flatten(0, 1), words.flatten())


def step(backend: str) -> None:
    place = "neuron" if backend == "neuron" else "cpu"
    torch.manual_seed(0)
    model = Transformer().to(place)
    words = torch.randint(0, 1000, (8, 64)).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    warm = torch.compile(lambda x: x + 1, backend=backend)  # what is begun once a process
    warm(torch.ones(3, device=place))
    call = torch.compile(model, backend=backend)
    start = time.perf_counter()
    call(words).backward()
    print("compile", time.perf_counter() - start)

    def once() -> float:
        optimizer.zero_grad()
        loss = call(words)
        loss.backward()
        optimizer.step()
        return loss.item()

    print("step", least(once))
    if backend == "neuron":
        executed(once)


def executed(once: Callable) -> None:
    """The same programs on the same tensors by the runtime alone, one after the other"""
    from torch_neuronx import memory

    run, seen = memory.Program.run, []
    memory.Program.run = lambda self, tensors, sizes: seen.append((self, list(tensors), sizes)) or run(self, tensors, sizes)
    once()
    memory.Program.run = run
    calls = [(program.program, program.where(tensors, sizes)) for program, tensors, sizes in seen]
    execute = memory.library().nt_program_run
    print("executions", least(lambda: [execute(*call) for call in calls]))


if __name__ == "__main__":
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    {"add": add, "step": step}[sys.argv[1]](*sys.argv[2:])
