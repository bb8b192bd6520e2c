#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Every method under fields that are missing, unknown, twice, of another wire type, out of range, cut off or too many, and
connections by the thousand, as TAP. Each call is answered: by a message, or INTERNAL where protobuf itself refuses the
bytes; and the daemon goes on as before. Bytes are made here, field by field, as the wire format has them."""

import errno
import importlib
import os
import resource
import socket
import subprocess
import sys
import time
from typing import Any, Iterator

import grpc
import http2
import numpy as np
from google.protobuf import descriptor

from harness import (CALL_SECONDS, NOBODY, START_SECONDS, WORK, Client, Daemon, Other, eventually, infer_request, inline, methods, sum_and_product, tap)

CONNECTIONS = 10000
WATCH = "/nrtx.nmgr_x/watch_events"
A = np.ones((4, 32), np.float32)
F = descriptor.FieldDescriptor
VARINT, FIXED64, BYTES, GROUP, END, FIXED32 = range(6)
NUMBERS = (F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_INT32, F.TYPE_INT64, F.TYPE_BOOL, F.TYPE_ENUM)


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number: int, wire: int, value: bytes) -> bytes:
    return varint(number << 3 | wire) + value


def bytes_field(number: int, value: bytes) -> bytes:
    return field(number, BYTES, varint(len(value)) + value)


def plain(f: Any) -> bytes:
    """One field with a small value."""
    if f.type == F.TYPE_MESSAGE:
        return bytes_field(f.number, b"".join(plain(x) for x in f.message_type.fields[:3]))
    return field(f.number, VARINT, varint(1)) if f.type in NUMBERS else bytes_field(f.number, b"x")


def forms(f: Any) -> Iterator[tuple[str, bytes]]:
    yield "alone", plain(f)
    yield "twice", plain(f) * 2
    yield "a thousand times", plain(f) * 1000
    yield "of length 0", bytes_field(f.number, b"")
    yield "as a varint", field(f.number, VARINT, varint(2**64 - 1))
    yield "as a varint of eleven bytes", field(f.number, VARINT, b"\xff" * 10 + b"\1")
    yield "as 32 bits", field(f.number, FIXED32, b"\xff" * 4)
    yield "as 64 bits", field(f.number, FIXED64, b"\xff" * 8)
    yield "as a group", field(f.number, GROUP, b"") + field(f.number, END, b"")
    yield "not UTF-8", bytes_field(f.number, b"\xff\xfe\0\x80")
    yield "with a NUL", bytes_field(f.number, b"a\0b")
    yield "a MiB long", bytes_field(f.number, b"/" * (1 << 20))
    yield "cut off", bytes_field(f.number, b"abc")[:-1]
    yield "longer than the message", field(f.number, BYTES, varint(2**31))
    if f.type == F.TYPE_MESSAGE:
        inner = b""
        for _ in range(200):
            inner = bytes_field(1, inner)
        yield "200 deep", bytes_field(f.number, inner)


def requests(kind: Any) -> Iterator[tuple[str, bytes]]:
    yield "nothing", b""
    yield "unknown fields", b"".join((field(999, VARINT, varint(7)), bytes_field(1000, b"x" * 100),
                                      field(2**29 - 1, FIXED64, bytes(8)), bytes_field(777, b"")))
    yield "field 0", field(0, VARINT, b"\1")
    yield "noise", bytes(range(256)) * 4
    yield "all fields", b"".join(plain(f) for f in kind.fields)
    for f in kind.fields:
        for name, data in forms(f):
            yield f"{f.name} {name}", data


def request_types() -> dict[str, Any]:
    """Of each method of the four services the descriptor of its request."""
    found = {}
    for file in ("nmgr_service", "nmgr_session_service", "nmgr_stream_service", "nrtx"):
        for service in importlib.import_module(f"{file}_pb2").DESCRIPTOR.services_by_name.values():
            for m in service.methods:
                found[f"/{service.full_name}/{m.name}"] = m.input_type
    return found


def call(client: Client, path: str, kind: str, data: bytes) -> grpc.StatusCode:
    rpc, seconds = getattr(client.channel, kind)(path), 1 if path == WATCH else CALL_SECONDS
    try:
        if kind.startswith("stream"):
            answer = rpc(iter([data, data]), timeout=seconds)
            if kind.endswith("stream"):
                list(answer)
        else:
            rpc(data, timeout=seconds)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def fields(daemon: Daemon, client: Client) -> None:
    kinds = methods()
    for path, request in request_types().items():
        if path.endswith("/unload_all"):
            continue
        codes: dict[Any, list[str]] = {}
        for name, data in requests(request):
            codes.setdefault(call(client, path, kinds.get(path, "stream_stream" if path == WATCH else "unary_unary"), data), []).append(name)
        allowed = {grpc.StatusCode.OK, grpc.StatusCode.INTERNAL}
        if path == WATCH:  # what waits for the next event waits
            codes.pop(grpc.StatusCode.DEADLINE_EXCEEDED)
        tap.ok(set(codes) <= allowed and (path == WATCH or "nothing" in codes[grpc.StatusCode.OK]) and daemon.alive(),
               f"{path}: {sum(map(len, codes.values()))} forms",
               {str(k): v[:5] for k, v in codes.items()} if not set(codes) <= allowed else codes)


def halves(daemon: Daemon) -> None:
    """Connections that end in the middle: of the greeting, of a frame, of a message."""
    free = len(daemon.fds())
    for cut in (1, 10, 24, 30):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(daemon.path)
        raw.sendall((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2.frame(4, 0, 0))[:cut])
        raw.close()
    for method in ("/nrt.nmgr_v1/infer", "/nrt.nmgr_v1/load", "/nrt.nmgr_session_manager/session_monitor"):
        for size in (0, 3, 5, 1000):
            connection = http2.Connection(daemon.path)
            connection.send(connection.begin(method), (http2.prefix(5000) + bytes(5000))[:size])
            connection.close()
    tap.ok(eventually(lambda: len(daemon.fds()) <= free), "connections that end in the middle leave nothing",
           (free, len(daemon.fds())))


def connections(daemon: Daemon, client: Client) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # half of the daemon's descriptors are for connections; an ordinary user has 256, root what there is
    count = min(CONNECTIONS, (hard - 128) // 2 - 200)
    if os.geteuid() or count < CONNECTIONS // 4:
        tap.skip("connections by the thousand", f"not root, or at most {hard} descriptors")
        return
    free, memory = len(daemon.fds()), daemon.resident()
    held, full = [], 0
    for _ in range(count):
        raw = socket.socket(socket.AF_UNIX)
        raw.setblocking(False)
        if raw.connect_ex(daemon.path) == errno.EAGAIN:
            full += 1
            raw.setblocking(True)
            raw.connect(daemon.path)  # waits while the daemon accepts those before it
        held.append(raw)
    # gRPC's client takes what waits for a place to be connected, and fails
    tap.ok(full < count // 10, f"{count} connections: most find a place in the kernel's queue", full)
    print(f"# {full} found it full", flush=True)
    begun = time.monotonic()
    answer = client.call("list_egs")
    took = time.monotonic() - begun
    tap.equal(answer.status.code, 0, "the client before them is answered")
    late = Client(daemon)
    tap.equal(late.call("list_egs").status.code, 0, "and one that comes after them")
    late.close()
    each = (daemon.resident() - memory) // count
    tap.ok(each < 100 << 10, "each takes less than 100 KiB", each)
    print(f"# {each} bytes a connection, {took:.2f} s for a call", flush=True)
    tap.equal(Other(daemon, NOBODY)("models"), [0, 0], "another user has one too")
    for raw in held:
        raw.close()
    tap.ok(eventually(lambda: len(daemon.fds()) <= free + 1), "all are closed in the end", (free, len(daemon.fds())))


def flood(daemon: Daemon) -> None:
    """A user who connects without end: others wait behind what is in the kernel's queue, and no longer."""
    if os.geteuid():
        tap.skip("a user who connects without end", "not root")
        return
    # it becomes that user by itself: Python forks for one that is to be another user's, and a fork waits for gRPC's threads
    code = f"""
import os, socket, sys
os.setgroups([]), os.setgid({NOBODY}), os.setuid({NOBODY})
while True:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
"""
    greedy = [subprocess.Popen([sys.executable, "-c", code, daemon.path], cwd="/") for _ in range(2)]
    try:
        # until it comes faster than it is refused
        tap.ok(eventually(lambda: f"refused uid {NOBODY}" in daemon.tail()), "a user who connects without end is refused")
        time.sleep(1)
        for _ in range(3):
            connection = http2.Connection(daemon.path)
            connection.socket.settimeout(START_SECONDS)
            connection.call("/nrt.nmgr_v1/list_egs", b"")
            while connection.receive()[0] != http2.HEADERS:
                pass
            connection.close()
        tap.ok(daemon.alive(), "and others are answered")
    finally:
        for process in greedy:
            process.kill()
            process.wait()


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    WORK.chmod(0o711)
    daemon = Daemon()
    client = Client(daemon)
    neff = sum_and_product()
    fields(daemon, client)
    client.call("unload_all")
    halves(daemon)
    connections(daemon, client)
    flood(daemon)
    model = client.ready_model(neff)
    answer = client.call("infer", infer_request(model, inline(input0=A, input1=A)))
    tap.equal(answer.status.code, 0, "after all of it a model is loaded and works")
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
