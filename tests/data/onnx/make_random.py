#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of random numbers, and what docs/compiler-operations.md says that the compiler's own are, in NumPy.

usage: make_random.py OUTPUT        (in an environment with the packages onnx and numpy)
"""

import math
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hlo_ops"))
from philox import normal, own, passes, unit  # noqa: E402

RND = np.random.default_rng(99)


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict, outputs: dict) -> None:
    info = lambda k, v: helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    held = [numpy_helper.from_array(np.array(v), k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, name, [info(*i) for i in inputs.items()], [info(*o) for o in outputs.items()], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data = to / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, value in enumerate(values.values()):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def drawn(key: str | float, number: int, *shape: int) -> np.ndarray:
    key = np.float32(key) if isinstance(key, float) else np.uint32(key) if isinstance(key, int) else key
    return unit(own(key, number, math.prod(shape))).reshape(shape)


def normals(seed: float, *shape: int) -> np.ndarray:
    n = math.prod(shape)
    z = normal(own(np.float32(seed), 0, n + n % 2))[:n]
    return passes(z, lambda v: 0.5 * (1 + math.erf(v / 2**0.5)), 0, 1).reshape(shape).astype(np.float32)


def numbers(to: Path) -> None:
    x = RND.standard_normal((5, 77)).astype(np.float32)
    node = helper.make_node
    nodes = [node("RandomNormal", [], ["a"], shape=[40, 31], mean=3.0, scale=0.5, seed=1.5),
             node("RandomUniform", [], ["b"], shape=[7, 9], low=-2.0, high=6.0, seed=2.0),
             node("RandomNormalLike", ["x"], ["c"], seed=-3.0), node("RandomUniformLike", ["x"], ["d"], seed=4.0)]
    save(to, "random_seeds", nodes, {"x": x}, {}, {
        "a": normals(1.5, 40, 31) * np.float32(0.5) + np.float32(3), "b": drawn(2.0, 0, 7, 9) * np.float32(8) - np.float32(2),
        "c": normals(-3.0, 5, 77), "d": drawn(4.0, 0, 5, 77)})
    nodes = [node("RandomUniform", [], ["a"], shape=[3, 4]), node("RandomUniformLike", ["x"], ["b"])]
    save(to, "random_plain", nodes, {"x": x}, {}, {"a": drawn("random_plain", 0, 3, 4), "b": drawn("random_plain", 1, 5, 77)})


def choices(to: Path) -> None:
    node = helper.make_node
    p = RND.random((30, 40)).astype(np.float32)
    save(to, "random_bernoulli", [node("Bernoulli", ["p"], ["y"], seed=5.0, dtype=TensorProto.BOOL)], {"p": p}, {},
         {"y": drawn(5.0, 0, 30, 40) < p})

    x = RND.standard_normal((3, 5)).astype(np.float32)
    chance = np.exp(x.astype(np.float64))
    chance /= chance.sum(1, keepdims=True)
    u, upto = drawn(6.0, 0, 3, 400, 1), np.cumsum(chance, 1)[:, None]
    assert np.min(np.abs(u - upto)) > 2**-20  # no rounding decides
    y = np.minimum((u >= upto).sum(2), 4).astype(np.int32)
    found = np.stack([np.bincount(row, minlength=5) for row in y])
    assert np.all(np.sum((found - 400 * chance)**2 / (400 * chance), 1) < 18.5)  # chi square of 4, 1 in 1000
    save(to, "random_multinomial", [node("Multinomial", ["x"], ["y"], seed=6.0, sample_size=400)], {"x": x}, {}, {"y": y})

    x, keep = RND.standard_normal((20, 33)).astype(np.float32), drawn(7, 0, 20, 33) >= np.float32(0.3)
    save(to, "random_dropout", [node("Dropout", ["x", "ratio", "training"], ["y", "mask"], seed=7)], {"x": x},
         {"ratio": np.float32(0.3), "training": np.bool_(True)}, {"y": np.where(keep, x / np.float32(0.7), 0).astype(np.float32), "mask": keep})


def refused(to: Path) -> None:
    """Numbers that a loop's iterations would share"""
    node, info = helper.make_node, helper.make_tensor_value_info
    body = helper.make_graph([node("RandomUniform", [], ["u"], shape=[3]), node("Add", ["s", "u"], ["t"]), node("Identity", ["c"], ["d"])],
                             "body", [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("s", TensorProto.FLOAT, [3])],
                             [info("d", TensorProto.BOOL, []), info("t", TensorProto.FLOAT, [3])])
    x = np.zeros(3, np.float32)
    save(to, "random_no_loop", [node("ReduceMax", ["x"], ["top"], keepdims=0),
                                node("Cast", ["top"], ["count"], to=TensorProto.INT64), node("Loop", ["count", "", "x"], ["y"], body=body)],
         {"x": x}, {}, {"y": x})


def main() -> None:
    refused(Path(sys.argv[1]))
    numbers(Path(sys.argv[1]))
    choices(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
