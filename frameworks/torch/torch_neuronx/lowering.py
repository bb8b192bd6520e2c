# SPDX-License-Identifier: MIT
"""Graphs of ATen operators to StableHLO's text, by torch-mlir, and what it has to be spared.

torch-mlir is the library that is kept for newer releases of torch (its monthly wheels need no certain one); torchax ends at torch 2.13 and wants JAX.
"""

import re
from collections.abc import Callable

import torch
from torch import Tensor, fx

aten = torch.ops.aten

LIKE = {aten.rand_like: torch.rand, aten.randn_like: torch.randn}


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


class Lowered:
    """A graph as StableHLO.

    inputs, outputs: examples of the program's. results: for each of the graph's the number of an output, an example of what has no elements, or None.
    """

    def __init__(self, module: fx.GraphModule) -> None:
        graph = fx.Graph()
        graph.output(graph.graph_copy(module.graph, {}))
        self.draws = _drawn_by_host(graph)
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
        graph.output(tuple(computed))
        graph.eliminate_dead_code()
        self.outputs: list[Tensor] = [node.meta["val"] for node in computed]
        self.inputs = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"]
        self.text = _text(fx.GraphModule(module, graph)) if computed else ""


def _text(module: fx.GraphModule) -> str:
    try:
        from torch_mlir import fx as mlir
        from torch_mlir import ir
        from torch_mlir.dialects import torch as dialect
        from torch_mlir.extras.fx_importer import FxImporter
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError('torch.compile(backend="neuron") lowers graphs by torch-mlir, which is not installed here', name=missing.name) from missing

    said: list[str] = []
    context = ir.Context()
    dialect.register_dialect(context)
    context.attach_diagnostic_handler(lambda diagnostic: bool(said.append(str(diagnostic.message)) or True))
    try:
        return str(mlir.stateless_fx_import(module, output_type="stablehlo", model_name="main", fx_importer=FxImporter(context=context)))
    except Exception as error:
        words = "; ".join(said) or str(error).strip()
        raise Unsupported(f"torch-mlir cannot lower {_operator(words) or 'the graph'}: {words[:600]}") from error


def _operator(words: str) -> str:
    """The operator that torch-mlir's words name: torch.aten.x, as an operation or as the name of one that it does not know"""
    found = re.search(r"torch\.aten\.(\w+)", words)
    return f"aten::{found.group(1)}" if found else ""
