#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The device plug-in of examples/kubernetes, as a kubelet sees it, as TAP.

usage: kubelet.py PLUG-IN NEURON_LS [--nodes]

Stands in for the kubelet on its side of the API: takes registrations, dials back, watches, allocates, starts again. The
chips are those in process of a trn1.32xlarge, sixteen of two cores, which have no nodes and so no health; with --nodes
those of this machine, an inf1.6xlarge: four of four cores. What a container is given follows from Kubernetes' API and from libnrt's
numbering of cores, written down here by hand.
"""

import os
import queue
import signal
import subprocess
import sys
import tempfile
from concurrent import futures
from pathlib import Path

import grpc
from tap import Tap

SECONDS = 600  # for each answer, on a busy host
WORK = Path(tempfile.mkdtemp(prefix="kubelet."))
HERE = Path(__file__).parent

subprocess.run(["protoc", f"-I{HERE}", f"--python_out={WORK}", HERE / "kubelet.proto"], check=True)
sys.path.insert(0, str(WORK))
import kubelet_pb2 as api  # noqa: E402


class Kubelet:
    """The kubelet's socket, and what was registered there."""

    def __init__(self) -> None:
        self.registered: queue.Queue = queue.Queue()
        self._start()

    def _start(self) -> None:
        handler = grpc.unary_unary_rpc_method_handler(self._register, api.RegisterRequest.FromString,
                                                      lambda message: message.SerializeToString())
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        service = grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler})
        self._server.add_generic_rpc_handlers([service])
        self._server.add_insecure_port(f"unix://{WORK}/kubelet.sock")
        self._server.start()

    def _register(self, request: object, _context: grpc.ServicerContext) -> object:
        self.registered.put(request)
        return api.Empty()

    def restart(self) -> None:
        """Starts again as a kubelet does: plug-ins' sockets are removed, its own is made anew."""
        self._server.stop(0).wait()
        for path in WORK.glob("*.sock"):
            path.unlink(missing_ok=True)
        self._start()


class Client:
    """The kubelet's connection to a plug-in."""

    def __init__(self, endpoint: str):
        self.channel = grpc.insecure_channel(f"unix://{WORK}/{endpoint}")
        grpc.channel_ready_future(self.channel).result(SECONDS)

    def _method(self, kind: str, name: str, answer: type) -> object:
        return getattr(self.channel, kind)(f"/v1beta1.DevicePlugin/{name}",
                                           request_serializer=lambda message: message.SerializeToString(),
                                           response_deserializer=answer.FromString)

    def options(self) -> object:
        return self._method("unary_unary", "GetDevicePluginOptions", api.DevicePluginOptions)(api.Empty(), timeout=SECONDS)

    def watch(self) -> object:
        return self._method("unary_stream", "ListAndWatch", api.ListAndWatchResponse)(api.Empty(), timeout=SECONDS)

    def allocate(self, *containers: list[str]) -> object:
        request = api.AllocateRequest(container_requests=[api.ContainerAllocateRequest(devices_ids=ids) for ids in containers])
        return self._method("unary_unary", "Allocate", api.AllocateResponse)(request, timeout=SECONDS)


def given(answer: object) -> list[tuple]:
    return [(dict(container.envs), [(d.container_path, d.host_path, d.permissions) for d in container.devices])
            for container in answer.container_responses]


def expected(cores: list[int], *chips: int) -> tuple:
    paths = [f"/dev/neuron{chip}" for chip in chips]
    return {"NEURON_RT_VISIBLE_CORES": ",".join(map(str, cores))}, [(path, path, "rw") for path in paths]


def start(plugin: str, resource: str, environment: dict) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-B", plugin, "--resource", resource, "--directory", WORK], env=environment,
                            stderr=subprocess.DEVNULL)


def one(tap: Tap, kubelet: Kubelet, process: subprocess.Popen, resource: str, want: dict) -> None:
    request = kubelet.registered.get(timeout=SECONDS)
    tap.same((request.version, request.resource_name), ("v1beta1", resource), f"{resource}: registered")
    tap.ok("/" not in request.endpoint and (WORK / request.endpoint).is_socket(), "its endpoint is a socket beside the kubelet's")
    client = Client(request.endpoint)
    options = client.options()
    tap.same((options.pre_start_required, options.get_preferred_allocation_available), (False, False), "no options")
    listed = next(client.watch()).devices
    tap.same([device.ID for device in listed], want["ids"], "what it lists")
    tap.same({device.health for device in listed}, {want["health"]}, f"each {want['health']}")
    for containers, answers in want["allocate"]:
        tap.same(given(client.allocate(*containers)), answers, f"allocated: {containers}")
    try:
        client.allocate([want["ids"][0], "99"])
        tap.ok(False, "a device that there is not")
    except grpc.RpcError as error:
        tap.ok(error.code() == grpc.StatusCode.INVALID_ARGUMENT and "99" in error.details(), "a device that there is not")
    kubelet.restart()
    again = kubelet.registered.get(timeout=SECONDS)
    tap.same((again.endpoint, again.resource_name), (request.endpoint, resource), "a kubelet that starts again hears of it")
    tap.same([device.ID for device in next(Client(again.endpoint).watch()).devices], want["ids"], "and gets the list")
    process.send_signal(signal.SIGTERM)
    tap.same(process.wait(SECONDS), 0, "SIGTERM ends it")


def main() -> int:
    plugin, neuron_ls, nodes = sys.argv[1], Path(sys.argv[2]), sys.argv[3:] == ["--nodes"]
    tap, kubelet = Tap(), Kubelet()
    environment = {**os.environ, "PATH": f"{neuron_ls.parent}:{os.environ['PATH']}"}
    if nodes:
        health = "Healthy"
        chips = {"ids": [str(i) for i in range(4)], "allocate": [([["2"]], [expected([8, 9, 10, 11], 2)])]}
        cores = {"ids": [str(i) for i in range(16)],
                 "allocate": [([["7", "1"], ["13"]], [expected([1, 7], 0, 1), expected([13], 3)])]}
    else:
        health = "Unhealthy"
        environment["NEURON_EMU"] = "trn1.32xlarge"
        chips = {"ids": [str(i) for i in range(16)],
                 "allocate": [([["3"]], [expected([6, 7], 3)]),
                              ([["15", "0"], ["10"]], [expected([0, 1, 30, 31], 0, 15), expected([20, 21], 10)])]}
        cores = {"ids": [str(i) for i in range(32)],
                 "allocate": [([["31", "5", "4"]], [expected([4, 5, 31], 2, 15)])]}
    for resource, want in [("aws.amazon.com/neuron", chips), ("aws.amazon.com/neuroncore", cores)]:
        process = start(plugin, resource, environment)
        try:
            one(tap, kubelet, process, resource, {**want, "health": health})
        finally:
            process.kill()
            process.wait()
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
