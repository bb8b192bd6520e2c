# SPDX-License-Identifier: MIT
"""Random bits in NumPy, from the paper of both generators (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
SC 2011), and the compiler's own random numbers, as docs/compiler-operations.md describes them."""

from typing import Callable

import numpy as np

MOST = 2**32 - 1


def philox(key, counter):
    """Philox4x32 with 10 rounds of blocks of four words"""
    x, k = [np.array(c, np.uint64) for c in counter], [int(w) for w in key]
    for _ in range(10):
        a, b = x[0] * np.uint64(0xd2511f53), x[2] * np.uint64(0xcd9e8d57)
        x = [(b >> np.uint64(32)) ^ x[1] ^ np.uint64(k[0]), b & np.uint64(MOST),
             (a >> np.uint64(32)) ^ x[3] ^ np.uint64(k[1]), a & np.uint64(MOST)]
        k = [(k[0] + 0x9e3779b9) & MOST, (k[1] + 0xbb67ae85) & MOST]
    return x


def threefry(key, counter):
    """Threefry2x32 with 20 rounds of blocks of two words"""
    k = [int(w) for w in key]
    k.append(k[0] ^ k[1] ^ 0x1bd11bda)
    x = [np.array(c, np.uint64) + np.uint64(w) & np.uint64(MOST) for c, w in zip(counter, k)]
    for i in range(20):
        r = np.uint64(((13, 15, 26, 6), (17, 29, 16, 24))[i // 4 % 2][i % 4])
        x[0] = x[0] + x[1] & np.uint64(MOST)
        x[1] = x[0] ^ (x[1] << r | x[1] >> np.uint64(32) - r) & np.uint64(MOST)
        if i % 4 == 3:
            n = i // 4 + 1
            x = [x[0] + np.uint64(k[n % 3]) & np.uint64(MOST), x[1] + np.uint64(k[(n + 1) % 3] + n) & np.uint64(MOST)]
    return x


def own(name: str | np.float32 | np.uint32, number: int, n: int) -> np.ndarray:
    """The first n words of the compiler's own numbers: of instruction `number` of the module, or by a seed"""
    h = 2166136261
    for c in name.encode() if isinstance(name, str) else b"":
        h = (h ^ c) * 16777619 & MOST
    if not isinstance(name, str):
        h, number = int(name.view(np.uint32)), MOST
    blocks = -(-n // 4)
    return np.stack(philox((h, number), [np.arange(blocks)] + [np.zeros(blocks)] * 3), 1).astype(np.uint32).reshape(-1)[:n]


def unit(words: np.ndarray) -> np.ndarray:
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def normal(words: np.ndarray) -> np.ndarray:
    """Box and Muller, of pairs"""
    u, v = words.reshape(2, -1)
    radius, angle = np.sqrt(-2 * np.log(((u >> 8) + 1.0) * 2**-24)), 2 * np.pi * (unit(v) - 0.5)
    return np.concatenate((radius * np.sin(angle), radius * np.cos(angle)))


def passes(x: np.ndarray, cdf: Callable[[float], float], mean: float, variance: float) -> np.ndarray:
    """x, if it may be drawn from the distribution: Kolmogorov's statistic, mean and variance, each of 1 in 1000"""
    n, y = x.size, np.sort(x.ravel().astype(np.float64))
    f = np.array([cdf(v) for v in y])
    assert max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n)) < 1.95 / n**0.5
    assert abs(y.mean() - mean) < 3.3 * (variance / n)**0.5
    fourth = np.mean((y - y.mean())**4)
    assert abs(y.var() - variance) < 3.3 * ((fourth - variance**2) / n)**0.5
    return x
