#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What a client may name and reach, as TAP: a path is opened with the client's own rights, shared
memory and cookies belong to the user who made them, TCP clients name no path, and no client can
bring the daemon down or fill it up. Parts that need two users are skipped unless root runs it."""

import os
import socket
import stat
import sys
import threading
from typing import Any, Iterator

import grpc
import numpy as np

from harness import (WORK, Client, Daemon, Shm, eventually, hand_made, in_shm, infer_request, inline,
                     load_sequence, nrt, nrtx, other_user, outputs, sum_and_product, tap)

INVALID, INVALID_HANDLE, QUEUE_FULL, BAD_INPUT = 2, 3, 7, 1002
A = np.ones((4, 32), np.float32)
SIZE = A.nbytes


def shm_map(client: Client, path: str, prot: int = 3) -> int:
    return client.call("shm_map", nrt.shm_map_request(path=path, mmap_prot=prot)).status.code


def neff_file(client: Client, path: object) -> tuple[int, str]:
    answer = client.load_messages(iter([nrt.load_request(neff_file=str(path))]))
    if answer.h_nn.id:
        client.unload(answer.h_nn.id)
    return answer.status.code, answer.status.details.decode()


def names(client: Client, neff: bytes) -> None:
    for path in ("", "x", "/", "/..", "/.", "/a/b", "/../../etc/passwd", "/" + "x" * 300, "/not-there"):
        tap.equal(shm_map(client, path), INVALID, f"shm_map of {path[:20]!r}")
    shm = Shm(64)
    tap.equal([shm_map(client, shm.path, p) for p in (0, 4, 7, 1 << 31)], [INVALID] * 4, "shm_map with wrong mmap_prot")
    shm.truncate(0)
    tap.equal(shm_map(client, shm.path), INVALID, "shm_map of an empty file")
    fifo, link = f"/dev/shm/rtd-test-fifo-{os.getpid()}", f"/dev/shm/rtd-test-link-{os.getpid()}"
    try:
        os.mkfifo(fifo)
        os.symlink("/etc/passwd", link)
        tap.equal(shm_map(client, fifo[8:]), INVALID, "shm_map of a FIFO does not block")
        tap.equal(shm_map(client, link[8:], 1), INVALID, "shm_map does not follow a symbolic link")
    finally:
        os.unlink(fifo)
        os.unlink(link)
    good = WORK / "good.neff"
    good.write_bytes(neff)
    tap.equal(neff_file(client, good)[0], 0, "neff_file by path")
    for path in ("/", "/dev/zero", "/not-there", "", WORK):
        code, details = neff_file(client, path)
        tap.ok(code == INVALID and details, f"neff_file of {str(path)[:12]!r}", (code, details))


def two_users(daemon: Daemon, client: Client, neff: bytes) -> None:
    if os.geteuid():
        tap.skip("clients of two users", "not root")
        return
    secret, public, group = WORK / "secret.neff", WORK / "public.neff", WORK / "group.neff"
    os.chmod(WORK, 0o711)
    for path, mode in ((secret, 0o600), (public, 0o644), (group, 0o640)):
        path.write_bytes(neff)
        os.chmod(path, mode)
    os.chown(group, 0, 4242)
    hidden = WORK / "closed"
    hidden.mkdir(mode=0o700)
    (hidden / "open.neff").write_bytes(neff)
    os.chmod(hidden / "open.neff", 0o644)
    tap.equal(other_user(daemon, [f"neff_file {p}" for p in (secret, public, group, hidden / "open.neff")]),
              [INVALID, 0, INVALID, INVALID], "neff_file: only what the client could open itself")
    tap.equal(other_user(daemon, [f"neff_file {group}"], groups=(4242,)), [0], "its supplementary groups count")

    mine, readable, shared = Shm(SIZE, 0o600), Shm(SIZE, 0o644), Shm(SIZE, 0o666)
    codes = other_user(daemon, [f"shm_map {mine.path} 3", f"shm_map {readable.path} 3", f"shm_map {readable.path} 1",
                                f"shm_map {shared.path} 3"])
    tap.equal(codes, [INVALID, INVALID, 0, 0], "shm_map: only with the client's own rights")
    tap.equal(neff_file(client, secret)[0], 0, "the daemon's thread is itself again afterwards")

    model = client.ready_model(neff)
    client.ext("share_eg", eg=client.call("list_egs").eg_info[0].eg.id, sharing=nrtx.SHARE_INFER)
    tap.equal(shm_map(client, mine.path), 0, "shared memory of one user")
    codes = other_user(daemon, [f"infer {model} {mine.path} {mine.path}", f"shm_unmap {mine.path}"])
    tap.equal(codes, [BAD_INPUT, INVALID_HANDLE], "cannot be read or unmapped by another")
    answer = client.call("infer", infer_request(model, in_shm(input0=mine.path, input1=mine.path)))
    tap.equal(answer.status.code, 0, "and is still there for its owner")
    cookie = client.call("infer_post", infer_request(model, inline(input0=A, input1=A))).cookie
    tap.equal(other_user(daemon, [f"wait {cookie}"]), [INVALID_HANDLE], "a cookie is worth nothing to another user")
    waited = client.call("infer_wait", nrt.infer_wait_request(cookie=cookie))
    tap.equal(waited.status.code, 0, "and its owner still collects")
    tap.equal(other_user(daemon, [f"post {model}"] * 5), [0] * 4 + [QUEUE_FULL], "a client that collects nothing")
    request = infer_request(model, inline(input0=A, input1=A))
    tap.ok(eventually(lambda: client.call("infer", request).status.code == 0), "its death makes room for others")
    client.call("unload_all")


def through_procfs(neff: bytes) -> None:
    """The daemon's open files and its working directory do not lead around a closed directory."""
    if os.geteuid():
        tap.skip("paths through procfs", "not root")
        return
    inner = WORK / "shut" / "inner"
    inner.mkdir(parents=True)
    (inner / "open.neff").write_bytes(neff)
    os.chmod(inner / "open.neff", 0o644)
    os.chmod(inner, 0o755)
    os.chmod(WORK / "shut", 0o700)
    fd = os.open(inner, os.O_PATH)
    daemon = Daemon(popen={"cwd": inner, "pass_fds": [fd]})
    paths = [f"{inner}/open.neff", "open.neff", "/proc/self/cwd/open.neff", f"/proc/self/fd/{fd}/open.neff",
             f"/proc/{daemon.process.pid}/cwd/open.neff", f"/proc/self/root{inner}/open.neff",
             f"/dev/fd/{fd}/open.neff"]
    tap.equal(other_user(daemon, [f"neff_file {path}" for path in paths]), [INVALID] * len(paths),
              "neff_file: no way around a closed directory through the daemon's own procfs")
    os.chmod(WORK / "shut", 0o711)
    codes = other_user(daemon, [f"neff_file {path}" for path in paths])
    tap.equal(codes, [0] + [INVALID] * (len(paths) - 1), "nor where the directory is open")
    os.close(fd)
    tap.equal(daemon.stop(), 0, "SIGTERM ends it with status 0")


def without_capabilities(neff: bytes) -> None:
    if os.geteuid():
        tap.skip("a daemon that dropped its capabilities", "not root")
        return
    config = WORK / "drop.config"
    config.write_text('{ "init_config": { "drop_all_capabilities": true } }')
    daemon = Daemon("-c", str(config))
    client = Client(daemon)
    have = [line for task in os.listdir(f"/proc/{daemon.process.pid}/task")
            for line in open(f"/proc/{daemon.process.pid}/task/{task}/status") if line.startswith("CapEff")]
    tap.equal(set(have), {"CapEff:\t0000000000000000\n"}, "drop_all_capabilities: no thread has any")
    path = WORK / "public.neff"
    tap.equal(neff_file(client, path)[0], 0, "its own user's files can be named")
    tap.equal(other_user(daemon, [f"neff_file {path}"]), [INVALID], "another user's cannot")
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM: status 0")


def tcp(neff: bytes) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    daemon = Daemon(endpoint=f"127.0.0.1:{port}")
    client = Client(daemon)
    shm, path = Shm(SIZE), WORK / "tcp.neff"
    path.write_bytes(neff)
    os.chmod(path, 0o644)
    tap.equal(shm_map(client, shm.path), INVALID, "over TCP no shared memory can be named")
    tap.equal(neff_file(client, path)[0], INVALID, "nor a file")
    model = client.ready_model(neff)
    answer = client.call("infer", infer_request(model, inline(input0=A, input1=A)))
    tap.ok(answer.status.code == 0 and np.array_equal(outputs(answer)["output0"], 2 * A.ravel()), "inference works")
    client.close()
    tap.equal(daemon.stop(), 0, "the TCP daemon ends with status 0")


def shrunk(daemon: Daemon, client: Client, neff: bytes) -> None:
    """A client takes the memory away after it was mapped: a mapping in the daemon would raise SIGBUS."""
    model = client.ready_model(neff)
    source, target = Shm(SIZE), Shm(SIZE)
    for shm in (source, target):
        shm_map(client, shm.path)
    ifmap = in_shm(input0=source.path, input1=source.path)
    for left in (0, SIZE // 2 + 1, SIZE - 1):
        source.truncate(left)
        answer = client.call("infer", infer_request(model, ifmap))
        tap.ok(answer.status.code == BAD_INPUT and
               f"Invalid data length for [input0], received {left}, expected {SIZE}".encode() in answer.status.details,
               f"an input that was truncated to {left} bytes after shm_map", answer.status)
    source.truncate(SIZE)
    target.truncate(0)
    answer = client.call("infer", infer_request(model, ifmap, in_shm(output0=target.path, output1=target.path)))
    tap.ok(daemon.alive(), "an output that was truncated does no harm", answer.status)
    read_only = Shm(SIZE)
    shm_map(client, read_only.path, 1)
    answer = client.call("infer", infer_request(model, ifmap, in_shm(output0=read_only.path, output1=read_only.path)))
    tap.ok(answer.status.code == BAD_INPUT and
           f"Shared memory [{read_only.path}] of [output0] is mapped read-only".encode() in answer.status.details,
           "an output in memory mapped for reading", answer.status)
    small = Shm(SIZE - 1)
    shm_map(client, small.path)
    answer = client.call("infer", infer_request(model, in_shm(input0=small.path, input1=source.path)))
    tap.ok(answer.status.code == BAD_INPUT and f"received {SIZE - 1}, expected {SIZE}".encode() in answer.status.details,
           "an input in memory one byte too small", answer.status)
    client.call("unload_all")


def abandoned(daemon: Daemon, client: Client, neff: bytes) -> None:
    """Clients that go away in the middle of something leave nothing behind."""
    fds = len(daemon.fds())
    for _ in range(20):
        quick = Client(daemon)
        more = threading.Event()
        call = quick.load_future(half_a_load(neff, more))
        call.cancel()
        more.set()
        session = quick.session()
        session.read()
        quick.close()
    for _ in range(50):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(daemon.path)
            raw.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(200))
    tap.ok(eventually(lambda: len(daemon.fds()) <= fds), "broken calls and connections are cleaned up",
           (fds, len(daemon.fds())))
    tap.equal(len(client.call("list_egs").eg_info), 0, "and left no group")


def half_a_load(neff: bytes, more: threading.Event) -> Iterator[Any]:
    yield nrt.load_request(neff_size=len(neff))
    yield nrt.load_request(neff_chunk=nrt.file_chunk(chunk=neff[:100]))
    more.wait()


def upload(client: Client, neff: bytes, eg: int) -> Any:
    """A load that the daemon has received completely; its answer may come."""
    end = threading.Event()

    def messages() -> Iterator[Any]:
        yield from load_sequence(neff, eg)
        end.set()

    load = client.load_future(messages())
    end.wait()
    for _ in range(20):  # behind it on its connection
        client.call("list_egs")
    return load


def load_of_nobody(daemon: Daemon, client: Client, neff: bytes) -> None:
    """A client goes when its whole NEFF is with the daemon, which takes its time for it and for others
    of the group: the model, whose id nobody was told, goes too."""
    eg = client.eg(1)
    others, quick = [Client(daemon) for _ in range(2)], Client(daemon)
    loads = [upload(other, neff, eg) for other in others]
    call = upload(quick, neff, eg)
    call.cancel()
    for _ in range(5):  # behind the cancellation on its connection
        quick.call("list_egs")
    models = [load.result().h_nn.id for load in loads]
    # the group's thread has done the load, then the unload that followed
    client.start(models[0])
    client.stop(models[0])
    tap.equal(sorted(m.id for m in client.ext("list_models").model), sorted(models),
              "no model stays of a client that went before its load was done")
    for other in [quick, *others]:
        other.close()
    client.call("unload_all")


def socket_mode(daemon: Daemon) -> None:
    mode = os.stat(daemon.path).st_mode
    tap.ok(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o666, "every user may connect", oct(mode))


def dies(daemon: Daemon, neff: bytes) -> None:
    """SIGKILL with inferences in flight."""
    client = Client(daemon)
    model = client.ready_model(neff, ninfer=64)
    futures = [client.future("infer", infer_request(model, inline(input0=A, input1=A))) for _ in range(64)]
    daemon.process.kill()
    daemon.process.wait()
    codes = set()
    for future in futures:
        try:
            codes.add(future.result().status.code)
        except grpc.RpcError as error:
            codes.add(error.code())
    tap.ok(codes <= {0, grpc.StatusCode.UNAVAILABLE}, "clients of a killed daemon get UNAVAILABLE", codes)
    try:
        client.call("list_egs")
        code = None
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.UNAVAILABLE, "and so do later calls")
    client.close()


def main() -> int:
    neff = sum_and_product()
    daemon = Daemon()
    client = Client(daemon)
    socket_mode(daemon)
    names(client, neff)
    two_users(daemon, client, neff)
    shrunk(daemon, client, neff)
    abandoned(daemon, client, neff)
    load_of_nobody(daemon, client, hand_made("words"))
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    through_procfs(neff)
    without_capabilities(neff)
    tcp(neff)
    dies(Daemon(), neff)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
