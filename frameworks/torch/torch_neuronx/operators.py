# SPDX-License-Identifier: MIT
"""The core ATen operators and where they run: what operators.tsv says, which is held to what is so (tests/frameworks/torch_operators.py)."""

from pathlib import Path

import torch


def core() -> list[torch._ops.OpOverload]:
    """The overloads that PyTorch marks as core"""
    names = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")}
    packets = (getattr(torch.ops.aten, name) for name in sorted(names))  # of what torch.ops.aten lists some are there only once they have been asked for
    overloads = (getattr(packet, name) for packet in packets for name in packet.overloads())
    return [op for op in overloads if torch.Tag.core in op.tags]


def table() -> list[tuple[str, str, str]]:
    """Name, "core" (a NeuronCore computes it) or "host" (for some arguments at least the CPU does), and why"""
    lines = Path(__file__).with_name("operators.tsv").read_text(encoding="utf-8").splitlines()
    return [tuple((line.split("\t") + [""])[:3]) for line in lines if line and not line.startswith("#")]
