#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The dashboard and the alerts of examples/monitoring against the exporter's series, as TAP.

usage: dashboard.py SOURCE_ROOT EXPORTER NEURON_MONITOR

The exporter serves neuron-monitor's records, with a process written into them. Where Prometheus is installed, it
scrapes that, and every query of the dashboard has to give data.
"""

import copy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tap import Tap

GROUP = {"period": 1.0, "error": ""}
HOST = dict.fromkeys(("application_memory", "constants", "dma_buffers", "tensors"), 1)
CORE = dict.fromkeys(("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors"), 1)
PROCESS = {
    "pid": 7, "address": "", "neuron_runtime_tag": "job", "error": "",
    "report": {"neuroncore_counters": GROUP | {"neuroncores_in_use": {"3": {"neuroncore_utilization": 50, "flops": 7}}},
               "memory_used": GROUP | {"neuron_runtime_used_bytes": {"host": 4, "neuron_device": 5, "usage_breakdown": {
                   "host": HOST, "neuroncore_memory_usage": {"3": CORE}}}, "loaded_models": []},
               "neuron_runtime_vcpu_usage": GROUP | {"vcpu_usage": {"user": 1, "system": 1}},
               "execution_stats": GROUP | {"error_summary": {"hardware": 1}, "execution_summary": {"completed": 5},
                                           "latency_stats": {"total_latency": {"p50": 0.25}, "device_latency": None}}},
}  # fmt: skip
NAME = re.compile(r"\b([a-z][a-z0-9_]*)\s*\{")
ALERT_NAME = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b(?=[\s{/])")


def series(port: int) -> set[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return set(re.findall(r"^([a-z]\w*)", answer.read().decode(), re.MULTILINE))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def query(port: int, expression: str) -> list[Any]:
    words = urllib.parse.urlencode({"query": expression.replace("$instance", ".*")})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{words}") as answer:
        found: list[Any] = json.load(answer)["data"]["result"]
    return found


def first_record(monitor: str) -> dict[str, Any]:
    with subprocess.Popen([monitor], env=os.environ | {"NEURON_EMU": "inf1.6xlarge"}, stdout=subprocess.PIPE) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.terminate()
    record: dict[str, Any] = json.loads(line)
    record["neuron_runtime_data"] = [copy.deepcopy(PROCESS)]
    return record


def check_scraped(tap: Tap, prometheus: str, exporter: subprocess.Popen[bytes], target: int, line: bytes, queries: list[str]) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="dashboard.") as work:
        config = Path(work) / "prometheus.yml"
        config.write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: neuron, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n")
        argv = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={work}/data", f"--web.listen-address=127.0.0.1:{port}"]
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as server:
            left, end = set(queries), time.monotonic() + 600
            while left and server.poll() is None and time.monotonic() < end:
                assert exporter.stdin
                exporter.stdin.write(line)
                exporter.stdin.flush()
                time.sleep(1)
                try:
                    left = {expression for expression in left if not query(port, expression)}
                except OSError:
                    pass
            server.terminate()
    tap.ok(not left, "Prometheus: every query of the dashboard gives data", *sorted(left))


def main() -> None:
    tap = Tap()
    root, program, monitor = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    examples = root / "examples/monitoring"
    dashboard = json.loads((examples / "neuron.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    exporter = subprocess.Popen([program, "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert exporter.stdin and exporter.stdout
    target = int(exporter.stdout.readline().decode().rpartition(" ")[2])
    line = json.dumps(first_record(monitor)).encode() + b"\n"
    exporter.stdin.write(line)
    exporter.stdin.flush()
    for _ in range(100):
        if "neuroncore_utilization_ratio" in (there := series(target)):
            break
        time.sleep(0.1)
    named = {name for expression in queries for name in NAME.findall(expression)}
    tap.ok(len(named) > 10 and named <= there, "the dashboard's series are the exporter's", str(sorted(named - there)))
    ids, cells = [panel["id"] for panel in dashboard["panels"]], [panel["gridPos"] for panel in dashboard["panels"]]
    covered = [(x, y) for c in cells for x in range(c["x"], c["x"] + c["w"]) for y in range(c["y"], c["y"] + c["h"])]
    tap.ok(len(set(ids)) == len(ids) and len(set(covered)) == len(covered) and all(x < 24 for x, _ in covered), "its panels lie beside each other")
    rules = (examples / "alerts.yml").read_text()
    expressions = [text for text in re.findall(r"expr: (?:\|\n)?((?: .*\n|.*\n)(?: {10,}.*\n)*)", rules)]
    alerted = {name for text in expressions for name in ALERT_NAME.findall(text)} - {"instance_id", "runtime_tag"}
    tap.ok(len(alerted) >= 5 and alerted <= there, "the alerts' series are the exporter's", str(sorted(alerted - there)))
    tested = set(re.findall(r"alertname: (\w+)", (examples / "alerts-test.yml").read_text()))
    tap.ok(tested == set(re.findall(r"alert: (\w+)", rules)), "each alert has a test", str(tested))
    if promtool := shutil.which("promtool"):
        for words in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts-test.yml"]):
            done = subprocess.run([promtool, *words], cwd=examples, capture_output=True, text=True, check=False)
            tap.ok(done.returncode == 0, f"promtool {' '.join(words)}", done.stdout + done.stderr)
    if prometheus := shutil.which("prometheus"):
        check_scraped(tap, prometheus, exporter, target, line, queries)
    else:
        tap.ok(True, "Prometheus: every query of the dashboard gives data # SKIP prometheus is not installed")
    exporter.stdin.close()
    exporter.wait()
    tap.done()


main()
