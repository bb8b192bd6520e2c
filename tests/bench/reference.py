#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inferences a second of a network by JAX, and by onnxruntime, on one thread: by the processor time they took, and by the clock.

usage: reference.py NETWORK [SECONDS]      of tests/networks; bert_base_8 and resnet50 have an ONNX form here
       reference.py      reads lines NETWORK SECONDS [DIR], and answers each: by JAX, or of DIR/model.onnx and in<i>.npy
                         by onnxruntime

Without DIR, onnxruntime is given the same network built by hand with random weights, in the form in which exporters write
it. Needs jax and numpy, and for the second line onnx and onnxruntime.
"""

import functools
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "networks"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from generate import NETWORKS  # noqa: E402


def measure(program: str, call: Callable[[], Any], seconds: float) -> None:
    call()
    begun, begun_clock, n = time.process_time(), time.monotonic(), 0
    while time.monotonic() < begun_clock + seconds or not n:
        call()
        n += 1
    took, took_clock = time.process_time() - begun, time.monotonic() - begun_clock
    print(f"{program} {n / took:.6f}\n{program}-clock {n / took_clock:.6f}", flush=True)


class Graph:
    """An ONNX graph in the making: each method adds a node and returns its result's name"""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.random = np.random.default_rng(1)

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape: int, scale: float = 0.02) -> str:
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def dense(self, x: str, n: int, m: int) -> str:
        return self.op("Add", self.op("MatMul", x, self.weights(n, m)), self.weights(m))

    def conv(self, x: str, n: int, m: int, k: int, stride: int = 1) -> str:
        weights = self.weights(m, n, k, k, scale=(2 / (n * k * k)) ** 0.5)
        return self.op("Conv", x, weights, self.weights(m), kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4)

    def norm(self, x: str, n: int) -> str:
        return self.op("LayerNormalization", x, self.constant(np.ones(n, np.float32)), self.weights(n), epsilon=1e-12)


def onnx_bert(g: Graph, batch: int) -> tuple[str, dict[str, np.ndarray]]:
    heads = g.constant(np.array([batch, 128, 12, 64]))
    flat = g.constant(np.array([batch, 128, 768]))

    def split(x: str, perm: list[int]) -> str:
        return g.op("Transpose", g.op("Reshape", g.dense(x, 768, 768), heads), perm=perm)

    x = g.norm(g.op("Add", g.op("Gather", g.weights(30522, 768), "ids"), g.weights(128, 768)), 768)
    for _ in range(12):
        scores = g.op("MatMul", split(x, [0, 2, 1, 3]), split(x, [0, 2, 3, 1]))
        scores = g.op("Softmax", g.op("Mul", scores, g.constant(np.float32(0.125))), axis=-1)
        y = g.op("MatMul", scores, split(x, [0, 2, 1, 3]))
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), flat)
        x = g.norm(g.op("Add", x, g.dense(y, 768, 768)), 768)
        y = g.op("Gelu", g.dense(x, 768, 3072))
        x = g.norm(g.op("Add", x, g.dense(y, 3072, 768)), 768)
    return x, {"ids": np.zeros((batch, 128), np.int64)}


def onnx_resnet50(g: Graph, batch: int) -> tuple[str, dict[str, np.ndarray]]:
    x = g.op("Relu", g.conv("image", 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    width = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        middle = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = g.op("Relu", g.conv(x, width, middle, 1))
            y = g.op("Relu", g.conv(y, middle, middle, 3, stride))
            y = g.conv(y, middle, 4 * middle, 1)
            if not block:
                x = g.conv(x, width, 4 * middle, 1, stride)
            x = g.op("Relu", g.op("Add", x, y))
            width = 4 * middle
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return g.dense(x, 2048, 1000), {"image": np.zeros((batch, 3, 224, 224), np.float32)}


def onnx_call(name: str) -> Callable[[], Any]:
    from onnx import TensorProto, helper

    build, batch = {"bert_base_8": (onnx_bert, 8), "resnet50": (onnx_resnet50, 1)}[name]
    g = Graph()
    out, inputs = build(g, batch)
    of = {np.dtype(np.int64): TensorProto.INT64, np.dtype(np.float32): TensorProto.FLOAT}
    given = [helper.make_tensor_value_info(n, of[x.dtype], x.shape) for n, x in inputs.items()]
    result = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
    graph = helper.make_graph(g.nodes, name, given, [result], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    session = one_thread(model.SerializeToString())
    return lambda: session.run(None, inputs)


def one_thread(model: bytes | str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def jax_call(name: str) -> Callable[[], Any]:
    net = NETWORKS[name](False)
    weights, inputs = jax.tree.map(jnp.asarray, (net.weights, net.inputs))
    fn = jax.jit(net.fn)
    return lambda: jax.block_until_ready(fn(weights, *inputs))


def file_call(data: Path) -> Callable[[], Any]:
    session = one_thread(str(data / "model.onnx"))
    inputs = {x.name: np.load(data / f"in{i}.npy") for i, x in enumerate(session.get_inputs())}
    return lambda: session.run(None, inputs)


@functools.lru_cache(1)  # who asks compares the same network several times
def call_of(name: str, *data: str) -> Callable[[], Any]:
    return file_call(Path(*data)) if data else jax_call(name)


def serve() -> None:
    for line in sys.stdin:
        name, seconds, *data = line.split()
        try:
            measure("onnxruntime" if data else "jax", call_of(name, *data), float(seconds))
        except Exception as error:  # whatever a library raises: the next network may do better
            print(f"failed {error}".replace("\n", " ") + "\nfailed-clock", flush=True)


def main() -> None:
    if len(sys.argv) == 1:
        serve()
        return
    name, seconds = sys.argv[1], float((sys.argv[2:] or ["5"])[0])
    measure("jax", jax_call(name), seconds)
    try:
        call = onnx_call(name)
    except ImportError as error:
        print(f"reference.py: {error}", file=sys.stderr)
        return
    measure("onnxruntime", call, seconds)


if __name__ == "__main__":
    main()
