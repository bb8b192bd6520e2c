#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What clients may hold of the daemon's memory, as TAP: tensors of inferences, results that nobody
collects, answers that nobody reads, messages without an end, what a NEFF unpacks to, calls under way. What is beyond is
refused, what was held comes back, and another user has a rest left. The limits are the
configuration's; what is held is counted from the sizes of the tensors."""

import gzip
import io
import os
import sys
import tarfile
from typing import Any

import grpc
import numpy as np

import http2
from harness import (CALL_SECONDS, WORK, Client, Daemon, Other, eventually, hand_made, infer_request, inline, nrt,
                     other_user, outputs, sum_and_product, tap)

INVALID, RESOURCE = 2, 4
MIB = 1 << 20
LIMIT, SHARE = 64 * MIB, 48 * MIB  # of all, of a user
ROWS, COLUMNS = 128, 2048
A = np.full((ROWS, COLUMNS), 3, np.float32)  # 1 MiB, as is each input and output
POSTED = 6 * MIB  # two inputs, two outputs, and the answer with these


def config(name: str, text: str) -> str:
    path = WORK / name
    path.write_text(text)
    return str(path)


def post(client: Client, model: int) -> Any:
    return client.call("infer_post", infer_request(model, inline(input0=A, input1=A)))


def posts(client: Client, model: int) -> tuple[list[int], Any]:
    """Returns the cookies of those accepted, and the status of the first one refused."""
    cookies = []
    while True:
        answer = post(client, model)
        if answer.status.code:
            return cookies, answer.status
        cookies.append(answer.cookie)


def collect(client: Client, cookies: list[int]) -> bool:
    answers = [client.call("infer_wait", nrt.infer_wait_request(cookie=c)) for c in cookies]
    return all(a.status.code == 0 and np.array_equal(outputs(a)["output1"], (A * A).ravel()) for a in answers)


def uncollected(daemon: Daemon, client: Client, neff: bytes) -> None:
    model = client.ready_model(neff, ninfer=64)
    cookies, status = posts(client, model)
    tap.ok(status.code == RESOURCE and status.details, "what is beyond a user's share is refused: 4", status)
    tap.ok(0 < len(cookies) * POSTED <= SHARE, "what was taken fits", len(cookies))
    tap.ok((len(cookies) + 2) * POSTED > SHARE, "and little more would", len(cookies))
    if os.geteuid():
        tap.skip("another user's rest", "not root")
    else:
        path = WORK / "public.neff"
        path.write_bytes(neff)
        os.chmod(WORK, 0o711)
        os.chmod(path, 0o644)
        tap.equal(other_user(daemon, [f"neff_file {path}"])[0], 0, "another user still loads a model")
    tap.ok(collect(client, cookies), "all results are there, and right")
    again, _ = posts(client, model)
    tap.ok(len(again) >= len(cookies) - 1, "and as many are taken again", (len(again), len(cookies)))
    client.stop(model)
    there, _ = posts(client, client.ready_model(neff, ninfer=64))
    tap.ok(len(there) >= len(cookies) - 1, "idle buffers of one model give way to another's", (len(there), len(cookies)))
    client.call("unload_all")


def small_posts(daemon: Daemon, client: Client, neff: bytes) -> None:
    """Nothing is sent to make the daemon take memory: a model of no inputs and a large output."""
    model = client.ready_model(neff, ninfer=1024)
    request = infer_request(model, client.zeros(model))
    codes = [client.call("infer_post", request).status.code for _ in range(64)]
    tap.ok(codes[0] == 0 and codes[-1] == RESOURCE, "64 small posts for 8 MiB each: refused in the end", codes)
    tap.ok(codes.count(0) * 8 * MIB <= SHARE, "what was taken fits", codes.count(0))
    tap.equal(client.stop(model), 0, "it can still be stopped")
    client.start(model)
    if os.geteuid():
        tap.skip("what a dead process held", "not root")
    else:
        codes = other_user(daemon, [f"post {model}"] * 16)
        tap.ok(codes[0] == 0 and codes[-1] == RESOURCE, "16 posts by another user: the same", codes)
        tap.equal(other_user(daemon, [f"post {model}"]), [0], "what its dead process held gives way")
    client.call("unload_all")


def lazy_calls(daemon: Daemon, client: Client, name: str, request: Any,
               window: int) -> tuple[int, list[http2.Connection]]:
    """Calls whose answers are not read, until another is refused. An answer's headers come when it is
    on its account, and no window holds them up."""
    lazy = []
    while len(lazy) < SHARE // MIB and client.call("infer", request).status.code == 0:
        lazy.append(http2.Connection(daemon.path, window))
        lazy[-1].call(name, request.SerializeToString())
        while lazy[-1].receive()[0] != http2.HEADERS:
            pass
    return len(lazy), lazy


def unread(daemon: Daemon, client: Client, neff: bytes) -> None:
    """Answers that a client asks for and does not let come, by its windows."""
    model = client.ready_model(neff, ninfer=64)
    request = infer_request(model, inline(input0=A, input1=A))
    count, lazy = lazy_calls(daemon, client, "/nrt.nmgr_stream/infer_stream", request, http2.SMALLEST_WINDOW)
    tap.ok(0 < count * 2 * MIB <= SHARE, "answers that are not read use up the share", count)
    for connection in lazy:
        connection.close()
    tap.ok(eventually(lambda: client.call("infer", request).status.code == 0), "and give it back when their calls end")
    client.call("unload_all")


def unread_sockets(daemon: Daemon, client: Client, neff: bytes) -> list[http2.Connection]:
    """The same with open windows: bytes that the socket does not take stay on the account too."""
    model = client.ready_model(neff, ninfer=64)
    request = infer_request(model, client.zeros(model))
    count, lazy = lazy_calls(daemon, client, "/nrt.nmgr_v1/infer", request, http2.LARGEST_WINDOW)
    tap.ok(0 < count * 4 * MIB <= SHARE, "nor may what a socket does not take exceed it", count)
    return lazy


def unended(daemon: Daemon, client: Client, neff: bytes) -> None:
    """Another user's messages that never end."""
    if os.geteuid():
        tap.skip("messages that do not come whole", "not root")
        return
    before = daemon.resident()
    model = client.ready_model(neff)
    session = client.session()
    session.read()
    other = Other(daemon)
    request = infer_request(model, inline(input0=A, input1=A))
    codes = []
    for _ in range(6):
        tap.equal(other(f"halves {2 * LIMIT // MIB}")[0], -1, "a message beyond its user's share is not taken whole")
        codes.append(client.call("infer", request).status.code)
    held = daemon.resident() - before
    tap.ok(held <= 4 * LIMIT, "six of them are not there together", f"{held >> 20} MiB")
    tap.equal(codes, [0] * len(codes), "another user goes on meanwhile")
    tap.equal(session.half_close(), grpc.StatusCode.OK, "and has its session")
    other.kill()
    client.call("unload_all")


def bomb(client: Client, neff: bytes) -> None:
    """A NEFF of some 100 KB that unpacks to more than its user's share."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("zeros")
        entry.size = 2 * SHARE
        tar.addfile(entry, io.BytesIO(bytes(entry.size)))
    payload = gzip.compress(packed.getvalue())
    header = bytearray(neff[:1024])
    header[16:24] = len(payload).to_bytes(8, "little")
    answer = client.load(bytes(header) + payload)
    tap.ok(answer.status.code == RESOURCE and b"unpacking" in answer.status.details, "what a NEFF unpacks to counts",
           answer.status)
    tap.ok(client.ready_model(neff), "and is given back")
    client.call("unload_all")


def upload(client: Client, neff: bytes) -> None:
    def load(size: int) -> Any:
        yield nrt.load_request(neff_size=size)
        for _ in range(size // MIB):
            yield nrt.load_request(neff_chunk=nrt.file_chunk(chunk=bytes(MIB)))

    answer = client.load_messages(load(2 * SHARE))
    tap.ok(answer.status.code == RESOURCE and b"upload" in answer.status.details, "an upload counts as it comes",
           answer.status)
    for _ in range(2):
        answer = client.load_messages(load(2 * SHARE // 3))
        tap.equal(answer.status.code, INVALID, "and is given back too: zeros of two thirds of it are no NEFF")
    tap.ok(client.ready_model(neff), "and the next is")
    client.call("unload_all")


def code_of(client: Client, name: str, request: Any) -> int | None:
    """None: there was no room for the message beside what calls that have just ended give back in a moment."""
    try:
        return client.call(name, request).status.code
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise
        return None


def large_request(client: Client, neff: bytes) -> None:
    model = client.ready_model(neff)
    huge = infer_request(model, [nrt.infer_io(name="input0", buf=bytes(SHARE + 1))])
    for name in ("infer", "infer_post"):
        tap.ok(eventually(lambda: code_of(client, name, huge) == RESOURCE), f"{name} beyond the share: 4")
    try:
        client.call("shm_map", nrt.shm_map_request(path="x" * (SHARE + 1), mmap_prot=3))
        code = None
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.RESOURCE_EXHAUSTED, "another call beyond it: RESOURCE_EXHAUSTED")
    client.call("unload_all")


def calls(daemon: Daemon, client: Client, never: bytes) -> None:
    """A user's share of 32 calls is 24."""
    one_by_one = [client.future("unload_all", nrt.empty()).code() for _ in range(64)]
    tap.equal(set(one_by_one), {grpc.StatusCode.OK}, "64 calls one after the other: those that are over do not count")
    model = client.ready_model(never, ninfer=64, timeout=600)
    request = infer_request(model, client.zeros(model))
    futures = [client.future("infer", request) for _ in range(40)]
    tap.ok(eventually(lambda: sum(f.done() for f in futures) >= 16), "of 40 calls at once 16 are refused")
    refused = [f for f in futures if f.done()]
    tap.equal({f.code() for f in refused}, {grpc.StatusCode.RESOURCE_EXHAUSTED}, "with RESOURCE_EXHAUSTED")
    tap.ok(20 <= len(futures) - len(refused) <= 24, "three quarters of 32 are taken", len(refused))
    if os.geteuid():
        tap.skip("another user's calls", "not root")
    else:
        tap.equal(other_user(daemon, ["models"])[0], 0, "another user's call is answered")
    client.close()


def main() -> int:
    neff = sum_and_product(ROWS, COLUMNS)
    daemon = Daemon("-c", config("budgets.config", f'{{ "memory_limit": {LIMIT}, "sharing": "infer" }}'))
    client = Client(daemon)
    uncollected(daemon, client, neff)
    small_posts(daemon, client, hand_made("large"))
    unread(daemon, client, neff)
    unended(daemon, client, neff)
    bomb(client, neff)
    upload(client, neff)
    large_request(client, neff)
    lazy = unread_sockets(daemon, client, hand_made("large"))
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0, whoever does not read")
    for connection in lazy:
        connection.close()
    daemon = Daemon("-c", config("calls.config", '{ "call_limit": 32 }'))
    calls(daemon, Client(daemon), hand_made("hang"))
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
