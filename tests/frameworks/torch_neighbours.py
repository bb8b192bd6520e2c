#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What stands beside torch_neuronx.trace, against PyTorch's CPU: states, weights, batches, cores, buckets, analyze. As TAP.

usage: torch_neighbours.py [POINT...]    in an environment of environments.torch_xla(), with the wheel; POINT is a part of a name
"""

import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import List  # noqa: UP035, what TorchScript reads

import torch
import torch_neuronx
from torch import Tensor, nn
from torch.nn import functional as F

from points import run_points
from torch_comparisons import drawn, near, numbers, raises

warnings.simplefilter("ignore")
CORES = 2  # of trn1.2xlarge

LOAD = """
import sys, torch, torch_neuronx
model = torch.jit.load(sys.argv[1])
torch.save([model(x) for x in torch.load(sys.argv[2])], sys.argv[3])
"""


class Cached(nn.Module):
    """Attention of one word at a time, over those that came before"""

    def __init__(self, length: int = 6) -> None:
        super().__init__()
        self.split, self.length = nn.Linear(8, 24), length
        self.keys, self.values = (nn.Parameter(torch.zeros(length, 8), requires_grad=False) for _ in range(2))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int32))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = self.split(x).chunk(3, -1)
        here = torch.arange(self.length)[:, None] == self.count
        keys, values = torch.where(here, k, self.keys), torch.where(here, v, self.values)
        scores = torch.where(torch.arange(self.length) <= self.count, q @ keys.T, -torch.inf)
        return F.softmax(scores, -1) @ values, values, keys, self.count + 1

    def aliases(self) -> dict[Tensor, int]:
        return {self.values: 1, self.keys: 2, self.count: 3}

    def step(self, x: Tensor) -> Tensor:
        y, self.values.data, self.keys.data, self.count = self(x)
        return y


def traced_and_plain() -> tuple[torch.jit.ScriptModule, Cached]:
    model = Cached().eval()
    return torch_neuronx.trace(model, drawn(1, 8), input_output_aliases=model.aliases()), model


def states() -> None:
    """They go on from call to call, are seen and set from outside, and lie in the order of the model's parameters"""
    traced, model = traced_and_plain()
    with torch.no_grad():
        for step in range(3):
            x = drawn(1, 8) + step
            result = traced(x)
            assert isinstance(result, tuple) and len(result) == 1
            near(result[0], model.step(x))
        shown = list(traced.states._parameters.values())
        near(shown, [model.keys, model.values, model.count])
        # as programs set them: into the storage, and by another tensor
        shown[0].data.copy_(torch.zeros_like(shown[0]))
        traced.states._parameters["state1"] = drawn(6, 8)
        model.keys.data, model.values.data = torch.zeros(6, 8), drawn(6, 8)
        near(traced(drawn(1, 8))[0], model.step(drawn(1, 8)))


def states_saved() -> None:
    """A saved trace begins with the states that it has then, in each process"""
    traced, model = traced_and_plain()
    xs = [drawn(1, 8) * n for n in range(3)]
    traced(xs[0])
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        paths = [str(Path(folder, name)) for name in ("model.pt", "in.pt", "out.pt")]
        torch.jit.save(traced, paths[0])
        torch.save(xs[1:], paths[1])
        subprocess.run([sys.executable, "-c", LOAD, *paths], check=True)
        model.step(xs[0])
        near([y for y, in torch.load(paths[2])], [model.step(x) for x in xs[1:]])
        near(traced(xs[1])[0], torch.load(paths[2])[0][0])
    only = nn.Module()
    only.n = nn.Parameter(torch.zeros(2), requires_grad=False)
    only.forward = lambda x: only.n + x
    traced = torch_neuronx.trace(only, torch.ones(2), input_output_aliases={only.n: 0})
    for _ in range(3):
        traced(torch.ones(2))
    near(next(iter(traced.states._parameters.values())), torch.full((2,), 3.0))


class Shifted(nn.Module):
    """What is no weight: a buffer that is not saved, and a constant"""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", drawn(7), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.shift * torch.tensor([1.0, 2, 3, 4, 5, 6, 7])


class Layered(nn.Module):
    """A root's parameter of the name that inputs have, and states in a tuple of their own"""

    def __init__(self) -> None:
        super().__init__()
        self.input, self.a, self.b = (nn.Parameter(drawn(3), requires_grad=False) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return x * self.input + self.a, (self.a + x, self.b - x)


def nested() -> None:
    model, x = Layered(), drawn(3) * 2
    traced = torch_neuronx.trace(model, x, input_output_aliases={model.a: 1, model.b: 2})
    with torch.inference_mode():
        for step in range(3):
            result = traced(x)
            assert isinstance(result, tuple) and len(result) == 1
            near(result[0], x * model.input + model.a + step * x)
        near(list(traced.states._parameters.values()), [model.a + 3 * x, model.b - 3 * x])
    traced.states._parameters["state1"] = drawn(4)
    raises(RuntimeError, "state 1 is float32[4], and was traced as float32[3]", lambda: traced(x))
    with tempfile.NamedTemporaryFile(suffix=".pt") as file, torch.inference_mode():
        torch.jit.save(torch_neuronx.trace(nn.Linear(3, 2), x), file.name)
        assert torch.jit.load(file.name)(x).shape == (2,)


def weights() -> None:
    first, second = (nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.BatchNorm1d(7), Shifted()).eval() for _ in range(2))
    x = drawn(3, 5)
    traced = torch_neuronx.trace(first, x, inline_weights_to_neff=False)
    with torch.no_grad():
        near(traced(x), first(x))
        torch_neuronx.replace_weights(traced, second)
        near(traced(x), second(x))
        torch_neuronx.replace_weights(traced, first.state_dict())
        near(traced(x), first(x))
        raises(KeyError, "there is no 0.bias", lambda: torch_neuronx.replace_weights(traced, {name: value for name, value in first.state_dict().items() if name != "0.bias"}))
        raises(ValueError, "0.weight is [5, 7], and was traced as [7, 5]",
               lambda: torch_neuronx.replace_weights(traced, {**first.state_dict(), "0.weight": torch.zeros(5, 7)}))
        inlined = torch_neuronx.trace(first, x)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            torch_neuronx.replace_weights(inlined, second)
        assert any("inlined" in str(warning.message) for warning in said)
        near(inlined(x), first(x))
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            torch.jit.save(traced, file.name)
            loaded = torch.jit.load(file.name)
        torch_neuronx.replace_weights(loaded, second)
        near((loaded(x), traced(x)), (second(x), first(x)))


def batches() -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).eval()
    traced = torch_neuronx.trace(model, drawn(3, 4))
    assert torch_neuronx.dynamic_batch(traced) is traced
    with tempfile.NamedTemporaryFile(suffix=".pt") as file, torch.no_grad():
        torch.jit.save(traced, file.name)
        for trace in (traced, torch.jit.load(file.name)):
            for size in (1, 2, 3, 4, 7, 9):
                x = torch.linspace(-1, 1, size * 4).view(size, 4)
                near(trace(x), model(x))
    two = torch_neuronx.dynamic_batch(torch_neuronx.trace(lambda a, b: (a + b, {"least": torch.minimum(a, b)}), (drawn(2, 3), drawn(2, 3))))
    a, b = drawn(5, 3), drawn(5, 3) * -2
    near(two(a, b), (a + b, {"least": torch.minimum(a, b)}))
    raises(RuntimeError, "the first dimensions of all inputs have to be alike", lambda: two(a, b[:2]))
    raises(RuntimeError, "input 0 is float32[3, 5], and was traced as float32[3, 4]", lambda: traced(drawn(2, 5)))
    mean = torch_neuronx.dynamic_batch(torch_neuronx.trace(lambda x: (x + 1, x.mean(0)), drawn(3, 4)))
    near(mean(drawn(3, 4)), (drawn(3, 4) + 1, drawn(3, 4).mean(0)))
    raises(RuntimeError, "the results' first dimensions have to be the batch's, 3", lambda: mean(drawn(5, 4)))
    raises(ValueError, "states of one batch", lambda: torch_neuronx.dynamic_batch(traced_and_plain()[0]))
    raises(TypeError, "nothing in it", lambda: torch_neuronx.dynamic_batch(nn.Linear(2, 2)))


def parallel() -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).eval()
    everywhere = torch_neuronx.DataParallel(torch_neuronx.trace(model, drawn(2, 4)))
    assert everywhere.device_ids == list(range(CORES)) and everywhere.num_workers == 2 * CORES
    with torch.no_grad():
        for size in (1, 4, 5, 11):
            x = torch.linspace(-2, 2, size * 4).view(size, 4)
            near(everywhere(x), model(x))
    everywhere.disable_dynamic_batching()
    near(everywhere(drawn(4, 4)), model(drawn(4, 4)).detach())
    raises(RuntimeError, "was traced as float32[2, 4]", lambda: everywhere(drawn(6, 4)))
    along = torch_neuronx.DataParallel(torch_neuronx.trace(lambda x, y: x * y, (drawn(3, 2), torch.tensor(2.0))), ["nc:1", "nc:0"], dim=1)
    near(along(drawn(3, 4), torch.tensor(2.0)), drawn(3, 4) * 2)
    kept = torch_neuronx.DataParallel(torch_neuronx.dynamic_batch(torch_neuronx.trace(model, drawn(2, 4))), set_dynamic_batching=False)
    near(kept(drawn(6, 4)), model(drawn(6, 4)).detach())
    raises(ValueError, "on one core", lambda: torch_neuronx.DataParallel(traced_and_plain()[0], set_dynamic_batching=False))
    for wrong in ([CORES], ["nc:x"], []):
        raises(ValueError, "device_ids", lambda wrong=wrong: torch_neuronx.DataParallel(torch_neuronx.trace(model, drawn(2, 4)), wrong))


def used_cores(call: object) -> set[int]:
    """The cores that a call loads a model onto"""
    from torch_neuronx import artifact

    before = set(artifact._loaded)
    call()
    return {artifact._loaded[key].core for key in set(artifact._loaded) - before}


def placement() -> None:
    model, x = nn.Linear(4, 2).eval(), drawn(1, 4)
    assert torch_neuronx.utils.get_platform_target() == "trn1"
    with tempfile.NamedTemporaryFile(suffix=".pt") as file, torch.no_grad():
        torch.jit.save(torch_neuronx.trace(model, x), file.name)
        for core in (1, 0, 1):
            with torch_neuronx.experimental.neuron_cores_context(start_nc=core, nc_count=1):
                loaded = torch.jit.load(file.name)
            assert used_cores(lambda: near(loaded(x), model(x))) == {core}
        with torch_neuronx.experimental.placement.multicore_context():
            loaded = torch.jit.load(file.name)
        assert used_cores(lambda: [near(loaded(x), model(x)) for _ in range(CORES)]) == set(range(CORES))
        with torch_neuronx.neuron_cores_context(1):
            traced = torch_neuronx.trace(model, x)
        assert used_cores(lambda: traced(x)) == {1}
        for core in (0, 1):
            moved = torch.jit.load(file.name)
            torch_neuronx.move_trace_to_device(moved, core)
            assert used_cores(lambda: near(moved(x), model(x))) == {core}
        spread = torch.jit.load(file.name)
        torch_neuronx.set_multicore(spread)
        results: list[Tensor] = []
        threads = [threading.Thread(target=lambda: results.extend(spread(x) for _ in range(20))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 80
        near(results, [model(x)] * 80)
    raises(ValueError, f"NeuronCores {CORES} to {CORES}: this process has {CORES}", lambda: torch_neuronx.set_neuron_cores(spread, CORES, 1))
    raises(ValueError, "on one core", lambda: torch_neuronx.set_multicore(traced_and_plain()[0]))


def bucket_kernel(tensors: List[Tensor]):
    length = tensors[0].shape[1]
    bucket = 0 if length <= 4 else 1
    padded: List[Tensor] = []
    for tensor in tensors:
        zeros = torch.zeros([tensor.shape[0], (4 if bucket == 0 else 8) - length], dtype=tensor.dtype)
        padded.append(torch.cat([tensor, zeros], dim=1))
    return padded, torch.tensor([bucket])


def bad_kernel(tensors: List[Tensor]):
    return tensors, torch.tensor([7])


class Summed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)

    def forward(self, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(words) * mask[..., None]
        return x.sum(1), mask.sum(1)


def buckets() -> None:
    model = Summed().eval()
    config = torch_neuronx.BucketModelConfig(lambda: torch.jit.script(bucket_kernel), func_kwargs=[{"n": 0}, {"n": 1}])
    asked: list[int] = []

    def get(n: int) -> tuple[nn.Module, dict]:
        asked.append(n)
        return model, {}

    examples = [(numbers(20, 2, n), torch.ones(2, n)) for n in (4, 8)]
    traced = torch_neuronx.bucket_model_trace(get, examples, config)
    assert asked == [0, 1]
    with tempfile.NamedTemporaryFile(suffix=".pt") as file, torch.no_grad():
        torch.jit.save(traced, file.name)
        for trace in (traced, torch.jit.load(file.name)):
            for length in (2, 4, 5, 8):
                inputs = numbers(19, 2, length), torch.ones(2, length)
                near(trace(*inputs), model(*inputs))
    bad = torch_neuronx.bucket_model_trace(lambda: (model, {}), examples[:1], torch_neuronx.BucketModelConfig(lambda: torch.jit.script(bad_kernel)))
    raises(torch.jit.Error, "a bucket that is not there: there are 1", lambda: bad(*examples[0]))
    raises(ValueError, "1 functions for 2 example inputs", lambda: torch_neuronx.bucket_model_trace([get], examples, config))


def in_turn(tensors: List[Tensor]):
    return tensors, (tensors[0].sum() > 0).to(torch.int64).view([1])


def by_number(tensors: List[Tensor]):
    return tensors, torch.tensor([0 if int(tensors[1]) <= 2 else 1])


def last_rows(shapes: List[List[List[int]]], states: List[Tensor], bucket: Tensor):
    return [state[state.shape[0] - shape[0]:] for shape, state in zip(shapes[int(bucket)], states)]


class Summing(nn.Module):
    """A state of some rows, the last of which a bucket has"""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(rows, 3), requires_grad=False)

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        return self.rows.sum() + x, self.rows + x.sum(0) + count


def shared_states() -> None:
    """A cache that two buckets use in turn, by the input's sign; and buckets that have some of its rows"""
    model = Cached().eval()
    function = lambda: (model, model.aliases())  # noqa: E731
    examples = [(drawn(1, 8),), (drawn(1, 8),)]
    with torch.no_grad():
        of = torch_neuronx.BucketModelConfig(lambda: torch.jit.script(in_turn), shared_state_buffer=[torch.zeros(6, 8), torch.zeros(6, 8), torch.zeros(1, dtype=torch.int32)])
        traced = torch_neuronx.bucket_model_trace(function, examples, of)
        for step in range(5):
            near(traced(drawn(1, 8) * (step - 2))[0], model.step(drawn(1, 8) * (step - 2)))
        near(list(traced.states._parameters.values()), [model.keys, model.values, model.count])

        config = torch_neuronx.BucketModelConfig(lambda: torch.jit.script(by_number), shared_state_buffer_preprocessor=lambda: torch.jit.script(last_rows),
                                                 func_kwargs=[{"rows": 2}, {"rows": 5}])

        def get(rows: int) -> tuple[nn.Module, dict]:
            summing = Summing(rows)
            return summing, {summing.rows: 1}

        traced = torch_neuronx.bucket_model_trace(get, [(drawn(2, 3), torch.zeros(1))] * 2, config)
        rows, x = torch.zeros(5, 3), drawn(2, 3)
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            for count in (1.0, 8.0, 0.0, 2.0, 7.0):
                part = rows[3 if count <= 2 else 0:]
                near(traced(x, torch.tensor([count]))[0], part.sum() + x)
                part += x.sum(0) + count
                torch.jit.save(traced, file.name)
                traced = torch.jit.load(file.name)
        near(list(traced.states._parameters.values()), [rows])
    raises(ValueError, "on one core", lambda: torch_neuronx.set_multicore(traced))
    raises(TypeError, "a list of tensors", lambda: torch_neuronx.BucketModelConfig(get, shared_state_buffer=[1]))
    wrong = torch_neuronx.BucketModelConfig(lambda: torch.jit.script(by_number), shared_state_buffer=[torch.zeros(4, 3)], func_kwargs={"rows": 5})
    raises(ValueError, "bucket 0 has the states [{'dtype': 'float32', 'shape': [5, 3]}], and of shared_state_buffer it is given [{'dtype': 'float32', 'shape': [4, 3]}]",
           lambda: torch_neuronx.bucket_model_trace(get, [(drawn(2, 3), torch.zeros(1))], wrong))


def analysis() -> None:
    whole = torch_neuronx.analyze(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), drawn(2, 4))
    assert whole["support_percentage"] == "100.00%" and not whole["unsupported_operators"], whole
    assert whole["supported_operators"] == {"aten::linear": 1, "aten::relu": 1}, whole
    part = torch_neuronx.analyze(lambda x: torch.bincount(x.relu(), minlength=5).float().tanh(), numbers(4, 6))
    assert part["unsupported_operators"] and part["support_percentage"] != "100.00%", part
    failure = part["unsupported_operators"][0]
    assert failure["kind"] == "aten::bincount" and failure["failureAt"] in ("Lowering to HLO", "neuronx-cc"), part
    assert "aten::tanh" in part["supported_operators"]


class Divided(nn.Module):
    """What is not compiled (bincount, a shape and a number that the data say) amid what is, things changed in place, a constant"""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True))

    def forward(self, x: Tensor, more: list[Tensor]) -> tuple:
        y = self.layers(x) + more[0]
        y.add_(1)
        counts = torch.bincount((x.abs() * 3).long().flatten(), minlength=3)
        return {"a": (counts.sum() * y) @ y.T, "b": x[x > 0].sum()}, (y.sort()[0], counts, torch.tensor([1.0, 2, 3]) * x[0, 0].item())


def partitions() -> None:
    model, x = Divided().eval(), drawn(3, 4)
    traced = torch_neuronx.trace(model, (x, [drawn(3, 4)]), partitioner_config=torch_neuronx.PartitionerConfig())
    assert [name for name, _ in traced.named_children()] == ["neuron1", "neuron0"], traced
    with tempfile.NamedTemporaryFile(suffix=".pt") as file, torch.no_grad():
        torch.jit.save(traced, file.name)
        for trace in (traced, torch.jit.load(file.name)):
            for value in (x, x * -2 + 1):
                near(trace(value, [value]), model(value, [value]))
    raises(torch.jit.Error, "input 1 is of the shape [2, 4] and has to be float32[3, 4]", lambda: traced(x, [x[:2]]))
    whole = torch_neuronx.trace(nn.Linear(4, 2), x, partitioner_config=torch_neuronx.PartitionerConfig())
    assert not any("neuron0" in name for name, _ in whole.named_modules()), "all is compiled, and yet divided"


def partitions_chosen() -> None:
    """Operators that are to stay on the CPU, with their weights; any batch, on two cores"""
    first, second = (nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.LayerNorm(6), nn.Linear(6, 2)).eval() for _ in range(2))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        config = torch_neuronx.PartitionerConfig(ops_to_partition={"aten::layer_norm"}, min_subgraph_size=1, max_subgraph_count=2,
                                                 trace_kwargs={"inline_weights_to_neff": False, "compiler_workdir": folder, "compiler_args": "--optlevel 1"})
        traced = torch_neuronx.trace(first, drawn(3, 4), partitioner_config=config)
        assert {path.name for path in Path(folder).iterdir()} == {"neuron0", "neuron1"}
        near(traced(drawn(3, 4)), first(drawn(3, 4)))
        torch_neuronx.replace_weights(traced, second)
        near(traced(drawn(3, 4)), second(drawn(3, 4)))
        parallel = torch_neuronx.DataParallel(traced)
        for size in (1, 3, 8):
            near(parallel(drawn(size, 4)), second(drawn(size, 4)))
        parallel.disable_dynamic_batching()
        raises(torch.jit.Error, "input 0 is of the shape [2, 4]", lambda: traced(drawn(2, 4)))


def partitions_refused() -> None:
    def of(**how: object) -> torch.jit.ScriptModule:
        config = torch_neuronx.PartitionerConfig(**{"ops_to_partition": {"aten::relu"}, "model_support_percentage_threshold": 0, **how})
        return torch_neuronx.trace(lambda x: (x.tanh() + 1).relu().sin(), drawn(3), partitioner_config=config)

    raises(ValueError, "75.00% of the operators are compiled, model_support_percentage_threshold is 80.00%: 3 of 4 operators are in NEFFs of",
           lambda: of(model_support_percentage_threshold=0.8))
    raises(ValueError, "the smallest NEFF has 1 operators, min_subgraph_size is 2", lambda: of(min_subgraph_size=2))
    raises(ValueError, "there are 2 NEFFs, max_subgraph_count is 1", lambda: of(max_subgraph_count=1))
    raises(ValueError, "nothing is left to compile", lambda: of(ops_to_partition={"aten::tanh", "aten::add", "aten::relu", "aten::sin"}))
    raises(ValueError, "--nonsense", lambda: of(trace_kwargs={"compiler_args": "--nonsense"}))
    raises(ValueError, "threshold is from 0 to 1, not 50", lambda: of(model_support_percentage_threshold=50))
    raises(ValueError, "max_subgraph_count is from 1 on, or -1, not 0", lambda: of(max_subgraph_count=0))
    raises(ValueError, "as aten::sort is one, not 'relu'", lambda: of(ops_to_partition={"relu"}))
    raises(ValueError, "not ['cleanup']", lambda: of(analyze_parameters={"cleanup": True}))
    raises(TypeError, "not dict", lambda: torch_neuronx.trace(nn.Linear(2, 2), drawn(1, 2), partitioner_config={"min_subgraph_size": 1}))
    model = Cached().eval()
    raises(ValueError, "no states", lambda: torch_neuronx.trace(model, drawn(1, 8), input_output_aliases=model.aliases(), partitioner_config=torch_neuronx.PartitionerConfig()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        of(ops_to_partition={"aten::relu", "aten::rule"})
    assert any("aten::rule is not in the model, which has aten::add, aten::relu" in str(warning.message) for warning in said)


def aliases_refused() -> None:
    model = Cached().eval()
    raises(ValueError, "1 of its tensors are no parameters", lambda: torch_neuronx.trace(model, drawn(1, 8), input_output_aliases={torch.zeros(6, 8): 1}))
    raises(ValueError, "keys is", lambda: torch_neuronx.trace(model, drawn(1, 8), input_output_aliases={model.keys: 0}))
    raises(ValueError, "not there: there are 4", lambda: torch_neuronx.trace(model, drawn(1, 8), input_output_aliases={model.keys: 9}))
    raises(ValueError, "several states", lambda: torch_neuronx.trace(model, drawn(1, 8), input_output_aliases={model.keys: 1, model.values: 1}))


POINTS = {"states": states, "nested": nested, "states, saved": states_saved, "aliases refused": aliases_refused, "weights": weights, "batches": batches, "parallel": parallel,
          "placement": placement, "buckets": buckets, "shared states": shared_states, "analysis": analysis, "partitions": partitions, "partitions, chosen": partitions_chosen, "partitions, refused": partitions_refused}


if __name__ == "__main__":
    torch.manual_seed(0)
    run_points(POINTS)
