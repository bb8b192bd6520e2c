#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a network as an HLO module with its weights inside, inputs, float64 results and error bounds.

usage: generate.py [--small] [--module-only] OUT_DIR NETWORK...     (no NETWORK: list them)

OUT_DIR/NETWORK/module.hlo.pb    as JAX exports it, fp32
                in<i>.npy        the inputs
                out<i>.npy       the float64 results, each as two float32 numbers whose sum it is
                sigma_<mode><i>.npy    standard deviation of the error for --auto-cast <mode> (errors.py; of the zoo
                                       sampled.py)
--module-only leaves out the results and their errors: what the benchmarks need.
--small makes small shapes of them, for tests/data: each kind of file in one, without its number, the arrays one after
the other in a row (inputs by their bits), and OUT_DIR/cases.txt with a line for each network: its name, the inputs,
`:`, the results, each by its type (f, i: fp32, int32) and count of elements.

Needs jax and numpy. Everything is seeded.
"""

import argparse
import pathlib
from typing import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

import errors
import sampled
import text
import vision
import zoo
from layers import Network

Results = list[tuple[np.ndarray, list[np.ndarray]]]  # as analyse gives them

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


def write_small(to: pathlib.Path, net: Network, results: Results) -> str:
    """The line of cases.txt"""
    np.save(to / "in.npy", np.concatenate([x.ravel().view(np.uint32) for x in net.inputs]))
    np.save(to / "out.npy", np.concatenate([pair(x).reshape(2, -1) for x, _ in results], 1))
    for i, mode in enumerate(errors.MODES):
        sigma = np.concatenate([sigmas[i].ravel() for _, sigmas in results])
        np.save(to / f"sigma_{mode.name}.npy", sigma.astype(np.float32))

    def words(arrays: Iterable[np.ndarray]) -> list[str]:
        return [f"{'f' if errors.is_real(x) else 'i'}{x.size}" for x in arrays]

    return " ".join([to.name, *words(net.inputs), ":", *words(x for x, _ in results)])


def write_full(to: pathlib.Path, net: Network, results: Results) -> None:
    for i, x in enumerate(net.inputs):
        np.save(to / f"in{i}.npy", x)
    for i, (x, sigmas) in enumerate(results):
        np.save(to / f"out{i}.npy", pair(x))
        for mode, sigma in zip(errors.MODES, sigmas):
            np.save(to / f"sigma_{mode.name}{i}.npy", sigma.astype(np.float32))


def analysed(name: str, net: Network) -> Results:
    with jax.enable_x64(True):
        analyse = sampled.analyse if name in zoo.NETWORKS else errors.analyse
        return analyse(net.fn, net.weights, net.inputs)


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
    lines = []
    for name in args.network:
        net, to = NETWORKS[name](args.small), args.out / name
        to.mkdir(parents=True, exist_ok=True)
        (to / "module.hlo.pb").write_bytes(module(name, net))
        results = [] if args.module_only else analysed(name, net)
        if args.small:
            lines.append(write_small(to, net, results))
        else:
            write_full(to, net, results)
    if lines:
        (args.out / "cases.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
