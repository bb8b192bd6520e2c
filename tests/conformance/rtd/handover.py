#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What one client's model leaves in a core is not what another client's finds, as TAP: values in SBUF, and
programs changed by hand so that they would leave semaphores or go on behind their end."""

import gzip
import io
import struct
import sys
import tarfile
from typing import Callable

import numpy as np

from harness import Client, Daemon, hand_made, infer_request, inline, outputs, tap

WORD = 64
NOP = bytes([0x01]) + bytes(WORD - 1)
RAISE_7 = bytes([0x01, 0, 0x10, 0, 0, 7]) + bytes(WORD - 6)
SECRET = np.arange(1, 128 * 64 + 1, dtype=np.float32).reshape(128, 64)


def changed(neff: bytes, member: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same NEFF with one member changed, by Python's own tar and gzip."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(neff[1024:]), mode="r:gz") as old, tarfile.open(fileobj=out, mode="w") as new:
        for info in old:
            data = old.extractfile(info).read()
            data = change(data) if info.name == member else data
            info.size = len(data)
            new.addfile(info, io.BytesIO(data))
    payload = gzip.compress(out.getvalue())
    return neff[:16] + struct.pack("<Q", len(payload)) + neff[24:1024] + payload


def run_secret(client: Client, model: int) -> bool:
    answer = client.call("infer", infer_request(model, inline(a=SECRET, b=SECRET)))
    return answer.status.code == 0 and np.array_equal(outputs(answer)["c"], (2 * SECRET).ravel())


def look(client: Client, model: int) -> int:
    """How many of the secret's elements the peek finds."""
    answer = client.call("infer", infer_request(model, []))
    if answer.status.code:
        raise SystemExit(f"Bail out! {answer.status}")
    return int(np.isin(outputs(answer)["y"], SECRET).sum())


def same_core(daemon: Daemon, unload: bool, session: bool, name: str) -> None:
    owner, other = Client(daemon), Client(daemon)
    streams = [c.session() for c in (owner, other) if session]
    ids = [s.read().session_id for s in streams] or [0, 0]
    eg = owner.eg(1, ids[0])
    model = owner.load(hand_made("add"), eg, ids[0]).h_nn.id
    owner.start(model)
    tap.ok(run_secret(owner, model), f"{name}: one client computes with its values")
    if unload:
        owner.unload(model)
    else:
        owner.stop(model)
    peek = other.load(hand_made("peek"), eg, ids[1]).h_nn.id
    tap.equal(other.start(peek), 0, f"{name}: another one's model is started on that core")
    tap.equal(look(other, peek), 0, f"{name}: it finds none of them")
    other.stop(peek)
    if not unload:
        owner.start(model)
        tap.ok(run_secret(owner, model), f"{name}: the first one goes on")
    owner.call("unload_all")
    for s in streams:
        s.half_close()
    for c in (owner, other):
        c.close()


def refused(client: Client, neff: bytes, text: bytes, name: str) -> None:
    answer = client.load(neff, client.eg(1))
    tap.ok(answer.status.code and text in answer.status.details, f"{name} is refused, and named", answer.status)
    client.call("unload_all")


def programs(daemon: Daemon) -> None:
    client, add = Client(daemon), hand_made("add")
    same = client.load(changed(add, "sg00/sp.bin", lambda data: data), client.eg(1))
    tap.equal(same.status.code, 0, "a NEFF that was packed again is the same")
    client.call("unload_all")
    refused(client, changed(add, "sg00/sp.bin", lambda data: data[:-WORD] + NOP),
            b"sg00/sp.bin: semaphore 0 is not 0 at the end", "a program that leaves its semaphores")
    refused(client, changed(add, "sg00/pool.bin", lambda data: data + RAISE_7),
            b"sg00/pool.bin: instruction at 192: sp does not wait until it is done", "an engine that goes on")
    refused(client, changed(add, "sg00/sp.bin", lambda data: data[:-2 * WORD] + NOP + data[-WORD:]),
            b"sg00/sp.json: dma[2]: sp does not wait until it is complete", "a DMA that goes on")
    model = client.ready_model(add)
    tap.ok(run_secret(client, model), "the core computes what it should afterwards")
    client.close()


def main() -> int:
    daemon = Daemon()
    for unload in (False, True):
        for session in (False, True):
            same_core(daemon, unload, session, f"{'unloaded' if unload else 'stopped'}, "
                                               f"{'sessions' if session else 'no sessions'}")
    programs(daemon)
    tap.equal(daemon.stop(), 0, "the daemon stops cleanly")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
