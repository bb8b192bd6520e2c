#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""random_seed on a chip that rounds at random, as TAP: inferences of the group draw by its seed from there on. What they give is
computed here from the words of Philox4x32-10 that docs/isa.md, 4.6, names; Random123's known answers say that these are right."""

import sys

import numpy as np

from harness import Client, Daemon, Module, compile_hlo, infer_request, inline, nrt, tap

BF16 = 16
ROWS, COLUMNS = 128, 8
DRAWS = ROWS * COLUMNS  # of an inference: one for each element, partition by partition
ACT = 1  # the engine that converts
X = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def philox(counter: list[np.ndarray], key: list[int]) -> list[np.ndarray]:
    low = np.uint64(0xffffffff)
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    for i in range(10):
        k0, k1 = (np.uint64((k + i * step) & 0xffffffff) for k, step in zip(key, (0x9e3779b9, 0xbb67ae85)))
        a, b = c0 * np.uint64(0xd2511f53), c2 * np.uint64(0xcd9e8d57)
        c0, c1, c2, c3 = (b >> np.uint64(32)) ^ c1 ^ k0, b & low, (a >> np.uint64(32)) ^ c3 ^ k1, a & low
    return [c0, c1, c2, c3]


def rounded(seed: int, before: int, core: int = 0) -> np.ndarray:
    """X in bf16 after so many draws of the seed, as bits."""
    i = np.arange(before, before + DRAWS)
    words = philox([i // 64 * 16 + i % 16, np.zeros_like(i), np.full_like(i, ACT), np.full_like(i, core)], [seed, 0])
    word = np.choose(i // 16 % 4, words).reshape(X.shape)
    return ((X.view(np.uint32).astype(np.uint64) + (word >> np.uint64(16))) >> np.uint64(16)).astype(np.uint16)


def converter(target: str) -> bytes:
    m = Module("bf16")
    number = m.add("convert", [ROWS, COLUMNS], m.parameter([ROWS, COLUMNS]))
    m.c.instructions[number - 1].shape.element_type = BF16
    return compile_hlo(m.finish(number), f"bf16-{target}", target)


class Group:
    def __init__(self, client: Client, neff: bytes) -> None:
        self.client, self.neff, self.eg = client, neff, client.eg(1)
        self.model = 0
        self.load()

    def load(self) -> None:
        if self.model:
            self.client.call("unload", nrt.unload_request(h_nn=nrt.h_nn(id=self.model)))
        self.model = self.client.load(self.neff, self.eg).h_nn.id
        self.client.start(self.model)

    def infer(self) -> np.ndarray:
        answer = self.client.call("infer", infer_request(self.model, inline(input0=X)))
        return np.frombuffer(answer.ofmap[0].buf, np.uint16).reshape(X.shape)

    def seed(self, seed: int) -> int:
        return self.client.call("random_seed", nrt.random_seed_request(h_eg=nrt.h_eg(id=self.eg), seed=seed)).status.code


def is_of(group: Group, want: np.ndarray, name: str) -> None:
    have = group.infer()
    tap.ok(np.array_equal(have, want), name, f"{np.count_nonzero(have != want)} of {DRAWS} differ")


def seeds(neff: bytes) -> None:
    daemon = Daemon(NEURON_EMU="trn1.2xlarge", NEURON_RT_STOCHASTIC_ROUNDING_EN="1", NEURON_RT_STOCHASTIC_ROUNDING_SEED="5")
    client = Client(daemon)
    group, other = Group(client, neff), Group(client, neff)
    is_of(group, rounded(5, 0), "a group's first inference rounds by the seed of the environment")
    is_of(group, rounded(5, DRAWS), "the next one by the draws that follow")
    is_of(other, rounded(5, 0, core=1), "another core has draws of its own")
    tap.equal(group.seed(7), 0, "random_seed")
    is_of(group, rounded(7, 0), "the model that is started rounds by it")
    is_of(group, rounded(7, DRAWS), "and goes on with its draws")
    is_of(other, rounded(5, DRAWS, core=1), "the other group as before")
    tap.equal(group.seed(0xfffffffe), 0, "another seed")
    group.load()
    is_of(group, rounded(0xfffffffe, 0), "a model that is loaded after it rounds by it")
    tap.equal(group.seed(0), 0, "the seed 0")
    is_of(group, rounded(0, 0), "is one as the others")
    client.call("unload_all")
    is_of(Group(client, neff), rounded(5, 0), "a new group on the core rounds by the environment's again")
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends")


def without(neff: bytes, instance: str) -> None:
    """Rounded to nearest, ties to even."""
    bits = X.view(np.uint32)
    daemon = Daemon(NEURON_EMU=instance)
    client = Client(daemon)
    group = Group(client, neff)
    tap.equal(group.seed(7), 0, f"{instance}, not asked to round at random: random_seed")
    is_of(group, ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16), f"{instance}: rounds to nearest")
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends")


def main() -> int:
    # Random123's kat_vectors
    for counter, key, want in (([0] * 4, [0, 0], "6627e8d5e169c58dbc57ac4c9b00dbd8"),
                               ([0xffffffff] * 4, [0xffffffff] * 2, "408f276d41c83b0ea20bc7c66d5451fd")):
        have = "".join(f"{int(w):08x}" for w in philox([np.array(c) for c in counter], key))
        tap.equal(have, want, "Philox: a known answer")
    seeds(converter("trn1"))
    without(converter("trn1"), "trn1.2xlarge")
    without(converter("inf1"), "inf1.xlarge")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
