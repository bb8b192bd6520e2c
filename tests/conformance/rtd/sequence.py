#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Replays, as TAP, what the published TensorFlow client does to the daemon, in its order: session
probe, session, shared memory probe, groups, load, ping, start, post and wait in any order, model
switch, teardown, and the death of the process."""

import os
import subprocess
import sys

import numpy as np

from harness import (CHUNK, Client, Daemon, Shm, eventually, in_shm, infer_request, inline, nrt, outputs,
                     sum_and_product, tap, with_weights)

OK = 0
READ_WRITE = 3


def probe(client: Client) -> None:
    session = client.session()
    answer = session.read()  # before anything is written
    tap.ok(answer.session_id, "the probe is answered before it is written to", answer)
    tap.equal(answer.runtime_version.major_num, 1, "the runtime's major version")
    tap.equal(session.half_close().name, "OK", "half-close ends the probe with OK")


def open_session(client: Client) -> tuple:
    session = client.session()
    session.write(nrt.session_monitor_request(framework_name="TENSORFLOW",
                                              framework_version=nrt.version(full_version="1.15.0", major_num=1)))
    answer = session.read()
    tap.ok(answer.session_id, "the session has an id", answer)
    return session, answer.session_id


def shm_probe(client: Client, session: int) -> None:
    shm = Shm(16)
    mapped = client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=READ_WRITE, session_id=session))
    tap.equal(mapped.status.code, OK, "16 bytes of shared memory can be mapped")
    shm.unlink()
    unmapped = client.call("shm_unmap", nrt.shm_unmap_request(path=shm.path, mmap_prot=READ_WRITE))
    tap.equal(unmapped.status.code, OK, "and unmapped after they were unlinked")


def groups(client: Client, session: int) -> list[int]:
    made = [client.create_eg(count, session) for count in (2, 4, 1)]
    tap.equal([g.status.code for g in made], [OK] * 3, "three groups are made")
    tap.equal([g.nc_count for g in made], [2, 4, 1], "each of the size that was asked for")
    listed = client.call("list_egs")
    tap.equal((listed.mla_count, listed.nc_count), (4, 16), "four devices, sixteen cores")
    place = [(g.vnc_start_index, g.nc_count, g.mla_start_index, g.nc_start_index) for g in listed.eg_info]
    tap.equal(place, [(0, 2, 0, 0), (2, 4, 0, 2), (6, 1, 1, 2)], "the groups lie one after the other")
    return [g.h_eg.id for g in made]


def post_and_wait(client: Client, model: int) -> None:
    rng = np.random.default_rng(2)
    tensors = [rng.integers(-100, 100, (2, 4, 32)).astype(np.float32) for _ in range(4)]
    cookies = []
    for a, b in tensors:
        posted = client.call("infer_post", infer_request(model, inline(input0=a, input1=b)))
        cookies.append(posted.cookie if posted.status.code == OK else 0)
    tap.ok(all(cookies) and len(set(cookies)) == 4, "four inferences are in flight", cookies)
    good = True
    for i in (2, 0, 3, 1):
        answer = client.call("infer_wait", nrt.infer_wait_request(cookie=cookies[i]))
        got, (a, b) = outputs(answer), tensors[i]
        good &= answer.status.code == OK and sorted(got) == ["output0", "output1"]
        good &= np.array_equal(got["output0"], (a + b).ravel()) and np.array_equal(got["output1"], (a * b).ravel())
    tap.ok(good, "they are collected in another order, each with its own result")
    again = client.call("infer_wait", nrt.infer_wait_request(cookie=cookies[0]))
    tap.equal(again.status.code, 3, "a cookie is valid once")


def shared_memory(client: Client, model: int, session: int) -> None:
    size = 4 * 32 * 4
    shms = {name: Shm(size) for name in ("input0", "input1", "output0", "output1")}
    for name, shm in shms.items():
        mapped = client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=READ_WRITE, session_id=session))
        shm.unlink()
        if not tap.equal(mapped.status.code, OK, f"{name}'s memory is mapped, then unlinked"):
            return
    a = np.arange(128, dtype=np.float32)
    b = a[::-1].copy()
    shms["input0"].map[:] = a.tobytes()
    shms["input1"].map[:] = b.tobytes()
    ifmap = in_shm(input0=shms["input0"].path, input1=shms["input1"].path)
    ofmap = in_shm(output0=shms["output0"].path, output1=shms["output1"].path)
    posted = client.call("infer_post", infer_request(model, ifmap, ofmap))
    answer = client.call("infer_wait", nrt.infer_wait_request(cookie=posted.cookie, shm_ofmap=ofmap))
    tap.equal((answer.status.code, len(answer.ofmap)), (OK, 0), "shared outputs are not in the answer")
    tap.ok(np.array_equal(np.frombuffer(shms["output0"].map, np.float32), a + b), "the sum is in shared memory")
    tap.ok(np.array_equal(np.frombuffer(shms["output1"].map, np.float32), a * b), "so is the product")
    posted = client.call("infer_post", infer_request(model, ifmap))
    for name in ("output0", "output1"):
        shms[name].map[:] = bytes(size)
    answer = client.call("infer_wait", nrt.infer_wait_request(cookie=posted.cookie, shm_ofmap=ofmap))
    tap.ok(answer.status.code == OK and not answer.ofmap and
           np.array_equal(np.frombuffer(shms["output0"].map, np.float32), a + b),
           "outputs that only the wait names go to shared memory too", answer.status)


def switch(client: Client, running: int, other: int, weights: np.ndarray) -> None:
    busy = client.call("start", nrt.start_request(h_nn=nrt.h_nn(id=other)))
    tap.equal(busy.status.code, 2, "a second model of a group does not start beside the first")
    stop = client.future("stop", nrt.stop_request(h_nn=nrt.h_nn(id=running)))
    tap.equal(stop.result().status.code, OK, "the running model is stopped")
    start = client.future("start", nrt.start_request(h_nn=nrt.h_nn(id=other)))
    tap.equal(start.result().status.code, OK, "the other one is started")
    x = np.ones(weights.shape, np.float32)
    answer = client.call("infer", infer_request(other, inline(input0=x)))
    tap.equal(answer.status.code, OK, "a unary inference with 3 MiB in and out")
    tap.ok(np.array_equal(outputs(answer)["output0"].reshape(weights.shape), x + weights), "with the right sum")


def teardown(client: Client, models: list[int], egs: list[int]) -> None:
    tap.equal(client.stop(models[1]), OK, "stop")
    tap.equal([client.unload(m) for m in models], [OK, OK], "unload")
    tap.equal([client.destroy(e) for e in egs], [OK] * 3, "destroy_eg")
    tap.equal(len(client.call("list_egs").eg_info), 0, "no group is left")


def all_cores(client: Client, neff: bytes) -> None:
    models = [client.ready_model(neff, ninfer=3) for _ in range(16)]
    tap.equal(len(set(models)), 16, "one NEFF is loaded sixteen times")
    rng = np.random.default_rng(3)
    work = []
    for n in range(48):
        a, b = rng.integers(-50, 50, (2, 4, 32)).astype(np.float32)
        request = infer_request(models[n % 16], inline(input0=a, input1=b))
        work.append((a, b, client.future("infer", request)))
    good = 0
    for a, b, future in work:
        answer = future.result()
        good += answer.status.code == OK and np.array_equal(outputs(answer)["output1"], (a * b).ravel())
    tap.equal(good, 48, "48 inferences at once on 16 cores are right")
    tap.equal(client.call("unload_all").code, OK, "unload_all")
    tap.equal(len(client.call("list_egs").eg_info), 0, "leaves nothing")


def model_alone(client: Client, neff: bytes) -> None:
    """A session's model in a group that is no session's."""
    session, session_id = open_session(client)
    eg = client.eg(1)
    tap.equal(client.load(neff, eg, session_id).status.code, OK, "a session's model in a group that is not its own")
    session.half_close()
    tap.ok(eventually(lambda: not client.ext("list_models").model), "goes with the session")
    tap.equal(client.destroy(eg), OK, "and the group stays")


def death(daemon: Daemon, client: Client) -> None:
    """A process with a session, two groups, a model and shared memory is killed."""
    child = subprocess.Popen([sys.executable, "-B", os.path.join(os.path.dirname(__file__), "victim.py"),
                              daemon.endpoint], stdout=subprocess.PIPE, text=True)
    line = child.stdout.readline().strip()
    tap.equal(line, "ready", "a client process holds groups, a running model and shared memory")
    tap.equal(len(client.call("list_egs").eg_info), 2, "its groups are listed")
    mapped = [n for n in daemon.fds() if n.startswith("/dev/shm/")]
    tap.equal(len(mapped), 1, "the daemon holds its unlinked shared memory")
    child.kill()
    child.wait()
    tap.ok(eventually(lambda: not client.call("list_egs").eg_info), "its death removes the groups")
    tap.equal(len(client.ext("list_models").model), 0, "and unloads the model")
    tap.ok(eventually(lambda: not [n for n in daemon.fds() if n.startswith("/dev/shm/")]), "and frees the memory")


def main() -> int:
    daemon = Daemon()
    client = Client(daemon)
    small = sum_and_product()
    large, weights = with_weights()
    tap.ok(len(large) > 2 * CHUNK, "the large NEFF takes several chunks", len(large))

    probe(client)
    session, session_id = open_session(client)
    shm_probe(client, session_id)
    egs = groups(client, session_id)
    first = client.load(small, egs[1], session_id, ninfer=4, timeout=10)
    tap.equal((first.status.code, first.h_nn.id), (OK, 10001), "the first model is 10001")
    second = client.load(large, egs[1], session_id, ninfer=2, timeout=10)
    tap.equal((second.status.code, second.h_nn.id), (OK, 10002), "a second model in the same group is 10002")
    ping = client.call("start", nrt.start_request(h_nn=nrt.h_nn(id=0)))
    tap.equal(ping.status.code, 3, "start of id 0 is answered: gRPC OK and NERR_INVALID_HANDLE")
    tap.equal(client.start(10001), OK, "start")
    post_and_wait(client, 10001)
    shared_memory(client, 10001, session_id)
    switch(client, 10001, 10002, weights)
    teardown(client, [10001, 10002], egs)
    tap.equal(session.half_close().name, "OK", "the session ends with OK")
    all_cores(client, small)
    model_alone(client, small)
    death(daemon, client)
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
