#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Every code of the enum nerr as a client has_code it, as TAP: chips with injected faults, a NEFF of a later version, a queue
that is full. What the page says of each is beside it, and the page has a line for each of the enum."""

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import (ROOT, Client, Daemon, Module, Shm, compile_hlo, config, hand_made, infer_request, inline, nrt,
                     posted_and_awaited, sum_and_product, tap)

A = np.ones((4, 32), np.float32)
met: set[int] = set()


def has_code(status: Any, code: int, fragment: str, name: str) -> None:
    details = status.details.decode()
    met.add(status.code)
    tap.ok(status.code == code and fragment in details, f"{name}: {nrt.nerr.Name(code)}",
           f"code {status.code}, expected {fragment!r} in\n{details}")


def infer(client: Client, model: int) -> Any:
    return client.call("infer", infer_request(model, inline(input0=A, input1=A))).status


def faulty(neff: bytes, faults: str) -> tuple[Daemon, Client, int]:
    daemon = Daemon(NEURON_EMU_FAULTS=faults, NEURON_RT_RESET_CORES="0")
    client = Client(daemon)
    return daemon, client, client.ready_model(neff, timeout=1)


def of_faults(neff: bytes) -> None:
    for faults, code, fragment, name in (
            ("nd0:dram-ecc-uncorrected=1", nrt.NERR_HW_ERROR, "uncorrectable", "an uncorrectable error of DRAM"),
            ("nd0:sram-ecc-uncorrected=1:core=0", nrt.NERR_HW_ERROR, "uncorrectable", "an uncorrectable error of SBUF"),
            ("nd0:nq-overflow=1:core=0", nrt.NERR_INFER_COMPLETED_WITH_ERR, "overflow", "a notification that is lost"),
            ("nd0:engine-hang=1:core=0", nrt.NERR_TIMEOUT, "timeout", "an engine that hangs")):
        daemon, client, model = faulty(neff, faults)
        has_code(infer(client, model), code, fragment, name)
        has_code(infer(client, model), nrt.NERR_OK, "", "and the next one")
        client.close()
        daemon.kill()


def failed_state(neff: bytes) -> None:
    """An engine hangs, and then the core cannot be reset."""
    daemon, client, model = faulty(neff, "nd0:engine-hang=1:core=0 nd0:reset-hang=always")
    has_code(infer(client, model), nrt.NERR_TIMEOUT, "timeout", "an engine hangs")
    has_code(infer(client, model), nrt.NERR_HW_ERROR, "needs a reset", "its core cannot be reset")
    has_code(infer(client, model), nrt.NERR_FAILED_STATE, f"model {model} was stopped after an error, 6",
          "and the model is stopped for good")
    answer = client.call("start", nrt.start_request(h_nn=nrt.h_nn(id=model)))
    has_code(answer.status, nrt.NERR_FAILED_STATE, f"{model}", "start of it")
    client.close()
    daemon.kill()


def of_requests(neff: bytes) -> None:
    daemon = Daemon(*config("codes", '{"shmem_enabled": false}'))
    client = Client(daemon)
    shm = Shm(16)
    has_code(client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=3)).status, nrt.NERR_FAIL,
          "switched off", "shared memory by a daemon without")
    later = bytearray(neff)
    struct.pack_into("<Q", later, 24, 99)
    has_code(client.load(bytes(later)).status, nrt.NERR_UNSUPPORTED_VERSION,
          "NEFF version mismatch supported", "a NEFF of version 99")
    has_code(client.load(b"no NEFF" * 400).status, nrt.NERR_INVALID, "", "what is no NEFF")
    has_code(client.create_eg(17).status, nrt.NERR_RESOURCE_NC, "17", "17 cores of 16")
    has_code(infer(client, 4711), nrt.NERR_INVALID_HANDLE, "4711", "an unknown model")
    model = client.ready_model(hand_made("hang"), ninfer=1, timeout=3600)
    cookie, waiting = posted_and_awaited(client, model)
    has_code(client.call("infer", infer_request(model, client.zeros(model))).status, nrt.NERR_QUEUE_FULL, "1 inferences",
          "one more than ninfer")
    client.stop(model)
    has_code(waiting.result().status, nrt.NERR_INFER_CANCELLED, "stopped", "a model is stopped meanwhile")
    client.start(model)
    cookie = client.call("infer_post", infer_request(model, client.zeros(model))).cookie
    has_code(client.call("infer_poll", nrt.infer_wait_request(cookie=cookie)).status, nrt.NERR_INFER_PENDING, str(cookie),
          "a poll too early")
    client.unload(model)
    model = client.ready_model(neff)
    has_code(client.call("infer", infer_request(model, inline(input0=A))).status, nrt.NERR_INFER_BAD_INPUT, "expected: 2",
          "an input is missing")
    client.close()
    daemon.stop()


def numerical() -> None:
    m = Module("logarithm")
    neff = compile_hlo(m.finish(m.add("log", [4, 32], m.parameter([4, 32]))), "logarithm")
    daemon = Daemon()
    client = Client(daemon)
    answer = client.call("infer", infer_request(client.ready_model(neff), inline(input0=-A)))
    has_code(answer.status, nrt.NERR_INFER_COMPLETED_WITH_NUM_ERR, "NUMERICAL", "NaN in an output")
    client.close()
    daemon.stop()


def memory(neff: bytes) -> None:
    daemon = Daemon(*config("little", '{"memory_limit": 1048576}'))
    client = Client(daemon)
    has_code(client.load(neff + bytes(2 << 20)).status, nrt.NERR_RESOURCE, "", "more than memory_limit")
    client.close()
    daemon.stop()


def page() -> None:
    text = (ROOT / "man/neuron-rtd.8").read_text()
    missing = [f"{v.number} {v.name}" for v in nrt.nerr.DESCRIPTOR.values if f".B {v.number} {v.name}\n" not in text]
    tap.equal(missing, [], "the page has all codes")
    tap.equal({v.number for v in nrt.nerr.DESCRIPTOR.values} - met, set(), "all codes were met")
    header = Path(ROOT / "runtime/rtd/error.h").read_text()
    tap.equal([v.name for v in nrt.nerr.DESCRIPTOR.values if f"\t{v.name} = {v.number},\n" not in header], [],
              "the daemon's own enum has the same numbers")


def main() -> int:
    neff = sum_and_product()
    of_faults(neff)
    failed_state(neff)
    of_requests(neff)
    numerical()
    memory(neff)
    page()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
