# SPDX-License-Identifier: MIT
"""Operators that torch-mlir (20261001) does not lower, or not rightly, by others that it does"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

aten = torch.ops.aten

# of torch's own decompositions those that it does not take by default for whole graphs
MORE = (aten._native_batch_norm_legit, aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit_no_training, aten.native_batch_norm_backward,
        aten.native_dropout, aten.native_dropout_backward, aten.native_layer_norm_backward, aten.native_group_norm_backward, aten._softmax_backward_data,
        aten._log_softmax_backward_data, aten.embedding_dense_backward, aten.nll_loss_forward, aten.nll_loss_backward, aten.gelu_backward, aten.silu_backward,
        aten.upsample_nearest2d, aten.upsample_bilinear2d, aten.addmv, aten.lift_fresh_copy, aten._unsafe_view, aten.detach, aten.t, aten.elu_backward,
        aten.hardswish_backward, aten.hardsigmoid_backward, aten.leaky_relu_backward, aten.threshold_backward, aten.sigmoid_backward, aten.tanh_backward,
        aten.smooth_l1_loss_backward, aten.mse_loss_backward, aten.huber_loss_backward, aten.replication_pad1d, aten.replication_pad2d, aten.replication_pad3d,
        aten.grid_sampler_2d)


def _squeeze_dims(x: Tensor, dims: Sequence[int]) -> Tensor:
    dropped = {dim % x.dim() for dim in dims} if x.dim() else set()
    return x.reshape([size for dim, size in enumerate(x.shape) if not (dim in dropped and size == 1)])


def _broadcast_in_dim(x: Tensor, shape: Sequence[int], places: Sequence[int]) -> Tensor:
    return x.reshape([x.shape[list(places).index(dim)] if dim in places else 1 for dim in range(len(shape))]).expand(shape)


def _max_pool2d_backward(gradient: Tensor, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                         ceil_mode: bool, indices: Tensor) -> Tensor:
    """Each window's gradient goes to the element that was its maximum, whose place in the image the indices are."""
    rows = x.shape[:-2].numel()
    flat = x.new_zeros(rows, x.shape[-2] * x.shape[-1])
    return flat.scatter_add(1, indices.reshape(rows, -1), gradient.reshape(rows, -1)).reshape(x.shape)


def _bernoulli(x: Tensor, *, generator: object = None) -> Tensor:
    return (torch.rand(x.shape, dtype=x.dtype, device=x.device) < x).to(x.dtype)


def _bernoulli_p(x: Tensor, p: float = 0.5, *, generator: object = None) -> Tensor:
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < p).to(x.dtype)


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if size and shift % size:
            x = torch.cat([x.narrow(dim, size - shift % size, shift % size), x.narrow(dim, 0, size - shift % size)], dim)
    return x


def _cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """By steps of 1, 2, 4, ..."""
    x = x if dtype is None else x.to(dtype)
    if not x.dim():
        return x.clone()
    size, step = x.shape[dim], 1
    while step < size:
        before = torch.cat([torch.ones_like(x.narrow(dim, 0, step)), x.narrow(dim, 0, size - step)], dim)
        x, step = x * before, 2 * step
    return x


def _slice_scatter(x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Of steps of 1; torch-mlir takes the end that means all of a dimension for a number of elements."""
    if step != 1:
        return NotImplemented
    first, last, _ = slice(start, end).indices(x.shape[dim])
    return torch.cat([x.narrow(dim, 0, first), source, x.narrow(dim, max(first, last), x.shape[dim] - max(first, last))], dim)


def _any_dims(x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    return x.ne(0).to(torch.int32).amax(list(range(x.dim())) if dim is None else dim, keepdim).ne(0)


def _any(x: Tensor) -> Tensor:
    return _any_dims(x)


def _any_dim(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return _any_dims(x, [dim], keepdim)


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
    if output_mask[0]:
        of_input = (aten.convolution(gradient, weight, None, stride, padding, dilation, False, [0] * n, groups) if transposed
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


def _avg_pool2d_backward(gradient: Tensor, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
                         count_include_pad: bool, divisor_override: int | None) -> Tensor:
    kernel, stride, padding = (list(given) * 2 if len(given) == 1 else list(given) for given in (kernel, stride or kernel, padding))
    ones = x.new_ones(1, 1, *kernel)
    if divisor_override or (count_include_pad and not ceil_mode) or not (any(padding) or ceil_mode):
        counts: Tensor | float = divisor_override or math.prod(kernel)
    else:
        value = 1.0 if count_include_pad else 0.0
        there = F.pad(x.new_ones(1, 1, *x.shape[-2:]), [padding[1], padding[1], padding[0], padding[0]], value=value)
        reach = [(gradient.shape[-2 + i] - 1) * stride[i] + kernel[i] for i in range(2)]
        counts = aten.convolution(_fitted(there, reach), ones, None, stride, [0, 0], [1, 1], False, [0, 0], 1)
    rows = gradient.reshape(-1, 1, *gradient.shape[-2:]) / counts
    return _spread(rows, ones, stride, padding, [1, 1], 1, x.shape[-2:]).reshape(x.shape)


def _shares(size: int, parts: int, like: Tensor) -> Tensor:
    """What each element is of the mean of each part of an adaptive pool"""
    place, part = torch.arange(size, device=like.device), torch.arange(parts, device=like.device)[:, None]
    first, end = part * size // parts, ((part + 1) * size + parts - 1) // parts
    return ((place >= first) & (place < end)).to(like.dtype) / (end - first)


def _adaptive_avg_pool2d_backward(gradient: Tensor, x: Tensor) -> Tensor:
    rows, columns = (_shares(x.shape[dim], gradient.shape[dim], gradient) for dim in (-2, -1))
    return rows.T @ gradient @ columns


def table() -> dict[object, Callable]:
    """All decompositions of a graph before it is lowered"""
    own = {torch.ops.prims.broadcast_in_dim.default: _broadcast_in_dim, aten.squeeze.dims: _squeeze_dims, aten.slice_scatter.default: _slice_scatter, aten.roll.default: _roll, aten.cumprod.default: _cumprod,
           aten.max_pool2d_with_indices_backward.default: _max_pool2d_backward, aten.bernoulli.default: _bernoulli, aten.bernoulli.p: _bernoulli_p,
           aten.any.default: _any, aten.any.dim: _any_dim, aten.any.dims: _any_dims, aten.convolution_backward.default: _convolution_backward,
           aten.convolution.default: _convolution, aten.avg_pool2d_backward.default: _avg_pool2d_backward,
           aten._adaptive_avg_pool2d_backward.default: _adaptive_avg_pool2d_backward}
    return {**torch._decomp.core_aten_decompositions(), **torch._decomp.get_decompositions(MORE), **own}
