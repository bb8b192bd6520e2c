#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A client that another user runs: makes the calls its standard input lists; for each a line with the
code (gRPC's, if the call itself failed), and the id of what was made or a count.

usage: other.py ENDPOINT ID [GROUP ...] < calls; ID is the user and the group it becomes

  shm_map PATH PROT [SESSION] | shm_unmap PATH | neff_file PATH | infer MODEL PATH PATH | zeros MODEL |
  post MODEL | wait COOKIE | session | end SESSION | eg COUNT [SESSION] | destroy EG | share EG HOW |
  regions COUNT | sessions COUNT | connections COUNT: as many as are let, and the first refusal's code |
  halves MIB: of a message of twice as much, -1 if the daemon does not take that; the connection stays |
  upload MIB: a whole NEFF of so many bytes that is none | hold MIB: one that does not end |
  load PATH EG [SESSION] | start MODEL | stop MODEL | unload MODEL | unload_all | describe MODEL | models | owners USER: their groups, and whether more than the uid is told
"""

import os
import shutil
import socket
import sys
import threading
import types
from typing import Any, Callable, Iterator

import grpc

import http2
from harness import WORK, Client, Session, Shm, in_shm, infer_request, nrt, nrtx

sessions: dict[int, Session] = {}
held: list[Any] = []


def neff_file(client: Client, path: str) -> list[int]:
    answer = client.load_messages(iter([nrt.load_request(neff_file=path)]))
    if answer.h_nn.id:
        client.unload(answer.h_nn.id)
    return [answer.status.code]


def load(client: Client, path: str, eg: int, session: int) -> list[int]:
    fields: list[Any] = [nrt.load_request(h_eg=nrt.h_eg(id=eg))] if eg else []
    if session:
        fields.append(nrt.load_request(session_id=session))
    answer = client.load_messages(iter([*fields, nrt.load_request(neff_file=path)]))
    return [answer.status.code, answer.h_nn.id]


def eg(client: Client, count: int, session: int) -> list[int]:
    answer = client.create_eg(count, session)
    return [answer.status.code, answer.h_eg.id]


def session(client: Client) -> list[int]:
    opened = client.session()
    number = opened.read().session_id
    sessions[number] = opened
    return [0, number]


def shm_map(client: Client, path: str, prot: int, number: int) -> list[int]:
    return [client.call("shm_map", nrt.shm_map_request(path=path, mmap_prot=prot, session_id=number)).status.code]


def regions(client: Client, count: int) -> list[int]:
    for n in range(count):
        shm = Shm(16)
        code = shm_map(client, shm.path, 3, 0)[0]
        shm.unlink()
        if code:
            return [code, n]
    return [0, count]


def open_sessions(client: Client, count: int) -> list[int]:
    """An id that was given out twice, or 0, counts as a refusal."""
    for n in range(count):
        try:
            code, number = session(client)
        except grpc.RpcError as error:
            return [error.code().value[0], n]
        if not number or len(sessions) != n + 1:
            return [-1, n]
    return [code, count]


def connections(client: Client, count: int) -> list[int]:
    """Opens a connection beside the client's. The server speaks first, or the daemon has closed the connection."""
    client.call("list_egs")
    for n in range(count):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(sys.argv[1].removeprefix("unix:"))
        try:
            first = raw.recv(1)
        except ConnectionResetError:
            first = b""
        if not first:
            return [-1, n]
        held.append(raw)
    return [0, count]


def halves(mib: int) -> list[int]:
    connection = http2.Connection(sys.argv[1].removeprefix("unix:"))
    held.append(connection)
    stream = connection.begin("/nrt.nmgr_v1/infer")
    try:
        connection.send(stream, http2.prefix(2 * mib << 20))
        for _ in range(mib):
            connection.send(stream, bytes(1 << 20))
    except OSError:
        return [-1]
    return [0]


def uploads(mib: int, more: threading.Event | None = None) -> Iterator[Any]:
    size = mib << 20
    yield nrt.load_request(neff_size=size + 1 if more else size)
    for _ in range(mib):
        yield nrt.load_request(neff_chunk=nrt.file_chunk(chunk=bytes(1 << 20)))
    if more:
        more.wait()


def hold(client: Client, mib: int) -> list[int]:
    load_stream = client.channel.stream_unary("/nrt.nmgr_v1/load", request_serializer=lambda m: m.SerializeToString(),
                                              response_deserializer=nrt.load_response.FromString)
    held.append(load_stream.future(uploads(mib, threading.Event())))
    return [0]


def post(client: Client, name: str, model: int) -> list[int]:
    # the size is known: a user who may not use a model cannot ask
    zeros = [nrt.infer_io(name=f"input{i}", buf=bytes(512)) for i in (0, 1)]
    return [client.call(name, infer_request(model, zeros)).status.code]


def owners(client: Client, user: int) -> list[int]:
    theirs = [eg.owner for eg in client.ext("list_owners").eg if eg.owner.uid == user]
    return [len(theirs), sum(bool(owner.pid or owner.has_session or owner.framework) for owner in theirs)]


def events(client: Client, start: int) -> list[int]:
    """How many there are for this user since then, and the first one's kind; none within a second: 0 0"""
    watch = client.channel.stream_stream("/nrtx.nmgr_x/watch_events", lambda m: m.SerializeToString(),
                                         nrtx.watch_events_response.FromString)
    try:
        answer = next(watch(iter([nrtx.watch_events_request(**{"from": start})]), timeout=2))
    except grpc.RpcError:
        return [0, 0]
    return [len(answer.event), answer.event[0].kind]


def described(client: Client, model: int) -> list[int]:
    answer = client.ext("describe_model", id=model)
    return [answer.status.code, len(answer.tensor) + len(answer.model.name)]


CALLS: dict[str, Callable[..., list[int]]] = {
    "shm_map": lambda c, path, prot, number="0": shm_map(c, path, int(prot), int(number)),
    "shm_unmap": lambda c, path: [c.call("shm_unmap", nrt.shm_unmap_request(path=path, mmap_prot=3)).status.code],
    "neff_file": neff_file,
    "infer": lambda c, model, a, b:
        [c.call("infer", infer_request(int(model), in_shm(input0=a, input1=b))).status.code],
    "zeros": lambda c, model: post(c, "infer", int(model)),
    "post": lambda c, model: post(c, "infer_post", int(model)),
    "wait": lambda c, cookie: [c.call("infer_wait", nrt.infer_wait_request(cookie=int(cookie))).status.code],
    "regions": lambda c, count: regions(c, int(count)),
    "sessions": lambda c, count: open_sessions(c, int(count)),
    "connections": lambda c, count: connections(c, int(count)),
    "upload": lambda c, mib: [c.load_messages(uploads(int(mib))).status.code],
    "halves": lambda c, mib: halves(int(mib)),
    "hold": lambda c, mib: hold(c, int(mib)),
    "session": session,
    "end": lambda c, number: [sessions.pop(int(number)).half_close().value[0]],
    "eg": lambda c, count, number="0": eg(c, int(count), int(number)),
    "destroy": lambda c, number: [c.destroy(int(number))],
    "share": lambda c, number, how: [c.ext("share_eg", eg=int(number), sharing=int(how)).status.code],
    "events": lambda c, start: events(c, int(start)),
    "profile": lambda c, model: [c.ext(f"profile_{how}", id=int(model)).status.code for how in ("start", "stop")],
    "seed": lambda c, number: [c.call("random_seed", nrt.random_seed_request(h_eg=nrt.h_eg(id=int(number)))).status.code],
    "adjust": lambda c: [c.call("set_static_transfer_adjustment").status.code],
    "load": lambda c, path, number, owner="0": load(c, path, int(number), int(owner)),
    "start": lambda c, model: [c.start(int(model))],
    "stop": lambda c, model: [c.stop(int(model))],
    "unload": lambda c, model: [c.unload(int(model))],
    "unload_all": lambda c: [c.call("unload_all").code],
    "describe": lambda c, model: described(c, int(model)),
    "owners": lambda c, user: owners(c, int(user)),
    "models": lambda c: [0, len(c.ext("list_models").model)],
}


def main() -> int:
    user = int(sys.argv[2])
    shutil.rmtree(WORK)  # the other user could not
    os.setgroups([int(group) for group in sys.argv[3:]])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    client = Client(types.SimpleNamespace(endpoint=sys.argv[1]))
    for line in sys.stdin:
        words = line.split(" ")
        try:
            numbers = CALLS[words[0].strip()](client, *(word.strip() for word in words[1:]))
        except grpc.RpcError as error:
            numbers = [error.code().value[0], 0]
        print(*numbers, flush=True)
    os._exit(0)  # as a process that dies: what it had open just ends


if __name__ == "__main__":
    sys.exit(main())
