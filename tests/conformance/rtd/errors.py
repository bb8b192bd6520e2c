#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What the daemon answers to wrong calls, as TAP: gRPC OK, the NERR code, details that say what was
refused. Codes and meanings are the public ones."""

import random
import sys

import grpc
import numpy as np

from harness import (CALL_SECONDS, INVALID_HANDLE, WORK, Client, Daemon, hand_made, inline, infer_request,
                     load_sequence, nrt, outputs, methods, posted_and_awaited, sum_and_product, tap)

INVALID, QUEUE_FULL, RESOURCE_NC, UNSUPPORTED = 2, 7, 9, 10
PENDING, CANCELLED, BAD_INPUT = 1000, 1001, 1002
METHODS = methods()
A = np.ones((4, 32), np.float32)


def refused(status: object, code: int, fragment: str, name: str) -> None:
    details = status.details.decode()
    lines = details.split("\n")
    form = all(line.startswith("[") and ":" in line.split("]")[0] for line in lines)
    tap.ok(status.code == code and fragment in details and form and lines[-1].startswith("[NRTD:"), name,
           f"code {status.code}, expected {code}; expected {fragment!r} in\n{details}")


def handles(client: Client) -> None:
    for name in ("start", "stop", "unload"):
        request = getattr(nrt, f"{name}_request")(h_nn=nrt.h_nn(id=4711))
        refused(client.call(name, request).status, INVALID_HANDLE, "Failed to find model: 4711", f"{name}: no such model")
    destroyed = client.call("destroy_eg", nrt.destroy_eg_request(h_eg=nrt.h_eg(id=4711)))
    refused(destroyed.status, INVALID_HANDLE, "4711", "destroy_eg: no such group")
    refused(client.call("destroy_eg", nrt.destroy_eg_request()).status, INVALID_HANDLE, "", "destroy_eg without a group")
    refused(client.call("infer", infer_request(4711, [])).status, INVALID_HANDLE, "Failed to find model: 4711",
            "infer: no such model")
    waited = client.call("infer_wait", nrt.infer_wait_request(cookie=12345))
    refused(waited.status, INVALID_HANDLE, "12345", "infer_wait: no such cookie")
    refused(client.create_eg(1, 777).status, INVALID_HANDLE, "777", "create_eg: no such session")
    unmapped = client.call("shm_unmap", nrt.shm_unmap_request(path="/nothing", mmap_prot=3))
    refused(unmapped.status, INVALID_HANDLE, "/nothing", "shm_unmap: not mapped")


def cores(client: Client) -> None:
    refused(client.create_eg(17).status, RESOURCE_NC,
            "Requested number of NCs: 17 exceeds the total available number: 16", "17 cores of 16")
    half = client.eg(8)
    refused(client.create_eg(9).status, RESOURCE_NC, "Not enough free NCs to allocate 9 members group",
            "9 cores when 8 are free")
    rest = client.create_eg()
    tap.equal((rest.status.code, rest.nc_count), (0, 8), "no count: the largest free set")
    refused(client.create_eg(1).status, RESOURCE_NC, "Not enough free NCs", "no core is left")
    client.destroy(half)
    client.destroy(rest.h_eg.id)


def inputs(client: Client, neff: bytes) -> None:
    model = client.ready_model(neff)
    cases = [
        ("Wrong number of ifmaps, expected: 2, received: 1", "a missing input", {"input0": A}),
        ("[parameter.2 (input1)] must be given once, received: 0", "a wrong name", {"input0": A, "inputX": A}),
        ("Invalid data length for [input1], received 508, expected 512", "a wrong size",
         {"input0": A, "input1": A.ravel()[:127]}),
        ("Invalid data length for [input1], received 0, expected 512", "an empty input",
         {"input0": A, "input1": A[:0]}),
    ]
    for fragment, name, tensors in cases:
        answer = client.call("infer", infer_request(model, inline(**tensors)))
        refused(answer.status, BAD_INPUT, fragment, name)
        tap.equal(len(answer.ofmap), 0, f"{name}: no output")
    twice = inline(input0=A, input1=A) + inline(input1=A)
    refused(client.call("infer", infer_request(model, twice)).status, BAD_INPUT, "(input1)] must be given once, received: 2", "an input given twice")
    extra = client.call("infer", infer_request(model, inline(input0=A, input1=A, unused=A)))
    tap.equal(extra.status.code, 0, "an input that the program does not have is no error")
    empty = client.call("infer", infer_request(model, [nrt.infer_io(name="input0"), nrt.infer_io(name="input1")]))
    refused(empty.status, BAD_INPUT, "[input0]", "inputs without data")
    missing = [nrt.infer_io(name=n, buf_shm=nrt.shared_mem_buf(path="/nothing")) for n in ("input0", "input1")]
    refused(client.call("infer", infer_request(model, missing)).status, BAD_INPUT, "Shared memory [/nothing]",
            "shared memory that is not mapped")
    client.call("unload_all")


def states(client: Client, neff: bytes) -> None:
    request = inline(input0=A, input1=A)
    eg = client.eg(1)
    model = client.load(neff, eg, ninfer=2).h_nn.id
    refused(client.call("infer", infer_request(model, request)).status, INVALID_HANDLE, "not running",
            "infer on a standby model")
    destroyed = client.call("destroy_eg", nrt.destroy_eg_request(h_eg=nrt.h_eg(id=eg)))
    refused(destroyed.status, INVALID, "loaded models", "destroy_eg of a group with models")
    client.start(model)
    tap.equal(client.start(model), 0, "starting a running model changes nothing")
    posts = [client.call("infer_post", infer_request(model, request)) for _ in range(3)]
    tap.equal([p.status.code for p in posts[:2]], [0, 0], "two inferences with ninfer 2")
    refused(posts[2].status, QUEUE_FULL, "", "the third overflows the queue")
    answer = client.call("infer_wait", nrt.infer_wait_request(cookie=posts[0].cookie))
    tap.equal(answer.status.code, 0, "collecting one makes room")
    again = client.call("infer_post", infer_request(model, request))
    tap.equal(again.status.code, 0, "for another")
    client.stop(model)
    for cookie in (posts[1].cookie, again.cookie):
        waited = client.call("infer_wait", nrt.infer_wait_request(cookie=cookie))
        refused(waited.status, CANCELLED, "was stopped", "infer_wait after stop")
    refused(client.call("infer", infer_request(model, request)).status, INVALID_HANDLE, "not running",
            "infer after stop")
    client.start(model)
    tap.equal(client.call("infer", infer_request(model, request)).status.code, 0, "infer after a second start")
    tap.equal(client.unload(model), 0, "unload of a running model stops it first")
    tap.equal(client.destroy(eg), 0, "and its group can go")


def implicit(client: Client, neff: bytes) -> None:
    loaded = client.load(neff)
    egs = client.call("list_egs").eg_info
    tap.equal((loaded.status.code, [g.nc_count for g in egs]), (0, [1]), "a load without a group makes one")
    answer = client.call("infer", infer_request(loaded.h_nn.id, inline(input0=A, input1=A)))
    tap.equal(answer.status.code, 0, "and starts the model")
    refused(client.load(neff, egs[0].eg.id).status, INVALID_HANDLE, "", "such a group is exclusive")
    client.unload(loaded.h_nn.id)
    tap.equal(len(client.call("list_egs").eg_info), 0, "unload removes the group")
    client.eg(16)
    refused(client.load(neff).status, RESOURCE_NC, "Not enough free NCs", "no implicit group without free cores")
    client.call("unload_all")


def polling(client: Client, neff: bytes) -> None:
    model = client.ready_model(neff)
    posted = [client.call("infer_post", infer_request(model, inline(input0=A, input1=A))).cookie for _ in range(3)]
    codes = set()
    while True:
        polled = client.call("infer_poll", nrt.infer_wait_request(cookie=posted[0]))
        codes.add(polled.status.code)
        if polled.status.code != PENDING:
            break
    tap.ok(codes <= {PENDING, 0} and np.array_equal(outputs(polled)["output0"], 2 * A.ravel()),
           "infer_poll is pending until it is done", codes)
    complete: set[int] = set()
    while len(complete) < 2:
        complete |= set(client.call("infer_check_completion",
                                    nrt.infer_check_completion_request(cookie=posted)).cookie)
    tap.equal(complete, set(posted[1:]), "infer_check_completion names what is done and not collected")
    client.call("unload_all")


def waited_for(client: Client, never: bytes) -> None:
    model = client.ready_model(never, timeout=600)
    cookie, waiting = posted_and_awaited(client, model)
    tap.equal(client.call("infer_poll", cookie).status.code, INVALID_HANDLE,
              "a cookie that one call waits for is no other call's")
    refused(client.call("infer_wait", cookie).status, INVALID_HANDLE, "Failed to find inference", "which says so")
    client.stop(model)
    refused(waiting.result().status, CANCELLED, "was stopped", "who waits for it gets the answer")
    client.call("unload_all")


def streams(client: Client, neff: bytes) -> None:
    model = client.ready_model(neff)
    stream = client.channel.stream_stream("/nrt.nmgr_stream/infer_stream",
                                          request_serializer=lambda m: m.SerializeToString(),
                                          response_deserializer=nrt.infer_response.FromString)
    requests = [infer_request(model, inline(input0=A * i, input1=A)) for i in range(20)]
    requests.insert(5, infer_request(4711, []))
    answers = list(stream(iter(requests), timeout=CALL_SECONDS))
    tap.equal([a.status.code for a in answers], [0] * 5 + [INVALID_HANDLE] + [0] * 15, "infer_stream answers each")
    del answers[5]
    tap.ok(all(np.array_equal(outputs(a)["output1"], A.ravel() * i) for i, a in enumerate(answers)),
           "infer_stream answers in order")
    client.call("unload_all")


def load_order(client: Client, neff: bytes) -> None:
    eg = client.eg(1)
    good = list(load_sequence(neff, eg, ninfer=2))
    size, chunk = nrt.load_request(neff_size=len(neff)), nrt.load_request(neff_chunk=nrt.file_chunk(chunk=neff))
    handle = nrt.load_request(h_eg=nrt.h_eg(id=eg))
    zero = nrt.load_request(model_params=nrt.model_params(ninfer=nrt.u32(data=0)))
    many = nrt.load_request(model_params=nrt.model_params(ninfer=nrt.u32(data=1025)))
    cases = [
        ("nothing at all", [], "Wrong NEFF file size"),
        ("no chunk", [handle, size], "Wrong NEFF file size"),
        ("a chunk before the size", [handle, chunk, size], "before neff_size"),
        ("one byte too few", [handle, nrt.load_request(neff_size=len(neff) + 1), chunk], "Wrong NEFF file size"),
        ("one byte too many", [handle, nrt.load_request(neff_size=len(neff) - 1), chunk], "Wrong NEFF file size"),
        ("the size twice", [handle, size, size, chunk], "neff_size given twice"),
        ("the group after the NEFF", [size, chunk, handle], "h_eg after the NEFF"),
        ("an empty message", [handle, size, nrt.load_request(), chunk], "empty message"),
        ("a file after chunks", [handle, size, chunk, nrt.load_request(neff_file="/x")], "neff_file after"),
        ("an enormous size", [handle, nrt.load_request(neff_size=1 << 63), chunk], "expected 1 to"),
        ("size 0", [handle, nrt.load_request(neff_size=0)], "Wrong NEFF file size"),
        ("ninfer 0", [handle, size, zero, chunk], "ninfer 0"),
        ("ninfer 1025", [handle, size, many, chunk], "expected 1 to 1024"),
    ]
    for name, messages, fragment in cases:
        refused(client.load_messages(iter(messages)).status, INVALID, fragment, f"load: {name}")
    refused(client.load(neff, 4711).status, INVALID_HANDLE, "4711", "load: no such group")
    refused(client.load(neff, eg, session=99).status, INVALID_HANDLE, "99", "load: no such session")
    loaded = client.load_messages(iter(good))
    tap.equal(loaded.status.code, 0, "load: and the right order is accepted")
    client.load(neff, eg, timeout=1 << 31)
    tap.equal(client.ext("list_models").model[-1].timeout_ms, 3_600_000, "load: no timeout is longer than an hour")
    client.call("unload_all")


def broken_load(client: Client, neff: bytes) -> None:
    """After a whole NEFF comes a malformed message: nobody learns an id, so no model may stay."""
    load = client.channel.stream_unary("/nrt.nmgr_v1/load", request_serializer=lambda b: b,
                                       response_deserializer=lambda b: b)
    messages = [m.SerializeToString() for m in load_sequence(neff)]
    try:
        load(iter([*messages, b"\xff\xff\xff"]), timeout=CALL_SECONDS)
        code = None
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.INTERNAL, "a load that ends in a message that is no message: INTERNAL")
    tap.equal((len(client.ext("list_models").model), len(client.call("list_egs").eg_info)), (0, 0), "nothing is loaded")
    client.call("unload_all")


def small_group(client: Client, neff: bytes) -> None:
    """The header says how many cores a program takes, and its largest node."""
    two = bytearray(neff)
    two[168:172] = (2).to_bytes(4, "little")  # num_tpb
    two[480] = 2  # tpb_per_node[0]
    refused(client.load(bytes(two), client.eg(1)).status, RESOURCE_NC, "Insufficient number of VNCs: 1, required: 2",
            "a program of two cores in a group of one")
    client.call("unload_all")


def protections(client: Client) -> None:
    for prot in (0, 4, 7):
        answer = client.call("shm_map", nrt.shm_map_request(path="/nothing", mmap_prot=prot))
        refused(answer.status, INVALID, f"mmap_prot {prot}, expected 1, 2 or 3", f"shm_map with protection {prot}")


def no_huge_pages(client: Client) -> None:
    """A region of huge pages has to be in a file system of huge pages."""
    path = WORK / "plain"
    path.write_bytes(bytes(1 << 16))
    region = nrt.hugetlb_shm(path=str(path), size=1 << 16)
    refused(client.call("shm_map", nrt.shm_map_request(path_hugetlb=region, mmap_prot=3)).status, INVALID,
            f"Failed to open shared memory [{path}]", "a plain file is no region of huge pages")


def foreign_text(client: Client, neff: bytes) -> None:
    """A client's names reach other users' terminals and parsers only as printable ASCII."""
    name = b"\x1b[2J\xff\0"
    at = 220  # the header's name
    model = client.load(neff[:at] + name + neff[at + len(name):], client.eg(1))
    tap.equal(model.status.code, 0, "a NEFF with a hostile name in its header")
    tap.equal(client.ext("list_models").model[0].name, "?[2J?", "is listed by a printable one")
    client.call("unload_all")
    text = client.call("shm_map", nrt.shm_map_request(path="/\x1b[2J\u009b\ny/", mmap_prot=3)).status.details
    tap.ok(b"[2J" in text and not any(c in text for c in (b"\x1b", b"\xc2\x9b", b"\ny")), "details hold no controls",
           text)


def bad_neffs(client: Client, neff: bytes) -> None:
    eg = client.eg(1)
    newer = bytearray(neff)
    at = 24  # the header's major version
    newer[at:at + 8] = (99).to_bytes(8, "little")
    refused(client.load(bytes(newer), eg).status, UNSUPPORTED, "NEFF version mismatch", "a NEFF of version 99")
    for length in (1, 1023, 1024, len(neff) - 1):
        answer = client.load(neff[:length], eg)
        tap.ok(answer.status.code == INVALID and answer.status.details, f"a NEFF cut at {length} bytes", answer)
    rng = random.Random(7)
    codes = set()
    for _ in range(300):
        wrong = bytearray(neff)
        for _ in range(rng.choice((1, 2, 8, 64))):
            wrong[rng.randrange(len(wrong))] = rng.randrange(256)
        answer = client.load(bytes(wrong), eg, ninfer=1)
        codes.add(answer.status.code)
        if answer.h_nn.id:
            client.unload(answer.h_nn.id)
        elif not answer.status.details:
            tap.ok(False, "a refused NEFF has details", answer)
    tap.ok(codes <= {0, INVALID, 4, RESOURCE_NC, UNSUPPORTED} and INVALID in codes, "300 damaged NEFFs", codes)
    tap.equal(len(client.ext("list_models").model), 0, "nothing of them stays loaded")
    tap.equal(client.load(neff, eg).status.code, 0, "the group still takes a good one")
    client.call("unload_all")


def seeds(client: Client) -> None:
    """What was set is what is shown; what a seed does is in rounding.py, an adjustment does nothing."""
    eg = client.eg(1)
    refused(client.call("random_seed", nrt.random_seed_request(h_eg=nrt.h_eg(id=4711), seed=1)).status, INVALID_HANDLE,
            "4711", "random_seed: no such group")
    refused(client.call("random_seed", nrt.random_seed_request(seed=1)).status, INVALID_HANDLE, "group: 0",
            "random_seed without a group")
    answer = client.call("random_seed", nrt.random_seed_request(h_eg=nrt.h_eg(id=eg), seed=0xfffffffe))
    tap.equal((answer.status.code, answer.status.details), (0, b""), "random_seed")
    tap.equal([e.random_seed for e in client.ext("list_owners").eg if e.eg == eg], [0xfffffffe], "the group has it")
    client.destroy(eg)
    for count in (3, 0):
        request = nrt.set_static_transfer_adjustment_request(transfer_adjust_cnt=count)
        answer = client.call("set_static_transfer_adjustment", request)
        chips = client.call("get_all_hw_counters").counters
        tap.equal((answer.status.code, {c.transfer_adjustment_cnt for c in chips}), (0, {count}),
                  f"set_static_transfer_adjustment {count}: all chips have it")


def every_method(client: Client) -> None:
    """The three services of the .proto files have 27 methods, and each is there."""
    there = []
    for name, kind in METHODS.items():
        try:
            getattr(client.channel, kind)(name)(iter([b""]) if kind.startswith("stream") else b"", timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                continue
        there.append(name)
    tap.equal((len(METHODS), set(METHODS) - set(there)), (27, set()), "all 27 methods are implemented")


def transport(client: Client) -> None:
    raw = client.channel.unary_unary("/nrt.nmgr_v1/start", request_serializer=lambda b: b,
                                     response_deserializer=lambda b: b)
    for path in ("/nrt.nmgr_v1/random_see", "/nrt.nmgr_v2/start", "/nrtx.nmgr_v1/start", "/no.such/method", "/", ""):
        try:
            client.channel.unary_unary(path)(b"", timeout=CALL_SECONDS)
            code = None
        except grpc.RpcError as error:
            code = error.code()
        tap.equal(code, grpc.StatusCode.UNIMPLEMENTED, f"{path}: UNIMPLEMENTED")
    try:
        raw(b"\xff\xff\xff", timeout=CALL_SECONDS)
        code = None
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.INTERNAL, "a request that is no message: INTERNAL")
    many = client.channel.unary_unary("/nrt.nmgr_v1/infer", request_serializer=lambda b: b,
                                      response_deserializer=lambda b: b)
    try:
        many(b"\x12\x00" * 4_000_000, timeout=CALL_SECONDS)  # four million empty inputs
        code = None
    except grpc.RpcError as error:
        code = error.code()
    tap.equal(code, grpc.StatusCode.INTERNAL, "a message that would grow fortyfold is refused")
    tap.equal(client.call("get_version", nrt.get_version_request()).runtime_version.major_num, 1,
              "and the daemon goes on")


def counters(client: Client, neff: bytes) -> None:
    before = client.call("read_all_counters", nrt.read_all_counters_request())
    model = client.ready_model(neff)
    for _ in range(3):
        client.call("infer", infer_request(model, inline(input0=A, input1=A)))
    client.call("infer", infer_request(model, []))
    after = client.call("read_all_counters", nrt.read_all_counters_request())
    tap.equal(len(after.nc_counters), 16, "counters of 16 cores")
    tap.equal(after.nmgr_counters.infer_count - before.nmgr_counters.infer_count, 3, "three inferences are counted")
    bad = [{c.infer_status: c.count for c in r.nmgr_counters.infer_status_counts}[nrt.IST_BAD_INPUT]
           for r in (before, after)]
    tap.equal(bad[1] - bad[0], 1, "and one bad input")
    executed = [c.pool_num_executed_instr + c.act_num_executed_instr + c.pe_num_executed_instr
                for c in (before.nc_counters[0], after.nc_counters[0])]
    tap.ok(executed[1] > executed[0], "the first core's engines executed instructions", executed)
    one = client.call("read_nc_counters", nrt.read_nc_counters_request(vnc_id=0))
    tap.equal(one.nc_counters.pool_num_executed_instr, after.nc_counters[0].pool_num_executed_instr,
              "read_nc_counters agrees")
    refused(client.call("read_nc_counters", nrt.read_nc_counters_request(vnc_id=16)).status, INVALID_HANDLE, "16",
            "read_nc_counters: no such core")
    used = client.call("read_nc_time_in_use", nrt.read_nc_time_in_use_request(vnc_id=0))
    tap.ok(used.nc_time_in_use.time_in_use > 0, "the core's time in use", used)
    series = client.call("read_all_metrics", nrt.read_all_metrics_request())
    latency = {m.metric_type: m for m in series.nmgr_metrics}[nrt.NMGR_METRIC_INFER_LATENCY]
    tap.ok(len(latency.data) >= 3 and all(d.value_double > 0 for d in latency.data), "inference latencies")
    cycles = {m.metric_type: m for m in series.nmgr_metrics}[nrt.NMGR_METRIC_INFER_ON_INFA_CYCLESx1k]
    tap.ok(len({d.value_double for d in cycles.data[-2:]}) == 1 and
           0.1 < cycles.data[-1].value_double < 1000,
           "inferences take the chip thousands of cycles, the same each time", cycles)
    summary = client.call("read_all_metrics", nrt.read_all_metrics_request(summarize_period=3600))
    total = {m.metric_type: m for m in summary.nmgr_metrics}[nrt.NMGR_METRIC_INFER_LATENCY].data[0].value_agg
    tap.ok(total.count == len(latency.data) and total.min <= total.sum / total.count <= total.max, "in summary", total)
    ever = client.call("read_all_metrics", nrt.read_all_metrics_request(summarize_period=(1 << 32) - 1))
    total = {m.metric_type: m for m in ever.nmgr_metrics}[nrt.NMGR_METRIC_INFER_LATENCY].data[0].value_agg
    tap.equal(total.count, len(latency.data), "a period before the epoch holds them all")
    chips = client.call("get_all_hw_counters").counters
    tap.equal([c.bdf for c in chips], [f"0000:00:{n}.0" for n in ("1c", "1d", "1e", "1f")], "counters of four chips")
    chip = client.call("get_hw_counters", nrt.get_hw_counters_request(bdf="0000:00:1e.0"))
    tap.equal((chip.status.code, chip.counters.device_index), (0, 2), "get_hw_counters by address")
    refused(client.call("get_hw_counters", nrt.get_hw_counters_request(device_id=9)).status, INVALID, "no device 9",
            "get_hw_counters: no such device")
    client.call("unload_all")


def main() -> int:
    daemon = Daemon()
    client = Client(daemon)
    neff = sum_and_product()
    handles(client)
    cores(client)
    inputs(client, neff)
    states(client, neff)
    implicit(client, neff)
    polling(client, neff)
    waited_for(client, hand_made("hang"))
    streams(client, neff)
    load_order(client, neff)
    broken_load(client, neff)
    small_group(client, neff)
    protections(client)
    no_huge_pages(client)
    foreign_text(client, neff)
    bad_neffs(client, neff)
    seeds(client)
    every_method(client)
    transport(client)
    counters(client, neff)
    client.close()
    tap.equal(daemon.stop(), 0, "SIGTERM ends the daemon with status 0")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
