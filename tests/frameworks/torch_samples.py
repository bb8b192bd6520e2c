#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Operators beyond the core ones that run on NeuronCores, with their gradients, as PyTorch's own samples call them, against its CPU; and functions against 64 bits. As TAP.

usage: torch_samples.py [OPERATOR...]    in an environment of environments.torch_native(), with the wheel
"""

import sys
import types
import unittest
import warnings
from collections.abc import Callable

sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch_neuronx import eager, registration

from points import run_points
from torch_comparisons import drawn, numbers

warnings.simplefilter("ignore")
registration.register()

SAMPLES = 3  # of an operator and a type, from all over its list
NAMES = ("addbmm", "addmm", "angle", "baddbmm", "bucketize", "cdist", "clamp_max", "clamp_min", "cummax", "cummin", "digamma", "erfc", "erfinv", "fmax", "fmin", "gather", "gcd",
         "histc", "hypot", "i0", "index_copy", "index_reduce", "isin", "kthvalue", "lcm", "lgamma", "linalg.cross", "logcumsumexp", "median", "mode", "nanmedian",
         "nn.functional.adaptive_avg_pool3d", "nn.functional.adaptive_max_pool1d", "nn.functional.adaptive_max_pool2d", "nn.functional.adaptive_max_pool3d",
         "nn.functional.avg_pool3d", "nn.functional.conv_transpose3d", "nn.functional.grid_sample", "nn.functional.hardshrink", "nn.functional.interpolate",
         "nn.functional.max_pool3d", "nn.functional.pad", "nn.functional.pdist", "nn.functional.softshrink", "searchsorted", "scatter", "scatter_reduce", "special.i0e", "special.i1",
         "special.i1e", "unfold", "var")
ROUGH = {"logcumsumexp": 1e-3}  # whose gradients are of logarithms, and in 32 bits no nearer to those in 64, on the CPU, too
PLACES = {"kthvalue", "median", "mode", "nanmedian"}  # of equal elements any is right


def moved(call: object, gradients: bool, place: str) -> object:
    return pytree.tree_map(lambda x: x.detach().to(place).requires_grad_(gradients and x.dtype == torch.float32) if isinstance(x, Tensor) else x, call)


def computed(info: object, call: tuple) -> list[Tensor]:
    """The results, and the gradients of their sum by weights"""
    found = [value for value in pytree.tree_leaves(info.op(call[0], *call[1], **call[2])) if isinstance(value, Tensor)]
    if info.name in PLACES:
        found = [value for number, value in enumerate(found) if not number]
    if summed := [value for value in found if value.requires_grad]:
        torch.autograd.backward([(value * torch.linspace(1, 2, value.numel()).reshape(value.shape).to(value.device)).sum() for value in summed])
    return found + [value.grad for value in pytree.tree_leaves(call) if isinstance(value, Tensor) and value.grad is not None]


def held(infos: list) -> Callable[[], None]:
    def point() -> None:
        tried = 0
        for info in infos:
            for dtype in (torch.float32, torch.int32):
                if dtype not in info.supported_dtypes("cpu"):
                    continue
                gradients = dtype == torch.float32 and info.supports_autograd
                samples = [(s.input, s.args, s.kwargs) for _, s in zip(range(60), info.sample_inputs("cpu", dtype, requires_grad=False))]
                for call in samples[::max(1, len(samples) // SAMPLES)][:SAMPLES]:
                    try:
                        theirs = computed(info, moved(call, gradients, "cpu"))
                    except Exception:
                        continue
                    before = dict(eager.fallen_back)
                    ours = computed(info, moved(call, gradients, "neuron"))
                    assert before == eager.fallen_back, {name for name in eager.fallen_back if eager.fallen_back[name] != before.get(name, 0)}
                    for a, b in zip(ours, theirs, strict=True):
                        a, b = a.detach().cpu(), b.detach()
                        near = a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=ROUGH.get(info.name, 1e-4), atol=1e-5, equal_nan=True)
                        assert near, (info.name, info.variant_test_name, dtype, a.flatten()[:4], b.flatten()[:4])
                    tried += 1
        assert tried

    return point


def precise() -> None:
    """Functions of one number, to units in the last place of the result in double precision"""
    far = torch.cat([torch.logspace(-8, 5, 700), torch.linspace(0.5, 4, 301)])
    around = torch.linspace(-9.03, 9.03, 801)
    for function, x, most in ((torch.erfc, torch.linspace(-4, 9, 801), 8), (torch.erfinv, torch.linspace(-0.9999, 0.9999, 801), 8), (torch.lgamma, far, 8), (torch.special.i0, around, 8),
                              (torch.special.i0e, around, 8), (torch.special.i1, around[around != 0], 10), (torch.special.i1e, around[around != 0], 10)):
        exact = function(x.double())
        found = function(x.to("neuron")).cpu()
        unit = torch.nextafter(exact.float().abs().clamp(min=1.2e-38), torch.tensor(torch.inf)) - exact.float().abs().clamp(min=1.2e-38)
        error = ((found.double() - exact).abs() / unit.double()).max()
        assert error <= most, (function, error, x[((found.double() - exact).abs() / unit.double()).argmax()])
    for x in (far, around):  # near a root the error is a part of what is subtracted, on the CPU, too
        assert torch.allclose(torch.digamma(x.to("neuron")).cpu().double(), torch.digamma(x.double()), rtol=3e-5, atol=3e-5)
    y = torch.tensor([0.0, -0.0, 1, 2, -1, -3, torch.inf, -torch.inf, torch.nan, 1e30, -1e-30])
    for function in (torch.erfc, torch.erfinv, torch.lgamma, torch.digamma, torch.special.i0, torch.special.i1e, torch.angle):
        assert torch.allclose(function(y.to("neuron")).cpu(), function(y), rtol=1e-5, equal_nan=True), (function, function(y.to("neuron")).cpu(), function(y))


def compiled() -> None:
    """The same in graphs of torch.compile, with their gradients"""
    def call(x: Tensor, at: Tensor, image: Tensor, grid: Tensor) -> tuple:
        resized = torch.nn.functional.interpolate(image, size=(5, 9), mode="bicubic")
        padded = torch.nn.functional.pad(image, (1, 2, 1, 1), mode="replicate")
        sampled = torch.nn.functional.grid_sample(image, grid, align_corners=False)
        return (x.scatter_reduce(1, at, x * 2, "amax"), x.cummax(1)[0], x.logcumsumexp(0), x.median(1)[0], torch.erfinv(x.tanh() * 0.9), torch.lgamma(x.abs() + 0.5),
                torch.hypot(x, x + 1), resized, padded, sampled, torch.nn.functional.adaptive_max_pool2d(image, (3, 4)))

    given = drawn(3, 4), numbers(4, 3, 4), drawn(1, 2, 6, 7), drawn(1, 4, 5, 2) * 0.6
    results = []
    for place in ("cpu", "neuron"):
        values = [value.detach().to(place).requires_grad_(value.is_floating_point()) for value in given]
        made = (torch.compile(call, backend="neuron", fullgraph=True) if place == "neuron" else call)(*values)
        sum(value.square().sum() for value in made).backward()
        results.append([value.detach().cpu() for value in (*made, *(value.grad for value in values if value.is_floating_point()))])
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4), (a, b)


POINTS = {name: held([info for info in op_db if info.name == name]) for name in NAMES} | {"functions of one number, to their last places": precise, "in compiled graphs": compiled}

if __name__ == "__main__":
    run_points(POINTS)
