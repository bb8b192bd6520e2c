#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What Prometheus and its agents see of neuron-monitor-prometheus.py, as TAP.

usage: prometheus.py EXPORTER NEURON_MONITOR

A record written here goes in; the names, labels and values are compared with those of a public
capture of the vendor's exporter, by a reader of the text format of our own.
"""

import copy
import http.client
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from types import ModuleType
from typing import Any

from tap import Tap

LABELS = {"instance_name", "instance_id", "instance_type", "region", "availability_zone", "subnet_id"}
RUNTIME = LABELS | {"runtime_tag"}
MEMORY = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")
# family: type and labels, as public agents and dashboards know them
WANTED = {
    "system_memory_total_bytes": ("gauge", LABELS),
    "system_memory_used_bytes": ("gauge", LABELS),
    "system_swap_total_bytes": ("gauge", LABELS),
    "system_swap_used_bytes": ("gauge", LABELS),
    "system_vcpu_count": ("gauge", LABELS),
    "system_vcpu_usage_ratio": ("gauge", LABELS | {"usage_type"}),
    "neuron_runtime_memory_used_bytes": ("gauge", RUNTIME | {"memory_location"}),
    "neuron_runtime_vcpu_usage_ratio": ("gauge", RUNTIME | {"usage_type"}),
    "neuroncore_utilization_ratio": ("gauge", RUNTIME | {"neuroncore"}),
    "execution_errors_total": ("counter", RUNTIME | {"error_type"}),
    "execution_errors_created": ("gauge", RUNTIME | {"error_type"}),
    "execution_status_total": ("counter", RUNTIME | {"status_type"}),
    "execution_status_created": ("gauge", RUNTIME | {"status_type"}),
    "execution_latency_seconds": ("gauge", RUNTIME | {"percentile"}),
    "hardware_ecc_events_total": ("counter", LABELS | {"event_type", "neuron_device_index"}),
    "hardware_ecc_events_created": ("gauge", LABELS | {"event_type", "neuron_device_index"}),
    "instance_info": ("gauge", LABELS),
    "neuron_hardware_info": ("gauge", LABELS | {"neuron_device_count", "neuron_device_memory_size", "neuroncore_per_device_count"}),
    "neuron_monitor_record_timestamp_seconds": ("gauge", set()),
    "python_info": ("gauge", {"implementation", "major", "minor", "patchlevel", "version"}),
    "python_gc_objects_collected_total": ("counter", {"generation"}),
    "python_gc_objects_uncollectable_total": ("counter", {"generation"}),
    "python_gc_collections_total": ("counter", {"generation"}),
    "process_virtual_memory_bytes": ("gauge", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
    "process_cpu_seconds_total": ("counter", set()),
    "process_open_fds": ("gauge", set()),
    "process_max_fds": ("gauge", set()),
} | {f"neuroncore_memory_usage_{kind}": ("gauge", RUNTIME | {"neuroncore", "memory_location"}) for kind in MEMORY}

CPU = {"user": 30, "nice": 2, "system": 10, "idle": 50, "io_wait": 5, "irq": 1, "soft_irq": 2}
GROUP = {"period": 1.0, "error": ""}
RECORD: dict[str, Any] = {
    "neuron_runtime_data": [
        {
            "pid": 12,
            "address": "",
            "neuron_runtime_tag": 'a "tag" \\ of\nmine',
            "error": "",
            "report": {
                "neuroncore_counters": GROUP | {"neuroncores_in_use": {"3": {"neuroncore_utilization": 42.5, "flops": 7}}},
                "neuron_runtime_vcpu_usage": GROUP | {"vcpu_usage": {"user": 25.0, "system": 50.0}},
                "memory_used": GROUP
                | {
                    "neuron_runtime_used_bytes": {
                        "host": 100,
                        "neuron_device": 200,
                        "usage_breakdown": {
                            "host": {"application_memory": 100, "constants": 0, "dma_buffers": 0, "tensors": 0},
                            "neuroncore_memory_usage": {"3": {kind: i for i, kind in enumerate(MEMORY)}},
                        },
                    },
                    "loaded_models": [],
                },
                "execution_stats": GROUP
                | {
                    "error_summary": {"generic": 1, "numerical": 0, "transient": 0, "model": 0, "runtime": 0, "hardware": 0},
                    "execution_summary": {"completed": 3, "timed_out": 1},
                    "latency_stats": {"total_latency": {"p0": 0.5, "p100": 1.5}, "device_latency": None},
                },
            },
        }
    ],
    "system_data": {
        "vcpu_usage": GROUP | {"average_usage": CPU, "usage_data": {"0": CPU, "1": CPU}, "context_switch_count": 1},
        "memory_info": GROUP | {"memory_total_bytes": 4000, "memory_used_bytes": 1000, "swap_total_bytes": 10, "swap_used_bytes": 0},
        "neuron_hw_counters": GROUP
        | {
            "neuron_devices": [
                {"neuron_device_index": 0, "mem_ecc_corrected": 2, "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0, "sram_ecc_corrected": 0}
            ]
        },
    },
    "instance_info": {f"instance_{k}": k for k in ("name", "id", "type", "availability_zone", "region")} | {"subnet_id": "subnet", "error": ""},
    "neuron_hardware_info": {"neuron_device_count": 4, "neuron_device_memory_size": 8 << 30, "neuroncore_per_device_count": 4, "error": ""},
}
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
Sample = tuple[dict[str, str], float]


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def parse(text: str) -> tuple[dict[str, str], dict[str, list[Sample]]]:
    types: dict[str, str] = {}
    samples: dict[str, list[Sample]] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, f"twice: {line}"
            types[name] = kind
        elif not line.startswith("#"):
            found = SAMPLE.match(line)
            assert found, f"no sample: {line}"
            inside = found[2] or ""
            pairs = LABEL.findall(inside)
            assert sum(len(a) + len(b) + 3 for a, b in pairs) + max(0, len(pairs) - 1) == len(inside), f"labels: {line}"
            samples.setdefault(found[1], []).append(({a: unescape(b) for a, b in pairs}, float(found[3])))
    return types, samples


class Exporter:
    def __init__(self, program: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [program, "--port", "0", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin and self.process.stdout
        said = self.process.stdout.readline().decode()
        self.port = int(said.rpartition(" ")[2])

    def feed(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def scrape(self, accept: str = "") -> tuple[str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
        response = connection.getresponse()
        return response.headers["Content-Type"], response.read().decode()

    def value(self, name: str, **labels: str) -> float | None:
        _, samples = parse(self.scrape()[1])
        found = [v for have, v in samples.get(name, []) if all(have.get(k) == want for k, want in labels.items())]
        return found[0] if len(found) == 1 else None

    def until(self, name: str, value: float, more: bool = False, **labels: str) -> bool:
        """A record is taken by another thread than the one that answers. more: it may be larger."""
        end = time.monotonic() + 600
        while time.monotonic() < end:
            found = self.value(name, **labels)
            if found == value or (more and (found or 0) >= value):
                return True
            time.sleep(0.05)
        return False

    def stop(self) -> str:
        assert self.process.stdin and self.process.stderr
        self.process.stdin.close()
        self.process.wait()
        return self.process.stderr.read().decode()


def check_names(tap: Tap, exporter: Exporter) -> None:
    exporter.feed(json.dumps(RECORD))
    tap.ok(exporter.until("neuroncore_utilization_ratio", 0.425, neuroncore="3"), "a record is taken")
    kind, text = exporter.scrape()
    types, samples = parse(text)
    tap.ok(kind.startswith("text/plain; version=0.0.4"), "the text format", kind)
    got = {name: (types[name], set(samples[name][0][0])) for name in types}
    for name in sorted(WANTED | got):
        tap.ok(got.get(name) == WANTED.get(name), name, f"got {got.get(name)}", f"want {WANTED.get(name)}")
    tap.ok(samples["neuroncore_utilization_ratio"][0][0]["runtime_tag"] == 'a "tag" \\ of\nmine', "a tag of any characters")
    tap.ok({s[0]["memory_location"] for s in samples["neuroncore_memory_usage_tensors"]} == {"None"}, "memory_location of a core's memory")
    kind, text = exporter.scrape("application/openmetrics-text; version=1.0.0")
    types, samples = parse(text)
    tap.ok(kind.startswith("application/openmetrics-text") and text.endswith("\n# EOF\n"), "OpenMetrics when asked for")
    tap.ok(types.get("execution_errors") == "counter" and "execution_errors_created" in samples and types.get("instance") == "info", "its families")
    # as Prometheus 3 and OpenTelemetry ask; the latter's Neuron receiver finds cores and chips in the info family
    kind, text = exporter.scrape("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                                 "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                                 "text/plain;version=0.0.4;q=0.3,*/*;q=0.2")
    types, samples = parse(text)
    hardware = samples["neuron_hardware_info"][0][0]
    tap.ok(kind.startswith("application/openmetrics-text") and types.get("neuron_hardware") == "info" and
           (hardware["neuron_device_count"], hardware["neuroncore_per_device_count"]) == ("4", "4"), "the hardware as OpenMetrics' info", str(types))


def check_values(tap: Tap, exporter: Exporter) -> None:
    want = {
        ("system_vcpu_count", ""): 2,
        ("system_vcpu_usage_ratio", "user"): 0.32,
        ("system_vcpu_usage_ratio", "system"): 0.18,
        ("neuron_runtime_vcpu_usage_ratio", "system"): 0.5,
        ("system_memory_used_bytes", ""): 1000,
    }
    for (name, usage), value in want.items():
        labels = {"usage_type": usage} if usage else {}
        tap.ok(exporter.value(name, **labels) == value, f"{name} {usage}", str(exporter.value(name, **labels)))
    exporter.feed(json.dumps(RECORD))
    tap.ok(exporter.until("execution_status_total", 6, status_type="completed"), "executions add up")
    tap.ok(exporter.value("hardware_ecc_events_total", event_type="mem_ecc_corrected") == 4, "errors add up")
    tap.ok(exporter.value("execution_latency_seconds", percentile="p100") == 1.5, "latency does not")
    late = copy.deepcopy(RECORD)
    late["neuron_runtime_data"][0]["report"] = {"memory_used": GROUP | {"error": "a reason"}}
    exporter.feed(json.dumps(late))
    tap.ok(exporter.value("neuron_runtime_memory_used_bytes", memory_location="host") == 100, "a group with an error changes nothing")


def check_hostile(tap: Tap, exporter: Exporter) -> None:
    broken = ["", "{", "[]", "null", "1", "[" * 100000, json.dumps(RECORD | {"system_data": {"memory_info": GROUP}}), "\udc80"]
    for path, value in (("neuroncores_in_use", []), ("neuroncores_in_use", {"x": {"neuroncore_utilization": 1}})):
        record = copy.deepcopy(RECORD)
        record["neuron_runtime_data"][0]["report"]["neuroncore_counters"][path] = value
        broken.append(json.dumps(record))
    for text in broken:
        exporter.process.stdin.write(text.encode(errors="surrogateescape") + b"\n")  # type: ignore[union-attr]
    exporter.feed(json.dumps(RECORD))
    # of some only a part is broken, so that the rest counts
    tap.ok(exporter.until("execution_status_total", 9, status_type="completed", more=True), "goes on after what is no record")
    said = exporter.stop()
    tap.ok(said.count("not a record") >= len(broken) - 1 and "Traceback" not in said, "and is said", said)
    tap.ok("a reason" in said, "an error of a group is said", said)
    tap.ok(exporter.process.returncode == 0, "ends with its input")


def check_pair(tap: Tap, program: str, monitor: str) -> None:
    """The two as they are used; records go on to a third program when asked."""
    env = os.environ | {"NEURON_EMU": "inf2.24xlarge"}
    first = subprocess.Popen([monitor], env=env, stdout=subprocess.PIPE)
    exporter = subprocess.Popen([program, "--port", "0", "--enable-k8s-info"], stdin=first.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert exporter.stdout and exporter.stderr and first.stdout
    first.stdout.close()
    port = int(exporter.stderr.readline().decode().rpartition(" ")[2])
    record = json.loads(exporter.stdout.readline())
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    _, samples = parse(connection.getresponse().read().decode())
    info = samples["neuron_hardware_info"][0][0]
    tap.ok(info["neuron_device_count"] == "6" and info["instance_type"] == "inf2.24xlarge", "with neuron-monitor itself", str(info))
    tap.ok(len(samples["hardware_ecc_events_total"]) == 24, "four kinds of errors of six devices")
    tap.ok(record["neuron_hardware_info"]["neuron_device_count"] == 6, "the record goes on")
    exporter.terminate()
    first.terminate()
    exporter.wait()
    first.wait()


def module(program: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("exporter", program)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    found = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = found
    loader.exec_module(found)
    return found


def answer(port: int, address: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, port)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    return response.status, response.read().decode()


def check_frozen(tap: Tap, program: str) -> None:
    """A monitor that hangs: by a clock of the test's, the exporter's own server in this process."""
    exporter = module(program)
    now = [1000.0]
    store = exporter.Store(clock=lambda: now[0])
    port = exporter.serve(store, 0, None, None, "127.0.0.1")

    def after(seconds: float) -> tuple[int, bool]:
        now[0] += seconds
        status, body = answer(port)
        return status, "neuroncore_utilization_ratio{" in body or "system_memory" in body or "neuron_" in body.split(" record")[0]

    def record() -> None:
        exporter.take_line(store, json.dumps(RECORD).encode())

    tap.ok(after(299) == (200, False), "before the first record there are no values")
    status, body = (after(2)[0], answer(port)[1])
    tap.ok(status == 503 and body == "no record of neuron-monitor for 301 s\n", "five minutes without one", body)
    before = time.time()
    record()
    stamp = parse(answer(port)[1])[1]["neuron_monitor_record_timestamp_seconds"]
    tap.ok(len(stamp) == 1 and stamp[0][0] == {} and before <= stamp[0][1] <= time.time(), "the record's time", str(stamp))
    tap.ok(after(299)[0] == 200 and after(2)[0] == 503, "the second record may come every few minutes")
    record()  # 301 s after the first
    tap.ok(after(3 * 301 - 1)[0] == 200 and after(2)[0] == 503, "three times as long as between the two")
    for _ in range(4):
        now[0] += 1
        record()
    tap.ok(after(15) == (200, True), "15 seconds at least")
    tap.ok(after(1) == (503, False), "after that no value is served")
    tap.ok(answer(port)[1] == "neuron-monitor's last record is 16 s old, one came every 1.0 s\n", "and why is said", answer(port)[1])
    exporter.complain = lambda text: None
    exporter.take_line(store, b"{}")
    tap.ok(answer(port)[0] == 503, "what is no record does not count")
    record()
    tap.ok(after(0) == (200, True), "the next record ends it")
    for seconds in (1, 20, 5, 5):  # groups of several periods
        now[0] += seconds
        record()
    tap.ok(after(59)[0] == 200 and after(2)[0] == 503, "of records that come 20 s apart at most after a minute")


def check_address(tap: Tap, program: str) -> None:
    def reached(exporter: Exporter, address: str) -> bool:
        try:
            return answer(exporter.port, address)[0] == 200
        except OSError:
            return False

    for options, want in (([], (True, True)), (["--address", "127.0.0.2"], (False, True)), (["-a", "127.0.0.1"], (True, False))):
        exporter = Exporter(program, *options)
        got = tuple(reached(exporter, address) for address in ("127.0.0.1", "127.0.0.2"))
        exporter.stop()
        tap.ok(got == want, f"listens as {options} says", f"127.0.0.1 and 127.0.0.2: {got}")
    for address in ("192.0.2.1", "no.such.name.invalid", "a" * 70):
        done = subprocess.run([program, "--port", "0", "--address", address], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        tap.ok(done.returncode == 1 and address.encode() in done.stderr and done.stderr.count(b"\n") == 1, f"{address} is refused", str(done))


def main() -> None:
    tap = Tap()
    check_frozen(tap, sys.argv[1])
    check_address(tap, sys.argv[1])
    exporter = Exporter(sys.argv[1])
    check_names(tap, exporter)
    check_values(tap, exporter)
    check_hostile(tap, exporter)
    check_pair(tap, sys.argv[1], sys.argv[2])
    for options in (["--port", "70000"], ["--cert-file", "x"], ["--port", "x"], ["extra"]):
        done = subprocess.run([sys.argv[1], *options], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        tap.ok(done.returncode == 2, f"refused: {options}", str(done))
    tap.done()


main()
