#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""NaN in an output: 1003 (NERR_INFER_COMPLETED_WITH_NUM_ERR) with the outputs, counted as such, as TAP. Whether there
is one, NumPy says of what was received. A NaN that reaches no output is not told of."""

import json
import os
import subprocess
import sys

import numpy as np

from harness import (WORK, Client, Daemon, Module, Shm, compile_hlo, config, in_shm, infer_request, inline, nrt, outputs, tap)

NUM_ERR = 1003
PRED, S32, BF16, F16 = 1, 4, 16, 10
ROWS, COLUMNS = 256, 40
DIMS = [ROWS, COLUMNS]


def model(name: str) -> bytes:
    m = Module(name)
    x = m.parameter(DIMS)

    def typed(kind: int, opcode: str, *operands: int, dims: list[int] | None = None, **fields: object) -> int:
        number = m.add(opcode, dims or DIMS, *operands, **fields)
        m.c.instructions[number - 1].shape.element_type = kind
        return number

    def zero() -> int:
        return m.add("broadcast", DIMS, m.constant(np.zeros((), np.float32)))

    if name == "log":
        return compile_hlo(m.finish(m.add("log", DIMS, x)), name)
    if name == "chosen":  # log x where x is positive, else 0: the logarithms that are not chosen are NaN
        positive = typed(PRED, "compare", x, zero(), comparison_direction="GT")
        return compile_hlo(m.finish(m.add("select", DIMS, positive, m.add("log", DIMS, x), zero())), name)
    if name == "integers":
        return compile_hlo(m.finish(typed(S32, "convert", m.add("log", DIMS, x))), name)
    if name == "narrow":
        return compile_hlo(m.finish(typed(BF16, "convert", m.add("log", DIMS, x)),
                                    typed(F16, "convert", m.add("sqrt", DIMS, x))), name)
    if name == "turned":
        turned = m.add("transpose", [COLUMNS, ROWS], m.add("log", DIMS, x), dimensions=[1, 0])
        return compile_hlo(m.finish(m.add("negate", DIMS, x), turned), name)
    w = m.parameter([COLUMNS, 8])
    number = m.add("dot", [ROWS, 8], x, w)
    numbers = m.c.instructions[number - 1].dot_dimension_numbers
    numbers.lhs_contracting_dimensions.append(1)
    numbers.rhs_contracting_dimensions.append(0)
    return compile_hlo(m.finish(number), name)


def as_floats(name: str, buf: bytes) -> np.ndarray:
    if name == "narrow0":
        return (np.frombuffer(buf, np.uint16).astype(np.uint32) << 16).view(np.float32)
    if name == "narrow1":
        return np.frombuffer(buf, np.float16)
    return np.frombuffer(buf, np.int32 if name.startswith("integers") else np.float32)


def has_nan(name: str, answer: object) -> bool:
    return any(np.isnan(as_floats(f"{name}{io.name[-1]}", io.buf)).any() for io in answer.ofmap)


def cases() -> list[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    plain = rng.uniform(0.5, 2, DIMS).astype(np.float32)
    found = [("none", plain)]
    for what, at in (("first", (0, 0)), ("last", (ROWS - 1, COLUMNS - 1)), ("middle", (131, 17))):
        one = plain.copy()
        one[at] = -1
        found.append((what, one))
    return found + [("all", -plain), ("infinities", np.where(plain > 1, np.inf, 0).astype(np.float32))]


def counts(client: Client) -> tuple[int, int, int]:
    counters = client.call("read_inference_counters").nmgr_counters
    by = {c.infer_status: c.count for c in counters.infer_status_counts}
    errors = {c.error_subtype: c.count for c in counters.infer_error_subtype_count}
    return by.get(nrt.IST_OK, 0), by.get(nrt.IST_COMPLETED_WITH_NUM_ERR, 0), errors.get(nrt.INFER_ERROR_SUBTYPE_NUMERICAL, 0)


def run(client: Client, name: str) -> None:
    loaded = client.ready_model(model(name))
    for what, x in cases():
        tensors = {"input0": x}
        if name == "product":
            tensors["input1"] = np.where(np.arange(COLUMNS * 8).reshape(COLUMNS, 8) % 5, 1, 0).astype(np.float32)
        before = counts(client)
        answer = client.call("infer", infer_request(loaded, inline(**tensors)))
        want = NUM_ERR if has_nan(name, answer) else 0
        tap.ok(answer.status.code == want and len(answer.ofmap) > 0, f"{name}, {what}: {want}",
               f"code {answer.status.code}, {len(answer.ofmap)} outputs\n{answer.status.details.decode()}")
        expected = {"log": what in ("first", "last", "middle", "all"), "chosen": False, "integers": False}
        if name in expected:
            tap.equal(want == NUM_ERR, expected[name], f"{name}, {what}: NaN as the expression has it")
        after = counts(client)
        step = (0, 1, 1) if want else (1, 0, 0)
        tap.equal(tuple(b - a for a, b in zip(before, after)), step, f"{name}, {what}: counted")
    client.unload(loaded)


def forms(client: Client) -> None:
    """The same by post and wait, in a stream, and into shared memory."""
    loaded = client.ready_model(model("log"))
    x = np.full(DIMS, -1, np.float32)
    request = infer_request(loaded, inline(input0=x))
    cookie = client.call("infer_post", request).cookie
    answer = client.call("infer_wait", nrt.infer_wait_request(cookie=cookie))
    details = answer.status.details.decode()
    tap.equal(answer.status.code, NUM_ERR, "infer_wait")
    tap.ok("Error notifications found on NC" in details and "INFER_ERROR_SUBTYPE_NUMERICAL" in details,
           "details have what users searched for", details)
    shm = Shm(x.nbytes)
    client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=3))
    answer = client.call("infer", infer_request(loaded, inline(input0=x), in_shm(output0=shm.path)))
    tap.equal(answer.status.code, NUM_ERR, "into shared memory")
    tap.ok(np.isnan(np.frombuffer(shm.map, np.float32)[:x.size]).all(), "the outputs are there")
    answer = client.call("infer", infer_request(loaded, inline(input0=-x)))
    tap.equal(answer.status.code, 0, "the next one is none the worse")
    tap.ok(not outputs(answer)["output0"].any(), "and is right")


def by_environment() -> None:
    """Without the daemon: libnrt tells where the environment says so."""
    np.save(WORK / "negative.npy", np.full(DIMS, -1, np.float32))
    model("log")
    for name, text, told in (("NEURON_FAIL_ON_NAN", "1", True), ("NEURON_FAIL_ON_NAN", "True", True), ("NEURON_FAIL_ON_NAN", "TRUE", True),
                             ("NEURON_FAIL_ON_NAN", "0", False), ("NEURON_FAIL_ON_NAN", "False", False), ("NEURON_FAIL_ON_NAN", "", False),
                             ("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY", "critical", True), ("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY", "none", False)):
        done = subprocess.run([os.environ["NEURON_BENCH"], "exec", "-n", "1", "-w", "none", "--device", "emu:inf1.xlarge", "--json", "--input",
                               f"input0={WORK / 'negative.npy'}", WORK / "log.neff"], capture_output=True, text=True, check=True,
                              env={**os.environ, name: text})
        tap.equal(json.loads(done.stdout)["num_errors"], int(told), f"{name}={text}")


def main() -> int:
    by_environment()
    daemon = Daemon()
    client = Client(daemon)
    for name in ("log", "chosen", "integers", "narrow", "turned", "product"):
        run(client, name)
    forms(client)
    client.close()
    tap.equal(daemon.stop(), 0, "the daemon ends well")
    daemon = Daemon(*config("quiet", '{"numerical_errors": false}'))
    client = Client(daemon)
    loaded = client.ready_model(model("log"))
    answer = client.call("infer", infer_request(loaded, inline(input0=np.full(DIMS, -1, np.float32))))
    tap.ok(answer.status.code == 0 and has_nan("log", answer), "numerical_errors false: NaN, and not told of")
    client.close()
    daemon.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
