#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Each core ATen operator on the device "neuron", as PyTorch's own samples call it, against the CPU; and torch_neuronx/operators.tsv against what is so. As TAP.

usage: torch_operators.py [--table] [OPERATOR...]    in an environment of environments.torch_native(), with the wheel. --table: print the table as it should be

Samples are those of torch.testing (op_db), forward and backward: what core operators they consist of is written down as they run on the CPU.
"""

import sys
import types
import unittest
import warnings
from collections.abc import Iterator

# torch.testing's list of operators imports it for a class of tests that is not used here
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch_neuronx import eager, operators, registration

from torch_comparisons import drawn, numbers

warnings.simplefilter("ignore")
registration.register()

aten = torch.ops.aten
MOST = 6  # calls of an operator that are tried
COMPLEX = (aten._fft_c2r.default, aten._fft_r2c.default)
WIDE = (torch.float64, torch.complex64, torch.complex128)
Call = tuple[tuple, dict]


def more() -> dict[torch._ops.OpOverload, list[Call]]:
    """Calls of what op_db's samples do not come to"""
    x, image, whole = drawn(3, 4), drawn(2, 3, 8, 8), numbers(9, 3, 4)
    weight, bias, mean, variance = (drawn(3) + 3 for _ in range(4))
    return {
        aten._native_batch_norm_legit.no_stats: [((image, weight, bias, True, 0.1, 1e-5), {})],
        aten._native_batch_norm_legit_no_training.default: [((image, weight, bias, mean, variance, 0.1, 1e-5), {})],
        aten.adaptive_avg_pool1d.default: [((image[0], [2]), {}), ((image[0], [3]), {})], aten.avg_pool1d.default: [((image[0], [3], [2], [1]), {})],
        aten.atan2.out: [((x, x + 1), {"out": torch.empty_like(x)})],
        **{getattr(aten, name).Scalar: [((whole, 5), {})] for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
        aten.copy.default: [((x, x + 1), {})], aten.div.Scalar_mode: [((x, 0.5), {"rounding_mode": mode}) for mode in (None, "trunc", "floor")],
        aten.fmod.Scalar: [((x, 0.7), {}), ((whole, 4), {})], aten.native_dropout.default: [((x, 0.0, True), {}), ((x, 0.5, False), {})],
        aten.randperm.default: [((5,), {"device": torch.device("cpu"), "pin_memory": False})],
        aten.reflection_pad3d.default: [((drawn(2, 3, 4, 5), [1, 1, 2, 1, 1, 1]), {})], aten.replication_pad3d.default: [((drawn(2, 3, 4, 5), [1, 1, 2, 1, 1, 1]), {})],
        aten.upsample_bilinear2d.vec: [((image, [5, 9], False, None), {}), ((image, None, True, [2.0, 1.5]), {})],
        aten.upsample_nearest2d.vec: [((image, [5, 9], None), {}), ((image, None, [2.0, 1.5]), {})], aten.var.dim: [((x, [1]), {}), ((x, [0], False, True), {})],
        aten.sym_is_contiguous.default: [((x,), {})], aten.sym_size.int: [((x, 1), {})], aten.sym_stride.int: [((x, 1), {})], aten.sym_numel.default: [((x,), {})], aten.sym_storage_offset.default: [((x[1:],), {})],
    }


class _Watch(TorchDispatchMode):
    def __init__(self, found: dict[torch._ops.OpOverload, list[Call]]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: torch._ops.OpOverload, kinds: object, args: tuple = (), kwargs: dict | None = None) -> object:
        calls = self.found.get(func)
        if calls is not None and len(calls) < MOST and fits((args, kwargs)):
            calls.append(copied((args, kwargs or {})))
        return func(*args, **kwargs or {})


def copied(call: Call, place: str = "cpu") -> Call:
    def leaf(value: object) -> object:
        return value.detach().clone().to(place) if isinstance(value, Tensor) else torch.device(place) if isinstance(value, torch.device) else value

    return pytree.tree_map(leaf, call)


def calls() -> dict[torch._ops.OpOverload, list[Call]]:
    found: dict[torch._ops.OpOverload, list[Call]] = {op: [] for op in operators.core()}
    for info in op_db:
        for dtype in (torch.float32, torch.int64, torch.bool):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            gradient = dtype == torch.float32 and info.supports_autograd
            try:
                for _, sample in zip(range(9), info.sample_inputs("cpu", dtype, requires_grad=gradient)):
                    with _Watch(found):
                        results = pytree.tree_leaves(info.op(sample.input, *sample.args, **sample.kwargs))
                        if gradients := [value for value in results if isinstance(value, Tensor) and value.requires_grad]:
                            torch.autograd.backward([value.sum() for value in gradients])
            except Exception:  # an error of the sample's, or of a library that is not there: the calls until then count
                continue
    for op, examples in more().items():
        found[op] += examples
    return found


def fits(call: Call) -> bool:
    """Whether a call is of types and numbers that the chips have"""
    leaves = pytree.tree_leaves(call)
    return not any(value in WIDE if isinstance(value, torch.dtype) else isinstance(value, Tensor) and (
        value.dtype in WIDE or (value.dtype == torch.int64 and value.numel() and int(value.abs().max()) >= 1 << 31)) for value in leaves)


def different(ours: object, theirs: object) -> str:
    for a, b in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
        if not isinstance(b, Tensor):
            if a != b and a == a and not isinstance(b, torch.device):
                return f"{a} for {b}"
        elif a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
        elif not torch.allclose(a.cpu().double(), b.double(), rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"{a.cpu().flatten()[:4].tolist()} for {b.flatten()[:4].tolist()}"
    return ""


def state(op: torch._ops.OpOverload, examples: list[Call]) -> tuple[str, str]:
    """"core", "host" or "wrong", and why"""
    there, why, tried = "core", "", 0
    for call in examples:
        given, ours = copied(call), copied(call, "neuron")
        torch.manual_seed(0)
        try:
            theirs = op(*given[0], **given[1])
        except Exception:
            continue
        tried += 1
        before = dict(eager.fallen_back)
        torch.manual_seed(0)
        try:
            made = op(*ours[0], **ours[1])
        except Exception as error:
            return "wrong", repr(error)
        if eager.fallen_back != before:
            there, why = "host", next(str(error) for error in reversed(eager._programs.values()) if isinstance(error, Exception))
        if "empty" not in str(op) and (said := different((made, ours), (theirs, given))):
            return "wrong", said
    if op in COMPLEX:
        return "host", "the chips have no complex numbers"
    return (there, why) if tried else ("wrong", "no call of it is known")


def points(names: list[str]) -> Iterator[tuple[str, str, str]]:
    for op, examples in calls().items():
        if not names or any(name in str(op) for name in names):
            yield str(op).removeprefix("aten."), *state(op, examples)


def main() -> int:
    names = [name for name in sys.argv[1:] if name != "--table"]
    found = list(points(names))
    if "--table" in sys.argv:
        for name, there, why in found:
            print(name, there, " ".join(why.split())[:100] if there != "core" else "", sep="\t")
        return 0
    table = {name: there for name, there, _ in operators.table()}
    wrong = [(name, there, why) for name, there, why in found if there != table.get(name)]
    print(f"1..{len(found)}")
    for number, (name, there, why) in enumerate(found, 1):
        print(f"{'not ok' if (name, there, why) in wrong else 'ok'} {number} - {name}: {there}{f' ({why[:120]!r})' if why else ''}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
