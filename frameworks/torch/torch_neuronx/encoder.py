# SPDX-License-Identifier: MIT
"""What nn.TransformerEncoderLayer and nn.MultiheadAttention call where no gradient is asked for: a layer is one operator of PyTorch's, taken apart here."""

import math

import torch
from torch import Tensor

aten = torch.ops.aten
WORDS, KEYS = 0, 1  # what a mask has: two dimensions of words, or keys of each batch; else all four


def _masked(scores: Tensor, mask: Tensor | None, kind: int | None) -> Tensor:
    """Their softmax; true or other than 0 is left out, and of a row of which all is, nothing is seen"""
    if mask is None:
        return torch.softmax(scores, -1)
    mask = mask if mask.dtype == torch.bool else mask != 0
    if kind == KEYS:
        mask = mask[:, None, None, :]
    none = mask.all(-1, keepdim=True)
    return torch.where(none, torch.zeros_like(scores), torch.softmax(torch.where(mask, torch.full_like(scores, -math.inf), scores), -1))


def _attention(query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor,
               mask: Tensor | None = None, need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None) -> tuple:
    parts = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    q, k, v = (torch.nn.functional.linear(x, w, b).unflatten(-1, (heads, width // heads)).transpose(1, 2) for x, w, b in parts)
    seen = _masked((q / math.sqrt(width // heads)) @ k.transpose(-2, -1), mask, mask_type)
    made = torch.nn.functional.linear((seen @ v).transpose(1, 2).flatten(2), weight, bias)
    if not need_weights:
        return made, None
    return made, seen.mean(1) if average_attn_weights else seen


def _layer(x: Tensor, width: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
           norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor,
           ffn_bias_2: Tensor, mask: Tensor | None = None, mask_type: int | None = None) -> Tensor:
    def first(x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, (width,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, (width,), norm_weight_2, norm_bias_2, eps)

    def attended(x: Tensor) -> Tensor:
        return _attention(x, x, x, width, heads, qkv_weight, qkv_bias, weight, bias, mask, False, True, mask_type)[0]

    def fed(x: Tensor) -> Tensor:
        inner = torch.nn.functional.linear(x, ffn_weight_1, ffn_bias_1)
        inner = torch.nn.functional.gelu(inner) if use_gelu else torch.relu(inner)
        return torch.nn.functional.linear(inner, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = x + attended(first(x))
        return x + fed(second(x))
    x = first(x + attended(x))
    return second(x + fed(x))


TABLE = {aten._transformer_encoder_layer_fwd.default: _layer, aten._native_multi_head_attention.default: _attention}
