# SPDX-License-Identifier: MIT
"""Cells of recurrent networks, which PyTorch asks of its devices as one operator each"""

import torch
from torch import Tensor

aten = torch.ops.aten


def _lstm(inputs: Tensor, hidden: Tensor, cell: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The hidden state, the cell, and what the gradient needs: the four gates"""
    gates = inputs + hidden
    if input_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    after = f * cell + i * g
    return o * torch.tanh(after), after, torch.cat([i, f, g, o], 1)


def _lstm_backward(hidden_gradient: Tensor | None, cell_gradient: Tensor | None, cell: Tensor, after: Tensor, gates: Tensor,
                   has_bias: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    i, f, g, o = gates.chunk(4, 1)
    squashed = torch.tanh(after)
    of_hidden = torch.zeros_like(after) if hidden_gradient is None else hidden_gradient
    of_cell = of_hidden * o * (1 - squashed * squashed)
    if cell_gradient is not None:
        of_cell = of_cell + cell_gradient
    of_gates = torch.cat([of_cell * g * i * (1 - i), of_cell * cell * f * (1 - f), of_cell * i * (1 - g * g), of_hidden * squashed * o * (1 - o)], 1)
    return of_gates, of_cell * f, of_gates.sum(0) if has_bias else None


def _gru(inputs: Tensor, hidden: Tensor, state: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The state, and what the gradient needs: both gates, the new part, the state before, what the reset gate is multiplied with"""
    if input_bias is not None:
        inputs, hidden = inputs + input_bias, hidden + hidden_bias
    (ir, iz, new), (hr, hz, kept) = inputs.chunk(3, 1), hidden.chunk(3, 1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    n = torch.tanh(new + r * kept)
    return n + z * (state - n), torch.cat([r, z, n, state, kept], 1)


def _gru_backward(gradient: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    r, z, n, state, kept = workspace.chunk(5, 1)
    of_new = gradient * (1 - z) * (1 - n * n)
    of_r, of_z = of_new * kept * r * (1 - r), gradient * (state - n) * z * (1 - z)
    of_inputs, of_hidden = torch.cat([of_r, of_z, of_new], 1), torch.cat([of_r, of_z, of_new * r], 1)
    return of_inputs, of_hidden, gradient * z, of_inputs.sum(0) if has_bias else None, of_hidden.sum(0) if has_bias else None


TABLE = {aten._thnn_fused_lstm_cell.default: _lstm, aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_backward,
         aten._thnn_fused_gru_cell.default: _gru, aten._thnn_fused_gru_cell_backward.default: _gru_backward}
