# SPDX-License-Identifier: MIT
"""analyze(): which operators of a model are compiled, and which are not"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, fx, nn
from torch.utils import _pytree as pytree

from libneuronxla.version import VERSION

from . import tracing


def kind(node: fx.Node) -> str:
    """The name of a node's operator, as "aten::x" is one"""
    return str(node.target).replace(".", "::", 1).rpartition(".")[0] or str(node.target)


def exported(model: nn.Module, inputs: tuple) -> torch.export.ExportedProgram:
    """The model's graph of ATen operators that change nothing in place, with all results in a tuple"""
    return torch.export.export(tracing.Flat(model), inputs, strict=False).run_decompositions({})


def is_operator(node: fx.Node) -> bool:
    """Whether it computes tensors"""
    return node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and any(
        isinstance(value, Tensor) for value in pytree.tree_leaves(node.meta.get("val")))


def operators(graph: fx.Graph) -> list[fx.Node]:
    return [node for node in graph.nodes if is_operator(node)]


def _value(argument: object) -> object:
    """A node's value, as an example: indices are 0, and fit everywhere; a size that only the data say is 1"""
    value = argument.meta["val"] if isinstance(argument, fx.Node) else argument
    return torch.zeros([size if isinstance(size, int) else 1 for size in value.shape], dtype=value.dtype) if isinstance(value, Tensor) else value


class _One(nn.Module):
    """An operator by itself, whose inputs are the tensors among its arguments"""

    def __init__(self, node: fx.Node) -> None:
        super().__init__()
        self.target, self.args, self.kwargs = node.target, node.args, node.kwargs
        self.nodes = list(dict.fromkeys(node.all_input_nodes))

    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(_value(node) for node in self.nodes)

    def forward(self, *inputs: Tensor) -> object:
        values = dict(zip(self.nodes, inputs, strict=True))
        args, kwargs = (fx.node.map_arg(given, values.__getitem__) for given in (self.args, self.kwargs))
        return self.target(*args, **kwargs)


def _told(node: fx.Node, step: str, error: Exception) -> dict:
    """Why an operator by itself is not compiled, and where it is in the model"""
    frames = (node.stack_trace or "").strip().splitlines()
    return {"kind": kind(node), "failureAt": step, "call": frames[-1].strip() if frames else "", "opGraph": node.format_node() or str(node), "message": str(error)}


def failures(nodes: list[fx.Node], arguments: list[str], workers: int) -> dict[fx.Node, dict]:
    """Why operators by themselves are not compiled, tried once with the same shapes. torch.export takes one at a time, neuronx-cc several."""
    alike: dict[tuple, list[fx.Node]] = {}
    for node in nodes:
        arguments_of = fx.node.map_arg((node.args, node.kwargs), lambda one: str(one.meta["val"]))
        alike.setdefault((node.target, str(arguments_of)), []).append(node)
    refused: dict[fx.Node, dict] = {}
    with ThreadPoolExecutor(workers) as pool:
        compiling = {}
        for node, *_ in alike.values():
            one = _One(node)
            try:
                compiling[node] = pool.submit(tracing.compile_module, tracing.lowered(one, one.inputs())[0], arguments)
            except Exception as error:  # noqa: BLE001, whatever libraries of others raise
                refused[node] = _told(node, "Lowering to HLO", error)
        for node, compiled in compiling.items():
            if error := compiled.exception():
                refused[node] = _told(node, "neuronx-cc", error)
    return {node: refused[some[0]] for some in alike.values() if some[0] in refused for node in some}


def unsupported(model: nn.Module, inputs: tuple, nodes: list[fx.Node], arguments: list[str], ignored: set[str], workers: int) -> dict[fx.Node, dict]:
    """The failures of a prepared model's operators; of those that are ignored there are none, nor of a model that is compiled as a whole"""
    try:
        tracing.compile_module(tracing.lowered(model, inputs)[0], arguments)
        return {}
    except (ModuleNotFoundError, FileNotFoundError):  # nothing is compiled at all here
        raise
    except Exception:  # noqa: BLE001, whatever libraries of others raise
        return failures([node for node in nodes if kind(node) not in ignored], arguments, workers)


def analyze(func: nn.Module | Callable, example_inputs: Tensor | tuple | list | dict, compiler_workdir: str | None = None,
            additional_ignored_ops: set[str] | None = None, max_workers: int = 4, is_hf_transformers: bool = False, cleanup: bool = False) -> dict:
    """Which operators of the model, as torch.export has them, torch_neuronx.trace can compile.

    The whole is compiled first; if that fails, each kind of operator with its shapes by itself. additional_ignored_ops ("aten::x") count as supported.
    The result: torch_neuronx_version, neuronx_cc_version, support_percentage ("100.00%"), supported_operators {"aten::x": number},
    unsupported_operators, a dict each (kind, failureAt, call, opGraph, message). compiler_workdir, is_hf_transformers and cleanup have no effect.
    """
    model, inputs = tracing.prepared(func, example_inputs)
    arguments = tracing.compiled_for([])
    with tracing.evaluating(model):
        nodes = operators(exported(model, inputs).graph)
        refused = unsupported(model, inputs, nodes, arguments, additional_ignored_ops or set(), max_workers)
    counts, kinds = Counter(map(kind, nodes)), {failure["kind"] for failure in refused.values()}
    supported = {name: count for name, count in counts.items() if name not in kinds}
    share = 100 * sum(supported.values()) / max(1, sum(counts.values()))
    return {"torch_neuronx_version": VERSION, "neuronx_cc_version": VERSION, "support_percentage": f"{share:.2f}%", "supported_operators": supported,
            "unsupported_operators": list({id(failure): failure for failure in refused.values()}.values())}
