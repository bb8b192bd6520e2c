# SPDX-License-Identifier: MIT
"""Graphs of ATen operators to StableHLO's text, by torch-mlir, and what it has to be spared.

torch-mlir is the library that is kept for newer releases of torch (its monthly wheels need no certain one); torchax ends at torch 2.13 and wants JAX.
"""

import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Callable

import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import layouts, mlir_passes

aten = torch.ops.aten

INDEXED = (aten.index, aten._unsafe_index, aten.index_put, aten._index_put_impl, aten._unsafe_index_put)
LIKE = {aten.rand_like: torch.rand, aten.randn_like: torch.randn}


PATIENCE = 60  # seconds that passes may take, and one more for each 10,000 characters


class Unsupported(RuntimeError):
    """An operator of a graph cannot be lowered"""


def _draw(node: fx.Node) -> Callable[[], Tensor]:
    """What draws a node's random numbers, of torch's generator: they depend on nothing that the program computes"""
    value = node.meta["val"]
    if like := LIKE.get(node.target.overloadpacket):
        return lambda: like(value.shape, dtype=value.dtype)
    if node.all_input_nodes:
        raise Unsupported(f"random numbers of what the program computes: {node.target}")
    return lambda: node.target(*node.args, **node.kwargs)


def _drawn_by_host(graph: fx.Graph) -> list[Callable[[], Tensor]]:
    """Makes inputs, behind the others, of the random numbers in a graph; gives what draws them, in the graph's order"""
    draws: list[Callable[[], Tensor]] = []
    last = next((node for node in reversed(graph.nodes) if node.op == "placeholder"), None)
    for node in list(graph.nodes):
        if node.op != "call_function" or torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
            continue
        draws.append(_draw(node))
        with graph.inserting_after(last) if last else graph.inserting_before(next(iter(graph.nodes))):
            last = graph.placeholder(f"drawn{len(draws)}")
        last.meta = dict(node.meta)
        node.replace_all_uses_with(last)
        graph.erase_node(node)
    return draws


def _placed_on_host(graph: fx.Graph) -> None:
    """A program has one device, of which torch-mlir knows no name."""
    def host(value: object) -> object:
        return torch.device("cpu") if isinstance(value, torch.device) else value

    for node in graph.nodes:
        if any(isinstance(value, torch.device) for value in (*node.args, *node.kwargs.values())):
            node.args, node.kwargs = tuple(map(host, node.args)), {name: host(value) for name, value in node.kwargs.items()}


def _counted_from_the_start(graph: fx.Graph) -> None:
    """Indices below 0 count from the end; StableHLO takes them for 0, or leaves them out."""
    for node in list(graph.nodes):
        if node.op != "call_function" or getattr(node.target, "overloadpacket", None) not in INDEXED:
            continue
        sizes, indices = node.args[0].meta["val"].shape, list(node.args[1])
        with graph.inserting_before(node):
            for dim, index in enumerate(indices):
                if isinstance(index, fx.Node) and index.meta["val"].dtype in (torch.int64, torch.int32, torch.int16, torch.int8):
                    below, later = layouts.call(graph, aten.lt.Scalar, index, 0), layouts.call(graph, aten.add.Tensor, index, sizes[dim])
                    indices[dim] = layouts.call(graph, aten.where.self, below, later, index)
        node.args = (node.args[0], indices, *node.args[2:])


def _equal_to_themselves(graph: fx.Graph) -> None:
    """torch-mlir takes x == x for true, which of a NaN it is not."""
    for node in graph.find_nodes(op="call_function", target=aten.eq.Tensor):
        if node.args[0] is node.args[1]:
            node.target = aten.ge.Tensor


class Lowered:
    """A graph as StableHLO, whose inputs and outputs lie as tensors do in memory (layouts.py).

    inputs, outputs: examples of the graph's. results: for each of the graph's the number of an output, an example of what has no elements, or None.
    draws: what gives the last inputs.
    """

    def __init__(self, module: fx.GraphModule) -> None:
        graph = fx.Graph()
        graph.output(graph.graph_copy(module.graph, {}))
        self.draws = _drawn_by_host(graph)
        _placed_on_host(graph)
        _counted_from_the_start(graph)
        _equal_to_themselves(graph)
        last = next(iter(reversed(graph.nodes)))
        values = last.args[0] if isinstance(last.args[0], (tuple, list)) else (last.args[0],)
        computed: dict[fx.Node, int] = {}
        self.results: list[int | Tensor | None] = []
        for value in values:
            example = value.meta.get("val") if isinstance(value, fx.Node) else None
            if isinstance(value, fx.Node) and not isinstance(example, Tensor):
                raise Unsupported(f"a result of the graph is {example!r}: shapes have to be constant (dynamic=False)")
            if example is None or not example.numel():
                self.results.append(example)
            else:
                self.results.append(computed.setdefault(value, len(computed)))
        graph.erase_node(last)
        self.outputs: list[Tensor] = [node.meta["val"] for node in computed]
        upper: dict[fx.Node, fx.Node | None] = {}
        graph.output(tuple(layouts.left(graph, node, upper) for node in computed))
        graph.eliminate_dead_code()
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        self.inputs = [node.meta["val"] for node in placeholders]
        for value in (*self.inputs, *self.outputs):
            if value.dtype in layouts.REFUSED:
                raise Unsupported(f"the chips have no {layouts.REFUSED[value.dtype]} ({value.dtype})")
        with graph.inserting_before(next(node for node in graph.nodes if node.op != "placeholder")):
            for node in placeholders:
                layouts.entered(graph, node)
        with unset_fake_temporarily():  # constants are read
            self.text = _text(_with_host_constants(fx.GraphModule(module, graph))) if computed else ""

    def record(self) -> dict | None:
        """What Kept takes; None: it draws random numbers"""
        if self.draws:
            return None
        return {"text": self.text, "inputs": list(map(_described, self.inputs)), "outputs": list(map(_described, self.outputs)),
                "results": [_described(what) if isinstance(what, Tensor) else what for what in self.results]}


class Kept:
    """The same of a record"""

    def __init__(self, record: dict) -> None:
        self.text: str = record["text"]
        self.inputs, self.outputs = ([_example(*how) for how in record[which]] for which in ("inputs", "outputs"))
        self.results = [_example(*what) if isinstance(what, list) else what for what in record["results"]]
        self.draws: list[Callable[[], Tensor]] = []


def _described(value: Tensor) -> tuple[list[int], list[int], str]:
    return list(value.shape), list(value.stride()), str(value.dtype).removeprefix("torch.")


def _example(size: list[int], stride: list[int], dtype: str) -> Tensor:
    return torch.empty_strided(size, stride, dtype=getattr(torch, dtype), device="meta")


def _with_host_constants(module: fx.GraphModule) -> fx.GraphModule:
    for node in module.graph.find_nodes(op="get_attr"):
        value = getattr(module, node.target, None)
        if isinstance(value, Tensor) and value.device.type == "neuron":
            setattr(module, node.target, value.detach().cpu())
    return module


class _Passes:
    """The process that has torch-mlir's passes, once it is needed"""

    def __init__(self) -> None:
        self.lock, self.process, self.owner = threading.Lock(), None, 0

    def __call__(self, text: str) -> tuple[bool, str]:
        with self.lock:
            if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
                self.process, self.owner = subprocess.Popen([sys.executable, mlir_passes.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE), os.getpid()
            try:
                mlir_passes.send(self.process.stdin, True, text)
                seconds = PATIENCE + len(text) / 10_000
                if not select.select([self.process.stdout], [], [], seconds)[0]:
                    self._end()
                    return False, f"its passes did not end within {seconds:.0f} s"
                answer = mlir_passes.receive(self.process.stdout)
            except BrokenPipeError:
                answer = None
            except BaseException:  # an answer that nobody waits for must not become the next one's
                self._end()
                raise
            if answer is None:
                return False, f"its passes ended with {self._end()}"
            return answer

    def _end(self) -> int:
        process, self.process = self.process, None
        process.kill()  # of no effect if it has ended
        process.stdout.close()
        return process.wait()


_passes = _Passes()


def _text(module: fx.GraphModule) -> str:
    try:
        from torch_mlir import ir
        from torch_mlir.dialects import torch as dialect
        from torch_mlir.extras.fx_importer import FxImporter
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError('graphs for the device "neuron" are lowered by torch-mlir, which is not installed here', name=missing.name) from missing

    context = ir.Context()
    dialect.register_dialect(context)
    importer = FxImporter(context=context)
    try:
        importer.import_stateless_graph(module.graph, func_name="main")
        good, text = _passes(str(importer.module))
    except NotImplementedError as error:
        good, text = False, str(error)
    if not good:
        raise Unsupported(f"torch-mlir cannot lower {_operator(text) or 'the graph'}: {text[:600]}")
    return text


def _operator(words: str) -> str:
    """The operator that torch-mlir's words name: torch.aten.x, as an operation or as the name of one that it does not know"""
    found = re.search(r"torch\.aten\.(\w+)", words)
    return f"aten::{found.group(1)}" if found else ""
