# SPDX-License-Identifier: MIT
"""Text for BERT's pre-training whose best loss is known: Markov chains, one a language, each with words of its own.

A pair of sentences is [CLS] a [SEP] b [SEP]. Half of the time b goes on where a ended, else it is of another language.
Of the words 15 % are chosen to be predicted; of these 80 % are replaced by [MASK], 10 % by any word, 10 % stay.
"""

import dataclasses

import numpy as np

PAD, CLS, SEP, MASK = range(4)
SPECIAL = 4
NEXT_WORDS = np.array([0.6, 0.25, 0.1, 0.05])  # how likely a word's four successors are
CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1


@dataclasses.dataclass
class Batch:
    words: np.ndarray  # [batch, length], as the model sees them
    segments: np.ndarray  # 0 in a, 1 in b
    targets: np.ndarray  # the words that were there
    chosen: np.ndarray  # 1 where they are to be predicted
    is_next: np.ndarray  # [batch]

    def arrays(self) -> tuple[np.ndarray, ...]:
        return dataclasses.astuple(self)


class Text:
    def __init__(self, seed: int, languages: int, words: int, length: int) -> None:
        """words: of each language; length: of a pair, with its three marks"""
        rng = np.random.default_rng(seed)
        self.languages, self.words, self.length = languages, words, length
        self.chains = np.zeros((languages, words, words))
        for chain in self.chains:
            for row in chain:
                row[rng.choice(words, len(NEXT_WORDS), replace=False)] = NEXT_WORDS
        self.stationary = np.stack([np.linalg.matrix_power(c + 1e-9, 4096)[0] for c in self.chains])
        self.stationary /= self.stationary.sum(1, keepdims=True)
        self.first = (length - 3) // 2  # a's length
        self.places = [i for i in range(1, length - 1) if i != self.first + 1]  # of words

    @property
    def vocabulary(self) -> int:
        return SPECIAL + self.languages * self.words

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        made = Batch(*(np.zeros((size, self.length), np.int32) for _ in range(4)), np.zeros(size, np.int32))
        made.targets[:, 0], made.targets[:, self.first + 1], made.targets[:, -1] = CLS, SEP, SEP
        made.segments[:, self.first + 2:] = 1
        made.is_next[:] = goes_on = rng.integers(2, size=size)
        language = rng.integers(self.languages, size=size)
        chances = self.stationary[language]
        for t, place in enumerate(self.places):
            if t == self.first:  # b begins: with the chances that a's last word left, or anew
                language = np.where(goes_on, language, (language + rng.integers(1, self.languages, size)) % self.languages)
                chances = np.where(goes_on[:, None], chances, self.stationary[language])
            word = (np.cumsum(chances, 1) < rng.random((size, 1))).sum(1).clip(max=self.words - 1)
            chances = self.chains[language, word]
            made.targets[:, place] = SPECIAL + language * self.words + word
        made.chosen[:] = (rng.random(made.targets.shape) < CHOSEN) & (made.targets >= SPECIAL)
        dice, any_word = rng.random(made.targets.shape), rng.integers(SPECIAL, self.vocabulary, made.targets.shape)
        shown = np.where(dice < MASKED, MASK, np.where(dice < MASKED + REPLACED, any_word, made.targets))
        made.words[:] = np.where(made.chosen, shown, made.targets)
        return made

    # The best that can be known: forward and backward through the chain, for each language and both ways that b may begin.

    def seen(self, word: int, chosen: bool | None) -> np.ndarray:
        """The likelihood that each word of all languages shows as this one; chosen None: it is not known whether it was chosen"""
        total = self.languages * self.words
        same = np.zeros(total)
        if word >= SPECIAL:
            same[word - SPECIAL] = 1
        masked = np.full(total, MASKED) if word == MASK else (1 - MASKED - REPLACED) * same + REPLACED / total * (word >= SPECIAL)
        if chosen is None:
            return CHOSEN * masked + (1 - CHOSEN) * same
        return masked if chosen else same

    def best(self, batch: Batch) -> tuple[float, float]:
        """The losses of words and of the next sentence of who knows the chains, on this batch"""
        word_loss, next_loss = [], []
        for words, _, targets, chosen, is_next in zip(*batch.arrays()):
            chance, posterior = self.hypotheses([int(words[i]) for i in self.places])
            goes_on = chance[0] / (chance[0] + chance[1])
            next_loss.append(-np.log(goes_on if is_next else 1 - goes_on))
            for t, i in enumerate(self.places):
                if chosen[i]:
                    there = posterior[t] * self.seen(int(words[i]), True)
                    word_loss.append(-np.log(there[targets[i] - SPECIAL] / there.sum()))
        return float(np.mean(word_loss)), float(np.mean(next_loss))

    def hypotheses(self, shown: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The likelihoods of both hypotheses (b goes on, b is of another language), and, weighted by them, of each word given all
        others"""
        total = self.languages * self.words
        blocks = np.kron(np.eye(self.languages), np.ones((self.words, self.words)))
        chain = np.zeros((total, total))
        for k in range(self.languages):
            chain[k * self.words:(k + 1) * self.words, k * self.words:(k + 1) * self.words] = self.chains[k]
        start = self.stationary.reshape(-1)
        apart = (1 - blocks) * start / (self.languages - 1)  # from any word of a to b's first, of another language
        chance, posterior = np.zeros(2), np.zeros((len(shown), total))
        for way, joint in enumerate((chain, apart)):
            steps = [joint if t == self.first else chain for t in range(len(shown))]
            evidence = [self.seen(word, None) for word in shown]
            before, after = [start / self.languages], [np.ones(total)]
            for t in range(1, len(shown)):
                before.append((before[-1] * evidence[t - 1]) @ steps[t])
            for t in range(len(shown) - 1, 0, -1):
                after.append(steps[t] @ (after[-1] * evidence[t]))
            without = np.stack([b * a for b, a in zip(before, reversed(after))])
            chance[way] = 0.5 * (without[0] * evidence[0]).sum()
            posterior += 0.5 * without
        return chance, posterior
