# SPDX-License-Identifier: MIT
"""Convolutions and pools that torch-mlir (20261001) does not lower, or not rightly, and their gradients"""

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

aten = torch.ops.aten


def _max_pool_backward(n: int) -> Callable:
    """Of n dimensions: each window's gradient goes to the element that was its maximum, whose place in the image the indices are, the last argument."""

    def backward(gradient: Tensor, x: Tensor, *how: object, **named: Tensor) -> Tensor:
        indices = named["indices"] if named else how[-1]
        rows = x.shape[:-n].numel()
        if not rows:
            return torch.zeros_like(x)
        flat = x.new_zeros(rows, math.prod(x.shape[-n:]))
        return flat.scatter_add(1, indices.reshape(rows, -1), gradient.reshape(rows, -1)).reshape(x.shape)

    return backward


def _fitted(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """The first elements of each image dimension, with zeros behind where there are fewer"""
    for number, size in enumerate(sizes):
        dim = x.dim() - len(sizes) + number
        if x.shape[dim] > size:
            x = x.narrow(dim, 0, size)
        elif x.shape[dim] < size:
            x = torch.cat([x, x.new_zeros([*x.shape[:dim], size - x.shape[dim], *x.shape[dim + 1:]])], dim)
    return x


def _spread(gradient: Tensor, weight: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, sizes: Sequence[int]) -> Tensor:
    """The gradient of a convolution's input: of the gradient with zeros between and around by the kernel from its end, channels exchanged"""
    n, dims = len(sizes), list(range(2, weight.dim()))
    outputs, inputs = weight.shape[0], weight.shape[1]
    kernel = weight.reshape([groups, outputs // groups, *weight.shape[1:]]).transpose(1, 2).reshape([groups * inputs, outputs // groups, *weight.shape[2:]]).flip(dims)
    for number, step in enumerate(stride):
        dim = 2 + number
        if step > 1:
            apart = torch.stack([gradient, *[torch.zeros_like(gradient)] * (step - 1)], dim + 1)
            gradient = apart.flatten(dim, dim + 1).narrow(dim, 0, (gradient.shape[dim] - 1) * step + 1)
    reach = [dilation[i] * (weight.shape[2 + i] - 1) for i in range(n)]
    around: list[int] = []
    for i in reversed(range(n)):
        behind = sizes[i] + padding[i] - gradient.shape[2 + i]  # so that the result has the input's size
        around += [reach[i] - padding[i], behind]
    return aten.convolution(F.pad(gradient, around), kernel, None, [1] * n, [0] * n, list(dilation), False, [0] * n, groups)


def _kernel_gradient(gradient: Tensor, x: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, sizes: Sequence[int]) -> Tensor:
    """The gradient of a convolution's kernel: of the input by the gradient as a kernel, images and channels exchanged"""
    n, images = len(sizes), x.shape[0]
    channels = x.shape[1] // groups
    turned = x.reshape([images, groups, channels, *x.shape[2:]]).permute([2, 1, 0, *range(3, 3 + n)]).reshape([channels, groups * images, *x.shape[2:]])
    result = aten.convolution(turned, gradient.transpose(0, 1), None, list(dilation), list(padding), list(stride), False, [0] * n, groups)
    return _fitted(result.transpose(0, 1), sizes)


def _convolution_backward(gradient: Tensor, x: Tensor, weight: Tensor, bias_sizes: object, stride: Sequence[int], padding: Sequence[int],
                          dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int, output_mask: Sequence[bool]) -> tuple:
    n = x.dim() - 2
    stride, padding, dilation = (list(given) * n if len(given) == 1 else list(given) for given in (stride, padding, dilation))
    of_input = of_kernel = of_bias = None
    if output_mask[0]:  # the rows that output_padding brings reach no element of a transposed one's input
        of_input = (_fitted(aten.convolution(gradient, weight, None, stride, padding, dilation, False, [0] * n, groups), x.shape[2:]) if transposed
                    else _spread(gradient, weight, stride, padding, dilation, groups, x.shape[2:]))
    if output_mask[1]:
        image, kernel = (gradient, x) if transposed else (x, gradient)
        of_kernel = _kernel_gradient(kernel, image, stride, padding, dilation, groups, weight.shape[2:])
    if output_mask[2]:
        of_bias = gradient.sum([0, *range(2, gradient.dim())])
    return of_input, of_kernel, of_bias


def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
                 output_padding: Sequence[int], groups: int) -> Tensor:
    """Of transposed ones; the others stay as they are."""
    if not transposed:
        return NotImplemented
    n = x.dim() - 2
    stride, padding, dilation, more = (list(given) * n if len(given) == 1 else list(given) for given in (stride, padding, dilation, output_padding))
    sizes = [(x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[2 + i] - 1) + more[i] + 1 for i in range(n)]
    result = _spread(x, weight, stride, padding, dilation, groups, sizes)
    return result if bias is None else result + bias.reshape([-1, *[1] * n])


def _avg_pool_backward(n: int) -> Callable:
    def backward(gradient: Tensor, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool, count_include_pad: bool,
                 divisor_override: int | None) -> Tensor:
        kernel, stride, padding = (list(given) * n if len(given) == 1 else list(given) for given in (kernel, stride or kernel, padding))
        counts = _counts(x, kernel, stride, padding, gradient.shape[-n:], ceil_mode, count_include_pad, divisor_override)
        rows = gradient.reshape(-1, 1, *gradient.shape[-n:]) / counts
        return _spread(rows, x.new_ones(1, 1, *kernel), stride, padding, [1] * n, 1, x.shape[-n:]).reshape(x.shape)

    return backward


def _shares(size: int, parts: int, like: Tensor) -> Tensor:
    """What each element is of the mean of each part of an adaptive pool"""
    place, part = torch.arange(size, device=like.device), torch.arange(parts, device=like.device)[:, None]
    first, end = part * size // parts, ((part + 1) * size + parts - 1) // parts
    return ((place >= first) & (place < end)).to(like.dtype) / (end - first)


def _adaptive_avg_pool_backward(n: int) -> Callable:
    def backward(gradient: Tensor, x: Tensor) -> Tensor:
        for dim in range(x.dim() - n, x.dim()):
            gradient = (gradient.transpose(dim, -1) @ _shares(x.shape[dim], gradient.shape[dim], gradient)).transpose(dim, -1)
        return gradient

    return backward


def _counts(x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], outputs: Sequence[int], ceil_mode: bool,
            count_include_pad: bool, divisor_override: int | None) -> Tensor | float:
    """By what each window's sum is divided"""
    if divisor_override or (count_include_pad and not ceil_mode) or not (any(padding) or ceil_mode):
        return divisor_override or math.prod(kernel)
    n = len(kernel)
    value = 1.0 if count_include_pad else 0.0
    there = F.pad(x.new_ones(1, 1, *x.shape[-n:]), [part for size in reversed(padding) for part in (size, size)], value=value)
    reach = [(outputs[i] - 1) * stride[i] + kernel[i] for i in range(n)]
    return aten.convolution(_fitted(there, reach), x.new_ones(1, 1, *kernel), None, stride, [0] * n, [1] * n, False, [0] * n, 1)


def _avg_pool(n: int) -> Callable:
    """Of n dimensions; those whose windows all count the same stay as they are."""

    def pool(x: Tensor, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
        if not divisor_override and not ceil_mode and n < 3 and (count_include_pad or not any(padding)):
            return NotImplemented if stride else aten.avg_pool2d.default(x, kernel, kernel, padding)
        kernel, stride, padding = (list(given) * n if len(given) == 1 else list(given) for given in (kernel, stride or kernel, padding))
        outputs = _pooled(x.shape[-n:], kernel, stride, padding, ceil_mode)
        rows = F.pad(x.reshape(-1, 1, *x.shape[-n:]), [part for size in reversed(padding) for part in (size, size)])
        reach = [(outputs[i] - 1) * stride[i] + kernel[i] for i in range(n)]
        sums = aten.convolution(_fitted(rows, reach), x.new_ones(1, 1, *kernel), None, stride, [0] * n, [1] * n, False, [0] * n, 1)
        means = sums / _counts(x, kernel, stride, padding, outputs, ceil_mode, count_include_pad, divisor_override)
        return means.to(x.dtype).reshape(*x.shape[:-n], *outputs)

    return pool


def _pooled(sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool, dilation: Sequence[int] | None = None) -> list[int]:
    """The sizes of a pool's result; a last window begins within the image or the padding before it"""
    found = []
    for i, size in enumerate(sizes):
        reach = (dilation[i] if dilation else 1) * (kernel[i] - 1) + 1
        room = size + 2 * padding[i] - reach
        count = (room + stride[i] - 1 if ceil_mode else room) // stride[i] + 1
        found.append(count - 1 if ceil_mode and (count - 1) * stride[i] >= size + padding[i] else count)
    return found


def _max_pool(n: int) -> Callable:
    """The greatest of a window's elements, one by one, and its place in the image. Of two dimensions those whose windows all lie within stay as they are."""

    def pool(x: Tensor, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,),
             ceil_mode: bool = False) -> tuple[Tensor, Tensor]:
        if n == 2 and not ceil_mode:  # a step that is not given is the window's size; torch-mlir takes it for 1
            return NotImplemented if stride else aten.max_pool2d_with_indices.default(x, kernel, kernel, padding, dilation)
        kernel, stride, padding, dilation = (list(given) * n if len(given) == 1 else list(given) for given in (kernel, stride or kernel, padding, dilation))
        sizes = _pooled(x.shape[-n:], kernel, stride, padding, ceil_mode, dilation)
        least = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
        reach = [(sizes[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
        around = [part for i in reversed(range(n)) for part in (padding[i], max(0, reach[i] - padding[i] - x.shape[i - n]))]
        place = torch.arange(math.prod(x.shape[-n:]), device=x.device).reshape(x.shape[-n:])
        values, places = F.pad(x, around, value=least), F.pad(place, around, value=-1)
        best = where = None
        for at in itertools.product(*map(range, kernel)):
            part, there = values, places
            for i in range(n):
                first = at[i] * dilation[i]
                part, there = (aten.slice(t, t.dim() - n + i, first, first + (sizes[i] - 1) * stride[i] + 1, stride[i]) for t in (part, there))
            there = there.expand(part.shape)
            if best is None:
                best, where = part, there
            else:
                greater = (part > best) | (part != part) | ((where < 0) & (there >= 0))
                best, where = torch.where(greater, part, best), torch.where(greater, there, where)
        return best, where

    return pool


def _adaptive_avg_pool(n: int) -> Callable:
    """Of n dimensions; those of parts of one size stay as they are, but for three dimensions."""

    def pool(x: Tensor, sizes: Sequence[int]) -> Tensor:
        if n < 3 and all(x.shape[i - n] % sizes[i] == 0 for i in range(n)):
            return NotImplemented
        for i in range(n):
            dim = x.dim() - n + i
            x = (x.transpose(dim, -1) @ _shares(x.shape[dim], sizes[i], x).T).transpose(dim, -1)
        return x

    return pool


def _adaptive_max_pool(n: int) -> Callable:
    """The greatest of each part, and its place in the image: of each dimension the elements of the longest part, of which some count for less"""

    def pool(x: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        image = x.shape[-n:]
        place = torch.arange(math.prod(image), device=x.device).reshape(image)
        values, there = x, torch.ones(image, dtype=torch.bool, device=x.device)
        for i in range(n):  # each dimension becomes two: the parts, and what is in them
            part = torch.arange(sizes[i], device=x.device)
            first, end = part * image[i] // sizes[i], ((part + 1) * image[i] + sizes[i] - 1) // sizes[i]
            longest = max(-(-(p + 1) * image[i] // sizes[i]) - p * image[i] // sizes[i] for p in range(sizes[i]))
            at = first[:, None] + torch.arange(longest, device=x.device)
            flat = at.clamp(max=image[i] - 1).reshape(-1)
            values = values.index_select(values.dim() - n + i, flat)
            place, there = (t.index_select(i, flat) for t in (place, there))
            there = there & (at < end[:, None]).reshape([-1 if dim == i else 1 for dim in range(n)])
        apart = [part for i in range(n) for part in (sizes[i], values.shape[i - n] // sizes[i])]
        order = [*range(0, 2 * n, 2), *range(1, 2 * n, 2)]
        lead = x.dim() - n
        values = torch.where(there, values, -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min)
        values = values.reshape(*x.shape[:-n], *apart).permute(*range(lead), *(lead + at for at in order)).reshape(*x.shape[:-n], *sizes, -1)
        place = place.reshape(apart).permute(order).reshape(*sizes, -1).expand(values.shape)
        best, where = values.max(-1)
        return best, place.gather(-1, where[..., None]).squeeze(-1)

    return pool


TABLE = {aten.max_pool2d_with_indices_backward.default: _max_pool_backward(2), aten.convolution_backward.default: _convolution_backward,
         aten.convolution.default: _convolution, aten.avg_pool2d_backward.default: _avg_pool_backward(2),
         aten.avg_pool3d_backward.default: _avg_pool_backward(3), aten._adaptive_avg_pool2d_backward.default: _adaptive_avg_pool_backward(2),
         aten._adaptive_avg_pool3d_backward.default: _adaptive_avg_pool_backward(3), aten.avg_pool2d.default: _avg_pool(2),
         aten.avg_pool3d.default: _avg_pool(3), aten._adaptive_avg_pool2d.default: _adaptive_avg_pool(2),
         aten._adaptive_avg_pool3d.default: _adaptive_avg_pool(3), aten.max_pool2d_with_indices.default: _max_pool(2),
         aten.max_pool3d_with_indices.default: _max_pool(3), aten.max_pool3d_with_indices_backward.default: _max_pool_backward(3),
         aten.adaptive_max_pool2d.default: _adaptive_max_pool(2), aten.adaptive_max_pool3d.default: _adaptive_max_pool(3),
         aten.adaptive_max_pool2d_backward.default: _max_pool_backward(2), aten.adaptive_max_pool3d_backward.default: _max_pool_backward(3),
         aten.fractional_max_pool2d_backward.default: _max_pool_backward(2), aten.fractional_max_pool3d_backward.default: _max_pool_backward(3)}
