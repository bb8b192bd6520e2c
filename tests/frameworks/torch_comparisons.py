# SPDX-License-Identifier: MIT
"""What the checks of PyTorch's ways compare with, and how"""

from collections.abc import Callable

import torch
from torch import Tensor

Structure = Tensor | tuple | list | dict | None


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def numbers(most: int, *shape: int) -> Tensor:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(most))


def near(ours: Structure, theirs: Structure, name: str = "result", tolerance: float = 2e-5) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == {key for key, value in theirs.items() if value is not None}, f"{name}: {ours.keys()}"
        for key in ours:
            near(ours[key], theirs[key], f"{name}[{key}]", tolerance)
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            near(a, b, f"{name}[{i}]", tolerance)
    elif theirs is None:
        assert ours is None, f"{name}: {ours}"
    else:
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, f"{name}: {ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
        assert torch.allclose(ours.double(), theirs.double(), rtol=tolerance, atol=tolerance, equal_nan=True), f"{name}: {(ours.double() - theirs.double()).abs().max()}"


def raises(kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), f"{words}: {error}"
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")
