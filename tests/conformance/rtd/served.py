#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The daemon on chips that neuron-emud hosts, beside another process, as TAP: it computes, keeps its cores, and says so when the server is
gone."""

import atexit
import os
import subprocess
import sys
import time

import numpy as np

from harness import START_SECONDS, WORK, Client, Daemon, Module, compile_hlo, infer_request, inline, tap

ROWS, COLUMNS = 4, 32
RNG = np.random.default_rng(1)
X = RNG.standard_normal((ROWS, COLUMNS)).astype(np.float32)


def doubled(m: Module) -> bytes:
    x = m.parameter([ROWS, COLUMNS])
    return compile_hlo(m.finish(m.add("add", [ROWS, COLUMNS], x, x)), "doubled")


def served(instance: str) -> tuple[subprocess.Popen, str]:
    path = WORK / "emud.sock"
    server = subprocess.Popen([os.environ["NEURON_EMUD"], "--instance", instance, "--socket", path])
    atexit.register(server.kill)
    deadline = time.monotonic() + START_SECONDS
    while not path.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("Bail out! neuron-emud did not start")
        time.sleep(0.02)
    return server, f"unix:{path}"


def neuron_run(emu: str, cores: str) -> subprocess.CompletedProcess:
    np.save(WORK / "x.npy", X)
    return subprocess.run([os.environ["NEURON_RUN"], WORK / "doubled.neff", "--input", f"input0={WORK / 'x.npy'}", "--output-dir", WORK / "out"],
                          env={**os.environ, "NEURON_EMU": emu, "NEURON_RT_VISIBLE_CORES": cores}, capture_output=True, text=True, check=False)


def main() -> int:
    neff = doubled(Module("doubled"))
    server, emu = served("inf1.xlarge")
    daemon = Daemon(NEURON_EMU=emu, NEURON_RT_VISIBLE_CORES="0-1")
    client = Client(daemon)
    models = [client.ready_model(neff) for _ in range(2)]

    def output(model: int) -> np.ndarray:
        answer = client.call("infer", infer_request(model, inline(input0=X)))
        return np.frombuffer(answer.ofmap[0].buf, np.float32).reshape(X.shape)

    for core, model in enumerate(models):
        tap.ok(np.array_equal(output(model), X * 2), f"an inference on core {core}")
    done = neuron_run(emu, "2")
    tap.ok(done.returncode == 0 and np.array_equal(np.load(WORK / "out" / "output0.npy"), X * 2), "another process on core 2", done.stderr)
    done = neuron_run(emu, "0")
    tap.ok(done.returncode != 0 and "in use by pid" in done.stderr, "which does not get the daemon's core 0", done.stderr)
    tap.ok(np.array_equal(output(models[0]), X * 2), "which it has still")

    server.kill()
    server.wait()
    answer = client.call("infer", infer_request(models[0], inline(input0=X)))
    tap.ok(answer.status.code == 6 and b"No such device" in answer.status.details, "the server is killed: a hardware error that says so", answer)
    tap.ok(client.stop(models[1]) is not None and daemon.alive(), "the daemon answers still")
    client.close()
    tap.equal(daemon.stop(), 0, "and ends")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
