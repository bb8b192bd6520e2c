#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Serves what neuron-monitor writes to Prometheus: neuron-monitor | neuron-monitor-prometheus.py.

The names and labels are those of the vendor's exporter, which dashboards and agents know: a gauge or
counter a metric, ratios from 0 to 1, the instance's labels on every series. When records stop coming, as those
of a monitor that hangs do, nothing is served: old values are no values. Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import socket
import ssl
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator

VERSION = "@BUILD@"
PORT = 8000
ADDRESS = ""  # all addresses, as the vendor's: who scrapes is elsewhere
LINE_MAX = 4 << 20  # bytes of a record; neuron-monitor's have 64 KiB
STALE = 3  # periods after which a process that is no longer reported is forgotten
STALE_MIN = 15.0  # seconds
FIRST = 300.0  # seconds without a record before two have told how often they come
GAPS = 3  # the times between records, of which the longest counts
RECORD_TIME = "neuron_monitor_record_timestamp_seconds"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

INSTANCE_LABELS = {
    "instance_name": "instance_name",
    "instance_id": "instance_id",
    "instance_type": "instance_type",
    "availability_zone": "instance_availability_zone",
    "region": "instance_region",
    "subnet_id": "subnet_id",
}
HELP = {
    "system_memory_total_bytes": ("gauge", "System memory total_bytes bytes"),
    "system_memory_used_bytes": ("gauge", "System memory used_bytes bytes"),
    "system_swap_total_bytes": ("gauge", "System swap total_bytes bytes"),
    "system_swap_used_bytes": ("gauge", "System swap used_bytes bytes"),
    "system_vcpu_count": ("gauge", "System vCPU count"),
    "system_vcpu_usage_ratio": ("gauge", "System CPU utilization ratio"),
    "neuron_runtime_memory_used_bytes": ("gauge", "Runtime memory used bytes"),
    "neuron_runtime_vcpu_usage_ratio": ("gauge", "Runtime vCPU utilization ratio"),
    "neuroncore_utilization_ratio": ("gauge", "NeuronCore utilization ratio"),
    "execution_latency_seconds": ("gauge", "Execution latency in seconds"),
    "execution_errors": ("counter", "Execution errors total"),
    "execution_status": ("counter", "Execution status total"),
    "hardware_ecc_events": ("counter", "Hardware ecc events total"),
    "instance": ("info", "EC2 instance information"),
    "neuron_hardware": ("info", "Neuron Hardware Information"),
    RECORD_TIME: ("gauge", "Time of neuron-monitor's last record since unix epoch in seconds."),
    "python": ("info", "Python platform information"),
    "python_gc_objects_collected": ("counter", "Objects collected during gc"),
    "python_gc_objects_uncollectable": ("counter", "Uncollectable objects found during GC"),
    "python_gc_collections": ("counter", "Number of times this generation was collected"),
    "process_virtual_memory_bytes": ("gauge", "Virtual memory size in bytes."),
    "process_resident_memory_bytes": ("gauge", "Resident memory size in bytes."),
    "process_start_time_seconds": ("gauge", "Start time of the process since unix epoch in seconds."),
    "process_cpu_seconds": ("counter", "Total user and system CPU time spent in seconds."),
    "process_open_fds": ("gauge", "Number of open file descriptors."),
    "process_max_fds": ("gauge", "Maximum number of open file descriptors."),
}
CORE_MEMORY = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")
HELP |= {f"neuroncore_memory_usage_{kind}": ("gauge", f"NeuronCore memory utilization for {kind}") for kind in CORE_MEMORY}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Series:
    value: float
    created: float
    expires: float | None  # None: never


@dataclass
class Store:
    """Series by family and labels. The lock covers what the reader writes and a scrape reads."""

    families: dict[str, dict[Labels, Series]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    clock: Callable[[], float] = time.monotonic
    last: float = 0.0  # when the last record came, or this one began to wait for the first
    wall: float | None = None  # the same by the calendar; None: there is no record yet
    gaps: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last = self.clock()

    def came(self) -> None:
        """A record has come."""
        now = self.clock()
        if self.wall is not None:
            self.gaps = [*self.gaps, now - self.last][-GAPS:]
        self.last, self.wall = now, time.time()

    def late(self) -> str | None:
        """Why what is here is too old to be served; None: it is not"""
        age = self.clock() - self.last
        if age <= (max(STALE_MIN, STALE * max(self.gaps)) if self.gaps else FIRST):
            return None
        often = f", one came every {max(self.gaps):.1f} s" if self.gaps else ""
        return f"neuron-monitor's last record is {age:.0f} s old{often}" if self.wall else f"no record of neuron-monitor for {age:.0f} s"

    def series(self, family: str, labels: dict[str, Any], expires: float | None) -> Series:
        key = tuple(sorted((name, str(value)) for name, value in labels.items()))
        table = self.families.setdefault(family, {})
        series = table.setdefault(key, Series(0.0, time.time(), expires))
        series.expires = expires
        return series

    def forget(self, now: float) -> None:
        for table in self.families.values():
            for key in [k for k, s in table.items() if s.expires is not None and s.expires < now]:
                del table[key]


class Refused(Exception):
    """A record that is not as neuron-monitor's are."""


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{value!r:.40} is no number")
    return float(value)


@dataclass
class Group:
    """A group of a record, with what its series have in common."""

    store: Store
    labels: dict[str, Any]
    data: dict[str, Any]
    expires: float | None

    def set(self, family: str, value: Any, **labels: Any) -> None:
        self.store.series(family, self.labels | labels, self.expires).value = number(value)

    def add(self, family: str, value: Any, **labels: Any) -> None:
        series = self.store.series(family, self.labels | labels, self.expires)
        series.value += max(0.0, number(value))


def neuroncore_counters(group: Group) -> None:
    for core, data in group.data["neuroncores_in_use"].items():
        group.set("neuroncore_utilization_ratio", number(data["neuroncore_utilization"]) / 100, neuroncore=int(core))


def memory_used(group: Group) -> None:
    used = group.data["neuron_runtime_used_bytes"]
    for place in ("host", "neuron_device"):
        group.set("neuron_runtime_memory_used_bytes", used[place], memory_location=place)
    for core, data in used["usage_breakdown"]["neuroncore_memory_usage"].items():
        for kind in CORE_MEMORY:  # the location is "None" with the vendor's exporter, too
            group.set(f"neuroncore_memory_usage_{kind}", data[kind], neuroncore=int(core), memory_location="None")


def runtime_vcpu_usage(group: Group) -> None:
    for kind in ("user", "system"):
        group.set("neuron_runtime_vcpu_usage_ratio", number(group.data["vcpu_usage"][kind]) / 100, usage_type=kind)


def execution_stats(group: Group) -> None:
    for kind, count in group.data["error_summary"].items():
        group.add("execution_errors", count, error_type=kind)
    summary = "execution_summary" if "execution_summary" in group.data else "inference_summary"
    for kind, count in group.data[summary].items():
        group.add("execution_status", count, status_type=kind)
    for percentile, seconds in (group.data["latency_stats"]["total_latency"] or {}).items():
        group.set("execution_latency_seconds", seconds, percentile=percentile)


def hw_counters(group: Group) -> None:
    for device in group.data["neuron_devices"]:
        for kind in ("mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_corrected", "sram_ecc_uncorrected"):
            group.add("hardware_ecc_events", device.get(kind, 0), event_type=kind, neuron_device_index=device["neuron_device_index"])


def vcpu_usage(group: Group) -> None:
    usage = group.data["average_usage"]
    group.set("system_vcpu_count", len(group.data["usage_data"]))
    for kind, parts in (("user", ("user", "nice")), ("system", ("system", "io_wait", "irq", "soft_irq"))):
        group.set("system_vcpu_usage_ratio", min(100.0, sum(number(usage[part]) for part in parts)) / 100, usage_type=kind)


def memory_info(group: Group) -> None:
    for kind in ("memory", "swap"):
        for stat in ("total_bytes", "used_bytes"):
            group.set(f"system_{kind}_{stat}", group.data[f"{kind}_{stat}"])


GROUPS: dict[str, Callable[[Group], None]] = {
    "neuroncore_counters": neuroncore_counters,
    "memory_used": memory_used,
    "neuron_runtime_vcpu_usage": runtime_vcpu_usage,
    "execution_stats": execution_stats,
    "inference_stats": execution_stats,
    "neuron_hw_counters": hw_counters,
    "vcpu_usage": vcpu_usage,
    "memory_info": memory_info,
}


def complain(text: str) -> None:
    print(f"neuron-monitor-prometheus.py: {text}", file=sys.stderr, flush=True)


def take_groups(store: Store, report: dict[str, Any], labels: dict[str, Any], whose: str | None) -> None:
    for name, data in report.items():
        if name not in GROUPS:
            continue
        if data["error"]:
            complain(f"{name}{f' of {whose}' if whose else ''}: {data['error']}")
            continue
        lasts = store.clock() + max(STALE_MIN, STALE * number(data["period"]))
        GROUPS[name](Group(store, labels, data, lasts if whose is not None else None))


def take(store: Store, record: dict[str, Any]) -> None:
    info, hardware = record["instance_info"], record["neuron_hardware_info"]
    labels: dict[str, Any] = {label: str(info.get(key, "")) for label, key in INSTANCE_LABELS.items()}
    with store.lock:
        for runtime in record["neuron_runtime_data"] or []:
            tag = str(runtime["neuron_runtime_tag"])
            if runtime["error"]:
                complain(f"process {tag}: {runtime['error']}")
                continue
            take_groups(store, runtime["report"], labels | {"runtime_tag": tag}, tag)
        take_groups(store, record["system_data"] or {}, labels, None)
        Group(store, labels, {}, None).set("instance", 1)
        names = ("neuron_device_count", "neuron_device_memory_size", "neuroncore_per_device_count")
        store.families.pop("neuron_hardware", None)
        Group(store, labels | {name: hardware.get(name, "") for name in names}, {}, None).set("neuron_hardware", 1)
        store.forget(store.clock())


def take_line(store: Store, line: bytes) -> None:
    try:
        record = json.loads(line)
        take(store, record)
        with store.lock:
            store.came()
    except (ValueError, RecursionError) as error:
        complain(f"not a record: {error}")
    except (KeyError, TypeError, AttributeError, Refused) as error:
        complain(f"not a record of neuron-monitor: {type(error).__name__} {error}")


def escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def sample(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{label}="{escape(text)}"' for label, text in labels)
    return f"{name}{{{inside}}} {value!r}\n" if inside else f"{name} {value!r}\n"


def process_families() -> dict[str, dict[Labels, Series]]:
    """What Python's own client library tells of its process."""
    page, tick = os.sysconf("SC_PAGESIZE"), os.sysconf("SC_CLK_TCK")
    found: dict[str, dict[Labels, Series]] = {}

    def put(family: str, value: float, **labels: str) -> None:
        found.setdefault(family, {})[tuple(labels.items())] = Series(value, STARTED, None)

    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        stat = file.read().rpartition(")")[2].split()
    put("process_virtual_memory_bytes", int(stat[20]))
    put("process_resident_memory_bytes", int(stat[21]) * page)
    put("process_start_time_seconds", STARTED)
    put("process_cpu_seconds", (int(stat[11]) + int(stat[12])) / tick)
    put("process_open_fds", len(os.listdir("/proc/self/fd")))
    put("process_max_fds", float(os.sysconf("SC_OPEN_MAX")))
    for generation, stats in enumerate(gc.get_stats()):
        put("python_gc_objects_collected", stats["collected"], generation=str(generation))
        put("python_gc_objects_uncollectable", stats["uncollectable"], generation=str(generation))
        put("python_gc_collections", stats["collections"], generation=str(generation))
    major, minor, patch = platform.python_version_tuple()
    put("python", 1, implementation=platform.python_implementation(), major=major, minor=minor, patchlevel=patch,
        version=platform.python_version())  # fmt: skip
    return found


def expose_family(family: str, table: dict[Labels, Series], openmetrics: bool) -> Iterator[str]:
    kind, text = HELP[family]
    suffix = {"counter": "_total", "info": "_info", "gauge": ""}[kind]
    shown = family if openmetrics else family + suffix
    yield f"# HELP {shown} {text}\n# TYPE {shown} {kind if openmetrics or kind != 'info' else 'gauge'}\n"
    for labels, series in table.items():
        yield sample(family + suffix, labels, series.value)
        if kind == "counter" and openmetrics and not family.startswith(("process_", "python_")):
            yield sample(f"{family}_created", labels, series.created)
    if kind == "counter" and not openmetrics and not family.startswith(("process_", "python_")):
        yield f"# HELP {family}_created {text}\n# TYPE {family}_created gauge\n"
        yield from (sample(f"{family}_created", labels, series.created) for labels, series in table.items())


def expose(store: Store, openmetrics: bool) -> str:
    with store.lock:
        store.forget(store.clock())
        record = {RECORD_TIME: {(): Series(store.wall, STARTED, None)}} if store.wall else {}
        lines = [
            line
            for family, table in (process_families() | record | store.families).items()
            if table
            for line in expose_family(family, table, openmetrics)
        ]
    return "".join(lines) + ("# EOF\n" if openmetrics else "")


def handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            openmetrics = "application/openmetrics-text" in self.headers.get("Accept", "")
            with store.lock:
                late = store.late()
            body = f"{late}\n".encode() if late else expose(store, openmetrics).encode()
            self.send_response(503 if late else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8" if late else OPENMETRICS if openmetrics else TEXT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str, port: int, requests: type[BaseHTTPRequestHandler]) -> None:
        found = socket.getaddrinfo(address or None, port, socket.AF_UNSPEC if address else socket.AF_INET,
                                   socket.SOCK_STREAM, 0, socket.AI_PASSIVE)  # fmt: skip
        self.address_family, _, _, _, to = found[0]
        super().__init__(to[:2], requests)


def serve(store: Store, port: int, cert: str | None, key: str | None, address: str = ADDRESS) -> int:
    server = Server(address, port, handler(store))
    if cert and key:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certfile=cert, keyfile=key)
        # the handshake belongs to the connection's thread, not to the one that accepts
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="neuron-monitor-prometheus.py",
        description="Serve the records of neuron-monitor, read from standard input, to Prometheus.",
    )
    parser.add_argument("-p", "--port", type=int, default=PORT, help=f"TCP port (default {PORT}; 0: any)")
    parser.add_argument("-a", "--address", default=ADDRESS, help="the address to listen on (default: all of IPv4)")
    parser.add_argument("--cert-file", metavar="FILE", help="certificate, for HTTPS")
    parser.add_argument("--key-file", metavar="FILE", help="its private key")
    parser.add_argument("--enable-k8s-info", action="store_true", help="write the records to standard output, too")
    parser.add_argument("--version", action="version", version=f"neuron-monitor-prometheus.py {VERSION}", help="print the version")
    options = parser.parse_args()
    if bool(options.cert_file) != bool(options.key_file):
        parser.error("--cert-file and --key-file go together")
    if not 0 <= options.port <= 65535:
        parser.error(f"--port takes 0 to 65535: {options.port}")
    return options


STARTED = time.time()


def main() -> int:
    options = arguments()
    store = Store()
    try:
        port = serve(store, options.port, options.cert_file, options.key_file, options.address)
    except (OSError, ssl.SSLError, UnicodeError) as error:
        complain(f"{f'{options.address} ' if options.address else ''}port {options.port}: {error}")
        return 1
    print(f"Running {'HTTPS' if options.cert_file else 'HTTP'} prometheus server at port {port}",
          file=sys.stderr if options.enable_k8s_info else sys.stdout, flush=True)  # fmt: skip
    try:
        while line := sys.stdin.buffer.readline(LINE_MAX):
            take_line(store, line)
            if options.enable_k8s_info:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    complain("standard input has ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
