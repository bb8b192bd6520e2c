#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What other people's programs see of neuron-ls, as TAP: in process, or in guests.

usage: neuron_ls.py emu NEURON_LS | guest BUILD

The oracles are the reference output in tests/data/neuron-ls, Python's and jq's JSON, and the checks
that public clients make, written again here in a few lines.
"""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "neuron-ls"
LS = "/opt/aws/neuron/bin/neuron-ls"
CHIPS = {"inf1.xlarge": 1, "inf1.6xlarge": 4, "inf1.24xlarge": 16}
FATAL = re.compile(
    r'time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ" level=fatal msg="Failed to load MLA system information" '
    r'error="failed to discover Neuron devices: [^"]+"\n'
)
COMMANDS = ["", "--format modern", "-t", "-j", "--json-output", "--format modern -a -w", "--bogus", "-x"]


@dataclass
class Result:
    status: int
    out: str
    err: str


def run_emu(program: str, instance: str, lines: list[str]) -> list[Result]:
    results = []
    for line in lines:
        done = subprocess.run(
            [program, *shlex.split(line)], env=os.environ | {"NEURON_EMU": instance}, capture_output=True, text=True, check=False
        )
        results.append(Result(done.returncode, done.stdout, done.stderr))
    return results


def run_guest(build: str, instance: str, commands: list[str], *options: str) -> list[Result]:
    """Runs all commands in one guest; each command's streams come back in base64."""
    each = "( {} ) >/tmp/o 2>/tmp/e; echo $?; base64 /tmp/o | tr -d '\\n'; echo; base64 /tmp/e | tr -d '\\n'; echo"
    script = "; ".join(each.format(command) for command in commands)
    argv = [str(ROOT / "neuron-vm" / "neuron-vm"), "exec", "--build", build, "--instance", instance, *options]
    done = subprocess.run(argv + ["--", "sh", "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.split("\n")
    decode = lambda text: base64.b64decode(text).decode()  # noqa: E731
    return [
        Result(int(lines[3 * i]), decode(lines[3 * i + 1]), decode(lines[3 * i + 2]))
        if len(lines) > 3 * i + 2
        else Result(-1, "", "the guest said nothing")
        for i in range(len(commands))
    ]


def golden(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def pipe(text: str, command: str) -> str:
    return subprocess.run(["bash", "-c", command], input=text, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def without_cpus(text: str) -> str:
    """The CPUs near a chip are the machine's own; the reference output has none."""
    return re.sub(r'("cpu_affinity": )"[^"]*"', r'\1""', text)


def check_tables(tap: Tap, instance: str, results: dict[str, Result], has_cpus: bool) -> None:
    tap.same(results[""].out, golden(f"classic-{instance}.txt"), f"{instance}: the table of 2020")
    modern = results["--format modern"].out
    tap.ok(modern.startswith(f"instance-type: {instance}\n"), f"{instance}: the modern table starts with its type", modern)
    if not has_cpus:
        tap.same(modern, golden(f"modern-{instance}.txt"), f"{instance}: the modern table")
    else:
        rows = [line for line in modern.splitlines() if line.startswith("|")]  # after the lines of the instance
        names = [cell.strip() for cell in rows[1].split("|")[1:-1]] if len(rows) > 1 else []
        connected = ["DEVICES"] if CHIPS[instance] > 1 else []
        want = ["DEVICE", "CORES", "CORE IDS", "MEMORY", *connected, "BDF", "AFFINITY", "NODE"]
        tap.same(names, want, f"{instance}: the modern table's columns")
    tap.same(results["-t"].out, golden(f"topology-{instance}.txt"), f"{instance}: the drawing")
    tap.ok(all(not r.err for line, r in results.items()), f"{instance}: stderr is empty")
    tap.same([r.status for r in results.values()], [0] * 6 + [1] * 2, f"{instance}: exit status")
    for line in ("--bogus", "-x"):
        tap.same(results[line].out, f"unknown flag: {line}\n", f"{instance}: {line} is refused on stdout")


def check_json(tap: Tap, instance: str, text: str) -> None:
    chips = CHIPS[instance]
    tap.same(without_cpus(text), golden(f"json-{instance}.json"), f"{instance}: JSON, to the byte")
    try:
        rows = json.loads(text)
    except ValueError as error:
        tap.ok(False, f"{instance}: JSON parses", str(error))
        return
    tap.same(json.dumps(rows, indent=4), text, f"{instance}: JSON as Python lays it out")
    # a scheduler's count of cores
    tap.same(sum(row.get("nc_count", 0) for row in rows), 4 * chips, f"{instance}: sum of nc_count")
    # a scheduler's typed reader
    keys = ["neuron_device", "nc_count", "memory_size", "numa_node", "bdf"]
    typed = all(
        all(key in row for key in keys)
        and int(row["numa_node"]) >= -1
        and row["memory_size"] // row["nc_count"] == 2 << 30
        and (row["connected_to"] is None or all(0 <= n < chips for n in row["connected_to"]))
        and row["neuroncore_ids"] == [row["neuron_device"] * 4 + i for i in range(4)]
        for row in rows
    )
    tap.ok(typed, f"{instance}: keys and types of a scheduler")
    tap.same([row["neuron_device"] for row in rows], list(range(chips)), f"{instance}: devices in order")
    # a monitor's typed reader
    plain = all(
        isinstance(row["numa_node"], str) and isinstance(row["cpu_affinity"], str) and re.fullmatch(r"0000:00:1[0-9a-f]\.0", row["bdf"])
        for row in rows
    )
    tap.ok(plain, f"{instance}: types of a monitor")
    # links are mutual
    linked = {(row["neuron_device"], n) for row in rows for n in row["connected_to"] or []}
    tap.ok(linked == {(b, a) for a, b in linked} and len(linked) == 2 * (chips - 1), f"{instance}: links are mutual")


def check_pipelines(tap: Tap, instance: str, modern: str, text: str) -> None:
    tap.same(pipe(text, "jq 'length * .[0].nc_count'"), str(4 * CHIPS[instance]), f"{instance}: jq's count of cores")
    tap.same(pipe(text, "jq length"), str(CHIPS[instance]), f"{instance}: jq's count of devices")
    family = pipe(modern, "grep instance-type | awk -F': ' '{print $2}' | cut -d. -f1")
    tap.same(family, "inf1", f"{instance}: a script's instance family")
    count = pipe(text, "grep nc_count | head -n 1 | awk -F': ' '{print $2}' | tr -d ,")
    tap.same(count, "4", f"{instance}: a script's count of cores")


def check_instance(tap: Tap, instance: str, results: dict[str, Result], has_cpus: bool) -> None:
    check_tables(tap, instance, results, has_cpus)
    check_json(tap, instance, results["-j"].out)
    tap.same(results["--json-output"].out, results["-j"].out, f"{instance}: --json-output is -j")
    check_pipelines(tap, instance, results["--format modern"].out, results["-j"].out)


def without_id(text: str) -> str:
    """A chip in process has no instance id."""
    return re.sub(r"instance-id: .*\n", "", text)


def without_slots(text: str) -> str:
    """Hides the slots of chips, which differ from instance to instance."""
    return re.sub(r"(0000:[0-9a-f]{2}):[0-9a-f]{2}\.0", r"\1:xx.0", text)


def check_v2(tap: Tap, program: str) -> None:
    """Machines with NeuronCore-v2, in process."""
    for instance in ["trn1.2xlarge", "trn2.3xlarge", "inf2.24xlarge"]:
        got = run_emu(program, instance, [""])[0].out
        tap.same(got, without_id(golden(f"captured-modern-{instance}.txt")), f"{instance}: the table of a real one, to the byte")
    for instance in ["trn1.32xlarge", "trn1n.32xlarge"]:
        got = without_slots(run_emu(program, instance, [""])[0].out)
        want = without_slots(without_id(golden("captured-modern-trn1.32xlarge.txt"))).replace("trn1.32xlarge", instance)
        tap.same(got, want, f"{instance}: the table of a real one but for the chips' slots")
    for instance, like in [("inf2.48xlarge", ""), ("trn2.48xlarge", ""), ("trn2u.48xlarge", "trn2.48xlarge")]:
        got = run_emu(program, instance, ["--format modern"])[0].out
        want = golden(f"modern-{like or instance}.txt").replace(like or instance, instance)
        tap.same(got, want, f"{instance}: the table, by the public tables of addresses and neighbours")
    for instance, name in [("trn1.2xlarge", "captured-trn1.2xlarge.json"), ("trn2.3xlarge", "json-trn2.3xlarge.json")]:
        tap.same(run_emu(program, instance, ["-j"])[0].out, golden(name), f"{instance}: JSON, to the byte")
    for instance in ["trn1.32xlarge", "trn2.48xlarge"]:
        got = run_emu(program, instance, ["-t"])[0].out
        tap.ok(got.endswith(golden("vendor-topology-torus.txt")), f"{instance}: the vendor's drawing, to the byte", got)
    cells = "\u25c4\u2013\u2013\u25ba".join(f"[{i:2} ]" for i in range(12))
    tap.ok(run_emu(program, "inf2.48xlarge", ["-t"])[0].out.endswith(f"\n\n  {cells}\n"), "inf2.48xlarge: a ring in one line")
    check_logical(tap, program)


def check_logical(tap: Tap, program: str) -> None:
    """NEURON_LOGICAL_NC_CONFIG, which says how many cores programs see as one."""
    for wanted, cores, shown in [("1", 8, 1), ("2", 4, 2), ("3", 4, 2), ("", 4, 2)]:
        env = os.environ | {"NEURON_EMU": "trn2.48xlarge", "NEURON_LOGICAL_NC_CONFIG": wanted}
        rows = json.loads(subprocess.run([program, "-j"], env=env, capture_output=True, text=True, check=False).stdout)
        got = [(row["nc_count"], row["logical_neuroncore_config"], row["neuroncore_ids"]) for row in rows]
        want = [(cores, shown, list(range(i * cores, (i + 1) * cores))) for i in range(16)]
        tap.same(got, want, f"trn2.48xlarge: NEURON_LOGICAL_NC_CONFIG={wanted}")
    env = os.environ | {"NEURON_EMU": "trn1.2xlarge", "NEURON_LOGICAL_NC_CONFIG": "2"}
    rows = json.loads(subprocess.run([program, "-j"], env=env, capture_output=True, text=True, check=False).stdout)
    tap.ok("logical_neuroncore_config" not in rows[0] and rows[0]["nc_count"] == 2, "trn1.2xlarge: has no logical cores")


def check_missing(tap: Tap, result: Result, title: str, says: str) -> None:
    tap.ok(result.status == 1 and result.out == "", f"{title}: status 1, nothing on stdout", str(result))
    tap.ok(FATAL.fullmatch(result.err) and says in result.err, f"{title}: one line that says what is missing", result.err)


def check_processes(tap: Tap, modern: str) -> None:
    rows = [line for line in modern.splitlines() if "neuron-ls --format modern -a -w" in line]
    tap.same(len(rows), 4, "guest: -a shows neuron-ls itself on each device")
    tap.ok(all(row.rstrip("| ").endswith("NA") for row in rows), "guest: without a runtime version", modern)


def guest(tap: Tap, build: str) -> None:
    for instance in CHIPS:
        lines = [f"{LS} {line}" for line in COMMANDS]
        results = dict(zip(COMMANDS, run_guest(build, instance, lines)))
        check_instance(tap, instance, results, has_cpus=True)
        if instance == "inf1.6xlarge":
            check_processes(tap, results["--format modern -a -w"].out)
    check_missing(tap, run_guest(build, "inf1.6xlarge", [LS], "--no-module")[0], "no module", "4 on the PCI bus")
    if (Path(build) / "runtime" / "rtd" / "neuron-rtd").exists():
        daemon(tap, build)


def daemon(tap: Tap, build: str) -> None:
    start = "/opt/aws/neuron/bin/neuron-rtd >/tmp/log 2>&1 & echo $! >/tmp/pid; i=0; "
    wait = "until [ -S /run/neuron.sock ] || [ $i = 600 ]; do sleep 0.1; i=$((i + 1)); done"
    stopped = f"kill -STOP $(cat /tmp/pid); {LS}; kill -CONT $(cat /tmp/pid)"
    killed = f"kill -KILL $(cat /tmp/pid); wait; {LS}"
    commands = [start + wait, LS, f"su user -c {LS}", "cat /tmp/pid", "/opt/aws/neuron/bin/neuron-rtd --version", stopped, killed]
    _, root, user, pid, version, hung, gone = run_guest(build, "inf1.6xlarge", commands)
    number = version.out.split(" ")[1] if " " in version.out else ""
    want = [["unix:/run/neuron.sock", pid.out.strip(), number]] * 4
    tap.same(runtime_cells(root.out), want, "with neuron-rtd, root sees its address, process and version")
    tap.same(user.out, golden("classic-inf1.6xlarge.txt"), "with neuron-rtd, a user sees the devices alone")
    want = [["unix:/run/neuron.sock", pid.out.strip(), "NA"]] * 4
    tap.same(runtime_cells(hung.out), want, "a daemon that does not answer has no version")
    tap.same(gone.out, golden("classic-inf1.6xlarge.txt"), "a dead daemon's socket is no daemon")
    tap.same("".join(r.err for r in (root, user, hung, gone)), "", "with neuron-rtd, stderr is empty")


def runtime_cells(table: str) -> list[list[str]]:
    rows = [line.split("|")[1:-1] for line in table.splitlines() if "0000:00" in line]
    return [[cell.strip() for cell in row[7:]] for row in rows]


def emu(tap: Tap, program: str) -> None:
    for instance in CHIPS:
        results = dict(zip(COMMANDS, run_emu(program, instance, COMMANDS)))
        check_instance(tap, instance, results, has_cpus=False)
    check_v2(tap, program)
    check_missing(tap, run_emu(program, "inf9.large", [""])[0], "unknown machine", "NEURON_EMU")


def main() -> int:
    tap = Tap()
    {"emu": emu, "guest": guest}[sys.argv[1]](tap, sys.argv[2])
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
