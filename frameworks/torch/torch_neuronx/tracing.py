# SPDX-License-Identifier: MIT
"""trace(): a model and example inputs to a NEFF, by torch.export, torch_xla's StableHLO and neuronx-cc."""

import contextlib
import inspect
import itertools
import os
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from . import runtime
from .artifact import Runner, about_array, script

NO_NXD = ("the layers and traces of neuronx_distributed, which divide a model among cores, are not here. torch_neuronx.trace compiles a model for one core, "
          "DataParallel executes it on several; the device \"neuron\" has torch.distributed's tensor parallelism and FSDP2")
OF_NXD = ("ColumnParallelLinear", "ModelBuilder", "NxDModel", "NxDParallelState", "ParallelEmbedding", "RowParallelLinear", "parallel_layers",
          "parallel_model_load", "parallel_model_save", "parallel_model_trace")
CHIPS = ("inf1", "inf2", "trn1", "trn2", "trn3")


class _Function(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.model = function

    def forward(self, *inputs: object) -> object:
        return self.model(*inputs)


def compiler() -> str:
    """The path of neuronx-cc: the wheel's, or another one here"""
    own = Path(__file__).parents[1] / "libneuronxla/lib/neuronx-cc"
    found = str(own) if own.is_file() else shutil.which("neuronx-cc") or "/opt/aws/neuron/bin/neuronx-cc"
    if not Path(found).is_file():
        raise FileNotFoundError(f"no neuronx-cc: neither {own} nor on PATH")
    return found


def _arguments(given: str | list[str] | None) -> list[str]:
    return shlex.split(given) if isinstance(given, str) else list(given or [])


def _has_target(arguments: list[str]) -> bool:
    return any(argument == "--target" or argument.startswith("--target=") for argument in arguments)


def compiled_for(given: str | list[str] | None) -> list[str]:
    """neuronx-cc's arguments, which name the chips that are here unless they name others"""
    arguments = _arguments(given)
    if _has_target(arguments):
        return arguments
    emulated = os.environ.get("NEURON_EMU", "").removeprefix("emu:")[:4]
    return ["--target", emulated if emulated in CHIPS else runtime.architecture(), *arguments]


def compile_module(module: bytes, arguments: list[str], workdir: str | None = None) -> bytes:
    """The NEFF of a StableHLO artifact or text; workdir keeps both. RuntimeError: neuronx-cc refuses it"""
    if not workdir:
        with tempfile.TemporaryDirectory(prefix="torch-neuronx.") as folder:
            return compile_module(module, arguments, folder)
    folder = Path(workdir)
    folder.mkdir(parents=True, exist_ok=True)
    source, neff = folder / "model.stablehlo", folder / "graph.neff"
    source.write_bytes(module)
    command = [compiler(), "compile", "--framework", "StableHLO", str(source), "--output", str(neff), "--narrow-64bit", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"neuronx-cc: {done.stderr.strip() or done.stdout.strip()}")
    return neff.read_bytes()


def named(values: list[Tensor | None], base: str) -> list[str]:
    """The compiler's names of a program's arrays: those without elements have none"""
    names, number = [], 0
    for value in values:
        names.append(f"{base}{number}" if value is not None and value.numel() else "")
        number += bool(names[-1])
    return names


def _kind(form: object) -> str:
    """The type of a result, or of a part of it, as torch.jit has it"""
    if isinstance(form, dict):
        return f"{{{_kind(next(iter(form.values()), 0))}}}"
    return f"({','.join(map(_kind, form))})" if isinstance(form, tuple) else ""


def structure(outputs: object) -> tuple[object, list[Tensor]]:
    """Tuples, lists and dicts with numbers for tensors: what torch.jit can give back. There a dict's values are of one type; of others a tuple is made."""
    leaves: list[Tensor] = []

    def walk(value: object) -> object:
        if isinstance(value, Tensor):
            leaves.append(value)
            return len(leaves) - 1
        if hasattr(value, "items"):  # dicts, and the outputs of transformers, without what is None
            form = {key: walk(item) for key, item in value.items() if item is not None}
            return form if len(set(map(_kind, form.values()))) < 2 else tuple(form.values())
        if isinstance(value, (list, tuple)):
            return tuple(walk(item) for item in value)
        if hasattr(value, "to_legacy_cache"):  # of transformers: for each layer its keys and values
            return walk(value.to_legacy_cache())
        raise TypeError(f"a result is {type(value).__name__}: tensors, and tuples, lists and dicts of them, can be traced")

    return walk(outputs), leaves


class Flat(nn.Module):
    """All results in one tuple, without what is None"""

    PREFIX = "model."  # of the names of parameters in it

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: object) -> tuple[Tensor, ...]:
        return tuple(structure(self.model(*inputs))[1])


def _mend(program: torch.export.ExportedProgram) -> None:
    """What torch_xla 2.9.0's export has otherwise than PyTorch

    A reduction whose list of dimensions is empty, which is of all of them, is of none there. Its decompositions give results whose strides are not
    those that views of them were exported for (attention's), so views become reshapes.
    """
    aten = torch.ops.aten
    for node in program.graph_module.graph.nodes:
        if node.target in (aten.sum.default, aten.sum.dim_IntList, aten.amax.default, aten.amin.default) and not (len(node.args) > 1 and node.args[1]):
            node.args = (node.args[0], list(range(node.args[0].meta["val"].dim())), *node.args[2:])
            node.target = aten.sum.dim_IntList if node.target is aten.sum.default else node.target
        elif node.target is aten.view.default:
            node.target = aten.reshape.default
    program.graph_module.recompile()


def _turn(program: torch.export.ExportedProgram) -> None:
    """Weights that layers multiply by the transposes of are handed over transposed: else a core would transpose them in each execution"""
    linear, graph = torch.ops.aten.linear.default, program.graph_module.graph
    for node in list(graph.nodes):
        name = program.graph_signature.inputs_to_parameters.get(node.name) if node.op == "placeholder" else None
        if not name or not all(user.target is linear and user.args[1] is node and user.all_input_nodes.count(node) == 1 for user in node.users):
            continue
        program.state_dict[name] = nn.Parameter(program.state_dict[name].detach().t().contiguous(), requires_grad=False)
        given, node.meta["val"] = node.meta["val"], node.meta["val"].t().contiguous()
        for user in list(node.users):
            with graph.inserting_before(user):
                turned = graph.call_function(torch.ops.aten.permute.default, (node, [1, 0]))
            turned.meta["val"] = given
            user.replace_input_with(node, turned)
    program.graph_module.recompile()


def _pooled(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """What torch_xla has not: adaptive pools whose windows differ, by PyTorch's own decomposition"""
    aten = torch.ops.aten
    for node in program.graph.find_nodes(op="call_function", target=aten.adaptive_avg_pool2d.default):
        if any(size % pooled for size, pooled in zip(node.args[0].meta["val"].shape[-2:], node.meta["val"].shape[-2:], strict=True)):
            rule = torch._decomp.decomposition_table[aten._adaptive_avg_pool2d.default]
            return program.run_decompositions({aten.adaptive_avg_pool2d.default: rule})
    return program


def lowered(model: nn.Module, inputs: tuple, turned: bool = False) -> tuple[bytes, list[tuple[int | str, Tensor | None]]]:
    """The StableHLO, and what its parameters are: an input's place and None, a weight's name in the model and the tensor (turned: maybe its transpose),
    of a constant "" and it"""
    try:
        from torch_xla import stablehlo
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("torch_neuronx.trace lowers models by torch_xla 2.9.0, which is not installed; what is traced runs without", name=missing.name) from missing

    program = _pooled(torch.export.export(Flat(model), inputs, strict=False))
    _mend(program)
    if turned:
        _turn(program)
    # the weights are the program's own: torch_xla would make NumPy's arrays of them, which has no bfloat16
    options = stablehlo.StableHLOExportOptions(include_human_readable_text=False, export_weights=False)
    bundle = stablehlo.exported_program_to_stablehlo(program, options)._bundle
    function, parameters, weights = bundle.stablehlo_funcs[0], [], {**program.constants, **program.state_dict}
    for place in function.meta.input_locations:
        if place.type_ == stablehlo.VariableType.INPUT_ARG:
            parameters.append((place.position, None))
        elif place.type_ == stablehlo.VariableType.PARAMETER:
            parameters.append((place.name[depth(model):], weights[place.name]))
        else:
            parameters.append(("", torch.as_tensor(bundle.additional_constants[place.position])))
    return function.bytecode, parameters


def depth(model: nn.Module) -> int:
    """Of a prepared model in Flat: what stands before the names of its parameters has so many characters"""
    return len(Flat.PREFIX) * (1 + isinstance(model, (_Function, _Keywords)))


def prepared(func: nn.Module | Callable, example_inputs: Tensor | tuple | list | dict) -> tuple[nn.Module, tuple]:
    """A module, and its positional inputs. NotImplementedError: a layer of it is of neuronx_distributed"""
    for name, part in func.named_modules() if isinstance(func, nn.Module) else ():
        if type(part).__module__.partition(".")[0] == "neuronx_distributed":
            raise NotImplementedError(f"{name or 'the model'} is a {type(part).__name__}: {NO_NXD}")
    model = func if isinstance(func, nn.Module) else _Function(func)
    if not isinstance(example_inputs, dict):
        return model, (example_inputs,) if isinstance(example_inputs, Tensor) else tuple(example_inputs)
    names = [name for name in inspect.signature(model.forward).parameters if name in example_inputs]
    return _Keywords(model, names), tuple(example_inputs[name] for name in names)


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True


def trace(func: nn.Module | Callable, example_inputs: Tensor | tuple | list | dict, *_: object, input_output_aliases: dict | None = None,
          compiler_workdir: str | None = None, compiler_args: str | list[str] | None = None, partitioner_config: object = None,
          inline_weights_to_neff: bool = True, cpu_backend: bool = False, **unknown: object) -> torch.jit.ScriptModule:
    """Compiles a model for the shapes and types of the example inputs.

    example_inputs: a tensor, or the positional inputs (tensors, tuples, lists and dicts of them); a dict names those of forward().
    compiler_args: options of neuronx-cc; without --target the chips that are here are compiled for, or with cpu_backend none need be here.
    compiler_workdir: keeps model.stablehlo and graph.neff. Weights lie beside the NEFF in the module; inline_weights_to_neff=False lets
    replace_weights() change them. input_output_aliases: parameters and buffers of the model that results are the next values of, each with the
    result's place; these results stay in the module's states (`states`) and are not given back.
    partitioner_config: a PartitionerConfig, by which operators that are not compiled stay on the CPU.
    Raises RuntimeError with neuronx-cc's words.
    """
    for name in unknown:
        warnings.warn(f"torch_neuronx.trace has no argument {name}", stacklevel=2)
    if partitioner_config:
        from .partitions import partitioned

        given = {"input_output_aliases": input_output_aliases, "compiler_workdir": compiler_workdir, "compiler_args": compiler_args,
                 "inline_weights_to_neff": inline_weights_to_neff, "cpu_backend": cpu_backend}
        return partitioned(func, example_inputs, partitioner_config, given)
    if cpu_backend and not _has_target(_arguments(compiler_args)):
        raise ValueError("cpu_backend needs --target in compiler_args")
    return script(*compiled(func, example_inputs, input_output_aliases, compiler_workdir, compiler_args, inline_weights_to_neff))


def compiled(func: nn.Module | Callable, example_inputs: Tensor | tuple | list | dict, input_output_aliases: dict | None, compiler_workdir: str | None,
             compiler_args: str | list[str] | None, inline_weights_to_neff: bool = True) -> tuple[Runner, tuple]:
    """What trace() makes TorchScript of, and the example inputs for that"""
    model, inputs = prepared(func, example_inputs)
    with evaluating(model):
        form, outputs = structure(model(*inputs))
        states = _states(func, input_output_aliases or {}, outputs)
        module, parameters = lowered(model, inputs, turned=inline_weights_to_neff and not states)

    neff = compile_module(module, compiled_for(compiler_args), compiler_workdir)
    flat = pytree.tree_leaves(inputs)
    names = named([flat[source] if value is None else value for source, value in parameters], "input")
    places = {source: name for (source, _), name in zip(parameters, names, strict=True) if source != ""}
    weights = [(source, name, value) for (source, value), name in zip(parameters, names, strict=True) if value is not None and source not in states]
    aliases = [number for number, _ in states.values()]
    about = {"inputs": [{**about_array(value), "name": places.get(i, "")} for i, value in enumerate(flat)],
             "weights": [name for _, name, _ in weights],
             "states": [{**about_array(value), "name": places.get(source, "")} for source, (_, value) in states.items()],
             "aliases": aliases,
             "outputs": [{**about_array(value), "name": name} for value, name in zip(outputs, named(outputs, "output"), strict=True)]}
    replaceable = func.state_dict() if isinstance(func, nn.Module) else {}
    sources = {"weights": [source if source in replaceable else "" for source, _, _ in weights], "apart": not inline_weights_to_neff}
    return Runner(neff, [value for _, _, value in weights], [value for _, value in states.values()], about, sources, _without(form, aliases)), inputs


def _states(model: nn.Module | Callable, aliases: dict[Tensor, int], outputs: list[Tensor]) -> dict[str, tuple[int, Tensor]]:
    """By their names in the model, and in its order: which result is a state's next value, and its first one"""
    found, left = {}, {id(value): number for value, number in aliases.items()}
    for name, value in itertools.chain(model.named_parameters(), model.named_buffers()) if isinstance(model, nn.Module) else ():
        number = left.pop(id(value), None)
        if number is None:
            continue
        if not 0 <= number < len(outputs) or about_array(outputs[number]) != about_array(value):
            have = about_array(outputs[number]) if 0 <= number < len(outputs) else f"not there: there are {len(outputs)}"
            raise ValueError(f"input_output_aliases: {name} is {about_array(value)}, and result {number} is {have}")
        found[name] = (number, value)
    if left:
        raise ValueError(f"input_output_aliases: {len(left)} of its tensors are no parameters or buffers of the model")
    if len({number for number, _ in found.values()}) != len(found):
        raise ValueError("input_output_aliases: a result is the next value of several states")
    return found


def _without(structure: object, aliases: list[int]) -> object:
    """The structure of the results that are given back, with their numbers among these; of what nothing is left, nothing is"""
    if isinstance(structure, dict):
        kept = {key: _without(value, aliases) for key, value in structure.items() if value not in aliases}
        return {key: value for key, value in kept.items() if value not in ((), {})}
    if isinstance(structure, tuple):
        return tuple(value for value in (_without(value, aliases) for value in structure if value not in aliases) if value not in ((), {}))
    return structure - sum(number < structure for number in aliases)


class _Keywords(nn.Module):
    """Positional inputs by the names that forward() has for them"""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: object) -> object:
        return self.model(**dict(zip(self.names, inputs, strict=True)))
