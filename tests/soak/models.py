# SPDX-License-Identifier: MIT
"""The models of the soak, with inputs and the outputs that are right for them, bit for bit: NumPy over
small integers in fp32, and for what was recorded from JAX its own outputs. Made once, at the start."""

import dataclasses
from pathlib import Path

import numpy as np

from harness import ROOT, Module, compile_hlo, hand_made, sum_and_product, with_weights

Tensors = dict[str, bytes]
RECORDED = ROOT / "tests" / "data" / "hlo_ops"
CASES = 4  # sets of inputs a model has
ENDLESS = "while_collatz"  # with zeros, until its timeout


@dataclasses.dataclass
class Model:
    name: str
    neff: bytes
    cases: list[tuple[Tensors, Tensors]]  # inputs and outputs
    cores: int = 1
    codes: tuple[int, ...] = (0,)  # what an execution may be answered with
    timeout: int = 100
    share: float = 1.0  # of the loads


def integers(rng: np.random.Generator, shape: tuple[int, ...], limit: int = 1000) -> np.ndarray:
    return rng.integers(-limit, limit, shape).astype(np.float32)


def sums(rng: np.random.Generator, rows: int, columns: int) -> Model:
    cases = []
    for _ in range(CASES):
        a, b = integers(rng, (2, rows, columns))
        cases.append(({"input0": a.tobytes(), "input1": b.tobytes()},
                      {"output0": (a + b).tobytes(), "output1": (a * b).tobytes()}))
    return Model(f"sums of {rows}x{columns}", sum_and_product(rows, columns), cases)


def weights(rng: np.random.Generator) -> Model:
    neff, added = with_weights()
    cases = []
    for _ in range(2):
        x = integers(rng, added.shape)
        cases.append(({"input0": x.tobytes()}, {"output0": (x + added).tobytes()}))
    return Model("weights of 3 MiB", neff, cases)


def product(rng: np.random.Generator) -> Model:
    """A dense layer without rounding: sums of 128 products of small integers."""
    w = integers(rng, (128, 64), 8)
    m = Module("dense")
    x = m.parameter([128, 128])
    number = m.add("dot", [128, 64], x, m.constant(w))
    numbers = m.c.instructions[number - 1].dot_dimension_numbers
    numbers.lhs_contracting_dimensions.append(1)
    numbers.rhs_contracting_dimensions.append(0)
    cases = []
    for _ in range(CASES):
        value = integers(rng, (128, 128), 8)
        cases.append(({"input0": value.tobytes()}, {"output0": (value @ w).tobytes()}))
    return Model("dense layer", compile_hlo(m.finish(number), "dense"), cases)


def stages(rng: np.random.Generator) -> Model:
    """c = a + 7b on seven cores, of more than one chip."""
    cases = []
    for _ in range(CASES):
        a, b = integers(rng, (2, 128, 64))
        cases.append(({"a": a.tobytes(), "b": b.tobytes()}, {"c": (a + 7 * b).tobytes()}))
    return Model("pipeline of seven", hand_made("stages"), cases, cores=7, share=0.4)


def gather(rng: np.random.Generator) -> Model:
    """130 rows of each of three tables of 300 rows of 100 bytes; those of the second one from its end on."""
    cases = []
    for _ in range(CASES):
        tables = rng.integers(0, 256, (3, 300, 100)).astype(np.uint8)
        index = rng.integers(0, 300, 130).astype(np.int32)
        rows = np.concatenate([tables[0][index], tables[1][299 - index], tables[2][index]])
        cases.append(({"table": tables.tobytes(), "index": index.tobytes()}, {"y": rows.tobytes()}))
    return Model("gather", hand_made("gather"), cases)


def long(rng: np.random.Generator) -> Model:
    """c = a times b two thousand times, with b of ones and minus ones: a again; busy for a while."""
    cases = []
    for _ in range(2):
        a = integers(rng, (128, 4096))
        b = rng.choice([-1, 1], a.shape).astype(np.float32)
        cases.append(({"a": a.tobytes(), "b": b.tobytes()}, {"c": a.tobytes()}))
    return Model("two thousand steps", hand_made("long"), cases, share=0.2)


def recorded(name: str) -> Model:
    """JAX's outputs for an HLO module, to the bit."""
    path = RECORDED / name
    case: tuple[Tensors, Tensors] = ({}, {})
    for tensors, key, prefix in ((case[0], "in", "input"), (case[1], "out", "output")):
        for i, file in enumerate(sorted(path.glob(f"{key}*.npy"))):
            tensors[f"{prefix}{i}"] = np.load(file).tobytes()
    return Model(name, compile_hlo((path / "module.hlo.pb").read_bytes(), name), [case])


def bad(name: str, codes: tuple[int, ...], timeout: int) -> Model:
    return Model(name, hand_made(name), [], codes=codes, timeout=timeout, share=0.3)


TIMEOUT, WITH_ERR = 5, 1004


def make(seed: int) -> list[Model]:
    rng = np.random.default_rng(seed)
    return [sums(rng, 4, 32), sums(rng, 128, 512), weights(rng), product(rng), stages(rng), gather(rng), long(rng),
            recorded(ENDLESS), recorded("rows_long"), recorded("loops_nested"),
            bad("hang", (TIMEOUT,), 1), bad("fault", (WITH_ERR,), 100)]
