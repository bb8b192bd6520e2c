#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The study's training as scripts for torch_xla have it: BERT's pre-training on the XLA device, in one way to hold numbers; the losses of each step as CSV.

usage: torch_xla_train.py --mode fp32|bf16|bf16-sr [--seed N] [--steps N] [--output FILE]    in docs/pytorch.md's environment, with transformers 4.57.1
"""

import pretraining

OPTIONS = pretraining.parse()

import torch  # noqa: E402
import torch_xla.core.xla_model as xm  # noqa: E402


def main() -> None:
    device = xm.xla_device()
    model = pretraining.bert(OPTIONS).to(device)
    model.tie_weights()  # moved, a weight that two layers share is two
    model.train()
    optimizer, scheduler = pretraining.adamw(model, OPTIONS)
    report = pretraining.Report(OPTIONS, model)
    for i, batches in enumerate(pretraining.steps(OPTIONS)):
        report.begins(i)
        seen = 0
        optimizer.zero_grad()
        for batch in batches:
            batch = {name: value.to(device) for name, value in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss / OPTIONS.accumulate
            loss.backward()
            seen = seen + pretraining.losses(outputs, batch) / OPTIONS.accumulate
        torch.nn.utils.clip_grad_norm_(model.parameters(), pretraining.recipe.CLIP)
        xm.optimizer_step(optimizer)
        scheduler.step()
        xm.mark_step()
        report.ended(i, seen)


if __name__ == "__main__":
    main()
