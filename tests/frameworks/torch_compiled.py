#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""torch.compile(backend="neuron") against PyTorch's CPU: trainings, what graphs consist of, what is refused. As TAP.

usage: torch_compiled.py [POINT...]    in an environment of environments.torch_native(), with the wheel; POINT is a part of a name
"""

import copy
import gc
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_neuronx import memory, programs

from points import run_points
from torch_comparisons import drawn, near, numbers, raises

warnings.simplefilter("ignore")


def compiled(model: nn.Module | Callable) -> Callable:
    torch._dynamo.reset()
    return torch.compile(model, backend="neuron", fullgraph=True)


def trained(model: nn.Module, inputs: tuple, loss: Callable[[Tensor], Tensor], steps: int = 4, tolerance: float = 1e-5, **how: object) -> None:
    """The losses and weights of some steps of AdamW are the CPU's."""
    pair = model, copy.deepcopy(model)
    losses: list[list[float]] = [[], []]
    for values, part, call in zip(losses, pair, (compiled(pair[0]), pair[1]), strict=True):
        optimizer = torch.optim.AdamW(part.parameters(), lr=1e-2, **how)
        for _ in range(steps):
            optimizer.zero_grad()
            value = loss(call(*inputs))
            value.backward()
            optimizer.step()
            values.append(float(value.detach()))
    assert all(abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(*losses, strict=True)), losses
    assert losses[1][-1] < losses[1][0], losses
    for (name, a), b in zip(pair[0].named_buffers(), pair[1].buffers(), strict=True):
        near(a, b, name)


def squared(y: Tensor) -> Tensor:
    return (y.float() - 1).square().mean()


def perceptron() -> None:
    trained(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)), (drawn(5, 6),), squared)


def convolutional() -> None:
    trained(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.SiLU(),
                          nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(8, 5)), (drawn(4, 3, 12, 12),), lambda y: F.cross_entropy(y, numbers(5, 4)), tolerance=1e-4)


def maxima() -> None:
    """Windows that overlap, ties, padding and dilation: the gradient is the CPU's"""
    for how in ({"kernel_size": 3, "stride": 1}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "dilation": 2}, {"kernel_size": 3, "ceil_mode": True}):
        for x in (drawn(2, 3, 9, 9), torch.zeros(1, 1, 9, 9), drawn(2, 3, 9, 9).round()):
            a, b = (x.clone().requires_grad_() for _ in range(2))
            pool = nn.MaxPool2d(**how)
            scale = torch.linspace(-1, 1, pool(x).numel()).view(pool(x).shape)
            (compiled(lambda v, pool=pool, scale=scale: (pool(v) * scale).sum())(a)).backward()
            (pool(b) * scale).sum().backward()
            near(a.grad, b.grad, str(how))


def layers() -> None:
    """Gradients of convolutions and means by strides, groups, dilation, padding beyond the kernel, of one to three dimensions, transposed"""
    image = drawn(2, 3, 7, 8)
    cases = [(nn.Conv2d(3, 4, 1, padding=1), image), (nn.Conv2d(3, 4, 2, padding=2, stride=2), image), (nn.Conv2d(3, 4, 3, stride=3, dilation=2, padding=4), image),
             (nn.Conv2d(3, 6, 2, groups=3, dilation=2, stride=2, padding=1), image), (nn.Conv2d(3, 4, 3), image[0]),
             (nn.ConvTranspose2d(3, 4, 3, stride=2, padding=2, output_padding=1), image), (nn.ConvTranspose2d(3, 6, 3, groups=3, dilation=2), image),
             (nn.ConvTranspose2d(3, 4, 1, padding=1), image), (nn.Conv1d(3, 4, 3, dilation=2, stride=2, padding=3), image[:, :, 0]),
             (nn.Conv3d(2, 3, 2), drawn(1, 2, 4, 4, 4)), (nn.AvgPool2d(3, 2, 1), image), (nn.AvgPool2d(3, 2, 1, count_include_pad=False), image),
             (nn.AvgPool2d(2, 2, 1, ceil_mode=True), image), (nn.AdaptiveAvgPool2d((7, 2)), image)]
    for layer, x in cases:
        other = copy.deepcopy(layer)
        a, b = (x.clone().requires_grad_() for _ in range(2))
        compiled(lambda v, layer=layer: layer(v).sin().sum())(a).backward()
        other(b).sin().sum().backward()
        near([a.grad, *(p.grad for p in layer.parameters())], [b.grad, *(p.grad for p in other.parameters())], str(layer), 1e-4)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(40, 16, padding_idx=0), nn.Linear(16, 40)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=bool(n)) for n in range(2))

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words)
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1])
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.out(x)


def transformer() -> None:
    words = numbers(40, 3, 9)
    trained(Words(), (words,), lambda y: F.cross_entropy(y.flatten(0, 1), words.flatten()), tolerance=1e-4)


def recurrent() -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.LSTMCell(4, 8), nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            h = c = x.new_zeros(x.shape[1], 8)
            for step in x:
                h, c = self.cell(step, (h, c))
            return self.out(h)

    trained(Cell(), (drawn(5, 3, 4),), squared)


def low_precision() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).bfloat16()
    trained(model, (drawn(6, 8).bfloat16(),), squared, tolerance=2e-2)
    with torch.no_grad():
        x = drawn(6, 8)
        call = nn.Linear(8, 4)
        with torch.autocast("cpu", torch.bfloat16):
            near(compiled(call)(x).float(), call(x).float(), tolerance=2e-2)


def results() -> None:
    """What is given back as it came, twice, not at all; views, integers, truth, nothing; what is changed in place"""
    def several(a: Tensor, b: Tensor) -> tuple:
        c = a + b
        return c, c, a, b.argmax(1), a > b, (c.T, c[1:], c[:, ::2]), None, a.sum().reshape(()), c.to(torch.float16)

    a, b = drawn(3, 4), drawn(3, 4).flip(0)
    near(compiled(several)(a, b), several(a, b))
    changed, same = drawn(3, 4), drawn(3, 4)
    assert compiled(lambda x: x.mul_(2).add_(1))(changed) is changed
    near(changed, same.mul_(2).add_(1))
    near(compiled(lambda x: x[1:0] + 1)(a), a[1:0] + 1)
    near(compiled(lambda x: torch.sort(x, 1))(a), torch.sort(a, 1))
    near(compiled(lambda x: x.T.contiguous().view(-1))(a.T.contiguous().T), a.T.reshape(-1))


def shapes() -> None:
    """Each shape has a program of its own, and a shape that comes again is not compiled again."""
    before, call = programs.neff.cache_info().misses, compiled(lambda x: torch.softmax(x @ x.T, -1))
    for size in (3, 5, 4, 3, 5):
        x = drawn(size, 6)
        near(call(x), torch.softmax(x @ x.T, -1))
    assert programs.neff.cache_info().misses - before == 3


def given_back() -> None:
    """What is compiled no more has no program on a core."""
    torch._dynamo.reset()
    gc.collect()  # of other points
    closed = []
    close = memory.Program.close
    memory.Program.close = lambda self: closed.append(self.program) or close(self)
    try:
        x = torch.ones(3, requires_grad=True)
        compiled(lambda v: (v * 3).sum())(x).backward()
        torch._dynamo.reset()
        gc.collect()
    finally:
        memory.Program.close = close
    assert len(closed) == 2, closed


def random() -> None:
    """Numbers are torch's generator's: a seed gives the same ones, dropout zeroes as many as it says, and its gradient the same ones"""
    call = compiled(lambda x: (torch.rand(4, 5), torch.randn(4, 5) + x))
    torch.manual_seed(5)
    ours = call(torch.zeros(4, 5))
    torch.manual_seed(5)
    near(ours, (torch.rand(4, 5), torch.randn(4, 5)))
    x = torch.ones(200, 100, requires_grad=True)
    model = nn.Dropout(0.3)
    y = compiled(model)(x)
    y.sum().backward()
    near(x.grad, y)
    assert 0.27 < float((y == 0).float().mean()) < 0.33 and abs(float(y.detach().max()) - 1 / 0.7) < 1e-5
    torch.manual_seed(1)
    again = [compiled(model)(x) for _ in range(2)]
    assert not again[0].equal(again[1])


def refused() -> None:
    call = compiled(lambda x: torch.linalg.eigvals(x).abs())
    raises(Exception, "linalg_eig", lambda: call(drawn(4, 4)))
    assert compiled(lambda x: x + 1)(torch.zeros(2)).tolist() == [1, 1]


POINTS = {"perceptron": perceptron, "convolutional": convolutional, "maxima": maxima, "layers": layers, "transformer": transformer, "recurrent": recurrent,
          "low precision": low_precision, "results": results, "shapes": shapes, "given back": given_back, "random": random, "refused": refused}


if __name__ == "__main__":
    torch.manual_seed(0)
    run_points(POINTS)
