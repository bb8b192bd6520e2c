#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export a network of torchvision or transformers with PyTorch's exporter, and inputs for it.

usage: export.py OUT_DIR NETWORK     (without arguments: list them)

OUT_DIR/NETWORK/model.onnx    fp32, weights inside, inputs input0, ... and outputs output0, ...
                in<i>.npy     the inputs

The weights are those that the library starts from, with noise on what starts as one number (biases, scales),
and the statistics of batch normalizations are those of one random batch: values stay near 1 as in a trained network.
Needs torch 1.13, torchvision and transformers. Everything is seeded.
"""

import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
import torch
import torchvision
import transformers

OPSET = 17


class Network(NamedTuple):
    model: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    outputs: int
    open: dict[int, str]  # dimensions of the inputs and outputs that the model leaves open


def roughen(model: torch.nn.Module) -> None:
    for p in model.parameters():
        if p.numel() > 1 and p.min() == p.max():
            p.data += 0.1 * torch.randn_like(p)


def settle(model: torch.nn.Module, batch: torch.Tensor) -> None:
    """Running statistics of a batch"""
    for part in model.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(batch)


def image_network(make: Callable[..., torch.nn.Module], batch_open: bool) -> Network:
    model = make(weights=None)
    roughen(model)
    settle(model, torch.randn(2, 3, 224, 224))
    return Network(model, (torch.randn(1, 3, 224, 224),), 1, {0: "batch"} if batch_open else {})


def resnet50() -> Network:
    return image_network(torchvision.models.resnet50, False)


def mobilenet_v2() -> Network:
    return image_network(torchvision.models.mobilenet_v2, True)


def bert_base() -> Network:
    """Token ids and their mask, as a tokenizer gives them: int64"""
    config = transformers.BertConfig(return_dict=False)
    model = transformers.BertModel(config)
    roughen(model)
    mask = torch.ones(1, 128, dtype=torch.int64)
    mask[:, 96:] = 0
    return Network(model, (torch.randint(0, config.vocab_size, (1, 128)), mask), 2, {0: "batch", 1: "sequence"})


NETWORKS: dict[str, Callable[[], Network]] = {
    "onnx_resnet50": resnet50, "onnx_mobilenet_v2": mobilenet_v2, "onnx_bert_base": bert_base,
}


def export(to: Path, net: Network) -> None:
    names = [f"input{i}" for i in range(len(net.inputs))], [f"output{i}" for i in range(net.outputs)]
    ranks = {name: x.dim() for name, x in zip(names[0], net.inputs)}
    axes: dict[str, Any] = {name: {d: word for d, word in net.open.items() if d < ranks.get(name, 2)}
                            for name in sum(names, [])}
    torch.onnx.export(net.model.eval(), net.inputs, str(to / "model.onnx"), opset_version=OPSET,
                      input_names=names[0], output_names=names[1], dynamic_axes=axes if net.open else None)
    for i, x in enumerate(net.inputs):
        np.save(to / f"in{i}.npy", x.numpy())


def main() -> None:
    if len(sys.argv) != 3:
        print("\n".join(NETWORKS))
        return
    torch.manual_seed(1)
    to = Path(sys.argv[1]) / sys.argv[2]
    to.mkdir(parents=True, exist_ok=True)
    export(to, NETWORKS[sys.argv[2]]())


if __name__ == "__main__":
    main()
