#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuronx-cc says on a terminal how far a long compilation is, neuron-run how far a long execution, neuron-cli how far a
model is on its way to the daemon and how many inferences are done, and only there; TAP.

usage: progress.py NEURONX-CC [TESTMODEL_WRITE NEURON_RUN [NEURON_RTD NEURON_CLI]]
"""

import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPERATIONS = 20000
STARTED = 0.1  # seconds of a processor: the compiler is at work by then, and not done
LONG = 2.5  # seconds: with these it has worked for long


def module() -> str:
    lines = ['module "long"', '%0 = f32[128,64] parameter index=0 "x"']
    lines += [f'%{i} = f32[128,64] {("add", "multiply")[i % 2]} %{i - 1}, %0 "v"' for i in range(1, OPERATIONS)]
    return "\n".join([*lines, f"return %{OPERATIONS - 1}", ""])


def worked(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compiled(argv: list, stderr: int) -> int:
    """Starts it, keeps it from working for a while, and returns its exit status"""
    with subprocess.Popen(argv, stderr=stderr) as child:
        while child.poll() is None and worked(child.pid) < STARTED:
            time.sleep(0.01)
        child.send_signal(signal.SIGSTOP)
        time.sleep(LONG)
        child.send_signal(signal.SIGCONT)
        return child.wait()


def seen(ours: int) -> bytes:
    """Everything that comes until the other side of a terminal is closed"""
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:
        pass
    return said


def executed(write: str, run: str, work: Path) -> list[tuple[bool, str]]:
    """A program that hangs until its time is over, which is four seconds"""
    subprocess.run([write, "hang", work / "hang.neff"], check=True)
    argv = [run, work / "hang.neff", "--device", "emu:inf1.xlarge", "--output-dir", work]
    env = os.environ | {"NEURON_RT_EXEC_TIMEOUT": "4"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, stderr=theirs, env=env) as child:
        os.close(theirs)
        said = seen(ours)
        status = child.wait()
    quiet = subprocess.run(argv, stderr=subprocess.PIPE, env=env, check=False)
    return [
        (status == 1 and b"executing: 0 of 1\033[K" in said, "neuron-run: a terminal sees how far it is"),
        (b"\r\033[Kneuron-run: execution failed" in said, "neuron-run: and nothing of it in front of what follows"),
        (quiet.returncode == 1 and b"\033" not in quiet.stderr and b"\r" not in quiet.stderr, "neuron-run: a pipe sees nothing"),
    ]


def on_terminal(argv: list, env: dict[str, str], slow: subprocess.Popen | None = None) -> tuple[int, bytes, bytes]:
    """Status, output and what the terminal saw; `slow` is kept from working while the program waits for it"""
    ours, theirs = pty.openpty()
    if slow:
        slow.send_signal(signal.SIGSTOP)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=theirs, env=env) as child:
        os.close(theirs)
        if slow:
            time.sleep(LONG)
            slow.send_signal(signal.SIGCONT)
        said = seen(ours)
        out = child.communicate()[0]
        return child.returncode, out, said


def served(write: str, rtd: str, cli: str, work: Path) -> list[tuple[bool, str]]:
    """A daemon that stands still while a model is loaded, and a program that hangs for four seconds"""
    address = f"unix:{work}/n.sock"
    env = os.environ | {"NEURON_EMU": "inf1.xlarge", "NEURON_RTD_ADDRESS": address}
    subprocess.run([write, "hang", work / "hang.neff"], check=True)
    with subprocess.Popen([rtd, "-g", address], env=env, stderr=subprocess.DEVNULL) as daemon:
        while daemon.poll() is None and not (work / "n.sock").exists():
            time.sleep(0.05)
        load = [cli, "load", work / "hang.neff", "--start", "--timeout", "4"]
        status, out, said = on_terminal(load, env, daemon)
        results = [
            (status == 0 and out.strip().isdigit() and (b"\rsending" in said or b"\rthe daemon loads it" in said), "neuron-cli load: a terminal sees what is done"),
            (said.endswith(b"\r\033[K"), "neuron-cli load: and nothing of it when all is done"),
        ]
        infer = [cli, "infer", out.decode().strip()]
        status, _, said = on_terminal(infer, env)
        results += [
            (status == 1 and b"inferences: 0 of 1\033[K" in said, "neuron-cli infer: a terminal sees how far it is"),
            (b"\r\033[Kneuron-cli: infer: NERR code 5" in said, "neuron-cli infer: and nothing of it in front of what follows"),
        ]
        quiet = subprocess.run(infer, capture_output=True, env=env, check=False)
        results.append((quiet.returncode == 1 and b"\033" not in quiet.stderr and b"\r" not in quiet.stderr, "neuron-cli: a pipe sees nothing"))
        daemon.terminate()
    return results


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="progress.") as work:
        (Path(work) / "long.ir").write_text(module())
        argv = [sys.argv[1], "compile", "--framework", "IR", f"{work}/long.ir", "--output", f"{work}/long.neff"]
        ours, theirs = pty.openpty()
        status = compiled(argv, theirs)
        os.close(theirs)
        said = seen(ours)
        with open(f"{work}/stderr", "wb") as quiet:
            other = compiled(argv, quiet.fileno())
        results = [
            (status == 0 and other == 0, "a long module compiles"),
            (any(phase in said for phase in (b"passes: ", b"generating: ", b"scheduling", b"writing")),
             "a terminal sees the phase"),
            (said.endswith(b"\r\033[K"), "and nothing of it when all is done"),
            (not (Path(work) / "stderr").read_bytes(), "a file sees nothing"),
        ]
        if len(sys.argv) > 3:
            results += executed(sys.argv[2], sys.argv[3], Path(work))
        if len(sys.argv) > 5:
            results += served(sys.argv[2], sys.argv[4], sys.argv[5], Path(work))
    for i, (right, text) in enumerate(results, 1):
        print(f"{'ok' if right else 'not ok'} {i} - {text}")
    if not all(right for right, _ in results):
        print(f"# the terminal saw {said!r}")
    print(f"1..{len(results)}")
    return 0 if all(right for right, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
