#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The project's measures (measures.py), printed beside their goals.

usage: run.py [--build DIR] [--only NAME[,NAME...]] [--write]

Nothing here passes or fails: a machine under load gives other numbers. docs/performance.md says how each is
measured; --write puts what was measured into history.csv, and makes that page's tables and picture of it. A
group that fails leaves its rows empty. With --only what the same commit gave on the same machine stays.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

import frameworks
import inference
import performance
import pytorch
import zoo_table
from measures import KERNELS, NARROW, NETWORKS, SIZES, WAYS

ROOT = Path(__file__).resolve().parents[2]
VM = ROOT / "neuron-vm" / "neuron-vm"
MIB = 1 << 20
UPLOAD = 32 * MIB
# long enough for neuron-trim: two of its periods
IDLE_SECONDS = 12
LS = "/opt/aws/neuron/bin/neuron-ls"
Put = Callable[..., None]  # performance.Results.put


class Failed(Exception):
    pass


def exec_argv(build: Path, instance: str, command: list[str], *options: str) -> list[str]:
    return [str(VM), "exec", "--build", str(build), "--instance", instance, *options, "--", *command]


def boot(build: Path, put: Put) -> None:
    for instance in ("inf1.6xlarge", "inf1.24xlarge", "trn1.32xlarge", "trn2.48xlarge"):
        argv = exec_argv(build, instance, [LS])
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # fills caches
        start = time.monotonic()
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as guest:
            line = guest.stdout.readline()
            seconds = time.monotonic() - start
            guest.stdout.read()
        if not line.startswith(("+-", f"instance-type: {instance}")):
            raise Failed(f"neuron-ls in {instance} printed {line!r}")
        put(f"boot/{instance}", seconds)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child] + children(child)
    return found


def find_qemu(pid: int) -> int:
    for child in children(pid):
        if Path(os.readlink(f"/proc/{child}/exe")).name.startswith("qemu-system"):
            return child
    raise Failed("no QEMU process")


def beyond_guest_ram(pid: int) -> tuple[int, int]:
    """Resident bytes outside guest RAM, and how many of them are code that TCG translated."""
    ram = resident = size = code = 0
    translated = found_ram = False
    line = Path(f"/proc/{pid}/cmdline").read_text()
    guest = {int(re.search(r"-m\0(?:size=)?(\d+)", line).group(1)) * MIB}
    guest |= {int(size) for size in re.findall(r"memory-backend-ram,[^\0]*size=(\d+)", line)}  # a node's each
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if found := re.match(r"\w+-\w+ (\S+) \S+ \S+ \S+\s*(\S*)", line):
            translated = found.groups() == ("rwxp", "")
        elif found := re.match(r"Size:\s+(\d+) kB", line):
            size = int(found.group(1)) << 10
            found_ram |= size in guest
        elif found := re.match(r"Rss:\s+(\d+) kB", line):
            resident += int(found.group(1)) << 10
            if translated:
                code += int(found.group(1)) << 10
            if size in guest:
                ram += int(found.group(1)) << 10
    if not found_ram:
        raise Failed("QEMU's guest RAM not found")
    return resident - ram, code


def idle(build: Path, instance: str) -> tuple[int, int, int, int]:
    """The memory of a guest in which neuron-ls just ran, and of the same guest once it has been idle."""
    command = ["/bin/sh", "-c", f"{LS} >/dev/null 2>&1; echo ready; sleep 600"]
    argv = exec_argv(build, instance, command, "--memory", "512M")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as guest:
        try:
            if guest.stdout.readline() != "ready\n":
                raise Failed("the guest did not come up")
            qemu = find_qemu(guest.pid)
            ran = beyond_guest_ram(qemu)
            time.sleep(IDLE_SECONDS)
            return ran + beyond_guest_ram(qemu)
        finally:
            guest.terminate()


def stopped(build: Path, instance: str) -> int:
    """The time and memory of a QEMU before its guest's first instruction, without kernel and initramfs."""
    dry_run = exec_argv(build, instance, ["true"], "--memory", "512M", "--dry-run")
    words = shlex.split(subprocess.run(dry_run, stdout=subprocess.PIPE, text=True, check=True).stdout)
    for option in ("-kernel", "-initrd", "-append", "-serial"):
        at = words.index(option)
        del words[at : at + 2]
    with tempfile.TemporaryDirectory() as work:
        pidfile = Path(work) / "pid"
        # a daemon's starter returns when everything is made
        subprocess.run([*words, "-S", "-daemonize", "-pidfile", str(pidfile)], check=True)
        pid = int(pidfile.read_text())
        try:
            return beyond_guest_ram(pid)[0]
        finally:
            os.kill(pid, signal.SIGTERM)


def memory(build: Path, put: Put) -> None:
    for small, large in [("inf1.xlarge", "inf1.24xlarge"), ("trn2.3xlarge", "trn2.48xlarge")]:
        one, sixteen = stopped(build, small), stopped(build, large)
        put(f"memory/{large}/stopped", sixteen / MIB)
        put(f"memory/{large}/chip", (sixteen - one) / 15 / MIB)
        for name, value in zip(("ran", "ran-code", "idle", "idle-code"), idle(build, large)):
            put(f"memory/{large}/{name}", value / MIB)


def rates(argv: list[str], env: dict[str, str] | None = None) -> dict[str, float]:
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, env=env)
    if done.returncode:
        raise Failed(f"{Path(argv[0]).name} exited with {done.returncode}")
    return {name: float(rate) for name, rate in (line.split() for line in done.stdout.splitlines())}


def copies(build: Path, put: Put) -> None:
    program = build / "tests" / "bench" / "bench-copy"
    host = rates([str(program), "--memcpy"])["memcpy"]
    for instance in ("inf1.xlarge", "inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        got = rates(exec_argv(build, instance, ["./bench-copy"], "--copy", str(program), "--memory", "1536M"))
        first = instance == "inf1.xlarge"
        if first:
            put("copies/memcpy-host", host / 1e9)
            put("copies/memcpy-guest", got["memcpy"] / 1e9)
        for way in ("in", "out"):
            rate = got[f"zerocopy-{way}"]
            put(f"copies/{'zerocopy' if first else instance}-{way}", rate / 1e9, rate / host)
        for way in ("in", "out") if first else ():
            rate = got[f"buffered-{way}"]
            put(f"copies/buffered-{way}", rate / 1e9, rate / got["memcpy"])


# the quickest disk there is, so that only QEMU's NVMe device and the guest's driver are measured
NVME = ["-drive", "if=none,id=zeroes,driver=null-co,size=1G,read-zeroes=on",
        "-device", "nvme,serial=zeroes,drive=zeroes,addr=8.0"]


def driver(build: Path, put: Put) -> None:
    program = build / "tests" / "bench" / "bench-driver"
    options = ["--copy", str(program), "--memory", "3G", "--timeout", "900"]
    options += [f"--qemu-arg={word}" for word in NVME]
    took = rates(exec_argv(build, "inf1.xlarge", ["./bench-driver", "/dev/nvme0n1"], *options))
    put("driver/reset", took["reset"] * 1e3)
    for call in ("open", "ioctl"):
        put(f"driver/{call}", took[f"{call}-neuron"] * 1e6, took[f"{call}-neuron"] / took[f"{call}-null"])
    for name in ("doorbell", "out-4k"):
        put(f"driver/{name}", took[name] * 1e6, took[name] / took["read"])
    for size, _, count in SIZES:
        for way, _ in WAYS:
            name = f"{way}-{size}"
            if name != "out-4k":
                put(f"driver/{name}", count / took[name] / 1e9, took[f"memcpy-{size}"] / took[name])


def chips(build: Path, put: Put) -> None:
    program = build / "tests" / "bench" / "bench-chips"
    options = ["--copy", str(program), "--memory", "4G"]
    for instance in ("inf1.24xlarge", "trn1.32xlarge", "trn2.48xlarge"):
        got = rates(exec_argv(build, instance, ["./bench-chips"], *options))
        put(f"chips/{instance}", got["chips-16"] / 1e9, got["chips-16"] / got["chips-1"])
    host = rates([str(build / "tests" / "bench" / "bench-copy"), "--memcpy"])["memcpy"]
    for instance in ("inf1.xlarge", "inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        got = rates(exec_argv(build, instance, ["./bench-chips", "--cores"], *options))
        alone = min(rate for name, rate in got.items() if name.startswith("core-"))
        put(f"chips/{instance}/core", alone / 1e9, alone / host)
        put(f"chips/{instance}/cores", got["cores"] / 1e9, got["cores"] / host)


def turns(build: Path, put: Put) -> None:
    program, neff = build / "tests" / "bench" / "bench-turns", build / "tests" / "bench" / "add.neff"
    subprocess.run([str(build / "tests" / "unit" / "neff" / "testmodel_write"), "add", str(neff)], check=True)
    options = ["--copy", str(program), "--copy", str(neff)]
    for where, got in [
        ("process", rates([str(program), "emu:inf1.xlarge", str(neff)])),
        ("guest", rates(exec_argv(build, "inf1.xlarge", ["./bench-turns", "node", "add.neff"], *options))),
    ]:
        put(f"turns/{where}/alone", got["alone"])
        for other in ("one-owner", "two-owners"):
            put(f"turns/{where}/{other}", got[other], got[other] / got["alone"])


def served(build: Path, put: Put) -> None:
    """One process, or two at once, each with chips in process or both on those of one server; in turns"""
    program, neff = build / "tests" / "bench" / "bench-served", build / "tests" / "bench" / "add.neff"
    subprocess.run([str(build / "tests" / "unit" / "neff" / "testmodel_write"), "add", str(neff)], check=True)
    took: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as work:
        socket = Path(work) / "s"
        server = subprocess.Popen([str(build / "runtime" / "emud" / "neuron-emud"), "-i", "inf1.xlarge", "-s", str(socket)])
        try:
            await_socket(server, socket)
            for _ in range(5):
                for machine in ("emu:inf1.xlarge", f"unix:{socket}"):
                    for processes in (1, 2):
                        ways = [subprocess.Popen([str(program), machine, str(neff), "1000"], stdout=subprocess.PIPE, text=True,
                                                 env={**os.environ, "NEURON_RT_VISIBLE_CORES": str(core)})
                                for core in range(processes)]
                        for way in ways:
                            lines = way.communicate()[0].splitlines()
                            if way.returncode:
                                raise Failed(f"{program.name} exited with {way.returncode}")
                            name = f"{machine[:3]}{processes}"
                            took.setdefault(name, []).append({k: float(v) for k, v in (line.split() for line in lines)})
        finally:
            server.terminate()
            server.wait()

    def median(name: str, what: str) -> float:
        return statistics.median(run[what] for run in took[name])

    for n in (1, 2):
        own, on_server = median(f"emu{n}", "median"), median(f"uni{n}", "median")
        put(f"served/{n}/own", own)
        put(f"served/{n}/more", on_server - own)
        put(f"served/{n}/least", median(f"uni{n}", "min") - median(f"emu{n}", "min"))


def await_socket(process: subprocess.Popen, socket: Path) -> None:
    while not socket.exists():
        if process.poll() is not None:
            raise Failed(f"{process.args[0]} ended with {process.returncode}")
        time.sleep(0.05)


def calls(build: Path, put: Put) -> None:
    """The daemon with a model that does nothing beside gRPC servers that do nothing, in turns; medians of five"""
    program, tools = str(build / "tests" / "bench" / "bench-calls"), build / "tools" / "neuron-cli" / "neuron-cli"
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as servers:
        neff, sockets = Path(work) / "empty.neff", {name: Path(work) / name for name in ("echo", "echo1", "rtd")}
        subprocess.run([str(build / "tests" / "unit" / "neff" / "testmodel_write"), "empty", str(neff)], check=True)
        env = {**os.environ, "NEURON_EMU": "inf1.xlarge", "NEURON_RTD_ADDRESS": f"unix:{sockets['rtd']}"}
        for name, argv in [("echo", [program, "echo", str(sockets["echo"]), "4"]),
                           ("echo1", [program, "echo", str(sockets["echo1"]), "1"]),
                           ("rtd", [str(build / "runtime" / "rtd" / "neuron-rtd"), "-g", f"unix:{sockets['rtd']}", "-l", "3"])]:
            process = servers.enter_context(subprocess.Popen(argv, env=env, stdin=subprocess.PIPE))
            servers.callback(process.terminate)
            await_socket(process, sockets[name])
        model = subprocess.run([str(tools), "load", "--ncg-id", "0", "--start", "--ninfer", "64", str(neff)], env=env,
                               stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
        for clients in (1, 16):
            got = [{name: rates([program, "call", str(socket), model if name == "rtd" else "0", str(clients), "2"])
                    for name, socket in sockets.items()} for _ in range(5)]

            def median(name: str, what: str) -> float:
                return statistics.median(trial[name][what] for trial in got)

            def ratio(name: str) -> float:
                return statistics.median(trial[name]["p50"] / trial["rtd"]["p50"] for trial in got)

            put(f"calls/{clients}/rate", median("rtd", "rate"))
            put(f"calls/{clients}/median", 1e6 / median("rtd", "p50"), ratio("echo"))
            put(f"calls/{clients}/one-thread", 1e6 / median("rtd", "p50"), ratio("echo1"))
            put(f"calls/{clients}/p99", median("rtd", "p99"), median("rtd", "p99") / median("echo", "p99"))
            if clients > 1:
                put(f"calls/{clients}/fair", *min(((trial["rtd"]["least"], trial["rtd"]["least"] / trial["rtd"]["most"]) for trial in got), key=lambda x: x[1]))


def upload(build: Path, put: Put) -> None:
    """A file's bytes to the daemon, to a gRPC server that drops them, and through the socket alone, in turns in a guest"""
    program = build / "tests" / "bench" / "bench-upload"
    chunks = {"1 MiB": MIB, "4 MiB": 4 * MIB}
    script = f"""neuron-rtd -g unix:/run/rtd -l 0 & sleep 9999 | ./{program.name} sink /run/sink & head -c {UPLOAD} /dev/urandom >file
until [ -S /run/rtd ] && [ -S /run/sink ]; do sleep 1; done
for trial in 1 2 3; do for chunk in {" ".join(map(str, chunks.values()))}; do
for way in "send /run/rtd" "send /run/sink" plain; do
a=$(awk '/^ctxt/ {{ print $2 }}' /proc/stat); echo "$chunk $way $(./{program.name} $way file $chunk)"
echo "$chunk $way switches $(($(awk '/^ctxt/ {{ print $2 }}' /proc/stat) - a))"; done; done; done"""
    argv = exec_argv(build, "inf1.xlarge", ["sh", "-c", script], "--cpus", "1", "--memory", "2G", "--copy", str(program),
                     "--timeout", "600")
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    for text, chunk in chunks.items():
        def median(way: str, what: str) -> float:
            return statistics.median(float(n) for n in re.findall(rf"^{chunk} {way} {what} ([\d.]+)$", done.stdout, re.M))

        rtd, sink, plain = (median(way, "seconds") for way in ("send /run/rtd", "send /run/sink", "plain"))
        key, switches = text.replace(" ", ""), [median(way, "switches") / (UPLOAD / MIB) for way in ("send /run/rtd", "send /run/sink")]
        put(f"upload/{key}", UPLOAD / rtd / 1e6, sink / rtd)
        put(f"upload/{key}/sink", UPLOAD / sink / 1e6, plain / sink)
        put(f"upload/{key}/switches", switches[0], switches[0] / switches[1])


def loops(build: Path, put: Put) -> None:
    """An iteration of a loop whose end the data decide: three numbers are doubled until their sum is 50"""
    iterations_of = {0: 30.0, 125: 2.0**-120}
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
    module = ROOT / "tests" / "data" / "hlo_ops" / "while_data" / "module.hlo.pb"
    for target, machine in [("inf1", "inf1.xlarge"), ("trn1", "trn1.2xlarge")]:
        with tempfile.TemporaryDirectory() as work:
            neff, took, in_guest = Path(work) / "while.neff", {}, {}
            compiler = build / "tools/neuronx-cc/neuronx-cc"
            subprocess.run([str(compiler), "compile", "--framework", "XLA", str(module), "--target", target, "--output", str(neff)],
                           check=True, stdout=subprocess.DEVNULL)
            for iterations, value in iterations_of.items():
                file = Path(work) / f"{iterations}.npy"
                text = header.ljust(117) + b"\n"
                file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + struct.pack("<3f", *[value] * 3))
                program = build / "tests" / "bench" / "bench-network"
                took[iterations] = rates([str(program), str(neff), "1", "1", str(file)],
                                         env={**os.environ, "BENCH_MACHINE": f"emu:{machine}"})
                copied = [word for path in (program, neff, file) for word in ("--copy", str(path))]
                command = ["env", "BENCH_MACHINE=node", "./bench-network", neff.name, "1", "1", file.name]
                in_guest[iterations] = rates(exec_argv(build, machine, command, *copied))
        for name, rate, clock in [("clock", took, "clock"), ("processor", took, "processor"), ("guest", in_guest, "clock")]:
            once, many = 1 / rate[0][clock], 1 / rate[125][clock]
            put(f"loops/{target}/none-{name}", once * 1e6)
            put(f"loops/{target}/{name}", (many - once) / 125 * 1e6)


def matmul(build: Path, put: Put) -> None:
    got = rates([str(build / "tests" / "bench" / "bench-matmul")])
    put("matmul/openblas", got["openblas"] / 1e9)
    for name, other in (("bf16", "openblas"), ("fp32", "openblas"), ("fp8", "bf16"), ("fp8_double", "bf16")):
        put(f"matmul/{name}", got[name] / 1e9, got[name] / got[other])
    for kernels in KERNELS:
        for name, _ in NARROW if f"{kernels}:bf16" in got else ():
            rate = got[f"{kernels}:{name}"]
            put(f"matmul/{kernels}/{name}", rate / 1e9, rate / got[f"{kernels}:bf16"])


def dispatch(build: Path, put: Put) -> None:
    for name, took in rates([str(build / "tests" / "bench" / "bench-dispatch")]).items():
        put(f"dispatch/{name}", took)


def gpsimd(build: Path, put: Put) -> None:
    for name, rate in rates([str(build / "tests" / "bench" / "bench-gpsimd")]).items():
        put(f"gpsimd/{name}", rate)


def streams(build: Path, put: Put) -> None:
    """Compressed streams of 64 KiB of normally distributed weights, as DMA engines have them"""
    got = rates([str(build / "tests" / "bench" / "bench-stream")])
    for width in (4, 2):
        put(f"streams/size-{width}", None, got[f"ratio-{width}"])
        for way in ("decompress", "compress"):
            rate = got[f"{way}-{width}"]
            put(f"streams/{way}-{width}", rate / 1e9, rate / got[f"memcpy-{width}"])
    for few in "1-4", "2-4", "2-2", "16-4", "16-2":
        put(f"streams/few-{few}", got[f"place-{few}"] / 1e9, got[f"place-{few}"] / got[f"copy-{few}"])


def whole_networks(build: Path, put: Put) -> None:
    inference.measure(build, put, exec_argv)


def with_jax(build: Path, put: Put) -> None:
    frameworks.measure(build, put)


def with_torch(build: Path, put: Put) -> None:
    pytorch.measure(build, put)


def zoo(build: Path, put: Put) -> None:
    zoo_table.measure(build, put, exec_argv)


def networks(build: Path, put: Put) -> None:
    """Compilations of whole networks, one after the other"""
    runner = ROOT / "tests" / "networks" / "run"
    with tempfile.TemporaryDirectory() as work:
        argv = [str(runner), "--build", str(build), "--output", work, "--compile-only"]
        names = [f"{name}:matmult" for name in NETWORKS]
        done = subprocess.run([*argv, *names], stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Failed(f"tests/networks/run exited with {done.returncode}")
        record = json.loads((Path(work) / "networks.json").read_text())
    for name in NETWORKS:
        took = record[f"{name}:matmult"]
        put(f"networks/{name}", took["seconds"])
        put(f"networks/{name}/processor", took["processor"])
        put(f"networks/{name}/memory", took["bytes"] / MIB)


MEASURES: dict[str, Callable[[Path, Put], None]] = {
    "boot": boot,
    "memory": memory,
    "copies": copies,
    "driver": driver,
    "chips": chips,
    "turns": turns,
    "served": served,
    "calls": calls,
    "upload": upload,
    "loops": loops,
    "dispatch": dispatch,
    "gpsimd": gpsimd,
    "streams": streams,
    "matmul": matmul,
    "networks": networks,
    "inference": whole_networks,
    "zoo": zoo,
    "frameworks": with_jax,
    "pytorch": with_torch,
}


def main() -> int:
    options = argparse.ArgumentParser(description="Print the project's measures.")
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="DIR")
    options.add_argument("--only", default=",".join(MEASURES), metavar="NAMES", help="of " + ", ".join(MEASURES))
    options.add_argument("--write", action="store_true", help="write docs/performance.md and history.csv")
    args = options.parse_args()
    if unknown := set(args.only.split(",")) - set(MEASURES):
        options.error(f"no group {', '.join(sorted(unknown))}: there are {', '.join(MEASURES)}")
    status, results = 0, performance.Results()
    for name in args.only.split(","):
        try:
            MEASURES[name](args.build, results.put)
        except (Failed, OSError, KeyError, ValueError, IndexError, ZeroDivisionError, subprocess.CalledProcessError) as error:
            print(f"run.py: {name}: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
        if args.write:
            results.write()  # after each group: a machine that stops leaves what there is
    return status


if __name__ == "__main__":
    sys.exit(main())
