#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""neuron-packager, as TAP: files in, files out, and what it refuses.

usage: packager.py NEURON_PACKAGER TESTMODEL_WRITE [NEURON_RUN]

The oracles are tar and Python's hashes over the container's public offsets, and neuron-run, whose reader is libneff.
"""

import gzip
import hashlib
import io
import json
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tap import Tap

PACKAGER, WRITE = str(Path(sys.argv[1]).resolve()), str(Path(sys.argv[2]).resolve())
# of the header, by name: offset and form
FIELDS = {
    "package": (0, "<Q"), "header": (8, "<Q"), "data": (16, "<Q"), "major": (24, "<Q"), "minor": (32, "<Q"), "cores": (168, "<I"),
    "requested": (476, "<I"), "features": (544, "<Q"), "logical": (552, "<I"),
}  # fmt: skip


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PACKAGER, *words], cwd=cwd, capture_output=True, text=True, check=False)


def fields(path: Path) -> dict[str, int]:
    data = path.read_bytes()
    return {name: struct.unpack_from(form, data, at)[0] for name, (at, form) in FIELDS.items()}


def npy(value: float) -> bytes:
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 64), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + struct.pack("<f", value) * 8192


def check_round(tap: Tap, work: Path) -> None:
    subprocess.run([WRITE, "add", work / "add.neff"], check=True)
    original = (work / "add.neff").read_bytes()
    done = run("unpack", "add.neff", cwd=work)
    tap.ok(done.returncode == 0 and not done.stdout + done.stderr, "unpack", str(done))
    tap.ok((work / "add" / "neff.tgz").read_bytes() == original[1024:], "the payload is written, too")
    (work / "by-tar").mkdir()
    subprocess.run(["tar", "xzf", work / "add" / "neff.tgz", "-C", work / "by-tar"], check=True)
    same = subprocess.run(["diff", "-r", "-x", "neff.tgz", "by-tar", "add"], cwd=work, capture_output=True, text=True, check=False)
    tap.ok(same.returncode == 0, "the members are tar's", same.stdout)
    tap.ok(run("unpack", "add.neff", cwd=work).returncode == 1, "a directory that is there stays as it is")
    done = run("create", "-i", "add/neff.tgz", "-o", "like", "--like", "add.neff", "-n", "a name", "-v", "a tool", cwd=work)
    made, want = fields(work / "like.neff"), fields(work / "add.neff")
    tap.ok(done.returncode == 0 and made == want, "create --like", str(made), str(want))
    data = (work / "like.neff").read_bytes()
    tap.ok(data[1024:] == original[1024:] and data[172:188] == hashlib.md5(data[1024:]).digest(), "with the payload and its MD5")
    tap.ok(data[220:476].rstrip(b"\0") == b"a name" and data[40:168].rstrip(b"\0") == b"a tool", "the name, the tool")
    done = run("create", "-i", "add/neff.tgz", "-r", "1", "-k", "2.1", "-t", "4", cwd=work)
    made = fields(work / "NN.neff")
    data = (work / "NN.neff").read_bytes()
    tap.ok((made["package"], made["major"], made["minor"], made["cores"], made["requested"]) == (1, 2, 1, 4, 4), "create -r -k -t", str(made))
    tap.ok(data[172:204] == hashlib.sha256(data[1024:]).digest() and data[480] == 4 and not any(data[556:1024]), "SHA-256, cores of the node, the rest is zero")
    run("create", "-i", "add/neff.tgz", "-o", "default", cwd=work)
    made = fields(work / "default.neff")
    tap.ok((made["package"], made["major"], made["minor"], made["cores"], made["features"]) == (2, 0, 4, 1, 0), "create by default", str(made))


def check_info(tap: Tap, work: Path) -> None:
    found = json.loads(run("info", "--json-output", "-w", "-s", "like.neff", cwd=work).stdout)
    header = found["header"]
    tap.ok(header["NEFF Version"] == "1.0" and header["Network Name"] == "a name" and header["Hash Valid"] is True, "info: the header", str(header))
    rows = [(row["NODE"], row["Variable"], row["Type"], row["Shape"], row["Size"], row["DataType"]) for row in found["nodes"]]
    want = [(2, name, kind, "[128, 64]", 32768, "float32") for name, kind in (("a", "IN"), ("b", "IN"), ("c", "OUT"))]
    tap.ok(rows == want, "info: the nodes", str(rows))
    tap.ok(found["weights"] == [] and found["spills"] == [], "info: neither weights nor spills")
    text = run("info", "like.neff", cwd=work).stdout
    tap.ok("NEFF Nodes:" in text and "| 2    | Neuron Core | sg00 | c " in text, "info: as text", text)
    subprocess.run([WRITE, "matmul", work / "matmul.neff"], check=True)
    found = json.loads(run("info", "--json-output", "-w", "matmul.neff", cwd=work).stdout)
    with tarfile.open(fileobj=io.BytesIO((work / "matmul.neff").read_bytes()[1024:])) as tar:
        sizes = {member.name: member.size for member in tar}
    tap.ok(found["weights"] and all(sizes[w["file"]] == w["size"] for w in found["weights"]), "info: weights", str(found["weights"]))


def check_optimize(tap: Tap, work: Path) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for path in sorted(p for p in (work / "by-tar").rglob("*") if p.is_file()):
            tar.add(path, str(path.relative_to(work / "by-tar")))
        for name in ("debug_info/a", "sg00/pool.dbg"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"xyz"))
    (work / "debug.tgz").write_bytes(gzip.compress(raw.getvalue()))
    run("create", "-i", "debug.tgz", "-o", "debug", "--like", "add.neff", cwd=work)
    run("optimize", "debug.neff", "-o", "small.neff", cwd=work)
    run("optimize", "debug.neff", "-o", "kept.neff", "--keep-debug", cwd=work)
    names = {}
    for name in ("small", "kept"):
        data = (work / f"{name}.neff").read_bytes()
        with tarfile.open(fileobj=io.BytesIO(data[1024:]), mode="r:") as tar:
            names[name] = set(tar.getnames())
        tap.ok(data[172:188] == hashlib.md5(data[1024:]).digest(), f"optimize: {name} has its hash")
    tap.ok(names["kept"] - names["small"] == {"debug_info/a", "sg00/pool.dbg"}, "optimize leaves debug files out", str(names))


def check_run(tap: Tap, work: Path, program: str) -> None:
    (work / "a.npy").write_bytes(npy(1))
    (work / "b.npy").write_bytes(npy(2))
    for name in ("like", "small"):
        words = [program, f"{name}.neff", "-d", "emu:inf1.xlarge", "-i", "a=a.npy", "-i", "b=b.npy", "-o", name + "-out"]
        done = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False)
        good = done.returncode == 0 and (work / f"{name}-out" / "c.npy").read_bytes() == npy(3)
        tap.ok(good, f"neuron-run executes {name}.neff", done.stderr)


def packed(members: list[tarfile.TarInfo], header: bytes) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    payload = gzip.compress(raw.getvalue())
    return header[:16] + struct.pack("<Q", len(payload)) + header[24:] + payload


def check_hostile(tap: Tap, work: Path) -> None:
    good = (work / "add.neff").read_bytes()
    header = good[:1024]

    def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
        made = tarfile.TarInfo(name)
        made.type, made.linkname = kind, link
        return made

    cases = {
        "nothing": b"",
        "half a header": good[:500],
        "a header alone": header,
        "another package version": struct.pack("<Q", 3) + good[8:],
        "a header that is longer than the file": good[:8] + struct.pack("<Q", 1 << 40) + good[16:],
        "more data than there is": good[:16] + struct.pack("<Q", 1 << 63) + good[24:],
        "no cores": good[:168] + bytes(4) + good[172:],
        "a payload of zeros": header[:16] + struct.pack("<Q", 9) + header[24:] + bytes(9),
        "half a payload": good[:16] + struct.pack("<Q", 500) + good[24:1524],
        "a way out": packed([member("../out")], header),
        "another one": packed([member("/tmp/out")], header),
        "a link": packed([member("link", tarfile.SYMTYPE, "/etc/passwd")], header),
        "a hard link": packed([member("link", tarfile.LNKTYPE, "../x")], header),
        "a device": packed([member("null", tarfile.CHRTYPE)], header),
    }
    for title, data in cases.items():
        (work / "bad.neff").write_bytes(data)
        for command in ("info", "unpack", "optimize"):
            done = run(command, "bad.neff", cwd=work)
            clean = done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1 and not (work / "bad").exists()
            tap.ok(clean and (work / "bad.neff").read_bytes() == data, f"{command}: {title}", str(done))
    for graph in ("[]", "{}", "1", '{"nodes": 1, "node_row_ptr": []}', '{"nodes": [{"op": "x", "inputs": [[9]], "name": 1}], "node_row_ptr": [0, 9]}', "[" * 100000):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as tar:
            made = member("neff.json")
            made.size = len(graph)
            tar.addfile(made, io.BytesIO(graph.encode()))
        (work / "bad.neff").write_bytes(header[:16] + struct.pack("<Q", len(raw.getvalue())) + header[24:] + raw.getvalue())
        done = run("info", "bad.neff", cwd=work)
        tap.ok(done.returncode == 1 and "neff.json" in done.stderr and "Traceback" not in done.stderr, f"info: {graph[:40]}", str(done))
    rng, wrong = random.Random(4711), []
    for _ in range(30):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (work / "bad.neff").write_bytes(data)
        done = run("info", "bad.neff", cwd=work)
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            wrong.append(done.stderr)
    tap.ok(not wrong, "thirty damaged files", *wrong)
    for words in (["create", "-i", "a.npy"], ["create", "-i", "add/neff.tgz", "-e", "custom-ops"], ["create", "-i", "none"], ["create", "-i", "add/neff.tgz", "-n", "x" * 256]):
        done = run(*words, "-o", "never", cwd=work)
        tap.ok(done.returncode == 1 and done.stderr.count("\n") == 1 and not (work / "never.neff").exists(), f"refused: {' '.join(words)[:60]}", str(done))
    for words in ([], ["create"], ["create", "-i", "x", "-t", "65"], ["create", "-i", "x", "-k", "1"], ["info"], ["bogus"]):
        tap.ok(run(*words, cwd=work).returncode == 2, f"refused: {words}")


def main() -> None:
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        check_round(tap, work)
        check_info(tap, work)
        check_optimize(tap, work)
        if len(sys.argv) > 3:
            check_run(tap, work, str(Path(sys.argv[3]).resolve()))
        (work / "a.npy").write_bytes(npy(1))
        check_hostile(tap, work)
    tap.done()


main()
