# SPDX-License-Identifier: MIT
"""trace() in parts: operators that are not compiled, or are not to be, stay on the CPU between NEFFs, all in one TorchScript module."""

import json
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions
from torch.utils import _pytree as pytree

from . import analysis, scripted, tracing

aten = torch.ops.aten
ASSERTIONS = (aten._assert_tensor_metadata.default, aten._assert_scalar.default, aten.sym_constrain_range.default, aten.sym_constrain_range_for_size.default)
OF_TRACE = ("compiler_args", "compiler_workdir", "inline_weights_to_neff", "cpu_backend")
OF_ANALYZE = ("additional_ignored_ops", "max_workers", "compiler_workdir")


def _keys(given: Mapping | None, known: Sequence[str], name: str) -> dict:
    if given is not None and (not isinstance(given, Mapping) or not given.keys() <= set(known)):
        what = sorted(given.keys() - set(known)) if isinstance(given, Mapping) else type(given).__name__
        raise ValueError(f"PartitionerConfig: {name} is a dict with {', '.join(known)}, not {what}")
    return dict(given or {})


def _kinds(given: object, name: str) -> set[str]:
    kinds = set() if given is None else {given} if isinstance(given, str) else set(given)
    if wrong := [kind for kind in kinds if not isinstance(kind, str) or "::" not in kind]:
        raise ValueError(f"PartitionerConfig: {name} has names as aten::sort is one, not {wrong[0]!r}")
    return kinds


class PartitionerConfig:
    """How trace(partitioner_config=) divides a model. What of it a model breaks is a ValueError of trace().

    trace_kwargs: of trace() for each NEFF (compiler_args, compiler_workdir, inline_weights_to_neff, cpu_backend). model_support_percentage_threshold: the
    part of the operators that has to be in NEFFs. min_subgraph_size: of operators in each of these, max_subgraph_count: of NEFFs; -1: any.
    ops_to_partition: operators ("aten::sort", as analyze() names them) that stay on the CPU. analyze_parameters: additional_ignored_ops, which are taken
    to be compiled, and max_workers.
    """

    def __init__(self, *, trace_kwargs: dict | None = None, model_support_percentage_threshold: float = 0.5, min_subgraph_size: int = -1,
                 max_subgraph_count: int = -1, ops_to_partition: set[str] | None = None, analyze_parameters: dict | None = None) -> None:
        self.trace_kwargs = _keys(trace_kwargs, OF_TRACE, "trace_kwargs")
        self.analyze_parameters = _keys(analyze_parameters, OF_ANALYZE, "analyze_parameters")
        self.ops_to_partition = _kinds(ops_to_partition, "ops_to_partition")
        self.ignored = _kinds(self.analyze_parameters.get("additional_ignored_ops"), "additional_ignored_ops")
        if isinstance(model_support_percentage_threshold, bool) or not isinstance(model_support_percentage_threshold, (int, float)) \
                or not 0 <= model_support_percentage_threshold <= 1:
            raise ValueError(f"PartitionerConfig: model_support_percentage_threshold is from 0 to 1, not {model_support_percentage_threshold!r}")
        for name, value in (("min_subgraph_size", min_subgraph_size), ("max_subgraph_count", max_subgraph_count)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1 and value != -1:
                raise ValueError(f"PartitionerConfig: {name} is from 1 on, or -1, not {value!r}")
        self.model_support_percentage_threshold = model_support_percentage_threshold
        self.min_subgraph_size, self.max_subgraph_count = min_subgraph_size, max_subgraph_count

    def check(self, sizes: Sequence[int], whole: int, on_cpu: Mapping[str, str]) -> None:
        """ValueError: the NEFFs are not as they have to be. sizes: how many of the whole number of operators each has; on_cpu: what none has, and why"""
        rest = ", ".join(f"{kind} ({why})" if why else kind for kind, why in sorted(on_cpu.items()))
        there = f"{sum(sizes)} of {whole} operators are in NEFFs of {', '.join(map(str, sizes)) or 'none'}; the CPU has {rest or 'none'}"
        if sum(sizes) < whole * self.model_support_percentage_threshold:
            raise ValueError(f"PartitionerConfig: {sum(sizes) / whole:.2%} of the operators are compiled, "
                             f"model_support_percentage_threshold is {self.model_support_percentage_threshold:.2%}: {there}")
        if not sizes:
            raise ValueError(f"PartitionerConfig: nothing is left to compile: {there}")
        if self.min_subgraph_size > min(sizes):
            raise ValueError(f"PartitionerConfig: the smallest NEFF has {min(sizes)} operators, min_subgraph_size is {self.min_subgraph_size}: {there}")
        if -1 < self.max_subgraph_count < len(sizes):
            raise ValueError(f"PartitionerConfig: there are {len(sizes)} NEFFs, max_subgraph_count is {self.max_subgraph_count}: {there}")


def _fixed(node: fx.Node) -> bool:
    """Whether its tensors, and those that it is made of, have shapes that no data say"""
    values = pytree.tree_leaves([node.meta["val"], *(other.meta.get("val") for other in node.all_input_nodes)])
    return all(isinstance(value, Tensor) and all(isinstance(size, int) for size in value.shape) for value in values if value is not None)


class _Compiled(OperatorSupportBase):
    """Which nodes can be in a NEFF"""

    def __init__(self, on_cpu: set[fx.Node]) -> None:
        self.on_cpu = on_cpu

    def is_node_supported(self, _: Mapping[str, nn.Module], node: fx.Node) -> bool:
        node = node.args[0] if node.target is operator.getitem else node
        return analysis.is_operator(node) and node not in self.on_cpu and _fixed(node)


def _computes(node: fx.Node) -> bool:
    """Whether an operator is worth a NEFF of its own: views, copies and constants are not"""
    if not analysis.is_operator(node) or not node.all_input_nodes:
        return False
    return not any(result.alias_info for result in node.target._schema.returns) and node.target not in (aten.clone.default, aten._to_copy.default)


def _divided(graph_module: fx.GraphModule, on_cpu: set[fx.Node]) -> list[Partition]:
    """ValueError: something is neither an operator nor about sizes (torch.cond)"""
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and not scripted.has(node.target):
            raise ValueError(f"partitioner_config: {node.target} is no operator that can stand between NEFFs")
    partitions = CapabilityBasedPartitioner(graph_module, _Compiled(on_cpu), allows_single_node_partition=True).propose_partitions()
    return [partition for partition in partitions if any(map(_computes, partition.nodes))]


def _keep_weights(graph_module: fx.GraphModule, call: fx.Node, prefix: int, saved: set[str]) -> tuple[nn.Module, list[fx.Node]]:
    """A part, which has the model's weights that it alone was handed by the rest, by their names in the model; and what else it is handed"""
    part = graph_module.get_submodule(call.target)
    inputs = []
    for placeholder, given in zip(part.graph.find_nodes(op="placeholder"), call.args, strict=True):
        if given.op != "get_attr":
            inputs.append(given)
            continue
        path, _, name = given.target[prefix:].rpartition(".")
        owner = part
        for step in path.split(".") if path else ():
            if not hasattr(owner, step):
                owner.add_module(step, nn.Module())
            owner = getattr(owner, step)
        if not hasattr(owner, name):
            value = operator.attrgetter(given.target)(graph_module)
            owner.register_buffer(name, value.detach(), persistent=given.target[prefix:] in saved)
        with part.graph.inserting_before(placeholder):
            placeholder.replace_all_uses_with(part.graph.get_attr(given.target[prefix:]))
        part.graph.erase_node(placeholder)
    part.recompile()
    return part, inputs


class _Values(fx.Interpreter):
    """What each node has been given, of an execution on the CPU"""

    def __init__(self, graph_module: fx.GraphModule) -> None:
        super().__init__(graph_module)
        self.of: dict[fx.Node, object] = {}

    def run_node(self, node: fx.Node) -> object:
        self.of[node] = super().run_node(node)
        return self.of[node]


class _Partitioned(nn.Module):
    """Weights of what stays on the CPU, beside the traces"""

    def __init__(self, traces: Mapping[str, nn.Module], weights: Sequence[Tensor], sources: dict) -> None:
        super().__init__()
        for name, trace in traces.items():
            self.add_module(name, trace)
        for number, value in enumerate(weights):
            self.register_buffer(f"weight{number}", value.detach().clone())
        self.register_buffer("settings", torch.zeros(8, dtype=torch.int64))
        self.register_buffer("sources", torch.frombuffer(bytearray(json.dumps(sources).encode()), dtype=torch.uint8))


def _graph_module(model: nn.Module, inputs: tuple) -> fx.GraphModule:
    program = analysis.exported(model, inputs)
    if changed := program.graph_signature.buffers_to_mutate:
        raise ValueError(f"partitioner_config: the model changes {', '.join(map(str, changed.values()))}, which a trace in parts would not keep")
    graph_module = program.module(check_guards=False)
    for node in [node for node in graph_module.graph.nodes if node.target in ASSERTIONS]:
        graph_module.graph.erase_node(node)
    graph_module.graph.eliminate_dead_code()
    return graph_module


def _part_kwargs(kwargs: dict, name: str) -> dict:
    workdir = kwargs["compiler_workdir"]
    return {**kwargs, "compiler_workdir": str(Path(workdir) / name) if workdir else None}


def _traced(graph_module: fx.GraphModule, inputs: tuple, outputs: object, prefix: int, saved: set[str], kwargs: dict) -> torch.jit.ScriptModule:
    """The module of a graph whose parts are call_module nodes"""
    values = _Values(graph_module)
    values.run(*pytree.tree_leaves(inputs))
    traces = {}
    for call in graph_module.graph.find_nodes(op="call_module"):
        part, call.args = _keep_weights(graph_module, call, prefix, saved)
        traces[call.target] = tracing.trace(part, tuple(values.of[given] for given in call.args), **_part_kwargs(kwargs, call.target))
    graph_module.graph.eliminate_dead_code()
    weights = graph_module.graph.find_nodes(op="get_attr")
    names = [node.target[prefix:] for node in weights]
    sources = {"weights": [name if name in saved else "" for name in names], "apart": kwargs["inline_weights_to_neff"] is False}
    module = torch.jit.script(_Partitioned(traces, [operator.attrgetter(node.target)(graph_module) for node in weights], sources))
    for source in scripted.sources(graph_module.graph, inputs, *tracing.structure(outputs), weights):
        module.define(source)
    return module


def partitioned(func: nn.Module | Callable, example_inputs: Tensor | tuple | list | dict, config: object, given: dict) -> torch.jit.ScriptModule:
    """trace() in parts, or of the whole if all is compiled and nothing is to stay on the CPU. given: trace()'s other arguments"""
    if not isinstance(config, PartitionerConfig):
        raise TypeError(f"partitioner_config is a torch_neuronx.PartitionerConfig, not {type(config).__name__}")
    kwargs = {**given, **config.trace_kwargs}
    if kwargs.pop("input_output_aliases"):
        raise ValueError("partitioner_config: a trace in parts has no states (input_output_aliases)")
    model, inputs = tracing.prepared(func, example_inputs)
    with tracing.evaluating(model):
        graph_module = _graph_module(model, inputs)
        nodes = analysis.operators(graph_module.graph)
        kinds = set(map(analysis.kind, nodes))
        if absent := config.ops_to_partition - kinds:
            warnings.warn(f"ops_to_partition: {', '.join(sorted(absent))} is not in the model, which has {', '.join(sorted(kinds))}", stacklevel=3)
        on_cpu = {node for node in nodes if analysis.kind(node) in config.ops_to_partition}
        if not on_cpu:
            config.check([len(nodes)], len(nodes), {})
            try:
                return tracing.trace(func, example_inputs, **kwargs)
            except (ModuleNotFoundError, FileNotFoundError):  # nothing is compiled at all here
                raise
            except Exception:  # noqa: BLE001, whatever libraries of others raise
                pass
        wanted = [node for node in nodes if node not in on_cpu and _fixed(node)]
        arguments, workers = tracing.compiled_for(kwargs["compiler_args"]), config.analyze_parameters.get("max_workers", 4)
        failures = analysis.unsupported(model, inputs, wanted, arguments, config.ignored, workers)
        on_cpu |= failures.keys()
        partitions = _divided(graph_module, on_cpu)
        compiled = {node for partition in partitions for node in partition.nodes}
        sizes = [sum(map(analysis.is_operator, partition.nodes)) for partition in partitions]
        config.check(sizes, len(nodes), {analysis.kind(node): failures.get(node, {}).get("message", "")[:200] for node in nodes if node not in compiled})
        fuse_by_partitions(graph_module, [partition.nodes for partition in partitions], prefix="neuron")
        saved = set(func.state_dict()) if isinstance(func, nn.Module) else set()
        return _traced(graph_module, inputs, model(*inputs), tracing.depth(model), saved, kwargs)
