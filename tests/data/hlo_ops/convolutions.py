# SPDX-License-Identifier: MIT
"""Golden modules of convolutions: constants behind one that have a number for each place, or each place and feature; windows
of the whole input. make.py makes them."""

from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def add(case: Callable) -> None:
    grid = np.stack(np.meshgrid(np.arange(5), np.arange(6), indexing="ij")).astype(np.float32)[None]
    kernel = (np.arange(2 * 3 * 3 * 3) * 37 % 19 - 9).reshape(2, 3, 3, 3).astype(np.float32) / 8

    def conv(x):
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME")

    case("conv_and_grid", lambda x: (grid + conv(x), (conv(x) * 2 - grid) * 0.5, grid[:, :1] - conv(x),
         conv(x) * grid[:, :, :, :1], conv(x) * grid[:, 1:, :1, 1:2] + 3), lambda d: d.ints(np.int32, 1, 3, 5, 6, low=-8, high=8).astype(np.float32))

    def gradient(x, y, stride):
        """Of a kernel of one position: y takes the place of the result's gradient"""
        of = lambda w: lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), "VALID")
        return jax.vjp(of, jnp.zeros((y.shape[1], x.shape[1], *(1,) * (x.ndim - 2)), np.float32))[1](y)[0]

    def whole(x, w, *order):
        return lax.conv_general_dilated(x, w, (2, 3), "VALID", dimension_numbers=order)

    small = lambda d, *s: d.ints(np.int32, *s, low=-4, high=5).astype(np.float32)
    case("conv_whole_window", lambda x, y, z, l, m, w: (
        gradient(x, y, 1), gradient(x, z, 2), gradient(l, m, 1), whole(x, w, "NCHW", "OIHW", "NCHW"),
        whole(x, w, "CNHW", "IOHW", "HWCN"), whole(x.transpose(0, 2, 3, 1), w, "NHWC", "OIHW", "NHWC")),
         lambda d: (small(d, 6, 6, 5, 7), small(d, 6, 140, 5, 7), small(d, 6, 3, 3, 4), small(d, 3, 2, 130), small(d, 3, 4, 130), small(d, 6, 6, 5, 7)))


def add_written(cases: dict) -> None:
    """There are none."""
