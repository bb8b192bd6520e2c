#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models that libonnx-testdata lacks, with inputs and what ONNX's reference evaluator gives for them.

usage: make.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)

Each is a directory in that package's layout: operators that came later or have no test there, forms of
later operator sets, sums longer than the package's, dimensions left open, and small networks.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RND = np.random.default_rng(1234)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.uint32): TensorProto.UINT32, np.dtype(np.uint16): TensorProto.UINT16,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.float16): TensorProto.FLOAT16}


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def save(directory: Path, name: str, nodes: list, inputs: dict, constants: dict | None = None, opset: int = 18,
         opened: dict | None = None, functions: list | None = None,
         expected: list | None = None) -> None:
    values = [helper.make_tensor_value_info(k, TYPES[v.dtype], (opened or {}).get(k, v.shape)) for k, v in inputs.items()]
    held = [numpy_helper.from_array(np.array(v), k) for k, v in (constants or {}).items()]
    outputs = [o for o in nodes[-1].output if o]
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("own", 1)] if functions else [])
    blank = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, name, values, blank, held)
    model = helper.make_model(graph, opset_imports=opsets, functions=functions or [], ir_version=8)
    found = expected or ReferenceEvaluator(model).run(None, inputs)
    del model.graph.output[:]
    for key, value in zip(outputs, found):
        model.graph.output.append(helper.make_tensor_value_info(key, TYPES[np.asarray(value).dtype], None))
    data = directory / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for i, value in enumerate(inputs.values()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for i, value in enumerate(found):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def by_runtime(graph_node: object, inputs: dict, constants: dict, opset: int) -> list:
    """onnxruntime's result, where the evaluator's is another than it and PyTorch give"""
    values = [helper.make_tensor_value_info(k, TYPES[v.dtype], v.shape) for k, v in inputs.items()]
    held = [numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = helper.make_graph([graph_node], "one", values, [helper.make_empty_tensor_value_info("y")], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def node(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    return helper.make_node(kind, inputs.split(","), outputs.split(","), **attributes)


def operators(to: Path) -> None:
    x, z = normal(2, 3, 4), normal(2, 3, 4)
    whole = RND.integers(-100, 100, (3, 4)).astype(np.int32)
    for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        save(to, kind.lower(), [node(kind, "x,z")], {"x": whole, "z": whole[::-1].copy()})
    save(to, "bitwisenot", [node("BitwiseNot", "x")], {"x": whole})
    save(to, "gelu", [node("Gelu", "x")], {"x": x}, opset=20)
    save(to, "gelu_tanh", [node("Gelu", "x", approximate="tanh")], {"x": x}, opset=20)
    save(to, "mish", [node("Mish", "x")], {"x": x})
    save(to, "lpnormalization", [node("LpNormalization", "x", axis=1)], {"x": x})
    save(to, "groupnormalization", [node("GroupNormalization", "x,s,b", num_groups=2)],
         {"x": normal(2, 4, 3, 3), "s": normal(4), "b": normal(4)}, opset=21)
    save(to, "lppool", [node("LpPool", "x", kernel_shape=[2, 2], strides=[2, 2], p=2)], {"x": normal(1, 2, 6, 6)})
    save(to, "rmsnormalization", [node("RMSNormalization", "x,s")], {"x": x, "s": normal(4)}, opset=23)
    save(to, "swish", [node("Swish", "x", alpha=1.5)], {"x": x}, opset=24)
    image = normal(1, 2, 3, 4)  # the evaluator does not have this one
    save(to, "globallppool", [node("GlobalLpPool", "x", p=2)], {"x": image},
         expected=[np.sqrt(np.sum(image.astype(np.float64) ** 2, axis=(2, 3), keepdims=True)).astype(np.float32)])
    save(to, "reduce_axes_operand", [node("ReduceMean", "x,a", keepdims=0)], {"x": x}, {"a": np.array([1], np.int64)})
    save(to, "split_num_outputs", [node("Split", "x", "a,b", axis=2, num_outputs=2)], {"x": x})
    save(to, "pad_axes", [node("Pad", "x,p,,a", mode="reflect")], {"x": x},
         {"p": np.array([2, 1], np.int64), "a": np.array([2], np.int64)})
    save(to, "matmulinteger_long", [node("MatMulInteger", "x,z,p")],
         {"x": RND.integers(0, 256, (3, 600)).astype(np.uint8), "z": RND.integers(-128, 128, (600, 5)).astype(np.int8),
          "p": np.array(7, np.uint8)})
    save(to, "convinteger_long", [node("ConvInteger", "x,z")],
         {"x": RND.integers(0, 256, (1, 40, 6, 6)).astype(np.uint8),
          "z": RND.integers(0, 256, (4, 40, 3, 3)).astype(np.uint8)})
    save(to, "matmul_long", [node("MatMul", "x,z")], {"x": normal(4, 700), "z": normal(700, 9)})
    save(to, "matmul_vector", [node("MatMul", "x,z")], {"x": normal(7), "z": normal(3, 7, 2)})
    save(to, "add_float16", [node("Add", "x,z")], {"x": x.astype(np.float16), "z": z.astype(np.float16)})
    save(to, "gather_embedding", [node("Gather", "t,i")],
         {"i": RND.integers(0, 50, (2, 7)).astype(np.int64)}, {"t": normal(50, 16)})
    save(to, "topk_long", [node("TopK", "x,k", "v,i")], {"x": normal(5, 200)}, {"k": np.array([9], np.int64)})
    save(to, "einsum_three", [node("Einsum", "x,z,w", equation="bij,bjk,kl->bil")],
         {"x": normal(2, 3, 4), "z": normal(2, 4, 5), "w": normal(5, 6)})
    save(to, "scatternd_rows", [node("ScatterND", "x,i,u")], {"x": x, "u": normal(1, 3, 4)},
         {"i": np.array([[1]], np.int64)})
    save(to, "open_dimension", [node("Shape", "x", "s", start=1), node("Reshape", "x,s2", "f"), node("Relu", "f")],
         {"x": x}, {"s2": np.array([0, -1], np.int64)}, opened={"x": ("batch", 3, 4)})


def networks(to: Path) -> None:
    save(to, "convolutional", [
        node("Conv", "x,w1,b1", "a", pads=[1, 1, 1, 1]), node("BatchNormalization", "a,s,h,m,v", "b"),
        node("Relu", "b", "c"), node("MaxPool", "c", "d", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "d,w2", "e", group=8, pads=[1, 1, 1, 1]), node("Clip", "e,lo,hi", "f"),
        node("Conv", "f,w3,b3", "g"), node("GlobalAveragePool", "g", "h2"), node("Flatten", "h2", "i"),
        node("Gemm", "i,w4,b4", "j", transB=1), node("Softmax", "j")],
        {"x": normal(2, 3, 16, 16)},
        {"w1": normal(8, 3, 3, 3) / 5, "b1": normal(8), "s": normal(8), "h": normal(8), "m": normal(8),
         "v": np.abs(normal(8)) + 1, "w2": normal(8, 1, 3, 3) / 3, "lo": np.float32(0), "hi": np.float32(6),
         "w3": normal(12, 8, 1, 1) / 3, "b3": normal(12), "w4": normal(10, 12) / 3, "b4": normal(10)})
    heads, width, length = 4, 32, 12
    each = width // heads
    split = {"sh": np.array([0, 0, heads, each], np.int64), "back": np.array([0, 0, width], np.int64),
             "scale": np.float32(each ** -0.5)}
    save(to, "attention", [
        node("MatMul", "x,wq", "q0"), node("MatMul", "x,wk", "k0"), node("MatMul", "x,wv", "v0"),
        node("Reshape", "q0,sh", "q1"), node("Reshape", "k0,sh", "k1"), node("Reshape", "v0,sh", "v1"),
        node("Transpose", "q1", "q", perm=[0, 2, 1, 3]), node("Transpose", "k1", "k", perm=[0, 2, 3, 1]),
        node("Transpose", "v1", "v", perm=[0, 2, 1, 3]), node("MatMul", "q,k", "a"), node("Mul", "a,scale", "b"),
        node("Softmax", "b", "c", axis=-1), node("MatMul", "c,v", "d"), node("Transpose", "d", "e", perm=[0, 2, 1, 3]),
        node("Reshape", "e,back", "f"), node("MatMul", "f,wo", "g"), node("Add", "x,g", "h"),
        node("LayerNormalization", "h,s,t")],
        {"x": normal(2, length, width)},
        split | {w: normal(width, width) / 6 for w in ("wq", "wk", "wv", "wo")} | {"s": normal(width), "t": normal(width)})
    save(to, "function", [helper.make_node("Twice", ["x"], ["a"], domain="own", by=3.0), node("Neg", "a")],
         {"x": normal(3, 3)}, functions=[helper.make_function(
             "own", "Twice", ["x"], ["y"],
             [scale_by(), node("Mul", "x,by", "y")], [helper.make_opsetid("", 18)], ["by"])])


def scale_by():
    constant = helper.make_node("Constant", [], ["by"])
    ref = constant.attribute.add()
    ref.name, ref.ref_attr_name, ref.type = "value_float", "by", 1
    return constant


def constants(to: Path) -> None:
    """What the compiler computes itself wraps around as the chip's integers do"""
    words, byte = np.array([0xFFFFFFFF, 0x80000001, 3], np.uint32), np.array([0, 5, 255], np.uint8)
    save(to, "constants_u32", [node("Mul", "c,c", "m"), node("Sub", "d,c", "s"), node("BitwiseXor", "m,s", "k"),
                               node("ReduceProd", "c", "p", keepdims=0), node("Add", "k,p", "z"), node("Add", "x,z")],
         {"x": np.array([1, 0xFFFFFFFF, 7], np.uint32)}, {"c": words, "d": words[::-1].copy()})
    save(to, "constants_u8", [node("Tile", "c,n", "long"), node("BitwiseNot", "long", "not"),
                              node("Slice", "not,from,to", "k"), node("Add", "x,k")],
         {"x": byte}, {"c": byte[::-1].copy(), "n": np.array([30000]), "from": np.array([0]), "to": np.array([3])})
    low = np.array([-2147483648, -1, 2147483647], np.int32)
    save(to, "constants_s32", [node("Neg", "c", "n"), node("Abs", "c", "a"), node("BitwiseXor", "n,a", "k"),
                               node("BitwiseXor", "x,k")], {"x": low[::-1].copy()}, {"c": low})


def rows(to: Path) -> None:
    """Tables large enough for their rows to be taken by DMA"""
    save(to, "gather_rows", [node("Gather", "t,i")],
         {"i": RND.integers(-300, 300, (3, 7)).astype(np.int32)}, {"t": normal(300, 32)})
    save(to, "gather_rows_axis", [node("Gather", "x,i", axis=1)],
         {"x": normal(2, 260, 32), "i": RND.integers(-260, 260, (2, 2)).astype(np.int32)})


def graph(nodes: list, name: str, inputs: dict, outputs: dict):
    def info(values: dict) -> list:
        return [helper.make_tensor_value_info(k, *v) for k, v in values.items()]
    return helper.make_graph(nodes, name, info(inputs), info(outputs))


def turns(to: Path) -> None:
    """If and Loop whose conditions are data"""
    whole, truth, real = (TensorProto.INT64, ()), (TensorProto.BOOL, ()), (TensorProto.FLOAT, (3,))
    halve = graph([node("Mul", "x,x", "b1"), node("Add", "b1,x", "b")], "yes", {}, {"b": real})
    negate = graph([node("Neg", "x", "c")], "no", {}, {"c": real})
    for name, sign in (("if_data", 1), ("if_data_not", -1)):
        save(to, name, [node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s,zero", "p"),
                        node("If", "p", then_branch=halve, else_branch=negate)],
             {"x": sign * np.array([1, 2, -0.5], np.float32)}, {"zero": np.float32(0)})
    double = graph([node("Add", "v,v", "w"), node("ReduceMax", "w", "m", keepdims=0), node("Less", "m,hundred", "go")],
                   "turn", {"i": whole, "c": truth, "v": real}, {"go": truth, "w": real})
    loop = node("Loop", ",yes,x", body=double)
    save(to, "loop_data", [loop], {"x": np.array([1, 3, -2], np.float32)},
         {"yes": np.array(True), "hundred": np.float32(100)})
    save(to, "loop_trips", [node("Loop", "n,yes,x", body=graph(
        [node("Cast", "i", "f", to=TensorProto.FLOAT), node("Mul", "v,f", "u"), node("Add", "u,x", "w"), node("Identity", "c", "go")],
        "turn", {"i": whole, "c": truth, "v": real}, {"go": truth, "w": real}))],
        {"n": np.array(6, np.int64), "x": np.array([1, 3, -2], np.float32)}, {"yes": np.array(True)})
    save(to, "loop_not_entered", [node("Loop", "n,yes,x", body=graph(  # the loop in it would not end
        [node("Loop", ",yes,low", "z", body=double), node("Identity", "c", "go")], "outer",
        {"i": whole, "c": truth, "a": real}, {"go": truth, "z": real}))],
        {"n": np.array(0, np.int64), "x": np.array([1, 3, -2], np.float32), "low": np.full(3, -1, np.float32)},
        {"yes": np.array(True), "hundred": np.float32(100)})
    inner = graph([node("Loop", ",yes,x", "z", body=double)], "yes", {}, {"z": real})
    for name, x in (("loop_in_if", [1, 3, -2]), ("loop_in_if_not", [-1, -3, -2])):  # the other one would not end
        save(to, name, [node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s,zero", "p"),
                        node("If", "p", then_branch=inner, else_branch=negate)],
             {"x": np.array(x, np.float32)}, {"zero": np.float32(0), "yes": np.array(True), "hundred": np.float32(100)})


def scans(to: Path) -> None:
    """Two operands scanned along different axes, one from its end; the body reads a value from around it"""
    body = helper.make_graph(
        [node("Mul", "a,w", "aw"), node("Add", "s,aw", "t"), node("Sub", "t,b", "r")], "body",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, [3]) for k in "sab"],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, [3]) for k in "tr"])
    s, a, b, w = normal(3), normal(3, 5), normal(5, 3), normal(3)
    state, rows = s, []
    for t in range(5):
        state = state + a[:, t] * w
        rows.insert(0, state - b[4 - t])
    save(to, "scan_axes", [node("Scan", "s,a,b", "y,z", body=body, num_scan_inputs=2, scan_input_axes=[1, 0],
                                scan_input_directions=[0, 1], scan_output_axes=[-1], scan_output_directions=[1])],
         {"s": s, "a": a, "b": b}, {"w": w}, expected=[state, np.stack(rows, 1)])  # the evaluator scans from the start only


def samples(to: Path) -> None:
    grid = (1.3 * RND.uniform(-1, 1, (2, 4, 6, 2))).astype(np.float32)
    for name, more in (("zeros", {}), ("border", {"align_corners": 1}), ("reflection", {})):
        for mode in ("nearest", "linear", "cubic"):
            one, given = node("GridSample", "x,g", mode=mode, padding_mode=name, **more), {"x": normal(2, 3, 5, 4), "g": grid}
            save(to, f"gridsample_{name}_{mode}", [one], given, opset=20, expected=by_runtime(one, given, {}, 20))
    save(to, "gridsample_volume", [node("GridSample", "x,g", mode="linear")],
         {"x": normal(2, 2, 3, 4, 5), "g": (1.2 * RND.uniform(-1, 1, (2, 2, 3, 4, 3))).astype(np.float32)}, opset=20)
    save(to, "gridsample_rows", [node("GridSample", "x,g", mode="linear", padding_mode="reflection", align_corners=1)],
         {"x": normal(1, 3, 40, 30), "g": (1.1 * RND.uniform(-1, 1, (1, 9, 7, 2))).astype(np.float32)}, opset=20)
    regions = np.array([[-3, -2, 2, 4], [1, 2, 9.5, 6], [5, 5, 5.2, 5.1], [6, 1, 14, 12]], np.float32)
    of = {"b": np.array([0, 1, 1, 0], np.int64)}
    save(to, "roialign", [node("RoiAlign", "x,r,b", output_height=3, output_width=2, sampling_ratio=3, spatial_scale=0.8)],
         {"x": normal(2, 3, 8, 9), "r": regions}, of)
    one, given = node("RoiAlign", "x,r,b", output_height=2, output_width=2, sampling_ratio=1), \
        {"x": normal(2, 20, 24, 16), "r": regions}
    save(to, "roialign_output", [one], given, of, opset=10, expected=by_runtime(one, given, of, 10))
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    flat = np.array([[[[0, 2], [9, 11]], [[21, 23], [31, 29]]]], np.int64)
    y = np.zeros((1, 2, 4, 4), np.float32)
    np.put(y, flat, x)
    save(to, "maxunpool_planes", [node("MaxUnpool", "x,i", kernel_shape=[2, 2], strides=[2, 2])],
         {"x": x, "i": flat}, opset=11, expected=[y])  # the evaluator has room for one plane only


def transforms(to: Path) -> None:
    pair = normal(2, 12, 3, 2)
    save(to, "dft_longer", [node("DFT", "x,n,a", onesided=1)], {"x": normal(2, 3, 10, 1)},
         {"n": np.array(16, np.int64), "a": np.array(2, np.int64)}, opset=20)
    save(to, "dft_shorter", [node("DFT", "x,n", axis=1)], {"x": pair}, {"n": np.array(7, np.int64)}, opset=17)
    save(to, "dft_inverse_complex", [node("DFT", "x,,a", inverse=1)], {"x": pair}, {"a": np.array(-3, np.int64)}, opset=20)
    save(to, "stft_long", [node("STFT", "x,s,w,n", onesided=0)], {"x": normal(2, 500, 1)},
         {"s": np.array(4, np.int64), "w": np.hanning(24).astype(np.float32), "n": np.array(24, np.int64)}, opset=17)
    for rows in (1, 3, 5):
        save(to, f"det_{rows}", [node("Det", "x")], {"x": normal(3, 2, rows, rows)})


def exported(to: Path) -> None:
    """What exporters write and other runtimes take: real samples of rank 2, an open dimension as -1"""
    stft = node("STFT", "x,s,w")
    held = {"s": np.array(8, np.int64), "w": np.hanning(24).astype(np.float32)}
    x = {"x": normal(2, 200)}
    save(to, "stft_flat", [stft], x, held, opset=17, opened={"x": (-1, 200)}, expected=by_runtime(stft, x, held, 17))
    few = (np.arange(3 * 1100 * 2) * 7919 % 401).astype(np.float32).reshape(3, 1100, 2) - 200  # with equal ones
    first = np.argsort(few, axis=1, kind="stable")[:, :300]
    save(to, "topk_many", [node("TopK", "x,k", "v,i", axis=1, largest=0)], {"x": few}, {"k": np.array([300], np.int64)},
         expected=[np.take_along_axis(few, first, 1), first])


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def spectra(to: Path) -> None:
    """Lengths whose matrix would be too large, frames of many or few common samples; NumPy's transforms"""
    x = normal(1, 4096, 1)
    save(to, "dft_4096", [node("DFT", "x,,a", onesided=1)], {"x": x}, {"a": np.array(1, np.int64)}, opset=20,
         expected=[pairs(np.fft.rfft(x[..., 0].astype(np.float64), axis=1))])
    z = normal(3, 211, 2)
    save(to, "dft_prime", [node("DFT", "x", axis=1, inverse=1)], {"x": z}, opset=17,
         expected=[pairs(np.fft.ifft(z.astype(np.float64) @ [1, 1j], axis=1))])
    half = normal(2, 9, 3, 2)
    for name, length in ("even", 16), ("odd", 17), ("few", 8), ("many", 24):
        save(to, f"dft_to_real_{name}", [node("DFT", "x,n,a", inverse=1, onesided=1)], {"x": half},
             {"n": np.array(length, np.int64), "a": np.array(1, np.int64)}, opset=20,
             expected=[np.fft.irfft(half.astype(np.float64) @ [1, 1j], length, 1)[..., None].astype(np.float32)])
    save(to, "dft_to_real", [node("DFT", "x", axis=1, inverse=1, onesided=1)], {"x": half}, opset=17,
         expected=[np.fft.irfft(half.astype(np.float64) @ [1, 1j], axis=1)[..., None].astype(np.float32)])
    spectrograms(to, ("dense", 90, 1, 40, 1), ("apart", 100, 30, 20, 1), ("complex", 90, 12, 31, 2), ("whole", 50, 50, 50, 1))


def spectrograms(to: Path, *rows: tuple[str, int, int, int, int]) -> None:
    """(name, length of the signal, step between frames, length of a frame, 1 of real and 2 of complex samples)"""
    for name, length, step, size, parts in rows:
        x, window = normal(2, length, parts), np.hanning(size).astype(np.float32)
        signal = x.astype(np.float64) @ [1, 1j][:parts]
        at = np.arange(0, length - size + 1, step)[:, None] + np.arange(size)
        bins = size // 2 + 1 if parts == 1 else size
        save(to, f"stft_{name}", [node("STFT", "x,s,w", onesided=int(parts == 1))], {"x": x},
             {"s": np.array(step, np.int64), "w": window}, opset=17,
             expected=[pairs(np.fft.fft(signal[:, at] * window, axis=-1)[..., :bins])])


def near_ties(scale: np.float32) -> np.ndarray:
    """The numbers around every tie of 8 bits, and some far away"""
    ties = ((np.arange(-260, 260) + 0.5) * np.float64(scale)).astype(np.float32)
    near = [ties]
    for to in (-np.inf, np.inf):
        x = ties
        for _ in range(4):
            x = np.nextafter(x, np.float32(to))
            near.append(x)
    return np.concatenate([*near, np.array([0, -0.0, 999 * scale, -999 * scale, np.inf, -np.inf], np.float32)])


def quantized(to: Path) -> None:
    """Scales of all kinds: a power of two, short, long, one that the nearest reciprocal gets wrong, one that a larger does"""
    scales = np.array([0.25, 0.1875, 0.0376592912, 1.7e-9, 12713983 * 2**-28, 14024705 * 2**-28, 3.3e7], np.float32)
    limits = {np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255), np.dtype(np.uint16): (0, 65535)}

    def steps(x: np.ndarray, s: np.ndarray, z: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.clip(np.rint(x / s) + z.astype(np.float32), *limits[z.dtype]).astype(z.dtype)

    x = np.stack([near_ties(s) for s in scales])
    s, z = scales[:, None], np.array([-3, 0, 7, -128, 127, 1, 0], np.int8)
    one = node("QuantizeLinear", "x,s,z", axis=0)
    save(to, "quantize_ties", [one], {"x": x}, {"s": scales, "z": z}, expected=[steps(x, s, z[:, None])])
    save(to, "quantize_ties_computed", [one], {"x": x, "s": scales, "z": z}, expected=[steps(x, s, z[:, None])])
    for i, zero in ((2, np.uint8(128)), (4, np.uint8(0))):
        back = (steps(x[i], scales[i], zero).astype(np.float32) - np.float32(zero)) * scales[i]
        save(to, f"quantize_dequantize_{zero}", [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "y")],
             {"x": x[i]}, {"s": scales[i], "z": zero}, expected=[back])
    save(to, "quantize_dequantize_zeros", [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,t", "y")],
         {"x": x[2]}, {"s": scales[2], "z": np.int8(5), "t": np.int8(-4)},
         expected=[(steps(x[2], scales[2], np.int8(5)).astype(np.float32) + np.float32(4)) * scales[2]])
    wide = (RND.standard_normal(500) * 3000).astype(np.float32)
    save(to, "quantize_16", [node("QuantizeLinear", "x,s,z")], {"x": wide}, {"s": scales[2], "z": np.uint16(30000)},
         opset=21, expected=[steps(wide, scales[2], np.uint16(30000))])
    x, k = normal(6, 40), RND.integers(-128, 128, (40, 9)).astype(np.int8)
    save(to, "dynamic_product", [node("DynamicQuantizeLinear", "x", "q,s,z"), node("MatMulInteger", "q,k,z", "p"),
                                 node("Cast", "p", "f", to=1), node("Mul", "f,s", "y")], {"x": x, "k": k})
    save(to, "matmulinteger_signed", [node("MatMulInteger", "x,k")],
         {"x": RND.integers(-128, -126, (3, 1100)).astype(np.int8), "k": RND.integers(-128, -126, (1100, 4)).astype(np.int8)})


def again(to: Path) -> None:
    """What was quantized is quantized again: by the same scale, so that ties appear, beyond the range, and of two scales"""
    x = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    first, zero = np.float32(0.0376592912), np.uint8(3)

    def back(x: np.ndarray, s: np.float32, z: np.uint8) -> np.ndarray:
        return (x.astype(np.float32) - np.float32(z)) * s

    def steps(x: np.ndarray, s: np.float32, z: np.uint8) -> np.ndarray:
        return np.clip(np.rint(x / s) + np.float32(z), 0, 255).astype(np.uint8)

    for name, ratio, other in (("same", 1, 3), ("zero", 1, 5), ("ties", 2, 0), ("beyond", 1 / 3, 100), ("near", 255 / 256, 3)):
        c = {"s": first, "z": zero, "t": np.float32(first * np.float32(ratio)), "o": np.uint8(other)}
        pooled = back(x, first, zero).reshape(1, 1, 8, 2, 8, 2).max((3, 5))
        nodes = [node("DequantizeLinear", "x,s,z", "f"), node("MaxPool", "f", "p", kernel_shape=[2, 2], strides=[2, 2]),
                 node("QuantizeLinear", "f,t,o", "q"), node("DequantizeLinear", "q,t,o", "y"),
                 node("QuantizeLinear", "p,t,o", "r"), node("DequantizeLinear", "r,t,o", "v")]
        y, v = (back(steps(w, c["t"], c["o"]), c["t"], c["o"]) for w in (back(x, first, zero), pooled))
        nodes += [node("Flatten", "y", "a", axis=0), node("Flatten", "v", "b", axis=0), node("Concat", "a,b", "all", axis=1)]
        save(to, f"quantize_again_{name}", nodes, {"x": x}, c,
             expected=[np.concatenate([y.reshape(1, -1), v.reshape(1, -1)], 1)])
    c = {"s": first, "z": zero, "t": np.float32(0.05), "o": np.uint8(128)}
    save(to, "quantize_again_two", [node("DequantizeLinear", "x,s,z", "f"), node("DequantizeLinear", "x,t,o", "g"),
                                    node("Concat", "f,g", "h", axis=1), node("QuantizeLinear", "h,t,z", "y")], {"x": x}, c,
         expected=[steps(np.concatenate([back(x, first, zero), back(x, c["t"], c["o"])], 1), c["t"], zero)])
    f, g = back(x, first, zero), back(x.reshape(1, 1, 256, 1), first, np.uint8(7))
    for name, ratio in (("plain", 0.9), ("ties", 2), ("third", 3)):
        c = {"s": first, "z": zero, "o": np.uint8(7), "t": np.float32(first * np.float32(ratio)), "i": np.float32(1.1), "one": np.float32(0.5)}
        ends = [node("DequantizeLinear", "x,s,z", "f"), node("DequantizeLinear", "w,s,o", "g")]
        y = steps(f.reshape(1, 1, 1, 256) + g, c["t"], zero)
        save(to, f"quantize_sum_{name}", [*ends, node("Add", "f,g", "h"), node("QuantizeLinear", "h,t,z", "y")],
             {"x": x.reshape(1, 1, 1, 256), "w": x.reshape(1, 1, 256, 1)}, c, expected=[y])
        y = steps(f * np.minimum(f * c["i"] - c["one"], f), c["t"], zero)
        save(to, f"quantize_function_{name}", [ends[0], node("Mul", "f,i", "m"), node("Sub", "m,one", "n"), node("Min", "n,f", "k"),
                                               node("Mul", "f,k", "h"), node("QuantizeLinear", "h,t,z", "y")], {"x": x}, c, expected=[y])


def far(to: Path) -> None:
    """Kernels whose outer elements meet only padding, or just not"""
    for name, size, dilations, pads in (("all", (4, 3), (4, 3), (4, 3, 4, 3)), ("begin", (6, 6), (5, 2), (8, 2, 4, 2)),
                                        ("end", (6, 5), (5, 1), (4, 1, 8, 1)), ("none", (6, 4), (5, 3), (5, 3, 5, 3)),
                                        ("more", (2, 3), (3, 2), (6, 2, 1, 2))):
        save(to, f"conv_far_{name}", [node("Conv", "x,w", dilations=dilations, pads=pads)], {"x": normal(1, 3, *size)},
             {"w": normal(4, 3, 3, 3)})


def frames(to: Path) -> None:
    """Windows over few features that overlap: the last block reaches beyond the kernel, the input beyond the last window"""
    for name, shape, size, stride in (("rest", (2, 1, 97), 25, 10), ("whole", (1, 3, 64), 16, 8), ("short", (1, 2, 40), 17, 5)):
        save(to, f"conv_frames_{name}", [node("Conv", "x,w", strides=[stride])], {"x": normal(*shape)}, {"w": normal(6, shape[1], size)})


def windows(x: np.ndarray, size: int, stride: int) -> np.ndarray:
    v = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return v[:, :, ::stride, ::stride]


def sums_of_bytes(to: Path) -> None:
    """Convolutions between quantized values: whole numbers, to the bit what integers give"""
    limits = {np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255)}
    sx, sy, zk = np.float32(0.0213), np.float32(0.0771), np.int8(0)

    def case(name: str, zx: np.generic, zy: np.generic, *, relu: bool = False, top: float = np.inf, pool: bool = False,
             bias: bool = True, one: bool = False, pad: int = 1, stride: int = 1) -> None:
        w = RND.integers(-127, 128, (5, 3, 3, 3)).astype(np.int8)
        sw = np.float32(0.0031) if one else RND.uniform(0.001, 0.004, 5).astype(np.float32)
        q = RND.integers(*limits[zx.dtype], (1, 3, 9, 10), endpoint=True).astype(zx.dtype)
        b = RND.integers(-9000, 9000, 5).astype(np.int32)
        c = {"sx": sx, "zx": zx, "sy": sy, "zy": zy, "w": w, "sw": sw, "zw": zk if one else np.zeros(5, np.int8)}
        c |= {"b": b, "sb": sx * sw, "zb": np.int32(0) if one else np.zeros(5, np.int32)} if bias else {}
        nodes = [node("DequantizeLinear", "x,sx,zx", "f"), node("QuantizeLinear", "f,sx,zx", "g"),
                 node("DequantizeLinear", "g,sx,zx", "h"), node("DequantizeLinear", "w,sw,zw", "k", axis=0)]
        nodes += [node("DequantizeLinear", "b,sb,zb", "d", axis=0)] if bias else []
        whole = q.astype(np.int64) - int(zx)
        if pool:
            nodes += [node("MaxPool", "h", "m", kernel_shape=[3, 3], strides=[2, 2]), node("Relu", "m", "n")]
            whole = np.maximum(windows(whole, 3, 2).max((4, 5)), 0)
        nodes += [node("Conv", f"{'n' if pool else 'h'},k{',d' if bias else ''}", "s", pads=[pad] * 4, strides=[stride] * 2)]
        padded = windows(np.pad(whole, ((0, 0), (0, 0), (pad, pad), (pad, pad))), 3, stride)
        total = np.einsum("ncijkl,ockl->noij", padded, w.astype(np.int64)) + (b if bias else 0 * b)[:, None, None]
        scaled = total.astype(np.float32) * np.broadcast_to(sx * sw / sy, 5)[:, None, None]
        low, high = ((v - float(zy)) for v in limits[zy.dtype])
        last = "s"
        if relu:
            nodes, last, low = [*nodes, node("Relu", "s", "r")], "r", max(low, 0)
        if top < np.inf:
            nodes, last = [*nodes, node("Clip", f"{last},least,top", "c")], "c"
            c |= {"least": np.float32(-top), "top": np.float32(top)}
            low, high = max(low, float(np.float32(-top) / sy)), min(high, float(np.float32(top) / sy))
        y = (np.rint(np.clip(scaled, np.float32(low), np.float32(high))) + float(zy)).astype(zy.dtype)
        # as bytes of a second convolution too, whose sums name each of them
        nodes += [node("QuantizeLinear", f"{last},sy,zy", "q"), node("DequantizeLinear", "q,sy,zy", "t"),
                  node("DequantizeLinear", "u,su,zu", "l", axis=0), node("Conv", "t,l", "e"), node("QuantizeLinear", "e,se,zy", "a"),
                  node("Concat", "q,a", "y", axis=1)]
        c |= {"u": np.eye(5, dtype=np.int8)[:, :, None, None] * np.int8(100), "su": np.float32(0.01), "zu": zk, "se": sy}
        again = np.float32(100) * (y.astype(np.float32) - np.float32(zy)) * (sy * c["su"] / sy)
        again = np.clip(np.rint(again) + np.float32(zy), *limits[zy.dtype]).astype(zy.dtype)
        save(to, f"bytes_{name}", nodes, {"x": q}, c, expected=[np.concatenate([y, again], 1)])

    case("middle", np.uint8(128), np.uint8(128))
    case("relu", np.uint8(0), np.uint8(0), relu=True, stride=2)
    case("relu_inside", np.uint8(3), np.uint8(77), relu=True, pad=0)
    case("clip", np.uint8(9), np.uint8(100), top=3.3, one=True)
    case("signed", np.int8(-7), np.int8(5), bias=False)
    case("signed_relu", np.int8(-128), np.int8(-128), relu=True, one=True, bias=False)
    case("pool", np.uint8(40), np.uint8(200), pool=True)
    parts = [RND.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8) for _ in range(2)]
    w, c = RND.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), {"s": sx, "z": np.uint8(7), "t": np.float32(0.0192), "o": np.uint8(0)}
    c |= {"w": w, "sw": np.float32(0.002), "zw": zk, "sy": np.float32(0.021)}
    nodes = [node("DequantizeLinear", "a,s,z", "f"), node("QuantizeLinear", "f,s,z", "fq"), node("DequantizeLinear", "fq,s,z", "fd"),
             node("DequantizeLinear", "b,t,o", "g"), node("QuantizeLinear", "g,t,o", "gq"), node("DequantizeLinear", "gq,t,o", "gd"),
             node("Concat", "fd,gd", "h", axis=1), node("QuantizeLinear", "h,s,z", "q"), node("DequantizeLinear", "q,s,z", "d"),
             node("DequantizeLinear", "w,sw,zw", "k"), node("Conv", "d,k", "e"), node("QuantizeLinear", "e,sy,z", "y")]
    other = np.clip(np.rint(parts[1].astype(np.float32) * c["t"] / sx) + 7, 0, 255)
    total = np.einsum("ncij,oc->noij", np.concatenate([parts[0], other], 1).astype(np.int64) - 7, w[:, :, 0, 0].astype(np.int64))
    y = np.clip(np.rint(total.astype(np.float32) * (sx * c["sw"] / c["sy"])) + 7, 0, 255).astype(np.uint8)
    save(to, "bytes_joined", nodes, {"a": parts[0], "b": parts[1]}, c, expected=[y])


def scales_of_bytes(to: Path) -> None:
    """Operands whose scales differ where their zero points do not, of powers of 2; a limit between scales and products"""
    rnd = np.random.default_rng(77)
    w, s = rnd.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), np.float32(2.0**-6)
    c = {"s": s, "t": 2 * s, "z": np.uint8(77), "w": w, "sw": np.float32(2.0**-9), "zw": np.int8(0), "sy": np.float32(2.0**-5)}
    kernel, last = node("DequantizeLinear", "w,sw,zw", "k"), node("QuantizeLinear", "e,sy,z", "y")
    a, b = (rnd.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8) for _ in range(2))
    x = np.concatenate([a, b], 1)

    def result(whole: np.ndarray, more: np.ndarray | float = 0.0) -> list:
        total = np.einsum("ncij,oc->noij", whole.astype(np.int64), w[:, :, 0, 0].astype(np.int64)) * 2.0**-15
        return [np.clip(np.rint((total + more) * 2.0**5) + 77, 0, 255).astype(np.uint8)]

    nodes = [node("DequantizeLinear", "a,s,z", "f"), node("DequantizeLinear", "b,t,z", "g"), node("Concat", "f,g", "h", axis=1),
             node("QuantizeLinear", "h,s,z", "q"), node("DequantizeLinear", "q,s,z", "d"), kernel, node("Conv", "d,k", "e"), last]
    doubled = np.clip(2 * (b.astype(np.int64) - 77), -77, 255 - 77)
    save(to, "bytes_joined_scale", nodes, {"a": a, "b": b}, c, expected=result(np.concatenate([a.astype(np.int64) - 77, doubled], 1)))
    nodes = [node("DequantizeLinear", "x,s,z", "d"), kernel, node("DequantizeLinear", "b,sb,zb", "v"), node("Conv", "d,k,v", "e"), last]
    bias = rnd.integers(-9000, 9000, 4).astype(np.int32)
    save(to, "bytes_bias_scale", nodes, {"x": x}, c | {"b": bias, "sb": np.float32(2.0**-14), "zb": np.int32(0)},
         expected=result(x.astype(np.int64) - 77, bias[:, None, None] * 2.0**-14))
    nodes = [node("DequantizeLinear", "x,s,z", "f"), node("Relu", "f", "d"), kernel, node("Conv", "d,k", "e"), last]
    save(to, "bytes_relu_input", nodes, {"x": x}, c, expected=result(np.maximum(x.astype(np.int64) - 77, 0)))


def gates(to: Path) -> None:
    """What operator sets 26 and 28 added, and what 13 changed"""
    rnd = np.random.default_rng(28)
    x, z = (rnd.standard_normal((2, 3, 8)).astype(np.float32) for _ in range(2))
    save(to, "swiglu", [node("SwiGLU", "x,z")], {"x": x, "z": z}, opset=28)
    save(to, "swiglu_alpha", [node("SwiGLU", "x,z", alpha=1.702)], {"x": x, "z": z}, opset=28)
    save(to, "swiglu_float16", [node("SwiGLU", "x,z")], {"x": x.astype(np.float16), "z": z.astype(np.float16)}, opset=28)
    x[0, 0, :4] = np.nan, -np.inf, -0.0, 1e-40
    save(to, "bitcast_words", [node("BitCast", "x", to=TensorProto.INT32)], {"x": x}, opset=26, expected=[x.view(np.int32)])
    save(to, "bitcast_floats", [node("BitCast", "x", to=TensorProto.FLOAT)], {"x": x.view(np.uint32)}, opset=26, expected=[x])
    half = z.astype(np.float16)
    x = rnd.standard_normal((2, 3, 4)).astype(np.float32)
    for name, more in (("hardmax_matrix", {}), ("hardmax_matrix_last", {"axis": 2})):  # the evaluator takes it along the axis
        hardmax = node("Hardmax", "x", **more)
        save(to, name, [hardmax], {"x": x}, opset=11, expected=by_runtime(hardmax, {"x": x}, {}, 11))
    save(to, "bitcast_halves", [node("BitCast", "x", to=TensorProto.UINT16)], {"x": half}, opset=26, expected=[half.view(np.uint16)])


def main() -> None:
    to = Path(sys.argv[1])
    operators(to)
    networks(to)
    constants(to)
    rows(to)
    scans(to)
    samples(to)
    transforms(to)
    turns(to)
    exported(to)
    spectra(to)
    quantized(to)
    again(to)
    far(to)
    sums_of_bytes(to)
    frames(to)
    scales_of_bytes(to)
    spectrograms(to, ("dense_steps", 200, 2, 70, 1))
    gates(to)


if __name__ == "__main__":
    main()
