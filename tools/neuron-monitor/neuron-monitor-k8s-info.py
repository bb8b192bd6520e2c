#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds to the records of neuron-monitor which Kubernetes pods have which NeuronCores and devices:
neuron-monitor | neuron-monitor-k8s-info.py.

The kubelet of the node tells it, through its pod resources service (PodResourcesLister of podresources.proto, v1), of
which the few fields that are needed are read here. Needs grpcio.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from typing import Any, Iterator

VERSION = "@BUILD@"
NAME = "neuron-monitor-k8s-info.py"
LINE_MAX = 4 << 20  # bytes of a record; neuron-monitor's have 64 KiB
ANSWER_MAX = 16 << 20  # bytes; the kubelet's own limit
PERIOD = 15.0  # seconds
DEADLINE = 5.0
KUBELET = "unix:/var/lib/kubelet/pod-resources/kubelet.sock"
METHOD = "/v1.PodResourcesLister/List"
CORES = ("aws.amazon.com/neuroncore",)
DEVICES = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")


def complain(text: str) -> None:
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 128:
            return value, at
    raise ValueError("a number of protobuf that does not end")


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message; others are passed over"""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = varint(data, at)
            if size > len(data) - at:
                raise ValueError("a field of protobuf longer than its message")
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            raise ValueError(f"a field of protobuf of kind {kind}")


def text(data: bytes) -> str:
    return data.decode(errors="replace")


def held(answer: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Who has each core and each device, of a ListPodResourcesResponse"""
    cores: dict[str, Any] = {}
    devices: dict[str, Any] = {}
    for number, pod in fields(answer):
        parts = list(fields(pod)) if number == 1 else []
        names = {n: text(value) for n, value in parts if n in (1, 2)}
        for container in (dict_of(value) for n, value in parts if n == 3):
            for resource in (dict_of(value) for value in container.get(2, [])):
                kind = text(resource.get(1, [b""])[0])
                table = cores if kind in CORES else devices if kind in DEVICES else None
                for identity in resource.get(2, []) if table is not None else []:
                    add(table, text(identity), names, text(container.get(1, [b""])[0]))
    return cores, devices


def dict_of(data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def add(table: dict[str, Any] | None, identity: str, names: dict[int, str], container: str) -> None:
    """The index is the number that a device plug-in's id ends with."""
    index = re.search(r"(\d{1,5})$", identity)
    if table is None or not index:
        return
    entry = table.setdefault(str(int(index[1])), {"pod_name": names.get(1, ""), "namespace": names.get(2, ""), "container_name": []})
    if container not in entry["container_name"]:
        entry["container_name"].append(container)


class Kubelet:
    """Asked once a period, and whenever it did not answer"""

    def __init__(self, address: str, period: float) -> None:
        import grpc

        self.error = grpc.RpcError
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", ANSWER_MAX),
                                                               ("grpc.default_authority", "localhost")])  # fmt: skip
        self.call = self.channel.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)
        self.period, self.asked, self.info = period, 0.0, {}

    def ask(self) -> dict[str, Any]:
        began = time.monotonic()
        if self.info and not self.info["error"] and began < self.asked + self.period:
            return self.info
        cores: dict[str, Any] = {}
        devices: dict[str, Any] = {}
        error = ""
        try:
            cores, devices = held(self.call(b"", timeout=DEADLINE))
        except self.error as failure:
            error = f"{failure.code().name}: {failure.details()}"
        except ValueError as failure:
            error = f"the kubelet's answer: {failure}"
        period = began - self.asked if self.asked else 0.0
        self.asked = began
        self.info = {"period": period, "neuroncores_k8s_info": cores, "neurondevices_k8s_info": devices, "error": error}
        return self.info


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Add to the records of neuron-monitor, read from standard input, which pods have which cores."
    )
    parser.add_argument("--period", type=float, default=PERIOD, metavar="SECONDS", help=f"how often the kubelet is asked (default {PERIOD:.0f})")
    parser.add_argument("--kubelet", default=KUBELET, metavar="ADDRESS", help=f"its pod resources service (default {KUBELET})")
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}", help="print the version")
    options = parser.parse_args()
    if not 1 <= options.period <= 86400:
        parser.error(f"--period takes 1 to 86400: {options.period}")
    return options


def main() -> int:
    options = arguments()
    try:
        kubelet = Kubelet(options.kubelet, options.period)
    except ImportError:
        complain("it needs grpcio (python3-grpcio)")
        return 1
    try:
        while line := sys.stdin.buffer.readline(LINE_MAX):
            try:
                record = json.loads(line)
                record["neuron_k8s_info"] = kubelet.ask()
                line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
            except (ValueError, TypeError, RecursionError) as error:
                complain(f"not a record: {error}")
                continue
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    complain("standard input has ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
