#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What programs use of PyTorch beside operators, on the device "neuron" against its CPU: attention, sparse and nested tensors, profilers, variables. As TAP.

usage: torch_usage.py [POINT...]    in an environment of environments.torch_native(), with the wheel; POINT is a part of a name
"""

import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import torch
import torch_neuronx
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch_neuronx import glue, programs, registration

from points import run_points
from torch_comparisons import drawn, near, numbers, raises

warnings.simplefilter("ignore")
registration.register()  # as `import torch` does of an installed wheel


def plain(value: object) -> object:
    """Of the CPU's, in one storage"""
    def made(x: object) -> object:
        if not isinstance(x, Tensor):
            return x
        x = x.detach().cpu()
        return x.to_padded_tensor(0.0) if x.is_nested else x.to_dense() if x.layout != torch.strided else x

    return torch.utils._pytree.tree_map(made, value)


def same(call: Callable[[str], object]) -> None:
    """A function of a device's name gives the same for both, and what lies on the device where all of it was asked for there."""
    expected, found = call("cpu"), call("neuron")
    assert all(x.device.type == "neuron" for x in torch.utils._pytree.tree_leaves(found) if isinstance(x, Tensor))
    near(plain(found), plain(expected))


def sparse() -> None:
    """Sparse tensors are made, computed with, changed in place, copied and printed; their gradients go to what is dense."""
    def coordinates(device: str) -> tuple:
        weight = drawn(4, 2).to(device).requires_grad_()
        places = torch.tensor([[0, 1, 1, 2], [1, 0, 0, 3]]).to(device)
        x = torch.sparse_coo_tensor(places, drawn(4).to(device), (3, 4))
        (torch.sparse.mm(x, weight).sum() + (x @ weight)[1].sum()).backward()
        twice = x + x
        y = x.clone().mul_(3)
        y.add_(x)
        dense = torch.zeros(3, 4, device=device).add_(x)
        empty = x.clone()
        empty.zero_()
        assert empty._nnz() == 0 and x._nnz() == 4 and x.coalesce()._nnz() == 3 and "indices=" in repr(x)
        return (weight.grad, twice, y, dense, empty, x.t(), x.coalesce().values(), torch.sparse.sum(x, 0),
                drawn(3, 4).relu().to(device).to_sparse(), x.cpu().to(device), x.to(torch.float16).to(torch.float32), torch.sparse.softmax(x, 1))

    def rows(device: str) -> tuple:
        x = drawn(3, 4).relu().to(device).to_sparse_csr()
        weight = drawn(4, 2).to(device)
        assert x.layout == torch.sparse_csr
        return x @ weight, x * 2, x.clone().mul_(3), x.sum(), x.values(), x.cpu().to(device), torch.mv(x, weight[:, 0]), x.to_sparse_coo()

    def embedding(device: str) -> list:
        layer = nn.Embedding(10, 4, sparse=True, padding_idx=0)
        layer.weight.data = drawn(10, 4)
        layer.to(device)
        for optimizer in (torch.optim.SparseAdam(layer.parameters(), 0.1), torch.optim.SGD(layer.parameters(), 0.1), torch.optim.Adagrad(layer.parameters(), 0.1)):
            optimizer.zero_grad()
            layer(numbers(10, 2, 3).to(device)).square().sum().backward()
            optimizer.step()
        return [layer.weight, layer.weight.grad]

    for call in (coordinates, rows, embedding):
        same(call)
    assert "aten::_coalesce" in torch.neuron.get_fallback_ops()
    x = torch.eye(3, device="neuron").to_sparse_csr()
    raises(RuntimeError, "same number of specified elements", lambda: x.copy_(torch.diag(torch.tensor([1.0, 1, 0])).to_sparse_csr()))


def nested() -> None:
    """Tensors of several sizes; an encoder that leaves out what is padded gives the CPU's zeros for it."""
    def parts(device: str) -> tuple:
        x = torch.nested.nested_tensor([drawn(2, 3), drawn(1, 3)], device=device)
        return x, x * 2, x.unbind()[1], x.to_padded_tensor(-1.0)

    layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()

    def encoder(device: str) -> Tensor:
        with torch.no_grad():
            return copy.deepcopy(layer).to(device)(drawn(2, 4, 8).to(device), src_key_padding_mask=torch.tensor([[False] * 4, [False, False, True, True]]).to(device))

    same(parts)
    same(encoder)
    assert encoder("neuron")[1, 2:].count_nonzero() == 0


def answers() -> None:
    """An operator whose answer is no tensor says what holds of the elements, each time."""
    x, mask = torch.zeros(2, 3, 4, device="neuron"), torch.tensor([[True, True, False], [True, False, False]])
    assert torch._nested_tensor_from_mask_left_aligned(x, mask.to("neuron")) and not torch._nested_tensor_from_mask_left_aligned(x, mask.flip(1).to("neuron"))
    assert torch.equal(x, x.clone()) and not torch.equal(x, x + 1)
    same(lambda device: (torch.remainder(drawn(5).double().to(device), 6.28), torch.remainder(drawn(5).half().to(device), 2), drawn(4).double().to(device).fmod(3),
                         (drawn(4) > 0).to(device) & True, (drawn(4) > 0).to(device) | False, (drawn(4) > 0).to(device) ^ True))


def profiled() -> None:
    """Profilers show the programs beside the operators, of what is compiled as well, and write traces."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("neuron")
    compiled, x = torch.compile(model, backend="neuron"), torch.ones(2, 4, device="neuron")
    for _ in range(2):
        compiled(x).sum().backward()
        model(x)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], record_shapes=True) as seen:
        model(x)
        compiled(x).sum().backward()
        compiled(x)
    counts = {row.key: row.count for row in seen.key_averages()}
    assert counts["neuron::addmm"] == 1 and counts["neuron::relu"] == 1 and "aten::addmm" in counts, counts
    ways = {way: sum(count for name, count in counts.items() if name.startswith(f"neuron::{way}_")) for way in ("forward", "backward")}
    assert ways == {"forward": 2, "backward": 1}, counts
    assert "neuron::addmm" in seen.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total")
    with tempfile.TemporaryDirectory() as home:
        seen.export_chrome_trace(f"{home}/trace.json")
        events = json.loads(Path(home, "trace.json").read_text())["traceEvents"]
    assert sum(event.get("name") == "neuron::addmm" for event in events) == 1
    if glue.loaded():
        with torch.autograd.profiler.profile(use_device="neuron") as seen:
            model(x)
        assert "Self NEURON" in seen.key_averages().table() and sum(row.self_device_time_total for row in seen.key_averages()) > 0


def counted() -> None:
    """What torch.compile's backend and the memory count, and that it begins anew"""
    torch_neuronx.reset_dynamo_metrics()
    model = torch.compile(nn.Linear(3, 5), backend="neuron")
    for _ in range(3):
        model(torch.ones(2, 3)).sum().backward()
    assert torch_neuronx.get_dynamo_metrics() == {"forward_graphs": 1, "backward_graphs": 1, "executions": 6}, torch_neuronx.get_dynamo_metrics()
    torch_neuronx.reset_dynamo_metrics()
    assert not any(torch.neuron.get_dynamo_metrics().values())
    held = torch.ones(100, device="neuron")
    torch.neuron.reset_accumulated_memory_stats()
    before = torch.neuron.memory_stats()
    more = held.clone()
    after = torch.neuron.memory_stats()
    assert before["allocation.all.allocated"] == before["allocation.all.freed"] == before["num_ooms"] == 0, before
    assert after["allocation.all.allocated"] - after["allocation.all.freed"] == 1 == after["allocation.all.current"] - before["allocation.all.current"], after
    del more


@contextmanager
def variables(**values: str) -> object:
    with mock.patch.dict(os.environ, values):
        yield


def refuses(text: str) -> bytes:
    raise RuntimeError("neuronx-cc: it does not like this")


def asked() -> None:
    """Variables: files of what is compiled, no copies of the CPU's tensors, no fall-back where neuronx-cc refuses"""
    with tempfile.TemporaryDirectory() as home:
        with variables(TORCH_NEURONX_DEBUG_DIR=home, TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS="1"):
            torch.full((3, 7), 2.0, device="neuron").log2()
            torch.compile(lambda x: x.sin() * 5, backend="neuron")(torch.ones(3, 9))
        kept = {path.parent.name: path for path in sorted(Path(home).glob("*/*_log2.*"))}
        assert set(kept) == {"fx_graphs", "stablehlo", "neff"} and "stablehlo." in kept["stablehlo"].read_text() and "log2" in kept["fx_graphs"].read_text(), kept
        assert len({path.stem for path in kept.values()}) == 1 and kept["neff"].read_bytes() == programs.neff(kept["stablehlo"].read_text())
        assert len(list(Path(home).glob("stablehlo/*_forward_*.mlir"))) == 1
        torch.full((3, 8), 2.0, device="neuron").log2()
        assert len(list(Path(home).glob("*/*_log2.*"))) == 3
    double = torch.compile(lambda x: x * 2, backend="neuron")
    near(double(torch.ones(3)), torch.full((3,), 2.0))
    with variables(TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY="1"):
        raises(RuntimeError, "Input tensor at index 0 is on cpu device", lambda: double(torch.ones(3)))
        near(double(torch.ones(3, device="neuron")).cpu(), torch.full((3,), 2.0))
    x = drawn(3, 11).to("neuron")
    with mock.patch.object(programs, "neff", refuses):
        near((x @ x.T).cpu(), drawn(3, 11) @ drawn(3, 11).T)
        assert "aten::mm" in torch.neuron.get_fallback_ops()
        with variables(TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS="1"):
            raises(RuntimeError, "does not like", lambda: x[:, 1:] @ x[:, 1:].T)
            assert torch.linalg.qr(x)[1].shape == (3, 11)
    near((x[:, 1:] @ x[:, 1:].T).cpu(), drawn(3, 11)[:, 1:] @ drawn(3, 11)[:, 1:].T)


INTERRUPTED = """
import torch
from torch_neuronx import registration
registration.register()
x = torch.ones(64, 64, device="neuron")
(x @ x).sum().item()
for number in range(4):
    try:
        print((x @ x).sum().item(), flush=True)
        while number < 3:
            (x @ x).sum().item()
    except KeyboardInterrupt:
        pass
"""


def interrupted() -> None:
    """Ctrl-C ends what runs, and the process goes on"""
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        for number in range(4):
            assert process.stdout.readline() == f"{64.0 ** 3}\n"
            if number < 3:
                process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def attention() -> None:
    """Attention without gradients is one program, of every form of mask; with gradients, in graphs and under vmap it is what it is made of"""
    attend = nn.functional.scaled_dot_product_attention
    q, k, v = drawn(2, 4, 7, 16), drawn(2, 4, 9, 16), drawn(2, 4, 9, 16)
    masked = torch.rand(7, 9) > 0.3
    masked[3] = False  # a row that sees nothing
    forms = [{}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": drawn(7, 9)}, {"attn_mask": masked}, {"attn_mask": torch.rand(2, 1, 7, 9) > 0.3}]
    for form in forms:
        expected = attend(q, k, v, **form)
        torch.neuron.clear_op_tracking()
        found = attend(*(x.to("neuron") for x in (q, k, v)), **{name: x.to("neuron") if isinstance(x, Tensor) else x for name, x in form.items()})
        assert torch.neuron.get_executed_ops() == ["aten::scaled_dot_product_attention"], form
        near(found.cpu(), expected)
    near(attend(q.to("neuron"), k[:, :2].to("neuron"), v[:, :2].to("neuron"), enable_gqa=True).cpu(), attend(q, k[:, :2], v[:, :2], enable_gqa=True))

    def trained(device: str) -> tuple:
        x = q.detach().clone().to(device).requires_grad_()
        attend(x, k.to(device), v.to(device), is_causal=True).square().sum().backward()
        return x.grad, torch.vmap(attend)(*(y.to(device)[None] for y in (q, k, v)))

    same(trained)
    near(torch.compile(attend, backend="neuron")(*(x.to("neuron") for x in (q, k, v)), is_causal=True).cpu(), attend(q, k, v, is_causal=True))


def encoders() -> None:
    """A layer of nn.TransformerEncoder, or an nn.MultiheadAttention, is one program where no gradient is asked for, with each kind of mask"""
    x, padded = drawn(2, 9, 64), torch.arange(9)[None] > torch.tensor([[6], [8]])
    causal, some = nn.Transformer.generate_square_subsequent_mask(9), torch.rand(9, 9) > 0.8
    masks = [{}, {"src_mask": causal}, {"src_mask": some}, {"src_key_padding_mask": padded}, {"src_mask": some, "src_key_padding_mask": padded}]
    for norm_first in (False, True):
        layer = nn.TransformerEncoderLayer(64, 4, 96, batch_first=True, norm_first=norm_first, activation="gelu" if norm_first else "relu").eval()
        ours = copy.deepcopy(layer).to("neuron")
        for mask in masks:
            with torch.no_grad():
                expected = layer(x, **mask)
                torch.neuron.clear_op_tracking()
                found = ours(x.to("neuron"), **{name: value.to("neuron") for name, value in mask.items()})
            near(found.cpu(), expected)
            assert "aten::_transformer_encoder_layer_fwd" in torch.neuron.get_executed_ops() and not torch.neuron.get_fallback_ops()
    attend = nn.MultiheadAttention(64, 4, batch_first=True).eval()
    ours, y = copy.deepcopy(attend).to("neuron"), x.to("neuron")
    for options in ({}, {"average_attn_weights": False}, {"need_weights": False}):
        with torch.no_grad():
            near(plain(ours(y, y, y, **options)), plain(attend(x, x, x, **options)))


POINTS = {"attention": attention, "encoders": encoders, "sparse": sparse, "nested": nested, "answers": answers, "profiled": profiled, "counted": counted, "asked": asked, "interrupted": interrupted}


if __name__ == "__main__":
    torch.manual_seed(0)
    run_points(POINTS)
