#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models with dimensions that are open until they run, with inputs and what onnxruntime gives for them.

usage: make_bounded.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)

Each is a directory in libonnx-testdata's layout. The tests compile them with bounds that are larger than the
data. Those named bounded_no_* are refused.
"""

import sys
from pathlib import Path

import make_dynamic
import numpy as np
from make_dynamic import node, whole

RND = np.random.default_rng(2718)


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict, outputs: str) -> None:
    """inputs: name -> (data, dimensions: a word is open)"""
    data, dims = ({k: v[i] for k, v in inputs.items()} for i in range(2))
    make_dynamic.save(to, name, nodes, data, constants, outputs, dims=dims)


def elements(to: Path) -> None:
    x = {"x": (normal(3, 5), ["B", "S"])}
    save(to, "bounded_elements", [
        node("Tanh", "x", "t"), node("Mul", "t,x", "m"), node("Add", "m,one", "a"), node("Unsqueeze", "x,ax1", "r"),
        node("Unsqueeze", "x,ax2", "c"), node("Sub", "c,r", "pairs"), node("Clip", "x,low,high", "k"),
        node("Greater", "x,one", "g"), node("Where", "g,x,m", "w"), node("Transpose", "pairs", "turned", perm=[2, 0, 1]),
        node("Shape", "pairs", "shape"), node("Size", "x", "size"), node("CumSum", "x,axis", "sum", reverse=1),
        node("Exp", "x", "e")],
        x, {"one": np.float32(1), "ax1": whole(1), "ax2": whole(2), "low": np.float32(-1), "high": np.float32(0.5),
            "axis": np.array(1, np.int64)}, "a,pairs,k,w,turned,shape,size,sum,e")
    kinds = ["ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL2", "ReduceLogSumExp", "ReduceL1",
             "ReduceSumSquare"]
    nodes, outputs = [], []
    for kind in kinds:
        for name, axes in (("b", [0]), ("s", [1]), ("bs", [0, 1]), ("h", [2])):
            outputs.append(f"{kind.lower()}_{name}")
            nodes.append(node(kind, "x", outputs[-1], axes=axes, keepdims=len(axes) - 1))
    save(to, "bounded_reductions", nodes, {"x": (normal(3, 5, 4), ["B", "S", 4])}, {}, ",".join(outputs))
    save(to, "bounded_order", [
        node("ArgMax", "x", "am", axis=1, keepdims=0), node("ArgMin", "x", "an", axis=0), node("Softmax", "x", "p", axis=1),
        node("LogSoftmax", "x", "l", axis=0), node("TopK", "x,three", "v,i", axis=1), node("TopK", "x,three", "v0,i0", axis=0,
                                                                                         largest=0),
        node("ReduceSum", "x,one", "s")], {"x": (normal(4, 6), ["B", "S"])}, {"three": whole(3), "one": whole(1)},
        "am,an,p,l,v,i,v0,i0,s")


def moves(to: Path) -> None:
    x, y = (normal(2, 5, 4), ["B", "S", 4]), (normal(2, 3, 4), ["B", "T", 4])
    save(to, "bounded_joined", [
        node("Shape", "x", "xs"), node("Gather", "xs,zero0", "b", axis=0), node("Concat", "b,one,four", "to", axis=0),
        node("Expand", "cls,to", "c"), node("Concat", "c,x", "cx", axis=1), node("Concat", "x,y", "xy", axis=1),
        node("Concat", "x,x", "wide", axis=2), node("Pad", "x,pads,with", "padded"), node("Split", "x", "h1,h2", axis=2),
        node("Tile", "x,tiles", "tiled")],
        {"x": x, "y": y}, {"cls": normal(1, 1, 4), "zero0": whole(0), "one": whole(1), "four": whole(4),
                           "pads": whole(0, 1, 2, 0, 2, 0), "with": np.float32(7), "tiles": whole(1, 1, 3)},
        "cx,xy,wide,padded,h1,h2,tiled")
    save(to, "bounded_cut", [
        node("Slice", "x,one,end,one", "tail"), node("Slice", "x,zero,minus,one", "head"),
        node("Slice", "x,minus2,end,one", "last"), node("Slice", "x,one,three,two", "inner"),
        node("Gather", "x,m1", "end_row", axis=1), node("Gather", "x,rows", "both", axis=1),
        node("Slice", "x,zero,three,one", "few")],
        {"x": x}, {"zero": whole(0), "one": whole(1), "two": whole(2), "three": whole(3), "minus": whole(-1),
                   "minus2": whole(-2), "end": whole(1 << 62), "m1": np.array(-1, np.int64), "rows": whole(0, -1, -2)},
        "tail,head,last,inner,end_row,both,few")
    save(to, "bounded_shapes", [
        node("Reshape", "x,heads", "h"), node("Reshape", "h,back", "k"), node("Shape", "x", "s"),
        node("Gather", "s,zero0", "b", axis=0), node("Gather", "s,one", "n", axis=0), node("Concat", "b,n,two,two", "list", axis=0),
        node("Reshape", "x,list", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3]), node("Flatten", "y", "f"),
        node("Unsqueeze", "y,one", "u"), node("Squeeze", "u,one", "q"), node("ConstantOfShape", "s", "zeros"),
        node("Add", "zeros,x", "z")],
        {"x": x, "y": (normal(3, 4), ["N", 4])},
        {"heads": whole(0, 0, 2, 2), "back": whole(0, -1, 4), "zero0": whole(0), "one": whole(1), "two": whole(2)},
        "h,k,t,f,q,z")


def regrouped(to: Path) -> None:
    """Dimensions that are merged and divided, as TensorFlow's BERT has it"""
    x = {"x": (normal(2, 5, 4), ["B", "S", 4]), "w": (normal(4, 6), [4, 6])}
    save(to, "bounded_rows", [
        node("Reshape", "x,rows", "r"), node("MatMul", "r,w", "m"), node("Shape", "x", "s"),
        node("Slice", "s,zero,two", "bs"), node("Concat", "bs,six", "to", axis=0), node("Reshape", "m,to", "y"),
        node("Concat", "bs,halves", "to2", axis=0), node("Reshape", "m,to2", "h"), node("Flatten", "x", "f", axis=2),
        node("Flatten", "x", "f1", axis=1), node("Reshape", "x,flat", "all"), node("ReduceMean", "r", "mean", axes=[0]),
        node("Transpose", "x", "t", perm=[1, 0, 2]), node("Reshape", "t,rows", "tr")],
        x, {"rows": whole(-1, 4), "zero": whole(0), "two": whole(2), "six": whole(6), "halves": whole(2, 3),
            "flat": whole(-1)}, "m,y,h,f,f1,all,mean,tr")


def embeddings(to: Path) -> None:
    ids = RND.integers(0, 20, (2, 6)).astype(np.int64)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], np.int64)
    save(to, "bounded_embedding", [
        node("Gather", "table,ids", "e", axis=0), node("Shape", "ids", "s"), node("Gather", "s,one", "n", axis=0),
        node("Slice", "places,zero,n,one", "p"), node("Add", "e,p", "x"), node("Cast", "mask", "m", to=1),
        node("Unsqueeze", "m,two", "m3"), node("Mul", "x,m3", "xm"), node("ReduceSum", "xm,one", "sum", keepdims=0),
        node("ReduceSum", "m3,one", "count", keepdims=0), node("Div", "sum,count", "mean"),
        node("OneHot", "ids,depth,values", "hot", axis=-1)],
        {"ids": (ids, ["batch", "seq"]), "mask": (mask, ["batch", "seq"])},
        {"table": normal(20, 8), "places": normal(1, 32, 8), "zero": whole(0), "one": whole(1), "two": whole(2),
         "depth": np.array(20, np.int64), "values": np.array([0, 1], np.float32)}, "x,mean,hot")
    save(to, "bounded_range", [
        node("Shape", "x", "s"), node("Gather", "s,one0", "n", axis=0), node("Range", "zero,n,one0", "r"),
        node("Unsqueeze", "r,one", "c"), node("Unsqueeze", "r,zero1", "w"), node("Less", "c,w", "later"),
        node("Where", "later,least,none", "bias"), node("MatMul", "x,w1", "k"), node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("MatMul", "x,kt", "scores"), node("Add", "scores,bias", "a"), node("Softmax", "a", "p", axis=-1),
        node("MatMul", "p,x", "y"), node("Trilu", "scores", "low", upper=0)],
        {"x": (normal(2, 5, 4), ["B", "S", 4])},
        {"one0": np.array(1, np.int64), "zero": np.array(0, np.int64), "one": whole(1), "zero1": whole(0),
         "least": np.float32(-1e9), "none": np.float32(0), "w1": normal(4, 4)}, "p,y,low")


def layers(to: Path) -> None:
    w = {k: normal(8, 8) / 3 for k in ("wq", "wk", "wv", "wo")}
    save(to, "bounded_attention", [
        node("MatMul", "x,wq", "q0"), node("MatMul", "x,wk", "k0"), node("MatMul", "x,wv", "v0")] + [
        n for k, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))
        for n in (node("Reshape", f"{k}0,heads", f"{k}1"), node("Transpose", f"{k}1", k, perm=perm))] + [
        node("MatMul", "q,k", "a"), node("Mul", "a,scale", "b"), node("Softmax", "b", "p", axis=-1), node("MatMul", "p,v", "o"),
        node("Transpose", "o", "o1", perm=[0, 2, 1, 3]), node("Reshape", "o1,back", "o2"), node("MatMul", "o2,wo", "o3"),
        node("Add", "o3,x", "r"), node("LayerNormalization", "r,g,beta", "y"), node("ReduceMean", "y", "pooled", axes=[1],
                                                                                  keepdims=0)],
        {"x": (normal(2, 7, 8), ["B", "S", 8])},
        w | {"heads": whole(0, 0, 2, 4), "back": whole(0, 0, 8), "scale": np.float32(0.5), "g": normal(8), "beta": normal(8)},
        "y,pooled")
    save(to, "bounded_products", [
        node("MatMul", "a,b", "y"), node("Gemm", "a,b,c", "g"), node("Gemm", "a,a", "t", transA=1),
        node("Einsum", "a,b", "e", equation="ms,sn->nm"), node("Einsum", "a", "row", equation="ms->m"),
        node("MatMul", "v,b", "vector")],
        {"a": (normal(3, 5), ["M", "S"]), "b": (normal(5, 4), ["S", "N"]), "v": (normal(5), ["S"])},
        {"c": normal(1)}, "y,g,t,e,row,vector")
    save(to, "bounded_heads", [node("Einsum", "q,k", "a", equation="bshd,bthd->bhst")],
         {"q": (normal(2, 4, 2, 3), ["B", "S", 2, 3]), "k": (normal(2, 5, 2, 3), ["B", "T", 2, 3])}, {}, "a")
    for cell, gates, extra in (("LSTM", 4, ",c"), ("GRU", 3, "")):
        save(to, f"bounded_{cell.lower()}", [node(cell, "x,w,r,b", "y,h" + extra, hidden_size=3, direction="bidirectional")],
             {"x": (normal(5, 2, 4), ["S", "B", 4])},
             {"w": normal(2, gates * 3, 4), "r": normal(2, gates * 3, 3), "b": normal(2, gates * 6)}, "y,h" + extra)
    save(to, "bounded_whole_numbers", [
        node("DynamicQuantizeLinear", "x", "q,s,z"), node("DequantizeLinear", "q,s,z", "y"),
        node("QuantizeLinear", "x,scale,zero", "k"), node("DequantizeLinear", "k,scale,zero", "d")],
        {"x": (normal(3, 6), ["B", "S"])}, {"scale": np.float32(0.05), "zero": np.uint8(130)}, "y,s,d")


def images(to: Path) -> None:
    save(to, "bounded_frames", [
        node("Conv", "x,k", "c", strides=[2], pads=[1, 1]), node("Relu", "c", "r"), node("MaxPool", "c", "m", kernel_shape=[3],
                                                                                      pads=[1, 1]),
        node("AveragePool", "r", "a", kernel_shape=[2], strides=[2]),
        node("AveragePool", "r", "i", kernel_shape=[3], pads=[1, 1], count_include_pad=1),
        node("GlobalAveragePool", "c", "g"), node("GlobalMaxPool", "c", "gm"), node("Conv", "x,k1", "d", dilations=[3]),
        node("Flatten", "g", "f"), node("Gemm", "f,w", "y"), node("BatchNormalization", "c,bs,bb,bm,bv", "bn")],
        {"x": (normal(2, 3, 17), ["B", 3, "L"])},
        {"k": normal(4, 3, 3), "k1": normal(2, 3, 2), "w": normal(4, 2), "bs": normal(4), "bb": normal(4), "bm": normal(4),
         "bv": np.abs(normal(4)) + 1}, "m,a,i,gm,d,y,bn")
    save(to, "bounded_image", [
        node("Conv", "x,k", "c", pads=[1, 1, 1, 1]), node("LeakyRelu", "c", "r"),
        node("MaxPool", "r", "m", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "m,k2", "y", strides=[1, 2]),
        node("GlobalAveragePool", "y", "g")],
        {"x": (normal(2, 1, 9, 12), ["B", 1, "H", "W"])}, {"k": normal(3, 1, 3, 3), "k2": normal(2, 3, 2, 2)}, "m,y,g")


def refused(to: Path) -> None:
    x = {"x": (normal(2, 5, 4), ["B", "S", 4])}
    save(to, "bounded_no_same", [node("Add", "x,z", "y")], x | {"z": (normal(2, 5, 4), ["B", "T", 4])}, {}, "y")
    save(to, "bounded_no_rule", [node("Hardmax", "x", "y", axis=1)], x, {}, "y")
    save(to, "bounded_no_steps", [node("Slice", "x,a,b,c,d", "y")], x,
         {"a": whole(0), "b": whole(1 << 62), "c": whole(1), "d": whole(2)}, "y")
    save(to, "bounded_no_ceil", [node("MaxPool", "x", "y", kernel_shape=[2], strides=[2], ceil_mode=1)],
         {"x": (normal(2, 4, 5), ["B", 4, "L"])}, {}, "y")
    save(to, "bounded_no_norm", [node("LayerNormalization", "x,g", "y", axis=-1)],
         {"x": (normal(2, 5), ["B", "S"])}, {"g": np.ones(1, np.float32)}, "y")
    image = {"x": (normal(2, 4, 6), ["B", 4, "L"])}
    save(to, "bounded_no_padded_mean", [node("AveragePool", "x", "y", kernel_shape=[3], pads=[1, 1])], image, {}, "y")
    save(to, "bounded_no_upper", [node("MaxPool", "x", "y", kernel_shape=[2], auto_pad="SAME_UPPER")], image, {}, "y")
    save(to, "bounded_no_places", [node("MaxPool", "x", "y,i", kernel_shape=[2])], image, {}, "y,i")
    corners = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [0, 1, 3, 2]], np.float32)
    save(to, "bounded_no_regions", [node("RoiAlign", "x,r,i", "y", output_height=2, output_width=2)],
         {"x": (normal(1, 1, 4, 4), [1, 1, 4, 4]), "r": (corners, ["R", 4]), "i": (whole(0, 0, 0), ["I"])}, {}, "y")


def main() -> None:
    to = Path(sys.argv[1])
    elements(to)
    moves(to)
    regrouped(to)
    embeddings(to)
    layers(to)
    images(to)
    refused(to)


if __name__ == "__main__":
    main()
