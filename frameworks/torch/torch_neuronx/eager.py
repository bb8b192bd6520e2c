# SPDX-License-Identifier: MIT
"""Operators on the device "neuron", one by one: each is compiled for its types and shapes once, and runs on the core where its tensors are.

What cannot be compiled the host computes, in the device's memory, which it sees; get_fallback_ops() has what that was.
"""

import collections
import concurrent.futures
import functools
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, fx
from torch.utils import _pytree as pytree

from . import cache, layouts, lowering, memory, optimizers, programs

aten = torch.ops.aten

KEPT = 16384  # operators with their shapes and types
executed: collections.Counter = collections.Counter()  # names of operators that programs computed
fallen_back: collections.Counter = collections.Counter()  # names of those that the host did
_programs: dict[tuple, object] = {}
_lock = threading.RLock()

# what PyTorch's devices take from the CPU although other operands are on the device: indices
_FROM_CPU = {aten.index.Tensor, aten.index.Tensor_out, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}


# Operators whose numbers change from call to call: these are operands of the program, not part of it
_FORMULAS = {
    "aten::add": lambda x, y, *, alpha: x + y * alpha,
    "aten::sub": lambda x, y, *, alpha: x - y * alpha,
    "aten::addcmul": lambda x, a, b, *, value: x + value * a * b,
    "aten::addcdiv": lambda x, a, b, *, value: x + value * a / b,
}
_FORMULAS |= {f"{name}_": formula for name, formula in _FORMULAS.items()} | optimizers.STEPS | optimizers.LISTS
# Operators of which PyTorch refuses that they write where they read, and from which tensor on: of some the first one is what they change
_APART = {**dict.fromkeys(("cat", "gather", "index", "index_select", "masked_select", "take"), 0),
          **dict.fromkeys(("_index_put_impl", "index_add", "index_copy", "index_put", "put", "scatter", "scatter_add", "scatter_reduce"), 1)}
_CHANGING = frozenset(("alpha", "value", "lr"))  # what those numbers are called


class _How(NamedTuple):
    """What an operator does to its arguments"""

    written: tuple[bool, ...]  # by place
    tensors: tuple[bool, ...]  # by place: where PyTorch gives a number for a tensor, the program takes it as an operand
    written_names: frozenset[str]
    out_names: frozenset[str]  # those that are only written
    returned: tuple[tuple[int, str] | None, ...]  # for each result the argument that it is
    drawn: bool


@functools.cache
def _how(op: torch._ops.OpOverload) -> _How:
    arguments = op._schema.arguments
    written = tuple(bool(a.alias_info and a.alias_info.is_write) for a in arguments)
    names = frozenset(a.name for a, w in zip(arguments, written, strict=True) if w)
    out = frozenset(a.name for a in arguments if a.is_out)
    places = {frozenset(a.alias_info.before_set): (i, a.name) for i, a in enumerate(arguments) if a.alias_info and a.alias_info.is_write}
    returned = tuple(places.get(frozenset(r.alias_info.before_set)) if r.alias_info and r.alias_info.is_write else None for r in op._schema.returns)
    tensors = tuple(str(a.type) in ("Tensor", "Optional[Tensor]") for a in arguments)
    return _How(written, tensors, names, out, returned, torch.Tag.nondeterministic_seeded in op.tags)


class _Call:
    """An operator's arguments, told apart: tensors, and what a program is compiled for"""

    __slots__ = ("device", "formula", "key", "leaves", "op", "outs", "written")

    def __init__(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, formula: Callable | None) -> None:
        how, self.formula = _how(op), formula
        self.op, self.key, self.leaves, self.written, self.outs, self.device = op, [op], [], [], [], None
        for place, value in enumerate(args):
            self._add(value, how.written[place], False)
        for name, value in kwargs.items():
            self.key.append(name)
            self._add(value, name in how.written_names, name in how.out_names)

    def _add(self, value: object, written: bool, out: bool) -> None:
        if isinstance(value, Tensor):
            device = value.device
            if device.type != "neuron":
                if device.type != "cpu" or (value.dim() and self.op not in _FROM_CPU) or written:
                    where = self.device or torch.device("neuron")
                    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {where} and {device}! ({self.op.name()})")
                self.key.append((value.dtype, value.shape, value.stride(), "cpu"))
            else:
                if self.device is None:
                    self.device = device
                elif device != self.device:
                    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and {device}! ({self.op.name()})")
                self.key.append((value.dtype, value.shape, value.stride()))
            self.leaves.append(value)
            self.written.append(written)
            self.outs.append(out)
        elif isinstance(value, (list, tuple)):
            self.key.append(len(value))
            for item in value:
                self._add(item, written, out)
        else:
            self.key.append((type(value), value.hex() if isinstance(value, float) else value))  # 0.0 is not -0.0


def _traced(op: torch._ops.OpOverload, args: tuple, kwargs: dict, call: _Call) -> tuple[fx.GraphModule, pytree.TreeSpec, list[bool]]:
    """The operator as a graph that changes nothing: of the tensors that it reads to what those that it writes become, then its results. And how these are
    nested, and which of those that it might write it does."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    places, spec = pytree.tree_flatten((args, kwargs))
    nested: list[pytree.TreeSpec] = []
    left: list[list[bool]] = []

    half = _computed_wider(op, call.leaves)

    def graph(*tensors: Tensor) -> tuple:
        given, written, values = iter(tensors), iter(call.written), []
        becomes = []
        for leaf in places:
            value = torch.device("cpu") if isinstance(leaf, torch.device) else leaf
            if isinstance(leaf, Tensor):
                value = next(given)
                if half and value.dtype == half:
                    value = value.float()
                if next(written):
                    value = value.clone()
                    becomes.append((value, leaf.dtype))
            values.append(value)
        new_args, new_kwargs = pytree.tree_unflatten(values, spec)
        if call.formula and not becomes:
            result = call.formula(*new_args, **new_kwargs)
        elif call.formula:
            new_kwargs.pop("out", None)
            result = call.formula(*new_args, **new_kwargs)
            changed = pytree.tree_leaves([[None] * len(given) if made is None else made for made, given in zip(result, new_args, strict=False)],
                                         is_leaf=lambda value: value is None) if isinstance(result, tuple) else [result]
            becomes = [(value, dtype) for value, (_, dtype) in zip(changed, becomes, strict=True)]
        else:
            result = op(*new_args, **new_kwargs)
        results = result if len(op._schema.returns) > 1 else (result,) if op._schema.returns else ()
        flat, tree = pytree.tree_flatten([value for value, argument in zip(results, _how(op).returned, strict=True) if argument is None])
        nested.append(tree)
        if half:
            flat = [value.to(half) if value.dtype == torch.float32 else value for value in flat]
        for (value, dtype), out in zip(becomes, (out for out, is_written in zip(call.outs, call.written, strict=True) if is_written), strict=True):
            if out and value is not None and not torch.can_cast(value.dtype, dtype):
                raise RuntimeError(f"result type {value.dtype} can't be cast to the desired output type {dtype}")
        left.append([value is not None for value, _ in becomes])
        return (*(value if value.dtype == dtype else value.to(dtype) for value, dtype in becomes if value is not None), *flat)

    with FakeTensorMode(allow_non_fake_inputs=True):
        fakes = [torch.empty_strided(leaf.shape, leaf.stride(), dtype=_held_as(leaf), device="cpu") for leaf in call.leaves]
        module = make_fx(torch.func.functionalize(graph, remove="mutations_and_views"), decomposition_table=_table(), tracing_mode="real")(*fakes)
    module.graph.eliminate_dead_code()
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, out in zip(placeholders, call.outs, strict=True):
        if out:
            module.graph.erase_node(node)
    return module, nested[-1], left[-1]


def _computed_wider(op: torch._ops.OpOverload, leaves: Sequence[Tensor]) -> torch.dtype | None:
    """The type of 16 bits of an operator that has a number for an operand, which may be beyond that type: as PyTorch does, it is computed with 32 bits"""
    if op._schema.name.rstrip("_") not in ("aten::add", "aten::sub", "aten::mul", "aten::div"):
        return None
    kinds = {value.dtype for value in leaves if value.dim()}
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {torch.float16, torch.bfloat16} and any(
        not value.dim() and value.dtype in (torch.float32, torch.int64) for value in leaves) else None


def _held_as(leaf: Tensor) -> torch.dtype:
    """A number of the host's has 32 bits in a program."""
    return torch.float32 if leaf.device.type == "cpu" and leaf.dtype == torch.float64 else leaf.dtype


@functools.cache
def _table() -> dict:
    from . import decompositions

    return decompositions.table()


_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


def _entry(key: list) -> str | None:
    """The name in the cache on disk of what is lowered for such arguments; None: an argument is of this process"""
    for part in key:
        if isinstance(part, tuple) and isinstance(part[0], type) and not issubclass(part[0], _PLAIN):
            return None
    return cache.name("operator", str(torch.get_default_dtype()), repr(key))


class _Compiled:
    def __init__(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, call: _Call) -> None:
        name = op._schema.name
        entry = _entry(call.key)
        record = cache.read_record(entry) if entry else None
        if record:
            self.nested, changed, graph = pytree.treespec_loads(record["nested"]), record["changed"], lowering.Kept(record)
        else:
            graph, self.nested, changed = _traced(op, args, kwargs, call)
        self.graph = programs.Graph(graph, f"neuron::{name.rpartition('::')[2]}")
        if self.graph.lowered.text:
            programs.neff(self.graph.lowered.text)  # what the compiler refuses the host computes
        if entry and not record and (record := self.graph.lowered.record()):
            cache.write_record(entry, {**record, "nested": pytree.treespec_dumps(self.nested), "changed": changed})
        self.lists, self.apart = name in optimizers.LISTS or name in optimizers.STEPS, _APART.get(name.removeprefix("aten::").rstrip("_"), len(call.leaves))
        self.returned, self.one = _how(op).returned, len(op._schema.returns) == 1
        self.inputs = [number for number, out in enumerate(call.outs) if not out]
        written = (number for number, written in enumerate(call.written) if written)
        self.written = [number for number, change in zip(written, changed, strict=True) if change]
        for what, number in zip(self.graph.lowered.results, self.written, strict=False):
            made = self.graph.lowered.outputs[what].dtype if isinstance(what, int) else call.leaves[number].dtype
            if not torch.can_cast(made, call.leaves[number].dtype):
                raise lowering.Unsupported(f"result type {made} can't be cast to the desired output type {call.leaves[number].dtype}")
        # outputs that the program may write where they are to be: those that it does not read, which lie as it makes them
        self.direct = [(what, number) for what, number in zip(self.graph.lowered.results, self.written, strict=False)
                       if isinstance(what, int) and call.outs[number] and self.graph.lowered.results.count(what) == 1 and self._lies_so(what, call.leaves[number])]

    def _lies_so(self, output: int, leaf: Tensor) -> bool:
        size, stride, dtype = self.graph.results[output]
        return tuple(leaf.shape) == size and leaf.stride() == stride and leaf.dtype == dtype and layouts.dense(leaf)

    def overlapping(self, call: _Call) -> str:
        """What is in the way of a program: PyTorch refuses some of what is read and written, and of other things the CPU makes what it makes"""
        if not self.written or self.lists:
            return ""
        leaves = call.leaves
        bases = [memory.base(leaf) for leaf in leaves]
        if len(set(bases)) == len(bases):
            return ""
        return next(("what it writes has memory in common with what it reads" for to in self.written for number, leaf in enumerate(leaves)
                     if not call.written[number] and memory.common(leaves[to], leaf) in ("some", "all" if number >= self.apart else "some")), "")

    def __call__(self, call: _Call, args: tuple, kwargs: dict) -> object:
        leaves, there = call.leaves, {}
        if self.direct:
            read = {memory.base(leaves[number]) for number in self.inputs}
            there = {what: leaves[number] for what, number in self.direct if memory.base(leaves[number]) not in read}
        outputs = self.graph.made(call.device.index, there)
        self.graph.run([leaves[number] for number in self.inputs], outputs, call.device.index)
        values = self.graph.all(outputs, call.device)
        for number, value in zip(self.written, values, strict=False):
            if value is leaves[number]:
                continue
            if value.shape != leaves[number].shape:
                leaves[number].resize_(value.shape)
            memory.copy(value, leaves[number])
        fresh = iter(pytree.tree_unflatten(values[len(self.written):], self.nested))
        results = []
        for argument in self.returned:
            if argument is None:
                results.append(next(fresh))
            else:
                place, name = argument
                results.append(kwargs[name] if name in kwargs else args[place])
        return results[0] if self.one else tuple(results) if results else None


def _on_host(op: torch._ops.OpOverload, args: tuple, kwargs: dict, call: _Call) -> object:
    """By the CPU's kernel, on the device's memory; results are put on the device"""
    generators: list[tuple[torch.Generator, torch.Generator]] = []
    empty = {id(leaf) for leaf, written in zip(call.leaves, call.written, strict=True) if written and not leaf.numel()}
    ours = list({id(leaf): leaf for leaf in call.leaves if leaf.device.type == "neuron"}.values())
    aliases = {id(leaf): (leaf, torch.empty(leaf.shape, dtype=leaf.dtype)) for leaf in ours if id(leaf) in empty}
    there = [leaf for leaf in ours if id(leaf) not in empty]
    aliases |= {id(leaf): (leaf, seen) for leaf, seen in zip(there, memory.aliases(there), strict=True)}
    given = {id(seen): leaf for leaf, seen in aliases.values()}

    def to_host(value: object) -> object:
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, torch.Generator) and value.device.type == "neuron":
            generators.append((value, torch.Generator().set_state(value.get_state())))
            return generators[-1][1]
        return aliases[id(value)][1] if isinstance(value, Tensor) and value.device.type == "neuron" else value

    host_args, host_kwargs = pytree.tree_map(to_host, (args, kwargs))
    # a number in a tensor's place, which some operators take of C++ alone
    host_args = tuple(torch.tensor(value, dtype=torch.result_type(host_args[0], value)) if is_tensor and type(value) in _NUMBERS and isinstance(host_args[0], Tensor) else value
                      for is_tensor, value in zip(_how(op).tensors, host_args, strict=False))
    result = op(*host_args, **host_kwargs)
    for generator, drawn in generators:
        generator.set_state(drawn.get_state())
    for key in empty:
        value, seen = aliases[key]
        if seen.shape != value.shape:
            value.resize_(seen.shape)
        if seen.numel():
            memory.alias(value).copy_(seen)
    device = call.device or torch.device("neuron", 0)

    def to_device(value: object) -> object:
        if not isinstance(value, Tensor):
            return value
        return given[id(value)] if id(value) in given else to_neuron(value, device.index)

    return pytree.tree_map(to_device, result)


def to_neuron(value: Tensor, device: int) -> Tensor:
    """A copy of a tensor of the CPU's, of any layout"""
    if value.layout != torch.strided or value.is_nested:
        from . import sparse

        return sparse.to_neuron(value, device)
    return memory.copy_on(value, device)


@functools.cache
def _compiler() -> concurrent.futures.Executor:
    return concurrent.futures.ThreadPoolExecutor(1, "neuron-compiler", lambda: torch.set_grad_enabled(False))


def _only_unimplemented() -> bool:
    """Whether the CPU is to compute only what has no lowering, and not what neuronx-cc refuses"""
    return os.environ.get("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", "0") not in ("", "0")


_NUMBERS = {float: torch.float32, int: torch.int64, bool: torch.bool}


@functools.lru_cache(maxsize=1024)
def _operand(value: float | int | bool, kind: type, text: str, device: int) -> Tensor:
    """A number on the device; kind and text tell apart what Python calls equal"""
    return memory.copy_on(torch.tensor(value, dtype=_NUMBERS[kind]), device)


def announced(op: torch._ops.OpOverload, why: object) -> None:
    """Notes that the CPU computed it, and says why the first time."""
    name = op._schema.name
    fallen_back[name] += 1
    if fallen_back[name] == 1:
        warnings.warn(f"{name} runs on the CPU: {why}", stacklevel=4)


@functools.cache
def _with_operands(op: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """The overload that takes tensors where this one takes numbers, which may change from call to call: these become operands"""
    name = op._schema.name.removeprefix("aten::")
    if name.rstrip("_") in _NUMBERED and op._overloadname in _NUMBERED[name.rstrip("_")]:
        return getattr(op.overloadpacket, _NUMBERED[name.rstrip("_")][op._overloadname])
    return op


_SCALAR = {"Scalar": "Tensor", "Scalar_out": "Tensor_out"}
_NUMBERED = {**{name: _SCALAR for name in ("eq", "ne", "lt", "le", "gt", "ge", "lerp", "masked_fill")},
             **{name: {"default": "Tensor", "out": "Tensor_out"} for name in ("clamp", "clamp_min", "clamp_max")}}


def run(op: torch._ops.OpOverload, *args: object, **kwargs: object) -> object:
    """An operator whose tensors are on the device, or one of them"""
    numbered, op = op, _with_operands(op)
    formula, given = _FORMULAS.get(op._schema.name), (args, kwargs)
    if formula and op._schema.name in optimizers.LISTS:
        return _of_lists(op, formula, args, kwargs)
    if formula and not isinstance(kwargs.get("alpha", kwargs.get("value", kwargs.get("lr"))), (float, Tensor)):
        formula = None
    if op is not numbered and args and isinstance(args[0], Tensor) and not args[0].dim() and args[0].dtype in (torch.bfloat16, torch.float16):
        op = numbered  # a number beside one of 16 bits has its type, where an operand would have its own
    tensors = _how(op).tensors
    if formula or op is not numbered or any(is_tensor and type(value) in _NUMBERS for is_tensor, value in zip(tensors, args, strict=False)):
        device = next((value.device.index for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, Tensor) and value.device.type == "neuron"), None)
        if device is not None:
            args = tuple(_operand(value, type(value), str(value), device) if is_tensor and type(value) in _NUMBERS else value
                         for is_tensor, value in zip(tensors, args, strict=False))
            kwargs = {name: _operand(value, type(value), str(value), device)
                      if type(value) is float and formula and name in _CHANGING or type(value) in _NUMBERS and op is not numbered else value
                      for name, value in kwargs.items()}
    return computed(op, args, kwargs, formula, given, numbered)


def _of_lists(op: torch._ops.OpOverload, formula: Callable, args: tuple, kwargs: dict) -> object:
    """An operator of lists, on the device of its first tensor: all numbers are operands"""
    if op._schema.name.endswith("_"):
        read = [value for other in args[1:] if isinstance(other, (list, tuple)) for own, value in zip(args[0], other, strict=False)
                if isinstance(value, Tensor) and value is not own]
        if memory.meet(args[0], read):
            return _on_host(op, args, kwargs, _Call(op, args, kwargs, None))  # one after the other: a tensor that comes twice is changed twice
    device = args[0][0].device.index

    def operand(value: object) -> object:
        return _operand(value, float, str(value), device) if isinstance(value, float) else value

    return computed(op, *pytree.tree_map(operand, (args, kwargs)), formula, (args, kwargs))


def computed(op: torch._ops.OpOverload, args: tuple, kwargs: dict, formula: Callable | None, given: tuple[tuple, dict],
              numbered: torch._ops.OpOverload | None = None) -> object:
    """By the program for such arguments, or by the host of what was given, by the operator that it was given to"""
    how, host = _how(op), numbered or op
    call = _Call(op, args, kwargs, formula)
    if call.device is None or (how.drawn and (all(call.written) or any(isinstance(value, torch.Generator) for value in kwargs.values()))) or (how.out_names and all(call.written)):
        return _on_host(host, *given, call)  # it makes values of nothing: numbers that are drawn, a range, a constant
    key = tuple(call.key)
    compiled = _programs.get(key)
    if compiled is None:
        with _lock:
            compiled = _programs.get(key)
            if compiled is None:
                try:
                    if torch.Tag.dynamic_output_shape in op.tags:
                        raise lowering.Unsupported("how large its result is depends on the data")
                    if any("Tensor" not in str(r.type) for r in op._schema.returns):
                        raise lowering.Unsupported("its result is no tensor")
                    if any(written and layouts.repeats(leaf.shape, leaf.stride()) for leaf, written in zip(call.leaves, call.written, strict=True)):
                        raise lowering.Unsupported("elements of what it writes share a place")
                    # in a thread without the caller's modes: of autograd, of subclasses of tensors, of functorch
                    compiled = _compiler().submit(_Compiled, op, args, kwargs, call).result()
                except Exception as error:
                    if not isinstance(error, lowering.Unsupported) and _only_unimplemented():
                        raise
                    compiled = lowering.Unsupported(str(error))  # without what the call was given
                while len(_programs) >= KEPT:  # of those that came first
                    forgotten = _programs.pop(next(iter(_programs)))
                    if isinstance(forgotten, _Compiled):
                        forgotten.graph.forget()
                _programs[key] = compiled
    if isinstance(compiled, Exception):
        result = _on_host(host, *given, call)
        announced(op, compiled)
        return result
    if why := compiled.overlapping(call):
        result = _on_host(host, *given, call)
        announced(op, why)
        return result
    executed[op._schema.name] += 1
    return compiled(call, args, kwargs)
