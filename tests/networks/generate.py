#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a network as an HLO module with its weights inside, inputs, float64 results and error bounds.

usage: generate.py [--small] [--module-only] OUT_DIR NETWORK...     (no NETWORK: list them)

OUT_DIR/NETWORK/module.hlo.pb    as JAX exports it, fp32
                in<i>.npy        the inputs
                out<i>.npy       the float64 results, each as two float32 numbers whose sum it is
                sigma_<mode><i>.npy    standard deviation of the error for --auto-cast <mode> (errors.py; zoo: sampled.py)
OUT_DIR/cases.txt gets a line for each: network, inputs, results.
--module-only leaves out the results and their errors: what the benchmarks need.

Needs jax and numpy. Everything is seeded.
"""

import argparse
import pathlib
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np

import errors
import sampled
import text
import vision
import zoo
from layers import Network

NETWORKS: dict[str, Callable[[bool], Network]] = {
    "mlp": vision.mlp, "digits": vision.digits, "lenet5": vision.lenet5, "resnet50": vision.resnet50,
    "mobilenet_v2": vision.mobilenet_v2, "yolo_head": vision.yolo_head, "lstm": text.lstm,
    "bert_base": text.bert_base, "bert_base_8": text.bert_base_8, "distilbert": text.distilbert,
    "vit_b16": vision.vit_b16, "gpt2_step": text.gpt2_step,
} | zoo.NETWORKS


def module(name: str, net: Network) -> bytes:
    weights = jax.tree.map(jnp.asarray, net.weights)

    def fn(*inputs: jax.Array) -> object:
        return net.fn(weights, *inputs)

    fn.__name__ = name
    lowered = jax.jit(fn, keep_unused=True).lower(*net.inputs)
    return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()


def pair(x: np.ndarray) -> np.ndarray:
    high = x.astype(np.float32)
    return np.stack([high, (x - high).astype(np.float32)])


def write(out: pathlib.Path, name: str, small: bool, module_only: bool) -> str:
    """The line of cases.txt"""
    net = NETWORKS[name](small)
    to = out / name
    to.mkdir(parents=True, exist_ok=True)
    (to / "module.hlo.pb").write_bytes(module(name, net))
    for i, x in enumerate(net.inputs):
        np.save(to / f"in{i}.npy", x)
    if module_only:
        return f"{name} {len(net.inputs)} 0"
    with jax.enable_x64(True):
        analyse = sampled.analyse if name in zoo.NETWORKS else errors.analyse
        results = analyse(net.fn, net.weights, net.inputs)
    for i, (x, sigmas) in enumerate(results):
        np.save(to / f"out{i}.npy", pair(x))
        for mode, sigma in zip(errors.MODES, sigmas):
            np.save(to / f"sigma_{mode.name}{i}.npy", sigma.astype(np.float32))
    return f"{name} {len(net.inputs)} {len(results)}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--module-only", action="store_true")
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("network", nargs="*", choices=[*NETWORKS, []])
    args = parser.parse_args()
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    if not args.out or not args.network:
        print("\n".join(NETWORKS))
        return
    lines = [write(args.out, name, args.small, args.module_only) for name in args.network]
    (args.out / "cases.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
