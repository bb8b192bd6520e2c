#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The cache of NEFFs: what was read before is not read again, is right, and stays within its bounds; as TAP.

The daemon says in its log whether it had one. Each model adds weights of its own, so a wrong one shows in every sum.
"""

import sys
import threading
from pathlib import Path

import numpy as np

from harness import WORK, Client, Daemon, Module, Other, compile_hlo, config, infer_request, inline, tap

ROWS, COLUMNS = 128, 64
UUID = slice(204, 220)  # of the header; docs/neff.md
X = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)


def model(weight: float, columns: int = COLUMNS) -> bytes:
    """output0 = input0 + weight"""
    m = Module("plus")
    constant = m.constant(np.full((ROWS, columns), weight, np.float32))
    return compile_hlo(m.finish(m.add("add", [ROWS, columns], m.parameter([ROWS, columns]), constant)), f"plus{weight}")


def hits(daemon: Daemon) -> int:
    return Path(daemon.log.name).read_text(errors="replace").count("was read before")


def right(client: Client, neff: bytes, weight: float) -> str | bool:
    """Loads it, runs it once and unloads it: True if the sum is the one of these weights, or what is wrong"""
    loaded = client.load(neff, timeout=60)
    if loaded.status.code:
        return loaded.status.details.decode()
    answer = client.call("infer", infer_request(loaded.h_nn.id, inline(input0=X)))
    client.unload(loaded.h_nn.id)
    if answer.status.code:
        return answer.status.details.decode()
    return np.array_equal(np.frombuffer(answer.ofmap[0].buf, np.float32), (X + weight).ravel())


def again(daemon: Daemon, client: Client, name: str, neff: bytes, weight: float, hit: bool) -> None:
    before = hits(daemon)
    have = right(client, neff, weight), hits(daemon) - before
    tap.equal(have, (True, int(hit)), name)


def main() -> int:
    first, second, third = (model(weight) for weight in (1.0, 2.0, 4.0))
    daemon = Daemon(*config("two", '{ "model_cache_count": 2 }'))
    client = Client(daemon)
    again(daemon, client, "a model is read", first, 1.0, False)
    again(daemon, client, "and loaded again without that", first, 1.0, True)
    loaded = [client.load(first, timeout=60).h_nn.id for _ in range(3)]
    sums = [client.call("infer", infer_request(id, inline(input0=X))).ofmap[0].buf for id in loaded]
    tap.ok(all(np.array_equal(np.frombuffer(s, np.float32), (X + 1).ravel()) for s in sums), "three at a time are right")

    # a NEFF with the first one's uuid and name, and other weights
    false = first[UUID].join((second[:UUID.start], second[UUID.stop:]))
    again(daemon, client, "one that only claims to be the first is not taken for it", false, 2.0, False)
    again(daemon, client, "nor the first for that one", first, 1.0, True)
    again(daemon, client, "the last byte counts", false + b"\0", 2.0, False)

    # two entries: the one that was used last stays
    again(daemon, client, "a third one", third, 4.0, False)
    again(daemon, client, "has put out the one that was not used for longest", first, 1.0, False)
    again(daemon, client, "and not the other", third, 4.0, True)
    sums = [client.call("infer", infer_request(id, inline(input0=X))).ofmap[0].buf for id in loaded]
    tap.ok(all(np.array_equal(np.frombuffer(s, np.float32), (X + 1).ravel()) for s in sums),
           "what was loaded from one that is out of the cache is still right")
    client.call("unload_all")

    # a bad one is not kept, and says the same each time
    bad = first[:1100] + bytes([first[1100] ^ 0xff]) + first[1101:]
    details = {client.load(bad).status.details for _ in range(2)}
    tap.equal(len(details), 1, f"a damaged NEFF is refused twice in the same words {details}")

    # other users: they have it from the cache, and put out their own
    for neff, name in ((first, "first"), (third, "third"), (second, "second")):
        path = WORK / f"shared-{name}.neff"
        path.write_bytes(neff)
        path.chmod(0o644)
    WORK.chmod(0o755)
    again(daemon, client, "the first is there", first, 1.0, True)
    other, before = Other(daemon), hits(daemon)
    code, id = other(f"load {WORK}/shared-first.neff 0 0")
    tap.equal((code, hits(daemon) - before), (0, 1), "another user's load of it is a hit")
    other(f"unload {id}")
    for n in range(4):
        (WORK / "more.neff").write_bytes(model(8.0 + n))
        (WORK / "more.neff").chmod(0o644)
        code, id = other(f"load {WORK}/more.neff 0 0")
        other(f"unload {id}")
    tap.equal((hits(daemon) - before), 1, "four of that user's own are read")
    other.kill()

    # many at once
    threads = [threading.Thread(target=lambda w=w, n=n: found.append(right(Client(daemon), n, w)))
               for w, n in [(1.0, first), (2.0, second), (4.0, third)] * 4]
    found: list[str | bool] = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal(found, [True] * 12, "twelve clients with three models on two places")
    tap.equal(daemon.stop(), 0, "SIGTERM: status 0")

    # bounds
    small = Daemon(*config("small", '{ "model_cache_count": 9, "model_cache_size": 1000 }'))
    client = Client(small)
    again(small, client, "one that is larger than the cache", first, 1.0, False)
    again(small, client, "is not kept", first, 1.0, False)
    tap.equal(small.stop(), 0, "SIGTERM: status 0")
    off = Daemon()
    again(off, Client(off), "without the key there is no cache", first, 1.0, False)
    again(off, Client(off), "at all", first, 1.0, False)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
