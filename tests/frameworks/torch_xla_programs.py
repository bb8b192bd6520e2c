#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""PyTorch's programs by torch_xla on the plug-in against PyTorch's CPU: trainings, operations on 64-bit numbers, what users meet. As TAP.

usage: torch_xla_programs.py [POINT...]    in an environment of environments.torch_xla(), with the wheel; POINT is a part of a name
"""

import copy
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch import Tensor, nn
from torch.nn import functional as F
from torch_xla.utils.checkpoint import checkpoint

from points import run_points

Loss = Callable[[nn.Module], Tensor]
STEPS = 5
warnings.simplefilter("ignore", DeprecationWarning)


class Encoder(nn.Module):
    """Masked words by a transformer of two layers; dropout off, whose draws are a device's own"""

    def __init__(self, words: int = 100, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 4, 128, dropout=0.0, batch_first=True) for _ in range(2))
        self.out = nn.Linear(width, words)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x)
        for layer in self.layers:
            x = checkpoint(layer, x) if self.saving and x.device.type == "xla" else layer(x)
        return self.out(x)

    saving = False


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(x)[0][:, -1])


def convolutional() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 1), nn.GELU(),
                         nn.Conv2d(32, 32, 3, stride=2, padding=1, groups=4), nn.GroupNorm(4, 32), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(32, 10))


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, 10))


def saving() -> nn.Module:
    model = Encoder()
    model.saving = True
    return model


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def numbers(most: int, *shape: int) -> Tensor:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(most))


def words(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def classes(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x), y)


def adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


IMAGES, ROWS, TEXT = ((drawn(8, 3, 16, 16), numbers(10, 8)), (drawn(32, 20), numbers(10, 32)), (numbers(100, 8, 16), numbers(100, 8, 16).flip(0)))
# name: model, loss, data, optimizer, what a loss may differ by
TRAININGS = {
    "perceptron, SGD": (perceptron, classes, ROWS, momentum, 1e-5),
    "convolutional, SGD": (convolutional, classes, IMAGES, momentum, 1e-4),
    "recurrent, AdamW": (Recurrent, classes, (drawn(6, 12, 8), numbers(4, 6)), adamw, 1e-5),
    "transformer, AdamW": (Encoder, words, TEXT, adamw, 1e-5),
    "transformer, recomputed": (saving, words, TEXT, adamw, 1e-5),
}


def train(model: nn.Module, loss_of: Callable[..., Tensor], data: tuple[Tensor, ...], optimizer: torch.optim.Optimizer, *, bf16: bool = False, parts: int = 1) -> list[float]:
    """The losses of some steps, each of so many parts of the data"""
    losses, device = [], data[0].device
    for _ in range(STEPS):
        optimizer.zero_grad()
        total = torch.zeros((), device=device)
        for part in zip(*(x.chunk(parts) for x in data), strict=True):
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                loss = loss_of(model, *part) / parts
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if device.type == "xla":
            xm.optimizer_step(optimizer)
            xm.mark_step()
        else:
            optimizer.step()
        losses.append(total)
    return [float(loss) for loss in losses]


def both(name: str, **how: object) -> tuple[list[float], list[float], float]:
    """A training's losses on the device and on the CPU, and what they may differ by"""
    make, loss_of, data, optimizer, most = TRAININGS[name]
    torch.manual_seed(0)
    model, losses = make(), []
    for device in (torch_xla.device(), torch.device("cpu")):
        own = copy.deepcopy(model).to(device)
        losses.append(train(own, loss_of, tuple(x.to(device) for x in data), optimizer(own), **how))
    return losses[0], losses[1], most


def near(ours: list[float], theirs: list[float], most: float) -> None:
    assert all(abs(a - b) <= most * abs(b) for a, b in zip(ours, theirs, strict=True)), f"{ours} for {theirs}"
    assert theirs[-1] < theirs[0], f"nothing was learnt: {theirs}"


def accumulation() -> None:
    near(*both("transformer, AdamW", parts=4))


def autocast() -> None:
    ours, theirs, _ = both("transformer, AdamW", bf16=True)
    near(ours, theirs, 5e-3)


def wide_types() -> None:
    """64-bit and small integers, and doubles, have their types again when they come back"""
    device = torch_xla.device()
    for x in (torch.tensor([2**31 - 1, -5]), torch.tensor([1.5, -2.0], dtype=torch.float64), torch.tensor([-7, 9], dtype=torch.int16),
              torch.tensor([True, False]), torch.tensor([3, 250], dtype=torch.uint8), torch.tensor([1.5, 3], dtype=torch.bfloat16)):
        back = (x.to(device) + 0 if x.dtype != torch.bool else x.to(device) & True).cpu()
        assert back.dtype == x.dtype, f"{back.dtype} for {x.dtype}"
        assert back.equal(x), f"{back} for {x}"
    picked = drawn(5, 3).to(device)[torch.tensor([4, 0, -1], device=device)].cpu()
    assert picked.equal(drawn(5, 3)[torch.tensor([4, 0, -1])])


def devices() -> None:
    assert xr.device_type() == "NEURON"
    assert len(xm.get_xla_supported_devices()) == 2
    second = torch.ones(3, device="xla:1") * 2
    assert str(second.device) == "xla:1"
    assert second.cpu().tolist() == [2, 2, 2]


def checkpoints() -> None:
    make, loss_of, data, optimizer, _ = TRAININGS["perceptron, SGD"]
    device = torch_xla.device()
    model = make().to(device)
    train(model, loss_of, tuple(x.to(device) for x in data), optimizer(model))
    with tempfile.TemporaryDirectory() as folder:
        xm.save(model.state_dict(), Path(folder) / "model.pt")
        loaded = make()
        loaded.load_state_dict(torch.load(Path(folder) / "model.pt"))
    assert all(a.cpu().equal(b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
    assert torch.allclose(model(data[0].to(device)).cpu(), loaded(data[0]), atol=1e-5)


def dropout() -> None:
    """Its draws are the device's: the share that is left, the same again from a seed, another the next time"""
    device, x = torch_xla.device(), torch.ones(200, 100)
    xm.set_rng_state(7, str(device))
    first, second = (F.dropout(x.to(device), 0.25).cpu() for _ in range(2))
    xm.set_rng_state(7, str(device))
    again = F.dropout(x.to(device), 0.25).cpu()
    assert abs((first > 0).float().mean() - 0.75) < 0.02
    assert first.equal(again)
    assert not first.equal(second)


def in_place() -> None:
    device, x = torch_xla.device(), drawn(4, 6)
    results = []
    for where in (device, torch.device("cpu")):
        y = x.to(where).clone()
        y[1:3, ::2] += 10
        view = y.t()
        view[0].mul_(2)
        y.masked_fill_(y < 0, 0.5)
        results.append(torch.cat([y, y.flip(0)[:, :6]]).cpu())
    assert results[0].equal(results[1])


def interpolated() -> None:
    """Images of another size, larger and smaller, and the gradient"""
    x = drawn(2, 3, 7, 5)
    ways = [{"mode": "nearest"}, {"mode": "bilinear"}, {"mode": "bilinear", "align_corners": True}, {"mode": "nearest-exact"}]
    for size, way in ((size, way) for size in ((14, 10), (3, 11), (1, 1), (20, 5), (7, 2)) for way in ways):
        results = []
        for device in (torch_xla.device(), torch.device("cpu")):
            own = x.to(device).detach().clone().requires_grad_()
            y = F.interpolate(own, size=size, **way)
            (y * y).sum().backward()
            results.append([y.detach().cpu(), own.grad.cpu()])
        for ours, theirs in zip(*results, strict=True):
            assert torch.allclose(ours, theirs, atol=2e-6, rtol=2e-6), f"{size}, {way}: {(ours - theirs).abs().max()}"


def refused() -> None:
    """What is too large says of how much, and the process goes on"""
    device = torch_xla.device()
    try:
        torch.empty(1 << 36, dtype=torch.float32, device=device).add_(1).cpu()
    except RuntimeError as error:
        assert "memory" in str(error).lower() or "large" in str(error).lower(), str(error)
    else:
        raise AssertionError("256 GiB on a chip of 32")
    assert (torch.ones(2, device=device) + 1).cpu().tolist() == [2, 2]


def trained(name: str) -> Callable[[], None]:
    return lambda: near(*both(name))


POINTS = {**{name: trained(name) for name in TRAININGS}, "gradients accumulated": accumulation, "autocast to bf16": autocast, "types": wide_types,
          "devices": devices, "checkpoints": checkpoints, "dropout": dropout, "in place and views": in_place, "interpolated": interpolated, "too large": refused}


if __name__ == "__main__":
    run_points(POINTS)
