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
         np.dtype(np.bool_): TensorProto.BOOL, np.dtype(np.int64): TensorProto.INT64}
MICROSOFT = "com.microsoft"


def node(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    return helper.make_node(kind, inputs.split(","), outputs.split(","), **attributes)


def drawn(kind: type, *shape: int) -> np.ndarray:
    return RND.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True).astype(kind)


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict, expected: list, *, held: float | None = 0.0,
         opset: int = 17) -> None:
    """held: how far onnxruntime may be off; None: it is not asked"""
    values = [helper.make_tensor_value_info(k, TYPES[v.dtype], v.shape) for k, v in inputs.items()]
    kept = [numpy_helper.from_array(np.array(v), k) for k, v in constants.items()]
    outputs = [o for o in nodes[-1].output if o]
    given = [helper.make_tensor_value_info(o, TYPES[v.dtype], v.shape) for o, v in zip(outputs, expected)]
    graph = helper.make_graph(nodes, name, values, given, kept)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(MICROSOFT, 1)] if any(n.domain for n in nodes) else [])
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
    rnd = np.random.default_rng(5)
    x, k = (rnd.integers(250, 256, shape).astype(np.uint8) for shape in ((1, 48, 5, 5), (2, 48, 3, 3)))
    v = np.lib.stride_tricks.sliding_window_view(whole(x), (3, 3), (2, 3))
    save(to, "integer_large_conv", [node("ConvInteger", "x,k")], {"x": x, "k": k},
         {}, [np.einsum("ncijkl,ockl->noij", v, whole(k)).astype(np.int32)])


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


def convolutions(to: Path) -> None:
    """Those of each channel by itself, of each type and form, and the kernels that are no bytes or of one number"""
    f, sx, sy, channels = np.float32, np.float32(0.0213), np.float32(0.27), 12
    sw, bias = RND.uniform(0.001, 0.004, channels).astype(f), RND.integers(-9000, 9000, channels).astype(np.int32)

    def total(q: np.ndarray, w: np.ndarray, stride: int) -> np.ndarray:
        v = np.lib.stride_tricks.sliding_window_view(np.pad(q, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
        return np.einsum("ncijkl,ckl->ncij", v[:, :, ::stride, ::stride], w[:, 0])

    for name, zx, zy, stride, with_bias in (("plain", np.uint8(3), np.uint8(120), 1, True), ("stride", np.uint8(128), np.uint8(128), 2, False),
                                            ("signed", np.int8(-5), np.int8(7), 1, True)):
        q, w = drawn(zx.dtype.type, 1, channels, 9, 10), drawn(np.int8, channels, 1, 3, 3)
        sums = total(whole(q, zx), whole(w), stride) + (bias if with_bias else 0 * bias)[:, None, None]
        y = requantized(sums, (sx * sw / sy)[:, None, None], zy)
        c = {"s": sx, "z": zx, "w": w, "sw": sw, "zw": np.zeros(channels, np.int8), "sy": sy, "zy": zy}
        c |= {"b": bias} if with_bias else {}
        form = {"group": channels, "pads": [1] * 4, "strides": [stride] * 2}
        save(to, f"depthwise_{name}", [node("QLinearConv", "x,s,z,w,sw,zw,sy,zy" + (",b" if with_bias else ""), **form)], {"x": q}, c, [y], held=1.0)
        nodes = [node("DequantizeLinear", "x,s,z", "f"), node("DequantizeLinear", "w,sw,zw", "k", axis=0)]
        nodes += [node("DequantizeLinear", "b,sb,zb", "v", axis=0)] if with_bias else []
        c |= {"sb": sx * sw, "zb": np.zeros(channels, np.int32)} if with_bias else {}
        nodes += [node("Conv", "f,k,v" if with_bias else "f,k", "m", **form), node("QuantizeLinear", "m,sy,zy", "y")]
        save(to, f"depthwise_pair_{name}", nodes, {"x": q}, c, [y], held=1.0)
    q = drawn(np.uint8, 1, channels, 9, 10)
    for name, w, zero in (("fits", RND.integers(60, 180, (channels, channels, 3, 3)).astype(np.uint8), np.uint8(121)),
                          ("beyond", drawn(np.uint8, channels, channels, 3, 3), np.uint8(100))):
        v = np.lib.stride_tricks.sliding_window_view(whole(q, 3), (3, 3), (2, 3))
        y = requantized(np.einsum("ncijkl,ockl->noij", v, whole(w, zero)), sx * f(0.002) / f(9), np.uint8(120))
        c = {"s": sx, "z": np.uint8(3), "w": w, "sw": f(0.002), "zw": zero, "sy": f(9), "zy": np.uint8(120)}
        save(to, f"kernel_{name}", [node("QLinearConv", "x,s,z,w,sw,zw,sy,zy")], {"x": q}, c, [y], held=1.0)
    filled = helper.make_tensor("value", TensorProto.INT8, [1], [5])
    nodes = [node("ConstantOfShape", "n", "w", value=filled), node("DequantizeLinear", "x,s,z", "f"), node("DequantizeLinear", "w,s,zw", "k"),
             node("Conv", "f,k", "m"), node("QuantizeLinear", "m,sy,zy", "y")]
    c = {"n": np.array([2, channels, 3, 3]), "s": f(2**-5), "z": np.uint8(3), "zw": np.int8(0), "sy": f(2**-1), "zy": np.uint8(120)}
    sums = np.broadcast_to(v.sum((1, 4, 5), keepdims=True)[..., 0, 0] * 5, (1, 2, 7, 8))
    save(to, "kernel_filled", nodes, {"x": q}, c, [requantized(sums, f(2**-9), np.uint8(120))])


def limits(to: Path) -> None:
    """A limit below a type's own, between a convolution and the bytes of the next, stays; one that the type has too does not matter"""
    f, rnd = np.float32, np.random.default_rng(6)
    q, w, u = rnd.integers(0, 256, (1, 6, 7, 7)).astype(np.uint8), rnd.integers(-127, 128, (6, 6, 1, 1)).astype(np.int8), np.eye(6, dtype=np.int8)
    c = {"s": f(2**-6), "z": np.uint8(77), "w": w, "sw": f(2**-9), "zw": np.int8(0), "sy": f(2**-5), "zy": np.uint8(100)}
    total = np.einsum("ncij,oc->noij", whole(q, 77), whole(w)[:, :, 0, 0]) * 2.0**-15
    for name, top in (("below", 0.25), ("beyond", 40.0)):
        y = of_value(np.minimum(total, top), c["sy"], c["zy"])
        nodes = [node("DequantizeLinear", "x,s,z", "f"), node("DequantizeLinear", "w,sw,zw", "k"), node("Conv", "f,k", "e"), node("Min", "e,top", "m"),
                 node("QuantizeLinear", "m,sy,zy", "g"), node("DequantizeLinear", "g,sy,zy", "h"), node("DequantizeLinear", "u,one,zw", "l"),
                 node("Conv", "h,l", "d"), node("QuantizeLinear", "d,sy,zy", "y")]
        save(to, f"limit_{name}", nodes, {"x": q}, c | {"top": f(top), "u": u[:, :, None, None], "one": f(1)}, [y])


def value(x: np.ndarray, scale: np.generic, zero: int) -> np.ndarray:
    return (x.astype(np.float64) - zero) * np.float64(scale)


def of_value(x: np.ndarray, scale: np.generic, zero: np.generic) -> np.ndarray:
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / np.float64(scale)) + float(zero), limits.min, limits.max).astype(zero.dtype)


def operators(to: Path) -> None:
    """Those of com.microsoft, as its documents define them; onnxruntime may round the other way"""
    f = np.float32

    def case(name: str, kind: str, inputs: str, x: dict, c: dict, y: np.ndarray, **attributes: object) -> None:
        save(to, f"microsoft_{name}", [node(kind, inputs, domain=MICROSOFT, **attributes)], x, c, [y], held=1.0)

    a, b = drawn(np.uint8, 2, 3, 8, 8), drawn(np.uint8, 3, 1, 8)
    s, t = {"s": f(0.0213), "z": np.uint8(100)}, {"t": f(0.0371), "o": np.uint8(90)}
    out = {"sy": f(0.05), "zy": np.uint8(127)}
    va, vb = value(a, s["s"], 100), value(b, t["t"], 90)
    ab = {"x": a, "w": b}, s | t | out
    case("add", "QLinearAdd", "x,s,z,w,t,o,sy,zy", *ab, of_value(va + vb, out["sy"], out["zy"]))
    case("mul", "QLinearMul", "x,s,z,w,t,o,sy,zy", *ab, of_value(va * vb, out["sy"], out["zy"]))
    one = {"x": a}, s | out
    mean = va.mean((2, 3), keepdims=True)
    case("global", "QLinearGlobalAveragePool", "x,s,z,sy,zy", *one, of_value(mean, out["sy"], out["zy"]))
    pooled = va.reshape(2, 3, 4, 2, 4, 2).mean((3, 5))
    case("average", "QLinearAveragePool", "x,s,z,sy,zy", *one, of_value(pooled, out["sy"], out["zy"]),
         kernel_shape=[2, 2], strides=[2, 2])
    fine = {"sy": f(1 / 256), "zy": np.uint8(0)}
    case("sigmoid", "QLinearSigmoid", "x,s,z,sy,zy", {"x": a}, s | fine, of_value(1 / (1 + np.exp(-va)), fine["sy"], fine["zy"]))
    case("leaky", "QLinearLeakyRelu", "x,s,z,sy,zy", *one, of_value(np.where(va < 0, 0.125 * va, va), out["sy"], out["zy"]), alpha=0.125)
    e = np.exp(va - va.max(-1, keepdims=True))
    case("softmax", "QLinearSoftmax", "x,s,z,sy,zy", {"x": a}, s | fine,
         of_value(e / e.sum(-1, keepdims=True), fine["sy"], fine["zy"]), axis=-1, opset=13)
    joined = np.concatenate([va, value(a, t["t"], 90)], 1)
    case("concat", "QLinearConcat", "sy,zy,x,s,z,x,t,o", {"x": a}, s | t | out, of_value(joined, out["sy"], out["zy"]), axis=1)
    p = RND.integers(0, 2, a.shape).astype(np.bool_)
    case("where", "QLinearWhere", "p,x,s,z,w,t,o,sy,zy", {"p": p, "x": a, "w": b}, s | t | out,
         of_value(np.where(p, va, vb), out["sy"], out["zy"]))
    q, w, bias = drawn(np.uint8, 5, 40), drawn(np.int8, 12, 40), RND.integers(-9000, 9000, 12).astype(np.int32)
    sw = RND.uniform(0.001, 0.004, 12).astype(f)
    total = whole(q, 100) @ whole(w).T + bias
    c = s | {"w": w, "sw": sw, "zw": np.zeros(12, np.int8), "c": bias}
    near = {"sy": f(0.21), "zy": np.uint8(127)}
    case("gemm", "QGemm", "x,s,z,w,sw,zw,c,sy,zy", {"x": q}, c | near, requantized(total, s["s"] * sw / near["sy"], near["zy"]), transB=1)
    case("gemm_float", "QGemm", "x,s,z,w,sw,zw,c", {"x": q}, c, total.astype(f) * (s["s"] * sw), transB=1)
    r = RND.standard_normal(12).astype(f)
    c = s | {"w": w.T.copy(), "sw": sw, "zw": np.zeros(12, np.int8), "r": r}
    y = (whole(q, 100) @ whole(w).T).astype(f) * (s["s"] * sw) + r
    case("to_float", "MatMulIntegerToFloat", "x,w,s,sw,z,zw,r", {"x": q}, c, y)
    x = RND.uniform(-1, 2, (5, 40)).astype(f)
    sx = (x.max() - x.min()) / f(255)
    z = np.rint(-x.min() / sx)
    y = (whole(np.clip(np.rint(x / sx) + z, 0, 255), z) @ whole(w).T).astype(f) * (sx * sw) + r
    c = {"w": w.T.copy(), "sw": sw, "zw": np.zeros(12, np.int8), "r": r}
    case("dynamic", "DynamicQuantizeMatMul", "x,w,sw,zw,r", {"x": x}, c, y)
    case("quantize", "QuantizeLinear", "x,s,z", {"x": x}, s, of_value(x, s["s"], s["z"]))
    case("dequantize", "DequantizeLinear", "q,s,z", {"q": q}, s, ((whole(q, 100)).astype(f) * s["s"]))


def channels_last(to: Path) -> None:
    """What onnxruntime's optimizer makes of quantized convolutions and pools: the channels lie behind all others"""
    f = np.float32

    def case(name: str, kind: str, inputs: str, x: dict, c: dict, y: np.ndarray, held: float | None = 1.0, **attributes: object) -> None:
        save(to, f"last_{name}", [node(kind, inputs, domain=MICROSOFT, **attributes)], x, c, [y], held=held)

    x = drawn(np.uint8, 2, 8, 6, 5)
    s, out = {"s": f(0.0213), "z": np.uint8(100)}, {"sy": f(0.4), "zy": np.uint8(127)}
    w, sw = drawn(np.int8, 7, 5, 3, 3), RND.uniform(0.001, 0.004, 7).astype(f)
    bias = RND.integers(-9000, 9000, 7).astype(np.int32)
    padded = np.pad(whole(x, 100), ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = np.stack([np.einsum("nhwc,ochw->no", padded[:, i : i + 3, j : j + 3], whole(w)) for i in range(0, 8, 2) for j in range(0, 6, 2)], 1)
    total = total.reshape(2, 4, 3, 7) + bias
    c = s | {"w": w, "sw": sw, "zw": np.zeros(7, np.int8)} | out | {"b": bias}
    y = requantized(total, s["s"] * sw / out["sy"], out["zy"])
    case("conv", "QLinearConv", "x,s,z,w,sw,zw,sy,zy,b", {"x": x}, c, y, channels_last=1, pads=[1, 1, 1, 1], strides=[2, 2])
    v, fine = value(x, s["s"], 100), {"sy": f(0.03), "zy": np.uint8(90)}
    case("global", "QLinearGlobalAveragePool", "x,s,z,sy,zy", {"x": x}, s | fine,
         of_value(v.mean((1, 2), keepdims=True), fine["sy"], fine["zy"]), channels_last=1)
    case("average", "QLinearAveragePool", "x,s,z,sy,zy", {"x": x}, s | fine,
         of_value(v.reshape(2, 4, 2, 3, 2, 5).mean((2, 4)), fine["sy"], fine["zy"]), channels_last=1, kernel_shape=[2, 2], strides=[2, 2])
    case("max", "NhwcMaxPool", "x", {"x": x}, {}, x.reshape(2, 4, 2, 3, 2, 5).max((2, 4)), kernel_shape=[2, 2], strides=[2, 2])
    # onnxruntime declares it and has no kernel
    case("mean", "QLinearReduceMean", "x,s,z,sy,zy", {"x": x}, s | fine, of_value(v.mean((1, 3)), fine["sy"], fine["zy"]), None,
         axes=[1, -1], keepdims=0)


def dynamic_convolutions(to: Path) -> None:
    """ConvInteger with a constant kernel, as dynamic quantization writes it: of what was quantized just before, and of bytes"""
    rnd, f = np.random.default_rng(14), np.float32

    def total(q: np.ndarray, w: np.ndarray, stride: int, pad: int) -> np.ndarray:
        q = np.pad(q, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        v = np.lib.stride_tricks.sliding_window_view(q, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
        return np.einsum("ncijkl,ockl->noij", v, w).astype(np.int32)

    x = (rnd.standard_normal((2, 5, 9, 7)) + 0.5).astype(f)
    s = (x.max() - min(x.min(), f(0))) / f(255)
    zero = np.clip(np.rint(-x.min() / s), 0, 255)
    q = whole(np.clip(np.rint(x / s) + zero, 0, 255), zero)
    for name, kind, of, stride, pad, size in (("plain", np.int8, 0, 1, 0, 1), ("padded", np.int8, 0, 2, 1, 3), ("less", np.uint8, 120, 1, 1, 3)):
        w = rnd.integers(-100, 100, (6, 5, size, size)).astype(np.int64)
        nodes = [node("DynamicQuantizeLinear", "x", "q,s,z"),
                 node("ConvInteger", "q,k,z,zk", pads=[pad] * 4, strides=[stride] * 2)]
        save(to, f"convinteger_{name}", nodes, {"x": x}, {"k": (w + of).astype(kind), "zk": kind(of)}, [total(q, w, stride, pad)])
    # sums that fp32 would not hold, and a zero point that is an input
    x, w = rnd.integers(200, 256, (1, 40, 4, 4)).astype(np.uint8), rnd.integers(90, 128, (2, 40, 3, 3)).astype(np.int8)
    save(to, "convinteger_parts", [node("ConvInteger", "x,k,z", pads=[1] * 4)], {"x": x, "z": np.array(3, np.uint8)}, {"k": w},
         [total(whole(x, 3), whole(w), 1, 1)])


def recurrent(to: Path) -> None:
    """DynamicQuantizeLSTM, step by step"""
    f, hidden, size = np.float32, 12, 20

    def quantized(x: np.ndarray) -> tuple[np.ndarray, float]:
        low, high = min(x.min(), 0), max(x.max(), 0)
        s = np.float32(np.float32(high - low) / f(255))
        zero = np.rint(-low / s) if s else 0
        return (np.clip(np.rint(x / s) + zero, 0, 255) - zero if s else 0 * x), float(s)

    def product(x: np.ndarray, w: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
        q, s = quantized(x.astype(f))
        return (q @ whole(w, zero)) * (s * scale.astype(np.float64))

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    for name, kind, columns, dirs in (("one", np.int8, 1, 1), ("columns", np.int8, 4 * hidden, 1), ("both", np.uint8, 1, 2)):
        x, batch = RND.standard_normal((5, 1, size)).astype(f), 1
        w, r = (drawn(kind, dirs, n, 4 * hidden) for n in (size, hidden))
        shape = (dirs, columns) if columns > 1 else (dirs,)
        c = {"w": w, "r": r, "b": (RND.standard_normal((dirs, 8 * hidden)) * 0.1).astype(f)}
        c |= {"ws": RND.uniform(0.002, 0.004, shape).astype(f), "rs": RND.uniform(0.002, 0.004, shape).astype(f)}
        zero = np.full(shape, 0 if kind == np.int8 else 121, kind)
        c |= {"wz": zero, "rz": zero}
        y, ends, cells = np.zeros((5, dirs, batch, hidden)), [], []
        for d in range(dirs):
            h, cell = np.zeros((batch, hidden)), np.zeros((batch, hidden))
            inputs = product(x.reshape(-1, size), w[d], c["ws"][d], zero[d]).reshape(5, batch, -1)
            for t in (range(5) if d == 0 else reversed(range(5))):
                g = inputs[t] + product(h, r[d], c["rs"][d], zero[d]) + c["b"][d, : 4 * hidden] + c["b"][d, 4 * hidden :]
                i, o, forget, new = (g[:, k * hidden : (k + 1) * hidden] for k in range(4))
                cell = sigmoid(forget) * cell + sigmoid(i) * np.tanh(new)
                h = (sigmoid(o) * np.tanh(cell)).astype(f).astype(np.float64)
                y[t, d] = h
            ends.append(h)
            cells.append(cell)
        one = node("DynamicQuantizeLSTM", "x,w,r,b,,,,,ws,wz,rs,rz", "y,h,c", domain=MICROSOFT, hidden_size=hidden,
                   direction="bidirectional" if dirs == 2 else "forward")
        save(to, f"microsoft_lstm_{name}", [one], {"x": x}, c, [y.astype(f), np.stack(ends).astype(f), np.stack(cells).astype(f)], held=1e-2)


def blocks(to: Path) -> None:
    """Weights whose scales are those of blocks, as many as the channels that a convolution gives; all are powers of two"""
    x, w = RND.standard_normal((1, 4, 3, 3)).astype(np.float32), drawn(np.int8, 4, 4, 1, 1)
    c = {"w": w, "ws": np.exp2([-3, 0, -5, -1]).astype(np.float32).reshape(1, 4, 1, 1), "s": np.float32(2**-5), "z": np.int8(3)}
    nodes = [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "v"),
             node("DequantizeLinear", "w,ws", "k", axis=0, block_size=4), node("Conv", "v,k")]
    v = (np.clip(np.rint(x * 32) + 3, -128, 127) - 3) / 32
    save(to, "quantize_blocks", nodes, {"x": x}, c, [np.einsum("ncij,oc->noij", v, (w * c["ws"])[:, :, 0, 0]).astype(np.float32)], opset=21)


def main() -> None:
    to = Path(sys.argv[1])
    integers(to)
    dynamic(to)
    matrices(to)
    convolutions(to)
    limits(to)
    operators(to)
    recurrent(to)
    channels_last(to)
    dynamic_convolutions(to)
    blocks(to)


if __name__ == "__main__":
    main()
