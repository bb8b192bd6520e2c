#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Language models of random weights as onnxruntime's tools leave them, and what onnxruntime answers with them.

usage: make_language.py OUTPUT [HIDDEN]    (in an environment with the packages onnx, onnx_ir, onnxruntime, sympy and numpy)

A Llama (RMS norms, gated SiLU, grouped heads) and a Phi (layer norms, attention and MLP side by side, biases, part of each head
turned), written as exporters write them but for GroupQueryAttention, which onnxruntime's builder of language models writes;
onnxruntime.transformers' optimizer fuses the norms and the GELU, and MatMulNBitsQuantizer makes the weights four bits, of the Phi
its table of words too. Each comes as two models: of a prompt and of one token, with a cache of fixed size. OUTPUT/NAME.npz has the
prompt, the tokens that onnxruntime chooses one after the other, the logits of each, and the number of layers with the shape of each
one's cache.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

PROMPT, STEPS, ROOM, LAYERS, WORDS = 8, 32, 48, 2, 96
MS = "com.microsoft"


class Graph:
    def __init__(self, seed: int) -> None:
        self.rnd = np.random.default_rng(seed)
        self.nodes: list = []
        self.held: dict[str, np.ndarray] = {}

    def weight(self, *shape: int, scale: float | None = None) -> str:
        name = f"w{len(self.held)}"
        self.held[name] = (self.rnd.standard_normal(shape) * (scale or shape[0] ** -0.5)).astype(np.float32)
        return name

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"w{len(self.held)}"
        self.held[name] = np.array(value, kind)
        return name

    def add(self, kind: str, *inputs: str, domain: str = "", results: int = 1, **attributes: object):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"n{len(self.nodes)}", domain=domain, **attributes))
        return names[0] if results == 1 else names

    def linear(self, x: str, rows: int, columns: int, bias: bool = False) -> str:
        y = self.add("MatMul", x, self.weight(rows, columns))
        return self.add("Add", y, self.weight(columns, scale=0.1)) if bias else y


def rms_norm(g: Graph, x: str, width: int) -> str:
    mean = g.add("ReduceMean", g.add("Pow", x, g.constant(2.0)), axes=[-1], keepdims=1)
    root = g.add("Sqrt", g.add("Add", mean, g.constant(1e-5)))
    scaled = g.add("Mul", x, g.add("Div", g.constant(1.0), root))
    return g.add("Mul", g.constant(1 + 0.1 * g.rnd.standard_normal(width)), scaled)


def layer_norm(g: Graph, x: str, width: int) -> str:
    d = g.add("Sub", x, g.add("ReduceMean", x, axes=[-1], keepdims=1))
    variance = g.add("ReduceMean", g.add("Pow", d, g.constant(2.0)), axes=[-1], keepdims=1)
    y = g.add("Div", d, g.add("Sqrt", g.add("Add", variance, g.constant(1e-5))))
    y = g.add("Mul", y, g.constant(1 + 0.1 * g.rnd.standard_normal(width)))
    return g.add("Add", y, g.weight(width, scale=0.1))


def gelu(g: Graph, x: str) -> str:
    cube = g.add("Mul", g.add("Pow", x, g.constant(3.0)), g.constant(0.044715))
    t = g.add("Tanh", g.add("Mul", g.add("Add", x, cube), g.constant((2 / np.pi) ** 0.5)))
    return g.add("Mul", g.add("Mul", x, g.constant(0.5)), g.add("Add", t, g.constant(1.0)))


def attention(g: Graph, x: str, i: int, width: int, heads: int, shared: int, table: list[str], bias: bool) -> str:
    size = width // heads
    q, k, v = (g.linear(x, width, size * n, bias) for n in (heads, shared, shared))
    y, *_ = g.add("GroupQueryAttention", q, k, v, f"past_key.{i}", f"past_value.{i}", "lengths", "total", *table,
                                  domain=MS, results=3, num_heads=heads, kv_num_heads=shared, do_rotary=1)
    g.nodes[-1].output[1:] = [f"present_key.{i}", f"present_value.{i}"]
    return g.linear(y, size * heads, width, bias)


def angles(pairs: int) -> list[np.ndarray]:
    at = np.arange(ROOM)[:, None] * 10000.0 ** (-np.arange(pairs) / pairs)
    return [np.cos(at), np.sin(at)]


def llama(width: int) -> tuple[Graph, int, int]:
    g, heads, shared = Graph(6), 4, 2
    table = [g.constant(a) for a in angles(width // heads // 2)]
    x = g.add("Gather", g.weight(WORDS, width, scale=1.0), "input_ids")
    for i in range(LAYERS):
        x = g.add("Add", x, attention(g, rms_norm(g, x, width), i, width, heads, shared, table, False))
        y = rms_norm(g, x, width)
        gate = g.linear(y, width, 2 * width)
        y = g.add("Mul", g.add("Mul", gate, g.add("Sigmoid", gate)), g.linear(y, width, 2 * width))
        x = g.add("Add", x, g.linear(y, 2 * width, width))
    g.linear(rms_norm(g, x, width), width, WORDS)
    return g, shared, width // heads


def phi(width: int) -> tuple[Graph, int, int]:
    g, heads = Graph(6), 2
    table = [g.constant(a) for a in angles(width // heads // 4)]
    x = g.add("Gather", g.weight(WORDS, width, scale=1.0), "input_ids")
    for i in range(LAYERS):
        y = layer_norm(g, x, width)
        a = attention(g, y, i, width, heads, heads, table, True)
        m = g.linear(gelu(g, g.linear(y, width, 2 * width, True)), 2 * width, width, True)
        x = g.add("Add", g.add("Add", a, m), x)
    g.linear(layer_norm(g, x, width), width, WORDS, True)
    return g, heads, width // heads


def model_of(g: Graph, shared: int, size: int, length: int) -> onnx.ModelProto:
    """length: of the tokens of one run; the mask says how many of the cache's places have one then"""
    def info(name: str, kind: int, *shape: int):
        return helper.make_tensor_value_info(name, kind, shape)

    one, axis = numpy_helper.from_array(np.array([1], np.int64), "one"), numpy_helper.from_array(np.array(1, np.int64), "axis")
    before = [helper.make_node("ReduceSum", ["attention_mask", "one"], ["sum"], keepdims=0), helper.make_node("Sub", ["sum", "one"], ["less"]),
              helper.make_node("Cast", ["less"], ["lengths"], to=TensorProto.INT32),
              helper.make_node("Shape", ["attention_mask"], ["shape"]), helper.make_node("Gather", ["shape", "axis"], ["all"], "all_places"),
              helper.make_node("Cast", ["all"], ["total"], to=TensorProto.INT32)]
    caches = [(f"{w}.{i}", TensorProto.FLOAT, 1, shared, ROOM, size) for i in range(LAYERS) for w in ("key", "value")]
    inputs = [info("input_ids", TensorProto.INT64, 1, length), info("attention_mask", TensorProto.INT64, 1, ROOM)]
    inputs += [info(f"past_{n}", *rest) for n, *rest in caches]
    nodes = [*before, *g.nodes]
    logits = nodes[-1].output[0]
    nodes.append(helper.make_node("Identity", [logits], ["logits"]))
    outputs = [info("logits", TensorProto.FLOAT, 1, length, WORDS)] + [info(f"present_{n}", *rest) for n, *rest in caches]
    held = [one, axis] + [numpy_helper.from_array(v, k) for k, v in g.held.items()]
    graph = helper.make_graph(nodes, "language", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=9)


def by_tools(model: onnx.ModelProto, symmetric: bool) -> onnx.ModelProto:
    options = FusionOptions("gpt2")
    options.enable_attention = False
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "m.onnx"
        onnx.save(model, path)
        fused = optimizer.optimize_model(str(path), "gpt2", optimization_options=options, opt_level=0, only_onnxruntime=False)
    quantizer = MatMulNBitsQuantizer(fused.model, bits=4, block_size=32, is_symmetric=symmetric, nodes_to_exclude=["all_places"],
                                     op_types_to_quantize=("MatMul",) if symmetric else ("MatMul", "Gather"),
                                     quant_axes=(("MatMul", 0), ("Gather", 1)))
    quantizer.process()
    return quantizer.model.model


def answer(first: onnx.ModelProto, step: onnx.ModelProto, prompt: np.ndarray) -> dict[str, np.ndarray]:
    sessions = [onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]) for m in (first, step)]
    caches = {i.name: np.zeros(i.shape, np.float32) for i in sessions[0].get_inputs() if i.name.startswith("past")}
    tokens, logits, ids = [], [], prompt
    for run in range(1 + STEPS):
        mask = (np.arange(ROOM) < PROMPT + run).astype(np.int64)[None]
        found, *present = sessions[run > 0].run(None, {"input_ids": ids, "attention_mask": mask} | caches)
        caches = dict(zip(caches, present, strict=True))
        logits.append(found[0, -1])
        tokens.append(int(np.argmax(found[0, -1])))
        ids = np.array([[tokens[-1]]], np.int64)
    cache = np.array([LAYERS, *next(iter(caches.values())).shape], np.int32)
    return {"prompt": prompt.astype(np.int32), "cache": cache, "tokens": np.array(tokens, np.int32), "logits": np.array(logits)}


def main() -> None:
    to, width = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64
    to.mkdir(parents=True, exist_ok=True)
    for name, make in ("llama", llama), ("phi", phi):
        models = [by_tools(model_of(*make(width), length), name == "llama") for length in (PROMPT, 1)]
        for model, what in zip(models, ("prompt", "token"), strict=True):
            (to / f"{name}_{what}.onnx").write_bytes(model.SerializeToString())
        prompt = np.random.default_rng(5).integers(0, WORDS, (1, PROMPT)).astype(np.int64)
        np.savez(to / f"{name}.npz", **answer(*models, prompt))
        kinds: dict[str, int] = {}
        for n in models[0].graph.node:
            kinds[n.op_type] = kinds.get(n.op_type, 0) + 1
        print(name, kinds)


if __name__ == "__main__":
    main()
