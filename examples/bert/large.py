#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two steps of BERT-Large itself, 336 million parameters, in FP32 on one batch: what they take, and that the loss falls.

usage: large.py [--batch N] [--length N]
"""

import argparse
import dataclasses
import functools
import resource
import time

import jax
import numpy as np

import recipe
import train


def memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


def main() -> None:
    parser = argparse.ArgumentParser(description="two steps of BERT-Large")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    options = parser.parse_args()
    size, rng = dataclasses.replace(recipe.LARGE, length=options.length), np.random.default_rng(0)
    words = rng.integers(4, size.vocabulary, (1, options.batch, size.length)).astype(np.int32)
    segments = np.broadcast_to(np.arange(size.length) >= size.length // 2, words.shape).astype(np.int32)
    chosen = (rng.random(words.shape) < 0.15).astype(np.int32)
    batches = (np.where(chosen, 3, words), segments, words, chosen, np.arange(options.batch, dtype=np.int32)[None] % 2)

    state = train.first_state(size, "fp32", 0)
    print(f"parameters: {sum(w.size for w in state[0].values()) / 1e6:.0f} million; memory {memory()}", flush=True)
    start, cpu = time.monotonic(), time.process_time()
    rate, number = np.float32(1e-4), np.float32(1)
    one = jax.jit(functools.partial(train.step, size, "fp32", None, key=None), donate_argnums=0)
    one = one.lower(state, batches, rate=rate, number=number).compile()
    print(f"compiled in {time.monotonic() - start:.1f} s, {time.process_time() - cpu:.1f} s of processors; memory {memory()}", flush=True)
    for i in range(2):
        start, cpu = time.monotonic(), time.process_time()
        state, losses = one(state, batches, rate=rate, number=np.float32(i + 1))
        losses = np.asarray(losses)
        print(f"step {i + 1}: {time.monotonic() - start:.1f} s, {time.process_time() - cpu:.1f} s of processors; loss of words "
              f"{losses[0]:.4f}, of the next sentence {losses[1]:.4f}; memory {memory()}", flush=True)


if __name__ == "__main__":
    main()
