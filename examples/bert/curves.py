#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what the trainings wrote: of each mode the mean of its seeds and between which they lie, and the best possible loss.

usage: curves.py DIRECTORY OUT.svg    DIRECTORY has MODE-SEED.csv, or folders jax, torch_xla and neuron of these, which are drawn side by side;
                                      prints the tables of the ends as well
"""

import io
import sys
from pathlib import Path

import matplotlib
import numpy as np

import recipe
import text

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "", "font.size": 10})
import matplotlib.pyplot as plt  # noqa: E402

NAMES = {"fp32": "FP32", "bf16": "BF16, to nearest", "bf16-sr": "BF16, at random", "master": "BF16, FP32 master weights"}
COLOURS = {"fp32": "#222222", "bf16": "#d1495b", "bf16-sr": "#2e86ab", "master": "#8fb339"}
WAYS = {"jax": "JAX", "torch_xla": "torch_xla", "neuron": "PyTorch's device neuron"}
BIN, LAST = 50, 250  # steps that a point is the mean of; that the end is
BEST_OF = 4096  # pairs


def read(directory: Path, mode: str) -> np.ndarray:
    """[seed, step]"""
    files = sorted(directory.glob(f"{mode}-[0-9]*.csv"))
    return np.array([np.genfromtxt(path, delimiter=",", names=True)["words"] for path in files])


def draw(axes: plt.Axes, curves: dict[str, np.ndarray], best: float) -> None:
    for order, (mode, losses) in enumerate(curves.items()):
        steps = losses.shape[1] // BIN
        points = losses[:, :steps * BIN].reshape(len(losses), steps, BIN).mean(2)
        at = (np.arange(steps) + 0.5) * BIN
        axes.fill_between(at, points.min(0), points.max(0), color=COLOURS[mode], alpha=0.2, linewidth=0)
        axes.plot(at, points.mean(0), color=COLOURS[mode], label=NAMES[mode], linewidth=3 - 0.6 * order, linestyle="-" if mode in ("fp32", "bf16") else "--")
        ends = losses[:, -LAST:].mean(1)
        print(f"{NAMES[mode]:<26} {ends.mean():.3f}   " + " ".join(f"{end:.3f}" for end in ends))
    axes.axhline(best, color="#777777", linewidth=1, linestyle=":", label="the best possible")
    axes.set(xlabel="step", ylim=(0.6, 2.6), xlim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    directory, out = Path(sys.argv[1]), Path(sys.argv[2])
    places = {title: directory / name for name, title in WAYS.items() if (directory / name).is_dir()} or {"": directory}
    options = recipe.parse([])
    source = text.Text(1, options.languages, options.words, options.length)
    best = source.best(source.batch(np.random.default_rng(0), BEST_OF))[0]
    figure, panels = plt.subplots(1, len(places), figsize=(9, 4.5), sharey=True, squeeze=False)
    for axes, (title, place) in zip(panels[0], places.items()):
        print(title, end="\n" * bool(title))
        draw(axes, {mode: losses for mode in recipe.MODES if (losses := read(place, mode)).size}, best)
        axes.set_title(title, fontsize=10)
    print(f"{'the best possible':<26} {best:.3f}")
    panels[0, 0].set_ylabel("loss of words, nats")
    panels[0, -1].legend(frameon=False)
    figure.tight_layout()
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    drawn = svg.getvalue()
    out.write_text("<!-- SPDX-License-Identifier: MIT -->\n" + drawn[drawn.index("<svg"):])


if __name__ == "__main__":
    main()
