# SPDX-License-Identifier: MIT
"""torch.autocast("neuron"): the same operators as of CUDA are computed in lower precision, in 32 bits, or in the widest type of their operands.

Which ones those are PyTorch says of CUDA (its registrations); of which kind they are is in its documentation, "Autocast Op Reference".
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

LOWER = frozenset(f"aten::{name}" for name in (
    "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "prelu", "addmm", "addmv",
    "addr", "matmul", "einsum", "mm", "mv", "linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "_scaled_dot_product_flash_attention", "scaled_dot_product_attention"))
WIDEST = frozenset(f"aten::{name}" for name in (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot", "scatter_add"))

_KEY = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)


def _cast(values: object, dtype: torch.dtype) -> object:
    return pytree.tree_map(lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != torch.float64 and x.is_neuron else x, values)


def _widest(values: object) -> torch.dtype:
    found = [x.dtype for x in pytree.tree_leaves(values) if isinstance(x, Tensor) and x.is_floating_point()]
    return torch.float32 if torch.float32 in found or not found else found[0] if len(set(found)) == 1 else torch.float32


def _kernel(op: torch._ops.OpOverload) -> Callable:
    name = op._schema.name

    def kernel(*args: object, **kwargs: object) -> object:
        with torch._C._ExcludeDispatchKeyGuard(_KEY):
            dtype = (torch.get_autocast_dtype("neuron") if name in LOWER else _widest((args, kwargs)) if name in WIDEST else torch.float32)
            if name == "aten::binary_cross_entropy":
                raise RuntimeError("binary_cross_entropy and BCELoss are unsafe to autocast: binary_cross_entropy_with_logits and BCEWithLogitsLoss are not")
            new_args, new_kwargs = _cast((args, kwargs), dtype)
            return op(*new_args, **new_kwargs)

    return kernel


def register() -> list[torch.library.Library]:
    """The registrations, which end with what is given"""
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for full in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA"):
        space, _, name = full.partition("::")
        if space != "aten":
            continue
        packet, _, overload = name.partition(".")
        library.impl(name, _kernel(getattr(getattr(torch.ops.aten, packet), overload or "default")), "AutocastPrivateUse1")
    return [library, others]
