#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""torch_neuronx.trace against PyTorch's CPU: models of several kinds, what goes in and comes out of them, saved and loaded. As TAP.

usage: torch_traces.py [POINT...]    in an environment of environments.torch_xla(), with the wheel; POINT is a part of a name
"""

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch_neuronx
from torch import Tensor, nn
from torch.nn import functional as F

from points import run_points
from torch_comparisons import Structure, drawn, near, numbers, raises

warnings.simplefilter("ignore")

LOAD = """
import sys, torch, torch_neuronx
model = torch.jit.load(sys.argv[1])
torch.save(model(torch.load(sys.argv[2])), sys.argv[3])
assert "torch_xla" not in sys.modules
"""


class Words(nn.Module):
    """A transformer over words, with a mask that need not be given, and results by name"""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(60, 32), nn.Linear(32, 60)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True) for _ in range(2))

    def forward(self, words: Tensor, mask: Tensor | None = None) -> dict[str, Tensor | None]:
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=mask)
        logits = self.out(x)
        return {"logits": logits, "best": logits.argmax(-1), "nothing": None}


class Causal(nn.Module):
    """Attention whose results are viewed as rows, whichever way they lie"""

    def __init__(self) -> None:
        super().__init__()
        self.split, self.weight = nn.Linear(32, 96), nn.Parameter(drawn(32, 32))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in self.split(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        return (y.view(-1, 32) @ self.weight).view(x.shape)


class Nested(nn.Module):
    def forward(self, a: Tensor, b: list[Tensor]) -> tuple:
        return a @ b[0], [a.sum(), b[1] > 2, a.amax()], b[1] * 3, a.to(torch.bfloat16)


def compared(model: nn.Module | Callable, example: Structure, *others: tuple, **how: object) -> torch.jit.ScriptModule:
    """Traces, and compares with what the model says of the example and of other inputs of its shapes"""
    traced = torch_neuronx.trace(model, example, **how)
    assert isinstance(traced, torch.jit.ScriptModule)
    if isinstance(model, nn.Module):
        model.eval()
    first = tuple(example.values()) if isinstance(example, dict) else (example,) if isinstance(example, Tensor) else tuple(example)
    with torch.no_grad():
        for inputs in (first, *others):
            near(traced(*inputs), model(*inputs))
    return traced


def perceptron() -> None:
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Dropout(0.5), nn.Linear(64, 10))
    compared(model, drawn(8, 20), (drawn(8, 20) * 3,))
    model.train()
    torch_neuronx.trace(model, drawn(2, 20))
    assert all(part.training for part in model.modules()), "what was training does so no more"


def convolutional() -> None:
    compared(nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3, groups=2), nn.GELU(),
                           nn.Upsample(scale_factor=2, mode="bilinear"), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (drawn(2, 3, 16, 16),))
    compared(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((7, 3))), (drawn(2, 3, 6, 7),))


def words() -> None:
    model = Words()
    compared(model, numbers(60, 3, 12), (numbers(59, 3, 12),))
    compared(model, (numbers(60, 3, 12), torch.arange(12).expand(3, 12) > 8))
    named = torch_neuronx.trace(model, {"words": numbers(60, 2, 6), "mask": torch.arange(6).expand(2, 6) > 3})
    with torch.no_grad():
        near(named(numbers(60, 2, 6), torch.arange(6).expand(2, 6) > 3), model(numbers(60, 2, 6), torch.arange(6).expand(2, 6) > 3))


def causal() -> None:
    compared(Causal(), drawn(2, 7, 32), (drawn(2, 7, 32) * 2,))


def structures() -> None:
    compared(Nested(), (drawn(3, 4), [drawn(4, 2), torch.arange(5)]), (drawn(3, 4) - 1, [drawn(4, 2), torch.arange(5) + 2]))
    mixed = torch_neuronx.trace(lambda x: {"a": x + 1, "b": {"c": x, "d": x * 2}, "e": None}, drawn(5))
    near(mixed(drawn(5)), (drawn(5) + 1, {"c": drawn(5), "d": drawn(5) * 2}))
    compared(lambda x: torch.tanh(x) * 2, drawn(5))
    compared(lambda x: (x, x + 1), drawn(5).double())


def half() -> None:
    """Weights, a buffer that is not saved and constants in bfloat16"""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.GroupNorm(2, 16), nn.Linear(16, 4)).to(torch.bfloat16).eval()
    model[0].register_buffer("shift", drawn(16).to(torch.bfloat16), persistent=False)
    model[0].forward = lambda x: F.linear(x, model[0].weight, model[0].shift) + torch.tensor([0.5] * 16, dtype=x.dtype)
    traced, x = torch_neuronx.trace(model, drawn(4, 8).to(torch.bfloat16)), drawn(4, 8).to(torch.bfloat16) * 2
    with torch.no_grad():
        near(traced(x), model(x), tolerance=2e-2)


def saved() -> None:
    """Loads in another process, which needs neither torch_xla nor the model's code"""
    model, x = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.LayerNorm(8)), drawn(4, 6)
    traced = compared(model, x)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("model.pt", "in.pt", "out.pt")]
        torch.jit.save(traced, paths[0])
        torch.save(x, paths[1])
        subprocess.run([sys.executable, "-c", LOAD, *paths], check=True)
        assert torch.load(paths[2]).equal(traced(x))


def options() -> None:
    """What the compiler is told, and what it leaves; a compilation for chips that are not here"""
    with tempfile.TemporaryDirectory() as folder:
        compared(lambda x: F.relu(x), drawn(3), compiler_workdir=folder, compiler_args="--optlevel 1")
        assert {path.name for path in Path(folder).iterdir()} >= {"model.stablehlo", "graph.neff"}
    torch_neuronx.trace(nn.Linear(3, 2), drawn(1, 3), compiler_args=["--target", "trn2"], cpu_backend=True)


def refused() -> None:
    traced = torch_neuronx.trace(nn.Linear(3, 2), drawn(1, 3))
    raises(RuntimeError, "input 0 is float32[2, 3], and was traced as float32[1, 3]", lambda: traced(drawn(2, 3)))
    raises(RuntimeError, "input 0 is float64[1, 3]", lambda: traced(drawn(1, 3).double()))
    raises(RuntimeError, "--nonsense", lambda: torch_neuronx.trace(nn.Linear(3, 2), drawn(1, 3), compiler_args="--nonsense"))
    raises(ValueError, "--target", lambda: torch_neuronx.trace(nn.Linear(3, 2), drawn(1, 3), cpu_backend=True))
    raises(TypeError, "a result is str", lambda: torch_neuronx.trace(lambda x: (x, "text"), drawn(1)))
    assert traced(drawn(1, 3)).shape == (1, 2)
    divided = type("ColumnParallelLinear", (nn.Linear,), {"__module__": "neuronx_distributed.parallel_layers.layers"})
    raises(NotImplementedError, "1 is a ColumnParallelLinear: the layers and traces of neuronx_distributed",
           lambda: torch_neuronx.trace(nn.Sequential(nn.ReLU(), divided(3, 2)), drawn(1, 3)))
    for words, program in (("parallel_model_trace: the layers and traces of neuronx_distributed", "from torch_neuronx import parallel_model_trace"),
                           ("NKI", "from torch_neuronx.xla_impl import ops"), ("GpSimd", "from torch_neuronx.xla_impl import custom_op")):
        raises(NotImplementedError, words, lambda program=program: exec(program, {}))
    assert torch_neuronx.xla_impl.data_parallel.DataParallel is torch_neuronx.DataParallel and not hasattr(torch_neuronx, "no_such_name")


POINTS = {"perceptron": perceptron, "convolutional": convolutional, "transformer": words, "causal": causal, "structures": structures, "bfloat16": half, "saved": saved, "options": options,
          "refused": refused}


if __name__ == "__main__":
    torch.manual_seed(0)
    run_points(POINTS)
