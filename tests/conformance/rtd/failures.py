#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Programs that never end or that the chip refuses, as TAP: the codes, and that everything else goes
on: the group's other models, the other cores, and a daemon started after one that was killed."""

import sys

import grpc
import numpy as np

from harness import (Client, Daemon, hand_made, infer_request, inline, nrt, outputs, posted_and_awaited,
                     sum_and_product, tap)

TIMEOUT, CANCELLED, WITH_ERR = 5, 1001, 1004
A = np.full((4, 32), 3, np.float32)


def works(client: Client, model: int) -> bool:
    answer = client.call("infer", infer_request(model, inline(input0=A, input1=A)))
    return answer.status.code == 0 and np.array_equal(outputs(answer)["output1"], (A * A).ravel())


def load_beside(client: Client, neff: bytes, good: bytes, timeout: int) -> tuple[int, int]:
    """Two models in one group of one core."""
    eg = client.eg(1)
    return client.load(neff, eg, timeout=timeout, ninfer=4).h_nn.id, client.load(good, eg).h_nn.id


def hang(client: Client, neff: bytes, good: bytes) -> None:
    stuck, model = load_beside(client, neff, good, 1)
    client.start(stuck)
    other = client.ready_model(good)
    future = client.future("infer", infer_request(stuck, client.zeros(stuck)))
    tap.ok(works(client, other), "another core works while one hangs")
    answer = future.result()
    tap.ok(answer.status.code == TIMEOUT and b"timeout" in answer.status.details, "a program that never ends: 5",
           answer.status)
    client.stop(stuck)
    client.start(model)
    tap.ok(works(client, model), "the next model on the same core works")
    client.stop(model)
    tap.equal(client.start(stuck), 0, "the one that hung can be started again")
    answer = client.call("infer", infer_request(stuck, client.zeros(stuck)))
    tap.equal(answer.status.code, TIMEOUT, "and hangs again")
    client.call("unload_all")


def stop_while_stuck(client: Client, neff: bytes) -> None:
    model = client.ready_model(neff, timeout=3600)
    posted = [client.call("infer_post", infer_request(model, client.zeros(model))).cookie for _ in range(3)]
    waiting = [client.future("infer_wait", nrt.infer_wait_request(cookie=c)) for c in posted[:2]]
    tap.ok(all(posted), "three are posted")
    tap.equal(client.stop(model), 0, "stop of a model that hangs")
    tap.equal([w.result().status.code for w in waiting], [CANCELLED] * 2, "those who wait are told at once")
    last = client.call("infer_wait", nrt.infer_wait_request(cookie=posted[2]))
    tap.equal(last.status.code, CANCELLED, "the one who comes later too")
    client.call("unload_all")


def stops_wait_for_nobody(client: Client, neff: bytes, good: bytes) -> None:
    """An hour's timeout, more stops than the daemon has workers, and all other calls beside them."""
    stuck, also, third = (client.ready_model(neff, timeout=3600) for _ in range(3))
    waiting = [posted_and_awaited(client, m)[1] for m in (stuck, also, third)]
    stops = [client.future("stop", nrt.stop_request(h_nn=nrt.h_nn(id=stuck))) for _ in range(24)]
    stops += [client.future("unload", nrt.unload_request(h_nn=nrt.h_nn(id=also)))]
    tap.ok(works(client, client.ready_model(good)), "beside 24 stops of a model that hangs another is loaded and works")
    tap.equal(client.call("read_nc_counters", nrt.read_nc_counters_request()).status.code, 0, "counters are read")
    tap.equal([s.result().status.code for s in stops], [0] * 25, "all stops and an unload are answered")
    tap.equal([w.result().status.code for w in waiting[:2]], [CANCELLED] * 2, "what executed was interrupted")
    tap.equal(client.start(stuck), 0, "a model that was interrupted starts again")
    posted_and_awaited(client, stuck)
    tap.equal(client.call("unload_all").code, 0, "unload_all of models that hang")
    tap.equal(waiting[2].result().status.code, CANCELLED, "and it interrupted what executed")

    stuck, beside = load_beside(client, neff, good, 3600)
    client.start(stuck)
    future = posted_and_awaited(client, stuck)[1]
    unload = client.future("unload", nrt.unload_request(h_nn=nrt.h_nn(id=beside)))
    tap.equal(client.stop(stuck), 0, "a stop does not wait for what its group was asked before")
    tap.equal([unload.result().status.code, future.result().status.code], [0, CANCELLED], "which is answered too")
    client.call("unload_all")

    session = client.session()
    number = session.read().session_id
    model = client.load(neff, client.eg(1, number), number, timeout=3600).h_nn.id
    client.start(model)
    future = posted_and_awaited(client, model)[1]
    session.half_close()
    tap.equal(future.result().status.code, CANCELLED, "the end of a session interrupts what its model executes")
    tap.equal(len(client.call("list_egs").eg_info), 0, "and has taken its group")


def fault(client: Client, neff: bytes, good: bytes) -> None:
    bad, model = load_beside(client, neff, good, 10)
    client.start(bad)
    answer = client.call("infer", infer_request(bad, client.zeros(bad)))
    tap.ok(answer.status.code == WITH_ERR and b"semaphore" in answer.status.details,
           "a program the chip stops: 1004, with the chip's reason", answer.status)
    tap.equal(len(answer.ofmap), 0, "and no outputs")
    client.stop(bad)
    client.start(model)
    tap.ok(works(client, model), "the next model on the same core works")
    counters = client.call("read_inference_counters").nmgr_counters
    counts = {c.infer_status: c.count for c in counters.infer_status_counts}
    tap.ok(counts[nrt.IST_COMPLETED_WITH_ERR] == 1 and counts[nrt.IST_TIMEOUT] == 2,
           "all of it is counted, but what was interrupted", counts)
    client.call("unload_all")


def killed(neff: bytes, good: bytes) -> None:
    """SIGKILL while a core executes; the next daemon takes the same socket and the same chips."""
    daemon = Daemon()
    client = Client(daemon)
    model = client.ready_model(neff, timeout=600)
    future = client.future("infer", infer_request(model, client.zeros(model)))
    client.call("list_egs")
    daemon.process.kill()
    daemon.process.wait()
    try:
        code = future.result().status.code
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.UNAVAILABLE, "the client of a killed daemon gets UNAVAILABLE")
    client.close()
    again = Daemon(socket=daemon.path)
    client = Client(again)
    tap.equal(len(client.call("list_egs").eg_info), 0, "a restarted daemon has no groups")
    tap.ok(works(client, client.ready_model(good)), "and works")
    stuck = client.ready_model(neff, timeout=3600)
    client.call("infer_post", infer_request(stuck, client.zeros(stuck)))
    client.close()
    tap.equal(again.stop(), 0, "SIGTERM while a core executes: status 0")


def main() -> int:
    good, never, bad = sum_and_product(), hand_made("hang"), hand_made("fault")
    daemon = Daemon()
    client = Client(daemon)
    hang(client, never, good)
    stop_while_stuck(client, never)
    stops_wait_for_nobody(client, never, good)
    fault(client, bad, good)
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    killed(never, good)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
