# SPDX-License-Identifier: MIT
"""Make the input, or compare the output with NumPy. usage: check.py make|compare DIR"""

import sys
from pathlib import Path

import numpy as np


def expected(x: np.ndarray) -> np.ndarray:
    a = np.cumsum(x, axis=1, dtype=np.float32)
    gate = np.clip(a + np.float32(3), np.float32(0), np.float32(6))
    return np.float32(0.5) * a * gate / np.float32(6) + x


def main() -> int:
    out = Path(sys.argv[2])
    if sys.argv[1] == "make":
        np.save(out / "x.npy", np.random.default_rng(0).standard_normal((16, 100)).astype(np.float32))
        return 0
    x, y = np.load(out / "x.npy"), np.load(out / "output0.npy")
    equal = np.array_equal(y, expected(x))
    print("bit for bit NumPy's" if equal else f"differs by up to {np.abs(y - expected(x)).max()}")
    return 0 if equal else 1


sys.exit(main())
