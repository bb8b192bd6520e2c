#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Publishes what neuron-monitor writes to Amazon CloudWatch:
neuron-monitor | neuron-monitor-cloudwatch.py --namespace N --region R.

Metrics and dimensions have the names of neuron-monitor-prometheus.py, which lies beside this program and makes series of
a record; counters are those of the record's period. Needs boto3, but for --dry-run.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Iterator

VERSION = "@BUILD@"
NAME = "neuron-monitor-cloudwatch.py"
LINE_MAX = 4 << 20  # bytes of a record; neuron-monitor's have 64 KiB
NAMESPACE = "neuron-monitor"
METRICS_MAX = 1000  # of a PutMetricData request
VALUE_MAX = 1024  # characters of a dimension's value
# Labels that are the same in all of an instance's series, and would only make more metrics of them
LEFT_OUT = ("instance_name", "availability_zone", "region", "subnet_id")
UNITS = {"_bytes": "Bytes", "_seconds": "Seconds", "_count": "Count"}


def complain(text: str) -> None:
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def exporter() -> ModuleType:
    """The program beside this one, as a module"""
    path = Path(__file__).resolve().with_name("neuron-monitor-prometheus.py")
    loader = importlib.machinery.SourceFileLoader("neuron_monitor_prometheus", str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    if not spec:
        raise ImportError(f"{path}: no program")
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # its dataclasses look themselves up
    write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = write
    return module


def unit(family: str, kind: str) -> str:
    if kind == "counter":
        return "Count"
    if family.startswith("neuroncore_memory_usage_"):
        return "Bytes"
    return next((name for end, name in UNITS.items() if family.endswith(end)), "None")


def plain(text: str) -> str:
    """What CloudWatch takes as a dimension's value: printable ASCII"""
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:VALUE_MAX]


def metrics(families: ModuleType, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    store, when = families.Store(), time.time()
    families.take(store, record)
    for family, table in store.families.items():
        kind = families.HELP[family][0]
        if kind == "info":
            continue
        for labels, series in table.items():
            dimensions = [{"Name": name, "Value": plain(value)} for name, value in labels if value.strip() and name not in LEFT_OUT]
            yield {"MetricName": family + ("_total" if kind == "counter" else ""), "Dimensions": dimensions,
                   "Timestamp": when, "Value": series.value, "Unit": unit(family, kind)}  # fmt: skip


def client(region: str | None) -> Any:
    try:
        import boto3
    except ImportError:
        complain("it needs boto3, Amazon's library for Python (python3-boto3), but for --dry-run")
        return None
    try:
        return boto3.client("cloudwatch", region_name=region)
    except Exception as error:  # boto3 has no base class of its exceptions
        complain(f"{type(error).__name__}: {error}")
        return None


def publish(cloudwatch: Any, namespace: str, data: list[dict[str, Any]]) -> None:
    for first in range(0, len(data), METRICS_MAX):
        part = data[first : first + METRICS_MAX]
        if cloudwatch:
            cloudwatch.put_metric_data(Namespace=namespace, MetricData=part)
        else:
            print(json.dumps({"Namespace": namespace, "MetricData": part}), flush=True)


def take_line(families: ModuleType, cloudwatch: Any, namespace: str, line: bytes) -> None:
    try:
        data = list(metrics(families, json.loads(line)))
    except (ValueError, RecursionError) as error:
        complain(f"not a record: {error}")
        return
    except (KeyError, TypeError, AttributeError, families.Refused) as error:
        complain(f"not a record of neuron-monitor: {type(error).__name__} {error}")
        return
    try:
        publish(cloudwatch, namespace, data)
    except BrokenPipeError:
        raise
    except Exception as error:  # of the network, of rights: the next record may get through
        complain(f"{len(data)} metrics are lost: {type(error).__name__}: {error}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Publish the records of neuron-monitor, read from standard input, to Amazon CloudWatch."
    )
    parser.add_argument("--namespace", default=NAMESPACE, help=f"the metrics' namespace (default {NAMESPACE})")
    parser.add_argument("--region", help="the AWS region (default: as boto3 finds it)")
    parser.add_argument("--dry-run", action="store_true", help="print the requests as lines of JSON, and send none")
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}", help="print the version")
    options = parser.parse_args()
    if not options.namespace or options.namespace.startswith(("AWS/", ":")) or len(options.namespace) > 255:
        parser.error(f"--namespace takes 1 to 255 characters that begin neither with AWS/ nor with a colon: {options.namespace!r}")
    return options


def main() -> int:
    options = arguments()
    cloudwatch = None if options.dry_run else client(options.region)
    if not options.dry_run and not cloudwatch:
        return 1
    families = exporter()
    families.complain = complain
    try:
        while line := sys.stdin.buffer.readline(LINE_MAX):
            take_line(families, cloudwatch, options.namespace, line)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    complain("standard input has ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
