#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An ordinary user's client of the daemon, for scripts/check-system: Debian's gRPC, stubs that protoc made of the installed
.proto files (in the current directory), a model, images.npy, and what JAX computed for them.

client.py SOCKET MODEL DATA
"""

import ast
import json
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, os.getcwd())
import common_pb2  # noqa: E402
import grpc  # noqa: E402
import nmgr_pb2  # noqa: E402
import nmgr_service_pb2_grpc  # noqa: E402

CHUNK = 1 << 20
BATCH, PIXELS, DIGITS = 32, 64, 10
TOLERANCE = 0.1369  # of a logit: tests/data/digits/digits.json
WRONG_MAX = 2  # of the 1,797 labels, as many as JAX has wrong


def npy(path: Path, kind: str) -> list:
    """The numbers of a version 1 file, without NumPy, which the guest has not."""
    raw = path.read_bytes()
    if raw[:8] != b"\x93NUMPY\x01\x00":
        raise SystemExit(f"{path}: not a version 1 .npy file")
    start = 10 + struct.unpack_from("<H", raw, 8)[0]
    header = ast.literal_eval(raw[10:start].decode())
    if header["fortran_order"]:
        raise SystemExit(f"{path}: not in C order")
    return list(struct.unpack(f"<{(len(raw) - start) // 4}{kind}", raw[start:]))


def good(answer: object, what: str) -> object:
    if answer.status.code:
        raise SystemExit(f"{what}: {answer.status.code} {answer.status.details.decode()}")
    return answer


def load(group: int, model: bytes) -> Iterator[object]:
    yield nmgr_pb2.load_request(h_eg=nmgr_pb2.h_eg(id=group))
    yield nmgr_pb2.load_request(neff_size=len(model))
    yield nmgr_pb2.load_request(model_params=nmgr_pb2.model_params())
    for at in range(0, len(model), CHUNK):
        yield nmgr_pb2.load_request(neff_chunk=nmgr_pb2.file_chunk(chunk=model[at:at + CHUNK]))


def infer(daemon: object, model: object, images: list[float]) -> list[float]:
    """A batch; the last is filled up with zeros."""
    count = len(images) // PIXELS
    images = images + [0.0] * ((BATCH - count) * PIXELS)
    request = nmgr_pb2.infer_request(h_nn=model, ifmap=[
        nmgr_pb2.infer_io(name="input0", buf=struct.pack(f"<{len(images)}f", *images))])
    answer = good(daemon.infer(request), "infer")
    return list(struct.unpack(f"<{BATCH * DIGITS}f", answer.ofmap[0].buf))[:count * DIGITS]


def main() -> int:
    socket, model_path, data = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    images, wanted, labels = npy(data / "images.npy", "f"), npy(data / "logits.npy", "f"), npy(data / "labels.npy", "i")
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        grpc.channel_ready_future(channel).result(60)
        daemon = nmgr_service_pb2_grpc.nmgr_v1Stub(channel)
        groups = daemon.list_egs(common_pb2.empty())
        print(json.dumps({"chips": groups.mla_count, "cores": groups.nc_count}))
        if (groups.mla_count, groups.nc_count) != (4, 16):
            raise SystemExit("not four chips with sixteen cores")
        group = good(daemon.create_eg(nmgr_pb2.create_eg_request(nc_count=1)), "create_eg").h_eg
        model = good(daemon.load(load(group.id, model_path.read_bytes())), "load").h_nn
        good(daemon.start(nmgr_pb2.start_request(h_nn=model)), "start")
        logits = []
        for at in range(0, len(images), BATCH * PIXELS):
            logits += infer(daemon, model, images[at:at + BATCH * PIXELS])
        good(daemon.stop(nmgr_pb2.stop_request(h_nn=model)), "stop")
        good(daemon.unload(nmgr_pb2.unload_request(h_nn=model)), "unload")
        good(daemon.destroy_eg(nmgr_pb2.destroy_eg_request(h_eg=group)), "destroy_eg")
    worst = max(abs(have - want) for have, want in zip(logits, wanted))
    rows = [logits[at:at + DIGITS] for at in range(0, len(logits), DIGITS)]
    wrong = sum(row.index(max(row)) != label for row, label in zip(rows, labels))
    print(f"{len(rows)} images, {wrong} labels wrong, worst logit off by {worst:.4f}")
    return 0 if len(logits) == len(wanted) and worst <= TOLERANCE and wrong <= WRONG_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
