#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What neuron-vm writes of a guest's terminal into files and pipes, as TAP.

usage: plain.py SOURCE_ROOT

Each text is fed in whole, byte by byte, and in two pieces at every place; the oracle is the text that a
person would type down.
"""

import sys

sys.path.insert(0, f"{sys.argv[1]}/neuron-vm")
from neuronvm.plain import Plain  # noqa: E402

CASES = {
    b"one\r\ntwo\n": b"one\ntwo\n",
    b"\x1b[1mbold\x1b[0m \x1b[38;5;12mblue\x1b[m": b"bold blue",
    b"\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS": b"SeaBIOS",
    b"\x1b]0;user@neuron: ~\x07$ ls": b"$ ls",
    b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": b"link",
    b"\x1b[?2004h$ \x1b[?2004l\r\n": b"$ \n",
    b"\x1b(B\x1b)0\x1b=\x1b>\x1b7\x1b8text": b"text",
    b"\x1bP1$r0m\x1b\\after": b"after",
    b"tab\there\x00\x07\x08": b"tab\there",
    "caf\u00e9 \u25c4\u2013".encode(): "caf\u00e9 \u25c4\u2013".encode(),
    b"a [ 1;2m b": b"a [ 1;2m b",
}


def fed(pieces: list[bytes]) -> bytes:
    plain = Plain()
    return b"".join(plain.feed(piece) for piece in pieces)


def main() -> None:
    print(f"1..{len(CASES) + 2}")
    for count, (text, want) in enumerate(CASES.items(), 1):
        ways = [[text], [text[i : i + 1] for i in range(len(text))], *([text[:i], text[i:]] for i in range(len(text)))]
        bad = [way for way in ways if fed(way) != want]
        print(f"{'not ok' if bad else 'ok'} {count} - {text!r}")
        for way in bad[:1]:
            print(f"# {way!r} gives {fed(way)!r}")
    endless = fed([b"\x1b]0;" + b"x" * 10000, b"y" * 10000, b"\nafter\n"])
    print(f"{'ok' if endless.endswith(b'after' + bytes([10])) else 'not ok'} {len(CASES) + 1} - a sequence without an end holds back so much only")
    every = fed([bytes([a, b]) for a in range(256) for b in range(0, 256, 3)])
    print(f"{'ok' if 27 not in every and 13 not in every else 'not ok'} {len(CASES) + 2} - any bytes")


main()
