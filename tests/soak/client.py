# SPDX-License-Identifier: MIT
"""A client of the soak: one process of one user, that does at random what clients do, checks every
answer, and stops in an orderly way or in the middle of something.

Whatever it is killed in, the daemon has to clean up; so nothing here counts on coming to its end.
"""

import contextlib
import dataclasses
import os
import random
import threading
import types
from collections.abc import Iterator
from typing import Any

import grpc

from board import Board
from harness import Client, Session, Shm, in_shm, infer_request, load_sequence, nrt, nrtx
from models import ENDLESS, Model

OK, INVALID, HANDLE, RESOURCE, FULL, FAILED, NO_CORES, PENDING, CANCELLED = 0, 2, 3, 4, 7, 8, 9, 1000, 1001
GROUPS, PER_GROUP, IN_FLIGHT = 2, 3, 8  # what one client has at most
WATCH_SECONDS = 10.0  # until a stream of events that is left as it is ends


class Wrong(Exception):
    """The daemon did something that it must not do."""


class Restarted(Exception):
    """The daemon was restarted: nothing made before is there."""


@dataclasses.dataclass
class Loaded:
    model: Model
    id: int
    eg: int  # 0: the daemon's own, and the model runs from the start
    running: bool
    ninfer: int
    codes: tuple[int, ...]
    cancelled: bool = False  # what nobody waits for, or another user, may take a place in its queue
    cookies: dict[int, int] = dataclasses.field(default_factory=dict)  # posted: cookie and case
    calls: list[tuple[Any, int]] = dataclasses.field(default_factory=list)  # under way: call and case


@dataclasses.dataclass
class Plan:
    """A client's parameters: its user, whether it has a session, and its random seed."""

    uid: int
    session: bool
    seed: int


def become(uid: int) -> None:
    if os.geteuid() == 0 and uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


class User:
    def __init__(self, endpoint: str, models: list[Model], board: Board, slot: int, plan: Plan) -> None:
        self.rng = random.Random(plan.seed)
        self.models, self.board, self.slot, self.plan = models, board, slot, plan
        self.life = board.life()  # of the daemon
        self.client = Client(types.SimpleNamespace(endpoint=endpoint))
        self.loaded: list[Loaded] = []
        self.groups: list[int] = []
        self.shared: set[int] = set()  # of these, with all users
        self.cores: dict[int, int] = {}  # of each group it has made
        self.session: Session | None = None
        self.session_id = 0

    # ---- answers

    def expect(self, have: int, wanted: tuple[int, ...], what: str) -> int:
        """Returns the code if it is one of those; another one ends the client, or means that the daemon ended."""
        if have in wanted:
            return have
        if self.board.life() != self.life:
            raise Restarted
        raise Wrong(f"{what}: code {have}, expected {' or '.join(map(str, wanted))}")

    def check(self, entry: Loaded, case: int, answer: Any, outputs: dict[str, bytes] | None = None) -> None:
        """Checks that the outputs are right to the last bit, or that the error is the one this model makes."""
        # it was stopped meanwhile: while it waited, or before it arrived
        codes = entry.codes if entry.running else (*entry.codes, CANCELLED, HANDLE)
        codes = (*codes, FULL) if entry.cancelled else codes
        code = self.expect(answer.status.code, codes, f"{entry.model.name}: {answer.status.details.decode()}")
        if code != OK:
            self.board.count(self.slot, "refused" if code in (CANCELLED, FULL, HANDLE) else "failed")
            return
        have = {io.name: io.buf for io in answer.ofmap} if outputs is None else outputs
        if have != entry.model.cases[case][1]:
            if self.board.life() != self.life:
                raise Restarted
            raise Wrong(f"{entry.model.name}: wrong output for case {case}: {self.difference(entry, case, have)}")
        self.board.count(self.slot, "right")

    @staticmethod
    def difference(entry: Loaded, case: int, have: dict[str, bytes]) -> str:
        said = []
        for name, wanted in entry.model.cases[case][1].items():
            got = have.get(name, b"")
            wrong = sum(a != b for a, b in zip(got, wanted, strict=False))
            said.append(f"{name}: {len(got)} bytes of {len(wanted)}, {wrong} wrong")
        return "; ".join(said)

    # ---- what clients do

    def begin(self) -> None:
        if self.plan.session:
            self.session = self.client.session()
            self.session.write(nrt.session_monitor_request(framework_name="SOAK"))
            self.session_id = self.session.read().session_id
            if not self.session_id:
                raise Wrong("a session without an id")

    def given(self, entry: Loaded, case: int) -> list[Any]:
        if not entry.model.cases:
            return self.client.zeros(entry.id)
        return [nrt.infer_io(name=name, buf=data) for name, data in entry.model.cases[case][0].items()]

    def inputs(self, entry: Loaded) -> tuple[int, list[Any]]:
        case = self.rng.randrange(max(1, len(entry.model.cases)))
        return case, self.given(entry, case)

    def running(self) -> Loaded | None:
        entries = [e for e in self.loaded if e.running]
        return self.rng.choice(entries) if entries else None

    def do_load(self) -> None:
        model = self.rng.choices(self.models, [m.share for m in self.models])[0]
        eg = 0
        if self.rng.random() < 0.7:
            eg = self.group(model.cores)
            if not eg:
                return
        elif len(self.loaded) >= GROUPS * PER_GROUP:
            return
        ninfer = self.rng.choice((1, 2, 4, IN_FLIGHT))
        answer = self.client.load(model.neff, eg, self.session_id, ninfer, model.timeout)
        code = self.expect(answer.status.code, (OK, RESOURCE, NO_CORES), f"load of {model.name} into {eg}")
        if code == OK:
            # a model that failed once, or was cancelled by its neighbour's failure, may say so
            codes = (*model.codes, CANCELLED, FAILED) if model.codes != (OK,) else model.codes
            self.loaded.append(Loaded(model, answer.h_nn.id, eg, not eg, ninfer, codes))
            self.board.count(self.slot, "loaded")
            self.loaded[-1].cancelled = eg in self.shared
            if eg not in self.shared:
                self.board.show(self.slot, self.plan.uid, answer.h_nn.id)
            if eg and self.rng.random() < 0.8:
                self.start(self.loaded[-1])

    def group(self, cores: int) -> int:
        """A group with as many cores, its own or a new one; 0 if there is none."""
        fitting = [eg for eg in self.groups if self.rng.random() < 0.7 and self.cores[eg] == cores and
                   sum(e.eg == eg for e in self.loaded) < PER_GROUP]
        if fitting:
            return self.rng.choice(fitting)
        if len(self.groups) >= GROUPS:
            return 0
        answer = self.client.create_eg(cores, self.session_id)
        if self.expect(answer.status.code, (OK, RESOURCE, NO_CORES), "create_eg") != OK:
            return 0
        self.groups.append(answer.h_eg.id)
        self.cores[answer.h_eg.id] = cores
        return answer.h_eg.id

    def start(self, entry: Loaded) -> None:
        for other in self.loaded:
            if other.eg == entry.eg and other.running and other is not entry and entry.eg:
                self.stop(other)
        self.expect(self.client.start(entry.id), (OK,), f"start of {entry.model.name}")
        entry.running = True

    def stop(self, entry: Loaded) -> None:
        entry.running = False
        self.expect(self.client.stop(entry.id), (OK,), f"stop of {entry.model.name}")

    def do_start_or_stop(self) -> None:
        entries = [e for e in self.loaded if e.eg]
        if entries:
            entry = self.rng.choice(entries)
            if entry.running:
                self.stop(entry)
            else:
                self.settle(entry)
                self.start(entry)

    def do_infer(self) -> None:
        if entry := self.running():
            case, ios = self.inputs(entry)
            self.settle(entry)
            self.check(entry, case, self.client.call("infer", infer_request(entry.id, ios)))

    def do_infer_shm(self) -> None:
        """Inputs or outputs, or both, in shared memory whose name is removed before it is used."""
        entry = self.running()
        if not entry or not entry.model.cases or entry.model.share < 0.3:
            return
        self.settle(entry)
        case = self.rng.randrange(len(entry.model.cases))
        inputs, outputs = entry.model.cases[case]
        maps = {name: self.map(len(data), data) for name, data in inputs.items()}
        results = {name: self.map(len(data), b"") for name, data in outputs.items()} if self.rng.random() < 0.7 else {}
        request = infer_request(entry.id, in_shm(**{n: shm.path for n, shm in maps.items()}),
                                in_shm(**{n: shm.path for n, shm in results.items()}))
        answer = self.client.call("infer", request)
        got = {name: bytes(shm.map[:shm.size]) for name, shm in results.items()} or None
        self.check(entry, case, answer, got)
        if self.rng.random() < 0.8 or not self.plan.session:  # else its session's end takes them away
            for shm in [*maps.values(), *results.values()]:
                unmap = nrt.shm_unmap_request(path=shm.path, mmap_prot=3)
                self.expect(self.client.call("shm_unmap", unmap).status.code, (OK,), "shm_unmap")

    def map(self, size: int, data: bytes) -> Shm:
        shm = Shm(size, 0o600)
        try:
            shm.map[:len(data)] = data
            request = nrt.shm_map_request(path=shm.path, mmap_prot=3, session_id=self.session_id)
            self.expect(self.client.call("shm_map", request).status.code, (OK,), "shm_map")
        finally:
            shm.unlink()
        return shm

    def do_post(self) -> None:
        entry = self.running()
        if entry and len(entry.cookies) + len(entry.calls) < entry.ninfer:
            case, ios = self.inputs(entry)
            answer = self.client.call("infer_post", infer_request(entry.id, ios))
            allowed = (OK, *((FULL,) if entry.cancelled else ()), *((FAILED,) if entry.codes != (OK,) else ()))
            if self.expect(answer.status.code, allowed, f"infer_post of {entry.model.name}") == OK:
                entry.cookies[answer.cookie] = case

    def do_collect(self) -> None:
        entries = [e for e in self.loaded if e.cookies]
        if entries:
            entry = self.rng.choice(entries)
            cookie = self.rng.choice(list(entry.cookies))
            self.collect(entry, cookie, self.rng.choice(("infer_wait", "infer_wait", "infer_poll")))

    def collect(self, entry: Loaded, cookie: int, how: str) -> None:
        answer = self.client.call(how, nrt.infer_wait_request(cookie=cookie))
        if answer.status.code != PENDING or how == "infer_wait":
            self.check(entry, entry.cookies.pop(cookie), answer)

    def do_completion(self) -> None:
        cookies = [c for e in self.loaded for c in e.cookies]
        answer = self.client.call("infer_check_completion", nrt.infer_check_completion_request(cookie=cookies))
        self.expect(answer.status.code, (OK,), "infer_check_completion")
        if not set(answer.cookie) <= set(cookies):
            raise Wrong("infer_check_completion names a cookie that nobody asked for")

    def do_call(self) -> None:
        """An inference that is not waited for."""
        entry = self.running()
        if entry and len(entry.cookies) + len(entry.calls) < entry.ninfer:
            case, ios = self.inputs(entry)
            entry.calls.append((self.client.future("infer", infer_request(entry.id, ios)), case))

    def do_cancel(self) -> None:
        entries = [e for e in self.loaded if e.calls]
        if entries:
            entry = self.rng.choice(entries)
            call, _ = entry.calls.pop(self.rng.randrange(len(entry.calls)))
            call.cancel()
            entry.cancelled = True
            self.board.count(self.slot, "cancelled")

    def do_cancel_wait(self) -> None:
        """Cancels a wait; the result may be lost with it, or be collected later."""
        entries = [e for e in self.loaded if e.cookies]
        if entries:
            entry = self.rng.choice(entries)
            cookie = self.rng.choice(list(entry.cookies))
            call = self.client.future("infer_wait", nrt.infer_wait_request(cookie=cookie))
            call.cancel()
            entry.cookies.pop(cookie)
            entry.cancelled = True
            self.board.count(self.slot, "cancelled")

    def do_abandon_upload(self) -> None:
        messages = list(load_sequence(self.rng.choice(self.models).neff, 0, self.session_id))
        keep, begun = self.rng.randrange(1, len(messages) + 1), threading.Event()

        def some() -> Iterator[Any]:
            yield from messages[:keep]
            begun.wait()
            call.cancel()

        load = self.client.channel.stream_unary("/nrt.nmgr_v1/load", request_serializer=lambda m: m.SerializeToString(),
                                                response_deserializer=nrt.load_response.FromString)
        call = load.future(some())
        begun.set()
        with contextlib.suppress(grpc.FutureCancelledError, grpc.RpcError):
            call.result()
        self.board.count(self.slot, "cancelled")

    def do_unload(self) -> None:
        if self.loaded:
            entry = self.rng.choice(self.loaded)
            if self.rng.random() < 0.5:
                self.settle(entry)
            self.unload(entry)

    def unload(self, entry: Loaded) -> None:
        self.loaded.remove(entry)
        self.expect(self.client.unload(entry.id), (OK,), f"unload of {entry.model.name}")
        entry.running = False
        for call, case in entry.calls:
            self.check(entry, case, call.result())

    def do_destroy(self) -> None:
        empty = [g for g in self.groups if not any(e.eg == g for e in self.loaded)]
        if empty:
            eg = self.rng.choice(empty)
            self.groups.remove(eg)
            self.shared.discard(eg)
            self.expect(self.client.destroy(eg), (OK,), "destroy_eg")

    def do_look(self) -> None:
        name = self.rng.choice(("list_egs", "read_inference_counters", "read_nc_counters", "read_all_metrics",
                                "get_version"))
        self.client.call(name)
        listed = {m.id for m in self.client.ext("list_models").model}
        missing = [e.id for e in self.loaded if e.id not in listed]
        if missing:
            self.expect(missing[0], (), "a model that is not listed")

    def do_profile(self) -> None:
        """A profile of one inference; now and then one that nobody collects, which goes with its model."""
        entry = self.running()
        if not entry:
            return
        self.settle(entry)
        answer = self.client.ext("profile_start", id=entry.id)
        if self.expect(answer.status.code, (OK, RESOURCE), f"profile of {entry.model.name}") != OK:
            return
        case, ios = self.inputs(entry)
        self.check(entry, case, self.client.call("infer", infer_request(entry.id, ios)))
        if self.rng.random() < 0.2:
            return
        answer = self.client.ext("profile_stop", id=entry.id)
        self.expect(answer.status.code, (OK,), f"end of the profile of {entry.model.name}")
        if entry.codes == (OK,) and not entry.cancelled:
            self.expect(answer.infer_count, (1,), f"inferences in a profile of {entry.model.name}")
        self.board.count(self.slot, "profiled")

    def do_watch(self) -> None:
        """Reads what the daemon remembers of its events, and half-closes the stream, cancels it, or leaves it as it is."""
        ends = threading.Event()

        def one() -> Iterator[Any]:
            yield nrtx.watch_events_request(**{"from": 1})
            ends.wait(WATCH_SECONDS)

        hidden = [(slot, self.board.shown(slot)) for slot in range(self.board.slots)]
        watch = self.client.channel.stream_stream("/nrtx.nmgr_x/watch_events", lambda m: m.SerializeToString(),
                                                  nrtx.watch_events_response.FromString)(one(), timeout=WATCH_SECONDS)
        try:
            answer = next(watch, None)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:  # there is nothing that this user may see
                return
            raise
        if answer is None:
            self.expect(0, (), "a stream of events that ends by itself")
        numbers = [event.number for event in answer.event]
        if numbers != sorted(set(numbers)) or (numbers and answer.next <= numbers[-1]):
            raise Wrong(f"events {numbers}, and then {answer.next}")
        seen = {event.model for event in answer.event}
        for slot, (uid, model) in hidden:
            if model and model in seen and self.strange(uid) and self.board.shown(slot) == (uid, model):
                raise Wrong(f"an event of model {model}, which is user {uid}'s")
        how = self.rng.randrange(3)
        if how != 0:
            ends.set()
        if how == 1:
            watch.cancel()
        self.board.count(self.slot, "watched")

    def do_nonsense(self) -> None:
        self.expect(self.client.start(9), (HANDLE,), "start of no model")
        self.expect(self.client.unload(9), (HANDLE,), "unload of no model")
        answer = self.client.load(bytes(self.rng.randrange(1, 5000)), 0, self.session_id)
        if answer.status.code == OK:
            raise Wrong("zeros are taken for a model")

    # ---- other users' models and groups

    def do_share(self) -> None:
        """Shares one of its groups for others to infer on."""
        if self.groups:
            eg = self.rng.choice(self.groups)
            self.board.show(self.slot, self.plan.uid, 0)
            self.shared.add(eg)
            for entry in self.loaded:
                entry.cancelled |= entry.eg == eg
            self.expect(self.client.ext("share_eg", eg=eg, sharing=nrtx.SHARE_INFER).status.code, (OK,), "share_eg")

    def strange(self, uid: int) -> bool:
        return uid != self.plan.uid and self.plan.uid not in (0, self.board.ruler)

    def do_control(self) -> None:
        """Calls on another user's group that is shared for inference at most: refused, or the group is gone."""
        egs = [eg.eg for eg in self.client.ext("list_owners").eg if self.strange(eg.owner.uid)]
        if egs:
            eg = self.rng.choice(egs)
            model = self.rng.choice(self.models)
            codes = (self.client.ext("share_eg", eg=eg, sharing=nrtx.SHARE_ALL).status.code, self.client.destroy(eg),
                     self.client.load(model.neff, eg, self.session_id).status.code)
            for code in codes:
                self.expect(code, (HANDLE,), f"control of user's group {eg}, which is another's")
            self.board.count(self.slot, "forbidden")

    def do_trespass(self) -> None:
        """Calls on a model that another user never shares."""
        slot = self.rng.randrange(self.board.slots)
        uid, model = self.board.shown(slot)
        if not model or not self.strange(uid):
            return
        request = infer_request(model, [])
        codes = [self.client.stop(model), self.client.unload(model), self.client.start(model),
                 self.client.ext("describe_model", id=model).status.code,
                 *(self.client.call(name, request).status.code for name in ("infer", "infer_post"))]
        if self.board.shown(slot) == (uid, model):
            for code in codes:
                self.expect(code, (HANDLE,), f"model {model}, which is user {uid}'s")
            self.board.count(self.slot, "forbidden")

    def do_visit(self) -> None:
        """A model that another user shares to infer on; it may go at any time, or be full, stopped or a bad one."""
        entries = [m for m in self.client.ext("list_models").model
                   if self.strange(m.owner.uid) and not m.name.endswith(ENDLESS)]
        if entries:
            entry = self.rng.choice(entries)
            self.expect(self.client.stop(entry.id), (HANDLE,), "stop of a model that is shared to infer on")
            ios = self.client.zeros(entry.id)  # none, if it is gone
            code = self.client.call("infer", infer_request(entry.id, ios)).status.code
            allowed = {code for model in self.models for code in model.codes}
            self.expect(code, (*allowed, INVALID, HANDLE, FULL, FAILED, CANCELLED), "infer on a shared model")
            self.board.count(self.slot, "refused" if code else "visited")

    # ---- its life

    def settle(self, entry: Loaded) -> None:
        """Waits until none of its inferences is in progress."""
        calls, entry.calls = entry.calls, []
        for call, case in calls:
            self.check(entry, case, call.result())
        for cookie in list(entry.cookies):
            self.collect(entry, cookie, "infer_wait")

    WEIGHTS = {"load": 4, "start_or_stop": 2, "infer": 8, "infer_shm": 4, "post": 8, "collect": 7, "completion": 1,
               "call": 5, "cancel": 2, "cancel_wait": 1, "abandon_upload": 1, "unload": 2, "destroy": 1, "look": 2,
               "profile": 1, "watch": 1, "nonsense": 1, "share": 1, "control": 1, "trespass": 2, "visit": 2}

    def live(self) -> None:
        names, weights = list(self.WEIGHTS), list(self.WEIGHTS.values())
        self.begin()
        while not self.board.quiet():
            name = self.rng.choices(names, weights)[0] if self.loaded or self.rng.random() < 0.3 else "load"
            getattr(self, f"do_{name}")()
            self.board.count(self.slot, "operations")
        if self.rng.random() < 0.5:
            return  # as one that forgets everything
        for entry in list(self.loaded):
            self.settle(entry)
            self.unload(entry)
        for eg in self.groups:
            self.expect(self.client.destroy(eg), (OK,), "destroy_eg")
        if self.session:
            self.session.half_close()
        self.client.close()


def unmap(endpoint: str, uid: int, paths: list[str]) -> str:
    """Runs as the user whose clients left this shared memory; returns an error text or nothing."""
    become(uid)
    user = Client(types.SimpleNamespace(endpoint=endpoint))
    codes = [user.call("shm_unmap", nrt.shm_unmap_request(path=path, mmap_prot=3)).status.code for path in paths]
    return f"shm_unmap: codes {codes}" if any(codes) else ""


def run(endpoint: str, models: list[Model], board: Board, slot: int, plan: Plan) -> str:
    """Returns an error text or nothing."""
    user = User(endpoint, models, board, slot, plan)
    try:
        user.live()
    except Restarted:
        pass
    except grpc.RpcError as error:
        if board.life() == user.life:
            return f"a call came to nothing: {error}"
    except (Wrong, StopIteration) as error:
        return repr(error)
    return ""
