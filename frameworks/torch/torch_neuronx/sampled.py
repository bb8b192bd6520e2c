# SPDX-License-Identifier: MIT
"""Images that are resized, padded or sampled at places of a grid, and their gradients, as sums of some elements by weights"""

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

aten = torch.ops.aten
Taps = list[tuple[Tensor, Tensor | None]]  # for each place of a result elements of a dimension, and their weights
A = -0.75  # of cubic convolution


def _cubic(t: Tensor) -> list[Tensor]:
    """The weights of the elements at -1, 0, 1 and 2, of a place t behind 0"""
    def outer(d: Tensor) -> Tensor:
        return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A

    def inner(d: Tensor) -> Tensor:
        return ((A + 2) * d - (A + 3)) * d * d + 1

    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


def _cubic_slopes(t: Tensor) -> list[Tensor]:
    def outer(d: Tensor) -> Tensor:
        return (3 * A * d - 10 * A) * d + 8 * A

    def inner(d: Tensor) -> Tensor:
        return (3 * (A + 2) * d - 2 * (A + 3)) * d

    return [outer(t + 1), inner(t), -inner(1 - t), -outer(2 - t)]


def _taps(kind: str, size: int, outputs: int, scale: float | None, align_corners: bool, device: torch.device) -> Taps:
    place = torch.arange(outputs, dtype=torch.float32, device=device)
    if align_corners:
        source = place * ((size - 1) / (outputs - 1) if outputs > 1 else 0.0)
    else:
        step = 1 / scale if scale else size / outputs
        source = place * step if kind == "nearest" else (place + 0.5) * step if kind == "exact" else (place + 0.5) * step - 0.5
    if kind in ("nearest", "exact"):
        return [(torch.floor(source).to(torch.int64).clamp(max=size - 1), None)]
    if kind == "linear":
        source = source.clamp(min=0.0)
        first = torch.floor(source).to(torch.int64).clamp(max=size - 1)
        part = (source - first).clamp(0.0, 1.0)
        return [(first, 1 - part), ((first + 1).clamp(max=size - 1), part)]
    first = torch.floor(source)
    return [((first + k - 1).clamp(0, size - 1).to(torch.int64), weight) for k, weight in enumerate(_cubic(source - first))]


def _along(weight: Tensor, x: Tensor, dim: int) -> Tensor:
    return weight.reshape([-1 if at == dim else 1 for at in range(x.dim())])


def _gathered(x: Tensor, dim: int, taps: Taps) -> Tensor:
    parts = [x.index_select(dim, at) if weight is None else x.index_select(dim, at) * _along(weight, x, dim) for at, weight in taps]
    return sum(parts[1:], parts[0])


def _given_back(gradient: Tensor, dim: int, taps: Taps, size: int) -> Tensor:
    """Each place's gradient goes to the elements that it is made of."""
    parts = [gradient if weight is None else gradient * _along(weight, gradient, dim) for _, weight in taps]
    places = [at for at, _ in taps]
    made = gradient.new_zeros([*gradient.shape[:dim], size, *gradient.shape[dim + 1:]])
    return made.index_add(dim, torch.cat(places) if len(places) > 1 else places[0], torch.cat(parts, dim) if len(parts) > 1 else parts[0])


def _wide(function: Callable[..., Tensor]) -> Callable:
    """Numbers of 16 bits are added up with 32."""
    def computed(x: Tensor, *given: object, **named: object) -> Tensor:
        if x.dtype not in (torch.float16, torch.bfloat16):
            return function(x, *given, **named)
        return function(x.float(), *given, **named).to(x.dtype)

    return computed


def _upsample(kind: str, n: int) -> Callable:
    def upsample(x: Tensor, outputs: Sequence[int], *how: object) -> Tensor:
        aligned, scales = (how[0], how[1:]) if kind in ("linear", "cubic") else (False, how)
        for i in range(n):
            x = _gathered(x, 2 + i, _taps(kind, x.shape[2 + i], outputs[i], scales[i] if i < len(scales) else None, aligned, x.device))
        return x

    return _wide(upsample)


def _upsample_backward(kind: str, n: int) -> Callable:
    def backward(gradient: Tensor, outputs: Sequence[int], sizes: Sequence[int], *how: object) -> Tensor:
        aligned, scales = (how[0], how[1:]) if kind in ("linear", "cubic") else (False, how)
        for i in range(n):
            gradient = _given_back(gradient, 2 + i, _taps(kind, sizes[2 + i], outputs[i], scales[i] if i < len(scales) else None, aligned, gradient.device), sizes[2 + i])
        return gradient

    return _wide(backward)


def _pad_backward(n: int, reflected: bool) -> Callable:
    def backward(gradient: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
        for i in range(n):
            dim, size, left = x.dim() - 1 - i, x.shape[x.dim() - 1 - i], padding[2 * i]
            place = torch.arange(gradient.shape[dim], device=gradient.device) - left
            if reflected:
                place = place.abs()
                place = size - 1 - (size - 1 - place).abs()
            gradient = _given_back(gradient, dim, [(place.clamp(0, size - 1), None)], size)
        return gradient

    return _wide(backward)


class _Grid:
    """Places in an image, one for each element of a grid: of each dimension the elements that it is made of, their weights, and by how much a weight grows"""

    def __init__(self, sizes: Sequence[int], grid: Tensor, mode: int, padding: int, align_corners: bool) -> None:
        self.sizes, self.padding, self.aligned = sizes, padding, align_corners
        rows = grid.reshape(grid.shape[0], -1, len(sizes))
        self.taps = [self._of(rows[:, :, len(sizes) - 1 - i], size, mode) for i, size in enumerate(sizes)]

    def _of(self, x: Tensor, size: int, mode: int) -> list[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
        growth = (size - 1) / 2 if self.aligned else size / 2
        place = (x + 1) / 2 * (size - 1) if self.aligned else ((x + 1) * size - 1) / 2
        if mode == 2:
            first = torch.floor(place)
            weights, slopes = _cubic(place - first), _cubic_slopes(place - first)
            return [self._tap(self._padded(first + k - 1, size)[0], size, weights[k], slopes[k] * growth) for k in range(4)]
        place, sign = self._padded(place, size)
        if mode == 1:
            return [self._tap(torch.round(place), size, torch.ones_like(place), None)]
        first, growth = torch.floor(place), growth * sign
        part = place - first
        return [self._tap(first, size, 1 - part, -growth), self._tap(first + 1, size, part, growth)]

    @staticmethod
    def _tap(place: Tensor, size: int, weight: Tensor, slope: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        inside = (place >= 0) & (place <= size - 1)
        return torch.where(inside, place, 0.0).to(torch.int64), inside, weight, slope

    def _padded(self, place: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Where a place beyond the image is, and the sign by which it moves with what it was; 0 where it does not"""
        sign = torch.ones_like(place)
        if self.padding == 0:
            return place, sign
        if self.padding == 2:
            least, span = (0.0, float(size - 1)) if self.aligned else (-0.5, float(size))
            if not span:
                return torch.zeros_like(place), torch.zeros_like(place)
            away = place - least
            sign = torch.where(away < 0, -1.0, 1.0)
            away = away.abs()
            turns = torch.floor(away / span)
            rest = away - turns * span
            odd = turns - 2 * torch.floor(turns / 2) != 0
            place, sign = torch.where(odd, span - rest, rest) + least, torch.where(odd, -sign, sign)
        return place.clamp(0.0, float(size - 1)), torch.where((place <= 0) | (place >= size - 1), 0.0, sign)

    def corners(self) -> list[tuple[Tensor, Tensor, list]]:
        """Of the whole: an element's place, whether it is inside, and its taps"""
        found = []
        for taps in itertools.product(*self.taps):
            place, inside = taps[0][0], taps[0][1]
            for size, tap in zip(self.sizes[1:], taps[1:], strict=True):
                place, inside = place * size + tap[0], inside & tap[1]
            found.append((place, inside, taps))
        return found


def _product(taps: Sequence[tuple], slope_of: int | None = None) -> Tensor:
    parts = [tap[3] if i == slope_of else tap[2] for i, tap in enumerate(taps)]
    result = parts[0]
    for part in parts[1:]:
        result = result * part
    return result


def _grid_sampler(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    flat = x.reshape(*x.shape[:2], -1)
    total = None
    for place, inside, taps in _Grid(x.shape[2:], grid, mode, padding, align_corners).corners():
        value = flat.gather(2, place[:, None].expand(-1, x.shape[1], -1))
        part = torch.where(inside[:, None], value * _product(taps)[:, None], 0.0)
        total = part if total is None else total + part
    return total.reshape(*x.shape[:2], *grid.shape[1:-1])


def _grid_sampler_backward(gradient: Tensor, x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool, mask: Sequence[bool]) -> tuple[Tensor | None, Tensor]:
    n = len(x.shape) - 2
    flat, rows = x.reshape(*x.shape[:2], -1), gradient.reshape(*x.shape[:2], -1)
    of_x = torch.zeros_like(flat) if mask[0] else None
    of_grid: list[Tensor | None] = [None] * n
    for place, inside, taps in _Grid(x.shape[2:], grid, mode, padding, align_corners).corners():
        places = place[:, None].expand(-1, x.shape[1], -1)
        if of_x is not None:
            of_x = of_x.scatter_add(2, places, torch.where(inside[:, None], rows * _product(taps)[:, None], 0.0))
        if mode != 1 and mask[1]:
            share = (flat.gather(2, places) * rows).sum(1)
            for i in range(n):
                part = torch.where(inside, share * _product(taps, i), 0.0)
                of_grid[i] = part if of_grid[i] is None else of_grid[i] + part
    moved = torch.stack(of_grid[::-1], -1).reshape(grid.shape) if of_grid[0] is not None else torch.zeros_like(grid)
    return None if of_x is None else of_x.reshape(x.shape), moved


TABLE = {aten.upsample_bicubic2d.default: _upsample("cubic", 2), aten.upsample_bicubic2d_backward.default: _upsample_backward("cubic", 2),
         aten.upsample_linear1d.default: _upsample("linear", 1), aten.upsample_linear1d_backward.default: _upsample_backward("linear", 1),
         aten.upsample_bilinear2d_backward.default: _upsample_backward("linear", 2), aten.upsample_trilinear3d.default: _upsample("linear", 3),
         aten.upsample_trilinear3d_backward.default: _upsample_backward("linear", 3),
         **{getattr(aten, f"{name}{n}d{suffix}").default: make(kind, n) for n in (1, 2, 3)
            for name, kind in (("upsample_nearest", "nearest"), ("_upsample_nearest_exact", "exact")) for suffix, make in (("", _upsample), ("_backward", _upsample_backward))},
         **{getattr(aten, f"{name}_pad{n}d_backward").default: _pad_backward(n, name == "reflection") for n in (1, 2, 3) for name in ("replication", "reflection")},
         aten.grid_sampler_2d.default: _grid_sampler, aten.grid_sampler_3d.default: _grid_sampler, aten.grid_sampler_2d_backward.default: _grid_sampler_backward,
         aten.grid_sampler_3d_backward.default: _grid_sampler_backward}
