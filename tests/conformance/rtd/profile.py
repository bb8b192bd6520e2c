#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-profile as the TensorFlow client executes it: from PATH, with its argument lists, around an inference; as TAP."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from harness import (NOBODY, WORK, Client, Daemon, Other, infer_request, inline, nrt, sum_and_product, tap)

A = np.ones((4, 32), np.float32)
FILE = WORK / "scope+op-10001-0.ntff"
ENV = {**os.environ, "PATH": f"{Path(os.environ['NEURON_PROFILE_TOOL']).parent}:{os.environ['PATH']}"}


def tool(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run(["neuron-profile", *map(str, args)], env=ENV, capture_output=True, text=True, check=False)


def fails(name: str, fragment: str, status: int, *args: object) -> None:
    done = tool(*args)
    tap.ok((done.returncode, done.stdout) == (status, "") and fragment in done.stderr,
           name, f"{done.returncode} {done.stdout} {done.stderr}")


def infer(client: Client, model: int, count: int = 1) -> None:
    for _ in range(count):
        client.call("infer", infer_request(model, inline(input0=A, input1=A)))


def session(daemon: Daemon, client: Client, model: int) -> None:
    infer(client, model)
    done = tool("start-session", "-s", FILE, "-a", daemon.endpoint, model)
    tap.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "start-session")
    infer(client, model, 3)
    client.call("infer", infer_request(model, []))  # is refused, and reaches no core
    fails("show-session before stop-session", "was not stopped", 1, "show-session", "-s", FILE)
    done = tool("stop-session", "-s", FILE)
    tap.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "stop-session")
    infer(client, model)
    profile = json.loads(FILE.read_text())["profile"]
    tap.equal((profile["infer_count"], len(profile["infer"]), {i["code"] for i in profile["infer"]}), (3, 3, {0}),
              "has the three inferences of the session")
    series = client.call("read_all_metrics", nrt.read_all_metrics_request()).nmgr_metrics
    metric = {m.metric_type: [d.value_double for d in m.data] for m in series}
    cycles = metric[nrt.NMGR_METRIC_INFER_ON_INFA_CYCLESx1k][-4:-1]
    tap.equal([i["cycles"] / 1e3 for i in profile["infer"]], cycles, "the chip's cycles are the metric's")
    latency = metric[nrt.NMGR_METRIC_INFER_LATENCY][-4:-1]
    took = [(i["queued_ns"] + i["device_ns"]) / 1e9 for i in profile["infer"]]
    tap.ok(np.allclose(took, latency, rtol=1e-6), "and so are the latencies", (took, latency))
    core = profile["core"][0]
    engines = {e["name"]: e for e in core["engine"]}
    tap.equal((len(profile["core"]), core["device"], core["nc"], set(engines)), (1, 0, 0, {"pe", "act", "pool", "sp"}),
              "one core with four engines")
    tap.ok(engines["pool"]["instructions"] % 3 == 0 < engines["pool"]["busy_cycles"], "each time the same instructions",
           engines)
    done = tool("show-session", "-s", FILE)
    tap.ok(done.returncode == 0 and not done.stderr and f"model {model}: sum_and_product" in done.stdout and
           "3 inferences" in done.stdout and all(name in done.stdout for name in engines), "show-session", done)


def refused(daemon: Daemon, client: Client, model: int) -> None:
    fails("stop-session twice", "not being profiled", 1, "stop-session", "-s", FILE)
    fails("an unknown model", "Failed to find model: 4711", 1, "start-session", "-s", FILE, "-a", daemon.endpoint, 4711)
    fails("no daemon", "UNAVAILABLE", 1, "start-session", "-s", FILE, "-a", f"unix:{WORK}/nothing.sock", model)
    other = WORK / "other.ntff"
    other.write_text("{}")
    fails("a file of another kind", "not a session", 1, "show-session", "-s", other)
    fails("no file", "no.ntff", 1, "stop-session", "-s", WORK / "no.ntff")
    fails("no id", "id: x1", 2, "start-session", "-s", FILE, "x1")
    fails("no session", "-s FILE", 2, "stop-session")
    fails("an unknown command", "capture-all", 2, "capture-all")
    fails("a command of later generations", "no public format", 2, "view", "-s", FILE)
    later = WORK / "neuron-explorer"
    later.symlink_to(os.environ["NEURON_PROFILE_TOOL"])
    said = [subprocess.run([later, *args], capture_output=True, text=True, check=False) for args in (["--version"], ["--help"], ["x"])]
    tap.ok(said[0].stdout.startswith("neuron-explorer ") and "neuron-explorer show-session" in said[1].stdout and
           said[2].stderr == "neuron-explorer: not a command: x\n", "the later name", said)
    fails("one argument more", "no argument", 2, "show-session", "-s", FILE, "x")
    before = tool("start-session", "-s", FILE, "-a", daemon.endpoint, model).returncode
    again = tool("start-session", "-s", FILE, "-a", daemon.endpoint, model).returncode
    tap.equal((before, again), (0, 0), "a session that nobody stopped gives way")
    client.unload(model)
    fails("the model is gone, and its profile", f"Failed to find model: {model}", 1, "stop-session", "-s", FILE)


def tenants(daemon: Daemon, client: Client, neff: Path) -> None:
    if os.geteuid():
        tap.skip("another user's model", "not root")
        return
    theirs = Other(daemon, NOBODY)
    client.call("unload_all")
    mine = client.ready_model(neff.read_bytes())
    tap.equal(theirs("profile", mine), [3, 3], "another user cannot profile a model that is not shared")


def main() -> int:
    neff = sum_and_product()
    WORK.chmod(0o711)
    daemon = Daemon()
    client = Client(daemon)
    model = client.ready_model(neff)
    session(daemon, client, model)
    refused(daemon, client, model)
    tenants(daemon, client, WORK / "sum_and_product_4x32.neff")
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends well")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
