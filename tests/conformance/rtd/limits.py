#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What one user may hold of the daemon, as TAP: sessions, connections, shared memory, memory for uploads; others
go on beside it, and all of it comes back. The users are processes of other uids, so it takes root."""

import os
import resource
import sys

from harness import (NOBODY, SOMEBODY, WORK, Client, Daemon, Other, config, eventually, nrt, sum_and_product, tap)

OK, INVALID, INVALID_HANDLE, RESOURCE = 0, 2, 3, 4
EXHAUSTED, UNAVAILABLE = 8, 14  # gRPC's
SESSIONS, CONNECTIONS = 256, 256  # of one user; the page says so
DESCRIPTORS = 512  # of the small daemon
SHARE = (DESCRIPTORS - 128) // 8  # of a user, for connections and for files


def small_daemon() -> Daemon:
    limits = (DESCRIPTORS, DESCRIPTORS)
    return Daemon(popen={"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)})


def sessions(daemon: Daemon, root: Client) -> None:
    greedy, other = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    tap.equal(greedy("sessions", SESSIONS + 1), [EXHAUSTED, SESSIONS],
              "a user has 256 sessions, each with an id of its own; the next stream is refused")
    more = Other(daemon, NOBODY)
    tap.equal(more("session"), [EXHAUSTED, 0], "for another process of that user too")
    code, number = other("session")
    tap.ok(code == OK and number, "another user has one", (code, number))
    greedy.kill()
    tap.ok(eventually(lambda: more("session")[0] == OK), "the end of a process gives its sessions back")
    more.kill()
    other.kill()
    tap.ok(eventually(lambda: not root.call("list_egs").eg_info), "nothing is left")


def session_of_another(daemon: Daemon, root: Client, path: object) -> None:
    owner, thief = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    number = owner("session")[1]
    shm = f"/dev/shm/rtd-test-{os.getpid()}"
    with open(shm, "wb") as f:
        f.write(bytes(64))
    os.chmod(shm, 0o666)
    calls = [("eg", 1, number), ("load", path, 0, number), ("shm_map", shm[8:], 3, number)]
    tap.equal([thief(*call)[0] for call in calls], [INVALID_HANDLE] * 3, "another user's session is no session")
    tap.equal(len(root.call("list_egs").eg_info), 0, "and nothing is made in it")
    tap.equal([owner(*call)[0] for call in calls], [OK] * 3, "its owner's is")
    os.unlink(shm)
    tap.equal(len(root.call("list_egs").eg_info), 2, "in which two groups are made")
    untracked = owner("load", path, 0)[1]
    owner.kill()
    tap.ok(eventually(lambda: [m.id for m in root.ext("list_models").model] == [untracked]),
           "they end with it; what was made without a session stays")
    again = Other(daemon, NOBODY)
    tap.equal(again("zeros", untracked), [OK], "for its user")
    tap.equal((again("unload_all"), len(root.call("list_egs").eg_info)), ([OK], 0), "who takes it away")
    again.kill()
    thief.kill()


def connections() -> None:
    daemon = Daemon()
    free = len(daemon.fds())
    greedy = Other(daemon, NOBODY)
    tap.equal(greedy("connections", CONNECTIONS + 10), [-1, CONNECTIONS - 1], "a user has 256 connections")
    other = Other(daemon, SOMEBODY)
    tap.equal(other("models"), [OK, 0], "another user has one")
    greedy.kill()
    other.kill()
    tap.ok(eventually(lambda: len(daemon.fds()) <= free), "the end of a process closes them")
    again = Other(daemon, NOBODY)
    tap.equal(again("connections", CONNECTIONS + 10), [-1, CONNECTIONS - 1], "and gives them back")
    tap.equal(daemon.stop(), 0, "SIGTERM ends it with status 0")


def descriptors(path: object) -> None:
    """A daemon that may open few files."""
    daemon = small_daemon()
    greedy, other = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    tap.equal(greedy("regions", SHARE + 10), [RESOURCE, SHARE], "shared memory: an eighth of its descriptors a user")
    tap.equal(greedy("neff_file", path), [RESOURCE], "a NEFF by its path would be one more")
    tap.equal(greedy("connections", SHARE + 10), [-1, SHARE - 1], "connections: as many")
    tap.equal(other("regions", SHARE + 10), [RESOURCE, SHARE], "and another user as many again")
    root = Client(daemon)
    held = [Other(daemon, user) for user in (2, 3)]
    tap.equal([o("regions", SHARE)[1] for o in held], [SHARE] * 2, "two more fill what is for all")
    tap.equal([o("connections", SHARE)[1] for o in (other, *held)], [SHARE - 1] * 3, "in either way")
    tap.equal(Other(daemon, 4)("models"), [UNAVAILABLE, 0], "a fifth user is turned away")
    late = Client(daemon)
    tap.equal(late.call("shm_map", nrt.shm_map_request(path="/nothing", mmap_prot=3)).status.code, RESOURCE,
              "then there is none for anybody, but root still comes in")
    tap.equal(late.load(sum_and_product()).status.code, OK, "and loads a model")
    for o in (greedy, other, *held):
        o.kill()
    root.close()
    late.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends it with status 0")


def regions_given_back() -> None:
    daemon = small_daemon()
    user = Other(daemon, NOBODY)
    for _ in range(2):
        number = user("session")[1]
        shm = [f"/dev/shm/rtd-test-{os.getpid()}-{n}" for n in range(SHARE)]
        for path in shm:
            with open(path, "wb") as f:
                f.write(bytes(64))
            os.chmod(path, 0o666)
        codes = {user("shm_map", path[8:], 3, number)[0] for path in shm}
        unmapped = user("shm_unmap", shm[0][8:])[0]
        again = user("shm_map", shm[0][8:], 3, number)[0]
        tap.equal((codes, unmapped, again), ({OK}, OK, OK), "a share of regions, in a session; one is mapped again")
        for path in shm:
            os.unlink(path)
        tap.equal(user("end", number), [0], "the session's end gives them back")
    tap.equal(daemon.stop(), 0, "SIGTERM ends it with status 0")


def uploads() -> None:
    """An upload that is no NEFF is refused as such, if it fits. What of two streams comes too late for its room has
    none of it; the sizes are such that a probe is refused only when the other stream has all of its own."""
    limits = f'{{ "memory_limit": {84 << 20}, "user_memory_limit": {52 << 20} }}'
    daemon = Daemon(*config("uploads", limits))
    first, same, second, third = (Other(daemon, user) for user in (NOBODY, NOBODY, SOMEBODY, 2))
    tap.equal((first("upload", 50), first("upload", 56)), ([INVALID], [RESOURCE]), "a NEFF larger than a user's share")
    tap.ok(eventually(lambda: first("hold", 32) == [OK] and same("upload", 24) == [RESOURCE]),
           "what a user's other streams hold counts")
    tap.equal(second("upload", 24), [INVALID], "another user's upload fits")
    tap.ok(eventually(lambda: second("hold", 32) == [OK] and third("upload", 24) == [RESOURCE]),
           "until all together are over what there is")
    first.kill()
    tap.ok(eventually(lambda: third("upload", 24) == [INVALID]), "the end of a stream gives back what it held")
    tap.equal(daemon.stop(), 0, "SIGTERM ends it with status 0")


def main() -> int:
    if os.geteuid():
        tap.skip("clients of several users", "not root")
        return tap.done()
    path = WORK / "model.neff"
    path.write_bytes(sum_and_product())
    os.chmod(path, 0o644)
    os.chmod(WORK, 0o711)
    daemon = Daemon()
    root = Client(daemon)
    sessions(daemon, root)
    session_of_another(daemon, root, path)
    root.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    connections()
    descriptors(path)
    regions_given_back()
    uploads()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
