#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What onnxruntime's optimizer and quantizers put into a model, each in its forms, with what onnxruntime gives.

usage: make_microsoft.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)
"""

import sys
from pathlib import Path

import numpy as np
from golden import ms, node, save, small
from onnx import TensorProto

RND = np.random.default_rng(1810)


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def half(values: dict) -> dict:
    return {k: v.astype(np.float16) for k, v in values.items()}


def norms(to: Path) -> None:
    x, g = {"x": normal(2, 4, 8), "z": normal(2, 4, 8)}, {"g": normal(8)}
    beta, bias = {"b": normal(8)}, {"i": normal(8)}

    def case(name: str, kind: str, names: str, outputs: str = "y", inputs: dict = x, constants: dict = g, **attributes) -> None:
        given = ",".join(o for o in outputs.split(",") if o)
        save(to, f"{name}", [ms(kind, names, outputs, **attributes)], inputs, constants, given)

    skip, simple = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
    case("skip_plain", skip, "x,z,g")
    case("skip_whole", skip, "x,z,g,b,i", "y,,,s", constants=g | beta | bias)
    case("skip_bias", skip, "x,z,g,,i", constants=g | bias, epsilon=0.01)
    case("skip_one", skip, "x,z,g,b", inputs=x | {"z": normal(1, 4, 8)}, constants=g | beta)
    case("skip_two", skip, "x,z,g,b", "y,,,s", inputs=x | {"z": normal(4, 8)}, constants=g | beta)
    case("skip_float16", skip, "x,z,g,b", inputs=half(x), constants=half(g | beta))
    case("skip_simple", simple, "x,z,g")
    case("skip_simple_bias", simple, "x,z,g,i", "y,,,s", constants=g | bias, epsilon=1e-5)
    case("skip_simple_flat", simple, "x,z,g", "y,,,s", inputs={"x": normal(3, 8), "z": normal(3, 8)})
    for axis in -1, 1:
        save(to, f"simplified_{'last' if axis < 0 else 'two'}", [node("SimplifiedLayerNormalization", "x,g", axis=axis, epsilon=1e-6)],
             {"x": normal(2, 4, 8)}, {"g": normal(8) if axis < 0 else normal(4, 8)})
    ids = {"w": RND.integers(0, 11, (2, 5)).astype(np.int32), "s": RND.integers(0, 2, (2, 5)).astype(np.int32)}
    tables = {"we": normal(11, 8), "pe": normal(7, 8), "se": normal(2, 8), "g": normal(8), "b": normal(8)}
    mask, places = {"m": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)}, {"p": RND.integers(0, 7, (2, 5)).astype(np.int32)}
    embed = "EmbedLayerNormalization"
    case("embed_plain", embed, "w,s,we,pe,se,g,b", "y,n", ids, tables)
    case("embed_mask", embed, "w,s,we,pe,se,g,b,m", "y,n", ids | mask, tables, epsilon=1e-5)
    case("embed_places", embed, "w,s,we,pe,se,g,b,m,p", "y,n,e", ids | mask | places, tables)
    words = {k: v for k, v in tables.items() if k != "se"}
    case("embed_words", embed, "w,,we,pe,,g,b", "y,n", {"w": ids["w"]}, words)


def fused(to: Path) -> None:
    x, bias = {"x": 2 * normal(2, 3, 8)}, {"b": normal(8)}
    save(to, "fused_bias_gelu", [ms("BiasGelu", "x,b")], x, bias)
    save(to, "fused_gelu", [ms("Gelu", "x")], x)
    save(to, "fused_fast_gelu", [ms("FastGelu", "x")], x)
    save(to, "fused_fast_gelu_bias", [ms("FastGelu", "x,b")], x, bias)
    save(to, "fused_quick_gelu", [ms("QuickGelu", "x")], x)
    save(to, "fused_quick_gelu_alpha", [ms("QuickGelu", "x", alpha=0.5)], x)
    image, kernel = {"x": normal(1, 3, 6, 6)}, {"w": normal(4, 3, 3, 3), "b": normal(4)}
    for name, numbers in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.75]),
                          ("HardSigmoid", [0.25, 0.4])):
        more = {"activation_params": numbers} if numbers else {}
        save(to, f"fused_conv_{name.lower()}", [ms("FusedConv", "x,w,b", activation=name, pads=[1, 0, 1, 0], **more)], image, kernel)
    save(to, "fused_conv_sum", [ms("FusedConv", "x,w,b,z", activation="Relu", strides=[2, 2])], image | {"z": normal(1, 4, 2, 2)}, kernel)
    save(to, "fused_gemm", [ms("FusedGemm", "x,w,b", activation="LeakyRelu", activation_alpha=0.2, alpha=0.5, beta=2.0, transB=1)],
         {"x": normal(3, 5)}, {"w": normal(4, 5), "b": normal(4)})
    for name, a, b, attributes in (
            ("plain", (3, 6), (6, 4), {}), ("alpha", (2, 3, 6), (2, 6, 4), {"alpha": 0.5}), ("right", (2, 3, 6), (4, 6), {"transB": 1}),
            ("left", (2, 6, 3), (2, 6, 4), {"transA": 1}), ("both", (2, 6, 3), (2, 4, 6), {"transA": 1, "transB": 1, "alpha": 2.0}),
            ("batch_left", (3, 2, 6), (2, 6, 4), {"transBatchA": 1}), ("batch_right", (2, 3, 6), (6, 2, 4), {"transBatchB": 1}),
            ("batch_both", (6, 2, 5, 3), (4, 2, 5, 6), {"transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1})):
        save(to, f"fused_matmul_{name}", [ms("FusedMatMul", "a,b", **attributes)], {"a": normal(*a), "b": normal(*b)})


def bits(to: Path) -> None:
    def case(name: str, k: int = 32, columns: int = 6, width: int = 4, block: int = 16, zeros: str = "", bias: bool = False,
             rows: tuple = (2, 3), kind: type = np.float32, **attributes) -> None:
        blocks = -(-k // block)
        held = {"w": RND.integers(0, 256, (columns, blocks, block * width // 8)).astype(np.uint8),
                "s": np.abs(normal(columns, blocks)).astype(kind)}
        if zeros == "packed":
            held["z"] = RND.integers(0, 256, (columns, -(-blocks * width // 8))).astype(np.uint8)
        elif zeros:
            held["z"] = RND.integers(0, 1 << width, (columns, blocks)).astype(kind)
        if bias:
            held["b"] = normal(columns).astype(kind)
        names = "x,w,s" + (",z" if zeros else "," if bias else "") + (",,b" if bias else "")
        save(to, f"bits_{name}", [ms("MatMulNBits", names, K=k, N=columns, bits=width, block_size=block, **attributes)],
             {"x": normal(*rows, k).astype(kind)}, held)

    case("four")
    case("four_rest", k=40)
    case("four_zeros", k=48, zeros="packed")
    case("four_float_zeros", zeros="own")
    case("four_bias", bias=True)
    case("four_one_row", rows=(1,), block=32, k=64)
    case("four_wide", k=300, block=128, columns=9, zeros="packed")
    case("eight", width=8)
    case("eight_zeros", width=8, zeros="packed", block=32, k=70)
    case("two", width=2, block=32)
    case("float16", kind=np.float16)


def tables(to: Path) -> None:
    """Embeddings of four and eight bits"""
    ids = {"i": RND.integers(0, 20, (2, 3)).astype(np.int32)}
    four, scales = RND.integers(0, 16, (20, 64)).astype(np.uint8), {"s": np.abs(normal(20, 2))}
    u4, i4 = TensorProto.UINT4, TensorProto.INT4
    gather, sizes = "GatherBlockQuantized", {"block_size": 32, "gather_axis": 0, "quantize_axis": 1}
    save(to, "table_signed", [ms(gather, "w,i,s", **sizes)], ids, scales | {"w": small("w", four.astype(np.int8) - 8, i4)})
    zeros = {"z": small("z", RND.integers(0, 16, (20, 2)), u4)}
    save(to, "table_zeros", [ms(gather, "w,i,s,z", **sizes)], ids, scales | zeros | {"w": small("w", four, u4)})
    packed = (four[:, ::2] | four[:, 1::2] << 4).astype(np.uint8)
    save(to, "table_bytes", [ms(gather, "w,i,s", bits=4, **sizes)], ids, scales | {"w": packed})
    zeros = {"z": RND.integers(0, 256, (20, 1)).astype(np.uint8)}
    save(to, "table_bytes_zeros", [ms(gather, "w,i,s,z", bits=4, **sizes)], ids, scales | zeros | {"w": packed})
    save(to, "table_eight", [ms(gather, "w,i,s", bits=8, **sizes)], ids, scales | {"w": RND.integers(0, 256, (20, 64)).astype(np.uint8)})


def refused(to: Path) -> None:
    image = {"x": normal(1, 3, 6, 6), "w": normal(4, 3, 3, 3)}
    save(to, "refused_activation", [ms("FusedConv", "x,w", activation="Elu")], image, unasked=[normal(2)])
    x, held = {"x": normal(2, 32)}, {"w": np.zeros((4, 2, 8), np.uint8), "s": normal(4, 2), "g": np.zeros(32, np.int32)}
    sizes = {"K": 32, "N": 4, "block_size": 16}
    save(to, "refused_bits_order", [ms("MatMulNBits", "x,w,s,,g", bits=4, **sizes)], x, held, unasked=[normal(2)])
    save(to, "refused_bits_three", [ms("MatMulNBits", "x,w,s", bits=3, **sizes)], x, held, unasked=[normal(2)])
    save(to, "refused_bits_packed", [ms("MatMulNBits", "x,w,s", bits=4, weight_prepacked=1, **sizes)], x, held, unasked=[normal(2)])
    save(to, "refused_bits_few", [ms("MatMulNBits", "x,w,s", bits=8, **sizes)], x, held, unasked=[normal(2)])
    save(to, "refused_table_axis", [ms("GatherBlockQuantized", "w,i,s", bits=8, block_size=16, gather_axis=1, quantize_axis=0)],
         {"i": np.zeros(2, np.int32)}, {"w": np.zeros((16, 4), np.uint8), "s": normal(1, 4)}, unasked=[normal(2)])
    save(to, "refused_bits_data", [ms("MatMulNBits", "x,w,s", bits=4, **sizes)], x | {"w": held["w"]}, {"s": held["s"]}, unasked=[normal(2)])


def bounded(to: Path) -> None:
    save(to, "bounded_simplified", [node("SimplifiedLayerNormalization", "x,g")], {"x": normal(3, 4, 8)}, {"g": normal(8)},
         opened={"x": ("n", 4, 8)})


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    norms(destination)
    fused(destination)
    bits(destination)
    tables(destination)
    refused(destination)
    bounded(destination)
