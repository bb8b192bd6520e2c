# SPDX-License-Identifier: MIT
"""What the study's two loops in PyTorch share: transformers' BertForPreTraining with recipe.py's weights, the batches of train.py, the optimizer, the report."""

import argparse
import os
import sys
import time
from collections.abc import Iterator

import numpy as np
import recipe
import text
import torch
from transformers import BertConfig, BertForPreTraining

PARTS = {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value", "attended": "attention.output.dense",
         "middle": "attention.output.LayerNorm", "wide": "intermediate.dense", "narrow": "output.dense", "end": "output.LayerNorm"}
REST = {"word": "bert.embeddings.word_embeddings", "position": "bert.embeddings.position_embeddings", "segment": "bert.embeddings.token_type_embeddings",
        "embedding": "bert.embeddings.LayerNorm", "pooler": "bert.pooler.dense", "next": "cls.seq_relationship", "words": "cls.predictions"}
Inputs = dict[str, torch.Tensor]


def parse() -> argparse.Namespace:
    """recipe.py's options; rounding at random is asked for before the chips are taken"""
    options = recipe.parse()
    if options.devices != 1 or options.mode == "master":
        sys.exit("one device; fp32, bf16 or bf16-sr")
    if options.mode == "bf16-sr":
        os.environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"] = "1"
        os.environ["NEURON_RT_STOCHASTIC_ROUNDING_SEED"] = str(options.seed)
    return options


def parameter(name: str) -> str:
    """transformers' name of one of recipe.shapes()"""
    part, _, kind = name.rpartition(".")
    if not part:
        return f"{REST[name]}.weight"
    layer, _, inner = part.rpartition(".")
    if layer:
        place = f"bert.encoder.layer.{layer}.{PARTS[inner]}"
    elif part == "transform":
        place = f"cls.predictions.transform.{'dense' if kind in ('w', 'b') else 'LayerNorm'}"
    else:
        place = REST[part]
    return f"{place}.{'weight' if kind in ('w', 'gain') else 'bias'}"


def bert(options: argparse.Namespace) -> BertForPreTraining:
    source = text.Text(1, options.languages, options.words, options.length)
    config = BertConfig(vocab_size=source.vocabulary, hidden_size=options.hidden, num_hidden_layers=options.layers, num_attention_heads=options.heads,
                        intermediate_size=4 * options.hidden, max_position_embeddings=options.length, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6,
                        hidden_dropout_prob=options.dropout, attention_probs_dropout_prob=0.0)
    torch.manual_seed(options.seed)
    model = BertForPreTraining(config)
    size = recipe.Size(options.layers, options.hidden, options.heads, source.vocabulary, options.length)
    given = {parameter(name): torch.from_numpy(w.T.copy() if name.endswith(".w") else w) for name, w in recipe.initial(size, options.seed).items()}
    left, unknown = model.load_state_dict(given, strict=False)
    assert not unknown and {name.rpartition(".")[0] for name in left} <= {"bert.embeddings", "cls.predictions.decoder"}, (left, unknown)  # tied, or no weights
    return model if options.mode == "fp32" else model.to(torch.bfloat16)


def adamw(model: torch.nn.Module, options: argparse.Namespace, **how: bool) -> tuple[torch.optim.AdamW, torch.optim.lr_scheduler.LambdaLR]:
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": recipe.DECAY}, {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=options.rate, betas=(recipe.BETA1, recipe.BETA2), eps=recipe.EPSILON, **how)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: recipe.schedule(options, i) / options.rate)


def steps(options: argparse.Namespace) -> Iterator[list[Inputs]]:
    """For each step the batches that are accumulated, as the model takes them"""
    source, rng = text.Text(1, options.languages, options.words, options.length), np.random.default_rng((options.seed, 1))
    for _ in range(options.steps):
        made = source.batch(rng, options.batch * options.accumulate)
        given = {"input_ids": made.words, "token_type_ids": made.segments, "labels": np.where(made.chosen, made.targets, -100), "next_sentence_label": made.is_next}
        whole = {name: torch.from_numpy(a.astype(np.int64)) for name, a in given.items()}
        yield [{name: a[i:i + options.batch] for name, a in whole.items()} for i in range(0, options.batch * options.accumulate, options.batch)]


def losses(outputs: object, batch: Inputs) -> torch.Tensor:
    """Of words, and of the next sentence, from the logits in fp32: for the report alone"""
    with torch.no_grad():
        words = torch.nn.functional.cross_entropy(outputs.prediction_logits.float().flatten(0, 1), batch["labels"].flatten())
        return torch.stack([words, torch.nn.functional.cross_entropy(outputs.seq_relationship_logits.float(), batch["next_sentence_label"])])


class Report:
    """Lines as train.py's: STEP,WORDS,NEXT,STILL,SECONDS"""

    def __init__(self, options: argparse.Namespace, model: torch.nn.Module) -> None:
        self.model, self.start, self.before = model, time.monotonic(), None
        self.out = open(options.output, "w") if options.output else sys.stdout
        print("step,words,next,still,seconds", file=self.out)

    def weights(self) -> torch.Tensor:
        return torch.cat([p.detach().cpu().flatten() for p in self.model.parameters()])

    def begins(self, i: int) -> None:
        self.before = self.weights() if i % recipe.LOOK == recipe.LOOK - 1 else None

    def ended(self, i: int, means: torch.Tensor) -> None:
        words, following = means.tolist()
        share = "" if self.before is None else f"{still(self.before, self.weights()):.4f}"
        print(f"{i},{words:.6f},{following:.6f},{share},{time.monotonic() - self.start:.2f}", file=self.out, flush=True)


def still(before: torch.Tensor, after: torch.Tensor) -> float:
    """As train.py's: the share of weights that stay, or would in bf16 by rounding to nearest"""
    old = before.bfloat16()
    return ((old.float() + (after.float() - before.float())).bfloat16() == old).float().mean().item()
