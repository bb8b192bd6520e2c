#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-monitor's companions for CloudWatch and Kubernetes, as TAP.

usage: companions.py CLOUDWATCH K8S_INFO NEURON_MONITOR

Records are neuron-monitor's, with a process written into them. The kubelet is a gRPC server here, whose answers
protobuf's own library makes of the public message types.
"""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from tap import Tap

PROTO = """syntax = "proto3"; package v1;
message PodResources { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; }
message ContainerResources { string name = 1; repeated ContainerDevices devices = 2; repeated int64 cpu_ids = 3; }
message ContainerDevices { string resource_name = 1; repeated string device_ids = 2; TopologyInfo topology = 3; }
message TopologyInfo { repeated NUMANode nodes = 1; }
message NUMANode { int64 ID = 1; }
message ListPodResourcesResponse { repeated PodResources pod_resources = 1; }
"""
GROUP = {"period": 1.0, "error": ""}
PROCESS = {
    "pid": 7, "address": "", "neuron_runtime_tag": "a\ttag\u00e9", "error": "",
    "report": {"neuroncore_counters": GROUP | {"neuroncores_in_use": {"3": {"neuroncore_utilization": 50, "flops": 7}}},
               "execution_stats": GROUP | {"error_summary": {"generic": 2}, "execution_summary": {"completed": 5},
                                           "latency_stats": {"total_latency": {"p50": 0.25}, "device_latency": None}}},
}  # fmt: skip


def run(program: str, *options: str, feed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/usr/bin/python3", program, *options], input=feed, capture_output=True, text=True, check=False)


def first_record(monitor: str) -> dict[str, Any]:
    with subprocess.Popen([monitor], env=os.environ | {"NEURON_EMU": "inf1.6xlarge"}, stdout=subprocess.PIPE) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.terminate()
    record: dict[str, Any] = json.loads(line)
    record["neuron_runtime_data"] = [PROCESS]
    record["instance_info"]["instance_id"] = "i-0123"
    return record


def check_cloudwatch(tap: Tap, program: str, record: dict[str, Any]) -> None:
    feed = json.dumps(record) + "\n"
    done = run(program, "--namespace", "mine", "--region", "us-west-2", "--dry-run", feed=feed + "{}\nnonsense\n" + feed)
    requests = [json.loads(line) for line in done.stdout.splitlines()]
    tap.ok(done.returncode == 0 and len(requests) == 2, "cloudwatch: a request for each record", str(done)[:500])
    tap.ok(re.search("not a record of neuron-monitor: KeyError", done.stderr) and "not a record: Expecting value" in done.stderr,
           "what is none is said", done.stderr)  # fmt: skip
    data = requests[-1]["MetricData"]

    def value(name: str, **labels: str) -> Any:
        found = [m for m in data if m["MetricName"] == name and labels.items() <= {d["Name"]: d["Value"] for d in m["Dimensions"]}.items()]
        return (found[0]["Value"], found[0]["Unit"]) if len(found) == 1 else found

    tap.ok(requests[0]["Namespace"] == "mine", "the namespace")
    tap.ok(value("neuroncore_utilization_ratio", neuroncore="3", runtime_tag="a?tag?") == (0.5, "None"), "a core; values of dimensions are ASCII")
    tap.ok(value("execution_status_total", status_type="completed") == (5, "Count"), "counters are those of the period, not sums of records")
    tap.ok(value("execution_latency_seconds", percentile="p50") == (0.25, "Seconds"), "latency")
    tap.ok(value("system_memory_total_bytes")[1] == "Bytes" and value("system_vcpu_count")[1] == "Count", "units")
    limits = all(0 < len(d["Value"]) <= 1024 and d["Value"].isascii() and len(m["Dimensions"]) <= 30 for m in data for d in m["Dimensions"])
    tap.ok(limits and len(data) <= 1000, "within the service's limits")
    tap.ok({d["Name"] for m in data for d in m["Dimensions"]} >= {"instance_id", "instance_type"}, "the instance is a dimension")
    if importlib.util.find_spec("boto3"):
        tap.ok(True, "without boto3 # SKIP it is here")
    else:
        done = run(program, feed=feed)
        tap.ok(done.returncode == 1 and "needs boto3" in done.stderr and not done.stdout, "without boto3: said", str(done))
    for words in (("--namespace", "AWS/EC2"), ("--namespace", ""), ("--bogus",)):
        done = run(program, *words, feed="")
        tap.ok(done.returncode == 2 and not done.stdout, f"cloudwatch refused: {words}", str(done))


class Kubelet:
    def __init__(self, path: Path) -> None:
        self.answer, self.asked = b"", 0
        self.server = grpc.server(futures.ThreadPoolExecutor(1))
        call = grpc.unary_unary_rpc_method_handler(self.list, request_deserializer=bytes, response_serializer=bytes)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": call}),))
        self.server.add_insecure_port(f"unix:{path}")
        self.server.start()

    def list(self, request: bytes, context: Any) -> bytes:
        self.asked += 1
        return self.answer


def check_k8s(tap: Tap, program: str, record: dict[str, Any], work: Path) -> None:
    (work / "pods.proto").write_text(PROTO)
    subprocess.run(["protoc", f"--python_out={work}", "-I", work, "pods.proto"], check=True)
    sys.path.insert(0, str(work))
    pb = importlib.import_module("pods_pb2")
    answer = pb.ListPodResourcesResponse()
    for pod, container, resource, ids in (("p0", "c0", "aws.amazon.com/neuroncore", ["0", "core-12", "none"]),
                                          ("p0", "c1", "aws.amazon.com/neuroncore", ["12"]),
                                          ("p1", "c0", "aws.amazon.com/neuron", ["neuron3"]),
                                          ("p2", "c0", "nvidia.com/gpu", ["5"])):  # fmt: skip
        if not answer.pod_resources or answer.pod_resources[-1].name != pod:
            answer.pod_resources.add(name=pod, namespace="n")
        made = answer.pod_resources[-1].containers.add(name=container, cpu_ids=[1, 2, 300])
        made.devices.add(resource_name=resource, device_ids=ids).topology.nodes.add(ID=-1)
    kubelet = Kubelet(work / "kubelet.sock")
    feed = json.dumps(record) + "\n"

    def infos(*options: str, lines: str) -> tuple[list[Any], str]:
        done = run(program, "--kubelet", f"unix:{work}/kubelet.sock", *options, feed=lines)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    kubelet.answer = answer.SerializeToString()
    found, said = infos(lines=feed * 3)
    info = found[0]["neuron_k8s_info"] if found else {}

    def who(pod: str, *containers: str) -> dict[str, Any]:
        return {"pod_name": pod, "namespace": "n", "container_name": list(containers)}

    tap.ok(info.get("neuroncores_k8s_info") == {"0": who("p0", "c0"), "12": who("p0", "c0", "c1")}, "k8s: cores", str(info) + said)
    tap.ok(info.get("neurondevices_k8s_info") == {"3": who("p1", "c0")} and info["error"] == "", "k8s: devices", str(info))
    tap.ok(list(info) == ["period", "neuroncores_k8s_info", "neurondevices_k8s_info", "error"], "k8s: the documented keys")
    rest = [{k: v for k, v in one.items() if k != "neuron_k8s_info"} for one in found]
    tap.ok(rest == [record] * 3 and kubelet.asked == 1, "k8s: the rest of each record is as it was; the kubelet is asked once a period", str(kubelet.asked))
    bad = {"a field longer than its message": b"\x0a\x7f", "a number that does not end": b"\xff" * 20, "a group": b"\x0b", "cut": kubelet.answer[:-3]}
    for name, kubelet.answer in bad.items():
        found, said = infos(lines=feed)
        tap.ok(len(found) == 1 and "protobuf" in found[0]["neuron_k8s_info"]["error"], f"k8s: {name}: said in the record", str(found)[-300:] + said)
    kubelet.server.stop(0).wait()
    found, said = infos(lines=feed + "nonsense\n[]\n" + feed)
    tap.ok(len(found) == 2 and "UNAVAILABLE" in found[1]["neuron_k8s_info"]["error"], "k8s: no kubelet", str(found)[-300:])
    tap.ok(said.count("not a record") == 2, "k8s: lines that are no records are left out, and said", said)
    for words in (("--period", "0"), ("--period", "nan"), ("--bogus",)):
        done = run(program, *words, feed="")
        tap.ok(done.returncode == 2 and not done.stdout, f"k8s refused: {words}", str(done))


def main() -> None:
    tap = Tap()
    cloudwatch, k8s, monitor = sys.argv[1:4]
    record = first_record(monitor)
    check_cloudwatch(tap, cloudwatch, record)
    with tempfile.TemporaryDirectory(prefix="companions.") as work:
        check_k8s(tap, k8s, record, Path(work))
    tap.done()


main()
