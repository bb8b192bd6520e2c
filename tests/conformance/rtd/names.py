#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Names of tensors, as TAP: a model's own ones, from the compiler to the answers, and the NEFF's input0, output0 beside
them."""

import sys

import numpy as np

from harness import Client, Daemon, Module, Shm, compile_hlo, in_shm, infer_request, inline, nrt, tap

BAD_INPUT = 1002
X, Y = np.full((4, 32), 3, np.float32), np.full((4, 32), 5, np.float32)


def difference(first: str, second: str) -> bytes:
    """first - second"""
    m = Module("difference")
    a, b = m.parameter([4, 32]), m.parameter([4, 32])
    m.c.instructions[0].name, m.c.instructions[1].name = first, second
    return compile_hlo(m.finish(m.add("subtract", [4, 32], a, b)), f"difference_{first}_{second}")


def infer(client: Client, model: int, **tensors: np.ndarray) -> object:
    return client.call("infer", infer_request(model, inline(**tensors)))


def value(answer: object) -> tuple[int, list[tuple[str, float]]]:
    return answer.status.code, [(io.name, float(np.frombuffer(io.buf, np.float32)[0])) for io in answer.ofmap]


def own(client: Client) -> None:
    model = client.ready_model(difference("x", "y"))
    described = {t.name: t.source_name for t in client.ext("describe_model", id=model).tensor}
    tap.equal((described["input0"], described["input1"]), ("x", "y"), "the daemon knows the model's own names")
    out = described["output0"] or "output0"
    tap.equal(value(infer(client, model, x=X, y=Y)), (0, [(out, -2.0)]), "a request with them, and the answer has them")
    tap.equal(value(infer(client, model, input0=X, input1=Y)), (0, [("output0", -2.0)]), "one with input0 and input1")
    tap.equal(value(infer(client, model, input1=Y, x=X))[0], 0, "one with both kinds")
    tap.equal(value(infer(client, model, x=X, y=Y, z=X)), (0, [(out, -2.0)]), "one more than the model has")
    for name, fragments, tensors in (
            ("an input twice, by each name", ["[x (input0)] must be given once, received: 2", "x, input0, y"],
             {"x": X, "input0": X, "y": Y}),
            ("an unknown name", ["[y (input1)] must be given once, received: 0", "names received: x, why"],
             {"x": X, "why": Y}),
            ("too few", ["expected: 2, received: 1 (why)"], {"why": Y}),
            ("a wrong size", ["Invalid data length for [y], received 256, expected 512"], {"x": X, "y": Y[:2]})):
        answer = infer(client, model, **tensors)
        details = answer.status.details.decode()
        tap.ok(answer.status.code == BAD_INPUT and all(f in details for f in fragments), name, answer.status)
    shm = Shm(512)
    client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=3))
    for name in {out, "output0"}:
        shm.map[:4] = bytes(4)
        answer = client.call("infer", infer_request(model, inline(x=X, y=Y), in_shm(**{name: shm.path})))
        tap.equal((answer.status.code, float(np.frombuffer(shm.map, np.float32, 1)[0])), (0, -2.0),
                  f"an output in shared memory as {name}")
    answer = client.call("infer", infer_request(model, inline(x=X, y=Y), in_shm(other=shm.path)))
    tap.ok(answer.status.code == BAD_INPUT and b"names received: other" in answer.status.details,
           "an output by an unknown name", answer.status)
    client.unload(model)


def swapped(client: Client) -> None:
    """The first input is called input1, the second input0: the model's own names go before the NEFF's."""
    model = client.ready_model(difference("input1", "input0"))
    tap.equal(value(infer(client, model, input1=X, input0=Y))[1][0][1], -2.0, "names that look like the NEFF's")
    client.unload(model)


def main() -> int:
    daemon = Daemon()
    client = Client(daemon)
    own(client)
    swapped(client)
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends well")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
