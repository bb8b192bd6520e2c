#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""README's program and the case study's small form on the plug-in. As TAP.

usage: examples.py    in an environment as jax_plugin.py's

docs/frameworks.md shows `examples/jax/digits.py`: the text is that file's, its output what that page and README have. A step of
`examples/bert` gives what JAX's CPU does, BF16 alone rounded at random trains better than rounded to nearest, and its batches
divided among devices give what they give on one.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BERT = ROOT / "examples" / "bert"
README, PAGE = ((ROOT / name).read_text() for name in ("README.md", "docs/frameworks.md"))
CHIPS = {"JAX_PLATFORMS": "neuron,cpu", "NEURON_EMU": os.environ.get("NEURON_EMU", "trn1.2xlarge")}
CPU = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
SMALL = ["--layers", "1", "--hidden", "32", "--rate", "3e-3", "--accumulate", "2"]


class Skipped(Exception):
    pass


def shard_map_is_missing() -> bool:
    return tuple(map(int, importlib.metadata.version("jax").split(".")[:2])) < (0, 7)


CASES: list[tuple[str, Callable[[], None]]] = []


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES.append((function.__name__.replace("_", " "), function))
    return function


def python(env: dict[str, str], *argv: object) -> str:
    argv = [sys.executable, "-B", *map(str, argv)]
    return subprocess.run(argv, env={**os.environ, **env}, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def losses(env: dict[str, str], *options: object) -> np.ndarray:
    """The losses of a training on words, step by step"""
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        python(env, BERT / "train.py", *SMALL, *options, "--output", out.name)
        return np.array([float(line.split(",")[1]) for line in Path(out.name).read_text().splitlines()[1:]])


@case
def page_shows_the_file() -> None:
    lines = (ROOT / "examples/jax/digits.py").read_text().splitlines()[1:]
    assert len(lines) == 10 and "\n".join("    " + line for line in lines) in PAGE


@case
def readme_shows_what_it_prints() -> None:
    def numbers(text: str) -> list[tuple[str, float]]:
        return [(epoch, float(loss)) for epoch, loss in re.findall(r"NC_v2, epoch (\d): loss ([\d.]+)", text)]

    ours, shown = numbers(python(CHIPS, "examples/jax/digits.py")), numbers(README)
    assert shown == numbers(PAGE), (shown, numbers(PAGE))
    assert len(shown) == 5 and [epoch for epoch, _ in ours] == [epoch for epoch, _ in shown], ours
    # the same bits with the same JAX; another may lower the program otherwise
    np.testing.assert_allclose([loss for _, loss in ours], [loss for _, loss in shown], atol=0.02)


@case
def bert_is_as_on_the_cpu() -> None:
    ours, theirs = (losses(env, "--steps", 20) for env in (CHIPS, CPU))
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=1e-4)
    np.testing.assert_allclose(ours, theirs, rtol=1e-2)  # what differs grows from step to step


@case
def bert_with_dropout() -> None:
    ours, theirs = (losses(env, "--steps", 3, "--dropout", 0.1) for env in (CHIPS, CPU))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@case
def rounding_at_random_trains_better_than_to_nearest() -> None:
    # a rate at which most steps of bf16 weights are less than half an ulp
    slow = ["--steps", 120, "--rate", 3e-4]
    fp32, nearest, random = (losses(CHIPS, *slow, "--mode", mode)[-20:].mean() for mode in ("fp32", "bf16", "bf16-sr"))
    assert abs(random - fp32) < 0.5 * abs(nearest - fp32), (fp32, nearest, random)


@case
def four_devices_of_the_cpu_give_what_one_does() -> None:
    if shard_map_is_missing():
        raise Skipped("this JAX has no jax.shard_map")
    one, four = (losses(CPU, "--steps", 5, "--devices", devices) for devices in (1, 4))
    np.testing.assert_allclose(one, four, rtol=1e-4)


@case
def two_cores_give_what_one_does() -> None:
    if shard_map_is_missing():
        raise Skipped("this JAX has no jax.shard_map")
    one, two = (losses(CHIPS, "--steps", 5, "--devices", devices) for devices in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-5)


@case
def nobody_predicts_better_than_the_floor() -> None:
    sys.path.insert(0, str(BERT))
    import text

    # by hand: one language of two words that follow each other; whatever is hidden, its neighbours tell
    source = text.Text(0, 2, 4, 16)
    source.chains[:] = np.roll(np.eye(4), 1, 1)
    source.stationary[:] = 0.25
    batch = source.batch(np.random.default_rng(0), 64)
    words, following = source.best(batch)
    assert words < 1e-2 and following < 1e-2, (words, following)
    # words without an order: nothing tells one of the four from the others, but for those that stayed
    source.chains[:] = 0.25
    words, following = source.best(source.batch(np.random.default_rng(0), 64))
    assert 0.9 * np.log(4) < words < np.log(4), words


def main() -> int:
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (name, function) in enumerate(CASES, 1):
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skipped as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
