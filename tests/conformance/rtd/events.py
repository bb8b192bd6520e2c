#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""watch_events: what happens to groups and models, for who may see it; as TAP."""

import os
import queue
import sys
from typing import Any, Iterator

import grpc

from harness import (NOBODY, WORK, Client, Daemon, Other, config, eventually, infer_request, nrtx, sum_and_product, tap)

EG_CREATED, EG_DESTROYED, LOADED, STARTED, STOPPED, FAILED, UNLOADED = range(1, 8)


class Watch:
    """Asks for the next events as often as it is told to."""

    def __init__(self, client: Client) -> None:
        self.asked: queue.Queue = queue.Queue()
        self.stream = client.channel.stream_stream("/nrtx.nmgr_x/watch_events", lambda m: m.SerializeToString(),
                                                   nrtx.watch_events_response.FromString)(self.feed())
        self.next = 0

    def feed(self) -> Iterator[Any]:
        while (asked := self.asked.get()) is not None:
            yield nrtx.watch_events_request(**{"from": asked})

    def ask(self, start: int = 0) -> None:
        self.asked.put(start)

    def answer(self) -> Any:
        answer = next(self.stream)
        self.next = answer.next
        return answer

    def until(self, kind: int) -> list[tuple[int, int, int]]:
        """All events up to one of this kind; the first request has been made."""
        found = []
        while not found or found[-1][0] != kind:
            found += [(e.kind, e.eg, e.model) for e in self.answer().event]
            self.ask()
        return found


def watching(client: Client) -> Watch:
    """One that has surely begun: its first event is a group of its own."""
    watch = Watch(client)
    watch.ask(1)
    eg = client.eg(1)
    client.destroy(eg)
    while not any((e.kind, e.eg) == (EG_DESTROYED, eg) for e in watch.answer().event):
        watch.ask()
    watch.ask()
    return watch


def life(client: Client, neff: bytes) -> None:
    watch = watching(client)
    eg = client.eg(2)
    model = client.load(neff, eg).h_nn.id
    client.start(model)
    client.start(model)
    client.stop(model)
    client.unload(model)
    client.destroy(eg)
    tap.equal(watch.until(EG_DESTROYED), [(EG_CREATED, eg, 0), (LOADED, eg, model), (STARTED, eg, model), (STOPPED, eg, model),
                                          (UNLOADED, eg, model), (EG_DESTROYED, eg, 0)], "the life of a group and a model")
    implicit = client.load(neff).h_nn.id
    client.call("unload_all")
    kinds = [(kind, bool(of)) for kind, _, of in watch.until(EG_DESTROYED)]
    tap.equal(kinds, [(EG_CREATED, False), (LOADED, True), (STARTED, True), (STOPPED, True), (UNLOADED, True),
                      (EG_DESTROYED, False)], f"and of those that a load makes, model {implicit}")
    watch.asked.put(None)
    client.destroy(client.eg(1))
    try:
        while True:
            watch.answer()
    except StopIteration:
        tap.equal(watch.stream.code(), grpc.StatusCode.OK, "a half-closed stream ends with OK")


def lost(client: Client) -> None:
    watch = watching(client)
    first = watch.next
    for _ in range(200):
        client.destroy(client.eg(1))
    answer = watch.answer()  # the request that waited, with the first of them
    numbers = [e.number for e in answer.event]
    tap.ok(answer.lost == 0 and numbers == list(range(first, first + len(numbers))), "what was waited for comes in order",
           (first, numbers))
    numbers, missed = [], 0
    while len(numbers) < 256:
        watch.ask()
        answer = watch.answer()
        missed += answer.lost
        numbers += [e.number for e in answer.event]
    tap.ok(missed > 0 and numbers == list(range(numbers[0], numbers[0] + 256)), "who is slow is told how many are lost",
           (missed, numbers[:3], numbers[-3:]))
    tap.equal(watch.next, numbers[-1] + 1, "and where to go on")
    watch.ask(numbers[-1] - 4)
    tap.equal([e.number for e in watch.answer().event], list(range(numbers[-1] - 4, numbers[-1] + 1)), "or from before")
    watch.stream.cancel()


def fatal(neff: bytes) -> None:
    daemon = Daemon(NEURON_EMU_FAULTS="nd0:engine-hang=1:core=0 nd0:reset-hang=always", NEURON_RT_RESET_CORES="0")
    client = Client(daemon)
    watch = watching(client)
    model = client.ready_model(neff, timeout=1)
    for _ in range(2):
        client.call("infer", infer_request(model, client.zeros(model)))
    tap.equal([kind for kind, _, _ in watch.until(FAILED)], [EG_CREATED, LOADED, STARTED, FAILED], "a model that fails")
    client.close()
    daemon.kill()


def tenants(daemon: Daemon, client: Client, neff: bytes) -> None:
    if os.geteuid():
        tap.skip("another user's events", "not root")
        return
    other = Other(daemon, NOBODY)
    at = watching(client).next
    client.unload(client.ready_model(neff))
    tap.equal(other("events", at), [0, 0], "another user sees nothing of it")
    eg = other("eg", 1)[1]
    tap.equal(other("events", at), [1, EG_CREATED], "but what is its own")
    watch = Watch(client)
    watch.ask(at)
    tap.ok(any((e.kind, e.eg) == (EG_CREATED, eg) for e in watch.answer().event), "and root sees all")
    watch.stream.cancel()


def watchers(client: Client) -> bool:
    try:
        return len([watching(client) for _ in range(20)]) == 20
    except grpc.RpcError:
        return False


def leave() -> None:
    """Twenty calls of the 24 that a user may have, three times: those that leave give theirs back."""
    daemon = Daemon(*config("few", '{"call_limit": 32}'))
    for attempt in range(3):
        client = Client(daemon)
        tap.ok(eventually(lambda: watchers(client)), f"20 watchers, round {attempt}")
        client.close()
    tap.equal(daemon.stop(), 0, "and the daemon ends well")


def ends(daemon: Daemon, client: Client) -> None:
    watch = watching(client)
    tap.equal(daemon.stop(), 0, "a daemon that is watched ends with status 0")
    try:
        while True:
            watch.answer()
            watch.ask()
    except StopIteration:
        tap.equal(watch.stream.code(), grpc.StatusCode.OK, "and the watcher's stream with OK")
    except grpc.RpcError as error:
        tap.ok(error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), "and the watcher's stream", error)


def main() -> int:
    neff = sum_and_product()
    WORK.chmod(0o711)
    daemon = Daemon()
    client = Client(daemon)
    life(client, neff)
    lost(client)
    fatal(neff)
    tenants(daemon, client, neff)
    leave()
    ends(daemon, client)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
