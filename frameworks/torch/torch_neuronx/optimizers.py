# SPDX-License-Identifier: MIT
"""What optimizers ask for: operators of lists of tensors (foreach) and whole steps (fused=True), each of them one program.

A formula gives what becomes of each list that its operator may write, None if that stays as it is; or the operator's result.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Lists = tuple[list[Tensor] | None, ...]


def _wide(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_wide(item) for item in value]
    return value.float() if isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16) else value


def _wider(formula: Callable) -> Callable:
    """Types of 16 bits are computed with 32 and narrowed at the end, as PyTorch's kernels do: bf16 has no 0.999"""
    return lambda *args, **names: formula(*map(_wide, args), **{name: _wide(value) for name, value in names.items()})


def _usable(gradients: Sequence[Tensor], scale: Tensor | None, maximize: bool) -> list[Tensor]:
    unscaled = [g if scale is None else g / scale for g in gradients]
    return [-g for g in unscaled] if maximize else unscaled


def _unless(found_inf: Tensor | None, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
    """The old values if gradients were not finite"""
    return list(new) if found_inf is None else [torch.where(found_inf == 0, a, b) for a, b in zip(new, old, strict=True)]


def _adam(decoupled: bool) -> Callable:
    def step(parameters: list[Tensor], gradients: list[Tensor], means: list[Tensor], squares: list[Tensor], most: list[Tensor], steps: list[Tensor], *,
             lr: Tensor | float, beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
             grad_scale: Tensor | None = None, found_inf: Tensor | None = None) -> Lists:
        new: list[list[Tensor]] = [[], [], [], []]
        for number, (p, g) in enumerate(zip(parameters, _usable(gradients, grad_scale, maximize), strict=True)):
            if weight_decay:
                p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
            mean = means[number] + (1 - beta1) * (g - means[number])
            square = beta2 * squares[number] + (1 - beta2) * g * g
            largest = torch.maximum(most[number], square) if amsgrad else square
            first, second = (-torch.expm1(steps[number] * math.log(beta)) if beta else 1.0 for beta in (beta1, beta2))  # 1 - beta ** step
            p = p - lr / first * mean / (largest.sqrt() / second ** 0.5 + eps)
            for place, value in zip(new, (p, mean, square, largest), strict=True):
                place.append(value)
        values = [_unless(found_inf, place, old) for place, old in zip(new, (parameters, means, squares, most if amsgrad else squares), strict=True)]
        return values[0], None, values[1], values[2], values[3] if amsgrad else None

    return step


def _sgd(parameters: list[Tensor], gradients: list[Tensor], buffers: list[Tensor], *, weight_decay: float, momentum: float, lr: Tensor | float,
         dampening: float, nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Tensor | None = None, found_inf: Tensor | None = None) -> Lists:
    new: list[list[Tensor]] = [[], []]
    for number, (p, g) in enumerate(zip(parameters, _usable(gradients, grad_scale, maximize), strict=True)):
        if weight_decay:
            g = g + weight_decay * p
        if momentum:
            buffer = g if is_first_step else momentum * buffers[number] + (1 - dampening) * g
            new[1].append(buffer)
            g = g + momentum * buffer if nesterov else buffer
        new[0].append(p - lr * g)
    return _unless(found_inf, new[0], parameters), None, _unless(found_inf, new[1], buffers) if momentum else None


STEPS = {"aten::_fused_adam_": _wider(_adam(decoupled=False)), "aten::_fused_adamw_": _wider(_adam(decoupled=True)), "aten::_fused_sgd_": _wider(_sgd)}


def _of_lists(formula: Callable, written: bool) -> Callable:
    """For each tensor of the first list; other operands are lists, too, or go with all"""
    wider = _wider(formula)

    def one(value: Tensor, *others: object, **names: object) -> Tensor:
        narrow = value.dtype in (torch.bfloat16, torch.float16) and all(other.dtype == value.dtype for other in others if isinstance(other, Tensor) and other.dim())
        return wider(value, *others, **names).to(value.dtype) if narrow else formula(value, *others, **names)

    def lists(first: list[Tensor], *others: object, **names: object) -> object:
        values = [one(value, *(other[number] if isinstance(other, (list, tuple)) else other for other in others), **names) for number, value in enumerate(first)]
        return (values,) if written else values

    return lists


def _foreach() -> dict[str, Callable]:
    formulas = {"add": lambda x, y, *, alpha=1: x + (y if isinstance(alpha, int) and alpha == 1 else y * alpha),
                "sub": lambda x, y, *, alpha=1: x - (y if isinstance(alpha, int) and alpha == 1 else y * alpha), "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
                "addcmul": lambda x, a, b, value=1: x + value * a * b, "addcdiv": lambda x, a, b, value=1: x + value * a / b,
                "lerp": lambda x, y, weight: x + weight * (y - x), "sqrt": torch.sqrt, "neg": torch.neg, "reciprocal": torch.reciprocal, "abs": torch.abs,
                "exp": torch.exp, "maximum": torch.maximum, "clamp_max": lambda x, y: torch.clamp(x, max=y), "clamp_min": lambda x, y: torch.clamp(x, min=y)}
    found = {}
    for name, formula in formulas.items():
        found[f"aten::_foreach_{name}"] = _of_lists(formula, written=False)
        found[f"aten::_foreach_{name}_"] = _of_lists(formula, written=True)
    return found


LISTS = _foreach()
