#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Names of tensors, as TAP: a model's own ones, from the compiler to the answers, and the NEFF's input0, output0 beside
them; by gRPC, and by the tools, whose rule is the same."""

import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile

import numpy as np

from harness import WORK, Client, Daemon, Module, Shm, compile_hlo, in_shm, infer_request, inline, nrt, tap

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


def older(neff: bytes, own: list[str]) -> bytes:
    """The same program in a NEFF that calls its inputs input0, input1, whatever their own names are"""
    members = tarfile.open(fileobj=io.BytesIO(neff[1024:]))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for member in members:
            data = members.extractfile(member).read()
            if member.name == "neff.json":
                graph = json.loads(data)
                names = graph["attrs"]["tensor_name"][1]
                graph["attrs"]["source_name"][1] = [own[int(n[5:])] if n.startswith("input") else "" for n in names]
                data = json.dumps(graph).encode()
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    payload, header = out.getvalue(), bytearray(neff[:1024])
    struct.pack_into("<Q", header, 16, len(payload))
    header[172:188] = hashlib.md5(payload).digest()
    return bytes(header) + payload


# y = first - second = 3 - 5: the model's names of the inputs, and what is given, first for the first one; None: refused
ODD = "a/b:0 \u00fc, c"
GIVEN = (
    (("x", "y"), ("x", "y"), -2), (("x", "y"), ("input0", "input1"), -2), (("x", "y"), ("input1", "input0"), 2),
    (("x", "y"), ("x", "input1"), -2), (("x", "y"), ("x", "input0"), None), (("x", "y"), ("x", "input2"), None),
    (("input1", "input2"), ("input1", "input2"), -2), (("input1", "input2"), ("input2", "input1"), 2),
    (("input1", "input2"), ("input0", "input1"), -2), (("input1", "input2"), ("input0", "input2"), -2),
    (("input1", "input2"), ("input1", "input3"), None),
    (("input1", "input0"), ("input1", "input0"), -2), (("input1", "input0"), ("input0", "input1"), 2),
    (("x", "input0"), ("x", "input0"), -2), (("x", "input0"), ("input0", "input1"), -2),
    (("x", "input0"), ("x", "input1"), -2),
    ((ODD, "input0"), (ODD, "input0"), -2), (("output0", "input0"), ("output0", "input0"), -2),
)


def by_tool(tool: str, words: list[str], given: tuple[str, str], **env: str) -> float | None:
    out = WORK / "out"
    (out / "output0.npy").unlink(missing_ok=True)
    files = [("--input", f"{name}={WORK / file}") for name, file in zip(given, ("x.npy", "y.npy"))]
    done = subprocess.run([os.environ[tool], *words, *sum(files, ()), "--output-dir", out], capture_output=True, text=True,
                          check=False, env={**os.environ, **env})
    if done.returncode or not (out / "output0.npy").exists():
        tap.ok(done.returncode == 1 and any(name in done.stderr for name in given), f"{tool}'s refusal names an input",
               (done.returncode, done.stderr))
        return None
    return float(np.load(out / "output0.npy")[0, 0])


def by_bench(path: str, given: tuple[str, str], **env: str) -> bool:
    files = [("--input", f"{name}={WORK / file}") for name, file in zip(given, ("x.npy", "y.npy"))]
    return not subprocess.run([os.environ["NEURON_BENCH"], "exec", "-n", "1", "-w", "none", *sum(files, ()), path],
                              capture_output=True, check=False, env={**os.environ, **env}).returncode


def everywhere(daemon: Daemon, client: Client) -> None:
    """The same names mean the same through gRPC, neuron-cli, neuron-run and neuron-bench, whoever wrote the NEFF."""
    np.save(WORK / "x.npy", X)
    np.save(WORK / "y.npy", Y)
    for own_names in dict.fromkeys(own_names for own_names, _, _ in GIVEN):
        m = Module("difference")
        a, b = m.parameter([4, 32]), m.parameter([4, 32])
        m.c.instructions[0].name, m.c.instructions[1].name = own_names
        new = compile_hlo(m.finish(m.add("subtract", [4, 32], a, b)), "names")
        for age, neff in (("new", new), ("older", older(new, list(own_names)))):
            if age == "older" and own_names == ("input1", "input0"):
                neff = older(difference("x", "y"), list(own_names))
            path = str(WORK / "names.neff")
            with open(path, "wb") as file:
                file.write(neff)
            model = client.load(neff).h_nn.id
            for given, expected in [(given, value) for names, given, value in GIVEN if names == own_names]:
                what = f"{age}: {own_names[0]}, {own_names[1]} given as {given[0]}, {given[1]}"
                answer = client.call("infer", infer_request(model, inline(**dict(zip(given, (X, Y))))))
                code, outputs = value(answer)
                got = {
                    "gRPC": outputs[0][1] if not code else None,
                    "neuron-cli": by_tool("NEURON_CLI", ["infer", str(model)], given, NEURON_RTD_ADDRESS=daemon.endpoint),
                    "neuron-run": by_tool("NEURON_RUN", [path, "--device", "emu:inf1.xlarge"], given),
                }
                tap.equal(got, dict.fromkeys(got, expected), what)
            client.unload(model)
    daemon_env = {"NEURON_RTD_ADDRESS": daemon.endpoint}
    for neff in (difference("input1", "input0"), older(difference("x", "y"), ["input1", "input0"])):
        with open(path, "wb") as file:
            file.write(neff)
        tap.equal([by_bench(path, given, **daemon_env) for given in (("input0", "input1"), ("input1", "input2"))],
                  [True, False], "neuron-bench knows input0 and input1, and no input2")


def described(client: Client) -> None:
    """What the daemon says that a NEFF calls its inputs, in their order, means these."""
    for own_names in (("x", "y"), ("input1", "input2"), ("input1", "input0"), ("x", "input0"), ("input0", "input1")):
        model = client.load(difference(*own_names)).h_nn.id
        tensors = [t for t in client.ext("describe_model", id=model).tensor if t.source_name in own_names]
        tap.equal([t.source_name for t in tensors], list(own_names), f"{own_names}: the inputs in their order")
        answer = client.call("infer", infer_request(model, inline(**{t.name: v for t, v in zip(tensors, (X, Y))})))
        tap.equal(value(answer), (0, [("output0", -2.0)]), f"{own_names}: by the NEFF's names")
        client.unload(model)


def main() -> int:
    daemon = Daemon()
    client = Client(daemon)
    own(client)
    described(client)
    everywhere(daemon, client)
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends well")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
