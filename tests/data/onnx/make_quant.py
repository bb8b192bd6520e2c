#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Products of quantized values, with inputs and what whole numbers give for them.

usage: make_quant.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)

Each is a directory in libonnx-testdata's layout. Results are computed here, in 64-bit integers up to the last rounding;
where onnxruntime has the operator for these types it has to give the same.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RND = np.random.default_rng(8765)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8,
         np.dtype(np.bool_): TensorProto.BOOL}
MICROSOFT = "com.microsoft"


def node(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    return helper.make_node(kind, inputs.split(","), outputs.split(","), **attributes)


def drawn(kind: type, *shape: int) -> np.ndarray:
    return RND.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True).astype(kind)


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict, expected: list, *, held: float | None = 0.0) -> None:
    """held: how far onnxruntime may be off; None: it is not asked"""
    values = [helper.make_tensor_value_info(k, TYPES[v.dtype], v.shape) for k, v in inputs.items()]
    kept = [numpy_helper.from_array(np.array(v), k) for k, v in constants.items()]
    outputs = [o for o in nodes[-1].output if o]
    given = [helper.make_tensor_value_info(o, TYPES[v.dtype], v.shape) for o, v in zip(outputs, expected)]
    graph = helper.make_graph(nodes, name, values, given, kept)
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(MICROSOFT, 1)] if any(n.domain for n in nodes) else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    if held is not None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for want, got in zip(expected, session.run(None, inputs)):
            off = np.max(np.abs(got.astype(np.float64) - want.astype(np.float64)))
            if got.dtype != want.dtype or got.shape != want.shape or not off <= held:
                sys.exit(f"{name}: onnxruntime's result is {got.dtype} {got.shape}, off by {off}")
    data = to / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for i, value in enumerate(inputs.values()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for i, value in enumerate(expected):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def whole(x: np.ndarray, zero: np.ndarray | int = 0) -> np.ndarray:
    return x.astype(np.int64) - np.asarray(zero).astype(np.int64)


def integers(to: Path) -> None:
    """MatMulInteger: operands of all types, constant or not, with zero points in the middle and at the ends"""
    for name, a, za, b, zb in (
            ("uu", np.uint8, 3, np.uint8, 200), ("us", np.uint8, 255, np.int8, 5), ("su", np.int8, -128, np.uint8, 0),
            ("ss", np.int8, 127, np.int8, 0), ("plain", np.uint8, None, np.int8, None)):
        x, k = drawn(a, 2, 9, 70), drawn(b, 70, 11)
        c = {} if za is None else {"za": a(za), "zb": b(zb)}
        y = (whole(x, za or 0) @ whole(k, zb or 0)).astype(np.int32)
        one = node("MatMulInteger", "x,k,za,zb" if c else "x,k")
        mixed = None if np.int8 in (a, b) and a != np.uint8 else 0.0  # which onnxruntime does not have
        save(to, f"integer_{name}_known", [one], {"x": x}, c | {"k": k}, [y], held=mixed)
        save(to, f"integer_{name}_given", [one], {"x": x, "k": k}, c, [y], held=mixed)
    x, k = drawn(np.uint8, 5, 30), drawn(np.int8, 30, 6)
    zeros = np.array([0, 1, -1, 7, -90, 127], np.int8)
    y = (whole(x, 44) @ whole(k, zeros)).astype(np.int32)
    save(to, "integer_columns", [node("MatMulInteger", "x,k,za,zb")], {"x": x}, {"k": k, "za": np.uint8(44), "zb": zeros}, [y])
    k = np.clip(k, -60, 60) // 2
    zeros = np.array([0, 1, -1, 7, -9, 12], np.int8)
    y = (whole(x, 44) @ whole(k, zeros)).astype(np.int32)
    save(to, "integer_columns_fit", [node("MatMulInteger", "x,k,za,zb")], {"x": x}, {"k": k, "za": np.uint8(44), "zb": zeros}, [y])
    x, k = drawn(np.uint8, 2, 3, 4, 20), drawn(np.uint8, 3, 20, 5)
    save(to, "integer_batch", [node("MatMulInteger", "x,k,za,zb")], {"x": x, "k": k}, {"za": np.uint8(9), "zb": np.uint8(99)},
         [(whole(x, 9) @ whole(k, 99)).astype(np.int32)])
    x, k = drawn(np.uint8, 20), drawn(np.int8, 20)
    for name, a, b in (("left", x, drawn(np.int8, 20, 5)), ("right", drawn(np.uint8, 4, 20), k), ("both", x, k)):
        y = np.asarray(whole(a, 9) @ whole(b, 2)).astype(np.int32)
        save(to, f"integer_vector_{name}", [node("MatMulInteger", "x,k,za,zb")], {"x": a, "k": b},
             {"za": np.uint8(9), "zb": np.int8(2)}, [y], held=None)
    # sums beyond 2^24, of which every bit counts, in a column of the greatest numbers beside one of small ones
    x = RND.integers(250, 256, (2, 3000)).astype(np.uint8)
    k = np.stack([RND.integers(-128, -120, 3000), RND.integers(-3, 4, 3000), RND.integers(120, 128, 3000)], 1).astype(np.int8)
    for zero in (0, 255):
        save(to, f"integer_large_{zero}", [node("MatMulInteger", "x,k,za")], {"x": x}, {"k": k, "za": np.uint8(zero)},
             [(whole(x, zero) @ whole(k)).astype(np.int32)], held=None)


def dynamic(to: Path) -> None:
    """What DynamicQuantizeLinear makes, whose range is on one side of 0 or on both, ends in ties, or is nothing"""
    f = np.float32
    for name, x in (("both", RND.standard_normal((7, 40)).astype(f)), ("above", RND.uniform(1, 3, (7, 40)).astype(f)),
                    ("below", RND.uniform(-3, -1, (7, 40)).astype(f)), ("zeros", np.zeros((7, 40), f)),
                    ("ties", np.concatenate([[-1.5, 253.5], np.arange(38) + 0.5]).astype(f).reshape(2, 20))):
        k, k2 = drawn(np.int8, x.shape[1], 5), drawn(np.uint8, x.shape[1], 4)
        low, high = min(x.min(), f(0)), max(x.max(), f(0))
        s = (high - low) / f(255)
        with np.errstate(all="ignore"):
            z = np.clip(np.rint(-low / s), 0, 255) if s else f(0)
            q = np.clip(np.rint(x / s) + z, 0, 255) if s else 0 * x
        y = np.concatenate([whole(q, z) @ whole(k), whole(q, z) @ whole(k2, 7)], 1).astype(np.int32)
        nodes = [node("DynamicQuantizeLinear", "x", "q,s,z"), node("MatMulInteger", "q,k,z", "p"),
                 node("MatMulInteger", "q,l,z,o", "r"), node("Concat", "p,r", "c", axis=1), node("Identity", "q", "u"),
                 node("Identity", "c", "y")]
        save(to, f"dynamic_{name}", nodes, {"x": x}, {"k": k, "l": k2, "o": np.uint8(7)}, [y], held=None if name == "zeros" else 0.0)


def requantized(total: np.ndarray, factor: np.ndarray, zero: np.generic) -> np.ndarray:
    limits = np.iinfo(zero.dtype)
    y = np.rint(total.astype(np.float32) * np.asarray(factor, np.float32)) + np.float32(zero)
    return np.clip(y, limits.min, limits.max).astype(zero.dtype)


def matrices(to: Path) -> None:
    """MatMul and Gemm between quantized values"""
    f, sx, sy = np.float32, np.float32(0.0213), np.float32(0.47)
    x, w = drawn(np.uint8, 2, 6, 24), drawn(np.int8, 24, 10)
    sw = RND.uniform(0.001, 0.004, 10).astype(f)
    ends = [node("DequantizeLinear", "x,sx,zx", "f")], [node("QuantizeLinear", "m,sy,zy", "y")]
    c = {"sx": sx, "zx": np.uint8(77), "sy": sy, "zy": np.uint8(120)}
    y = requantized(whole(x, 77) @ whole(w), sx * sw / sy, np.uint8(120))
    kernel = [node("DequantizeLinear", "w,sw,zw", "k", axis=1)]
    save(to, "bytes_matmul", [*ends[0], *kernel, node("MatMul", "f,k", "m"), *ends[1]], {"x": x},
         c | {"w": w, "sw": sw, "zw": np.zeros(10, np.int8)}, [y], held=1.0)
    y = requantized(whole(x, 77) @ whole(w), sx * sw[0] / sy, np.uint8(120))
    kernel = [node("DequantizeLinear", "w,sw,zw", "k")]
    save(to, "bytes_matmul_one", [*ends[0], *kernel, node("MatMul", "f,k", "m"), *ends[1]], {"x": x},
         c | {"w": w, "sw": sw[0], "zw": np.int8(0)}, [y], held=1.0)
    rows = RND.uniform(0.001, 0.004, 10).astype(f)  # of a square kernel: which of its dimensions has the channels?
    square = drawn(np.int8, 10, 10)
    q = drawn(np.uint8, 7, 10)
    c2 = c | {"w": square, "sw": rows, "zw": np.zeros(10, np.int8)}
    y = requantized(whole(q, 77) @ whole(square), sx * rows / sy, np.uint8(120))
    save(to, "bytes_matmul_square", [*ends[0], node("DequantizeLinear", "w,sw,zw", "k", axis=1), node("MatMul", "f,k", "m"), *ends[1]],
         {"x": q}, c2, [y], held=1.0)
    # scales of the dimension that is summed are no scales of the sums: of powers of 2, so that nothing is rounded
    powers = np.array([1, 2, 4, 8, 16, 1, 2, 4, 8, 16], f) * f(2**-9)
    total = ((whole(q, 77) * f(2**-6)) @ (whole(square) * powers[:, None])) * f(2**2)
    nodes = [*ends[0], node("DequantizeLinear", "w,sw,zw", "k", axis=0), node("MatMul", "f,k", "m"), *ends[1]]
    save(to, "bytes_matmul_rows", nodes, {"x": q}, c2 | {"sw": powers, "sx": f(2**-6), "sy": f(0.25)},
         [requantized(total, f(1), np.uint8(120))])
    bias = RND.integers(-9000, 9000, 10).astype(np.int32)
    nodes = [*ends[0], node("DequantizeLinear", "w,sw,zw", "k", axis=0), node("DequantizeLinear", "b,sb,zb", "v", axis=0),
             node("Gemm", "f,k,v", "m", transB=1), *ends[1]]
    y = requantized(whole(q, 77) @ whole(square).T + bias, sx * rows / sy, np.uint8(120))
    save(to, "bytes_gemm", nodes, {"x": q}, c2 | {"b": bias, "sb": sx * rows, "zb": np.zeros(10, np.int32)}, [y], held=1.0)
    # neither is constant, as in attention; both scales and zero points differ
    a, b = drawn(np.uint8, 2, 3, 5, 16), drawn(np.int8, 2, 3, 7, 16)
    nodes = [node("DequantizeLinear", "a,sx,zx", "f"), node("DequantizeLinear", "b,sb,zb", "g"),
             node("Transpose", "g", "t", perm=[0, 1, 3, 2]), node("MatMul", "f,t", "m"), *ends[1]]
    y = requantized(whole(a, 77) @ whole(b, -31).transpose(0, 1, 3, 2), sx * f(0.011) / sy, np.uint8(120))
    save(to, "bytes_attention", nodes, {"a": a, "b": b}, c | {"sb": f(0.011), "zb": np.int8(-31)}, [y], held=1.0)


def main() -> None:
    to = Path(sys.argv[1])
    integers(to)
    dynamic(to)
    matrices(to)


if __name__ == "__main__":
    main()
