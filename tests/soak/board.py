# SPDX-License-Identifier: MIT
"""The board of the soak's processes: a page of numbers without a lock, which a killed process cannot
leave taken. Each word has one writer."""

import mmap
import os
import struct

WORD = struct.Struct("<Q")
COUNTS = ("operations", "loaded", "right", "failed", "refused", "cancelled", "forbidden", "visited",
          "profiled", "watched")
LIFE, QUIET, FIRST = 0, 1, 2


class Board:
    def __init__(self, slots: int) -> None:
        self.words = mmap.mmap(-1, WORD.size * (FIRST + slots * (len(COUNTS) + 1)))
        self.slots = slots
        self.ruler = os.geteuid()  # the user whose the daemon is

    def get(self, word: int) -> int:
        return WORD.unpack_from(self.words, word * WORD.size)[0]

    def put(self, word: int, value: int) -> None:
        WORD.pack_into(self.words, word * WORD.size, value)

    # how many daemons there have been
    def life(self) -> int:
        return self.get(LIFE)

    def next_life(self) -> None:
        self.put(LIFE, self.life() + 1)

    # clients finish what they are doing
    def quiet(self) -> bool:
        return self.get(QUIET) != 0

    def set_quiet(self, quiet: bool) -> None:
        self.put(QUIET, int(quiet))

    def count(self, slot: int, what: str) -> None:
        word = FIRST + slot * len(COUNTS) + COUNTS.index(what)
        self.put(word, self.get(word) + 1)

    # a model that is its user's alone, and that user
    def show(self, slot: int, uid: int, model: int) -> None:
        self.put(FIRST + self.slots * len(COUNTS) + slot, uid << 32 | model)

    def shown(self, slot: int) -> tuple[int, int]:
        value = self.get(FIRST + self.slots * len(COUNTS) + slot)
        return value >> 32, value & 0xffffffff

    def totals(self) -> dict[str, int]:
        return {what: sum(self.get(FIRST + slot * len(COUNTS) + i) for slot in range(self.slots))
                for i, what in enumerate(COUNTS)}
