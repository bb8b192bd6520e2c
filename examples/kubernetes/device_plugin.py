#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A Kubernetes device plug-in for Neuron chips, emulated or real: offers a node's chips or NeuronCores to pods.

It speaks the kubelet's device plug-in API v1beta1 (gRPC over unix sockets): it registers with the kubelet, lists the
devices, with their health, and says what of the host a container gets. Needs python3-grpcio and python3-protobuf, and
rights on the kubelet's directory.

  device_plugin.py [--resource aws.amazon.com/neuron] [--directory DIR]

Resources: aws.amazon.com/neuron is a chip (aws.amazon.com/neurondevice, its older name), aws.amazon.com/neuroncore a core.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2, message_factory

VERSION = "v1beta1"
KUBELET_SOCKET = "kubelet.sock"
DIRECTORY = Path("/var/lib/kubelet/device-plugins")
CORE = "aws.amazon.com/neuroncore"
RESOURCES = ["aws.amazon.com/neuron", "aws.amazon.com/neurondevice", CORE]
POLL = 5.0  # seconds between two looks at the chips and at the kubelet's socket
VISIBLE = "NEURON_RT_VISIBLE_CORES"

# The messages of the API that are used here: fields by number, [] repeated, {} a map of strings
STRING, BOOL, INT64 = "string", "bool", "int64"
MESSAGES = {
    "Empty": {},
    "DevicePluginOptions": {1: ("pre_start_required", BOOL), 2: ("get_preferred_allocation_available", BOOL)},
    "RegisterRequest": {1: ("version", STRING), 2: ("endpoint", STRING), 3: ("resource_name", STRING),
                        4: ("options", "DevicePluginOptions")},
    "NUMANode": {1: ("ID", INT64)},
    "TopologyInfo": {1: ("nodes[]", "NUMANode")},
    "Device": {1: ("ID", STRING), 2: ("health", STRING), 3: ("topology", "TopologyInfo")},
    "ListAndWatchResponse": {1: ("devices[]", "Device")},
    "ContainerAllocateRequest": {1: ("devicesIDs[]", STRING)},
    "AllocateRequest": {1: ("container_requests[]", "ContainerAllocateRequest")},
    "DeviceSpec": {1: ("container_path", STRING), 2: ("host_path", STRING), 3: ("permissions", STRING)},
    "ContainerAllocateResponse": {1: ("envs{}", STRING), 3: ("devices[]", "DeviceSpec")},
    "AllocateResponse": {1: ("container_responses[]", "ContainerAllocateResponse")},
    "PreStartContainerRequest": {1: ("devicesIDs[]", STRING)},
    "PreStartContainerResponse": {},
}


def _add_field(message: descriptor_pb2.DescriptorProto, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name.rstrip("[]{}"), number=number)
    field.label = field.LABEL_REPEATED if name[-1] in "]}" else field.LABEL_OPTIONAL
    if name.endswith("{}"):
        entry = message.nested_type.add(name=field.name.capitalize() + "Entry")
        entry.options.map_entry = True
        _add_field(entry, 1, "key", STRING)
        _add_field(entry, 2, "value", STRING)
        field.type, field.type_name = field.TYPE_MESSAGE, f".{VERSION}.{message.name}.{entry.name}"
    elif kind in MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{VERSION}.{kind}"
    else:
        field.type = {STRING: field.TYPE_STRING, BOOL: field.TYPE_BOOL, INT64: field.TYPE_INT64}[kind]


def _classes() -> dict[str, type]:
    file = descriptor_pb2.FileDescriptorProto(name="deviceplugin.proto", package=VERSION, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in fields.items():
            _add_field(message, number, field, kind)
    return message_factory.GetMessages([file])


api = {name.removeprefix(f"{VERSION}."): made for name, made in _classes().items()}


class Chip:
    """A chip as neuron-ls shows it."""

    def __init__(self, row: dict):
        self.number = int(row["neuron_device"])
        self.cores = int(row["nc_count"])
        self.address = str(row["bdf"])

    @property
    def path(self) -> str:
        return f"/dev/neuron{self.number}"

    def node(self) -> int:
        try:
            return int(Path(f"/sys/bus/pci/devices/{self.address}/numa_node").read_text())
        except (OSError, ValueError):
            return -1

    def healthy(self) -> bool:
        return Path(self.path).exists()


def chips() -> list[Chip]:
    """The chips of this machine; none while the driver has none."""
    done = subprocess.run(["neuron-ls", "--json-output"], capture_output=True, text=True)
    if done.returncode:
        return []
    return [Chip(row) for row in json.loads(done.stdout)]


class Plugin:
    """The service that the kubelet calls."""

    def __init__(self, resource: str):
        self.resource = resource
        self._changed = threading.Condition()
        self._health: dict[str, bool] = {}
        self._chips = {chip.number: chip for chip in chips()}
        self.stopped = False

    def _ids(self) -> dict[str, Chip]:
        """A device's or a core's id, and the chip it is or is on. An id is the number alone, by which CloudWatch's agent
        looks up who has it; cores are counted over all chips, as libnrt does."""
        found, first = {}, 0
        for chip in sorted(self._chips.values(), key=lambda chip: chip.number):
            for core in range(chip.cores if self.resource == CORE else 1):
                found[str(first + core if self.resource == CORE else chip.number)] = chip
            first += chip.cores
        return found

    def _first_core(self, chip: Chip) -> int:
        return sum(other.cores for other in self._chips.values() if other.number < chip.number)

    def look(self) -> None:
        if not self._chips:  # the driver may be loaded later
            self._chips = {chip.number: chip for chip in chips()}
        health = {name: chip.healthy() for name, chip in self._ids().items()}
        with self._changed:
            if health != self._health:
                self._health = health
                self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self.stopped = True
            self._changed.notify_all()

    def options(self, _request: object, _context: grpc.ServicerContext) -> object:
        return api["DevicePluginOptions"]()

    def list_and_watch(self, _request: object, context: grpc.ServicerContext) -> Iterator[object]:
        context.add_callback(self._wake)
        shown = None
        while not self.stopped and context.is_active():
            with self._changed:
                if self._health == shown:
                    self._changed.wait(POLL)
                    continue
                shown = dict(self._health)
            yield self._listed(shown)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _listed(self, health: dict[str, bool]) -> object:
        answer, ids = api["ListAndWatchResponse"](), self._ids()
        for name, good in health.items():
            device = answer.devices.add(ID=name, health="Healthy" if good else "Unhealthy")
            if ids[name].node() >= 0:
                device.topology.nodes.add(ID=ids[name].node())
        return answer

    def allocate(self, request: object, context: grpc.ServicerContext) -> object:
        answer, ids = api["AllocateResponse"](), self._ids()
        for container in request.container_requests:
            names = list(container.devicesIDs)
            if unknown := [name for name in names if name not in ids]:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no device {unknown[0]}")
            given = answer.container_responses.add()
            for chip in sorted({ids[name].number for name in names}):
                path = self._chips[chip].path
                given.devices.add(container_path=path, host_path=path, permissions="rw")
            given.envs[VISIBLE] = ",".join(map(str, sorted(self._cores(names, ids))))
        return answer

    def _cores(self, names: list[str], ids: dict[str, Chip]) -> list[int]:
        if self.resource == CORE:
            return [int(name) for name in names]
        return [self._first_core(ids[name]) + core for name in names for core in range(ids[name].cores)]

    def prepare(self, _request: object, _context: grpc.ServicerContext) -> object:
        return api["PreStartContainerResponse"]()

    def handler(self) -> grpc.GenericRpcHandler:
        def method(kind, call, request: str):
            return kind(call, request_deserializer=api[request].FromString,
                        response_serializer=lambda message: message.SerializeToString())

        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return grpc.method_handlers_generic_handler(f"{VERSION}.DevicePlugin", {
            "GetDevicePluginOptions": method(unary, self.options, "Empty"),
            "ListAndWatch": method(stream, self.list_and_watch, "Empty"),
            "Allocate": method(unary, self.allocate, "AllocateRequest"),
            "PreStartContainer": method(unary, self.prepare, "PreStartContainerRequest"),
        })


def register(directory: Path, endpoint: str, resource: str) -> None:
    request = api["RegisterRequest"](version=VERSION, endpoint=endpoint, resource_name=resource)
    with grpc.insecure_channel(f"unix://{directory / KUBELET_SOCKET}") as channel:
        call = channel.unary_unary(f"/{VERSION}.Registration/Register",
                                   request_serializer=lambda message: message.SerializeToString(),
                                   response_deserializer=api["Empty"].FromString)
        call(request, timeout=10, wait_for_ready=True)


def _socket_id(path: Path) -> tuple[int, int] | None:
    """Identifies the kubelet's socket: another one means that the kubelet has started again and forgotten us."""
    try:
        info = path.stat()
        return info.st_ino, info.st_ctime_ns
    except FileNotFoundError:
        return None


def serve(plugin: Plugin, directory: Path, end: threading.Event) -> None:
    endpoint = "neuron-" + re.sub(r"[^a-z0-9]+", "-", plugin.resource) + ".sock"
    known = None
    while not end.is_set():
        socket = directory / endpoint
        socket.unlink(missing_ok=True)
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        server.add_generic_rpc_handlers([plugin.handler()])
        server.add_insecure_port(f"unix://{socket}")
        server.start()
        try:
            known = _socket_id(directory / KUBELET_SOCKET)
            register(directory, endpoint, plugin.resource)
            print(f"{plugin.resource}: registered", file=sys.stderr, flush=True)
            while not end.wait(POLL) and socket.exists() and _socket_id(directory / KUBELET_SOCKET) == known:
                plugin.look()
        except grpc.RpcError as error:
            print(f"{plugin.resource}: the kubelet does not answer: {error.code().name}", file=sys.stderr, flush=True)
            end.wait(POLL)
        finally:
            server.stop(None).wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="A Kubernetes device plug-in for Neuron chips.")
    parser.add_argument("--resource", choices=RESOURCES, default=RESOURCES[0])
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="the kubelet's, of device plug-ins")
    args = parser.parse_args()
    plugin, end = Plugin(args.resource), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: (end.set(), plugin.stop()))
    plugin.look()
    serve(plugin, args.directory.resolve(), end)
    return 0


if __name__ == "__main__":
    sys.exit(main())
