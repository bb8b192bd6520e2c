# SPDX-License-Identifier: MIT
"""Operators of ONNX on the numbers at the ends of their types: the cases of onnx.py.

A case is one node. Its inputs hold NaN, infinities, zeros of both signs, denormals, the ends of integer types, indices that
are named twice, or no elements. `near` is what a finite result may be off, relative to it; 0: to the bit.
"""

from typing import Any, Iterator, NamedTuple

import ml_dtypes
import numpy as np

F = np.float32
NAN, INF = np.nan, np.inf
# A list of which some 24 elements are ordinary or not
FLOATS = np.array([NAN, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, 1.1754944e-38, -1.1754944e-38, 3.4028235e38, -3.4028235e38,
                   1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -7, 1e10, 16777217, 0.1, -88, 20], F)
PLAIN = np.array([1, -1, 0.5, -0.5, 2, -3, 0, 0.1], F)
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
# Rows that reductions and choices read
ROWS = np.array([[1, 2, 3, 2], [NAN, 1, 2, 3], [1, NAN, 3, 2], [1, 2, 3, NAN], [NAN, NAN, NAN, NAN], [INF, 1, 2, INF],
                 [-INF, 1, -INF, 2], [-INF, -INF, -INF, -INF], [INF, -INF, 1, 2], [0.0, -0.0, 0.0, -0.0],
                 [-0.0, 0.0, -0.0, 0.0], [0, 0, 0, 0], [1e-45, 1e-45, -1e-45, 1e-45], [-INF, NAN, -INF, 0], [1000, 1000, 999, -1000],
                 [INF, INF, INF, INF], [-INF, 0, 0, 0]], F)


class Case(NamedTuple):
    name: str
    op: str
    inputs: dict[str, np.ndarray]
    attributes: dict[str, Any] = {}
    outputs: int = 1
    constants: tuple[str, ...] = ()
    opset: int = 21
    near: float = 0
    domain: str = ""
    golden: bool = False  # also in tests/data/onnx/own


def ends(dtype: type) -> np.ndarray:
    """The ends of an integer type, and between"""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, high // 2, high - 1, high]
    if high > 1 << 25:
        some += [(1 << 24) + 1, 46341, 65536]
    return np.array(sorted({v for v in some if low <= v <= high}), dtype)


def name_of(dtype: type) -> str:
    return np.dtype(dtype).name


def unary() -> Iterator[Case]:
    for op in ("Abs", "Ceil", "Floor", "Neg", "Round", "Relu", "Sign", "Identity", "IsNaN", "IsInf"):
        yield Case(f"{op}_float", op, {"x": FLOATS})
    for op in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Log", "Reciprocal", "Sigmoid", "Sin",
               "Sinh", "Sqrt", "Tan", "Tanh", "Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Selu",
               "Shrink", "Softplus", "Softsign", "ThresholdedRelu"):
        yield Case(f"{op}_float", op, {"x": FLOATS}, near=1e-5)
    large = np.array([NAN, INF, 1, 1e4, 2e6, 3e38, 88.5, 89, 89.5, 20.5, 1.5], F)
    for op in ("Acosh", "Asinh", "Cosh", "Sinh"):
        yield Case(f"{op}_large", op, {"x": large if op == "Acosh" else np.concatenate([large, -large])}, near=1e-5)
    yield Case("Gelu_tanh", "Gelu", {"x": FLOATS}, {"approximate": "tanh"}, near=1e-5)
    yield Case("Swish_float", "Swish", {"x": FLOATS}, opset=24, near=1e-5)
    yield Case("SwiGLU_float", "SwiGLU", {"x": FLOATS, "z": FLOATS[::-1].copy()}, opset=28, near=1e-5)
    yield Case("BitCast_words", "BitCast", {"x": FLOATS}, {"to": 6}, opset=26)
    yield Case("BitCast_floats", "BitCast", {"x": FLOATS.view(np.uint32)}, {"to": 1}, opset=26)
    yield Case("IsInf_plus", "IsInf", {"x": FLOATS}, {"detect_negative": 0})
    for dtype in INTEGERS:
        yield Case(f"Abs_{name_of(dtype)}", "Abs", {"x": ends(dtype)})
        yield Case(f"Sign_{name_of(dtype)}", "Sign", {"x": ends(dtype)})
        yield Case(f"BitwiseNot_{name_of(dtype)}", "BitwiseNot", {"x": ends(dtype)})
    for dtype in (np.int8, np.int16, np.int32):
        yield Case(f"Neg_{name_of(dtype)}", "Neg", {"x": ends(dtype)})
        yield Case(f"Relu_{name_of(dtype)}", "Relu", {"x": ends(dtype)})
    yield Case("Not_bool", "Not", {"x": np.array([True, False])})
    for op in ("Abs", "Neg", "Sign", "Floor", "Relu", "Sqrt", "Exp"):
        with np.errstate(all="ignore"):
            yield Case(f"{op}_float16", op, {"x": FLOATS.astype(np.float16)}, near=1e-3 if op in ("Sqrt", "Exp") else 0)


def pairs(dtype: type) -> dict[str, np.ndarray]:
    v = FLOATS if dtype is F else ends(dtype)
    return {"x": v.reshape(-1, 1), "z": v}


def binary() -> Iterator[Case]:
    for op in ("Add", "Sub", "Mul", "Min", "Max", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        yield Case(f"{op}_float", op, pairs(F))
    yield Case("Div_float", "Div", pairs(F), near=3e-7)
    yield Case("Mod_fmod", "Mod", pairs(F), {"fmod": 1}, near=1e-6)
    yield Case("Pow_float", "Pow", pairs(F), near=1e-5)
    yield Case("PRelu_float", "PRelu", pairs(F), golden=True)
    yield Case("Sum_float", "Sum", pairs(F))
    yield Case("Mean_float", "Mean", pairs(F))
    for dtype in INTEGERS:
        for op in ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                   "BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            both = pairs(dtype)
            if op in ("Div", "Mod"):
                both["z"] = both["z"][both["z"] != 0]  # onnxruntime ends the process
                if np.iinfo(dtype).min < 0:
                    both["x"] = both["x"][1:]
            yield Case(f"{op}_{name_of(dtype)}", op, both, golden=dtype is np.int32 and op in ("Div", "Mod", "Max"))
    for dtype in (np.int8, np.int16, np.int32):
        both = pairs(dtype)
        yield Case(f"Mod_fmod_{name_of(dtype)}", "Mod", {"x": both["x"][1:], "z": both["z"][both["z"] != 0]}, {"fmod": 1})
    for dtype in (np.uint8, np.uint16, np.uint32):
        bits = 8 * np.dtype(dtype).itemsize
        for direction in ("LEFT", "RIGHT"):
            yield Case(f"BitShift_{direction.lower()}_{name_of(dtype)}", "BitShift",
                       {"x": ends(dtype).reshape(-1, 1), "z": np.array([0, 1, bits - 1], dtype)}, {"direction": direction})
    for op in ("And", "Or", "Xor", "Equal"):
        yield Case(f"{op}_bool", op, {"x": np.array([[True], [False]]), "z": np.array([True, False])})
    whole = np.array([[0], [1], [-1], [2], [-2], [3], [7], [-3], [10], [1290]], np.int32)
    small = np.array([0, 1, 2, 3, 5, 9], np.int32)
    fits = np.abs(whole.astype(object) ** small) < 1 << 31
    yield Case("Pow_int32", "Pow", {"x": (whole * np.ones_like(small))[fits], "z": (small * np.ones_like(whole))[fits]}, golden=True)
    yield Case("Pow_int32_wraps", "Pow", {"x": np.array([2, 3, -2, -3, 65536, 46341], np.int32),
                                          "z": np.array([31, 25, 32, 21, 2, 2], np.int32)})
    yield Case("Pow_int32_negative", "Pow", {"x": np.array([1, -1, -1, 2, -3], np.int32),
                                             "z": np.array([-1, -1, -2, -1, -3], np.int32)})
    yield Case("Pow_int32_int64", "Pow", {"x": np.array([7, -3, 2], np.int32), "z": np.array([11, 19, 30], np.int64)}, golden=True)
    yield Case("Pow_int32_float", "Pow", {"x": np.array([4, 3, 7, 10, 8, 2, 99, -3], np.int32),
                                          "z": np.array([0.5, 0.5, 11, 9, 1.5, -1, 2.5, 3], F)}, golden=True)
    yield Case("Pow_int32_square", "Pow", {"x": np.array([46340, -46340, 3, 0], np.int32), "z": np.array([2], np.int32)},
               constants=("z",), golden=True)
    yield Case("Pow_int32_fifth", "Pow", {"x": np.array([73, -73, 3, 0], np.int32), "z": np.array([5], np.int32)}, constants=("z",))
    yield Case("Pow_float_int32", "Pow", {"x": FLOATS.reshape(-1, 1), "z": np.array([0, 1, 2, 3, -1, -2, 31], np.int32)}, near=1e-5)
    yield Case("Where_float", "Where", {"c": np.array([[True], [False]]), "x": FLOATS, "z": FLOATS[::-1].copy()})
    yield Case("Where_int32", "Where", {"c": np.array([[True], [False]]), "x": ends(np.int32), "z": ends(np.int32)[::-1].copy()})
    for low, high in ((0, 1), (-INF, INF), (1, -1), (NAN, 1), (-1, NAN), (0, -0.0)):
        yield Case(f"Clip_{low}_{high}", "Clip", {"x": FLOATS, "low": np.array(low, F), "high": np.array(high, F)})
    for dtype in INTEGERS:
        yield Case(f"Clip_{name_of(dtype)}", "Clip", {"x": ends(dtype), "low": np.array(1, dtype), "high": np.array(100, dtype)})
        yield Case(f"Clip_ends_{name_of(dtype)}", "Clip", {"x": ends(dtype), "low": ends(dtype)[1], "high": ends(dtype)[-2]})


def casts() -> Iterator[Case]:
    numbers = {1: F, 3: np.int8, 2: np.uint8, 5: np.int16, 4: np.uint16, 6: np.int32, 12: np.uint32, 9: np.bool_, 10: np.float16,
               16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 19: ml_dtypes.float8_e5m2}
    for to, dtype in numbers.items():
        yield Case(f"Cast_float_{name_of(dtype)}", "Cast", {"x": FLOATS}, {"to": to})
        if to in (3, 2, 5, 4, 6, 12):
            within = FLOATS[np.isfinite(FLOATS)]
            within = within[(within >= np.iinfo(dtype).min) & (within <= np.iinfo(dtype).max)]
            yield Case(f"Cast_within_{name_of(dtype)}", "Cast", {"x": within}, {"to": to}, golden=to == 6)
        for of in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
            yield Case(f"Cast_{name_of(of)}_{name_of(dtype)}", "Cast", {"x": ends(of)}, {"to": to})
    with np.errstate(all="ignore"):
        for of in (np.float16,):
            for to in (1, 6, 9):
                yield Case(f"Cast_float16_{name_of(numbers[to])}", "Cast", {"x": FLOATS.astype(of)}, {"to": to})
    yield Case("CastLike_int32", "CastLike", {"x": ends(np.uint8), "z": np.zeros(1, np.int32)})


def reductions() -> Iterator[Case]:
    axes = {"a": np.array([1], np.int64)}
    for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
               "ReduceLogSumExp"):
        yield Case(f"{op}_float", op, {"x": ROWS} | axes, {"keepdims": 0}, constants=("a",), near=1e-5,
                   golden=op == "ReduceLogSumExp")
        yield Case(f"{op}_float_columns", op, {"x": ROWS.T.copy()} | {"a": np.array([0], np.int64)}, {"keepdims": 0}, constants=("a",),
                   near=1e-5)
        whole = np.array([[2147483647, 1], [-2147483648, -1], [-2147483648, 0], [46341, 46341], [16777217, 0], [3, -4], [-7, 2]], np.int32)
        yield Case(f"{op}_int32", op, {"x": whole} | axes, {"keepdims": 0}, constants=("a",), golden=op == "ReduceMean")
        yield Case(f"{op}_empty", op, {"x": np.zeros((2, 0), F)} | axes, {"keepdims": 1}, constants=("a",))
    for dtype in (np.int8, np.uint8):
        for op in ("ReduceMax", "ReduceMin"):
            yield Case(f"{op}_{name_of(dtype)}", op, {"x": ends(dtype).reshape(2, -1) if ends(dtype).size % 2 == 0 else
                                                     ends(dtype)[1:].reshape(2, -1)} | axes, constants=("a",))
    for op in ("Softmax", "LogSoftmax"):
        yield Case(f"{op}_float", op, {"x": ROWS}, {"axis": 1}, near=1e-5)
    for last in (0, 1):
        for axis in (0, 1):
            for op in ("ArgMax", "ArgMin"):
                yield Case(f"{op}_{axis}_{last}", op, {"x": ROWS}, {"axis": axis, "select_last_index": last}, golden=axis == 1)
                yield Case(f"{op}_int32_{axis}_{last}", op, {"x": np.array([[16777216, 16777217, 5], [-16777217, -16777216, 5],
                                                                            [2147483647, 2147483646, 2147483647]], np.int32)},
                           {"axis": axis, "select_last_index": last})
    yield Case("Hardmax_1", "Hardmax", {"x": ROWS}, {"axis": 1})
    yield Case("Hardmax_rows", "Hardmax", {"x": ROWS[:9]}, {"axis": 1}, golden=True)
    yield Case("Hardmax_0", "Hardmax", {"x": ROWS}, {"axis": 0})
    for largest in (0, 1):
        yield Case(f"TopK_{largest}", "TopK", {"x": ROWS, "k": np.array([3], np.int64)}, {"largest": largest}, 2, ("k",))
        yield Case(f"TopK_int32_{largest}", "TopK", {"x": np.array([[16777216, 16777217, 5, -16777217, -16777216, 2147483647, -2147483648]],
                                                                   np.int32), "k": np.array([5], np.int64)}, {"largest": largest}, 2, ("k",))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            yield Case(f"CumSum_{exclusive}{reverse}", "CumSum", {"x": ROWS, "a": np.array(1, np.int64)},
                       {"exclusive": exclusive, "reverse": reverse}, constants=("a",), near=1e-5)
            yield Case(f"CumSum_int32_{exclusive}{reverse}", "CumSum", {"x": np.array([[2147483647, 1, 5, 16777217], [7, 16777217, 1, -3]],
                                                                                    np.int32), "a": np.array(1, np.int64)},
                       {"exclusive": exclusive, "reverse": reverse}, constants=("a",))
    yield Case("CumSum_one", "CumSum", {"x": np.array([[INF], [NAN], [3]], F), "a": np.array(1, np.int64)}, {"exclusive": 1},
               constants=("a",), golden=True)


def normalizations() -> Iterator[Case]:
    for p in (1, 2):
        yield Case(f"LpNormalization_{p}", "LpNormalization", {"x": ROWS}, {"axis": 1, "p": p}, near=1e-5)
        yield Case(f"LpNormalization_zero_{p}", "LpNormalization", {"x": np.array([[0, 0, -0.0], [3, 4, 0], [INF, 1, 0]], F)},
                   {"axis": 1, "p": p}, near=1e-5, golden=True)
    image = np.stack([ROWS[i * 2:i * 2 + 4] for i in range(4)])[None]
    one = np.ones(4, F)
    per = {"s": one, "b": np.zeros(4, F)}
    yield Case("BatchNormalization_var", "BatchNormalization", {"x": image[:, :, :1]} | per | {"m": np.array([0, 1, INF, 0], F),
                                                                                            "v": np.array([0, -1, 1, INF], F)}, near=1e-4)
    yield Case("InstanceNormalization_rows", "InstanceNormalization", {"x": image} | per, near=1e-3)
    yield Case("GroupNormalization_rows", "GroupNormalization", {"x": image} | per, {"num_groups": 2}, near=1e-3)
    yield Case("LayerNormalization_rows", "LayerNormalization", {"x": ROWS, "s": one, "b": np.zeros(4, F)}, {"axis": 1}, near=1e-3)
    yield Case("RMSNormalization_rows", "RMSNormalization", {"x": ROWS, "s": one}, {"axis": 1}, opset=23, near=1e-4)
    yield Case("MeanVarianceNormalization_rows", "MeanVarianceNormalization", {"x": image}, {"axes": [2, 3]}, near=1e-3)
    yield Case("LRN_rows", "LRN", {"x": image}, {"size": 3}, near=1e-4)


def windows() -> Iterator[Case]:
    image = np.stack([ROWS[i * 4:i * 4 + 4] for i in range(4)])[None]
    for op in ("MaxPool", "AveragePool"):
        yield Case(f"{op}_image", op, {"x": image}, {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}, near=1e-5)
    yield Case("AveragePool_included", "AveragePool", {"x": image}, {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1},
               near=1e-5)
    yield Case("MaxPool_indices", "MaxPool", {"x": image}, {"kernel_shape": [2, 2]}, 2)
    for dtype in (np.int8, np.uint8):
        yield Case(f"MaxPool_{name_of(dtype)}", "MaxPool", {"x": np.resize(ends(dtype), (1, 1, 4, 4))},
                   {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]})
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        yield Case(f"{op}_image", op, {"x": image}, near=1e-5)
    yield Case("GlobalLpPool_image", "GlobalLpPool", {"x": image}, {"p": 2}, near=1e-5)
    for p in (1, 2, 3):
        yield Case(f"LpPool_{p}", "LpPool", {"x": image}, {"kernel_shape": [2, 2], "p": p}, near=1e-5)
    kernel = np.array([1, 0, -1, 2], F).reshape(1, 1, 2, 2)
    for op in ("Conv", "ConvTranspose"):
        yield Case(f"{op}_image", op, {"x": image[:, :1], "w": kernel}, near=1e-5)
    yield Case("MaxUnpool_twice", "MaxUnpool", {"x": np.array([[[[5, 5], [7, 9]]]], F), "i": np.array([[[[3, 3], [8, 8]]]], np.int64)},
               {"kernel_shape": [2, 2], "strides": [2, 2]}, golden=True)
    yield Case("MaxUnpool_special", "MaxUnpool", {"x": np.array([[[[NAN, -INF], [-0.0, 9]]]], F),
                                                  "i": np.array([[[[0, 3], [8, 13]]]], np.int64)},
               {"kernel_shape": [2, 2], "strides": [2, 2]})


def products() -> Iterator[Case]:
    a, b = ROWS[:, :3].copy(), np.array([[1, 0], [0.5, -1], [2, 1]], F)
    yield Case("MatMul_float", "MatMul", {"x": a, "z": b}, near=1e-5)
    yield Case("Gemm_float", "Gemm", {"x": a, "z": b, "c": np.array([0, 1], F)}, {"alpha": 0.5, "beta": 2.0}, near=1e-5)
    yield Case("Einsum_float", "Einsum", {"x": a, "z": b}, {"equation": "ij,jk->ik"}, near=1e-5)
    whole = np.array([[2147483647, 2, -3], [46341, 46341, 1], [16777217, -5, 9]], np.int32)
    for dtype in (np.int32, np.uint32):
        with np.errstate(all="ignore"):
            v = whole.astype(dtype)
        yield Case(f"MatMul_{name_of(dtype)}", "MatMul", {"x": v, "z": v.T.copy()}, golden=dtype is np.int32)
        yield Case(f"Gemm_{name_of(dtype)}", "Gemm", {"x": v, "z": v.T.copy()})
    yield Case("Einsum_int32", "Einsum", {"x": whole, "z": whole}, {"equation": "ij,jk->ik"})
    for x in (np.int8, np.uint8):
        for z in (np.int8, np.uint8):
            yield Case(f"MatMulInteger_{name_of(x)}_{name_of(z)}", "MatMulInteger",
                       {"x": np.resize(ends(x), (5, 7)), "z": np.resize(ends(z), (7, 3)), "zx": np.array(ends(x)[-1]), "zz": np.array(ends(z)[0])})
    yield Case("MatMul_none", "MatMul", {"x": np.zeros((2, 0), F), "z": np.zeros((0, 3), F)})
    yield Case("MatMul_no_rows", "MatMul", {"x": np.zeros((0, 2), F), "z": np.zeros((2, 3), F)})
    yield Case("Gemm_none", "Gemm", {"x": np.zeros((2, 0), F), "z": np.zeros((0, 3), F), "c": np.ones(3, F)})
    yield Case("Det_special", "Det", {"x": np.array([[[NAN, 1], [2, 3]], [[INF, 1], [2, 3]], [[0, 0], [0, 0]], [[1, 2], [3, 4]]], F)}, near=1e-5)


def moves() -> Iterator[Case]:
    for dtype in (F, np.float16, np.int32, np.int8, np.uint32, np.bool_):
        with np.errstate(all="ignore"):
            v = FLOATS[:24].astype(dtype) if dtype in (F, np.float16) else np.array([True, False] * 12) if dtype is np.bool_ else \
                np.resize(ends(dtype), 24)
        v, n = v.reshape(2, 3, 4), name_of(dtype)
        yield Case(f"Transpose_{n}", "Transpose", {"x": v})
        yield Case(f"Concat_{n}", "Concat", {"x": v, "z": v[:, :1].copy()}, {"axis": 1})
        yield Case(f"Slice_{n}", "Slice", {"x": v, "s": np.array([-1]), "e": np.array([-9]), "a": np.array([2]), "t": np.array([-2])},
                   constants=("s", "e", "a", "t"))
        yield Case(f"Gather_{n}", "Gather", {"x": v, "i": np.array([[-1, 0], [2, 2]])}, {"axis": 1})
        yield Case(f"GatherElements_{n}", "GatherElements", {"x": v, "i": np.array([[[-1, 0, 1, 1]]])}, {"axis": 1})
        yield Case(f"GatherND_{n}", "GatherND", {"x": v, "i": np.array([[0, -1], [1, 1], [1, 1]])})
        yield Case(f"Tile_{n}", "Tile", {"x": v, "r": np.array([1, 2, 1])}, constants=("r",))
        yield Case(f"Expand_{n}", "Expand", {"x": v[:, :1].copy(), "s": np.array([2, 3, 4])}, constants=("s",))
        yield Case(f"Pad_{n}", "Pad", {"x": v, "p": np.array([0, 1, 0, 0, 0, 2]), "v": v.reshape(-1)[0]}, constants=("p",))
        yield Case(f"Pad_edge_{n}", "Pad", {"x": v, "p": np.array([0, 1, 0, 0, 0, 2])}, {"mode": "edge"}, constants=("p",))
        yield Case(f"Trilu_{n}", "Trilu", {"x": v, "k": np.array(0)}, constants=("k",), golden=dtype is F)
        yield Case(f"Split_{n}", "Split", {"x": v}, {"axis": 2, "num_outputs": 2}, 2)
        yield Case(f"Reshape_{n}", "Reshape", {"x": v, "s": np.array([4, -1])}, constants=("s",))
        yield Case(f"ReverseSequence_{n}", "ReverseSequence", {"x": v.reshape(4, 6), "l": np.array([1, 4, 2, 3, 1, 4])},
                   {"time_axis": 0, "batch_axis": 1})
        yield Case(f"DepthToSpace_{n}", "DepthToSpace", {"x": v.reshape(1, 4, 2, 3)}, {"blocksize": 2})
        yield Case(f"SpaceToDepth_{n}", "SpaceToDepth", {"x": v.reshape(1, 1, 4, 6)}, {"blocksize": 2})
        yield Case(f"Compress_{n}", "Compress", {"x": v, "c": np.array([True, False, True])}, {"axis": 1})
        yield Case(f"NonZero_{n}", "NonZero", {"x": v})
        yield Case(f"Flatten_{n}", "Flatten", {"x": v})
        yield Case(f"Squeeze_{n}", "Squeeze", {"x": v[:, :1].copy(), "a": np.array([1])}, constants=("a",))
        yield Case(f"Unsqueeze_{n}", "Unsqueeze", {"x": v, "a": np.array([1])}, constants=("a",))
        yield Case(f"Shape_{n}", "Shape", {"x": v})
        yield Case(f"Size_{n}", "Size", {"x": v})
        yield Case(f"Dropout_{n}", "Dropout", {"x": v})
    yield Case("OneHot_outside", "OneHot", {"i": np.array([0, 2, -1, -3, 3, -4, 100, -2147483648]), "d": np.array(3), "v": np.array([NAN, INF], F)},
               constants=("d",), golden=True)
    yield Case("EyeLike_nan", "EyeLike", {"x": np.full((3, 4), NAN, F)}, {"k": 1})
    yield Case("Range_float", "Range", {"a": np.array(1, F), "b": np.array(-1, F), "c": np.array(-0.3, F)}, constants=("a", "b", "c"), near=1e-6)
    yield Case("Range_int32", "Range", {"a": np.array(16777215, np.int32), "b": np.array(16777227, np.int32), "c": np.array(5, np.int32)},
               constants=("a", "b", "c"))
    yield Case("Range_end", "Range", {"a": np.array(2147483640, np.int32), "b": np.array(2147483647, np.int32), "c": np.array(3, np.int32)},
               constants=("a", "b", "c"))
    yield Case("ConstantOfShape_none", "ConstantOfShape", {"s": np.array([0, 3])}, constants=("s",))
    uniques = np.array([2, NAN, 1, NAN, 2, -0.0, 0.0, INF, -INF, INF], F)
    for sort in (0, 1):
        yield Case(f"Unique_{sort}", "Unique", {"x": uniques}, {"sorted": sort}, 4)
        yield Case(f"Unique_int32_{sort}", "Unique", {"x": np.array([16777217, 16777216, -1, 2147483647, -2147483648, 16777217], np.int32)},
                   {"sorted": sort}, 4, golden=sort == 1)
    yield Case("Unique_rows", "Unique", {"x": np.array([[1, NAN], [0, 2], [1, NAN], [0, 2], [NAN, 1]], F)}, {"axis": 0}, 4)


def scatters() -> Iterator[Case]:
    x = np.arange(12, dtype=F).reshape(4, 3)
    i, u = np.array([[1], [1], [2], [-3], [1]]), np.array([[1, -4, 7], [-1, 4, 2], [5, 5, 5], [NAN, -INF, -0.0], [0.5, INF, NAN]], F)
    for kind in ("none", "add", "mul", "max", "min"):
        yield Case(f"ScatterND_{kind}", "ScatterND", {"x": x, "i": i, "u": u}, {"reduction": kind}, near=1e-6, golden=kind == "none")
        yield Case(f"ScatterND_rows_{kind}", "ScatterND", {"x": x, "i": i, "u": np.nan_to_num(u, nan=4, posinf=6, neginf=-6)}, {"reduction": kind},
                   near=1e-6, golden=True)
        finite = np.where(np.isfinite(u), u, 2).astype(F)
        for axis in (0, 1):
            at = np.array([[1, 1, 0], [1, -1, 0], [-3, 1, 0]])
            yield Case(f"ScatterElements_{axis}_{kind}", "ScatterElements", {"x": x, "i": at, "u": finite[:3]}, {"axis": axis, "reduction": kind},
                       near=1e-6, golden=True)
        yield Case(f"ScatterND_int32_{kind}", "ScatterND", {"x": x.astype(np.int32), "i": i[:3], "u": np.array(
            [[2147483647, 1, -5], [16777217, 7, 9], [1, -2147483648, 3]], np.int32)}, {"reduction": kind})
    for dtype in (np.float16, np.int8, np.uint8, np.bool_, np.int64):
        yield Case(f"ScatterND_{name_of(dtype)}", "ScatterND", {"x": np.zeros((4, 2), dtype), "i": np.array([[3], [0], [3]]), "u": np.array(
            [[1, 0], [1, 1], [0, 1]], dtype)}, golden=dtype in (np.float16, np.bool_))
    yield Case("ScatterND_elements", "ScatterND", {"x": x, "i": np.array([[1, 2], [1, 2], [0, 0], [1, -1]]), "u": np.array([1, 2, 3, 4], F)},
               golden=True)
    yield Case("ScatterND_scalar_rows", "ScatterND", {"x": x[:, 0].copy(), "i": np.array([[1], [1], [1], [2]]), "u": np.array([3, 9, 4, 1], F)})
    yield Case("ScatterND_constant", "ScatterND", {"x": x, "i": i, "u": u}, constants=("x", "i", "u"), golden=True)
    yield Case("ScatterND_constant_indices", "ScatterND", {"x": x, "i": i, "u": u}, constants=("x", "i"))
    yield Case("ScatterElements_wide", "ScatterElements", {"x": np.zeros((2, 200), F), "i": np.resize(np.arange(0, 40, 3), (2, 90)) % 200,
                                                           "u": np.arange(180, dtype=F).reshape(2, 90)}, {"axis": 1}, golden=True)
    yield Case("ScatterElements_deep", "ScatterElements", {"x": np.zeros((3, 4, 2), F), "i": np.array([[[1, 1], [1, 0], [3, -3]]] * 2),
                                                           "u": np.arange(12, dtype=F).reshape(2, 3, 2)}, {"axis": 1}, golden=True)
    yield Case("Scatter_old", "Scatter", {"x": x, "i": np.array([[1, 1, 0], [1, -1, 0]]), "u": u[:2]}, {"axis": 0}, opset=10)


def quantized() -> Iterator[Case]:
    some = np.concatenate([FLOATS, np.array([127.5, -128.5, 255.5, 32767.5, 65535.5, 1e30], F)])
    for dtype in (np.int8, np.uint8, np.int16, np.uint16):
        for zero in (0, 5):
            for scale in (1, 0.1):
                yield Case(f"QuantizeLinear_{name_of(dtype)}_{zero}_{scale}", "QuantizeLinear",
                           {"x": some, "s": np.array(scale, F), "z": np.array(zero, dtype)}, constants=("s", "z"),
                           golden=scale == 0.1 and zero == 5)
                yield Case(f"QuantizeLinear_open_{name_of(dtype)}_{zero}_{scale}", "QuantizeLinear",
                           {"x": some, "s": np.array(scale, F), "z": np.array(zero, dtype)})
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        yield Case(f"DequantizeLinear_{name_of(dtype)}", "DequantizeLinear", {"x": ends(dtype), "s": np.array(0.1, F)} |
                   ({} if dtype is np.int32 else {"z": ends(dtype)[-1]}), near=1e-7)
    g = np.random.default_rng(11)
    for name, shape, axis, size, blocks in (("first", (7, 5), 0, 3, (3, 5)), ("middle", (2, 8, 3), 1, 4, (2, 2, 3)), ("last", (3, 6), -1, 4, (3, 2)),
                                            ("line", (9,), 0, 2, (5,)), ("whole", (4, 3), 0, 9, (1, 3))):
        of = {"s": g.uniform(0.01, 0.2, blocks).astype(F), "z": g.integers(-9, 9, blocks).astype(np.int8)}
        yield Case(f"DequantizeLinear_blocks_{name}", "DequantizeLinear", {"x": g.integers(-128, 128, shape).astype(np.int8)} | of,
                   {"axis": axis, "block_size": size}, constants=("s", "z"), near=1e-7, golden=True)
        yield Case(f"QuantizeLinear_blocks_{name}", "QuantizeLinear", {"x": g.standard_normal(shape).astype(F)} | of,
                   {"axis": axis, "block_size": size}, constants=("s", "z"), golden=True)
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        yield Case(f"QuantizeLinear_{name_of(dtype)}", "QuantizeLinear", {"x": some, "s": np.array(1, F), "z": np.array(0, dtype)}, constants=("z",))
    for dtype in (np.int8, np.uint8):  # what a quantized number stands for
        yield Case(f"DequantizeLinear_all_{name_of(dtype)}", "DequantizeLinear", {"x": np.arange(256).astype(dtype), "s": np.array(0.3, F),
                                                                                  "z": np.array(100, dtype)}, near=1e-7)
    for name, v in {"nan": [1, NAN, 2], "inf": [1, INF, 2], "zero": [0, 0, 0], "same": [3, 3, 3], "negative": [-1, -2, -3],
                    "small": [1e-38, 2e-38, 0], "large": [3e38, -3e38, 1]}.items():
        yield Case(f"DynamicQuantizeLinear_{name}", "DynamicQuantizeLinear", {"x": np.array(v, F)}, {}, 3, near=1e-6)
    kernel = np.resize(ends(np.int8), (2, 1, 2, 2))
    yield Case("ConvInteger_ends", "ConvInteger", {"x": np.resize(ends(np.uint8), (1, 1, 4, 4)), "w": kernel, "zx": np.array(255, np.uint8)},
               constants=("w", "zx"))
    scale = {"sx": np.array(0.1, F), "zx": np.array(255, np.uint8)}
    yield Case("QLinearMatMul_ends", "QLinearMatMul", {"x": np.resize(ends(np.uint8), (3, 4))} | scale | {
        "z": np.resize(ends(np.uint8), (4, 2)), "sz": np.array(0.2, F), "zz": np.array(0, np.uint8), "sy": np.array(0.5, F), "zy": np.array(3, np.uint8)})
    yield Case("QLinearConv_ends", "QLinearConv", {"x": np.resize(ends(np.uint8), (1, 1, 4, 4))} | scale | {
        "w": np.resize(ends(np.uint8), (1, 1, 2, 2)), "sw": np.array(0.2, F), "zw": np.array(0, np.uint8), "sy": np.array(0.5, F),
        "zy": np.array(3, np.uint8)}, constants=("w", "sw", "zw", "sx", "zx", "sy", "zy"))


def contributed() -> Iterator[Case]:
    """Operators of com.microsoft"""
    ms = {"domain": "com.microsoft", "opset": 1}
    for dtype in (np.int8, np.uint8):
        n, v = name_of(dtype), np.arange(256).astype(dtype)
        least, scale, zero = ends(dtype)[0], np.array(0.1, F), np.array(3, dtype)
        held = ("sx", "zx", "sz", "zz", "sy", "zy")
        two = {"x": v.reshape(-1, 1)[::5].copy(), "sx": scale, "zx": zero, "z": v[::7].copy(), "sz": np.array(0.07, F), "zz": np.array(least), "sy": scale,
               "zy": zero}
        for op in ("QLinearAdd", "QLinearMul"):
            yield Case(f"{op}_{n}", op, two, {}, constants=held, **ms)
        one = {"x": v, "sx": scale, "zx": zero, "sy": np.array(0.01, F), "zy": np.array(least)}
        yield Case(f"QLinearSigmoid_{n}", "QLinearSigmoid", one, {}, constants=held[:2] + held[4:], **ms)
        yield Case(f"QLinearLeakyRelu_{n}", "QLinearLeakyRelu", one, {"alpha": 0.1}, constants=held[:2] + held[4:], **ms)
        yield Case(f"QLinearSoftmax_{n}", "QLinearSoftmax", one | {"x": v.reshape(16, 16)}, {"axis": 1, "opset": 13}, constants=held[:2] + held[4:], **ms)
        image = {"x": v.reshape(1, 4, 8, 8), "sx": scale, "zx": zero, "sy": np.array(0.09, F), "zy": np.array(least)}
        yield Case(f"QLinearGlobalAveragePool_{n}", "QLinearGlobalAveragePool", image, {}, constants=held[:2] + held[4:], **ms)
        yield Case(f"QLinearAveragePool_{n}", "QLinearAveragePool", image, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
                   constants=held[:2] + held[4:], **ms)
        yield Case(f"NhwcMaxPool_{n}", "NhwcMaxPool", {"x": v.reshape(1, 8, 8, 4)}, {"kernel_shape": [3, 3]}, **ms)
        yield Case(f"QLinearWhere_{n}", "QLinearWhere", {"c": v.astype(np.uint8) % 2 == 0, "x": v, "sx": scale, "zx": zero, "z": v[::-1].copy(), "sz":
                   np.array(0.2, F), "zz": np.array(least), "sy": np.array(0.15, F), "zy": zero}, {}, constants=held, **ms)
        yield Case(f"QLinearConcat_{n}", "QLinearConcat", {"sy": np.array(0.15, F), "zy": zero, "x": v, "sx": scale, "zx": zero, "z": v[::-1].copy(),
                   "sz": np.array(0.2, F), "zz": np.array(least)}, {"axis": 0}, constants=held, **ms)
        matrix = np.resize(ends(dtype), (5, 3))
        yield Case(f"QGemm_{n}", "QGemm", {"x": np.resize(ends(dtype), (4, 5)), "sx": scale, "zx": zero, "w": matrix, "sw": np.array(0.2, F), "zw":
                   np.array(least), "c": np.array([2147483, -7, 0], np.int32), "sy": np.array(0.3, F), "zy": zero}, {},
                   constants=("sx", "zx", "w", "sw", "zw", "c", "sy", "zy"), **ms)
        yield Case(f"MatMulIntegerToFloat_{n}", "MatMulIntegerToFloat", {"x": np.resize(ends(dtype), (4, 5)), "w": matrix, "sx": scale, "sw":
                   np.array(0.2, F), "zx": zero, "zw": np.array(least)}, {}, constants=("w", "sx", "sw", "zx", "zw"), near=1e-6, **ms)
        for name, row in {"plain": [1, 2, -3, 0.5, 7], "zero": [0, 0, 0, 0, 0], "nan": [1, NAN, 2, 3, 4], "inf": [1, INF, 2, 3, 4]}.items():
            yield Case(f"DynamicQuantizeMatMul_{name}_{n}", "DynamicQuantizeMatMul", {"x": np.array([row], F), "w": matrix, "sw": np.array(0.2, F), "zw":
                       np.array(least)}, {}, constants=("w", "sw", "zw"), near=1e-6, **ms)


def samples() -> Iterator[Case]:
    image = np.array([[[[1, NAN, 3], [INF, 5, 6], [7, 8, -INF]]]], F)
    for mode in ("nearest", "linear", "cubic"):
        yield Case(f"Resize_{mode}", "Resize", {"x": image, "r": np.zeros(0, F), "s": np.array([1, 1, 2, 2], F)}, {"mode": mode},
                   constants=("r", "s"), near=1e-5)
        yield Case(f"GridSample_{mode}", "GridSample", {"x": np.arange(9, dtype=F).reshape(1, 1, 3, 3), "g": np.array(
            [[[[0, 0], [NAN, 0], [INF, 0], [-INF, 1], [1e10, 0], [-1, -1], [1.5, 0.5]]]], F)}, {"mode": mode}, near=1e-5)
    for dtype in (np.int8, np.uint8, np.int32):
        for mode in ("nearest", "linear"):
            yield Case(f"Resize_{mode}_{name_of(dtype)}", "Resize", {"x": np.resize(ends(dtype), (1, 1, 3, 3)), "r": np.zeros(0, F),
                                                                     "s": np.array([1, 1, 2, 2], F)}, {"mode": mode}, constants=("r", "s"))
    yield Case("Upsample_nearest", "Upsample", {"x": image, "s": np.array([1, 1, 2, 2], F)}, opset=9, constants=("s",))
    yield Case("RoiAlign_nan", "RoiAlign", {"x": image, "r": np.array([[0, 0, 2, 2], [-1, -1, 1, 1]], F), "b": np.array([0, 0])},
               {"output_height": 2, "output_width": 2, "sampling_ratio": 2}, near=1e-4)
    yield Case("NonMaxSuppression_nan", "NonMaxSuppression", {"b": np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3], [0, 0, 0, 0]]], F),
                                                              "s": np.array([[[0.9, 0.8, -INF, INF]]], F), "m": np.array([3]),
                                                              "t": np.array([0.5], F)}, constants=("m", "t"))
    yield Case("DFT_nan", "DFT", {"x": np.array([[[1], [NAN], [2], [3]], [[1], [2], [INF], [0]], [[0], [0], [-0.0], [0]]], F)}, {"axis": 1},
               opset=17, near=1e-5)
    frames = np.array([[1, 2, NAN, 4, 5, 6, 7, 8, INF, 1, 2, 3]], F).reshape(1, 12, 1)
    yield Case("STFT_special", "STFT", {"x": frames, "s": np.array(4), "w": np.ones(4, F)}, constants=("s", "w"), opset=17, near=1e-5)
    score = np.array([[0.1, -INF, 2], [INF, 1, 1], [NAN, 0, 1], [5, 5, 5]], F)
    label = np.array([0, 1, 2, -1])
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for kind in ("none", "mean", "sum"):
            yield Case(f"{op}_{kind}", op, {"x": score[[0, 3]], "t": label[[0, 3]]}, {"ignore_index": -1, "reduction": kind}, near=1e-5)
        yield Case(f"{op}_all_ignored", op, {"x": score[:2], "t": label[[3, 3]]}, {"ignore_index": -1, "reduction": "mean"}, near=1e-5)
        yield Case(f"{op}_special", op, {"x": score[:3], "t": label[:3]}, {"reduction": "none"}, near=1e-5)


def learned() -> Iterator[Case]:
    ml = {"domain": "ai.onnx.ml", "opset": 3}
    yield Case("Binarizer_special", "Binarizer", {"x": ROWS}, {"threshold": 0.0}, **ml)
    yield Case("Imputer_nan", "Imputer", {"x": ROWS}, {"imputed_value_floats": [9.0], "replaced_value_float": NAN}, **ml)
    yield Case("Imputer_zero", "Imputer", {"x": ROWS}, {"imputed_value_floats": [9.0], "replaced_value_float": 0.0}, **ml)
    yield Case("Scaler_special", "Scaler", {"x": ROWS}, {"offset": [1.0], "scale": [2.0]}, near=1e-6, **ml)
    for kind in ("MAX", "L1", "L2"):
        yield Case(f"Normalizer_{kind}", "Normalizer", {"x": ROWS}, {"norm": kind}, near=1e-5, **ml)
    yield Case("LabelEncoder_float", "LabelEncoder", {"x": ROWS}, {"keys_floats": [1.0, NAN, 0.0, INF], "values_floats": [5.0, 6.0, 7.0, 8.0],
                                                                   "default_float": -1.0}, **ml)
    yield Case("OneHotEncoder_int64", "OneHotEncoder", {"x": np.array([1, 3, -5, 2])}, {"cats_int64s": [1, 2, 3]}, **ml)
    classes = {"classlabels_ints": [0, 1, 2], "multi_class": 0}
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        yield Case(f"LinearClassifier_{transform}", "LinearClassifier", {"x": ROWS}, classes | {
            "coefficients": [1.0, 0.0, -1.0, 2.0, 0.5, 0.5, 0.0, -1.0, 0.0, 1.0, 1.0, 0.0], "intercepts": [0.5, 0.0, -0.5], "post_transform": transform}, 2,
            near=1e-5, **ml)
    yield Case("SVMRegressor_special", "SVMRegressor", {"x": ROWS}, {"coefficients": [1.0, -0.5], "kernel_params": [0.5, 0.0, 3.0], "kernel_type": "RBF",
               "n_supports": 2, "rho": [0.25], "support_vectors": [1.0, 2.0, 3.0, 2.0, 0.0, 0.0, 1.0, -1.0]}, near=1e-5, **ml)
    yield Case("TreeEnsembleClassifier_nan", "TreeEnsembleClassifier", {"x": ROWS}, {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [1.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0, 0, 0, 0], "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 2], "class_weights": [0.7, 0.3, 0.2, 0.8],
        "classlabels_int64s": [0, 1, 2]}, 2, near=1e-6, **ml)
    yield Case("LinearClassifier_nan", "LinearClassifier", {"x": ROWS[:5]}, classes | {
        "coefficients": [1.0, 0.0, -1.0, 2.0, 0.5, 0.5, 0.0, -1.0, 0.0, 1.0, 1.0, 0.0], "intercepts": [0.5, 0.0, -0.5]}, 2, near=1e-5, golden=True, **ml)
    yield Case("FeatureVectorizer_special", "FeatureVectorizer", {"x": ROWS, "z": ROWS[:, :2].copy()}, {"inputdimensions": [4, 2]}, **ml)
    yield Case("ArrayFeatureExtractor_special", "ArrayFeatureExtractor", {"x": ROWS, "i": np.array([3, 0, 3])}, **ml)
    yield Case("LinearRegressor_special", "LinearRegressor", {"x": ROWS}, {"coefficients": [1.0, 0.0, -1.0, 2.0], "intercepts": [0.5], "targets": 1},
               near=1e-5, **ml)
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        for missing in (0, 1):
            yield Case(f"TreeEnsembleRegressor_{mode}_{missing}", "TreeEnsembleRegressor", {"x": ROWS}, {
                "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [1.0, 0.0, 0.0],
                "nodes_modes": [mode, "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
                "nodes_missing_value_tracks_true": [missing, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
                "target_weights": [1.0, -1.0], "n_targets": 1}, **ml)


def forest(trees: list[list[tuple]]) -> dict[str, Any]:
    """A regressor of trees whose nodes are (mode, feature, value, missing is true, yes, no) or the number of a leaf"""
    kept: dict[str, list] = {"nodes_" + k: [] for k in ("treeids", "nodeids", "modes", "featureids", "values", "missing_value_tracks_true",
                                                         "truenodeids", "falsenodeids")}
    kept |= {"target_" + k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree, nodes in enumerate(trees):
        for at, node in enumerate(nodes):
            inner = isinstance(node, tuple)
            for k, v in zip(list(kept)[:8], (tree, at, *(node if inner else ("LEAF", 0, 0.0, 0, 0, 0)))):
                kept[k].append(v)
            for k, v in zip(list(kept)[8:], () if inner else (tree, at, 0, node)):
                kept[k].append(v)
    return kept | {"n_targets": 1}


def forests() -> Iterator[Case]:
    """Nodes that several ways lead to"""
    eq, neq, leq = "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_LEQ"
    g = np.random.default_rng(7)
    x = g.integers(0, 6, (80, 3)).astype(F)
    x[:, :2][g.random((80, 2)) < 0.1] = NAN  # of NaN the evaluator says that it is not unequal
    sets = [[(eq, 0, 1.0, 0, 3, 1), (eq, 0, 4.0, 0, 3, 2), (eq, 0, 2.0, 0, 3, 4), (leq, 1, 2.0, 0, 5, 6), (eq, 2, 0.0, 0, 7, 8), 1.0, 2.0, 4.0,
             (eq, 2, 3.0, 0, 7, 9), 8.0],
            [(neq, 2, 1.0, 0, 1, 2), (neq, 2, 5.0, 0, 3, 2), 0.5, (eq, 0, 3.0, 0, 4, 5), -0.25, (eq, 0, 5.0, 0, 4, 6), 0.125]]
    yield Case("trees_sets", "TreeEnsembleRegressor", {"x": x}, forest(sets), domain="ai.onnx.ml", opset=3, near=1e-6, golden=True)
    shared = [[(leq, 0, 2.0, 1, 1, 2), (leq, 1, 3.0, 0, 3, 4), (eq, 2, 1.0, 1, 4, 3), (neq, 2, 4.0, 0, 5, 6), (leq, 1, 1.0, 0, 6, 7), 1.0, 2.0, 4.0]]
    yield Case("trees_shared", "TreeEnsembleRegressor", {"x": x}, forest(shared), domain="ai.onnx.ml", opset=3, near=1e-6, golden=True)


def recurrent() -> Iterator[Case]:
    g = np.random.default_rng(3)
    x = (g.standard_normal((3, 2, 2)) * 2).astype(F)
    x[1, 0, 0], x[2, 1, 1] = INF, -INF
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        w = {"w": g.standard_normal((1, gates * 3, 2)).astype(F), "r": g.standard_normal((1, gates * 3, 3)).astype(F),
             "b": np.zeros((1, gates * 6), F)}
        yield Case(f"{op}_infinite", op, {"x": x} | w, {"hidden_size": 3}, 2, ("w", "r", "b"), near=1e-4)
        yield Case(f"{op}_lengths", op, {"x": np.nan_to_num(x, posinf=1, neginf=-1)} | w | {"l": np.array([0, 2], np.int32)},
                   {"hidden_size": 3}, 2, ("w", "r", "b"), near=1e-4)


def activations() -> Iterator[Case]:
    """Functions of gates with alpha and beta, of which each takes the next ones from the lists"""
    g = np.random.default_rng(5)
    one, many = {"activation_alpha": [0.3], "activation_beta": [0.4]}, {"activation_alpha": [0.3, 0.9, 0.6, 0.2], "activation_beta": [0.4, 0.8]}
    forms = [("RNN", [f], one | {"clip": 1.5}) for f in ("Elu", "LeakyRelu", "ThresholdedRelu", "Affine", "HardSigmoid", "ScaledTanh", "Relu",
                                                        "Softsign", "Softplus", "Sigmoid")]
    forms += [("RNN", [f], {}) for f in ("Elu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Affine", "ScaledTanh")]
    forms += [("LSTM", ["HardSigmoid", "Tanh", "Tanh"], {"activation_alpha": [1 / 6], "activation_beta": [0.5]}),
              ("LSTM", ["HardSigmoid", "ScaledTanh", "Elu"], many),
              ("LSTM", ["Sigmoid", "Elu", "HardSigmoid"] * 2, {"direction": "bidirectional", "clip": 0.7} | many),
              ("LSTM", ["HardSigmoid", "Tanh", "LeakyRelu"], {"direction": "reverse", "input_forget": 1} | many),
              ("GRU", ["HardSigmoid", "Elu"], {"direction": "reverse"} | many), ("GRU", ["Affine", "Tanh"], {"linear_before_reset": 1} | one),
              ("GRU", ["HardSigmoid", "ScaledTanh", "Sigmoid", "LeakyRelu"], {"direction": "bidirectional", "clip": 0.8} | many)]
    for i, (op, functions, more) in enumerate(forms):
        gates, ways = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 2 if more.get("direction") == "bidirectional" else 1
        held = {"w": g.standard_normal((ways, gates * 4, 5)) / 2, "r": g.standard_normal((ways, gates * 4, 4)) / 2,
                "b": g.standard_normal((ways, gates * 8)) / 2}
        yield Case(f"activations_{i}", op, {"x": g.standard_normal((4, 3, 5)).astype(F) * 2} | {k: v.astype(F) for k, v in held.items()},
                   {"hidden_size": 4, "activations": functions} | more, 2, ("w", "r", "b"), near=1e-5, golden=bool(more) and (op != "RNN" or i % 4 == 1))


def empty() -> Iterator[Case]:
    none = np.zeros((0, 3), F)
    for op in ("Abs", "Relu", "Exp", "Softplus", "Transpose", "Identity", "Shape", "Size", "Flatten", "IsNaN", "NonZero"):
        yield Case(f"{op}_empty", op, {"x": none})
    for op in ("Add", "Mul", "Max", "Equal"):
        yield Case(f"{op}_empty", op, {"x": none, "z": np.ones((1, 3), F)})
    yield Case("Concat_empty", "Concat", {"x": none, "z": np.ones((2, 3), F)}, {"axis": 0})
    yield Case("Concat_empty_constant", "Concat", {"x": none, "z": np.ones((2, 3), F)}, {"axis": 0}, constants=("x",), golden=True)
    yield Case("Concat_all_empty", "Concat", {"x": none, "z": none}, {"axis": 0})
    yield Case("Slice_empty", "Slice", {"x": np.ones((2, 3), F), "s": np.array([2]), "e": np.array([1])}, constants=("s", "e"))
    yield Case("Gather_empty", "Gather", {"x": np.ones((2, 3), F), "i": np.zeros(0, np.int64)})
    yield Case("Reshape_empty", "Reshape", {"x": none, "s": np.array([3, 0], np.int64)}, {"allowzero": 1}, constants=("s",))
    yield Case("Cast_empty", "Cast", {"x": none}, {"to": 6})
    yield Case("Softmax_empty", "Softmax", {"x": none})
    yield Case("ScatterND_empty", "ScatterND", {"x": np.ones((2, 3), F), "i": np.zeros((0, 1), np.int64), "u": none})
    yield Case("ScatterElements_empty", "ScatterElements", {"x": np.ones((2, 3), F), "i": np.zeros((0, 3), np.int64), "u": none})
    yield Case("Where_empty", "Where", {"c": np.zeros((0, 3), np.bool_), "x": none, "z": np.ones((1, 3), F)})
    yield Case("Pad_empty", "Pad", {"x": none, "p": np.array([1, 0, 0, 0])}, constants=("p",))
    yield Case("Expand_empty", "Expand", {"x": np.ones((1, 3), F), "s": np.array([0, 3])}, constants=("s",), golden=True)
    yield Case("Tile_empty", "Tile", {"x": np.ones((1, 3), F), "r": np.array([0, 1])}, constants=("r",), golden=True)
    yield Case("Split_empty", "Split", {"x": np.ones((2, 3), F), "s": np.array([0, 2])}, {"axis": 0}, 2, ("s",), golden=True)
    yield Case("TopK_empty", "TopK", {"x": np.ones((2, 3), F), "k": np.array([0])}, {}, 2, ("k",), golden=True)
    yield Case("Slice_no_lists", "Slice", {"x": np.ones((2, 3), F), "s": np.zeros(0, np.int64), "e": np.zeros(0, np.int64)}, constants=("s", "e"),
               golden=True)
    yield Case("ArgMax_empty", "ArgMax", {"x": none}, {"axis": 1})
    yield Case("CumSum_empty", "CumSum", {"x": none, "a": np.array(1)}, constants=("a",))
    yield Case("Unique_empty", "Unique", {"x": np.zeros(0, F)}, {}, 4)
    yield Case("Compress_empty", "Compress", {"x": np.ones((2, 3), F), "c": np.array([False, False])}, {"axis": 0})


def language() -> Iterator[Case]:
    """Operators of language models: ONNX's, and what onnxruntime's optimizer writes"""
    ms = {"domain": "com.microsoft", "opset": 1}
    x, g = ROWS[None], np.array([1, 2, -1, 0.5], F)
    yield Case("BiasGelu_float", "BiasGelu", {"x": FLOATS[None, None], "z": np.roll(FLOATS, 1)}, near=1e-5, **ms)
    yield Case("FastGelu_float", "FastGelu", {"x": FLOATS}, near=1e-5, **ms)
    yield Case("QuickGelu_float", "QuickGelu", {"x": FLOATS}, near=1e-5, **ms)
    yield Case("SimplifiedLayerNormalization_rows", "SimplifiedLayerNormalization", {"x": x, "g": g}, near=1e-5)
    yield Case("SkipLayerNormalization_rows", "SkipLayerNormalization", {"x": x, "z": x[:, ::-1].copy(), "g": g}, near=1e-4, **ms)
    yield Case("SkipSimplifiedLayerNormalization_rows", "SkipSimplifiedLayerNormalization", {"x": x, "z": 0 * g + x[:, ::-1], "g": g},
               near=1e-5, **ms)
    pairs = {"x": FLOATS[:24].reshape(1, 2, 3, 4), "c": np.array([[[1, 0.5]] * 3], F), "s": np.array([[[0.5, -1]] * 3], F)}
    yield Case("RotaryEmbedding_float", "RotaryEmbedding", pairs, opset=23, near=1e-5)
    cache = {"x": FLOATS[:24].reshape(2, 4, 3), "u": -FLOATS[:6].reshape(2, 1, 3), "i": np.array([3, 0])}
    yield Case("TensorScatter_float", "TensorScatter", cache, {"axis": 1}, opset=24)
    yield Case("CenterCropPad_float", "CenterCropPad", {"x": FLOATS.reshape(2, 13), "s": np.array([4, 9])}, constants=("s",))
    yield Case("Col2Im_float", "Col2Im", {"x": FLOATS[:24].reshape(1, 4, 6), "i": np.array([3, 4]), "b": np.array([2, 2])}, constants=("i", "b"))


# Operators without cases: they draw numbers, make constants of their own, or only hold graphs and values together
WITHOUT = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "BlackmanWindow", "HammingWindow",
           "HannWindow", "MelWeightMatrix", "Constant", "If", "Loop", "Scan", "ZipMap",
           # as others here: a mean of QLinearGlobalAveragePool's, LSTM of DynamicQuantizeMatMul's products, SVMRegressor's kernels
           "QLinearReduceMean", "DynamicQuantizeLSTM", "SVMClassifier",
           # sequences, of which nothing is left
           "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
           "SequenceMap", "SplitToSequence",
           # products and softmaxes as MatMul's and Softmax's, samples as GridSample's, rows as Gather's
           "Attention", "MultiHeadAttention", "GroupQueryAttention", "FusedMatMul", "FusedConv", "FusedGemm", "MatMulNBits", "AffineGrid",
           "DeformConv", "GatherBlockQuantized", "EmbedLayerNormalization")


HALVES = ("Add_float", "Sub_float", "Mul_float", "Div_float", "Min_float", "Max_float", "Pow_float", "Equal_float", "Less_float", "PRelu_float",
          "Where_float", "Clip_0_1", "ReduceMax_float", "ReduceSum_float", "ReduceMean_float", "ReduceLogSumExp_float", "ReduceL2_float",
          "Softmax_float", "LogSoftmax_float", "ArgMax_1_0", "Hardmax_rows", "TopK_1", "CumSum_00", "LpNormalization_zero_1",
          "LpNormalization_zero_2", "MaxPool_image", "AveragePool_image", "MatMul_float", "Gemm_float", "Unique_1", "ScatterElements_1_add",
          "ScatterND_rows_none", "Resize_nearest", "LayerNormalization_rows", "IsNaN_float", "IsInf_float", "Round_float", "Ceil_float", "Relu_float",
          "Sigmoid_float", "Tanh_float", "Gelu_float", "Softplus_float", "Reciprocal_float", "Log_float", "Erf_float", "Sin_float", "HardSigmoid_float",
          "Elu_float", "LeakyRelu_float", "Trilu_float32", "GlobalMaxPool_image", "ReduceProd_float", "Sinh_large", "Asinh_large")


def sums() -> Iterator[Case]:
    """Sums of fp16 that the type cannot hold, in results that it can"""
    x = np.linspace(500, 1500, 240).astype(np.float16).reshape(1, 2, 10, 12)
    for op in ("ReduceMean", "ReduceL2", "ReduceLogSum"):
        yield Case(f"{op}_sum", op, {"x": x, "a": np.array([2, 3])}, {}, constants=("a",), near=1e-3, golden=True)
    yield Case("GlobalAveragePool_sum", "GlobalAveragePool", {"x": x}, near=1e-3, golden=True)
    yield Case("AveragePool_sum", "AveragePool", {"x": x}, {"kernel_shape": [9, 9]}, near=1e-3, golden=True)
    yield Case("LpPool_sum", "LpPool", {"x": x}, {"kernel_shape": [3, 3]}, near=1e-3, golden=True)
    for p in (1, 2):
        yield Case(f"LpNormalization_sum_{p}", "LpNormalization", {"x": x.reshape(2, 120)}, {"p": p}, near=1e-3, golden=True)
    yield Case("Mean_sum", "Mean", {"x": x[0, 0] * 40, "z": x[0, 1] * 40, "w": x[0, 0] * 40}, near=1e-3, golden=True)


def halves(given: list[Case]) -> Iterator[Case]:
    """The cases in fp16, with numbers that it holds"""
    for case in given:
        if case.name in HALVES:
            narrow = {k: v if v.dtype != F or k in ("r", "s") and case.op == "Resize" else np.clip(v, -65504, 65504, where=np.isfinite(v), out=v.copy())
                      .astype(np.float16) for k, v in case.inputs.items()}
            yield case._replace(name=f"{case.name}_half", inputs=narrow, near=max(case.near, 2e-3 if case.near else 0), golden=False)


def held(case: Case) -> Case:
    """A case with its operands without elements as constants: such an input of the model is refused"""
    return case._replace(constants=case.constants + tuple(k for k, v in case.inputs.items() if not v.size and k not in case.constants))


def cases() -> list[Case]:
    given = [Case("input_without_elements", "Abs", {"x": np.zeros((0, 3), F)})]
    given += [held(c) for group in (unary, binary, casts, reductions, normalizations, windows, products, moves, scatters, quantized, contributed,
                                    samples, learned, forests, recurrent, activations, empty, sums, language) for c in group()]
    return given + list(halves(given))
