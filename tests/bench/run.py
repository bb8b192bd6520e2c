#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The project's measures, printed as ratios or times of one run beside their goals.

usage: run.py [--build DIR] [--only NAME[,NAME...]]

Nothing here passes or fails: a machine under load gives other numbers. docs/performance.md says what
each measure means.
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
import zoo_table

ROOT = Path(__file__).resolve().parents[2]
VM = ROOT / "scripts" / "neuron-vm"
MIB = 1 << 20
UPLOAD = 32 * MIB
# long enough for neuron-trim: two of its periods
IDLE_SECONDS = 12
LS = "/opt/aws/neuron/bin/neuron-ls"


NETWORKS = ("mlp", "digits", "lenet5", "resnet50", "mobilenet_v2", "yolo_head", "lstm", "bert_base", "bert_base_8",
            "distilbert", "vit_b16", "gpt2_step")


class Failed(Exception):
    pass


def exec_argv(build: Path, instance: str, command: list[str], *options: str) -> list[str]:
    return [str(VM), "exec", "--build", str(build), "--instance", instance, *options, "--", *command]


def show(measure: str, value: str, goal: str = "") -> None:
    print(f"{measure:<58} {value:>12}{'   goal ' + goal if goal else ''}", flush=True)


def boot(build: Path) -> None:
    for instance, chips, goal in [
        ("inf1.6xlarge", "4 chips", "8 s"), ("inf1.24xlarge", "16 chips", "12 s"),
        ("trn1.32xlarge", "trn1.32xlarge", "8 s"), ("trn2.48xlarge", "trn2.48xlarge", "10 s"),
    ]:
        argv = exec_argv(build, instance, [LS])
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # fills caches
        start = time.monotonic()
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as guest:
            line = guest.stdout.readline()
            seconds = time.monotonic() - start
            guest.stdout.read()
        if not line.startswith(("+-", f"instance-type: {instance}")):
            raise Failed(f"neuron-ls in {instance} printed {line!r}")
        show(f"start to neuron-ls's first line, {chips}", f"{seconds:.1f} s", goal)


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
    """The same of a QEMU before its guest's first instruction, without kernel and initramfs."""
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


def memory(build: Path) -> None:
    for small, large, goal in [("inf1.xlarge", "inf1.24xlarge", "64 MiB"), ("trn2.3xlarge", "trn2.48xlarge", "96 MiB")]:
        one, sixteen = stopped(build, small), stopped(build, large)
        show(f"QEMU's memory beyond guest RAM, {large}, before boot", f"{sixteen / MIB:.0f} MiB", goal)
        show("  of it one chip", f"{(sixteen - one) / 15 / MIB:.2f} MiB")
        ran, ran_code, whole, code = idle(build, large)
        show("the same right after boot and neuron-ls", f"{ran / MIB:.0f} MiB")
        show("  of it code that TCG translated", f"{ran_code / MIB:.0f} MiB")
        show(f"the same, idle for {IDLE_SECONDS} s", f"{whole / MIB:.0f} MiB", goal)
        show("  of it code that TCG translated", f"{code / MIB:.0f} MiB")


def rates(argv: list[str], env: dict[str, str] | None = None) -> dict[str, float]:
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, env=env)
    if done.returncode:
        raise Failed(f"{Path(argv[0]).name} exited with {done.returncode}")
    return {name: float(rate) for name, rate in (line.split() for line in done.stdout.splitlines())}


def copies(build: Path) -> None:
    program = build / "tests" / "bench" / "bench-copy"
    host = rates([str(program), "--memcpy"])["memcpy"]
    guest = rates(
        exec_argv(build, "inf1.xlarge", ["./bench-copy"], "--copy", str(program), "--memory", "1536M")
    )
    show("memcpy of 256 MiB, host", f"{host / 1e9:.2f} GB/s")
    show("memcpy of 256 MiB, guest", f"{guest['memcpy'] / 1e9:.2f} GB/s")
    for way, text in [("in", "to device"), ("out", "from device")]:
        show(f"zero-copy {text} / memcpy on the host", f"{guest['zerocopy-' + way] / host:.2f}", "0.50")
    for way, text in [("in", "to device"), ("out", "from device")]:
        show(f"buffered {text} / memcpy in the guest", f"{guest['buffered-' + way] / guest['memcpy']:.2f}")
    for instance in ("inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        guest = rates(exec_argv(build, instance, ["./bench-copy"], "--copy", str(program), "--memory", "1536M"))
        both = " ".join(f"{guest['zerocopy-' + way] / host:.2f}" for way in ("in", "out"))
        show(f"zero-copy to and from {instance} / memcpy on the host", both, "0.50")


WAYS = [("in", "host to device"), ("out", "device to host"), ("device", "device to device")]
SIZES = [("4k", "4 KiB"), ("1m", "1 MiB"), ("1g", "1 GiB")]
# the quickest disk there is, so that only QEMU's NVMe device and the guest's driver are measured
NVME = ["-drive", "if=none,id=zeroes,driver=null-co,size=1G,read-zeroes=on",
        "-device", "nvme,serial=zeroes,drive=zeroes,addr=8.0"]


def driver(build: Path) -> None:
    program = build / "tests" / "bench" / "bench-driver"
    host = rates([str(program), "--memcpy"])
    options = ["--copy", str(program), "--memory", "3G", "--timeout", "900"]
    options += [f"--qemu-arg={word}" for word in NVME]
    took = rates(exec_argv(build, "inf1.xlarge", ["./bench-driver", "/dev/nvme0n1"], *options))
    show("reset to READY", f"{took['reset'] * 1e3:.2f} ms")
    for call, text in [("open", "open and close / of /dev/null"), ("ioctl", "smallest ioctl / one that /dev/null refuses")]:
        ratio = took[call + "-neuron"] / took[call + "-null"]
        show(text, f"{ratio:.2f}")
    show("doorbell to completion, one descriptor of 4 KiB", f"{took['doorbell'] * 1e6:.1f} us")
    show("  / 4 KiB read of QEMU's NVMe, same guest", f"{took['doorbell'] / took['read']:.2f}", "1.00")
    show("copy of 4 KiB to the host / that read", f"{took['out-4k'] / took['read']:.2f}", "1.00")
    for size, text in SIZES:
        for way, where in WAYS:
            speed = took[f"memcpy-{size}"] / took[f"{way}-{size}"], host[f"memcpy-{size}"] / took[f"{way}-{size}"]
            show(f"{text} {where} / memcpy in the guest, on the host", f"{speed[0]:.2f} {speed[1]:.3f}")


def chips(build: Path) -> None:
    program = build / "tests" / "bench" / "bench-chips"
    options = ["--copy", str(program), "--memory", "4G"]
    for instance in ("inf1.24xlarge", "trn1.32xlarge", "trn2.48xlarge"):
        got = rates(exec_argv(build, instance, ["./bench-chips"], *options))
        show(f"16 chips copying at once / one, {instance}", f"{got['chips-16'] / got['chips-1']:.2f}")
    host = rates([str(build / "tests" / "bench" / "bench-copy"), "--memcpy"])["memcpy"]
    for instance in ("inf1.xlarge", "inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        got = rates(exec_argv(build, instance, ["./bench-chips", "--cores"], *options))
        alone = [rate for name, rate in got.items() if name.startswith("core-")]
        text = f"{min(alone) / host:.2f} to {max(alone) / host:.2f}, {got['cores'] / host:.2f}"
        show(f"each engine for copies alone, all at once / memcpy, {instance}", text)


def turns(build: Path) -> None:
    program, neff = build / "tests" / "bench" / "bench-turns", build / "tests" / "bench" / "add.neff"
    subprocess.run([str(build / "tests" / "unit" / "neff" / "testmodel_write"), "add", str(neff)], check=True)
    options = ["--copy", str(program), "--copy", str(neff)]
    for where, got in [
        ("in process", rates([str(program), "emu:inf1.xlarge", str(neff)])),
        ("in a guest", rates(exec_argv(build, "inf1.xlarge", ["./bench-turns", "node", "add.neff"], *options))),
    ]:
        show(f"a small model alone, {where}", f"{got['alone']:.0f} us")
        show("  in turns with one of its owner / alone", f"{got['one-owner'] / got['alone']:.2f}")
        show("  in turns with one of another owner", f"{got['two-owners']:.0f} us")


def served(build: Path) -> None:
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

    for processes, text in [(1, "one process"), (2, "two processes")]:
        own, on_server = median(f"emu{processes}", "median"), median(f"uni{processes}", "median")
        show(f"an execution of a small model in process, {text}", f"{own:.1f} us")
        show("  more on the chips of one server", f"{on_server - own:.1f} us", "15 us")
        show("  more at the least", f"{median(f'uni{processes}', 'min') - median(f'emu{processes}', 'min'):.1f} us")


def await_socket(process: subprocess.Popen, socket: Path) -> None:
    while not socket.exists():
        if process.poll() is not None:
            raise Failed(f"{process.args[0]} ended with {process.returncode}")
        time.sleep(0.05)


def calls(build: Path) -> None:
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
                return statistics.median(turn[name][what] for turn in got)

            def ratio(name: str) -> float:
                return statistics.median(turn[name]["p50"] / turn["rtd"]["p50"] for turn in got)

            show(f"an empty model, clients: {clients}, calls a second", f"{median('rtd', 'rate'):.0f}")
            show("  beside a server that does nothing, by the medians", f"{ratio('echo'):.2f}", "0.80")
            show("  beside one of a single thread", f"{ratio('echo1'):.2f}")
            show("  half of the calls; 99 of 100 take up to",
                 f"{median('rtd', 'p50'):.0f}; {median('rtd', 'p99'):.0f} us")
            show("  of the other server", f"{median('echo', 'p50'):.0f}; {median('echo', 'p99'):.0f} us")
            if clients > 1:
                show("  fewest calls of a client / most",
                     f"{min(turn['rtd']['least'] / turn['rtd']['most'] for turn in got):.2f}")


def upload(build: Path) -> None:
    """A file's bytes to the daemon, to a gRPC server that drops them, and through the socket alone, in turns in a guest"""
    program = build / "tests" / "bench" / "bench-upload"
    chunks = {"1 MiB": MIB, "4 MiB": 4 * MIB}
    script = f"""neuron-rtd -g unix:/run/rtd -l 0 & sleep 9999 | ./{program.name} sink /run/sink & head -c {UPLOAD} /dev/urandom >file
until [ -S /run/rtd ] && [ -S /run/sink ]; do sleep 1; done
for turn in 1 2 3; do for chunk in {" ".join(map(str, chunks.values()))}; do
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
        show(f"a file to the daemon, by chunks of {text}", f"{UPLOAD / rtd / 1e6:.0f} MB/s")
        show("  / to a gRPC server that drops them", f"{sink / rtd:.2f}", "0.80")
        show("  that server / a pair of sockets", f"{plain / sink:.2f}")
        show("  switches of context a MiB: the daemon, the server, the pair", ", ".join(
            f"{median(way, 'switches') / (UPLOAD / MIB):.0f}" for way in ("send /run/rtd", "send /run/sink", "plain")))


def loops(build: Path) -> None:
    """An iteration of a loop whose end the data decide: three numbers are doubled until their sum is 50"""
    turns_of = {0: 30.0, 125: 2.0**-120}
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
    module = ROOT / "tests" / "data" / "hlo_ops" / "while_data" / "module.hlo.pb"
    for target, machine in [("inf1", "inf1.xlarge"), ("trn1", "trn1.2xlarge")]:
        with tempfile.TemporaryDirectory() as work:
            neff, took, in_guest = Path(work) / "while.neff", {}, {}
            compiler = build / "tools/neuronx-cc/neuronx-cc"
            subprocess.run([str(compiler), "compile", "--framework", "XLA", str(module), "--target", target, "--output", str(neff)],
                           check=True, stdout=subprocess.DEVNULL)
            for turns_made, value in turns_of.items():
                file = Path(work) / f"{turns_made}.npy"
                text = header.ljust(117) + b"\n"
                file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + struct.pack("<3f", *[value] * 3))
                program = build / "tests" / "bench" / "bench-network"
                took[turns_made] = rates([str(program), str(neff), "1", "1", str(file)],
                                         env={**os.environ, "BENCH_MACHINE": f"emu:{machine}"})
                copied = [word for path in (program, neff, file) for word in ("--copy", str(path))]
                command = ["env", "BENCH_MACHINE=node", "./bench-network", neff.name, "1", "1", file.name]
                in_guest[turns_made] = rates(exec_argv(build, machine, command, *copied))
        for how, clock in [("by the clock", "clock"), ("of the processor", "processor")]:
            once, many = 1 / took[0][clock], 1 / took[125][clock]
            show(f"{target}: an inference without an iteration, {how}", f"{once * 1e6:.1f} us")
            show(f"  an iteration that the data decide, {how}", f"{(many - once) / 125 * 1e6:.1f} us", "5 us")
        once, many = 1 / in_guest[0]["clock"], 1 / in_guest[125]["clock"]
        show(f"{target}: an inference without an iteration, in a guest", f"{once * 1e6:.0f} us")
        show("  an iteration that the data decide", f"{(many - once) / 125 * 1e6:.0f} us", "105 us" if target == "inf1" else "")


def matmul(build: Path) -> None:
    got = rates([str(build / "tests" / "bench" / "bench-matmul")])
    for name in ("bf16", "fp32", "fp8", "fp8_double"):
        show(f"128x128x512 {name} matmuls, one core", f"{got[name] / 1e9:.1f} GFLOP/s")
    show("OpenBLAS sgemm of that shape, one thread", f"{got['openblas'] / 1e9:.1f} GFLOP/s")
    show("bf16 / OpenBLAS", f"{got['bf16'] / got['openblas']:.2f}", "1.00")
    show("fp32 / OpenBLAS", f"{got['fp32'] / got['openblas']:.2f}", "1.00")
    show("fp8 / bf16", f"{got['fp8'] / got['bf16']:.2f}", "1.00")
    show("double rows of fp8 / bf16", f"{got['fp8_double'] / got['bf16']:.2f}")
    for name in (key for key in got if key.endswith(":bf16")):
        kernels = name.removesuffix(":bf16")
        ratios = "; ".join(f"{got[f'{kernels}:{x}'] / got[name]:.2f}" for x in ("fp8_e3", "fp8_e4", "fp8_e5", "fp8_double"))
        show(f"fp8 e3, e4, e5; double rows / bf16, in turns, by {kernels}", ratios, "1.00")


def dispatch(build: Path) -> None:
    got = rates([str(build / "tests" / "bench" / "bench-dispatch")])
    show("an instruction's dispatch: NOP, of the processor", f"{got['nop']:.0f} ns", "30 ns")
    show("NOP from a window of memory", f"{got['fetched-nop']:.0f} ns", "30 ns")
    show("an iteration of a loop on the chip", f"{got['loop']:.0f} ns", "30 ns")
    show("copy of one element; sum of two", f"{got['copy']:.0f}; {got['sum']:.0f} ns")


def gpsimd(build: Path) -> None:
    got = rates([str(build / "tests" / "bench" / "bench-gpsimd")])
    show("GpSimd's processors, integers in memory, one thread", f"{got['integers']:.0f} million instructions/s", "150")
    show("the same of fp32", f"{got['floats']:.0f} million instructions/s", "150")
    show("fp32 sums of products by vectors, one thread", f"{got['vectors']:.0f} million elements/s")


def streams(build: Path) -> None:
    """Compressed streams of 64 KiB of normally distributed weights, as DMA engines have them"""
    got = rates([str(build / "tests" / "bench" / "bench-stream")])
    for width, name in (4, "fp32"), (2, "bf16"):
        show(f"compressed {name} weights / as they are", f"{got[f'ratio-{width}']:.2f}")
        speed = " ".join(f"{got[f'{way}-{width}'] / got[f'memcpy-{width}']:.3f}" for way in ("decompress", "compress"))
        show("  decompressing, compressing, one thread / memcpy", speed)
        show("  decompressing", f"{got[f'decompress-{width}'] / 1e9:.2f} GB/s")
    for few in "1-4", "2-4", "2-2", "16-4", "16-2":
        n, width = few.split("-")
        show(f"{n} different elements of {width} bytes: time from streams to SBUF / as they are",
             f"{got[f'copy-{few}'] / got[f'place-{few}']:.2f}")


def whole_networks(build: Path) -> None:
    inference.measure(build, show, exec_argv)


def with_jax(build: Path) -> None:
    frameworks.measure(build, show)


def zoo(build: Path) -> None:
    zoo_table.measure(build, show, exec_argv)


def networks(build: Path) -> None:
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
        goal = "120 s, 4096 MiB" if name == "bert_base" else ""
        show(f"compile {name}", f"{took['seconds']:.1f} s", goal)
        show("  of a processor; most memory", f"{took['processor']:.1f} s, {took['bytes'] / MIB:.0f} MiB")


MEASURES: dict[str, Callable[[Path], None]] = {
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
}


def main() -> int:
    options = argparse.ArgumentParser(description="Print the project's measures.")
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="DIR")
    options.add_argument("--only", default=",".join(MEASURES), metavar="NAMES", help="of " + ", ".join(MEASURES))
    args = options.parse_args()
    status = 0
    for name in args.only.split(","):
        try:
            MEASURES[name](args.build)
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            print(f"run.py: {name}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
