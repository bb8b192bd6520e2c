#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jax.distributed: two processes on one instance of neuron-emud, each with a core of its own. As TAP.

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

PROCESS = """
import json, sys
import jax, numpy as np
number, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
jax.distributed.initialize(address, count, number)
own = jax.local_devices()
said = {"index": jax.process_index(), "count": jax.process_count(), "ids": [d.id for d in jax.devices()],
        "processes": [d.process_index for d in jax.devices()], "own": [d.id for d in own]}
x = jax.device_put(np.arange(4, dtype=np.float32) + number, own[0])
said["values"] = jax.jit(lambda v: v * 2 + number)(x).tolist()
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
try:
    over = jax.make_array_from_callback((4,), whole, lambda part: np.arange(4, dtype=np.float32)[part])
    said["over"] = str(jax.jit(lambda v: v + 1)(over))
except Exception as why:
    said["over"] = str(why)
print(json.dumps(said), flush=True)
jax.distributed.shutdown()
"""


def run(build: str) -> list[dict]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as outputs:
        commands = [f"NEURON_RT_VISIBLE_CORES={i} {shlex.join([sys.executable, '-c', PROCESS, str(i), '2', address])} >{outputs}/{i} &"
                    for i in range(2)]
        subprocess.run([f"{build}/runtime/emud/neuron-emud", "--instance", "trn1.2xlarge", "--", "sh", "-c", " ".join(commands) + " wait"],
                       env={**os.environ, "JAX_PLATFORMS": "neuron,cpu"}, timeout=600, check=False)
        lines = [line for i in range(2) for line in Path(outputs, str(i)).read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    said = run(parser.parse_args().build)
    cases = {
        "each process knows its number and how many there are": [(s["index"], s["count"]) for s in said] == [(0, 2), (1, 2)],
        "each sees both devices, and which is whose": all(s["ids"] == [0, 1] and s["processes"] == [0, 1] for s in said),
        "each has one of them": [s["own"] for s in said] == [[0], [1]],
        "each computes on its own": [s["values"] for s in said] == [[2 * (k + i) + i for k in range(4)] for i in range(2)],
        "a program on both is refused by the other's name": all("programs do not span processes" in s["over"] for s in said),
    }
    print(f"1..{len(cases)}")
    for number, (name, right) in enumerate(cases.items(), 1):
        print(f"{'ok' if right and len(said) == 2 else 'not ok'} {number} - {name}")
    if not all(cases.values()) or len(said) != 2:
        print("\n".join(f"# {s}" for s in said))
    return not (all(cases.values()) and len(said) == 2)


if __name__ == "__main__":
    sys.exit(main())
