#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention, rotary embeddings and caches, of ONNX and of onnxruntime, each in its forms.

usage: make_attention.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)
"""

import sys
from pathlib import Path

import numpy as np
from golden import ms, node, save

RND = np.random.default_rng(2311)


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def heads(query: int = 2, kv: int = 2, length: int = 3, keys: int = 5, size: int = 4, value: int = 4) -> dict:
    return {"q": normal(2, query, length, size), "k": normal(2, kv, keys, size), "v": normal(2, kv, keys, value)}


def standard(to: Path) -> None:
    def case(name: str, inputs: dict, names: str = "q,k,v", outputs: str = "y", opset: int = 23, right: str = "", **attributes) -> None:
        given = ",".join(o for o in outputs.split(",") if o)
        save(to, f"heads_{name}", [node("Attention", names, outputs, **attributes)], inputs, outputs=given, opset=opset, right=right)

    def past(of: dict, length: int) -> dict:
        return of | {"pk": normal(2, of["k"].shape[1], length, of["k"].shape[3]),
                     "pv": normal(2, of["v"].shape[1], length, of["v"].shape[3])}

    case("plain", heads())
    case("causal", heads(length=4, keys=4), is_causal=1)
    case("scale", heads(value=6), scale=0.3)
    case("shared", heads(query=6, kv=2))
    case("one_key_head", heads(query=4, kv=1), is_causal=1)
    case("capped", heads(), softcap=0.7)
    flat = {"q": normal(2, 3, 12), "k": normal(2, 4, 6), "v": normal(2, 4, 10)}
    case("flat", flat, q_num_heads=4, kv_num_heads=2)
    case("mask_two", heads() | {"m": normal(3, 5)}, "q,k,v,m")
    case("mask_four", heads() | {"m": normal(2, 2, 3, 5)}, "q,k,v,m")
    some = RND.integers(0, 2, (3, 5)).astype(bool)
    some[1] = False  # a query that sees nothing
    case("mask_bool", heads() | {"m": some}, "q,k,v,m", right="evaluator")
    case("mask_some_bool", heads() | {"m": np.array([[1, 1, 0, 1, 0]] * 3, bool)}, "q,k,v,m")
    lower = np.where(np.tri(3, 5, 2, dtype=bool), 0, -np.inf).astype(np.float32)
    case("mask_infinite", heads() | {"m": lower}, "q,k,v,m")
    case("mask_causal", heads(length=4, keys=4) | {"m": normal(4, 4)}, "q,k,v,m", is_causal=1)
    case("mask_short", heads() | {"m": normal(3, 4)}, "q,k,v,m", opset=24, right="evaluator")
    case("past", past(heads(keys=3), 4), "q,k,v,,pk,pv", "y,nk,nv", is_causal=1)
    case("past_one", past(heads(query=4, kv=2, length=1, keys=1), 6), "q,k,v,,pk,pv", "y,nk,nv", is_causal=1)
    case("past_mask", past(heads(keys=3), 4) | {"m": normal(3, 7)}, "q,k,v,m,pk,pv", "y,nk,nv")
    for mode in range(4):
        case(f"shown_{mode}", heads() | {"m": normal(3, 5)}, "q,k,v,m", "y,,,s", softcap=2.0, qk_matmul_output_mode=mode,
             right="runtime")
    case("float16", {k: v.astype(np.float16) for k, v in heads().items()})
    case("some_keys", heads() | {"n": whole(3, 5)}, "q,k,v,,,,n", opset=24)
    case("some_keys_causal", heads() | {"n": whole(3, 5)}, "q,k,v,,,,n", opset=24, is_causal=1, right="evaluator")
    case("few_keys_causal", heads() | {"n": whole(2, 4)}, "q,k,v,,,,n", opset=24, is_causal=1, right="evaluator")
    case("near", heads(length=5), opset=25, left_window_size=2, right_window_size=1)
    case("near_past", past(heads(length=5), 3), "q,k,v,,pk,pv", "y,nk,nv", opset=25, is_causal=1, left_window_size=2)


def rotary(to: Path) -> None:
    at = RND.integers(0, 9, (2, 3)).astype(np.int64)
    table = {"c": np.cos(normal(9, 4)), "s": np.sin(normal(9, 4))}
    wide, flat = {"x": normal(2, 2, 3, 8)}, {"x": normal(2, 3, 16)}
    for word, mixed in ("halves", 0), ("mixed", 1):
        save(to, f"rotary_{word}", [node("RotaryEmbedding", "x,c,s,p", interleaved=mixed)], wide | {"p": at}, table, opset=23)
        save(to, f"rotary_ms_{word}", [ms("RotaryEmbedding", "x,p,c,s", interleaved=mixed)], wide | {"p": at}, table)
    save(to, "rotary_flat", [node("RotaryEmbedding", "x,c,s,p", num_heads=2)], flat | {"p": at}, table, opset=23)
    save(to, "rotary_given", [node("RotaryEmbedding", "x,c,s")], wide | {"c": normal(2, 3, 4), "s": normal(2, 3, 4)}, opset=23)
    few = {"c": normal(9, 2), "s": normal(9, 2)}
    save(to, "rotary_part", [node("RotaryEmbedding", "x,c,s,p", rotary_embedding_dim=4)], wide | {"p": at}, few, opset=23)
    save(to, "rotary_part_mixed", [node("RotaryEmbedding", "x,c,s,p", rotary_embedding_dim=4, interleaved=1, num_heads=2)],
         flat | {"p": at}, few, opset=23)
    save(to, "rotary_ms_flat", [ms("RotaryEmbedding", "x,p,c,s")], flat | {"p": at}, table)
    save(to, "rotary_ms_from", [ms("RotaryEmbedding", "x,p,c,s")], flat | {"p": whole(5)}, table)
    save(to, "rotary_ms_part", [ms("RotaryEmbedding", "x,p,c,s", num_heads=2, rotary_embedding_dim=4)], flat | {"p": at}, few)
    save(to, "rotary_no_packed", [ms("RotaryEmbedding", "x,p,c,s", is_packed_batching=1)], flat | {"p": at}, table)
    save(to, "rotary_no_scale", [ms("RotaryEmbedding", "x,p,c,s", scale=2.0)], flat | {"p": at}, table)


def cache(to: Path) -> None:
    def case(name: str, inputs: dict, names: str = "x,u,i", **attributes) -> None:
        save(to, f"cache_{name}", [node("TensorScatter", names, **attributes)], inputs, opset=24)

    x = {"x": normal(2, 3, 6, 4)}
    case("one", x | {"u": normal(2, 3, 1, 4), "i": whole(5, 2)})
    case("some", x | {"u": normal(2, 3, 3, 4), "i": whole(1, 3)})
    case("first", x | {"u": normal(2, 3, 3, 4)}, "x,u")
    case("round", x | {"u": normal(2, 3, 3, 4), "i": whole(5, 9)}, mode="circular")
    case("axis", {"x": normal(2, 6, 3), "u": normal(2, 4, 3), "i": whole(0, 2)}, axis=1)
    case("words", {"x": RND.integers(-99, 99, (1, 6, 3)).astype(np.int32), "u": RND.integers(-99, 99, (1, 2, 3)).astype(np.int32),
                   "i": whole(3)}, axis=1)


def projected(to: Path) -> None:
    """com.microsoft's Attention"""
    def case(name: str, names: str = "x,w,b", outputs: str = "y", more: dict | None = None, width: int = 24, bias: bool = True,
             **attributes) -> None:
        inputs = {"x": normal(2, 5, 6)} | (more or {})
        constants = {"w": normal(6, width)} | ({"b": normal(width)} if bias else {})
        save(to, f"projected_{name}", [ms("Attention", names, outputs, num_heads=2, **attributes)], inputs, constants, outputs)

    case("plain")
    case("no_bias", "x,w", bias=False)
    case("causal", unidirectional=1)
    case("scale", scale=0.4)
    case("widths", width=22, qkv_hidden_sizes=[8, 8, 6])
    case("ends", "x,w,b,m", more={"m": np.array([3, 5], np.int32)})
    case("ends_and_starts", "x,w,b,m", more={"m": np.array([4, 5, 1, 2], np.int32)})
    case("mask_keys", "x,w,b,m", more={"m": RND.integers(0, 2, (2, 5)).astype(np.int32)})
    case("mask_all", "x,w,b,m", more={"m": np.zeros((2, 5), np.int32)}, mask_filter_value=-5.0)
    case("mask_each", "x,w,b,m", more={"m": RND.integers(0, 2, (2, 5, 5)).astype(np.int32)}, unidirectional=1)
    case("past", "x,w,b,,p", "y,n", more={"p": normal(2, 2, 2, 3, 4)}, unidirectional=1)
    case("past_mask", "x,w,b,m,p", "y,n", more={"m": RND.integers(0, 2, (2, 8)).astype(np.int32), "p": normal(2, 2, 2, 3, 4)})
    case("added", "x,w,b,,,a", more={"a": normal(1, 2, 5, 5)})
    case("added_mask", "x,w,b,m,,a", more={"m": RND.integers(0, 2, (2, 5)).astype(np.int32), "a": normal(2, 1, 5, 5)})
    case("present", outputs="y,n")


def many(to: Path) -> None:
    """com.microsoft's MultiHeadAttention"""
    def case(name: str, names: str = "q,k,v", outputs: str = "y", more: dict | None = None, query: int = 4, keys: int = 5, value: int = 6,
             **attributes) -> None:
        inputs = {"q": normal(2, query, 8), "k": normal(2, keys, 8), "v": normal(2, keys, value)} | (more or {})
        given = ",".join(o for o in outputs.split(",") if o)
        save(to, f"many_{name}", [ms("MultiHeadAttention", names, outputs, num_heads=2, **attributes)], inputs, {}, given, typed=True)

    case("plain")
    case("bias", "q,k,v,b", more={"b": normal(22)})
    case("causal", query=5, unidirectional=1)
    case("scale", scale=0.25)
    case("mask_keys", "q,k,v,,m", more={"m": RND.integers(0, 2, (2, 5)).astype(np.int32)}, mask_filter_value=-3.0)
    case("mask_each", "q,k,v,,m", more={"m": RND.integers(0, 2, (2, 4, 5)).astype(np.int32)})
    case("lengths", "q,k,v,,m", more={"m": np.array([2, 5], np.int32)})
    case("added", "q,k,v,,,a", more={"a": normal(2, 2, 4, 5)})
    case("added_all", "q,k,v,,,a", more={"a": normal(1, 1, 4, 5)})
    past = {"pk": normal(2, 2, 3, 4), "pv": normal(2, 2, 3, 4)}
    case("past", "q,k,v,,,,pk,pv", "y,nk,nv", more=past, value=8)
    case("past_causal", "q,k,v,,,,pk,pv", "y,nk,nv", more=past, query=5, value=8, unidirectional=1)
    case("past_mask", "q,k,v,,m,a,pk,pv", "y,nk,nv",
         more={"m": RND.integers(0, 2, (2, 8)).astype(np.int32), "a": normal(1, 2, 4, 8)} | past, value=8)
    case("in_heads", more={"k": normal(2, 2, 5, 4), "v": normal(2, 2, 5, 4)})
    case("shown", "q,k,v,,m,a", "y,,,s", more={"m": RND.integers(0, 2, (2, 5)).astype(np.int32), "a": normal(1, 2, 4, 5)})


def grouped(to: Path) -> None:
    """com.microsoft's GroupQueryAttention: the past lies in a buffer of a size of its own, or grows"""
    table = {"c": np.cos(normal(16, 8)), "s": np.sin(normal(16, 8))}

    def case(name: str, new: int, lengths: list[int], total: int, past: int = 12, more: dict | None = None, names: str = "",
             packed: bool = False, heads: int = 4, kind: type = np.float32, tables: dict = table, size: int = 16, **attributes) -> None:
        batch = len(lengths)
        inputs = {"q": normal(batch, new, size * (heads + 4 if packed else heads))}
        if not packed:
            inputs |= {"k": normal(batch, new, 2 * size), "v": normal(batch, new, 2 * size)}
        if past:
            kept = np.zeros((2, batch, 2, past, size), np.float32)
            for b, length in enumerate(lengths):
                kept[:, b, :, :max(0, length - new)] = normal(2, 2, max(0, length - new), size)
            inputs |= {"pk": kept[0], "pv": kept[1]}
        inputs = {k: v.astype(kind) for k, v in inputs.items()} | {"l": np.array(lengths, np.int32) - 1} | (more or {})
        constants = {"t": np.array(total, np.int32)} | {k: v.astype(kind) for k, v in tables.items()}
        operands = ("q,," if packed else "q,k,v") + (",pk,pv" if past else ",,") + ",l,t" + (",c,s" if tables else "") + names
        save(to, f"grouped_{name}",
             [ms("GroupQueryAttention", operands, "y,nk,nv", num_heads=heads, kv_num_heads=2, **attributes)], inputs, constants, "y,nk,nv")

    turned = {"do_rotary": 1}
    case("first", 5, [5, 5], 5, past=0, tables={})
    case("first_rotary", 5, [5, 5], 5, past=0, **turned)
    case("first_buffer", 5, [5, 5], 5, **turned)
    case("next", 1, [4, 7], 7, **turned)
    case("next_full", 1, [12, 3], 12, **turned)
    case("next_grows", 1, [7, 7], 7, past=6, **turned)
    case("chunk", 3, [7], 7, **turned)
    case("chunk_first", 3, [3], 12, **turned)
    case("chunk_grows", 3, [7], 7, past=4, tables={})
    case("packed", 1, [4, 7], 7, packed=True, **turned)
    case("packed_first", 4, [4, 4], 4, past=0, packed=True, **turned)
    case("mixed", 1, [4, 7], 7, rotary_interleaved=1, **turned)
    case("part", 1, [4, 7], 7, size=32, **turned)
    case("near", 1, [4, 9], 9, local_window_size=3, **turned)
    case("near_first", 6, [6], 6, past=0, tables={}, local_window_size=2)
    case("capped", 1, [4, 7], 7, tables={}, softcap=1.5)
    case("scale", 1, [4, 7], 7, tables={}, scale=0.2)
    case("smooth", 1, [4, 7], 7, tables={}, smooth_softmax=1)
    case("places", 1, [4, 7], 7, more={"p": np.array([[9], [1]], np.int64)}, names=",p", **turned)
    case("places_first", 3, [3, 3], 3, past=0, more={"p": np.array([[5, 6, 7], [5, 6, 7]], np.int64)}, names=",p", **turned)
    case("bias", 1, [4, 7], 7, more={"a": normal(2, 4, 1, 7)}, names=",,a", **turned)
    case("sink", 1, [4, 7], 7, more={"h": normal(4)}, names=",,,h", **turned)
    case("one_head", 1, [4, 7], 7, heads=2, **turned)
    case("both_ways", 4, [4, 4], 4, past=0, tables={}, causal=0)
    case("float16", 1, [4, 7], 7, kind=np.float16, **turned)


def refused(to: Path) -> None:
    """What onnxruntime has of these operators and the compiler has not, or what nobody has"""
    def case(name: str, kind: str, names: str, inputs: dict, outputs: str = "y", **attributes) -> None:
        given = ",".join(o for o in outputs.split(",") if o)
        save(to, f"refused_{name}", [ms(kind, names, outputs, num_heads=2, **attributes)], inputs, {}, given, unasked=[normal(2)])

    x = {"x": normal(1, 3, 8), "w": normal(8, 24), "b": normal(24)}
    case("projected_rotary", "Attention", "x,w,b", x, do_rotary=1)
    case("projected_buffer", "Attention", "x,w,b,,,,n", x | {"n": np.array([1], np.int32)})
    case("projected_mask", "Attention", "x,w,b,m", x | {"m": np.ones((1, 1, 5, 5), np.int32)})
    case("projected_widths", "Attention", "x,w,b", x, qkv_hidden_sizes=[8, 4, 12])
    q = {"q": normal(1, 3, 8), "k": normal(1, 3, 8), "v": normal(1, 3, 8)}
    case("many_packed", "MultiHeadAttention", "q", {"q": normal(1, 3, 2, 3, 4)})
    case("many_packed_keys", "MultiHeadAttention", "q,k,k", q | {"k": normal(1, 3, 2, 2, 4)})
    case("many_indirect", "MultiHeadAttention", "q,k,v,,,,,,,i", q | {"i": np.zeros((1, 1, 3), np.int32)})
    group = {"l": np.array([2], np.int32), "t": np.array([3], np.int32)}
    for name, names, more, attributes in (
            ("scale", "q,k,v,,,l,t,,,,,,s", {"s": normal(1)}, {}), ("norm", "q,k,v,,,l,t,,,,,,,,s,s", {"s": normal(4)}, {}),
            ("chunk", "q,k,v,,,l,t,,,,,,,,,,n", {"n": np.array([2], np.int32)}, {}), ("types", "q,k,v,,,l,t", {}, {"k_quant_type": "PER_TENSOR"}),
            ("shown", "q,k,v,,,l,t", {}, {"qk_output": 1}), ("evicts", "q,k,v,,,l,t", {}, {"sliding_window_cache": 1, "local_window_size": 2})):
        case(f"grouped_{name}", "GroupQueryAttention", names, q | group | more, kv_num_heads=2, **attributes)


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    standard(destination)
    rotary(destination)
    cache(destination)
    projected(destination)
    many(destination)
    grouped(destination)
    refused(destination)
