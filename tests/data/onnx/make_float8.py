#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's 8-bit floats: Cast, QuantizeLinear, DequantizeLinear and constants, with what ml_dtypes gives for them.

usage: make_float8.py OUTPUT        (in an environment with the packages onnx, ml_dtypes and numpy)

Each is a directory in libonnx-testdata's layout. Inputs have every number of the format, the middle between each two
and the floats beside it; ONNX's reference evaluator has to give the same. onnxruntime saturates in QuantizeLinear
whatever the attribute says.
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RND = np.random.default_rng(88)
FORMATS = {"e4m3fn": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
           "e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
           "e4m3fnuz": (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
           "e5m2fnuz": (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz)}
CODES = np.arange(256, dtype=np.uint8)


def node(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    return helper.make_node(kind, inputs.split(","), outputs.split(","), **attributes)


def bits(name: str, kind: int, codes: np.ndarray):
    return helper.make_tensor(name, kind, codes.shape, codes.tobytes(), raw=True)


def save(to: Path, name: str, nodes: list, x: np.ndarray, constants: list, expected: np.ndarray | None) -> None:
    """expected None: the model is refused"""
    type_of, like = helper.np_dtype_to_tensor_dtype, x if expected is None else expected
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", type_of(x.dtype), x.shape)],
                              [helper.make_tensor_value_info("y", type_of(like.dtype), like.shape)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    if expected is not None:
        with np.errstate(all="ignore"):
            got = ReferenceEvaluator(model).run(None, {"x": x})[0]
        if not np.array_equal(got.astype(np.float32), expected.astype(np.float32), equal_nan=True):
            sys.exit(f"{name}: ONNX's reference evaluator gives another result")
    data = to / f"test_float8_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    y = np.zeros(like.shape, like.dtype) if expected is None else expected
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(y).SerializeToString())


def edges(dtype: type) -> np.ndarray:
    values = CODES[:128].view(dtype).astype(np.float32)
    values = values[np.isfinite(values)]
    values = np.append(values, 2 * values[-1] - values[-2])  # what would follow the largest
    middle = (values[1:] + values[:-1]) / 2
    up, down = np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0))
    x = np.concatenate([values, middle, up, down, np.array([np.inf, 1e30, 1e-30, 1e-45], np.float32)])
    return np.concatenate([x, -x]).astype(np.float32)


def rounded(x: np.ndarray, dtype: type, saturate: int) -> np.ndarray:
    most = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        return (np.clip(x, -most, most) if saturate else x).astype(dtype).astype(np.float32)


def main() -> None:
    np.seterr(over="ignore", invalid="ignore")
    to = Path(sys.argv[1])
    cast = node("Cast", "q", "y", to=TensorProto.FLOAT)
    for name, (kind, dtype) in FORMATS.items():
        x, values = edges(dtype), CODES.view(dtype).astype(np.float32)
        for saturate in 0, 1:
            nodes = [node("Cast", "x", "q", to=kind, saturate=saturate), cast]
            save(to, f"cast_{name}_{saturate}", nodes, x, [], rounded(x, dtype, saturate))
        # of zeros their signs
        nodes = [node("Cast", "x", "q", to=kind), node("Cast", "q", "f", to=TensorProto.FLOAT), node("Reciprocal", "f")]
        zeros = np.array([0, -0.0, 1e-9, -1e-9], np.float32)
        ends = [np.inf, np.inf if name.endswith("uz") else -np.inf]
        save(to, f"zeros_{name}", nodes, zeros, [], np.array(ends * 2, np.float32))
        nodes = [node("Identity", "k", "q"), node("Cast", "q", "f", to=TensorProto.FLOAT), node("Mul", "f,x")]
        one = np.ones(1, np.float32)
        save(to, f"raw_{name}", nodes, one, [bits("k", kind, CODES)], values)
        listed = TensorProto(name="k", data_type=kind, dims=[256], int32_data=CODES.tolist())
        save(to, f"listed_{name}", nodes, one, [listed], values)
        nodes.insert(0, node("Constant", "", "k", value=bits("v", kind, CODES)))
        del nodes[0].input[:]
        save(to, f"constant_{name}", nodes, one, [], values)
        x = (RND.standard_normal((9, 40)) * np.exp2(RND.integers(-12, 12, (9, 40)))).astype(np.float32)
        x[0, :4] = np.inf, -np.inf, 3e38, -3e38
        scale = np.exp(RND.standard_normal(40)).astype(np.float32)
        scales = [numpy_helper.from_array(scale, "s"), bits("z", kind, np.zeros(40, np.uint8))]
        for saturate in 0, 1:
            nodes = [node("QuantizeLinear", "x,s,z", "q", axis=1, saturate=saturate), cast]
            save(to, f"quantize_{name}_{saturate}", nodes, x, scales, rounded(x / scale, dtype, saturate))
        nodes[1] = node("DequantizeLinear", "q,s,z", axis=1)
        save(to, f"dequantize_{name}", nodes, x, scales, rounded(x / scale, dtype, 1) * scale)
        half = numpy_helper.from_array(np.array(0.5, np.float32), "s")
        nodes = [node("QuantizeLinear", "x,s", "q", output_dtype=kind), node("DequantizeLinear", "q,s")]
        save(to, f"one_scale_{name}", nodes, x, [half], rounded(x * 2, dtype, 1) / 2)
        k = (RND.integers(-8, 9, (40, 7)) / 4).astype(dtype)
        x = RND.integers(-3, 4, (5, 40)).astype(np.float32)
        nodes = [node("DequantizeLinear", "k,s", "f"), node("MatMul", "x,f")]
        save(to, f"matmul_{name}", nodes, x, [bits("k", kind, k.view(np.uint8)), half], x @ (k.astype(np.float32) / 2))
        nodes = [node("CastLike", "x,k", "q"), node("Transpose", "q", "t", perm=[1, 0]), node("Cast", "t", "y", to=TensorProto.FLOAT)]
        save(to, f"moved_{name}", nodes, x, [bits("k", kind, k.view(np.uint8))], rounded(x, dtype, 1).T)
    x, kind = np.zeros(4, np.float32), TensorProto.COMPLEX64
    save(to, "refused_cast", [node("Cast", "x", "q", to=kind), cast], x, [], None)
    nodes = [node("Cast", "k", "f", to=TensorProto.FLOAT), node("Add", "f,x")]
    save(to, "refused_constant", nodes, x, [bits("k", kind, CODES[:32].view(np.complex64))], None)
    zero = [numpy_helper.from_array(np.array(1, np.float32), "s"), bits("z", TensorProto.FLOAT8E5M2, np.array(60, np.uint8))]
    save(to, "refused_zero", [node("QuantizeLinear", "x,s,z", "q"), cast], x, zero, None)
    for name, (kind, dtype) in FORMATS.items():  # as inputs and outputs
        x, codes = edges(dtype), CODES.view(dtype)
        finite = codes[np.isfinite(codes.astype(np.float32))]
        save(to, f"input_{name}", [node("Cast", "x", "y", to=TensorProto.FLOAT)], codes, [], codes.astype(np.float32))
        save(to, f"output_{name}", [node("Cast", "x", "y", to=kind)], x, [], rounded(x, dtype, 1).astype(dtype))
        save(to, f"through_{name}", [node("Transpose", "x", "y", perm=[1, 0])], finite[:240].reshape(20, 12), [],
             finite[:240].reshape(20, 12).T)


if __name__ == "__main__":
    main()
