#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Custom operators as their users build them, as TAP: the public interface's parts, and what goes wrong.

usage: custom_ops.py ROOT GPS_RUN NEURONX_CC NEURON_RUN

The oracle of results is NumPy, of places the sources. Without the cross compiler the test is skipped.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tap import Tap

ROOT, GPS_RUN, NEURONX_CC, NEURON_RUN = (Path(a).resolve() for a in sys.argv[1:5])
BUILD = ROOT / "tools" / "neuron-custom-op" / "neuron-custom-op"
SOURCES = ROOT / "tests" / "conformance" / "operators"
TYPES = {"float32": "fp32", "int32": "int32", "uint16": "bf16", "float16": "fp16"}


def run(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=check)


def operate(work: Path, name: str, args: list[object], out: np.ndarray) -> tuple[np.ndarray, subprocess.CompletedProcess[str]]:
    words: list[str] = []
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray):
            a.tofile(work / f"in{i}")
            words.append(f"in:{TYPES[a.dtype.name]}:{'x'.join(map(str, a.shape))}:{work / f'in{i}'}")
        else:
            words.append(f"scalar:{a}")
    words.append(f"out:{TYPES[out.dtype.name]}:{'x'.join(map(str, out.shape))}:{work / 'out'}")
    (work / "out").unlink(missing_ok=True)
    done = run(GPS_RUN, work / "lib.elf", name, *words, check=False)
    got = np.fromfile(work / "out", out.dtype).reshape(out.shape) if (work / "out").exists() else out
    return got, done


def near(tap: Tap, title: str, got: np.ndarray, want: np.ndarray, tolerance: float = 0) -> None:
    good = np.allclose(got, want, rtol=tolerance, atol=0) if tolerance else np.array_equal(got, want)
    tap.ok(good, title, f"got {got.ravel()[:8]}", f"want {want.ravel()[:8]}")


def bf16(x: np.ndarray) -> np.ndarray:
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def check_interface(tap: Tap, work: Path, *options: str) -> None:
    rng = np.random.default_rng(1)
    run(BUILD, *options, "-o", work / "lib.elf", "--function", "streams", SOURCES / "interface.cpp")
    x = rng.standard_normal(3000).astype(np.float32)
    got, _ = operate(work, "streams", [x], np.zeros_like(x))
    near(tap, "stream accessors, of a source without a word of ours", got, x * 2)
    m = rng.standard_normal((11, 30)).astype(np.float32)
    got, _ = operate(work, "accessors", [m], np.zeros((30, 11), np.float32))
    near(tap, "accessors, and a tensor of the operator's own as its result", got, m.T)
    a, b = x[:1000], rng.standard_normal(1000).astype(np.float32)
    got, _ = operate(work, "arithmetic", [a, b], np.zeros_like(a))
    t = np.clip((np.abs(a) * b + np.float32(1) - np.float32(3)) / np.float32(2), np.float32(-4), np.float32(4))
    near(tap, "element-wise operations", got, np.maximum(t, np.minimum(a, b)))
    got, _ = operate(work, "functions", [a], np.zeros_like(a))
    w = a.astype(np.float64)
    near(tap, "functions, to about an ulp each", got, (np.exp(w) + np.sqrt(np.abs(w)) + np.sin(w)) * np.floor(w), 2e-6)
    i, k = (rng.integers(-(2**31), 2**31, 700).astype(np.int32) for _ in range(2))
    got, _ = operate(work, "integers", [i, k], np.zeros_like(i))
    near(tap, "integers", got, ((i & k) + i * k) ^ ~k)
    h = bf16(a)
    got, _ = operate(work, "narrow", [h], np.zeros_like(h))
    near(tap, "bf16", got, bf16((h.astype(np.uint32) << 16).view(np.float32) * np.float32(1.5)))
    got, done = operate(work, "numbers", [2.25, -3], np.zeros(1, np.float32))
    near(tap, "numbers", got, np.array([-6.75], np.float32))
    tap.same(done.stdout, "2.250 times -3\n", "printf")
    run(BUILD, *options, "-o", work / "lib.elf", "--cores", "8", "-f", "streams", SOURCES / "interface.cpp")
    got, done = operate(work, "processors", [], np.zeros(8, np.int32))
    near(tap, "eight processors", got, np.arange(8, dtype=np.int32) * 10 + 8)
    tap.same(done.stdout, "from 0\n", "the first one's text is kept")


def check_public(tap: Tap, work: Path) -> None:
    rng = np.random.default_rng(2)
    run(BUILD, "-o", work / "lib.elf", SOURCES / "public.cpp")
    a, b = (rng.standard_normal(300).astype(np.float32) for _ in range(2))
    got, _ = operate(work, "sums", [a, b], np.zeros_like(a))
    want = a + b
    want[0] *= 10
    near(tap, "streams by their names, closed, and accessors behind them", got, want)
    h = np.concatenate([np.arange(0, 65536, 67, dtype=np.uint16), np.uint16([0x7BFF, 0xFC00, 0x0001, 0x8000, 0x7D00])]).view(np.float16)
    got, _ = operate(work, "halves", [h], np.zeros_like(h))
    with np.errstate(over="ignore", invalid="ignore"):
        want = (h.astype(np.float32) * np.float32(1.5)).astype(np.float16)
    same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(want) & (got.view(np.uint16) == 0x7E00))
    tap.ok(bool(same.all()), "kHalf", f"{h[~same][:4]} {got[~same][:4]} {want[~same][:4]}")
    x, y = (rng.integers(-100, 100, (7, 9)).astype(np.float32) for _ in range(2))
    got, _ = operate(work, "scaled", [x, y], np.zeros_like(x))
    near(tap, "alpha, eye, fill_", got, x + 2 * y - 2 + np.eye(7, 9, dtype=np.float32) - 6)
    n = np.arange(-20, 20, dtype=np.float32)
    got, _ = operate(work, "powers", [n], np.zeros_like(n))
    near(tap, "powers of a number, log2", got, n, 1e-6)
    i = rng.integers(-(2**31), 2**31, 100).astype(np.int32)
    got, _ = operate(work, "bits", [i], np.zeros_like(i))
    near(tap, "bits of a number", got, 256 | (0x0F0F & i))
    got, done = operate(work, "told", [a], np.zeros(1, np.float32))
    near(tap, "coherence policies", got, np.array([7], np.float32))
    tap.ok(done.stdout.count("open stream") == 1, "a verbose one tells", done.stdout)
    _, done = operate(work, "asserts", [], np.zeros(3, np.float32))
    said = done.stdout + done.stderr
    tap.ok(done.returncode == 1 and "assertion failed: out.dim() == 2" in said, "assert()", said)


def check_vector(tap: Tap, work: Path) -> None:
    if not shutil.which("clang"):
        tap.ok(True, "vectors # SKIP clang is missing")
        return
    x = np.random.default_rng(1).integers(-1000, 1000, 1537).astype(np.float32)
    half, want = x.astype(np.int16), np.zeros_like(x)
    want[: (x > 0).sum()] = x[x > 0]
    run(BUILD, "--vector", "-o", work / "lib.elf", SOURCES / "vector.c")
    for name, result in (("loop", x * 3 + x[::-1]), ("narrow", np.where(half * half.astype(np.int8).astype(np.int32) > 100, half, half.astype(np.int8) - 1.0)),
                         ("intrinsics", want)):  # fmt: skip
        got, done = operate(work, name, [x], np.zeros_like(x))
        near(tap, f"vectors: {name}", got, result.astype(np.float32))
    check_interface(tap, work, "--vector")


def check_wrong(tap: Tap, work: Path) -> None:
    text = (SOURCES / "wrong.cpp").read_text().splitlines()
    causes = {"index": 8, "recursion": 6, "wild": 3, "null": 6, "large": 8, "streams": 8, "input": 7, "types": 8, "endless": 9, "incoherent": 8}
    inlined = {"index", "large", "streams", "input", "types", "incoherent"}  # the place is in the header's function
    run(BUILD, "-o", work / "lib.elf", SOURCES / "wrong.cpp")
    for name, cause in causes.items():
        args = [np.zeros(10, np.float32)] if name == "input" else []
        _, done = operate(work, name, args, np.zeros(10, np.float32))
        line = next(i for i, t in enumerate(text, 1) if t.endswith(f"HERE {name}"))
        said = done.stderr.strip()
        place = name in inlined or any(f"wrong.cpp:{i}" in said for i in (line, line + 1, line + 2))
        tap.ok(done.returncode == 1 and f"code 20 cause {cause} " in said and place, f"{name}: {said.split(': ')[-1]}", said, done.stdout)


def check_tool(tap: Tap, work: Path) -> None:
    done = run(BUILD, "--help")
    tap.ok(done.stdout.startswith("Usage: neuron-custom-op"), "--help")
    for words in (["--cores", "9", "x.c"], ["--stack", "x", "x.c"], ["--bad", "x.c"], [], ["-o"]):
        done = run(BUILD, *words, check=False)
        tap.ok(done.returncode == 2 and "--help" in done.stderr, f"bad usage: {' '.join(words)}", done.stderr)
    (work / "empty.c").write_text("int x;\n")
    done = run(BUILD, "-o", work / "none.elf", work / "empty.c", check=False)
    tap.ok(done.returncode == 1 and "no operator" in done.stderr and not (work / "none.elf").exists(), "a source without an operator", done.stderr)
    (work / "syntax.c").write_text("int x\n")
    done = run(BUILD, "-o", work / "none.elf", work / "syntax.c", check=False)
    tap.ok(done.returncode == 1 and "syntax.c:1" in done.stderr, "a source that is none", done.stderr)
    (work / "large.c").write_text("#include <neuron/custom_op.h>\nstatic volatile char a[60000];\nNEURON_CUSTOM_OP(x) { a[0] = 1; }\n")
    done = run(BUILD, "-o", work / "none.elf", work / "large.c", check=False)
    tap.ok(done.returncode == 1 and "TCM" in done.stderr, "more data than the TCM has", done.stderr)


def check_example(tap: Tap, work: Path) -> None:
    build = NEURON_RUN.parent.parent
    done = subprocess.run([ROOT / "examples" / "custom_op" / "run", work], capture_output=True, text=True, check=False,
                          env={"BUILD": str(build), "PYTHON": sys.executable, "PATH": "/usr/bin:/bin"})  # fmt: skip
    tap.ok(done.returncode == 0 and "bit for bit NumPy's" in done.stdout, "examples/custom_op", done.stdout, done.stderr)
    tap.ok("GPSIMD" in done.stderr and "cumulative: 16 rows of 100" in done.stderr, "the log has what an operator prints", done.stderr)
    model = work / "model.hlo.pb"
    for target, library, says in (("inf1", work / "custom_ops.elf", "no processors"), ("trn1", None, "--custom-ops"),
                                  ("trn1", work / "lib.elf", "has no custom operator 'cumulative'"), ("trn1", "/bin/true", "not an ELF file")):  # fmt: skip
        words = ["--custom-ops", library] if library else []
        done = run(NEURONX_CC, "compile", "--framework", "XLA", model, "--target", target, *words, "-o", work / "x.neff", check=False)
        tap.ok(done.returncode == 1 and says in done.stderr, f"refused: {says}", done.stderr)
    for words in (["-O", "1"], ["--neuroncore-pipeline-cores", "2"]):
        run(NEURONX_CC, "compile", "--framework", "XLA", model, "--target", "trn1", *words, "--custom-ops", work / "custom_ops.elf", "-o", work / "x.neff")
        run(NEURON_RUN, work / "x.neff", "--device", "emu:trn1.2xlarge", "--input", f"input0={work / 'x.npy'}", "--output-dir", work / "other")
        same = (work / "other" / "output0.npy").read_bytes() == (work / "output0.npy").read_bytes()
        tap.ok(same, f"the same bits with {' '.join(words)}")
    for target in ("inf2", "trn2"):
        run(NEURONX_CC, "compile", "--framework", "XLA", model, "--target", target, "--custom-ops", work / "custom_ops.elf", "-o", work / "x.neff")
        device = {"inf2": "inf2.xlarge", "trn2": "trn2.3xlarge"}[target]
        run(NEURON_RUN, work / "x.neff", "--device", f"emu:{device}", "--input", f"input0={work / 'x.npy'}", "--output-dir", work / target)
        same = (work / target / "output0.npy").read_bytes() == (work / "output0.npy").read_bytes()
        tap.ok(same, f"the same bits on {target}")


def told(name: str) -> str:
    return f'name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 16 }} dim {{ dim_value: 100 }} }} }} }}'


def check_onnx(tap: Tap, work: Path) -> None:
    def node(op: str, domain: str, inputs: list[str], output: str) -> str:
        given = " ".join(f'input: "{i}"' for i in inputs)
        return f'node {{ {given} output: "{output}" op_type: "{op}" domain: "{domain}" }}'

    nodes = [node("cumulative", "neuron", ["x"], "sums"), node("hardswish", "neuron", ["sums", "half"], "swish"), node("Add", "", ["swish", "x"], "y")]
    text = f"""ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: "neuron" version: 1 }}
graph {{ name: "g" {" ".join(nodes)} initializer {{ data_type: 1 name: "half" float_data: 0.5 }}
input {{ {told("x")} }} output {{ {told("y")} }} value_info {{ {told("sums")} }} value_info {{ {told("swish")} }} }}"""

    def compile_text(text: str, *words: object) -> subprocess.CompletedProcess[str]:
        encode = ["protoc", f"--proto_path={ROOT / 'compiler/frontend/onnx'}", "--encode=ncc.onnx.Model", "onnx.proto"]
        (work / "m.onnx").write_bytes(subprocess.run(encode, input=text.encode(), capture_output=True, check=True).stdout)
        return run(NEURONX_CC, "compile", "--framework", "ONNX", work / "m.onnx", "--target", "trn1", *words, "-o", work / "o.neff", check=False)

    library = ["--custom-ops", work / "custom_ops.elf"]
    done = compile_text(text, *library)
    tap.ok(done.returncode == 0, "an ONNX model", done.stderr)
    run(NEURON_RUN, work / "o.neff", "--device", "emu:trn1.2xlarge", "--input", f"input0={work / 'x.npy'}", "--output-dir", work / "onnx")
    tap.ok((work / "onnx" / "output0.npy").read_bytes() == (work / "output0.npy").read_bytes(), "gives the same bits")
    done = compile_text(text)
    tap.ok(done.returncode == 1 and "--custom-ops" in done.stderr, "refused: no library", done.stderr)
    done = compile_text(text.replace('op_type: "cumulative"', 'op_type: "other"'), *library)
    tap.ok(done.returncode == 1 and "no such custom operator" in done.stderr, "refused: another name", done.stderr)
    done = compile_text(text.replace(f"value_info {{ {told('sums')} }}", ""), *library)
    tap.ok(done.returncode == 1 and "does not tell the shape" in done.stderr, "refused: no shape", done.stderr)


def check_fault(tap: Tap, work: Path) -> None:
    source = work / "fault.c"
    source.write_text("#include <neuron/custom_op.h>\nNEURON_CUSTOM_OP(cumulative)\n{\n\t*(volatile int *)0x20000 = 1;\n}\n"
                      'NEURON_CUSTOM_OP(hardswish)\n{\n\tneuron_printf("one\\n");\n\tneuron_fail("bad %d", 7);\n}\n')  # fmt: skip
    run(BUILD, "-o", work / "fault.elf", source)

    def execute(model: str) -> subprocess.CompletedProcess[str]:
        run(NEURONX_CC, "compile", "--framework", "XLA", work / model, "--target", "trn1", "--custom-ops", work / "fault.elf", "-o", work / "f.neff")
        return run(NEURON_RUN, work / "f.neff", "--device", "emu:trn1.2xlarge", "--input", f"input0={work / 'x.npy'}", "--output-dir", work, check=False)

    done = execute("model.hlo.pb")
    tap.ok(done.returncode and "store to no memory at 0x20000 in neuron_op_cumulative fault.c:4" in done.stderr, "a fault's function and line", done.stderr)
    text = (ROOT / "examples" / "custom_op" / "model.txt").read_text().replace("neuron:cumulative", "neuron:hardswish")
    (work / "swish.txt").write_text(text)
    with open(work / "swish.txt") as stdin, open(work / "swish.hlo.pb", "wb") as stdout:
        subprocess.run(["protoc", f"--proto_path={ROOT / 'compiler/frontend/hlo'}", "--encode=ncc.hlo.Module", "hlo.proto"], stdin=stdin, stdout=stdout, check=True)
    done = execute("swish.hlo.pb")
    tap.ok(done.returncode and "failed: bad 7 in neuron_op_hardswish fault.c:9" in done.stderr, "an operator's own message", done.stderr)


def main() -> int:
    tap = Tap()
    if not shutil.which("riscv64-unknown-elf-g++"):
        print("1..0 # SKIP riscv64-unknown-elf-g++ is missing (scripts/install-deps --custom-ops)")
        return 0
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        check_tool(tap, work)
        check_interface(tap, work)
        check_public(tap, work)
        check_vector(tap, work)
        check_wrong(tap, work)
        check_example(tap, work)
        check_onnx(tap, work)
        check_fault(tap, work)
    tap.done()
    return 0


sys.exit(main())
