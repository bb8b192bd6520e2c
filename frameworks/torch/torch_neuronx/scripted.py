# SPDX-License-Identifier: MIT
"""A graph of ATen operators and of modules that TorchScript has already, written as TorchScript: what data say (sizes, numbers) stays so."""

import math
import operator
from collections.abc import Iterator

import torch
from torch import Tensor, fx

from .artifact import DYNAMIC_BATCH

OPERATIONS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%", operator.truediv: "/", operator.eq: "==",
              operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}  # of sizes
# as often as a batch takes, the last time with zeros beside what there is
BATCHES = """
def batches(self, inputs: List[Tensor]) -> List[Tensor]:
    size = inputs[0].size(0)
    for value in inputs:
        if value.size(0) != size or size == 0:
            raise ValueError("dynamic_batch: the first dimensions of all inputs have to be alike, and not 0")
    parts: List[List[Tensor]] = []
    for start in range(0, size, {each}):
        some: List[Tensor] = []
        for value in inputs:
            part = value[start:start + {each}]
            some.append(torch.cat([part, torch.zeros([{each} - part.size(0)] + part.shape[1:], dtype=part.dtype)]))
        parts.append(self.whole(some))
    return [torch.cat([part[number] for part in parts])[:size] for number in range(len(parts[0]))]
"""
NO_BATCHES = """
def batches(self, inputs: List[Tensor]) -> List[Tensor]:
    raise ValueError("dynamic_batch: the first dimensions of all inputs and results have to be alike; they are {each} in the trace")
    return inputs
"""
NUMBERS = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}


def has(target: object) -> bool:
    """Whether a call of this can be written"""
    return isinstance(target, torch._ops.OpOverload) or target is operator.getitem or target in OPERATIONS


def annotation(value: object) -> str:
    """The type of an example input"""
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, tuple) and value:
        return f"Tuple[{', '.join(map(annotation, value))}]"
    kinds = set(map(annotation, value.values() if isinstance(value, dict) else value)) if isinstance(value, (dict, list)) else set()
    if len(kinds) != 1 or isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        raise TypeError(f"an input is {type(value).__name__} {value!r:.60}: tensors, tuples, lists of one type and dicts of one by strings can be")
    return f"Dict[str, {kinds.pop()}]" if isinstance(value, dict) else f"List[{kinds.pop()}]"


def leaves(value: object, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors in an example input, and how they are reached from its name"""
    if isinstance(value, Tensor):
        yield name, value
    else:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{name}[{key!r}]")


def arranged(structure: object, results: list[str]) -> str:
    if isinstance(structure, dict):
        return f"{{{', '.join(f'{key!r}: {arranged(value, results)}' for key, value in structure.items())}}}"
    if isinstance(structure, tuple):
        return f"({''.join(f'{arranged(value, results)}, ' for value in structure)})"
    return results[structure]


def _literal(value: object, kind: str) -> str:
    """An argument of a type, as schemas name it"""
    kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional[") else kind
    if isinstance(value, fx.Node):
        return value.name
    if isinstance(value, (list, tuple)):
        return f"torch.jit.annotate({kind}, [{', '.join(_literal(item, kind[len('List['):-1]) for item in value)}])"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and (kind == "float" or isinstance(value, float)):
        return repr(float(value)) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    raise ValueError(f"{value!r} is nothing that TorchScript can be told")


def _called(node: fx.Node) -> str:
    """An operator with its arguments"""
    target, schema = node.target, node.target._schema
    if target is torch.ops.aten.sym_size.int:
        return f"{node.args[0].name}.size({node.args[1]})"
    kinds = {argument.name: argument.type.annotation_str for argument in schema.arguments}
    given = [_literal(value, kind) for value, kind in zip(node.args, kinds.values(), strict=False)]
    given += [f"{name}={_literal(value, kinds[name])}" for name, value in node.kwargs.items()]
    call = f"torch.ops.{schema.name.replace('::', '.')}({', '.join(given)})"
    number = NUMBERS.get(type(node.meta.get("val")))
    return f"{number}({call})" if number else call


def _line(node: fx.Node, weights: list[fx.Node]) -> str:
    """A node's statement"""
    if node.op == "get_attr":
        return f"{node.name} = self.weight{weights.index(node)}"
    if node.op == "call_module":
        return f"{node.name} = self.{node.target}({', '.join(argument.name for argument in node.args)})"
    if node.target is operator.getitem:
        return f"{node.name} = {node.args[0].name}[{node.args[1]}]"
    if node.target in OPERATIONS:
        left, right = (_literal(value, "") for value in node.args)
        return f"{node.name} = {left} {OPERATIONS[node.target]} {right}"
    return f"{node.name} = {_called(node)}"


def _whole(graph: fx.Graph, examples: list[Tensor], weights: list[fx.Node]) -> str:
    """The way from a list of the inputs to one of the results"""
    lines = ["def whole(self, inputs: List[Tensor]) -> List[Tensor]:"]
    for number, (node, example) in enumerate(zip(graph.find_nodes(op="placeholder"), examples, strict=True)):
        kind = f"{str(example.dtype).removeprefix('torch.')}{list(example.shape)}"
        lines += [f"{node.name} = inputs[{number}]",
                  f"if {node.name}.dtype != {example.dtype} or {node.name}.shape != {_literal(list(example.shape), 'List[int]')}:",
                  f"    raise ValueError('input {number} is of the shape ' + str({node.name}.shape) + ' and has to be {kind}')"]
    lines += [_line(node, weights) for node in graph.nodes if node.op not in ("placeholder", "output")]
    results = ", ".join(node.name for node in graph.output_node().args[0])
    return "\n    ".join([*lines, f"return [{results}]"]) + "\n"


def sources(graph: fx.Graph, inputs: tuple, structure: object, results: list[Tensor], weights: list[fx.Node]) -> list[str]:
    """The methods of a module, of which the last is forward(); it has the weights as weight0, ..., and `settings`"""
    names = [f"argument{number}" for number in range(len(inputs))]
    reached = [leaf for name, value in zip(names, inputs, strict=True) for leaf in leaves(value, name)]
    examples = [example for _, example in reached]
    sizes = sorted({value.shape[0] if value.dim() else 0 for value in (*examples, *results)})
    batches = BATCHES if len(sizes) == 1 and sizes[0] else NO_BATCHES
    typed = [f"{name}: {annotation(value)}" for name, value in zip(names, inputs, strict=True)]
    forward = [f"def forward(self, {', '.join(typed)}):",
               f"inputs = [{', '.join(name for name, _ in reached)}]",
               f"results = self.batches(inputs) if int(self.settings[{DYNAMIC_BATCH}]) else self.whole(inputs)",
               f"return {arranged(structure, [f'results[{number}]' for number in range(len(results))])}"]
    return [_whole(graph, examples, weights), batches.format(each=sizes[0] if batches is BATCHES else sizes), "\n    ".join(forward) + "\n"]
