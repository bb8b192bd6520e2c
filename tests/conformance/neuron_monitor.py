#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What other people's programs see of neuron-monitor, as TAP, with chips in process.

usage: neuron_monitor.py NEURON_MONITOR

The oracles are Python's JSON and the checks that public clients make of a record, written again here
in a few lines: types, keys and ranges that they rely on.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tap import Tap

RUNTIME = ["neuroncore_counters", "memory_used", "neuron_runtime_vcpu_usage", "execution_stats"]
SYSTEM = ["vcpu_usage", "memory_info", "neuron_hw_counters"]
INSTANCE = "name id type availability_zone availability_zone_id region"
# neuron_device_type, _version, neuroncore_version, devices, bytes, logical cores of a device, cores of a logical one
MACHINES = {
    "inf1.6xlarge": ("inferentia", "v1", "v1", 4, 8 << 30, 4, 1),
    "inf2.24xlarge": ("inferentia2", "v3", "v2", 6, 32 << 30, 2, 1),
    "trn1.2xlarge": ("trainium", "v2", "v2", 1, 32 << 30, 2, 1),
    "trn2.48xlarge": ("trainium2", "v4", "v3d", 16, 96 << 30, 4, 2),
}


def start(program: str, *options: str, instance: str = "inf1.6xlarge") -> subprocess.Popen[bytes]:
    env = os.environ | {"NEURON_EMU": instance}
    return subprocess.Popen([program, *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def lines(monitor: subprocess.Popen[bytes], count: int, seconds: float = 600) -> list[bytes]:
    """So many lines, and the end of the monitor: its reader goes away, as clients do."""
    assert monitor.stdout
    found: list[bytes] = []
    end = time.monotonic() + seconds
    while len(found) < count and select.select([monitor.stdout], [], [], max(0, end - time.monotonic()))[0]:
        line = monitor.stdout.readline()
        if not line:
            break
        found.append(line)
    monitor.stdout.close()
    return found


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_cpu(usage: Any) -> bool:
    names = ["user", "nice", "system", "idle", "io_wait", "irq", "soft_irq"]
    return list(usage) == names and all(number(v) and 0 <= v <= 100 for v in usage.values())


def faults(record: Any) -> list[str]:
    """What a client of the 2.x schema would stumble over."""
    bad: list[str] = []
    system, hardware = record["system_data"], record["neuron_hardware_info"]
    if not isinstance(record["neuron_runtime_data"], list):
        bad.append("neuron_runtime_data is no array")
    for name, group in system.items():
        if name not in SYSTEM or not number(group["period"]) or group["error"] != "" or list(group)[-1] != "error":
            bad.append(f"{name}: {group}")
    if "vcpu_usage" in system:
        usage = system["vcpu_usage"]
        if not check_cpu(usage["average_usage"]) or not all(check_cpu(u) for u in usage["usage_data"].values()):
            bad.append(f"vcpu_usage: {usage}")
        if not all(key.isdecimal() for key in usage["usage_data"]) or type(usage["context_switch_count"]) is not int:
            bad.append("vcpu_usage: keys, switches")
    if "memory_info" in system:
        memory = [system["memory_info"][key] for key in ("memory_total_bytes", "memory_used_bytes", "swap_total_bytes", "swap_used_bytes")]
        if any(type(v) is not int for v in memory) or not 0 < memory[1] < memory[0] or memory[3] > memory[2]:
            bad.append(f"memory_info: {memory}")
    if "neuron_hw_counters" in system:
        for i, device in enumerate(system["neuron_hw_counters"]["neuron_devices"]):
            keys = ["neuron_device_index", "mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_uncorrected", "sram_ecc_corrected"]
            if list(device) != keys or device["neuron_device_index"] != i or any(type(v) is not int for v in device.values()):
                bad.append(f"neuron_hw_counters: {device}")
    info = record["instance_info"]
    if list(info) != [f"instance_{key}" for key in INSTANCE.split()] + ["ami_id", "subnet_id", "error"]:
        bad.append(f"instance_info: {info}")
    if any(not isinstance(v, str) for v in info.values()):
        bad.append(f"instance_info: {info}")
    if hardware["error"] != "":
        bad.append(f"neuron_hardware_info: {hardware}")
    return bad


def check_first(tap: Tap, program: str) -> None:
    for instance, want in MACHINES.items():
        began = time.monotonic()
        monitor = start(program, instance=instance)
        found = lines(monitor, 1)
        took = time.monotonic() - began
        status = monitor.wait()
        err = monitor.stderr.read() if monitor.stderr else b""
        tap.ok(len(found) == 1 and found[0].endswith(b"\n"), f"{instance}: a first line", f"after {took:.1f} s: {err!r}")
        if not found:
            continue
        tap.ok(len(found[0]) < 65536, f"{instance}: shorter than 64 KiB", f"{len(found[0])}")
        record = json.loads(found[0])
        tap.ok(not faults(record), f"{instance}: as clients read it", *faults(record))
        order = ["neuron_runtime_data", "system_data", "instance_info", "neuron_hardware_info"]
        tap.ok(list(record) == order and sorted(record["system_data"]) == sorted(SYSTEM), f"{instance}: all groups", str(list(record)))
        got = tuple(v for k, v in record["neuron_hardware_info"].items() if k != "error")
        tap.ok(got == want, f"{instance}: the hardware", f"got {got}", f"want {want}")
        tap.ok(record["instance_info"]["instance_type"] == instance, f"{instance}: its type")
        tap.ok(status == 0 and not err, f"{instance}: ends with its reader, and says nothing", f"{status} {err!r}")
    monitor = start(program, instance="bogus")
    record = json.loads(lines(monitor, 1)[0])
    tap.ok(record["neuron_hardware_info"]["error"] and record["neuron_hardware_info"]["neuron_device_count"] == 0,
           "without devices: neuron_hardware_info says why", str(record))
    monitor.wait()


def check_ended(tap: Tap, program: str) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # nohup's children ignore SIGHUP
        monitor = start(program)
        assert monitor.stdout
        monitor.stdout.readline()
        monitor.send_signal(number)
        tap.ok(monitor.wait() == -number, f"ends by {number.name}, as anything does")
    # a reader that no longer reads: the pipe is full
    with tempfile.NamedTemporaryFile("w") as config:
        config.write('{"period": "10ms", "system_metrics": [{"type": "vcpu_usage"}]}')
        config.flush()
        monitor = start(program, "-c", config.name)
        while b"pipe_write" not in (wait := Path(f"/proc/{monitor.pid}/wchan").read_bytes()) and wait != b"0" and monitor.poll() is None:
            time.sleep(0.05)
        time.sleep(0 if wait != b"0" else 3)
        monitor.terminate()
        tap.ok(monitor.wait() == -signal.SIGTERM, "and while it waits for its reader")


def check_periods(tap: Tap, program: str, directory: Path) -> None:
    config = {
        "period": "300ms",
        "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": name} for name in RUNTIME]}],
        "system_metrics": [{"type": "memory_info"}, {"type": "vcpu_usage", "period": "900ms"}, {"type": "neuron_hw_counters", "period": "1h"}],
    }
    path = directory / "periods.conf"
    path.write_text(json.dumps(config))
    monitor = start(program, "-c", str(path))
    records = [json.loads(line) for line in lines(monitor, 8)]
    monitor.wait()
    groups = [sorted(record["system_data"]) for record in records]
    tap.ok(len(records) == 8 and groups[0] == sorted(SYSTEM), "the first record has all groups", str(groups))
    tap.ok(all("neuron_hw_counters" not in g for g in groups[1:]), "one of an hour is not in the next ones", str(groups))
    # by what the records say that they captured: a busy machine makes them late
    early, missed, since = [], [], 0.0
    for record in records[1:]:
        since += record["system_data"]["memory_info"]["period"]
        if "vcpu_usage" in record["system_data"]:
            early += [since] if since < 0.8 else []
            since = 0.0
        else:
            missed += [since] if since > 1.3 else []
    tap.ok(not early and not missed, "a group has its own period", f"early {early}, missed {missed}")
    late = [r["system_data"]["vcpu_usage"]["period"] for r in records[1:] if "vcpu_usage" in r["system_data"]]
    tap.ok(late and all(p > 0.5 for p in late), "and says what was captured", str(late))
    tap.ok(not [f for r in records for f in faults(r)], "all as clients read them")


def check_old(tap: Tap, program: str, directory: Path) -> None:
    path = directory / "old.conf"
    old = ["neuroncore_counters", "inference_stats", "memory_used", "hw_counters"]
    path.write_text(json.dumps({"neuron_runtimes": [{"address": f"unix:{directory}/none", "metrics": [{"type": t} for t in old]}]}))
    monitor = start(program, "--config-file", str(path))
    record = json.loads(lines(monitor, 1)[0])
    monitor.wait()
    tap.ok("instance_data" in record and "instance_info" in record, "1.x: instance_data too", str(record))
    runtime = record["neuron_runtime_data"][0]
    tap.ok(runtime["address"] == runtime["neuron_runtime_tag"] == f"unix:{directory}/none" and runtime["pid"] == 0
           and runtime["neuron_runtime_index"] == 0 and "no daemon" in runtime["error"], "1.x: no daemon at the address", str(runtime))
    tap.ok(sorted(runtime["report"]) == sorted(old) and all(g["error"] for g in runtime["report"].values()), "1.x: its groups", str(runtime))


def check_refused(tap: Tap, program: str, directory: Path) -> None:
    metric = '{"neuron_runtimes": [{"tag_filter": ".*", "metrics": [%s]}]}'
    entry = '{"neuron_runtimes": [{"tag_filter": "%s"}]}'
    cases = {
        "": "line 1",
        "{": "line 1",
        "[]": "an object is expected",
        '"' + "x" * 70000 + '"': "more than 65536 bytes",
        "[" * 60000: "depth",
        '{"perod": "1s"}': 'unknown key "perod"; there are period, neuron_runtimes, system_metrics',
        '{"period": "1s", "period": "2s"}': "duplicate",
        '{"period": 5}': "period is a string",
        '{"period": "5"}': '"5" is no duration',
        '{"period": "-1s"}': "is no duration",
        '{"period": "1ns"}': "is no duration from 10ms",
        '{"period": "9999999999999999999h"}': "is no duration",
        '{"period": "1.2.3s"}': "is no duration",
        '{"period": "nans"}': "is no duration",
        '{"neuron_runtimes": {}}': "neuron_runtimes is an array",
        '{"neuron_runtimes": [1]}': "neuron_runtimes[0]: an object is expected",
        '{"neuron_runtimes": [' + ",".join(["{}"] * 17) + "]}": "more than 16 entries",
        '{"system_metrics": [{"type": "neuron_hw"}]}': 'system_metrics[0]: unknown type "neuron_hw"; there are vcpu_usage',
        '{"system_metrics": [{"type": "memory_info"}, {"type": "memory_info"}]}': "system_metrics[1]: type \"memory_info\" was there",
        '{"system_metrics": [{"type": "\\u001b[31m"}]}': "?[31m",
        '{"system_metrics": [{"period": "1s"}]}': "type is missing",
        metric % '{"type": "vcpu_usage"}': 'neuron_runtimes[0].metrics[0]: unknown type "vcpu_usage"',
        metric % '{"type": "memory_used", "color": 1}': 'neuron_runtimes[0].metrics[0]: unknown key "color"',
        '{"neuron_runtimes": [{"tag_filter": 1}]}': "tag_filter is a string",
        '{"neuron_runtimes": [{"tag_filter": "a", "address": "unix:/run/x"}]}': "exclude each other",
        '{"neuron_runtimes": [{"address": "http://x"}]}': "address is that of a daemon",
        entry % "(": "tag_filter",
        entry % ("a" * 256): "longer than 255",
        entry % "((a{200}){200}){200}": "repeats more than 1000 times",
        entry % "a{99999999999999999999}": "repeats more than 1000 times",
        entry % "(a*)\\\\1": "back-reference",
        '{"period": "1\\u0000s"}': "\\u0000",
    }
    path = directory / "bad.conf"
    for text, want in cases.items():
        path.write_text(text)
        done = subprocess.run([program, "-c", str(path)], env=os.environ | {"NEURON_EMU": "inf1.xlarge"},
                              capture_output=True, text=True, check=False)
        good = done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1 and want in done.stderr
        tap.ok(good, f"refused: {text[:60]}", f"{done.returncode} {done.stdout!r} {done.stderr!r}")
    for path, want in (("/dev/zero", "more than 65536 bytes"), (str(directory / "none"), "No such file"), (str(directory), "")):
        done = subprocess.run([program, "-c", str(path)], capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 1 and want in done.stderr and not done.stdout, f"refused: {Path(path).name}", done.stderr)
    for options in (["--bogus"], ["extra"], ["--verbose", "5"]):
        done = subprocess.run([program, *options], capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 2 and done.stderr and not done.stdout, f"refused: {options}", done.stderr)


def main() -> None:
    tap = Tap()
    program = sys.argv[1]
    check_first(tap, program)
    check_ended(tap, program)
    with tempfile.TemporaryDirectory() as name:
        check_periods(tap, program, Path(name))
        check_old(tap, program, Path(name))
        check_refused(tap, program, Path(name))
    tap.done()


main()
