#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Resizing with a filter, patches, grids, sequences, groups and constants of four bits, each in its forms.

usage: make_shapes.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)
"""

import sys
from pathlib import Path

import numpy as np
from golden import node, save, small
from onnx import TensorProto, helper

RND = np.random.default_rng(1818)


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def resize(to: Path) -> None:
    def case(name: str, inputs: dict, sizes: tuple | None, scales: tuple | None = None, right: str = "", **attributes) -> None:
        constants = {"s": whole(*sizes)} if sizes else {"c": np.array(scales, np.float32)}
        save(to, f"filter_{name}", [node("Resize", "x,,,s" if sizes else "x,,c", **attributes)], inputs, constants, opset=19, right=right)

    x = {"x": normal(1, 2, 8, 9)}
    for mode in "linear", "cubic":
        case(f"{mode}_down", x, (1, 2, 5, 4), mode=mode, antialias=1, exclude_outside=1)
        case(f"{mode}_edges", x, (1, 2, 5, 4), mode=mode, antialias=1)
        case(f"{mode}_mixed", x, (1, 2, 13, 4), mode=mode, antialias=1, exclude_outside=1)
        case(f"{mode}_scales", x, None, (1, 1, 0.6, 0.6), mode=mode, antialias=1, exclude_outside=1)
    case("corners", x, (1, 2, 3, 4), mode="linear", antialias=1, coordinate_transformation_mode="align_corners", exclude_outside=1)
    case("one", x, (1, 2, 1, 1), mode="linear", antialias=1, exclude_outside=1)
    case("line", {"x": normal(2, 30)}, (2, 7), mode="cubic", antialias=1, exclude_outside=1, cubic_coeff_a=-0.5)
    wide = {"x": normal(1, 1, 10, 17)}
    for policy in "not_larger", "not_smaller":
        case(f"aspect_{policy}", wide, (7, 9), mode="linear", keep_aspect_ratio_policy=policy, axes=[2, 3])
        case(f"aspect_{policy}_nearest", wide, (13, 25), mode="nearest", keep_aspect_ratio_policy=policy, axes=[2, 3])


def patches(to: Path) -> None:
    def case(name: str, x: np.ndarray, image: tuple, block: tuple, **attributes) -> None:
        save(to, f"col2im_{name}", [node("Col2Im", "x,i,b", **attributes)], {"x": x}, {"i": whole(*image), "b": whole(*block)})

    case("plain", normal(1, 5, 5), (5, 5), (1, 5))
    case("over", normal(2, 3 * 9, 12), (5, 6), (3, 3))
    case("pads", normal(2, 2 * 9, 20), (8, 10), (3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    case("dilations", normal(1, 2 * 4, 25), (5, 7), (2, 2), dilations=[2, 1], strides=[1, 2], pads=[1, 0, 1, 3])
    case("rest", normal(1, 4, 4), (5, 5), (2, 2), strides=[2, 2])
    case("line", normal(1, 2 * 3, 6), (8,), (3,))
    case("volume", normal(1, 8, 8), (3, 3, 3), (2, 2, 2))
    for name, shape, axes in (("cut", (4, 3, 6), None), ("pad", (9, 13, 8), None), ("both", (4, 13), [1, -1])):
        more = {"axes": axes} if axes else {}
        save(to, f"center_{name}", [node("CenterCropPad", "x,s", **more)], {"x": normal(7, 8, 7)}, {"s": whole(*shape)})
    save(to, "center_words", [node("CenterCropPad", "x,s")], {"x": RND.integers(-9, 9, (5, 4)).astype(np.int32)}, {"s": whole(2, 7)})


def grids(to: Path) -> None:
    for align in 0, 1:
        save(to, f"affine_two_{align}", [node("AffineGrid", "t,s", align_corners=align)], {"t": normal(2, 2, 3)}, {"s": whole(2, 4, 5, 6)},
             opset=20)
        save(to, f"affine_three_{align}", [node("AffineGrid", "t,s", align_corners=align)], {"t": normal(2, 3, 4)},
             {"s": whole(2, 3, 4, 5, 6)}, opset=20)

    def case(name: str, inputs: dict, weights: np.ndarray, names: str = "x,w,o", bias: bool = False, **attributes) -> None:
        constants = {"w": weights} | ({"b": normal(weights.shape[0])} if bias else {})
        save(to, f"deform_{name}", [node("DeformConv", names, **attributes)], inputs, constants, opset=19)

    case("plain", {"x": normal(1, 2, 5, 6), "o": normal(1, 18, 3, 4)}, normal(3, 2, 3, 3))
    case("pads", {"x": normal(2, 2, 5, 6), "o": 2 * normal(2, 18, 5, 6)}, normal(3, 2, 3, 3), pads=[1, 1, 1, 1])
    case("strides", {"x": normal(1, 2, 7, 7), "o": normal(1, 8, 3, 5)}, normal(2, 2, 2, 2), strides=[2, 1], dilations=[1, 2])
    case("whole", {"x": normal(1, 4, 5, 5), "o": normal(1, 2 * 8, 4, 4), "m": normal(1, 2 * 4, 4, 4)}, normal(6, 2, 2, 2), "x,w,o,b,m", True,
         group=2, offset_group=2)


def groups(to: Path) -> None:
    x = {"x": normal(2, 4, 3, 5)}
    save(to, "groups_18", [node("GroupNormalization", "x,s,b", num_groups=2)], x, {"s": normal(2), "b": normal(2)}, opset=18)
    save(to, "groups_18_one", [node("GroupNormalization", "x,s,b", num_groups=1, epsilon=0.1)], x, {"s": normal(1), "b": normal(1)}, opset=18)


def nibbles(to: Path) -> None:
    four = RND.integers(0, 16, (16, 12)).astype(np.uint8)
    signed = four.astype(np.int8) - 8
    x = {"x": normal(3, 16)}
    product = node("MatMul", "x,d")

    def case(name: str, nodes: list, constants: dict, inputs: dict = x, opset: int = 21) -> None:
        save(to, f"nibble_{name}", nodes, inputs, constants, opset=opset)

    u4, i4 = TensorProto.UINT4, TensorProto.INT4
    blocks = {"s": np.abs(normal(2, 12)), "z": small("z", RND.integers(0, 16, (2, 12)), u4)}
    case("blocks", [node("DequantizeLinear", "w,s,z", "d", axis=0, block_size=8), product], {"w": small("w", four, u4)} | blocks)
    case("columns", [node("DequantizeLinear", "w,s", "d", axis=1), product], {"w": small("w", signed, i4), "s": np.abs(normal(12))})
    case("one", [node("DequantizeLinear", "w,s", "d"), product], {"w": small("w", signed, i4), "s": np.float32(0.3)})
    odd = small("w", signed[:3, :5], i4)
    case("odd", [node("DequantizeLinear", "w,s", "d"), node("Add", "x,d")], {"w": odd, "s": np.float32(0.5)}, {"x": normal(3, 5)})
    case("cast", [node("Cast", "w", "d", to=1), node("Add", "x,d")], {"w": odd}, {"x": normal(3, 5)})
    raw = helper.make_tensor("w", i4, (3, 5), bytes(odd.raw_data) or bytes(b & 255 for b in odd.int32_data), raw=True)
    case("raw", [node("DequantizeLinear", "w,s", "d"), node("Add", "x,d")], {"w": raw, "s": np.float32(0.5)}, {"x": normal(3, 5)})
    case("gather", [node("DequantizeLinear", "w,s", "d", axis=0, block_size=4), node("Gather", "d,i")],
         {"w": small("w", four, u4), "s": np.abs(normal(4, 12))}, {"i": RND.integers(0, 16, (2, 3)).astype(np.int32)})
    case("transposed", [node("Transpose", "w", "t", perm=[1, 0]), node("DequantizeLinear", "t,s", "d", axis=1), product],
         {"w": small("w", signed.T.copy(), i4), "s": np.abs(normal(12))})
    case("no_quantize", [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z")],
         {"s": np.float32(0.3), "z": small("z", np.array(3), u4)}, {"x": normal(3, 5)})


def sequences(to: Path) -> None:
    x, y = {"x": normal(2, 6)}, {"a": normal(2, 3), "b": normal(2, 3), "c": normal(2, 3)}

    def case(name: str, nodes: list, inputs: dict, constants: dict | None = None, outputs: str = "y", right: str = "") -> None:
        save(to, f"sequence_{name}", nodes, inputs, constants, outputs, opset=17, right=right)

    place = {"p": np.int64(-1), "q": np.int64(1)}
    case("parts", [node("SplitToSequence", "x,s", "l", axis=1), node("SequenceAt", "l,p", "y"), node("SequenceAt", "l,q", "z")], x,
         {"s": whole(1, 3, 2)} | place, "y,z")
    case("same_parts", [node("SplitToSequence", "x,s", "l", axis=1), node("SequenceAt", "l,p", "y"), node("SequenceLength", "l", "n")], x,
         {"s": np.int64(4)} | place, "y,n")
    case("each", [node("SplitToSequence", "x", "l", axis=1, keepdims=0), node("SequenceAt", "l,p", "y")], x, place)
    case("each_kept", [node("SplitToSequence", "x", "l", axis=1), node("SequenceAt", "l,p", "y")], x, place)
    case("joined", [node("SequenceConstruct", "a,b,c", "l"), node("ConcatFromSequence", "l", axis=-1)], y)
    case("stacked", [node("SequenceConstruct", "a,b,c", "l"), node("ConcatFromSequence", "l", axis=1, new_axis=1)], y)
    case("stacked_last", [node("SequenceConstruct", "a,b", "l"), node("ConcatFromSequence", "l", axis=-1, new_axis=1)],
         {k: y[k] for k in "ab"})
    case("inserted", [node("SequenceEmpty", "", "e"), node("SequenceInsert", "e,a", "f"), node("SequenceInsert", "f,b", "g"),
                      node("SequenceInsert", "g,c,p", "h"), node("SequenceErase", "h,z", "i"), node("ConcatFromSequence", "h", "y", axis=0),
                      node("ConcatFromSequence", "i", "w", axis=0)], y, place | {"z": np.int64(0)}, "y,w")
    body = helper.make_graph([node("Mul", "i,i", "j"), node("Add", "j,k", "r")], "body",
                             [helper.make_tensor_value_info(k, 1, None) for k in "ik"], [helper.make_tensor_value_info("r", 1, None)])
    case("mapped", [node("SequenceConstruct", "a,b", "l"), node("SequenceMap", "l,c", "m", body=body), node("ConcatFromSequence", "m", axis=0)], y)
    # as PyTorch writes a list that a loop fills
    step = helper.make_graph([node("Gather", "x,i", "row", axis=0), node("Mul", "row,row", "sq"), node("SequenceInsert", "old,sq", "new"),
                              node("Identity", "go", "on")], "step",
                             [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
                              helper.make_tensor_sequence_value_info("old", 1, None)],
                             [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_sequence_value_info("new", 1, None)])
    case("looped", [node("SequenceEmpty", "", "e"), node("Loop", "n,t,e", "l", body=step), node("ConcatFromSequence", "l", axis=0, new_axis=1)],
         {"x": normal(4, 3)}, {"n": np.int64(4), "t": np.bool_(True)})
    case("given_place", [node("SequenceConstruct", "a,b", "l"), node("SequenceAt", "l,p")],
         {k: y[k] for k in "ab"} | {"p": np.array([1], np.int32).reshape(())})


def later(to: Path) -> None:
    """What operator set 28 adds to operators that there were"""
    for kind in np.int8, np.int16, np.int32:
        x = {"x": np.array([-17, 17, -1, 100, -100, -3], kind), "z": np.array([2, 2, 9, -1, -1, 40], kind)}
        for way in "LEFT", "RIGHT":
            save(to, f"later_shift_{way.lower()}_{np.dtype(kind).name}", [node("BitShift", "x,z", direction=way)], x, opset=28)
    save(to, "later_space_to_depth", [node("SpaceToDepth", "x", blocksize=2, mode="CRD")], {"x": normal(2, 3, 4, 6)}, opset=28)


def refused(to: Path) -> None:
    y = {"a": normal(2, 3), "b": normal(2, 3)}
    made = node("SequenceConstruct", "a,b", "l")

    def case(name: str, nodes: list, constants: dict | None = None, outputs: str = "y", inputs: dict = y, opset: int = 17) -> None:
        save(to, f"refused_{name}", nodes, inputs, constants, outputs, opset, unasked=[normal(2)])

    case("sequence_operand", [made, node("Add", "l,a")])
    case("sequence_output", [made], outputs="l")
    case("sequence_nested", [made, node("SequenceConstruct", "l,l", "m"), node("SequenceLength", "m")])
    case("sequence_place", [made, node("SequenceAt", "l,p")], {"p": np.int64(2)})
    case("sequence_insert", [made, node("SequenceInsert", "l,a,p", "m"), node("SequenceLength", "m")], {"p": np.int64(-3)})
    case("sequence_parts", [node("SplitToSequence", "a,p", "l", axis=1), node("SequenceLength", "l")], {"p": whole(2, 2)})
    case("sequence_none", [node("SequenceEmpty", "", "l"), node("ConcatFromSequence", "l", axis=0)])
    case("sequence_tensor", [node("SequenceLength", "a")])
    case("scatter_mode", [node("TensorScatter", "x,u", mode="random")], inputs={"x": normal(1, 4, 2), "u": normal(1, 1, 2)}, opset=24)
    case("scatter_first", [node("TensorScatter", "x,u", axis=0)], inputs={"x": normal(1, 4, 2), "u": normal(1, 4, 2)}, opset=24)
    case("affine_sizes", [node("AffineGrid", "t,s")], {"s": whole(1, 2, 3, 4)}, inputs={"t": normal(2, 2, 3)}, opset=20)
    case("col2im_blocks", [node("Col2Im", "x,i,b")], {"i": whole(4, 4), "b": whole(2, 2)}, inputs={"x": normal(1, 4, 8)}, opset=18)
    case("deform_sizes", [node("DeformConv", "x,w,o")], inputs={"x": normal(1, 2, 4, 4), "w": normal(1, 2, 2, 2), "o": normal(1, 8, 4, 4)}, opset=19)
    case("groups_18", [node("GroupNormalization", "x,s,b", num_groups=2)], inputs={"x": normal(1, 4, 3), "s": normal(4), "b": normal(4)}, opset=18)


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    resize(destination)
    patches(destination)
    grids(destination)
    groups(destination)
    nibbles(destination)
    sequences(destination)
    later(destination)
    refused(destination)
