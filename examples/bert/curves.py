#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what train.py wrote: of each mode the mean of its seeds and between which they lie, and the best possible loss.

usage: curves.py DIRECTORY OUT.svg    DIRECTORY has MODE-SEED.csv; prints the table of the ends as well
"""

import io
import sys
from pathlib import Path

import matplotlib
import numpy as np

import text
import train

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "", "font.size": 10})
import matplotlib.pyplot as plt  # noqa: E402

NAMES = {"fp32": "FP32", "bf16": "BF16, to nearest", "bf16-sr": "BF16, at random", "master": "BF16, FP32 master weights"}
COLOURS = {"fp32": "#222222", "bf16": "#d1495b", "bf16-sr": "#2e86ab", "master": "#8fb339"}
BIN, LAST = 50, 250  # steps that a point is the mean of; that the end is
BEST_OF = 4096  # pairs


def read(directory: Path, mode: str) -> np.ndarray:
    """[seed, step]"""
    files = sorted(directory.glob(f"{mode}-[0-9]*.csv"))
    return np.array([np.genfromtxt(path, delimiter=",", names=True)["words"] for path in files])


def main() -> None:
    directory, out = Path(sys.argv[1]), Path(sys.argv[2])
    curves = {mode: losses for mode in train.MODES if (losses := read(directory, mode)).size}
    options = train.parse([])
    source = text.Text(1, options.languages, options.words, options.length)
    best = source.best(source.batch(np.random.default_rng(0), BEST_OF))[0]
    figure, axes = plt.subplots(figsize=(9, 4.5))
    for order, (mode, losses) in enumerate(curves.items()):
        steps = losses.shape[1] // BIN
        points = losses[:, :steps * BIN].reshape(len(losses), steps, BIN).mean(2)
        at = (np.arange(steps) + 0.5) * BIN
        axes.fill_between(at, points.min(0), points.max(0), color=COLOURS[mode], alpha=0.2, linewidth=0)
        axes.plot(at, points.mean(0), color=COLOURS[mode], label=NAMES[mode], linewidth=3 - 0.6 * order, linestyle="-" if mode in ("fp32", "bf16") else "--")
        ends = losses[:, -LAST:].mean(1)
        print(f"{NAMES[mode]:<26} {ends.mean():.3f}   " + " ".join(f"{end:.3f}" for end in ends))
    print(f"{'the best possible':<26} {best:.3f}")
    axes.axhline(best, color="#777777", linewidth=1, linestyle=":", label="the best possible")
    axes.set(xlabel="step", ylabel="loss of words, nats", ylim=(0.6, 2.6), xlim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    drawn = svg.getvalue()
    out.write_text("<!-- SPDX-License-Identifier: MIT -->\n" + drawn[drawn.index("<svg"):])


if __name__ == "__main__":
    main()
