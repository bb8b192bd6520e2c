#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The device "neuron" of PyTorch against its CPU: tensors, operators one by one, trainings, memory, what is refused. As TAP.

usage: torch_device.py [POINT...]    in an environment of environments.torch_native(), with the wheel; POINT is a part of a name
"""

import contextlib
import copy
import ctypes
import gc
import io
import os
import threading
import warnings
from collections.abc import Callable

import torch
import torch_neuronx
from torch import Tensor, nn
from torch.nn import functional as F
from torch_neuronx import eager, programs, registration, runtime

from points import run_points
from torch_comparisons import drawn, near, numbers, raises

warnings.simplefilter("ignore")
registration.register()  # as `import torch` does of an installed wheel


def there(value: object) -> object:
    return torch.utils._pytree.tree_map(lambda x: x.to("neuron") if isinstance(x, Tensor) else x, value)


def back(value: object) -> object:
    return torch.utils._pytree.tree_map(lambda x: x.cpu() if isinstance(x, Tensor) else x, value)


def same(call: Callable, *inputs: object, tolerance: float = 2e-5) -> None:
    """A function gives the same of tensors on the device, which it changes the same way, and no operator of it runs on the CPU."""
    theirs, ours = copy.deepcopy(inputs), there(copy.deepcopy(inputs))
    before = dict(eager.fallen_back)
    expected, found = call(*theirs), call(*ours)
    assert all(x.device.type == "neuron" for x in torch.utils._pytree.tree_leaves(found) if isinstance(x, Tensor))
    near(back(found), expected, tolerance=tolerance)
    near(back(ours), theirs, "what was given", tolerance=tolerance)
    assert before == eager.fallen_back, {name for name in eager.fallen_back if eager.fallen_back[name] != before.get(name, 0)}


def tensors() -> None:
    """Views share memory, also with gaps, permuted and repeated; what is changed through one is changed for all"""
    def views(x: Tensor) -> tuple:
        y, z, w = x.T, x[1:, ::2], x.view(2, 2, 6)
        y.add_(1)
        z.mul_(2)
        w[1, 0] = 5
        x[:, 1] -= 3
        return x, y, z, w, x.expand(2, 4, 6), x.as_strided((3, 3), (7, 2), 1), x.unfold(1, 3, 2), x.flatten()[3:9].view(torch.int32)

    same(views, drawn(4, 6))
    x = torch.zeros(4, 6, device="neuron")
    assert x[1:].data_ptr() == x.data_ptr() + 24 and x.T.untyped_storage().data_ptr() == x.data_ptr()
    assert x.is_neuron and x.device == torch.device("neuron", 0) and x.cpu().neuron().is_neuron
    same(lambda x: (x + 1, x.sum(), x.T @ x, x.reshape(3, 0), torch.cat([x, x])), torch.zeros(0, 3))
    same(lambda x: (x[1:] * 2, x[2] + x[5], x[3:].sum(0)), drawn(6, 4))  # from within a storage
    same(lambda x: (x + 1, x.T + 1), drawn(4, 4))  # of one shape, not of one layout
    same(lambda x: x.resize_(2, 3).fill_(2), torch.zeros(2))
    same(lambda x: x.set_(x[1:].clone()), drawn(3, 2))
    y = torch.zeros(3, device="neuron")
    y.data = torch.ones(2, device="neuron")
    assert y.tolist() == [1, 1] and repr(y) == "tensor([1., 1.], device='neuron:0')", y
    near(y.detach().cpu(), torch.ones(2))
    z = torch.empty(2, 3, 4, 5, device="neuron", memory_format=torch.channels_last)
    assert z.is_contiguous(memory_format=torch.channels_last) and torch.empty_like(z).stride() == z.stride()


def types() -> None:
    """What each type is computed with; 64-bit integers keep 64 bits where nothing is computed, and have 32 where something is"""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8, torch.bool):
        x = drawn(3, 4).abs().mul(3).to(dtype)
        same(lambda x: (x * x, x == x.flip(0), x.float() + 1, torch.where(x > 1, x, x + x), x.clone(), x.T.contiguous()), x, tolerance=1e-2)
    wide = torch.tensor([1 << 40, -5, 7])
    assert wide.to("neuron").cpu().equal(wide) and wide.to("neuron")[1:].clone().cpu().equal(wide[1:])
    near((wide.to("neuron")[1:] * 3).cpu(), wide[1:] * 3)
    double = drawn(3).double()
    near((double.to("neuron") * 2).cpu(), double * 2)
    assert "aten::mul" in torch.neuron.get_fallback_ops()
    near(double.to("neuron").float().cpu(), double.float())
    x = drawn(5)
    for how in (torch.float64, torch.bfloat16, torch.int64):
        assert x.to("neuron", how).cpu().equal(x.to(how)) and x.to("neuron").to(how).cpu().equal(x.to(how))


def wide_integers() -> None:
    """Elements that are only moved keep 64 bits, one by one and in compiled functions; a NaN is not equal to itself"""
    far = 1 << 40
    x = torch.arange(24).view(4, 6) * (far + 3) - 7 * far
    given = x, x * 3 + 1, torch.tensor([2, 0, 3]), torch.arange(24).view(4, 6) % 3 == 0

    def moved(x: Tensor, y: Tensor, i: Tensor, where: Tensor) -> tuple:
        rows = i[:, None].expand(3, 6)
        return (torch.cat([x, y], 1), torch.cat([x, i.int()[None].expand(4, 3)], 1), torch.stack([x, y]), x[i], x[:, i], x[i, i], x.index_select(0, i), x.gather(0, rows),
                F.embedding(i, x), torch.where(where, x, y), torch.where(where, x, 5), x.flip(1), x.roll(1, 1), x.repeat(2, 1), x.T.clone(), F.pad(x, (1, 2), value=9 * far - 1),
                F.pad(x, (1, 0), value=-1), x.scatter(0, rows, y), x.scatter(0, rows, 5 * far + 2), x.tril(), x.index_fill(0, i, far), x.index_copy(0, i, y[:3]))

    def written(x: Tensor, y: Tensor, i: Tensor, where: Tensor) -> Tensor:
        x.index_put_((i,), y[1:])
        x[:, 1:3] = y[:, :2]
        return x.masked_fill_(where, 7 * far)

    for call in (moved, written):
        same(call, *given, tolerance=0)
    for a, b in zip(torch.compile(moved, backend="neuron")(*given), moved(*given), strict=True):
        assert a.equal(b), (a, b)
    x = torch.tensor([1.0, torch.nan, -torch.inf])
    assert torch.compile(lambda x: x == x, backend="neuron")(x).tolist() == [True, False, True]


def operators() -> None:
    """Operands that are numbers, out=, in place, indices, reductions, copies between layouts"""
    same(lambda x: (x + 1, 2 - x, x / 3, x ** 2, x * -0.0, x // 2, x % 2, 1 / x, x > 0, x.clamp(-1, 1), x.pow(0.5).isnan()), drawn(3, 4))
    same(lambda x, y: (torch.add(x, y, out=torch.empty_like(x)), torch.mul(x, y, out=x), x.add_(y, alpha=0.5), x.addcdiv_(y, y + 9, value=-0.3)), drawn(3, 4), drawn(3, 4))
    same(lambda x, i: (x[i], x[:, None] + 1, x.gather(0, i[:, None].expand(3, 4)), x.index_select(1, i), F.embedding(i, x)), drawn(3, 4), torch.tensor([2, 0, 1]))
    same(lambda x, i: (x.index_add_(0, i, x.clone()), x.scatter_(1, i[None], 7.0), x.index_put_((i,), x[0].clone()), x.masked_fill_(x > 1, 0)), drawn(3, 4), torch.tensor([2, 0, 1]))
    same(lambda x: (x.sum(), x.mean(1), x.std(), x.max(1), x.argmin(), x.topk(2), x.sort(1), x.cumsum(0), x.any(), x.norm(), x.logsumexp(1)), drawn(3, 4))
    same(lambda x, y: (x @ y, torch.baddbmm(x[:, :, :3], x, y), torch.einsum("bij,bjk->ik", x, y), F.linear(x, y[0].T)), drawn(2, 4, 4), drawn(2, 4, 3) * 0.5)
    same(lambda x: (F.conv2d(x, x[:, :, :2, :2]), F.max_pool2d(x, 2), F.interpolate(x, scale_factor=2), F.pad(x, (1, 2)), F.layer_norm(x, (6,)), F.gelu(x)), drawn(2, 3, 6, 6))
    same(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), drawn(2, 2, 5, 8))
    for bounds in ((5,), (2, 9), (0, 1, 0.25), (5, 0, -2), (3, 3)):
        for dtype in (None, torch.int32, torch.bfloat16, torch.float64):
            ours, theirs = (torch.arange(*bounds, dtype=dtype, device=place) for place in ("neuron", "cpu"))
            assert ours.dtype == theirs.dtype and ours.cpu().equal(theirs) and ours.is_contiguous(), (bounds, dtype)
    column = torch.zeros(4, 4, device="neuron")[:, 1]
    assert torch.arange(4, out=column) is column and column.tolist() == [0, 1, 2, 3]
    assert torch.full((2,), 3.0, device="neuron").tolist() == [3, 3]
    assert torch.neuron.get_executed_ops()


def trained(model: nn.Module, inputs: tuple, loss: Callable, tolerance: float = 1e-5, steps: int = 4, compiled: bool = False, **how: object) -> None:
    """The losses of some steps, and the buffers after them, are the CPU's."""
    pair = model, copy.deepcopy(model).to("neuron")
    losses: list[list[float]] = [[], []]
    for values, part, given in zip(losses, pair, (inputs, there(inputs)), strict=True):
        call = torch.compile(part, backend="neuron", fullgraph=True) if compiled and part is pair[1] else part
        optimizer = torch.optim.AdamW(part.parameters(), lr=1e-2, **how)
        for _ in range(steps):
            optimizer.zero_grad()
            value = loss(call(*given), *given)
            value.backward()
            nn.utils.clip_grad_norm_(part.parameters(), 1.0)
            optimizer.step()
            values.append(value.item())
    assert all(abs(a - b) <= tolerance * max(1, abs(a)) for a, b in zip(*losses, strict=True)), losses
    assert losses[0][-1] < losses[0][0], losses
    for (name, a), b in zip(pair[0].named_buffers(), pair[1].buffers(), strict=True):
        near(back(b), a, name)


def squared(y: Tensor, *_: object) -> Tensor:
    return (y.float() - 1).square().mean()


def perceptron_of() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


class First(nn.Module):
    """A network without what goes with its numbers"""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, *_: object) -> Tensor:
        return self.model(x)


def trainings() -> None:
    trained(perceptron_of(), (drawn(5, 6),), squared)
    trained(First(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2), nn.SiLU(),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))), (drawn(4, 3, 12, 12), numbers(5, 4)), lambda y, _, to: F.cross_entropy(y, to), 1e-4)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.inner, self.out = kind(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.inner(x)[0][-1])


def modules() -> None:
    trained(nn.Sequential(nn.Embedding(30, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), nn.Linear(16, 30)), (numbers(30, 3, 7),),
            lambda y, words: F.cross_entropy(y.flatten(0, 1), words.flatten()), 1e-4)
    for recurrent in (nn.LSTM, nn.GRU, nn.RNN):
        trained(Recurrent(recurrent), (drawn(5, 3, 4),), squared)


def compiled() -> None:
    """A compiled model's tensors stay on the device."""
    torch._dynamo.reset()
    trained(perceptron_of(), (drawn(5, 6),), squared, compiled=True)
    torch._dynamo.reset()
    call = torch.compile(lambda x, y: (x @ y, x.T, x.argmax(1), x[:, ::2] + 1), backend="neuron", fullgraph=True)
    same(call, drawn(3, 4), drawn(4, 3))
    torch._dynamo.reset()
    same(torch.compile(lambda x: (x * torch.tensor([1.0, 2, 3], device=x.device), x[torch.tensor([0, 2], device=x.device)]), backend="neuron", fullgraph=True), drawn(3))
    torch._dynamo.reset()


def mixed() -> None:
    """Autocast, recomputed layers, scaled gradients"""
    model, x = perceptron_of(), drawn(5, 6)
    with torch.autocast("neuron", torch.bfloat16):
        ours = copy.deepcopy(model).to("neuron")(x.to("neuron"))
    with torch.autocast("cpu", torch.bfloat16):
        near(ours.cpu().float(), model(x).float(), tolerance=5e-2)
    from torch.utils.checkpoint import checkpoint

    a, b = x.clone().requires_grad_(), x.to("neuron").requires_grad_()
    checkpoint(model, a, use_reentrant=False).sum().backward()
    checkpoint(copy.deepcopy(model).to("neuron"), b, use_reentrant=False).sum().backward()
    near(b.grad.cpu(), a.grad)


def compiled_once() -> None:
    """Steps whose numbers change have the same programs."""
    model = perceptron_of().to("neuron")
    optimizer, x = torch.optim.AdamW(model.parameters(), lr=1e-2), drawn(5, 6).to("neuron")
    counts = []
    for step in range(6):
        optimizer.zero_grad()
        squared(model(x)).backward()
        optimizer.param_groups[0]["lr"] = 1e-2 / (step + 1)
        optimizer.step()
        average = torch.zeros(6, device="neuron").lerp_(x[0], 1 / (step + 2)).clamp(-step - 0.5, step + 0.5)
        average.masked_fill_(average > 0.1 * step, step)
        counts.append(programs.neff.cache_info().misses)
    assert counts[1] == counts[-1], counts


def parameters() -> None:
    """A module that goes to the device and back keeps its parameters: an optimizer's are the same, and shared ones stay shared."""
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.out = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
            self.out.weight = self.words.weight

    model = Tied()
    weight, optimizer = model.words.weight, torch.optim.SGD(model.parameters(), 0.1)
    model.to("neuron")
    assert model.words.weight is model.out.weight is weight is optimizer.param_groups[0]["params"][0] and weight.is_neuron and len(list(model.parameters())) == 1
    model.out(model.words(torch.tensor([1, 2], device="neuron"))).sum().backward()
    before = weight.detach().clone()
    optimizer.step()
    assert not before.equal(weight.detach()) and weight.grad.is_neuron
    model.cpu()
    assert model.out.weight is weight and weight.device.type == weight.grad.device.type == "cpu"


def optimizers() -> None:
    """A step is the CPU's, of all parameters at once: foreach, fused, and one by one"""
    for name, how in (("AdamW", {}), ("Adam", {"weight_decay": 0.1, "amsgrad": True}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("RMSprop", {})):
        for kind in ({"foreach": True}, {"foreach": False}, {"fused": True}):
            if name == "RMSprop" and "fused" in kind:
                continue
            model = perceptron_of()
            pair = model, copy.deepcopy(model).to("neuron")
            before = dict(eager.fallen_back)
            for model in pair:
                optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-2, **how, **kind)
                x = drawn(5, 6).to(next(model.parameters()).device)
                for step in range(3):
                    optimizer.zero_grad()
                    squared(model(x)).backward()
                    optimizer.param_groups[0]["lr"] = 1e-2 / (step + 1)
                    optimizer.step()
            near([p.cpu() for p in pair[1].parameters()], list(pair[0].parameters()), f"{name} {kind}", 1e-5)
            assert before == eager.fallen_back, eager.fallen_back
    state: dict[str, list[Tensor]] = {}
    for place in ("cpu", "neuron"):  # bf16 has neither 0.99 nor 1 - 0.003, and is computed wider
        weight = torch.nn.Parameter(drawn(64, 64).bfloat16().to(place))
        optimizer = torch.optim.AdamW([weight], lr=0.03, betas=(0.97, 0.99), weight_decay=0.1, fused=True)
        for step in range(4):
            weight.grad = (drawn(64, 64) * 0.01 ** step).bfloat16().to(place)
            optimizer.step()
        state[place] = [weight.detach().cpu(), *(optimizer.state[weight][name].cpu() for name in ("exp_avg", "exp_avg_sq"))]
    assert all(ours.equal(theirs) for ours, theirs in zip(*state.values(), strict=True))
    before, norms = dict(eager.fallen_back), []
    for place in ("cpu", "neuron"):
        weight = torch.nn.Parameter(torch.zeros(64, 64, dtype=torch.bfloat16, device=place))
        weight.grad = drawn(64, 64).bfloat16().to(place)
        norms.append((torch.nn.utils.clip_grad_norm_([weight], 1.0).cpu(), weight.grad.cpu()))
    near(list(norms[1]), list(norms[0]), "clip_grad_norm_ of bf16", 0.01)
    assert before == eager.fallen_back, eager.fallen_back
    x, y = drawn(64, 64).bfloat16(), drawn(64, 64, 1).flatten(1).bfloat16()
    on_device = [x.to("neuron")]
    torch._foreach_mul_(on_device, 0.997)
    assert on_device[0].cpu().equal((x.float() * 0.997).bfloat16())
    assert torch._foreach_add([x.to("neuron")], [y.to("neuron")], alpha=0.3)[0].cpu().equal((x.float() + 0.3 * y.float()).bfloat16())


def pinned() -> None:
    """Memory of the host that devices reach, as a DataLoader with pin_memory asks for"""
    x = drawn(3, 4)
    y = x.pin_memory()
    assert y.is_pinned() and not x.is_pinned() and y.equal(x) and y.to("neuron", non_blocking=True).cpu().equal(x)
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, pin_memory=True):
        assert batch.is_pinned()


def edges() -> None:
    """Indices from the end, NaN as the extreme, tensors of one element, numbers beyond 16 bits, what comes twice, complex numbers' views"""
    same(lambda x, i: (x[i], x[:, i], x[i, i], x.take(i)), drawn(4, 4), torch.tensor([-1, 0, -3]))
    same(lambda x, i: (x.index_put_((i,), x[0].clone()), x.index_put_((i,), x[1:3].clone(), accumulate=True)), drawn(4, 4), torch.tensor([-1, 0]))
    same(torch.compile(lambda x, i: x[i] * 2, backend="neuron"), drawn(4, 4), torch.tensor([-1, 0]))
    torch._dynamo.reset()
    x = drawn(3, 4)
    x[1, 2] = x[1, 3] = torch.nan
    for call in (lambda x: (x.argmax(1), x.argmin(), x.max(0).indices, x.min(1, keepdim=True).indices), lambda x: (x.amax(1).isnan(), x.max(0).values.isnan())):
        same(call, x)
    same(lambda x: (x.softmax(0), x.log_softmax(0), x.sum(0), x.amax(), x.argmax(), x.cumsum(0), x.sort().values, x.clamp(0, 1)), torch.tensor(0.5))
    for dtype in (torch.float16, torch.bfloat16):
        same(lambda x: (x * 100000, x / 3e-5, x + 0.1, x * 0.1), torch.tensor([0.5, -1], dtype=dtype), tolerance=1e-9)
    same(lambda x, i: (i << 2, i >> 1, i.int() << 3, x.trace(), F.max_pool2d(x[None], 3, 2, ceil_mode=True), F.max_pool2d(x[None], 2)), drawn(4, 6), torch.tensor([1, -8, 5]))
    y = torch.zeros(3, device="neuron")
    torch._foreach_add_([y, y], 1.0)
    assert y.tolist() == [2, 2, 2]
    z = torch.tensor([1 + 2j, 3 - 1j])
    ours = z.to("neuron")
    torch.view_as_real(ours).add_(1)
    assert ours.cpu().equal(z + (1 + 1j)) and ours.conj().clone().cpu().equal((z + (1 + 1j)).conj()) and ours.conj().imag.cpu().equal(-(z.imag + 1))
    assert copy.deepcopy(y).equal(y) and copy.deepcopy(y).data_ptr() != y.data_ptr()
    near(torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(3, device="neuron")).cpu(), 6 * torch.eye(3))


def overlapping() -> None:
    """What writes where it reads, or an element twice, is refused in the CPU's words, or gives what it gives there."""
    def outcome(call: Callable, place: str) -> list | str:
        x = torch.arange(9.0, device=place)
        try:
            call(x, torch.tensor([2, 0, 1], device=place))
        except RuntimeError as error:
            return str(error)
        return x.tolist()

    calls = (lambda x, i: x.as_strided((3, 3), (1, 1)).add_(1), lambda x, i: x[:3].expand(2, 3).add_(1), lambda x, i: torch.add(x[3:].view(2, 3), 1, out=x[:3].expand(2, 3)),
             lambda x, i: x[1:].add_(x[:-1]), lambda x, i: x.view(3, 3).add_(x.view(3, 3).T), lambda x, i: torch.mul(x[:-1], 2, out=x[1:]), lambda x, i: torch.mul(x, 2, out=x),
             lambda x, i: torch.cumsum(x[:-1], 0, out=x[1:]), lambda x, i: torch.cat([x[:3], x[2:4]], out=x[1:6]), lambda x, i: torch.gather(x[:3], 0, i, out=x[:3]),
             lambda x, i: x[1:].copy_(x[:-1]), lambda x, i: x.view(torch.int32)[1:].copy_(x[:-1]), lambda x, i: x[:4].copy_(x[4:8]), lambda x, i: x[::2].add_(x[1::2].sum()),
             lambda x, i: torch.sum(x, 0, out=x[4]), lambda x, i: x.masked_fill_(x > 4, x[1]), lambda x, i: x[:3].expand(2, 3)[i[1:2]].fill_(5),
             lambda x, i: torch._foreach_add_([x[:3], x[2:5]], 1.0), lambda x, i: torch._foreach_add_([x[:3]], [x[1:4]]), lambda x, i: torch._foreach_mul_([x[:3], x[3:6]], [x[3:6], x[:3]]))
    before = dict(eager.fallen_back)
    for number, call in enumerate(calls):
        expected, found = outcome(call, "cpu"), outcome(call, "neuron")
        assert found == expected, (number, found, expected)
    parts = torch.ones(8, device="neuron").view(2, 4)
    eager.fallen_back.clear()
    torch._foreach_mul_(list(parts), [torch.full((4,), 2.0, device="neuron"), torch.full((4,), 3.0, device="neuron")])
    assert parts.tolist() == [[2] * 4, [3] * 4] and not eager.fallen_back, "parts of one tensor, each by itself"
    eager.fallen_back.update(before)


def fallback() -> None:
    """What is not compiled the CPU computes, is said once by its name, and counted."""
    torch.neuron.clear_op_tracking()
    x = drawn(3, 3) + 3 * torch.eye(3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            near(torch.linalg.eigvalsh(x.to("neuron")).cpu(), torch.linalg.eigvalsh(x), tolerance=1e-4)
    names = torch.neuron.get_fallback_ops()
    assert len(names) == 1 and len([w for w in said if names[0] in str(w.message)]) == 1, (names, [str(w.message) for w in said])
    before = torch.neuron.memory_allocated()
    torch.linalg.eigvalsh(there(drawn(64, 64)))
    gc.collect()
    assert torch.neuron.memory_allocated() == before, "what a call without a program was given is kept"
    near(there(x).nonzero().cpu(), x.nonzero())
    near(there(x)[there(x) > 1].cpu(), x[x > 1])
    near(back(torch.unique(there(numbers(4, 9)))), torch.unique(numbers(4, 9)))


def memory() -> None:
    """What tensors have is counted, given back with their last view, and kept for the next ones until the cache is emptied."""
    gc.collect()
    before = torch.neuron.memory_allocated()
    x = torch.zeros(1 << 20, device="neuron")
    y = x[5:]
    assert torch.neuron.memory_allocated() == before + (4 << 20) <= torch.neuron.max_memory_allocated()
    del x
    assert torch.neuron.memory_allocated() == before + (4 << 20)
    del y
    assert torch.neuron.memory_allocated() == before and torch.neuron.memory_reserved() >= 4 << 20
    torch.neuron.empty_cache()
    torch.neuron.reset_peak_memory_stats()
    assert torch.neuron.memory_reserved() == torch.neuron.memory_allocated() == torch.neuron.max_memory_allocated() == before
    stats = torch.neuron.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]
    held = torch.ones(1 << 20, device="neuron")
    free, total = torch.neuron.mem_get_info()
    assert 0 < free <= total - held.nbytes and total == torch.neuron.get_device_properties(0).total_memory
    raises(torch.OutOfMemoryError, "neuron:0 is out of memory: 1099511627776 bytes were asked for", lambda: torch.empty(1 << 40, dtype=torch.uint8, device="neuron"))
    assert torch.ones(2, device="neuron").tolist() == [1, 1]


def refused() -> None:
    """Tensors of two devices, of no device of this process, of a child's; the process goes on."""
    x = torch.ones(2, device="neuron")
    raises(RuntimeError, "Expected all tensors to be on the same device, but found at least two devices, neuron:0 and cpu!", lambda: x + torch.ones(2))
    raises(RuntimeError, "neuron:7", lambda: torch.neuron.set_device(7))
    raises(RuntimeError, "neuron:7", lambda: torch.ones(2, device="neuron:7"))
    whole = torch.ones(2, dtype=torch.int64, device="neuron")
    for call in (lambda: torch.add(x, x, alpha=0.5, out=whole), lambda: whole.add_(1.5), lambda: whole.add_(x)):
        raises(RuntimeError, "result type Float can't be cast to the desired output type", call)
    assert whole.tolist() == [1, 1]
    raises(RuntimeError, "Boolean value of Tensor with more than one value", lambda: bool(x))
    raises(RuntimeError, "inconsistent tensor size", lambda: x @ torch.ones(3, device="neuron"))
    raises(TypeError, "convert neuron:0 device type tensor to numpy", x.numpy)
    near((x + torch.tensor(2.0)).cpu(), torch.tensor([3.0, 3.0]))  # a number of the CPU's is none
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            x + 1
        except RuntimeError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"use the 'spawn' start method" in os.read(reading, 1000)
    assert (x + 1).tolist() == [2, 2]


def resets() -> None:
    """A chip that is reset under a training is an error with the reason; memory has what it had, and the process goes on."""
    class How(ctypes.Structure):
        _fields_ = [("initialize_device", ctypes.c_int), ("regions", ctypes.c_int), ("map_hbm", ctypes.c_int)]

    x, kept, chip, over = torch.ones(64, 64, device="neuron"), torch.arange(5.0, device="neuron"), ctypes.c_void_p(), threading.Event()
    layer = nn.Linear(64, 64).to("neuron")
    layer(x).sum().backward()
    nrt = runtime.library()
    assert nrt.ndl_open_device(0, ctypes.byref(How()), ctypes.byref(chip)) == 0

    def again() -> None:
        while not over.is_set():
            nrt.ndl_reset_ncs(0, 1, ctypes.byref(ctypes.c_uint32()))

    def train() -> None:
        while True:
            layer(x).sum().backward()

    resetting = threading.Thread(target=again)
    resetting.start()
    try:
        raises(runtime.NeuronError, "nd0 nc0 was reset", train)
    finally:
        over.set()
        resetting.join()
        nrt.ndl_close_device(chip)
    with contextlib.suppress(runtime.NeuronError):  # of a reset after that one
        x + 1
    assert kept.tolist() == [0, 1, 2, 3, 4] and torch.ones(3, device="neuron").add(1).tolist() == [2, 2, 2]
    layer.zero_grad()
    layer(x).sum().backward()
    near(layer.bias.grad.cpu(), torch.full((64,), 64.0))


def saved() -> None:
    """Checkpoints of the device's tensors load on the CPU, and on the device."""
    model = perceptron_of().to("neuron")
    kept = io.BytesIO()
    torch.save(model.state_dict(), kept)
    for place in ("cpu", "neuron", None):
        kept.seek(0)
        state = torch.load(kept, map_location=place)
        assert all(value.device.type == ("cpu" if place == "cpu" else "neuron") for value in state.values())
        near(back(state), back(model.state_dict()))


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, place: int) -> Tensor:
        return torch.full((2,), float(place))


def loaded() -> None:
    """Workers of a DataLoader are forked from a process that uses the chips."""
    torch.ones(1, device="neuron")
    batches = [batch.to("neuron") for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)]
    near(torch.cat(batches).cpu(), torch.arange(8.0)[:, None].expand(8, 2))


def random() -> None:
    """Numbers are the CPU's generator's, for operators one by one and compiled."""
    def draws(place: str) -> tuple:
        torch.manual_seed(3)
        return torch.rand(3, device=place), torch.randn(2, 2, device=place), torch.empty(4, device=place).uniform_(-1, 1), torch.randperm(5, device=place)

    near(back(draws("neuron")), draws("cpu"))
    state = torch.neuron.get_rng_state()
    x = torch.rand(3, device="neuron")
    ours, theirs = (torch.bernoulli(torch.full((9,), 0.5, device=place), generator=torch.Generator().manual_seed(4)) for place in ("neuron", "cpu"))
    near(ours.cpu(), theirs)
    torch.neuron.set_rng_state(state)
    assert torch.rand(3, device="neuron").equal(x)
    y = F.dropout(torch.ones(200, 100, device="neuron"), 0.3)
    assert 0.27 < float((y == 0).float().mean()) < 0.33


def names() -> None:
    """What programs ask of torch.neuron"""
    assert torch.neuron.is_available() and torch.neuron.device_count() == 2 and torch.neuron.current_device() == 0 and torch.neuron.is_bf16_supported()
    assert torch_neuronx.device_count() == 2 and torch_neuronx.get_device_name() == "trn1" and torch_neuronx.device is torch.neuron.device
    assert torch.neuron.get_device_name() == "trn1" and torch.accelerator.current_accelerator().type == "neuron"
    with torch.neuron.device(1):
        assert torch.ones(2, device="neuron").device.index == 1
    near((torch.ones(3, device="neuron:1") * 2).cpu(), torch.full((3,), 2.0))
    first, last = (torch.neuron.Event(enable_timing=True) for _ in range(2))
    with torch.neuron.stream(torch.neuron.Stream()):
        first.record()
        torch.ones(9, device="neuron").sum()
        last.record()
    torch.neuron.synchronize()
    assert first.elapsed_time(last) > 0


POINTS = {"tensors": tensors, "types": types, "wide integers": wide_integers, "operators": operators, "trainings": trainings, "modules": modules, "compiled": compiled, "mixed": mixed,
          "compiled once": compiled_once, "parameters": parameters, "optimizers": optimizers, "edges": edges, "overlapping": overlapping, "fallback": fallback, "memory": memory, "refused": refused, "resets": resets, "saved": saved, "loaded": loaded, "pinned": pinned, "random": random, "names": names}


if __name__ == "__main__":
    torch.manual_seed(0)
    run_points(POINTS)
