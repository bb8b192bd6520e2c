#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantize what export.py made, with onnxruntime's tools.

usage: quantize.py static|dynamic DIR

DIR/model.onnx becomes its quantized form: static, 8 bits with QuantizeLinear and DequantizeLinear pairs at ranges
that drawn inputs have; dynamic, integer products of operands whose range is found when it runs. Weights have
7 bits (reduce_range): onnxruntime, which reference.py asks, adds pairs of 8-bit products in 16 bits on some processors.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnxruntime import quantization

CALIBRATION = 4  # inputs


class Drawn(quantization.CalibrationDataReader):
    def __init__(self, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(3)
        self.left = [{"input0": rng.standard_normal(shape, np.float32)} for _ in range(CALIBRATION)]

    def get_next(self) -> dict | None:
        return self.left.pop() if self.left else None


def main() -> None:
    form, to = sys.argv[1], Path(sys.argv[2])
    model, plain = to / "model.onnx", onnx.load(to / "model.onnx")
    model.unlink()
    if form == "static":
        quantization.quantize_static(plain, model, Drawn(np.load(to / "in0.npy").shape), per_channel=True,
                                     reduce_range=True, quant_format=quantization.QuantFormat.QDQ)
    else:
        quantization.quantize_dynamic(plain, model, reduce_range=True)


if __name__ == "__main__":
    main()
