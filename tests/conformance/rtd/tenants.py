#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What one user's clients may do with what another's made, as TAP: models and groups belong to the
user who made them, unless shared. The users are processes of other uids, so it takes root."""

import os
import socket
import sys
import types
from typing import Any

from harness import (NOBODY, SOMEBODY, WORK, Client, Daemon, Other, config, nrt, nrtx, sum_and_product, tap)

OK, INVALID, INVALID_HANDLE = 0, 2, 3
NONE, INFER, ALL = nrtx.SHARE_NONE, nrtx.SHARE_INFER, nrtx.SHARE_ALL


def codes(other: Other, *calls: tuple[Any, ...]) -> list[int]:
    return [other(*call)[0] for call in calls]


def control(path: object, model: int, eg: int) -> list[tuple[Any, ...]]:
    """All calls that control a model or a group. The last one ends both."""
    return [("seed", eg), ("stop", model), ("start", model), ("load", path, eg), ("unload", model), ("destroy", eg)]


def use(model: int) -> list[tuple[Any, ...]]:
    return [("zeros", model), ("post", model), ("describe", model)]


def owned(daemon: Daemon, root: Client, path: object) -> None:
    maker, other = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    eg = maker("eg", 1)[1]
    model = maker("load", path, eg)[1]
    tap.equal(codes(maker, ("start", model), *use(model)), [OK] * 4, "a user loads a model, starts and uses it")
    calls = control(path, model, eg) + use(model) + [("share", eg, ALL)]
    tap.equal(codes(other, *calls), [INVALID_HANDLE] * len(calls), "another user can neither control nor use it")
    tap.equal(other("describe", model)[1], 0, "nor learn what it is")
    tap.equal((other("models"), maker("models")), ([0, 0], [0, 1]), "nor is it listed for anyone but its maker")
    tap.equal((other("owners", NOBODY), maker("owners", NOBODY)), ([1, 0], [1, 1]), "of its group all learn the uid")
    tap.equal(len(root.ext("list_models").model), 1, "and root sees all")
    tap.equal(codes(other, ("unload_all",)), [OK], "another user's unload_all has nothing to do")
    tap.equal(codes(maker, *use(model)), [OK] * 3, "and takes nothing away")
    implicit = maker("load", path, 0)[1]
    tap.equal(codes(other, ("unload", implicit), ("zeros", implicit)), [INVALID_HANDLE] * 2,
              "so it is with a group that a load made")
    theirs = other("load", path, 0)[1]
    tap.equal(codes(maker, ("unload_all",)), [OK], "the maker's own unload_all")
    models = [m.id for m in root.ext("list_models").model]
    tap.equal((models, len(root.call("list_egs").eg_info)), ([theirs], 1), "takes what is its own, and no more")
    again = Other(daemon, SOMEBODY)
    tap.equal(codes(again, ("zeros", theirs), ("stop", theirs), ("unload", theirs)), [OK] * 3,
              "another process of the same user may")


def rules(daemon: Daemon, root: Client, path: object) -> None:
    maker = Other(daemon, NOBODY)
    eg = maker("eg", 1)[1]
    model = maker("load", path, eg)[1]
    tap.equal([root.start(model), root.stop(model), root.unload(model), root.destroy(eg)], [OK] * 4,
              "root may do everything with a user's models and groups")
    maker("load", path, 0)
    tap.equal(root.call("unload_all").code, OK, "and its unload_all")
    tap.equal(len(root.call("list_egs").eg_info), 0, "leaves nothing of any user")
    of_root = root.ready_model(path.read_bytes())
    tap.equal(codes(maker, *use(of_root), ("unload", of_root)), [INVALID_HANDLE] * 4, "root's are root's alone")
    root.call("unload_all")


def shared(daemon: Daemon, path: object) -> None:
    maker, other = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    eg = maker("eg", 1)[1]
    model = maker("load", path, eg)[1]
    maker("start", model)
    tap.equal(codes(maker, ("share", eg, INFER)), [OK], "a maker shares a group for inference")
    tap.equal(codes(other, *use(model)) + other("models"), [OK] * 3 + [0, 1], "then others use it and see it")
    tap.equal(codes(other, *control(path, model, eg)), [INVALID_HANDLE] * 6, "and do not control it")
    tap.equal(codes(maker, ("adjust",)), [INVALID], "what is for all, ordinary users do not set")
    tap.equal(codes(maker, ("share", eg, ALL)), [OK], "a maker shares a group for everything")
    second = other("load", path, eg)
    tap.equal((second[0], codes(other, ("stop", model), ("start", second[1]))), (OK, [OK, OK]),
              "then another user loads into it and switches models")
    tap.equal(codes(other, ("share", eg, ALL)), [INVALID_HANDLE], "sharing stays the maker's word")
    tap.equal(codes(maker, ("share", eg, NONE)), [OK], "which can be taken back")
    tap.equal(codes(other, *use(model), ("unload", model)), [INVALID_HANDLE] * 4, "with all that it allowed")
    tap.equal(codes(other, ("stop", second[1])), [OK], "who loaded a model into it keeps that")
    tap.equal(codes(maker, ("unload", second[1])), [OK], "and the group's maker may empty it")
    maker("share", eg, ALL)
    third = other("load", path, eg)[1]
    maker("share", eg, NONE)
    tap.equal(codes(other, ("unload_all",), ("unload", third)) + maker("models"), [OK, INVALID_HANDLE, OK, 1],
              "another user's unload_all takes its models out of the group, and leaves the maker's")
    tap.equal(codes(maker, ("share", eg, 3), ("share", 4711, ALL)), [INVALID, INVALID_HANDLE],
              "no such sharing, no such group")
    maker("load", path, eg)
    tap.equal(codes(maker, ("share", eg, ALL), ("unload_all",)), [OK, OK], "the group goes")


def by_default(name: str, path: object) -> None:
    """The configured sharing, for groups whose makers set none."""
    daemon = Daemon(*config(name, f'{{ "sharing": "{name}" }}'))
    maker, other = Other(daemon, NOBODY), Other(daemon, SOMEBODY)
    eg = maker("eg", 1)[1]
    model = maker("load", path, eg)[1]
    maker("start", model)
    tap.equal(codes(other, *use(model)), [INVALID_HANDLE if name == "none" else OK] * 3, f"sharing {name}: use")
    tap.equal(codes(other, ("stop", model)), [OK if name == "all" else INVALID_HANDLE], f"sharing {name}: control")
    tap.equal(daemon.stop(), 0, "SIGTERM: status 0")


def over_tcp(path: object) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"
    daemon = Daemon("-g", endpoint)
    far, further = (Client(types.SimpleNamespace(endpoint=endpoint)) for _ in range(2))
    near, root = Other(daemon, NOBODY), Client(daemon)
    model = root.ready_model(path.read_bytes())
    answer = far.call("stop", nrt.stop_request(h_nn=nrt.h_nn(id=model)))
    tap.ok(answer.status.code == INVALID_HANDLE and b"another user, uid 0, who alone controls it" in
           answer.status.details, "a client over TCP is no local user, and is told whose it is", answer)
    model = near("load", path, 0)[1]
    tap.equal((far.unload(model), near("zeros", model)), (INVALID_HANDLE, [OK]), "nor is it any other of them")
    model = far.ready_model(path.read_bytes())
    tap.equal(codes(near, ("zeros", model), ("unload", model)), [INVALID_HANDLE] * 2, "what it made is not theirs")
    tap.equal((further.stop(model), root.unload(model)), (OK, OK), "all clients over TCP are one user; root rules it")
    for client in (far, further, root):
        client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM: status 0")


def own_user(path: object) -> None:
    """A daemon that does not run as root: its own user has root's rights in it."""
    os.chmod(WORK, 0o777)
    try:
        daemon = Daemon(popen={"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []})
    except PermissionError:
        tap.skip("a daemon of an ordinary user", "that user cannot reach the program")
        return
    own, other = Other(daemon, SOMEBODY), Other(daemon, NOBODY)
    # such a daemon opens no file for another user; the model is the daemon's user's, in the other's group
    eg = other("eg", 1)[1]
    tap.equal(codes(own, ("load", path, eg), ("share", eg, INFER), ("unload_all",)), [OK] * 3,
              "the daemon's own user may do everything")
    tap.equal(codes(other, ("destroy", eg)), [INVALID_HANDLE], "and has done it")
    root = Client(daemon)
    tap.equal(root.destroy(other("eg", 1)[1]), OK, "root is root to such a daemon too")
    root.close()
    tap.equal(daemon.stop(), 0, "SIGTERM: status 0")


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
    owned(daemon, root, path)
    rules(daemon, root, path)
    shared(daemon, path)
    root.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    for name in ("none", "infer", "all"):
        by_default(name, path)
    over_tcp(path)
    own_user(path)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
