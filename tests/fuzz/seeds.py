#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""First inputs for the fuzzers, out of tests/data and of what the project's own programs write.

usage: seeds.py BUILD OUTPUT

BUILD is a build directory with the programs in it; OUTPUT gets one directory a target. What is kept
in corpus/ was grown from these.
"""

import gzip
import random
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
MEMBERS = re.findall(r'"([\w./-]+)"', re.search(r"names\[\] = \{(.*?)\};", (HERE / "fuzz_neff.c").read_text(), re.S)[1])
RTD = {  # number of the type in fuzz_rtd.c, type, text
    0: [("nrt.load_request", t) for t in ("h_eg{id:1}", "neff_size:7", 'neff_chunk{chunk:"abc"}', 'neff_file:"a"',
                                          "model_params{timeout{data:1} ninfer{data:4}}", "session_id:3")],
    2: [("nrt.infer_request", 'h_nn{id:1} ifmap{name:"a" buf:"xy"} shm_ofmap{name:"b" buf_shm{path:"c"}}')],
    5: [("nrt.create_eg_request", "nc_count:4 session_id:9")],
    9: [("nrt.shm_map_request", 'path:"/x" mmap_prot:3 session_id:1')],
}


def hlo() -> dict[str, bytes]:
    modules = sorted((TOP / "tests/data/hlo").glob("*/module.hlo.pb"))
    return {p.parent.name: b"\1" + p.read_bytes() for p in modules if p.stat().st_size < 4096}


def mmio() -> dict[str, bytes]:
    """The public driver's register writes to engine 0, and its reads."""
    out = bytearray()
    for line in (TOP / "tests/data/udma/udma-trace-v1.txt").read_text().splitlines():
        if found := re.match(r"([WR]) ([0-9a-f]{5}) (?:=|->) ([0-9a-f]{8})$", line):
            kind, offset, value = found.groups()
            out += bytes([0x20 if kind == "R" else 0, 0, 0xF0, 0]) + struct.pack("<I", 0x40000 + int(offset, 16))
            out += b"" if kind == "R" else b"\xff" + struct.pack("<Q", int(value, 16))
    return {f"trace{i}": bytes(out[i : i + 2048]) for i in range(0, len(out), 2048)}


def neff_members(data: bytes) -> bytes:
    payload = data[1024:]
    payload = gzip.decompress(payload) if payload[:2] == b"\x1f\x8b" else payload
    out = bytearray(b"\0\0")
    with tarfile.open(fileobj=BytesIO(payload)) as tar:
        for member in tar:
            name, body = member.name.removeprefix("./"), tar.extractfile(member).read()
            if name in MEMBERS:
                out.append(MEMBERS.index(name))
            else:
                out += bytes([255, 0, len(name)]) + name.encode()
            out += struct.pack("<I", len(body))[:3] + body
    return bytes(out)


def programs(build: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """What the compiler and the tests' own writer make: NEFF members; lines and words."""
    neff, asm = {}, {}
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "model.neff"
        for name in ("add", "matmul", "shuffle", "hang", "fault"):
            subprocess.run([build / "tests/unit/neff/testmodel_write", name, path], check=True)
            neff[name] = neff_members(path.read_bytes())
            neff[name + "-file"] = b"\xff" + path.read_bytes()
        for name in ("add", "conv", "attention", "transpose", "reduce_max", "dot_int8", "select"):
            module = TOP / "tests/data/hlo" / name / "module.hlo.pb"
            if not module.exists():
                continue
            subprocess.run([build / "compiler/neuronx-cc", "compile", "--framework", "XLA", module, "--target", "inf1",
                            "--output", path], check=True, stdout=subprocess.DEVNULL)
            neff[name] = neff_members(path.read_bytes())
            text = subprocess.run([build / "compiler/asm/neuron-objdump", "-d", path], check=True,
                                  capture_output=True, text=True).stdout
            for number, line in enumerate(dict.fromkeys(re.sub(r"\d+", "1", x) for x in text.splitlines())):
                asm[f"{name}{number}"] = line.encode()
    for number, line in enumerate(re.findall(r"^    (\w.*)$", (TOP / "docs/isa.md").read_text(), re.M)):
        asm[f"manual{number}"] = line.encode()
    return {k: v for k, v in neff.items() if len(v) < 65536}, asm


def rtd() -> dict[str, bytes]:
    out = {}
    for number, texts in RTD.items():
        for i, (kind, text) in enumerate(texts):
            done = subprocess.run(["protoc", f"--encode={kind}", "nrt.proto"], cwd=TOP / "runtime/rtd",
                                  input=text.encode(), capture_output=True, check=True)
            out[f"{number}-{i}"] = bytes([number]) + done.stdout
    return out


def noise(target: str) -> dict[str, bytes]:
    """For formats that give every input a meaning"""
    rnd = random.Random(target)
    return {f"noise{i}": rnd.randbytes(rnd.choice((64, 256, 1024))) for i in range(24)}


def main() -> int:
    build, output = Path(sys.argv[1]), Path(sys.argv[2])
    neff, asm = programs(build)
    seeds = {"hlo": hlo(), "mmio": mmio() | noise("mmio"), "neff": neff, "asm": asm, "rtd": rtd()}
    seeds |= {target: noise(target) for target in ("insn", "mailbox", "rings", "state")}
    for target, inputs in seeds.items():
        (output / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (output / target / name).write_bytes(data)
        print(f"{target}: {len(inputs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
