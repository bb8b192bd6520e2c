#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The study's training on PyTorch's device "neuron": BERT's pre-training in one way to hold numbers; the losses of each step as CSV.

usage: torch_train.py --mode fp32|bf16|bf16-sr [--seed N] [--steps N] [--output FILE]    in docs/pytorch.md's environment, with transformers 5.24.0

TORCH_DEVICE=cpu takes PyTorch's CPU.
"""

import os

import pretraining

OPTIONS = pretraining.parse()

import torch  # noqa: E402


def main() -> None:
    device = torch.device(os.environ.get("TORCH_DEVICE", "neuron"))
    model = pretraining.bert(OPTIONS).to(device)
    model.train()
    compiled = torch.compile(model, backend="neuron") if device.type == "neuron" else model
    optimizer, scheduler = pretraining.adamw(model, OPTIONS, fused=True)
    report = pretraining.Report(OPTIONS, model)
    for i, batches in enumerate(pretraining.steps(OPTIONS)):
        report.begins(i)
        seen = 0
        optimizer.zero_grad()
        for batch in batches:
            batch = {name: value.to(device) for name, value in batch.items()}
            outputs = compiled(**batch)
            loss = outputs.loss / OPTIONS.accumulate
            loss.backward()
            seen = seen + pretraining.losses(outputs, batch) / OPTIONS.accumulate
        torch.nn.utils.clip_grad_norm_(model.parameters(), pretraining.recipe.CLIP)
        optimizer.step()
        scheduler.step()
        report.ended(i, seen)


if __name__ == "__main__":
    main()
