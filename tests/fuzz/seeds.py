#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""First inputs for the fuzzers, from tests/data and from the output of the project's own programs.

usage: seeds.py BUILD OUTPUT

BUILD is a build directory with the programs in it; OUTPUT gets one directory a target. What is kept
in corpus/*.tar was grown from these.
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
    modules = sorted((TOP / "tests/data").glob("hlo*/*/module.hlo.pb"))
    seeds = {p.parent.name: b"\1" + p.read_bytes() for p in modules if p.stat().st_size < 4096}
    return seeds | dynamic()


def mlir() -> dict[str, bytes]:
    """Texts of StableHLO, and each of their functions and operations alone"""
    texts = {p.name: p.read_bytes() for p in sorted((TOP / "tests/data/stablehlo/text").glob("*.mlir"))}
    lines = sorted({re.sub(rb" loc\(.*", b"", line.strip()) for t in texts.values() for line in t.splitlines() if b"stablehlo." in line})
    ones = {f"line{i}": b"func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>) -> () {\n" + re.sub(rb"%arg[2-9]", b"%arg0", line) + b"\nreturn }"
            for i, line in enumerate(lines)}
    return {name: b"\1" + text for name, text in (texts | ones).items() if len(text) < 4096}


def stablehlo() -> dict[str, bytes]:
    """Artifacts of every version, and of every kind of operation"""
    artifacts = sorted((TOP / "tests/data/stablehlo").glob("*.mlirbc"))
    return {p.stem: b"\1" + p.read_bytes() for p in artifacts if p.stat().st_size < 4096}


def dynamic() -> dict[str, bytes]:
    """Dynamic dimensions that are wrong: one without a bound or with a negative one, sizes of other types"""
    def encode(bound: int = 9, size_type: int = 4) -> bytes:
        x = f"element_type: 11 dimensions: [{bound}, 5] is_dynamic_dimension: [false, false]"
        text = f"""name: 'dynamic' entry_computation_id: 1 computations {{ name: 'e' id: 1 root_id: 3
            instructions {{ name: 'x' opcode: 'parameter' id: 1 shape {{ {x} }} }}
            instructions {{ name: 'n' opcode: 'parameter' id: 2 parameter_number: 1 shape {{ element_type: {size_type} }} }}
            instructions {{ name: 's' opcode: 'set-dimension-size' id: 3 operand_ids: [1, 2] dimensions: 0
                            shape {{ {x.replace("[false", "[true")} }} }} }}"""
        return b"\1" + subprocess.run(["protoc", "--encode=ncc.hlo.Module", "hlo/hlo.proto"], cwd=TOP / "compiler/frontend", check=True,
                                      input=text.encode(), capture_output=True).stdout

    return {"dynamic": encode(), "dynamic_unbounded": encode(-2**63), "dynamic_negative": encode(-9),
            "dynamic_float": encode(size_type=11), "dynamic_64bit": encode(size_type=5)}


def ints(name: str, *values: int) -> str:
    return f"attribute {{name: '{name}' type: 7 {' '.join(f'ints: {v}' for v in values)}}} "


def number(name: str, value: int) -> str:
    return f"attribute {{name: '{name}' type: 2 i: {value}}} "


def text(name: str, value: str) -> str:
    return f"attribute {{name: '{name}' type: 3 s: '{value}'}} "


def node(kind: str, inputs: str, attributes: str = "", outputs: str = "y") -> str:
    names = [f"input: '{n}'" for n in inputs.split(",")] + [f"output: '{n}'" for n in outputs.split(",")]
    return f"node {{op_type: '{kind}' {' '.join(names)} {attributes}}} "


def value(kind: str, name: str, *dims: int, elem: int = 1) -> str:
    shape = " ".join(f"dim {{dim_value: {d}}}" for d in dims)
    return f"{kind} {{name: '{name}' type {{tensor_type {{elem_type: {elem} shape {{{shape}}}}}}}}} "


def constant(name: str, values: tuple[float, ...], dims: tuple[int, ...], elem: int = 7) -> str:
    field = "int64_data" if elem == 7 else "float_data"
    return (f"initializer {{name: '{name}' data_type: {elem} {' '.join(f'dims: {d}' for d in dims)} "
            f"{' '.join(f'{field}: {v}' for v in values)}}} ")


def onnx() -> dict[str, bytes]:
    """A small model for each kind of operator."""
    x, z = value("input", "x", 2, 3, 4), value("input", "z", 2, 3, 4)
    image, kernel = value("input", "x", 1, 2, 5, 5), value("input", "z", 4, 2, 3, 3)
    square, flag = value("input", "x", 4, 4), value("input", "x", 2, 3, elem=9)
    bytes_ = value("input", "x", 3, 4, elem=2) + value("input", "z", 4, 2, elem=2)
    gates = value("input", "w", 1, 12, 4) + value("input", "r", 1, 12, 3)
    body = ("attribute {name: 'body' type: 5 g {" + value("input", "i", elem=7) + value("input", "c", elem=9)
            + value("input", "a", 2) + node("Identity", "c", outputs="d") + node("Add", "a,a", outputs="b")
            + "output {name: 'd'} output {name: 'b'} output {name: 'b'}}}")
    branch = "attribute {{name: '{}' type: 5 g {{node {{op_type: '{}' input: 'x' output: 'b'}} output {{name: 'b'}}}}}} "
    graphs = {kind.lower(): x + z + node(kind, "x,z") for kind in ("Add", "Div", "Pow", "Max", "Less", "PRelu")}
    graphs |= {kind.lower(): x + node(kind, "x") for kind in ("Relu", "Gelu", "Softmax", "Floor", "Acos", "Elu", "Shape",
                                                              "ReduceMean", "ArgMax", "Hardmax", "Flatten", "ReduceL2")}
    graphs |= {
        "matmul": x + value("input", "z", 4, 5) + node("MatMul", "x,z"),
        "gemm": square + value("input", "z", 4, 2) + node("Gemm", "x,z", number("transA", 1)),
        "conv": image + kernel + node("Conv", "x,z", ints("pads", 1, 1, 1, 1) + ints("strides", 2, 2)),
        "convt": image + value("input", "z", 2, 4, 3, 3) + node("ConvTranspose", "x,z", ints("strides", 2, 2)),
        "maxpool": image + node("MaxPool", "x", ints("kernel_shape", 2, 2) + number("ceil_mode", 1)),
        "avgpool": image + node("AveragePool", "x", ints("kernel_shape", 3, 3) + text("auto_pad", "SAME_UPPER")),
        "transpose": x + node("Transpose", "x", ints("perm", 2, 0, 1)),
        "reshape": x + constant("s", (0, -1), (2,)) + node("Reshape", "x,s"),
        "slice": x + constant("a", (3, 2), (2,)) + constant("b", (0, 0), (2,)) + constant("c", (2, 1), (2,))
        + constant("d", (-1, -1), (2,)) + node("Slice", "x,a,b,c,d"),
        "concat": x + z + node("Concat", "x,z", number("axis", 1)),
        "split": x + constant("s", (1, 3), (2,)) + node("Split", "x,s", number("axis", 2), "y,w"),
        "pad": x + constant("p", (1, 0, 0, 0, 1, 2), (6,)) + node("Pad", "x,p", text("mode", "edge")),
        "gather": x + constant("i", (2, 0, -1), (3,)) + node("Gather", "x,i", number("axis", 1)),
        "gatherat": square + value("input", "i", 4, 2, elem=6) + node("GatherElements", "x,i", number("axis", 1)),
        "onehot": value("input", "x", 3, elem=6) + constant("d", (4,), ()) + constant("v", (0, 1), (2,), 1)
        + node("OneHot", "x,d,v"),
        "topk": x + constant("k", (2,), (1,)) + node("TopK", "x,k", outputs="y,i"),
        "cumsum": x + constant("a", (1,), ()) + node("CumSum", "x,a", number("reverse", 1)),
        "tile": x + constant("s", (1, 2, 1), (3,)) + node("Tile", "x,s"),
        "einsum": square + value("input", "z", 4, 4) + node("Einsum", "x,z", text("equation", "ij,jk->ki")),
        "layernorm": x + value("input", "z", 4) + node("LayerNormalization", "x,z"),
        "batchnorm": image + "".join(value("input", n, 2) for n in "abcd") + node("BatchNormalization", "x,a,b,c,d"),
        "quantize": x + constant("s", (0.5,), (), 1) + node("QuantizeLinear", "x,s"),
        "matmulint": bytes_ + node("MatMulInteger", "x,z"),
        "gru": value("input", "x", 2, 1, 4) + value("input", "w", 1, 9, 4) + value("input", "r", 1, 9, 3)
        + node("GRU", "x,w,r", number("hidden_size", 3)),
        "lstm": value("input", "x", 2, 1, 4) + gates + node("LSTM", "x,w,r", text("direction", "reverse")),
        "resize": image + constant("s", (1, 1, 2, 0.7), (4,), 1) + node("Resize", "x,,s", text("mode", "linear")),
        "maxpoolat": image + node("MaxPool", "x", ints("kernel_shape", 2, 2), "y,i"),
        "scatter": square + value("input", "i", 2, 4, elem=6) + value("input", "z", 2, 4)
        + node("ScatterElements", "x,i,z", text("reduction", "add")),
        "scatternd": square + constant("i", (1, 3), (2, 1)) + value("input", "z", 2, 4) + node("ScatterND", "x,i,z"),
        "crossentropy": square + value("input", "z", 4, elem=6) + node("SoftmaxCrossEntropyLoss", "x,z"),
        "reversed": square + value("input", "z", 4, elem=6) + node("ReverseSequence", "x,z"),
        "hann": constant("s", (9,), ()) + node("HannWindow", "s"),
        "external": x + "initializer {name: 'c' data_type: 1 dims: 4 data_location: 1 external_data {key: 'location' value: "
        "'d'} external_data {key: 'offset' value: '7'}}" + node("Add", "x,c"),
        "not": flag + node("Not", "x"),
        "cast": x + node("Cast", "x", number("to", 6)),
        "if": x + constant("c", (1,), (), 7) + node("Cast", "c", number("to", 9), "f")
        + node("If", "f", branch.format("then_branch", "Neg") + branch.format("else_branch", "Abs")),
        "loop": value("input", "x", 2) + constant("n", (3,), ()) + node("Loop", "n,,x", body, "y,w"),
        "shapes": x + node("Shape", "x", outputs="s") + constant("i", (1,), (1,)) + node("Gather", "s,i", outputs="t")
        + constant("m", (-1,), (1,)) + node("Concat", "t,m", number("axis", 0), "u") + node("Reshape", "x,u"),
    }
    function = ("functions {name: 'F' domain: 'f' input: 'a' output: 'b' opset_import {version: 17} "
                "node {op_type: 'Tanh' input: 'a' output: 'b'}}")
    call = x + "node {op_type: 'F' domain: 'f' input: 'x' output: 'y'}"
    texts = {name: f"graph {{{g} output {{name: 'y'}}}}" for name, g in graphs.items()}
    texts["function"] = f"graph {{{call} output {{name: 'y'}}}} {function}"
    out = {}
    for name, model in texts.items():
        done = subprocess.run(["protoc", "--encode=ncc.onnx.Model", "onnx/onnx.proto"], cwd=TOP / "compiler/frontend", check=True,
                              input=f"ir_version: 8 opset_import {{version: 17}} {model}".encode(), capture_output=True)
        out[name] = b"\x09" + done.stdout
    return out


def ir(build: Path) -> dict[str, bytes]:
    """The golden modules as the compiler prints them, and those with loops"""
    out = {}
    for module in sorted([*(TOP / "tests/data/hlo").glob("*/module.hlo.pb"), *(TOP / "tests/data/hlo_ops").glob("while_*/module.hlo.pb")]):
        argv = [build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "XLA", module, "--dump-ir-after", "read",
                "--ir-constants", "--output", "/dev/null"]
        text = subprocess.run(argv, check=True, capture_output=True).stdout
        if len(text) < 2048:
            out[module.parent.name] = text
    return out


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
    """Files of the compiler and of the tests' own writer: NEFF members; lines and words."""
    neff, asm = {}, {}
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "model.neff"
        for name in ("add", "gather", "matmul", "shuffle", "hang", "fault"):
            subprocess.run([build / "tests/unit/neff/testmodel_write", name, path], check=True)
            neff[name] = neff_members(path.read_bytes())
            neff[name + "-file"] = b"\xff" + path.read_bytes()
        for name in ("add", "conv", "attention", "transpose", "reduce_max", "dot_int8", "select"):
            module = TOP / "tests/data/hlo" / name / "module.hlo.pb"
            if not module.exists():
                continue
            subprocess.run([build / "tools/neuronx-cc/neuronx-cc", "compile", "--framework", "XLA", module, "--target", "inf1",
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
            done = subprocess.run(["protoc", f"--encode={kind}", "nmgr.proto"], cwd=TOP / "runtime/rtd",
                                  input=text.encode(), capture_output=True, check=True)
            out[f"{number}-{i}"] = bytes([number]) + done.stdout
    return out


CALLS = {  # calls in order: method, client, messages
    "inference": [("create_eg", 0, ["nc_count: 1"]),
                  ("load", 0, ["h_eg { id: 1 }", "neff_size: 1", 'neff_chunk { chunk: "a" }']),
                  ("start", 0, ["h_nn { id: 1 }"]),
                  ("infer_post", 0, ['h_nn { id: 1 } ifmap { name: "a" buf: "%s" } ifmap { name: "b" buf: "%s" }' % (("\\0" * 8192,) * 2)]),
                  ("infer_check_completion", 0, ["cookie: 1 cookie: 2"]), ("infer_wait", 0, ["cookie: 1"]),
                  ("infer_poll", 0, ["cookie: 1"]), ("infer", 1, ["h_nn { id: 1 }"]), ("stop", 0, ["h_nn { id: 1 }"]),
                  ("unload", 0, ["h_nn { id: 1 }"]), ("destroy_eg", 0, ["h_eg { id: 1 }"])],
    "sharing": [("create_eg", 1, ["nc_count: 2"]), ("share_eg", 1, ["eg: 1 sharing: SHARE_ALL"]),
                ("load", 2, ["h_eg { id: 1 }", "model_params { timeout { data: 1 } ninfer { data: 2 } }", "neff_size: 1",
                             'neff_chunk { chunk: "a" }']),
                ("start", 2, ["h_nn { id: 1 }"]), ("list_models", 1, [""]), ("list_owners", 2, [""]),
                ("describe_model", 1, ["id: 1"]), ("infer_stream", 1, ['h_nn { id: 1 }', 'h_nn { id: 2 } loop_end_value: 3']),
                ("random_seed", 1, ["h_eg { id: 1 } seed: 7"]), ("unload_all", 1, [""])],
    "broken": [("load", 0, ["neff_size: 1", "neff_size: 1"]), ("load", 1, ['neff_chunk { chunk: "a" }']),
               ("load", 1, ["neff_size: 4", 'neff_chunk { chunk: "abc" }']), ("load", 2, ['neff_file: "/etc/hostname"']),
               ("load", 1, ['neff_file: "/proc/self/mem"', "session_id: 1"]), ("load", 0, [""])],
    "shm": [("shm_map", 1, ['path: "/no-such" mmap_prot: 3']), ("shm_map", 0, ['path: "/../etc/hostname" mmap_prot: 1']),
            ("shm_map", 1, ['path_hugetlb { path: "/dev/shm/x" size: 4096 } session_id: 1']),
            ("shm_unmap", 1, ['path: "/no-such"'])],
    "counters": [(name, i % 3, [""]) for i, name in enumerate(
        ("list_egs", "read_nc_counters", "read_nc_time_in_use", "read_inference_counters", "read_all_counters",
         "read_all_metrics", "get_all_hw_counters", "get_version", "describe_daemon"))] +
        [("read_all_metrics", 0, ["summarize_period: 60"]), ("get_hw_counters", 1, ['bdf: "0000:00:1f.0"']),
         ("get_hw_counters", 2, ["device_id: 9"]), ("read_nc_counters", 0, ["vnc_id: 99"]),
         ("set_static_transfer_adjustment", 1, ["transfer_adjust_cnt: 1"])],
    "session": [("session_monitor", 1, ['framework_name: "TENSORFLOW" framework_version { major_num: 1 }']),
                ("create_eg", 1, ["session_id: 1"]), ("session_monitor", 2, [])],
}


def calls() -> dict[str, bytes]:
    source = (TOP / "runtime/rtd/methods.c").read_text()
    order = [next(filter(None, m)) for m in re.findall(r'NMGRX?,? "(\w+)"|"/nrt\.\w+/(\w+)"|INFER\("(\w+)"', source)]
    kinds = dict(re.findall(r"rpc (\w+)\((?:stream )?(\w+)\)", "".join(p.read_text() for p in (TOP / "runtime/rtd").glob("*.proto"))))
    extra = re.findall(r"rpc (\w+)", (TOP / "runtime/rtd/nrtx.proto").read_text())

    def encode(name: str, text: str) -> bytes:
        package, file = ("nrtx", "nrtx.proto") if name in extra else ("nrt", "nmgr_session_service.proto" if name == "session_monitor" else "nmgr.proto")
        return subprocess.run(["protoc", f"--encode={package}.{kinds[name]}", file], cwd=TOP / "runtime/rtd",
                              input=text.encode(), capture_output=True, check=True).stdout

    out = {}
    for title, sequence in CALLS.items():
        data = b""
        for name, client, texts in sequence:
            messages = [encode(name, text) for text in texts]
            streams = name in ("load", "infer_stream", "session_monitor")
            body = b"".join(bytes([len(m)]) + m for m in messages) if streams else messages[0]
            data += bytes([order.index(name), client]) + len(body).to_bytes(2, "little") + body
        out[title] = data
    return out


def kernels() -> dict[str, bytes]:
    return {p.stem: p.read_bytes() for d in ("examples/kernel", "tests/conformance/kernels") for p in (TOP / d).glob("*.s")}


def npy() -> dict[str, bytes]:
    """Files of each type, of no, one and three dimensions, in both orders; and the same behind a header that is framed"""
    out = {}
    kinds = {"f4": 4, "f2": 2, "f8": 8, "V2": 2, "i1": 1, "b1": 1, "i8": 8, "u8": 8, "V1": 1, "f1": 1}
    for i, (kind, size) in enumerate(kinds.items()):
        for shape, count in (("()", 1), ("(3,)", 3), ("(2, 3, 2)", 12), ("(0, 4)", 0)):
            dictionary = f"{{'descr': '{'<>|'[i % 3]}{kind}', 'fortran_order': {bool(count % 4 == 0)}, 'shape': {shape}, }}\n".encode()
            body = dictionary + bytes(range(count * size))
            length = struct.pack("<H", len(dictionary))
            out[f"{kind}{count}"] = bytes([2 * i]) + b"\x93NUMPY\1\0" + length + body
            out[f"{kind}{count}-framed"] = bytes([2 * i + 1, 1 + i % 3]) + length + body
    return out


def noise(target: str) -> dict[str, bytes]:
    """Random bytes, for formats that give every input a meaning"""
    rnd = random.Random(target)
    return {f"noise{i}": rnd.randbytes(rnd.choice((64, 256, 1024))) for i in range(24)}


def main() -> int:
    build, output = Path(sys.argv[1]), Path(sys.argv[2])
    neff, asm = programs(build)
    seeds = {"hlo": hlo(), "mmio": mmio() | noise("mmio"), "neff": neff, "asm": asm, "ir": ir(build), "mlir": mlir(), "rtd": rtd(), "calls": calls(), "npy": npy(), "onnx": onnx(), "stablehlo": stablehlo(), "kernel": kernels()}
    seeds |= {target: noise(target) for target in ("gps", "insn", "mailbox", "rings", "state", "stream")}
    for target, inputs in seeds.items():
        (output / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (output / target / name).write_bytes(data)
        print(f"{target}: {len(inputs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
