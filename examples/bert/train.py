#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""BERT's pre-training on text whose best loss is known, in one way to hold numbers; the losses of each step as CSV.

usage: train.py --mode fp32|bf16|bf16-sr|master [--seed N] [--steps N] [--devices N] [--output FILE]

fp32     weights, gradients and the optimizer's state in fp32
bf16     all of them in bf16, rounded to nearest
bf16-sr  all of them in bf16, rounded at random (NEURON_RT_STOCHASTIC_ROUNDING_EN=1, which this sets)
master   products in bf16; weights and the optimizer's state in fp32
"""

import argparse
import functools
import os
import sys
import time
from typing import Any

from recipe import parse

OPTIONS = parse() if __name__ == "__main__" else argparse.Namespace(mode="fp32", seed=0)
if OPTIONS.mode == "bf16-sr":  # read when the chips are taken
    os.environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"] = "1"
    os.environ["NEURON_RT_STOCHASTIC_ROUNDING_SEED"] = str(OPTIONS.seed)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import model  # noqa: E402
import recipe  # noqa: E402
import text  # noqa: E402
from recipe import BETA1, BETA2, CLIP, DECAY, EPSILON, LOOK  # noqa: E402

State = tuple[model.Params, model.Params, model.Params]  # weights, both moments


def adamw(state: State, gradients: model.Params, rate: jax.Array, step: jax.Array) -> State:
    """AdamW (Loshchilov and Hutter, 2019); what the weights are of, everything is of"""
    def one(name: str) -> tuple[jax.Array, ...]:
        w, m, v = (part[name] for part in state)
        g = gradients[name].astype(w.dtype)
        lr = rate.astype(w.dtype)
        # not v * 0.999: bf16 has no number between 0.996 and 1
        m, v = m + (g - m) * (1 - BETA1), v + (g * g - v) * (1 - BETA2)
        scale1 = (1 / (1 - BETA1 ** step)).astype(w.dtype)
        scale2 = (1 / (1 - BETA2 ** step)).astype(w.dtype)
        update = m * scale1 / (jnp.sqrt(v * scale2) + jnp.asarray(EPSILON, w.dtype))
        if w.ndim == 2:
            update = update + w * jnp.asarray(DECAY, w.dtype)
        return w - lr * update, m, v

    made = {name: one(name) for name in state[0]}
    weights, first, second = ({name: parts[i] for name, parts in made.items()} for i in range(3))
    return weights, first, second


def clip(gradients: model.Params) -> model.Params:
    """To a global norm of one"""
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g.astype(jnp.float32))) for g in gradients.values()))
    factor = jnp.minimum(1.0, CLIP / (norm + 1e-6))
    return {name: g * factor.astype(g.dtype) for name, g in gradients.items()}


def step(size: recipe.Size, mode: str, axis: str | None, state: State, batches: Any, key: jax.Array, rate: jax.Array,
         number: jax.Array) -> tuple[State, jax.Array]:
    """One step; batches have an axis in front, over which gradients are accumulated. axis: the devices', over which too"""
    weights = state[0]
    if mode == "master":
        weights = {name: w.astype(jnp.bfloat16) for name, w in weights.items()}
    keys = jax.random.split(key, batches[0].shape[0]) if size.dropout else None

    def more(carry: Any, at: Any) -> tuple[Any, None]:
        batch, used = at
        counts = jnp.stack([batch[3].sum(), batch[4].size]).astype(jnp.float32)
        counts = jnp.maximum(jax.lax.psum(counts, axis) if axis else counts, 1)
        gradients, losses = jax.grad(lambda w: model.loss(size, w, batch, counts, used), has_aux=True)(weights)
        return jax.tree.map(jnp.add, carry, (gradients, losses)), None

    nothing = ({name: jnp.zeros_like(w) for name, w in weights.items()}, jnp.zeros(2, jnp.float32))
    (gradients, losses), _ = jax.lax.scan(more, nothing, (batches, keys))
    count = batches[0].shape[0]
    gradients, losses = {name: g / count for name, g in gradients.items()}, losses / count
    if axis:
        gradients, losses = jax.lax.psum((gradients, losses), axis)
    return adamw(state, clip(gradients), rate, number), losses


def make_step(size: recipe.Size, mode: str, devices: int) -> Any:
    if devices == 1:
        return jax.jit(functools.partial(step, size, mode, None), donate_argnums=0)
    from jax.sharding import Mesh, PartitionSpec
    mesh = Mesh(np.array(jax.devices()[:devices]), ("data",))
    parts = PartitionSpec(None, "data"), PartitionSpec()
    inside = functools.partial(step, size, mode, "data")
    return jax.jit(jax.shard_map(inside, mesh=mesh, in_specs=(parts[1], parts[0], parts[1], parts[1], parts[1]),
                                 out_specs=parts[1], check_vma=False), donate_argnums=0)


def first_state(size: recipe.Size, mode: str, seed: int) -> State:
    dtype = jnp.bfloat16 if mode in ("bf16", "bf16-sr") else jnp.float32
    weights = {name: jnp.asarray(w.astype(dtype)) for name, w in recipe.initial(size, seed).items()}
    zeros = {name: np.zeros(w.shape, w.dtype) for name, w in weights.items()}
    return weights, {n: jnp.asarray(z) for n, z in zeros.items()}, {n: jnp.asarray(z) for n, z in zeros.items()}


def still(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """The share of weights that stay, or would in bf16 by rounding to nearest, as the step is less than half of their ulp"""
    stay = count = 0
    for name, w in before.items():
        old = w.astype(jnp.bfloat16)
        new = (old.astype(np.float32) + (after[name].astype(np.float32) - w.astype(np.float32))).astype(jnp.bfloat16)
        stay, count = stay + int((new == old).sum()), count + w.size
    return stay / count


def train(options: argparse.Namespace, report: Any) -> State:
    source = text.Text(1, options.languages, options.words, options.length)
    size = recipe.Size(options.layers, options.hidden, options.heads, source.vocabulary, options.length, options.dropout)
    state = first_state(size, options.mode, options.seed)
    one = make_step(size, options.mode, options.devices)
    rng, key = np.random.default_rng((options.seed, 1)), jax.random.key(options.seed)
    for i in range(options.steps):
        made = source.batch(rng, options.batch * options.accumulate)
        batches = tuple(a.reshape(options.accumulate, options.batch, *a.shape[1:]) for a in made.arrays())
        used = jax.random.fold_in(key, i) if options.dropout else key
        before = jax.device_get(state[0]) if i % LOOK == LOOK - 1 else None
        state, losses = one(state, batches, used, np.float32(recipe.schedule(options, i)), np.float32(i + 1))
        report(i, np.asarray(losses), before and still(before, jax.device_get(state[0])))
    return state


def main() -> None:
    out = open(OPTIONS.output, "w") if OPTIONS.output else sys.stdout
    start = time.monotonic()

    def report(i: int, losses: np.ndarray, stay: float | None) -> None:
        share = "" if stay is None else f"{stay:.4f}"
        print(f"{i},{losses[0]:.6f},{losses[1]:.6f},{share},{time.monotonic() - start:.2f}", file=out, flush=True)

    print("step,words,next,still,seconds", file=out)
    train(OPTIONS, report)


if __name__ == "__main__":
    main()
