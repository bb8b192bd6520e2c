#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models whose sizes depend on the data, or are 0, with inputs and what onnxruntime gives for them.

usage: make_dynamic.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)

Each is a directory in libonnx-testdata's layout. Those named dyn_no_* are refused.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RND = np.random.default_rng(4321)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.bool_): TensorProto.BOOL}


def node(kind: str, inputs: str, outputs: str, **attributes: object):
    return helper.make_node(kind, inputs.split(",") if inputs else [], outputs.split(","), **attributes)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def save(to: Path, name: str, nodes: list, inputs: dict, constants: dict, outputs: str, opset: int = 17,
         dims: dict | None = None) -> None:
    """dims: an input's dimensions in the model, where a word is open; by default those of its data"""
    values = [helper.make_tensor_value_info(k, TYPES[v.dtype], (dims or {}).get(k, v.shape)) for k, v in inputs.items()]
    held = [numpy_helper.from_array(np.array(v), k) for k, v in constants.items()]
    blank = [helper.make_empty_tensor_value_info(o) for o in outputs.split(",")]
    graph = helper.make_graph(nodes, name, values, blank, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, inputs)
    del model.graph.output[:]
    for key, value in zip(outputs.split(","), found):
        model.graph.output.append(helper.make_tensor_value_info(key, TYPES[value.dtype], None))
    data = to / f"test_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for i, value in enumerate(inputs.values()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for i, value in enumerate(found):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def mask(of: str = "x", to: str = "d", above: str = "above") -> list:
    """to: the elements of a list that are above a number, as PyTorch writes x[x > above]"""
    return [node("Greater", f"{of},{above}", f"{to}_m"), node("NonZero", f"{to}_m", f"{to}_n"),
            node("Transpose", f"{to}_n", f"{to}_t", perm=[1, 0]), node("GatherND", f"{of},{to}_t", to)]


ABOVE = {"above": np.float32(0.4)}


def reductions(to: Path) -> None:
    x = {"x": normal(300)}
    kinds = ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL2", "ReduceLogSumExp",
             "ArgMax", "ArgMin"]
    for sign in ("Neg", "Identity"):
        nodes = mask() + [node(sign, "d", "e")]
        outputs = []
        for kind in kinds:
            outputs.append(kind.lower())
            nodes.append(node(kind, "e", kind.lower(), keepdims=0))
        save(to, f"dyn_reductions_{sign.lower()}", nodes, x, ABOVE, ",".join(outputs))
    save(to, "dyn_nothing_left", mask() + [node("ReduceSum", "d", "s", keepdims=0), node("Shape", "d", "n")], x,
         {"above": np.float32(100)}, "d,s,n")
    save(to, "dyn_order", mask() + [
        node("Shape", "d", "n"), node("Concat", "most,n", "both", axis=0), node("ReduceMin", "both", "k", keepdims=1),
        node("TopK", "d,k", "v,i"), node("Gather", "d,i", "w", axis=0), node("Shape", "v", "vn"),
        node("ConstantOfShape", "vn", "label", value=numpy_helper.from_array(whole(7))),
        node("Softmax", "v", "p", axis=0), node("CumSum", "d,zero", "c", reverse=1)],
        x, ABOVE | {"most": whole(20), "zero": np.array(0, np.int64)}, "v,i,w,label,p,c")
    save(to, "dyn_order_few", mask() + [
        node("Shape", "d", "n"), node("Concat", "most,n", "both", axis=0), node("ReduceMin", "both", "k", keepdims=1),
        node("TopK", "d,k", "v,i", largest=0)], {"x": normal(100)}, {"above": np.float32(1.8), "most": whole(20)}, "v,i")


def moves(to: Path) -> None:
    x = {"x": normal(120)}
    save(to, "dyn_concat", mask() + [node("Neg", "d", "e"), node("Concat", "d,x,e", "y", axis=0),
                                     node("Concat", "d,none", "z", axis=0)],
         x, ABOVE | {"none": np.zeros(0, np.float32)}, "y,z")
    save(to, "dyn_cut", mask() + [node("Slice", "d,two,twenty", "a"), node("Slice", "d,two,minus", "b"),
                                  node("Slice", "d,many,none", "c"), node("Gather", "d,ends", "e", axis=0)],
         x, ABOVE | {"two": whole(2), "twenty": whole(20), "minus": whole(-3), "many": whole(100), "none": whole(500),
                     "ends": whole(-1, 0, -2)}, "a,b,c,e")
    save(to, "dyn_shapes", mask() + [
        node("Unsqueeze", "d,one", "u"), node("Concat", "u,u,u", "c", axis=1), node("Reshape", "c,flat", "f"),
        node("Reshape", "f,three", "t"), node("Transpose", "t", "r"), node("Flatten", "t", "g", axis=0),
        node("Shape", "c", "s"), node("Size", "c", "n"), node("Gather", "s,zero", "first", axis=0),
        node("Range", "zero,first,step", "count"), node("Shape", "d", "ds"),
        node("Expand", "scalar,ds", "e"), node("Add", "e,d", "sum"), node("Cast", "first", "ff", to=1)],
        x, ABOVE | {"one": whole(1), "flat": whole(-1), "three": whole(-1, 3), "zero": np.array(0, np.int64),
                    "step": np.array(1, np.int64), "scalar": np.float32(3)}, "c,f,t,r,g,s,n,count,sum,ff")
    save(to, "dyn_head", mask() + [
        node("Shape", "d", "n"), node("Concat", "n,width", "s", axis=0), node("Unsqueeze", "d,one", "u"),
        node("Expand", "u,s", "e"), node("MatMul", "e,w", "m"), node("Gemm", "e,w,b", "g"), node("Relu", "g", "r"),
        node("Softmax", "r", "p", axis=1), node("Split", "p", "p1,p2", axis=1), node("ReduceMax", "p", "t", axes=[1])],
        x, ABOVE | {"width": whole(6), "one": whole(1), "w": normal(6, 4), "b": normal(4)}, "m,p,p1,p2,t")
    save(to, "dyn_scatter", [
        node("Greater", "x,above", "m"), node("NonZero", "m", "n"), node("Squeeze", "n,zero", "i"),
        node("Gather", "x,i", "d", axis=0), node("Neg", "d", "u"), node("ScatterElements", "x,i,u", "y", axis=0),
        node("Unsqueeze", "i,one", "j"), node("ScatterND", "x,j,u", "z")],
        x, ABOVE | {"zero": whole(0), "one": whole(1)}, "y,z")
    save(to, "dyn_twice", mask() + mask("d", "e", "more") + [node("Where", "e_m,d,x1", "w")], x,
         ABOVE | {"more": np.float32(1), "x1": np.float32(9)}, "e,w,d_n,e_n")
    save(to, "dyn_known", [  # as exporters write arange
        node("ConstantOfShape", "six", "o", value=numpy_helper.from_array(whole(1))), node("NonZero", "o", "n"),
        node("Squeeze", "n,zero", "i"), node("Gather", "x,i", "y", axis=0)], x, {"six": whole(6), "zero": whole(0)}, "y")
    save(to, "dyn_rank", [node("NonZero", "x", "n"), node("Transpose", "n", "t", perm=[1, 0])],
         {"x": (RND.random((4, 5, 60)) < 0.3).astype(np.int32)}, {}, "n,t")


def chosen(to: Path) -> None:
    x, keep = normal(50, 4), RND.random(50) > 0.6
    for name, axis in (("rows", {"axis": 0}), ("flat", {})):
        save(to, f"dyn_compress_{name}", [node("Compress", "x,k", "y", **axis)], {"x": x, "k": keep}, {}, "y")
    save(to, "dyn_compress_columns", [node("Compress", "x,k", "y", axis=1)],
         {"x": x, "k": np.array([True, False, True])}, {}, "y")
    save(to, "dyn_compress_constant", [node("Compress", "x,k", "y", axis=0)], {"x": x}, {"k": keep}, "y")
    few = RND.integers(0, 4, (40, 2)).astype(np.float32)
    save(to, "dyn_unique_rows", [node("Unique", "x", "y,i,v,c", axis=0)], {"x": few}, {}, "y,i,v,c")
    save(to, "dyn_unique_first", [node("Unique", "x", "y,i,v,c", sorted=0)], {"x": few}, {}, "y,i,v,c")
    save(to, "dyn_unique_some", mask() + [node("Floor", "d", "f"), node("Unique", "f", "y,i,v,c")],
         {"x": 3 * normal(90)}, ABOVE, "y,i,v,c")


def boxes(batch: int, count: int, size: float = 30) -> np.ndarray:
    center, extent = RND.random((batch, count, 2)) * 100, RND.random((batch, count, 2)) * size
    return np.concatenate([center - extent / 2, center + extent / 2], 2).astype(np.float32)


def suppression(to: Path) -> None:
    held = {"k": whole(20), "i": np.array([0.4], np.float32), "t": np.array([0.2], np.float32)}
    scores = (RND.integers(0, 20, (2, 3, 200)) / 20).astype(np.float32)  # with equal ones
    corners = boxes(2, 200)
    corners[:, ::7] = corners[:, 3:4]  # equal boxes, and some without an area, or with opposite corners
    corners[:, 5::9, 2:] = corners[:, 5::9, :2]
    corners[:, 2::5] = corners[:, 2::5][..., [2, 1, 0, 3]]
    nms = node("NonMaxSuppression", "b,s,k,i,t", "y")
    save(to, "dyn_nms_classes", [nms], {"b": corners, "s": scores}, held, "y")
    centers = np.concatenate([RND.random((1, 300, 2)) * 100, RND.random((1, 300, 2)) * 30], 2).astype(np.float32)
    save(to, "dyn_nms_centers", [node("NonMaxSuppression", "b,s,k,i,t", "y", center_point_box=1)],
         {"b": centers, "s": RND.random((1, 1, 300)).astype(np.float32)}, held, "y")
    save(to, "dyn_nms_all", [node("NonMaxSuppression", "b,s,k,i", "y")],
         {"b": boxes(1, 700), "s": RND.random((1, 1, 700)).astype(np.float32)},
         {"k": whole(1 << 62), "i": held["i"]}, "y")
    save(to, "dyn_nms_none", [node("NonMaxSuppression", "b,s", "y")],
         {"b": boxes(1, 7), "s": RND.random((1, 1, 7)).astype(np.float32)}, {}, "y")
    # the end of a detector: the best class of each box, what is above a score, its best few, and their boxes
    save(to, "dyn_detector", [
        node("ReduceMax", "p", "s", axes=[1], keepdims=0), node("ArgMax", "p", "label", axis=1, keepdims=0),
        node("Greater", "s,t", "m"), node("NonZero", "m", "n"), node("Squeeze", "n,zero", "at"),
        node("Gather", "b,at", "b1", axis=0), node("Gather", "s,at", "s1", axis=0), node("Gather", "label,at", "l1", axis=0),
        node("ReduceMax", "b1", "far", keepdims=0), node("Cast", "l1", "lf", to=1), node("Mul", "lf,far", "off"),
        node("Unsqueeze", "off,one", "off1"), node("Add", "b1,off1", "b2"), node("Unsqueeze", "b2,zero", "b3"),
        node("Unsqueeze", "s1,both", "s2"), node("NonMaxSuppression", "b3,s2,k,i", "kept"),
        node("Gather", "kept,two", "kept2", axis=1), node("Slice", "kept2,zero,few", "kept3"),
        node("Gather", "b1,kept3", "boxes", axis=0), node("Gather", "s1,kept3", "scores", axis=0),
        node("Gather", "l1,kept3", "labels", axis=0)],
        {"b": boxes(1, 400)[0], "p": RND.random((400, 3)).astype(np.float32)},
        held | {"t": np.float32(0.8), "zero": whole(0), "one": whole(1), "both": whole(0, 1),
                "two": np.array(2, np.int64), "few": whole(15), "k": whole(1 << 62)}, "boxes,scores,labels")
    save(to, "dyn_regions", mask("s", "d") + [
        node("GatherND", "r,d_t", "r1"), node("Shape", "d", "n"),
        node("ConstantOfShape", "n", "image", value=numpy_helper.from_array(whole(0))),
        node("RoiAlign", "x,r1,image", "y", output_height=2, output_width=3, sampling_ratio=2)],
        {"x": normal(1, 5, 8, 8), "r": boxes(1, 12)[0] / 14, "s": normal(12)}, ABOVE, "y", opset=11)


def later(to: Path) -> None:
    rnd = np.random.default_rng(99)
    corner, extent = rnd.integers(0, 30, (1, 300, 2)), rnd.integers(1, 12, (1, 300, 2))
    grid = np.concatenate([corner, corner + extent], 2).astype(np.float32)  # many overlap by 9/20
    save(to, "dyn_nms_grid", [node("NonMaxSuppression", "b,s,k,i", "y")],
         {"b": grid, "s": rnd.random((1, 2, 300)).astype(np.float32)},
         {"k": whole(300), "i": np.array([0.45], np.float32)}, "y")
    x = rnd.standard_normal(40).astype(np.float32)
    for name, more in (("few", 100.0), ("many", -100.0)):
        def branch(of: str, end: int) -> object:
            return helper.make_graph([node("Constant", "", f"{of}_e", value=numpy_helper.from_array(whole(end))),
                                      node("Slice", f"x,zero,{of}_e", f"{of}_y")], of, [],
                                     [helper.make_empty_tensor_value_info(f"{of}_y")])

        save(to, f"dyn_if_{name}", [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum,than", "p"),
                                    node("If", "p", "y", then_branch=branch("then", 7), else_branch=branch("else", 3))],
             {"x": x}, {"zero": whole(0), "than": np.float32(more)}, "y")
    # PyTorch's expand, whose list has -1 for what stays, and rows of those kept put back into another tensor
    save(to, "dyn_put_back", mask() + mask("d", "e", "more") + [
        node("Squeeze", "e_n,zero", "at"), node("Reshape", "at,column", "at1"), node("Shape", "at1", "s"),
        node("Gather", "s,zero", "rows"), node("Concat", "rows,five", "to", axis=0), node("Shape", "to", "rank"),
        node("ConstantOfShape", "rank", "ones", value=numpy_helper.from_array(whole(1))), node("Mul", "ones,minus", "stay"),
        node("Equal", "to,stay", "stays"), node("Where", "stays,ones,to", "list"), node("Expand", "at1,list", "at2"),
        node("Unsqueeze", "e,one", "e1"), node("Mul", "e1,row", "u"), node("Shape", "d", "dn"),
        node("Concat", "dn,five", "ds", axis=0), node("ConstantOfShape", "ds", "base"),
        node("ScatterElements", "base,at2,u", "y", axis=0)],
        {"x": x}, ABOVE | {"more": np.float32(1), "zero": whole(0), "one": whole(1), "five": whole(5), "minus": whole(-1),
                           "column": whole(-1, 1), "row": np.arange(5, dtype=np.float32)}, "y", opset=13)


def exported(to: Path) -> None:
    """The end of a YOLO with its NonMaxSuppression, limit and thresholds given at run time: one row for each box"""
    rnd = np.random.default_rng(7)
    center, extent = rnd.random((2, 150, 2)) * 640, rnd.random((2, 150, 2)) * 200 + 4
    inputs = {"b": np.concatenate([center - extent / 2, center + extent / 2], 2).astype(np.float32),
              "c": (rnd.random((2, 150, 3)) ** 4).astype(np.float32), "k": whole(30),
              "i": np.array([0.45], np.float32), "t": np.array([0.25], np.float32)}
    nodes = [node("Transpose", "c", "s", perm=[0, 2, 1]), node("NonMaxSuppression", "b,s,k,i,t", "sel")]
    for i, name in enumerate(("image", "class", "box")):
        nodes += [node("Gather", f"sel,n{i}", f"{name}0", axis=1), node("Unsqueeze", f"{name}0,one", name)]
    nodes += [node("Concat", "image,box", "ib", axis=1), node("GatherND", "b,ib", "corners"),
              node("Concat", "image,class,box", "icb", axis=1), node("GatherND", "s,icb", "score0"),
              node("Unsqueeze", "score0,one", "score"), node("Cast", "image", "image1", to=1),
              node("Cast", "class", "class1", to=1), node("Concat", "image1,corners,class1,score", "y", axis=1),
              node("Shape", "y", "shape"), node("Gather", "shape,n0", "found", axis=0)]
    save(to, "dyn_yolo", nodes, inputs, {"one": whole(1)} | {f"n{i}": np.array(i, np.int64) for i in range(3)}, "y,found")


def branches(to: Path) -> None:
    def branch(name: str, nodes: list) -> object:
        return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(f"{name}_y")])

    none = numpy_helper.from_array(np.zeros((0,), np.int64))
    for name, above in (("none", 100.0), ("some", 0.4)):
        save(to, f"dyn_if_{name}", mask() + [
            node("Shape", "d", "n"), node("ReduceProd", "n", "p", keepdims=0), node("Equal", "p,zero", "q"),
            node("If", "q", "i", then_branch=branch("then", [node("Constant", "", "then_y", value=none)]),
                 else_branch=branch("else", [node("NonZero", "d", "nz"), node("Squeeze", "nz,first", "else_y")])),
            node("Slice", "i,first,few", "j"), node("Gather", "d,j", "y", axis=0)],
            {"x": normal(60)}, {"above": np.float32(above), "zero": np.array(0, np.int64), "first": whole(0),
                                "few": whole(10)}, "i,y")


def empty(to: Path) -> None:
    x = {"x": normal(3, 4)}
    none = np.zeros((0, 4), np.float32)
    save(to, "dyn_empty", [
        node("Concat", "x,none", "a", axis=0), node("Slice", "x,three,nine", "b"), node("Shape", "b", "s"),
        node("ReduceSum", "b", "sum", keepdims=0), node("ReduceProd", "b", "prod", keepdims=0),
        node("Concat", "b,b", "bb", axis=1), node("MatMul", "b,w", "m"), node("Relu", "m", "r"),
        node("Transpose", "r", "t"), node("Gather", "x,noidx", "g", axis=1), node("NonZero", "b", "nz"),
        node("Concat", "g,x", "gx", axis=1), node("Reshape", "b,again", "z")],
        x, {"none": none, "three": whole(3), "nine": whole(9), "w": normal(4, 2), "noidx": np.zeros(0, np.int64),
            "again": whole(2, -1)}, "a,b,s,sum,prod,bb,m,t,g,nz,gx,z")


def refused(to: Path) -> None:
    x = {"x": normal(30)}
    save(to, "dyn_no_rule", mask() + [node("Hardmax", "d", "y", axis=0)], x, ABOVE, "y")
    save(to, "dyn_no_second_size", mask() + mask("x", "e", "also") + [node("Add", "d,e", "y")], x,
         ABOVE | {"also": np.float32(0.4000001)}, "y")
    save(to, "dyn_no_pairs_unique", [node("Unique", "x", "y")], {"x": normal(9000)}, {}, "y")


def several(to: Path) -> None:
    """Two dimensions that the data say, one that is padded, cut from its end, or merged with another"""
    x = {"x": np.random.default_rng(17).standard_normal(30).astype(np.float32)}
    save(to, "dyn_pairs", mask() + [node("Unsqueeze", "d,one", "u"), node("Sub", "d,u", "y")], x,
         ABOVE | {"one": whole(1)}, "y")
    save(to, "dyn_pad", mask() + [node("Pad", "d,p", "y")], x, ABOVE | {"p": whole(1, 1)}, "y")
    save(to, "dyn_merge", mask() + [
        node("Unsqueeze", "d,zero", "u"), node("Concat", "u,u", "c", axis=0), node("Reshape", "c,flat", "y")],
        x, ABOVE | {"zero": whole(0), "flat": whole(-1)}, "y")
    save(to, "dyn_end", mask() + [node("Slice", "d,minus,end", "y")], x,
         ABOVE | {"minus": whole(-3), "end": whole(100)}, "y")


def without_updates(to: Path) -> None:
    """A scatter of nothing, also into nothing, as torchvision's Swin3D writes for a part that an image of its size lacks"""
    none = np.zeros((0, 4), np.float32)
    save(to, "dyn_no_updates", [
        node("ScatterND", "x,noidx,none", "y"), node("Slice", "x,three,nine,one", "b"),
        node("ScatterND", "b,rows,no_columns", "c"), node("Concat", "c,x", "z", axis=1)],
        {"x": normal(3, 4)}, {"none": none, "noidx": np.zeros((0, 1), np.int64), "three": whole(4), "nine": whole(9),
                              "one": whole(1), "rows": whole(0, 2).reshape(2, 1),
                              "no_columns": np.zeros((2, 0), np.float32)}, "y,z")


def whole_means(to: Path) -> None:
    """Of integers the sum counts, divided by how many there are"""
    x = RND.integers(-1000, 1000, (6, 5)).astype(np.int32)
    save(to, "dyn_whole_mean", [node("Compress", "x,k", "d", axis=0), node("ReduceMean", "d", "s", axes=[0], keepdims=0),
                                node("ReduceMean", "d", "t", axes=[0, 1])],
         {"x": x, "k": np.array([True, False, True, True, False, True])}, {}, "s,t")


def inverses(to: Path) -> None:
    """Products over a dimension that the data say, whose rest, the first number's, is infinite on either side"""
    x = normal(60)
    x[0] = 0
    save(to, "dyn_inverses", mask() + [
        node("Unsqueeze", "d,one", "u"), node("Reciprocal", "u", "r"), node("Transpose", "u", "ut"), node("Transpose", "r", "rt"),
        node("MatMul", "rt,u", "a"), node("MatMul", "ut,r", "b"), node("MatMul", "rt,r", "c")],
        {"x": x}, ABOVE | {"one": whole(1)}, "a,b,c")


def main() -> None:
    to = Path(sys.argv[1])
    reductions(to)
    moves(to)
    chosen(to)
    suppression(to)
    branches(to)
    empty(to)
    refused(to)
    later(to)
    exported(to)
    without_updates(to)
    several(to)
    whole_means(to)
    inverses(to)


if __name__ == "__main__":
    main()
