#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jax.distributed: two processes on one instance of neuron-emud, each with a core of its own, and programs on both. As TAP.

usage: jax_processes.py --build DIRECTORY    the build beside the plug-in, of which neuron-emud is taken
"""

import argparse
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROCESS = """
import json, os, signal, sys, time
import jax, numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec as P
number, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
jax.distributed.initialize(address, count, number)
own = jax.local_devices()
said = {"index": jax.process_index(), "count": jax.process_count(), "ids": [d.id for d in jax.devices()],
        "processes": [d.process_index for d in jax.devices()], "own": [d.id for d in own]}
x = jax.device_put(np.arange(4, dtype=np.float32) + number, own[0])
said["values"] = jax.jit(lambda v: v * 2 + number)(x).tolist()

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
whole, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("x"))
numbers = np.arange(8, dtype=np.float32)
parts = jax.make_array_from_callback((8,), divided, lambda part: numbers[part])
said["sum"] = float(jax.jit(lambda v: (v * v).sum(), out_shardings=whole)(parts))
shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map").experimental.shard_map.shard_map
def exchanged(a):
    return jax.lax.psum(a, "x"), jax.lax.ppermute(a, "x", [(0, 1), (1, 0)]), jax.lax.all_gather(a, "x"), jax.lax.axis_index("x")[None]
results = jax.jit(shard_map(exchanged, mesh=mesh, in_specs=P("x"), out_specs=(P(), P("x"), P("x"), P("x"))))(parts)
said["exchanged"] = [r.addressable_data(0).tolist() for r in results]
said["gathered"] = multihost_utils.process_allgather(np.array([number, 7])).tolist()

def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()
@jax.jit
def step(w, x, y):
    value, gradient = jax.value_and_grad(loss)(w, x, y)
    return w - 0.1 * gradient, value
draw = np.random.default_rng(0)
x, y = draw.normal(size=(16, 4)).astype(np.float32), draw.normal(size=(16, 3)).astype(np.float32)
w = jax.make_array_from_callback((4, 3), whole, lambda part: np.ones((4, 3), np.float32)[part])
halves = [jax.make_array_from_process_local_data(divided, a[8 * number:8 * number + 8]) for a in (x, y)]
said["losses"] = []
for _ in range(5):
    w, value = step(w, *halves)
    said["losses"].append(float(value))

count = jax.jit(lambda v: v + v.sum(), out_shardings=divided)
count(parts).block_until_ready()
multihost_utils.sync_global_devices("before the end")
if number:
    print(json.dumps(said), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.5)
start = time.monotonic()
try:
    said["alone"] = str(count(parts).addressable_data(0))
except Exception as why:
    said["alone"] = str(why)
said["waited"] = time.monotonic() - start
print(json.dumps(said), flush=True)
os._exit(0)
"""


# Two devices each: what a process does with its own, at the same time as the other does the same, and pairs of one device of each
PAIRS = """
import json, sys
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
number, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
jax.distributed.initialize(address, count, number)
shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map").experimental.shard_map.shard_map
def summed(devices, values):
    mesh = Mesh(np.array(devices), ("x",))
    whole = jax.make_array_from_callback(values.shape, NamedSharding(mesh, P("x")), lambda part: values[part])
    add = jax.jit(shard_map(lambda a: jax.lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
    return add(whole).addressable_data(0).tolist()
own = [summed(jax.local_devices(), np.arange(4, dtype=np.float32) + 100 * number + k) for k in range(20)]
pairs = [summed([jax.devices()[i], jax.devices()[i + 2]], np.array([1, 2], np.float32) * 10**i) for i in range(2)]
print(json.dumps({"own": own, "pairs": pairs}), flush=True)
jax.distributed.shutdown()
"""


def expected() -> dict:
    """What NumPy says of the same, in float64"""
    numbers = np.arange(8.0)
    halves = numbers[:4], numbers[4:]
    draw = np.random.default_rng(0)
    x, y, w, losses = draw.normal(size=(16, 4)), draw.normal(size=(16, 3)), np.ones((4, 3)), []
    for _ in range(5):
        error = x @ w - y
        losses.append(float((error**2).mean()))
        w = w - 0.1 * 2 / error.size * (x.T @ error)
    exchanged = [[(halves[0] + halves[1]).tolist(), halves[1 - i].tolist(), [h.tolist() for h in halves], [i]] for i in range(2)]
    return {"sum": float((numbers**2).sum()), "exchanged": exchanged, "gathered": [[0, 7], [1, 7]], "losses": losses}


def run(build: str, program: str, instance: str, cores: list[str]) -> list[dict]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as outputs:
        commands = [f"NEURON_RT_VISIBLE_CORES={cores[i]} {shlex.join([sys.executable, '-c', program, str(i), '2', address])} >{outputs}/{i} &"
                    for i in range(2)]
        subprocess.run([f"{build}/runtime/emud/neuron-emud", "--instance", instance, "--", "sh", "-c", " ".join(commands) + " wait"],
                       env={**os.environ, "JAX_PLATFORMS": "neuron,cpu"}, timeout=600, check=False)
        lines = [line for i in range(2) for line in Path(outputs, str(i)).read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    build, right = parser.parse_args().build, expected()
    said = run(build, PROCESS, "trn1.2xlarge", ["0", "1"])
    pairs = run(build, PAIRS, "trn1.32xlarge", ["0-1", "2-3"])
    cases = {
        "each process knows its number and how many there are": [(s["index"], s["count"]) for s in said] == [(0, 2), (1, 2)],
        "each sees both devices, and which is whose": all(s["ids"] == [0, 1] and s["processes"] == [0, 1] for s in said),
        "each has one of them": [s["own"] for s in said] == [[0], [1]],
        "each computes on its own": [s["values"] for s in said] == [[2 * (k + i) + i for k in range(4)] for i in range(2)],
        "an array on both is summed": all(s["sum"] == right["sum"] for s in said),
        "psum, ppermute, all_gather and axis_index": [s["exchanged"] for s in said] == right["exchanged"],
        "process_allgather": all(s["gathered"] == right["gathered"] for s in said),
        "a training, data parallel, has NumPy's losses, and both processes the same": len(said) == 2 and said[0]["losses"] == said[1]["losses"]
        and np.allclose(said[0]["losses"], right["losses"], rtol=1e-5),
        "who waits for a process that was killed is told": bool(said) and "process" in said[0]["alone"] and "ended" in said[0]["alone"],
    }
    cases |= {
        "processes that do the same with their own devices do not get each other's":
            [s["own"] for s in pairs] == [[[2 + 200 * i + 2 * k, 4 + 200 * i + 2 * k] for k in range(20)] for i in range(2)],
        "nor do pairs of devices of both": [s["pairs"] for s in pairs] == [[[3], [30]]] * 2,
    }
    print(f"1..{len(cases)}")
    for number, (name, right) in enumerate(cases.items(), 1):
        print(f"{'ok' if right and len(said) == 2 else 'not ok'} {number} - {name}")
    if not all(cases.values()) or len(said) != 2:
        print("\n".join(f"# {s}" for s in said))
    return not (all(cases.values()) and len(said) == 2)


if __name__ == "__main__":
    sys.exit(main())
