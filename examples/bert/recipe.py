# SPDX-License-Identifier: MIT
"""What the study's trainings have in common, in JAX and in PyTorch: options, rates, the model's size and its first weights. NumPy alone."""

import argparse
import dataclasses
import math
from pathlib import Path

import numpy as np

MODES = ("fp32", "bf16", "bf16-sr", "master")
BETA1, BETA2, EPSILON, DECAY, CLIP, WARM_UP = 0.9, 0.999, 1e-6, 0.01, 1.0, 0.1  # of AdamW, of clipping to a global norm, of the rate
LOOK = 50  # steps from one look at the weights to the next


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="BERT's pre-training in one way to hold numbers")
    parser.add_argument("--mode", choices=MODES, default="fp32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--length", type=int, default=16, help="of a pair of sentences")
    parser.add_argument("--languages", type=int, default=2)
    parser.add_argument("--words", type=int, default=8, help="of each language")
    parser.add_argument("--batch", type=int, default=16, help="pairs at once")
    parser.add_argument("--accumulate", type=int, default=2, help="batches a step")
    parser.add_argument("--rate", type=float, default=4e-4, help="the highest learning rate")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--devices", type=int, default=1, help="divide each batch among them")
    parser.add_argument("--output", type=Path)
    return parser.parse_args(words)


def schedule(options: argparse.Namespace, step: int) -> float:
    """Up in a line for a tenth of the steps, and down in one to a tenth of the highest"""
    warm = max(1, int(WARM_UP * options.steps))
    if step < warm:
        return options.rate * (step + 1) / warm
    return options.rate * (1 - 0.9 * (step - warm) / (options.steps - warm))


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    length: int
    dropout: float = 0.0


LARGE = Size(24, 1024, 16, 30522, 512)


def shapes(size: Size) -> dict[str, tuple[int, ...]]:
    h, out = size.hidden, {}
    out.update({"word": (size.vocabulary, h), "position": (size.length, h), "segment": (2, h)})

    def dense(name: str, n: int, m: int) -> None:
        out.update({f"{name}.w": (n, m), f"{name}.b": (m,)})

    def norm(name: str) -> None:
        out.update({f"{name}.gain": (h,), f"{name}.bias": (h,)})

    norm("embedding")
    for i in range(size.layers):
        for part in ("query", "key", "value", "attended"):
            dense(f"{i}.{part}", h, h)
        norm(f"{i}.middle")
        dense(f"{i}.wide", h, 4 * h)
        dense(f"{i}.narrow", 4 * h, h)
        norm(f"{i}.end")
    dense("pooler", h, h)
    dense("next", h, 2)
    dense("transform", h, h)
    norm("transform")
    out["words.b"] = (size.vocabulary,)
    return out


def initial(size: Size, seed: int) -> dict[str, np.ndarray]:
    """Normal, 0.02 as BERT has it at a width of 1024, and as much wider as the layers are narrower"""
    rng = np.random.default_rng(seed)
    scale = 0.02 * math.sqrt(1024 / size.hidden)
    made = {}
    for name, shape in shapes(size).items():
        if len(shape) == 2:
            made[name] = rng.standard_normal(shape, np.float32) * np.float32(scale)
        else:
            made[name] = np.full(shape, float(name.endswith("gain")), np.float32)
    return made
