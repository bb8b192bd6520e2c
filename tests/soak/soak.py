#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A soak of the daemon: chips in its process, sanitizers on, and clients of several users that load, infer,
cancel and die at random, while the daemon is ended, killed and started again. Reports as TAP.

usage: soak.py --build DIR [--time SECONDS] [--seed N] [--clients N]

Time goes by in rounds. At the end of a round the clients end, some without a word; then nothing of theirs may be
left: groups, models, shared memory, descriptors, threads, and the memory is what it was. In every other round all
clients have sessions, and what they leave goes by itself; in the others what has no session is unloaded by root.
The same seed gives the same clients; in which order the daemon hears of them is the scheduler's affair.
"""

import argparse
import contextlib
import dataclasses
import os
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance" / "rtd"))

ROUND_SECONDS = 15.0  # of work; quiet points between
RESTARTS = 0.25  # of the rounds have one in their middle; the second always has
END_SECONDS = 120.0  # until a client must have ended: a sanitized daemon on a loaded machine
SHARED = re.compile(r"/dev/shm/aws_neuron_runtime_test-(\d+)-")
USERS = (0, 65534, 1201, 1202)
# The growth that is allowed to the daemon's memory: to 16 cores' SBUF and PSUM, of which a page stays that was ever written, and
# as much again for DRAM and the sanitizers. The same work over again adds nothing but what these keep for a while.
GROWTH, AGAIN, TIMES = 832 << 20, 32 << 20, 6
SANITIZERS = {"ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=8", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


@dataclasses.dataclass
class Level:
    """The resources that the daemon holds when nobody uses it."""

    descriptors: int
    shared: int
    threads: int  # the daemon's own: gRPC, which names its, makes one more whenever it has much to do
    memory: int

    @staticmethod
    def of(daemon: "Daemon") -> "Level":
        status = dict(line.split(":", 1) for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines())
        names = daemon.fds()
        tasks = Path(f"/proc/{daemon.process.pid}/task").glob("*/comm")
        return Level(len(names), sum(name.startswith("/dev/shm/aws") for name in names),
                     own(tasks, status["Name"].strip()), int(status["VmRSS"].split()[0]) << 10)


def own(tasks: Iterable[Path], name: str) -> int:
    count = 0
    for task in tasks:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            count += task.read_text().strip() == name
    return count


class Soak:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.rng = random.Random(arguments.seed)
        self.end = time.monotonic() + arguments.time
        self.slots: list[int] = [0] * arguments.clients  # process of each
        self.lasting = [False] * arguments.clients  # what a client without a session has outlives it
        self.untracked: dict[int, int] = {}  # users of clients without a session, by process
        self.board = Board(arguments.clients)
        self.models = models.make(arguments.seed)
        self.report = WORK / "wrong"
        self.report.touch(0o666)
        os.chmod(self.report, 0o666)
        os.chmod(WORK, 0o711)
        self.options = config("soak", '{ "model_cache_count": 4 }')  # fewer than there are models
        self.daemon = Daemon(*self.options, **SANITIZERS)
        self.endpoint, self.base = self.daemon.endpoint, None
        self.kills = self.terms = self.rounds = 0
        self.peak = 0

    # ---- clients

    def fork(self, work) -> int:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        said = "died of an exception"
        try:
            said = work()
        except BaseException:  # it must not become a second parent
            said = traceback.format_exc()
        if said:
            with open(self.report, "a", encoding="utf-8") as report:
                report.write(f"process {os.getpid()}, user {os.geteuid()}: {said}\n")
        os._exit(1 if said else 0)

    def spawn(self, slot: int, sessions: bool) -> None:
        plan = client.Plan(self.rng.choice(USERS if os.geteuid() == 0 else (os.geteuid(),)),
                           sessions or self.rng.random() < 0.5, self.rng.getrandbits(64))

        def work() -> str:
            client.become(plan.uid)
            return client.run(self.endpoint, self.models, self.board, slot, plan)

        self.slots[slot] = self.fork(work)
        self.lasting[slot] = not plan.session
        if not plan.session:
            self.untracked[self.slots[slot]] = plan.uid

    def reap(self) -> list[int]:
        """Slots whose clients have ended."""
        free = []
        for slot, pid in enumerate(self.slots):
            if pid and os.waitpid(pid, os.WNOHANG)[0]:
                self.forget(slot)
                free.append(slot)
        return free

    def forget(self, slot: int) -> None:
        for name in Path("/dev/shm").glob(f"aws_neuron_runtime_test-{self.slots[slot]}-*"):
            name.unlink(missing_ok=True)  # of one that was killed before it took the name away
        self.slots[slot] = 0
        self.board.show(slot, 0, 0)

    def kill(self, slot: int) -> None:
        os.kill(self.slots[slot], signal.SIGKILL)
        os.waitpid(self.slots[slot], 0)
        self.forget(slot)
        self.kills += 1

    def kill_one(self) -> None:
        """Kills a client now and then; seldom one without a session, because its cores stay taken."""
        living = [slot for slot, pid in enumerate(self.slots) if pid]
        if living and self.rng.random() < 0.4:
            slot = self.rng.choice(living)
            if not self.lasting[slot] or self.rng.random() < 0.05:
                self.kill(slot)

    def all_end(self) -> bool:
        """True if all clients end soon; those that do not are killed."""
        deadline = time.monotonic() + END_SECONDS
        while any(self.slots) and time.monotonic() < deadline:
            self.reap()
            time.sleep(0.02)
        hanging = [slot for slot, pid in enumerate(self.slots) if pid]
        for slot in hanging:
            self.kill(slot)
        return not hanging

    # ---- the daemon

    def restart(self) -> None:
        """Ends the daemon by SIGTERM or SIGKILL while clients use it."""
        self.board.next_life()
        path = self.daemon.path
        if hard := self.rng.random() < 0.3:
            self.daemon.kill()
        else:
            self.terms += 1
            tap.equal(self.daemon.stop(), 0, f"round {self.rounds}: SIGTERM in the middle of work: status 0")
        tap.ok(self.all_end(), f"round {self.rounds}: its clients come back from their calls")
        if hard:
            os.link(path, f"{path}.{self.board.life()}")  # its inode, by which the next one's is known, is not used again
        self.daemon = Daemon(*self.options, socket=path, **SANITIZERS)
        self.base = None

    def empty(self, reset: bool) -> str:
        """Runs in a process of its own: waits until nothing is left, after a reset or without; returns the rest."""
        user = Client(self.daemon)
        if reset:
            code = user.call("unload_all").code
            if code:
                return f"unload_all: code {code}"

        def left() -> str:
            groups = [e.eg.id for e in user.call("list_egs").eg_info]
            loaded = [m.id for m in user.ext("list_models").model]
            return f"groups {groups}, models {loaded}" if groups or loaded else ""

        eventually(lambda: not left())
        return left()

    def unmap_left(self) -> None:
        """Shared memory of clients without a session, which is not tracked: only its user can take it back."""
        left: dict[int, list[str]] = {}
        for name in self.daemon.fds():
            if (match := SHARED.match(name)) and int(match[1]) in self.untracked:
                left.setdefault(self.untracked[int(match[1])], []).append(name.removeprefix("/dev/shm").split()[0])
        for uid, paths in left.items():
            self.alone(lambda uid=uid, paths=paths: client.unmap(self.endpoint, uid, paths),
                       f"round {self.rounds}: user {uid} unmaps {len(paths)} regions of processes without a session")

    def warm(self) -> str:
        """Uses every model once, so that everything the daemon makes on demand exists."""
        user = client.User(self.endpoint, self.models, self.board, 0, client.Plan(0, True, 1))
        user.begin()
        for model in self.models:
            loaded = user.client.load(model.neff, 0, user.session_id, 2, model.timeout)
            if loaded.status.code:
                return f"{model.name}: {loaded.status.details.decode()}"
            entry = client.Loaded(model, loaded.h_nn.id, 0, True, 2, model.codes)
            for case in range(max(1, len(model.cases))):
                request = infer_request(entry.id, user.given(entry, case))
                user.check(entry, case, user.client.call("infer", request))
            user.client.unload(entry.id)
        user.session.half_close()
        return ""

    def alone(self, work, name: str) -> bool:
        """Runs in a process of its own, because one that has used gRPC cannot be forked."""
        pid = self.fork(work)
        return tap.ok(os.waitpid(pid, 0)[1] == 0, name, self.report.read_text()[-2000:])

    # ---- rounds

    def back(self, level: Level) -> bool:
        """Waits until everything but memory is as it was; memory is checked after that."""
        now = Level.of(self.daemon)
        return now.descriptors <= level.descriptors and not now.shared and now.threads <= level.threads

    def quiet_point(self, reset: bool) -> None:
        name = f"round {self.rounds}"
        self.board.set_quiet(True)
        tap.ok(self.all_end(), f"{name}: all clients end")
        self.board.set_quiet(False)
        self.alone(lambda: self.empty(reset), f"{name}: no group and no model is left")
        self.alone(self.warm, f"{name}: the next client gets right answers")
        if reset:
            self.unmap_left()
        if self.base is None:
            return
        tap.ok(eventually(lambda: self.back(self.base)), f"{name}: nor descriptors, shared memory, threads",
               f"{Level.of(self.daemon)}, was {self.base}\n" + "\n".join(sorted(self.daemon.fds())))
        level = Level.of(self.daemon)
        self.peak = max(self.peak, level.memory - self.base.memory)
        tap.ok(level.memory <= self.base.memory + GROWTH,
               f"{name}: {level.memory >> 20} MiB resident, {self.base.memory >> 20} at first")

    def round(self) -> None:
        self.rounds += 1
        sessions = self.rounds % 2 == 1
        if self.base is None:
            self.alone(self.warm, f"round {self.rounds}: every model is right in a new daemon")
            self.base = Level.of(self.daemon)
        stop = min(time.monotonic() + ROUND_SECONDS, self.end)
        restarts = self.rounds == 2 or self.rng.random() < RESTARTS
        restart = time.monotonic() + ROUND_SECONDS / 2 if restarts else 0.0
        for slot in range(len(self.slots)):
            self.spawn(slot, sessions)
        while (now := time.monotonic()) < stop:
            time.sleep(self.rng.uniform(0.01, 0.5))
            self.kill_one()
            if not self.daemon.alive() or self.report.stat().st_size:
                break
            if restart and now > restart:
                self.restart()
                restart = 0.0
            self.reap()
            for slot in [s for s, pid in enumerate(self.slots) if not pid]:
                self.spawn(slot, sessions)
        self.quiet_point(not sessions)
        tap.ok(not self.report.stat().st_size, f"round {self.rounds}: every answer was right", self.wrong())

    def wrong(self) -> str:
        """Faults that clients reported, and this daemon's log about the models in them."""
        said = self.report.read_text()
        models = set(re.findall(r"model (\d+)", said))
        lines = Path(self.daemon.log.name).read_text(errors="replace").splitlines() if models else []
        return "\n".join([said, *(line for line in lines if line.startswith(f"nrtd[{self.daemon.process.pid}]") and
                                  models & set(re.findall(r"\d+", line)))])

    def steady(self) -> None:
        """Does the same over and over, so that whatever stays behind each time shows."""
        levels = []
        for _ in range(TIMES):
            self.alone(self.warm, "every model is right in the end")
            levels.append(Level.of(self.daemon).memory)
        tap.ok(levels[-1] <= levels[0] + AGAIN, f"{TIMES} times: {[level >> 20 for level in levels]} MiB resident", levels)

    def run(self) -> None:
        while time.monotonic() < self.end and self.daemon.alive() and not tap.failed:
            self.round()
            said = ", ".join(f"{value} {name}" for name, value in self.board.totals().items())
            print(f"# {said}, {self.kills} clients killed", flush=True)
        if tap.ok(self.daemon.alive(), "the daemon lives", self.daemon.tail()):
            self.steady()
            tap.equal(self.daemon.stop(), 0, "SIGTERM: status 0, nothing for the sanitizers to say")
        if tap.failed:
            print("# " + self.daemon.tail().replace("\n", "\n# "))
        totals = self.board.totals()
        seen = (totals["right"], totals["loaded"], totals["profiled"], totals["watched"], self.kills,
                totals["forbidden"] or os.geteuid())
        tap.ok(all(seen), "there was something to see", totals)
        print(f"# {self.rounds} rounds, {self.board.life() + 1} daemons, {self.peak >> 20} MiB of growth at most")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--time", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--clients", type=int, default=6)
    arguments = parser.parse_args()
    print(f"# seed {arguments.seed}: --seed {arguments.seed}", flush=True)
    build = arguments.build.resolve()
    os.environ |= {"NEURON_RTD": str(build / "runtime/rtd/neuron-rtd"), "NEURONX_CC": str(build / "tools/neuronx-cc/neuronx-cc"),
                   "TESTMODEL_WRITE": str(build / "tests/unit/neff/testmodel_write")}
    load_modules()
    soak = Soak(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        soak.run()
    return tap.done()


def load_modules() -> None:
    """Set-up that needs the environment; no gRPC channel is made in this process, because it forks."""
    global client, models, Board, Client, Daemon, WORK, config, eventually, infer_request, nrt, tap
    import client
    import models
    from board import Board
    from harness import WORK, Client, Daemon, config, eventually, infer_request, nrt, tap


if __name__ == "__main__":
    sys.exit(main())
