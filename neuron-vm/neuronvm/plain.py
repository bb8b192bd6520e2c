# SPDX-License-Identifier: MIT
"""A guest's terminal as plain text, for files and pipes: no colours, no moving about, no carriage returns."""

import re

# Sequences of ECMA-48: CSI, strings (OSC, DCS, APC, PM, SOS) to their end, and those of two or three bytes
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])")
# The beginning of an escape sequence, which the bytes that follow may complete
BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
OTHER = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
HELD_MAX = 4096  # bytes of a sequence that does not end


class Plain:
    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = SEQUENCE.sub(b"", self._held + data)
        begun = BEGUN.search(data)
        self._held = begun[0] if begun and len(begun[0]) <= HELD_MAX else b""
        return OTHER.sub(b"", data[: begun.start()] if begun else data)
