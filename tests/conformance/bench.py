#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-bench through libnrt with chips in process, and through a daemon that has some, as TAP.

usage: bench.py NEURON_BENCH NEURON_RTD NEURON_CLI NEURONX_CC TESTMODEL_WRITE

Percentiles and rates are computed again from the executions that it writes.
"""

import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tap import Tap

DYNAMIC = Path(__file__).parents[1].resolve() / "data/hlo_ops/dynamic_parameters_4_3_4_2/module.hlo.pb"
ENV = {**os.environ, "NEURON_EMU": "inf1.xlarge"}
PERCENTS = [0, 1, 25, 50, 75, 90, 99, 100]


def npy(path: Path, value: float, shape: tuple[int, ...] = (128, 64)) -> None:
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<f", value) * math.prod(shape))


def consistent(directory: Path, info: Any, count: int) -> str:
    """Why the files do not fit each other; empty: they do"""
    for name, key in (("latency_data", "latency"), ("nc_latency_data", "nc_latency")):
        data = json.loads((directory / f"{name}.json").read_text())["latency_data"]
        values = sorted(v for copy in data.values() for v in copy)
        if info[key] is None:
            if values:
                return f"{name}: {len(values)} executions, and no {key}"
            continue
        if len(values) != count or sorted(data) != sorted(str(i) for i in range(info["nc_used"])):
            return f"{name}: {len(values)} executions, expected {count}; {sorted(data)}"
        want = {str(p): values[max(math.ceil(len(values) * p / 100), 1) - 1] for p in PERCENTS}
        if info[key] != want:
            return f"{key}: {info[key]}, expected {want}"
    rate = count / info["seconds"]
    if not math.isclose(info["throughput"], rate, rel_tol=1e-6):
        return f"throughput {info['throughput']}, expected {rate}"
    if not math.isclose(info["items_per_second"], rate * info["batch"], rel_tol=1e-6):
        return f"items_per_second {info['items_per_second']}"
    return ""


def main() -> None:
    tap = Tap()
    bench, rtd, cli, compiler, write = (str(Path(word).resolve()) for word in sys.argv[1:6])
    ENV["PATH"] = f"{Path(compiler).parent}:{ENV['PATH']}"
    with tempfile.TemporaryDirectory(prefix="bench.") as name:
        work = Path(name)
        for kind in ("add", "hang"):
            subprocess.run([write, kind, work / f"{kind}.neff"], check=True)
        npy(work / "a.npy", 1)
        npy(work / "one.npy", 1, (8, 8))
        npy(work / "short.npy", 1, (128, 63))
        npy(work / "three.npy", 1, (3,))
        npy(work / "seven.npy", 1, (7,))
        (work / "log.ir").write_text('module "log"\n%0 = f32[8,8] parameter index=0 "x"\n%1 = f32[8,8] log %0 "v"\nreturn %1\n')

        def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([bench, "exec", *words], cwd=work, env=ENV | env, capture_output=True, text=True, check=False)

        done = run("-n", "20", "add.neff")
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("|") and line[-2].isspace()]
        tap.ok(done.returncode == 0 and not done.stderr and rows[-1][1:6:2] == ["1", "1", "20"], "a table", str(done))
        done = run("-n", "7", "-t", "3", "--fixed-nc-count", "2", "-b", "16", "-w", "none", "-o", "out", "--json", "add.neff")
        info = json.loads(done.stdout)
        tap.ok(info == json.loads((work / "out/info.json").read_text()), "--json prints info.json", done.stdout)
        shape = (info["nc_used"], info["threads"], info["work"], info["warmup"], info["batch"])
        tap.ok(shape == (2, 3, 7, 0, 16), "what was measured", str(shape))
        done = run("-n", "50", "--warmup=5", "--threads", "2", "--fixed-instance-count=3", "--enable-only-latency",
                   "--run-as-cc-neff", "--output-directory=out2", "add.neff")  # fmt: skip
        info = json.loads((work / "out2/info.json").read_text())
        why = consistent(work / "out2", info, 300) if done.returncode == 0 else str(done)
        tap.ok(not why, "percentiles and rates are those of the executions", why)
        tap.ok(info["nc_latency"]["0"] == info["nc_latency"]["100"] > 0, "the core's clock is the same for each", str(info["nc_latency"]))

        # the logarithm of random numbers of either sign, of zeros, and of ones
        seen = {"NEURON_RT_NUMERICAL_ERRORS_VERBOSITY": "critical"}
        done_all = [run("-n", "5", "--framework", "IR", "--json", *words, "log.ir", **seen) for words in ([], ["-f", "zeros"], ["-i", "x=one.npy"])]
        tap.ok(not any(done.returncode for done in done_all), "a model is compiled first", str(done_all))
        count = [json.loads(done.stdout)["num_errors"] for done in done_all]
        tap.ok(count == [5, 0, 0], "inputs: random numbers, zeros, a file", str(count))

        address = f"unix:{work}/n.sock"
        with subprocess.Popen([rtd, "-g", address], env=ENV, stderr=subprocess.DEVNULL) as daemon:
            while daemon.poll() is None and not (work / "n.sock").exists():
                time.sleep(0.05)
            done = run("-n", "30", "-t", "2", "--fixed-nc-count", "2", "-o", "out3", "--daemon", "add.neff", NEURON_RTD_ADDRESS=address)
            why = consistent(work / "out3", json.loads((work / "out3/info.json").read_text()), 120) if done.returncode == 0 else str(done)
            tap.ok(not why, "through the daemon", why)
            done = run("-n", "1", "-a", address, "hang.neff", "-i", "nothing=a.npy")
            tap.ok(done.returncode == 1 and "no such input" in done.stderr, "a refused input", str(done))
            left = subprocess.run([cli, "-a", address, "list-model"], capture_output=True, text=True, check=False)
            tap.ok(left.stdout == "Found 0 models\n", "the daemon has no model of it any more", left.stdout)
            daemon.terminate()

        done = run("-n", "1", "-i", "z=three.npy", str(DYNAMIC))
        tap.ok(done.returncode == 0 and "neuron-bench: input 'z': 3 of 6 of dimension 0 are there (input6)\n" in done.stderr,
               "an input shorter than the bound", str(done))  # fmt: skip
        refused = {
            ("-n", "1", "-i", "z=seven.npy", str(DYNAMIC)): "seven.npy: holds float32[7], input 'input2' takes float32[at most 6]",
            ("-n", "1", "none.neff"): "none.neff: No such file",
            ("-n", "1", "a.npy"): "a.npy: NRT_",
            ("-n", "1", "-i", "a=short.npy", "add.neff"): "short.npy: holds float32[128,63], input 'a' takes float32[128,64]",
            ("-n", "1", "-i", "c=a.npy", "add.neff"): "c: the model has no such input: it has a, b",
            ("-n", "1", "-i", "a=a.npy", "-i", "a=a.npy", "add.neff"): "given twice",
            ("-n", "1", "-i", "a=none.npy", "add.neff"): "none.npy",
            ("-n", "1", "-d", "gpu0", "add.neff"): "gpu0: --device takes",
            ("-n", "1", "-a", f"unix:{work}/none", "add.neff"): "UNAVAILABLE",
            ("-n", "1", "--fixed-nc-count", "5", "add.neff"): "NRT_LOAD_NOT_ENOUGH_NC",
            ("-n", "1", "a.onnx"): "it does not compile",
            ("-n", "1", "-o", "a.npy", "add.neff"): "a.npy/info.json: Not a directory",
            ("-n", "1", "-w", "0", "hang.neff"): "execution failed: NRT_TIMEOUT",
        }
        for words, want in refused.items():
            done = run(*words, NEURON_RT_EXEC_TIMEOUT="1")
            tap.ok(done.returncode == 1 and want in done.stderr and not done.stdout, f"refused: {words[2:]}", str(done))
        for words in ((), ("-n", "0", "add.neff"), ("-n", "-5", "add.neff"), ("-f", "ones", "add.neff"), ("-i", "a", "add.neff"), ("--bogus", "add.neff"),
                      ("-d", "nd0", "--daemon", "add.neff"), ("-t", "1000", "--fixed-nc-count", "500", "add.neff"), ("add.neff", "more")):  # fmt: skip
            done = run(*words)
            tap.ok(done.returncode == 2 and done.stderr and not done.stdout, f"refused: {words}", str(done))
    tap.done()


main()
