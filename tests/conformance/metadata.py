#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The instance metadata service that neuron-vm gives a guest, as TAP: as QEMU starts it, a program a connection.

usage: metadata.py SOURCE_ROOT [NEURON_MONITOR]

The oracles are the service's public description (paths, tokens, status codes) and Python's HTTP client;
then neuron-monitor, whose client of it is C.
"""

import http.client
import http.server
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tap import Tap

sys.path.insert(0, str(Path(sys.argv[1]) / "neuron-vm"))
from neuronvm import machine, metadata  # noqa: E402

TOKEN, TTL = "X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds"
LATEST = "/latest/meta-data"


class Forward:
    """Forwards as QEMU's guestfwd does: a program for each connection, which is its input, output and errors."""

    def __init__(self, command: list[str]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.command = command
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            subprocess.Popen(self.command, stdin=connection, stdout=connection, stderr=connection)
            connection.close()


class Answering(http.server.BaseHTTPRequestHandler):
    """Another server than the service, which may sit at the address"""

    body, status = b"", 200
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_GET = do_PUT = answer

    def log_message(self, *_: object) -> None:
        pass


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        pass  # a client that has enough


def ask(port: int, method: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while piece := connection.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got


def check_documents(tap: Tap, port: int) -> None:
    status, token = ask(port, "PUT", "/latest/api/token", {TTL: "60"})
    tap.ok(status == 200 and len(token) > 20 and re.fullmatch(r"[\w=-]+", token), "a token", f"{status} {token}")
    have = {TOKEN: token}
    want = {
        "instance-type": "inf1.6xlarge",
        "placement/availability-zone": r"[a-z]{2}-[a-z]+-\d[a-z]",
        "placement/availability-zone-id": r"[a-z]{3}\d-az\d",
        "placement/region": r"[a-z]{2}-[a-z]+-\d",
        "instance-id": r"i-0[0-9a-f]{16}",
        "ami-id": r"ami-0[0-9a-f]{16}",
        "mac": r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}",
        "tags/instance/Name": r".+",
    }
    for path, pattern in want.items():
        status, text = ask(port, "GET", f"{LATEST}/{path}", have)
        tap.ok(status == 200 and re.fullmatch(pattern, text), path, f"{status} {text}")
    _, card = ask(port, "GET", f"{LATEST}/network/interfaces/macs/", have)
    _, mac = ask(port, "GET", f"{LATEST}/mac", have)
    tap.ok(card == mac + "/", "a listing of one directory", f"{card} {mac}")
    status, text = ask(port, "GET", f"{LATEST}/network/interfaces/macs/{card}subnet-id", have)
    tap.ok(status == 200 and re.fullmatch(r"subnet-0[0-9a-f]{16}", text), "subnet-id", text)
    _, text = ask(port, "GET", f"{LATEST}/", have)
    tap.ok({"instance-id", "placement/", "network/"} <= set(text.split("\n")), "a listing", text)
    _, text = ask(port, "GET", "/latest/dynamic/instance-identity/document", have)
    identity = json.loads(text)
    tap.ok(identity["instanceType"] == "inf1.6xlarge" and identity["region"] == ask(port, "GET", f"{LATEST}/placement/region")[1],
           "the identity document; the first version's requests", text)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    kept = []
    for path in ("instance-id", "nothing", "instance-type"):
        connection.request("GET", f"{LATEST}/{path}", headers=have)
        answer = connection.getresponse()
        kept.append((answer.status, answer.read().decode()))
    tap.ok([k[0] for k in kept] == [200, 404, 200] and kept[2][1] == "inf1.6xlarge", "several on one connection", str(kept))


def check_refused(tap: Tap, port: int) -> None:
    _, token = ask(port, "PUT", "/latest/api/token", {TTL: "1"})
    time.sleep(2.1)
    cases = [
        ("a token that is over", "GET", f"{LATEST}/mac", {TOKEN: token}, 401),
        ("a token of somebody else", "GET", f"{LATEST}/mac", {TOKEN: "A" * 56}, 401),
        ("a token that is none", "GET", f"{LATEST}/mac", {TOKEN: "\u00e9"}, 401),
        ("no time to live", "PUT", "/latest/api/token", {}, 400),
        ("none at all", "PUT", "/latest/api/token", {TTL: "0"}, 400),
        ("too long a one", "PUT", "/latest/api/token", {TTL: "21601"}, 400),
        ("one that is no number", "PUT", "/latest/api/token", {TTL: "1e3"}, 400),
        ("through a proxy", "PUT", "/latest/api/token", {TTL: "60", "X-Forwarded-For": "10.0.0.1"}, 403),
        ("a token by GET", "GET", "/latest/api/token", {}, 405),
        ("a document by POST", "POST", f"{LATEST}/mac", {}, 405),
        ("what there is not", "GET", f"{LATEST}/iam/security-credentials/", {}, 404),
        ("a way out", "GET", "/latest/../../../etc/passwd", {}, 404),
    ]
    for title, method, path, headers, want in cases:
        status, text = ask(port, method, path, headers)
        tap.ok(status == want and not text, f"refused: {title}", f"{status} {text}")
    for data in (b"\r\n", b"x\r\n\r\n", b"GET / HTTP/1.1\r\n", b"GET  / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA\r\n\r\n",
                 b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
                 b"GET /" + b"x" * 100000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10000, bytes(range(256)) * 10):
        got = raw(port, data)
        tap.ok(got == b"" or (got.startswith(b"HTTP/1.1 400 ") and b"Traceback" not in got) or got.startswith(b"HTTP/1.1 200"),
               f"no request: {data[:40]!r}", got[:200].decode("latin-1"))


def record(monitor: str, endpoint: str) -> dict[str, str]:
    env = os.environ | {"NEURON_EMU": "inf1.6xlarge", "AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint}
    with subprocess.Popen([monitor], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.kill()
    found: dict[str, str] = json.loads(line)["instance_info"]
    return found


def check_monitor(tap: Tap, port: int, monitor: str, seed: str) -> None:
    info = record(monitor, f"http://127.0.0.1:{port}")
    # the deadline is short, and this machine may be busy
    for _ in range(3):
        if info["error"]:
            info = record(monitor, f"http://127.0.0.1:{port}/")
    want = metadata.documents("inf1.6xlarge", seed)
    told = {"instance_id": "instance-id", "instance_type": "instance-type", "instance_region": "placement/region", "ami_id": "ami-id",
            "instance_availability_zone": "placement/availability-zone", "instance_name": "tags/instance/Name"}  # fmt: skip
    for key, path in told.items():
        tap.ok(info[key] == want[f"meta-data/{path}"], f"neuron-monitor: {key}", str(info))
    tap.ok(info["subnet_id"].startswith("subnet-0") and info["error"] == "", "neuron-monitor: subnet_id", str(info))
    for body, status, title in ((b"", 200, "an empty token"), (b"x" * 100000, 200, "an endless answer"), (b"\x1b[31m\xff" * 9, 200, "no text"), (b"", 500, "an error")):
        server = Quiet(("127.0.0.1", 0), type("A", (Answering,), {"body": body, "status": status}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        info = record(monitor, f"http://127.0.0.1:{server.server_address[1]}")
        good = all(re.fullmatch(r"[ -~]*", text) for text in info.values()) and len(info["instance_id"]) < 64
        tap.ok(good, f"neuron-monitor: {title}", str(info)[:400])
        server.shutdown()
    for endpoint in ("http://127.0.0.1:1", "ftp://x", "http://127.0.0.1:99999", "http://999.1.1.1"):
        info = record(monitor, endpoint)
        tap.ok(info["error"].startswith("instance metadata service: ") and info["instance_type"] == "inf1.6xlarge", f"neuron-monitor: {endpoint}", str(info))


def main() -> None:
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="with, comma ") as name:
        vm = machine.Machine(machine.instance("inf1.6xlarge"), [], 1, "1G", name="job")
        argv = vm.metadata(Path(name))
        options = argv[1].replace(",,", "\0").split(",")
        command = shlex.split(next(o for o in options if o.startswith("guestfwd=")).replace("\0", ",").split("-cmd:", 1)[1])
        tap.ok(Path(command[-1]).stat().st_mode & 0o77 == 0, "only its user reads the key")
        asset = next(word for word in vm.args() if word.startswith("type=2,"))
        told = metadata.documents("inf1.6xlarge", "job")["meta-data/instance-id"]
        tap.ok(f"asset={told}" in asset.split(","), "the firmware's tables have the same id", asset)
        uuid = next(word for word in vm.args() if word.startswith("type=1,"))
        tap.ok(re.search(r"uuid=ec2[0-9a-f]{5}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12},", uuid), "and a UUID of EC2", uuid)
        forward = Forward(command)
        check_documents(tap, forward.port)
        check_refused(tap, forward.port)
        if len(sys.argv) > 2:
            check_monitor(tap, forward.port, sys.argv[2], "job")
    tap.done()


main()
