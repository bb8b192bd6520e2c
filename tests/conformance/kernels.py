#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Hand-written kernels as their users call them, as TAP: results, the program around them, and what is refused.

usage: kernels.py ROOT NEURONX_CC NEURON_RUN

The oracle of results is NumPy. Kernels are tests/conformance/kernels/*.s and the example's.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tap import Tap

ROOT, NEURONX_CC, NEURON_RUN = (Path(a).resolve() for a in sys.argv[1:4])
KERNELS = ROOT / "tests" / "conformance" / "kernels"
JAX = ROOT / "tests" / "data" / "hlo_kernels"
EXAMPLE = ROOT / "examples" / "kernel"
DEVICES = {"inf1": "inf1.xlarge", "inf2": "inf2.xlarge", "trn1": "trn1.2xlarge", "trn2": "trn2.3xlarge"}
TYPES = {"int8": 2, "int32": 4, "uint16": 7, "uint32": 8, "float16": 10, "float32": 11}
Spec = tuple[str, tuple[int, ...]]  # an array's type and shape


def run(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return done


def encode(work: Path, text: str, kind: str = "hlo.Module") -> Path:
    proto = kind.split(".")[0]
    words = ["protoc", f"--proto_path={ROOT / 'compiler/frontend' / proto}", f"--encode=ncc.{kind}", f"{proto}.proto"]
    file = work / f"model.{proto}"
    file.write_bytes(subprocess.run(words, input=text.encode(), capture_output=True, check=True).stdout)
    return file


def shape(specs: list[Spec]) -> str:
    def one(s: Spec) -> str:
        return f"element_type: {TYPES[s[0]]} " + " ".join(f"dimensions: {d}" for d in s[1])

    return one(specs[0]) if len(specs) == 1 else "element_type: 13 " + " ".join(f"tuple_shapes {{ {one(s)} }}" for s in specs)


class Module:
    """An HLO module as text: parameters, then what is added."""

    def __init__(self, inputs: list[Spec]) -> None:
        self.lines: list[str] = []
        self.inputs = inputs
        for i, spec in enumerate(inputs):
            self.add("parameter", [], [spec], f"parameter_number: {i}")

    def add(self, opcode: str, operands: list[int], result: list[Spec], more: str = "") -> int:
        n = len(self.lines) + 1
        ids = " ".join(f"operand_ids: {o}" for o in operands)
        self.lines.append(f'instructions {{ name: "i{n}" opcode: "{opcode}" id: {n} {ids} {more} shape {{ {shape(result)} }} }}')
        self.result = result
        return n

    def call(self, kernel: str, operands: list[int], result: list[Spec]) -> int:
        return self.add("custom-call", operands, result, f'custom_call_target: "neuron:{kernel}"')

    def text(self) -> str:
        parameters = " ".join(f"parameters {{ {shape([s])} }}" for s in self.inputs)
        program = f"{parameters} result {{ {shape(self.result)} }}"
        return (f'name: "m" entry_computation_name: "main" entry_computation_id: 1 id: 1 computations {{ name: "main" id: 1 '
                f'root_id: {len(self.lines)} {" ".join(self.lines)} program_shape {{ {program} }} }} host_program_shape {{ {program} }}')  # fmt: skip


def spec(x: np.ndarray) -> Spec:
    return x.dtype.name, x.shape


def calling(kernel: str, inputs: list[np.ndarray], results: list[Spec]) -> str:
    m = Module([spec(x) for x in inputs])
    m.call(kernel, list(range(1, len(inputs) + 1)), results)
    return m.text()


def compile_(work: Path, model: str | Path, target: str, kernels: list[Path], *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    options = [w for k in kernels for w in ("--kernels", k)]
    file = encode(work, model) if isinstance(model, str) else model
    return run(NEURONX_CC, "compile", "--framework", "XLA", file, "--target", target, *options, *words, "-o", work / "m.neff", check=check)


def execute(work: Path, inputs: list[np.ndarray], target: str) -> list[np.ndarray]:
    words: list[object] = []
    for i, x in enumerate(inputs):
        np.save(work / f"in{i}.npy", x)
        words += ["--input", f"input{i}={work / f'in{i}.npy'}"]
    for old in work.glob("output*.npy"):
        old.unlink()
    run(NEURON_RUN, work / "m.neff", "--device", f"emu:{DEVICES[target]}", *words, "--output-dir", work)
    return [np.load(p) for p in sorted(work.glob("output*.npy"))]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    w = x.astype(np.float64)
    return w / np.sqrt((w * w).mean(axis=1, keepdims=True) + 1e-5) * gain


def top8(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = np.argsort(-x, axis=1, kind="stable")[:, :8]
    return np.take_along_axis(x, places, 1), places.astype(np.uint32)


class Case:
    """A kernel, its inputs, what NumPy says, and by how much a result may differ, relatively; 0: equal."""

    def __init__(self, name: str, inputs: list[np.ndarray], want: tuple[np.ndarray, ...], tolerance: float, targets: str, file: Path | None = None) -> None:
        self.name, self.inputs, self.want, self.tolerance, self.targets = name, inputs, want, tolerance, targets.split()
        self.file = file or KERNELS / f"{name}.s"
        self.text = calling(name, inputs, [spec(w.astype(np.float32) if w.dtype == np.float64 else w) for w in want])


def sparse(rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Weights, tags and what they multiply; the product of the dense matrix that they stand for"""
    w, x = (rng.integers(-8, 9, s).astype(np.float16) for s in ((64, 32), (128, 96)))
    tag = np.array([[rng.permutation(4)[:2] for _ in range(32)] for _ in range(32)]).transpose(0, 2, 1).reshape(64, 32)
    dense = np.zeros((128, 32), np.float32)
    for k, r in np.ndindex(64, 32):
        dense[4 * (k // 2) + tag[k, r], r] += w[k, r]
    words = (tag.reshape(64, 8, 4) << np.array([0, 4, 8, 12])).sum(axis=2).astype(np.uint16)
    return [w, words, x], dense.T @ x.astype(np.float32)


def cases() -> list[Case]:
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((256, 512)).astype(np.float32) for _ in range(2))
    gain = rng.uniform(0.5, 2, 384).astype(np.float32)
    rows = np.ascontiguousarray(x[:128, :384])
    a, b = (rng.integers(-8, 9, s).astype(np.float16) for s in ((128, 256), (256, 512)))
    narrow = rng.integers(-60, 61, (128, 60)).astype(np.float16) / 8
    heads = [rng.standard_normal((512, 64)).astype(np.float32) for _ in range(3)]
    attention = softmax(heads[0].astype(np.float64) @ heads[1].T / 8) @ heads[2]
    quarters = [rng.integers(-8, 9, (64, 64)).astype(np.float32) for _ in range(4)]
    whole = rng.integers(-100, 100, (128, 200)).astype(np.float32)
    few = np.round(y[:128] * 8).astype(np.float32)  # with many equal ones
    of_sparse, dense = sparse(rng)
    mask = np.where(np.arange(128)[:, None] >= np.arange(128)[None], y[:128, :128], np.float32(-9984)).astype(np.float32)
    return [
        Case("softmax", [x], (softmax(x),), 515 * 2.0**-24, "inf1 inf2 trn1 trn2", EXAMPLE / "kernels.s"),
        Case("top8", [few], top8(few), 0, "inf2 trn1 trn2", EXAMPLE / "kernels.s"),
        Case("rms_norm", [rows, gain], (rms_norm(rows, gain),), 390 * 2.0**-24, "inf1 trn1 trn2"),
        Case("product", [a, b], (a.astype(np.float32) @ b.astype(np.float32),), 0, "inf1 trn1 trn2"),
        Case("attention", heads, (attention,), 660 * 2.0**-24, "inf2 trn1 trn2"),
        Case("turned", [rows, narrow], (rows[:, :60].T.copy(), narrow.astype(np.float32)), 0, "inf2 trn1 trn2"),
        Case("quarters", quarters, (quarters[0].T @ quarters[1], quarters[2].T @ quarters[3]), 0, "trn1 trn2"),
        Case("sums", [whole], (np.cumsum(whole, axis=1, dtype=np.float32),), 0, "trn1 trn2"),
        Case("sparse", of_sparse, (dense,), 0, "trn2"),
        Case("ramp", [], (np.arange(128 * 200, dtype=np.int32).reshape(128, 200),), 0, "inf2 trn1 trn2"),
        Case("causal", [np.ascontiguousarray(y[:128, :128])], (mask,), 0, "trn1 trn2"),
    ]  # fmt: skip


def check_results(tap: Tap, work: Path) -> None:
    for case in cases():
        first: list[np.ndarray] = []
        for target in case.targets:
            compile_(work, case.text, target, [case.file])
            got = execute(work, case.inputs, target)
            if case.tolerance:
                good = all(np.abs(g - w).max() <= case.tolerance * np.abs(w).max() and g.shape == w.shape for g, w in zip(got, case.want, strict=True))
            else:
                good = all(np.array_equal(g, w) and g.dtype == w.dtype for g, w in zip(got, case.want, strict=True))
            tap.ok(good, f"{case.name} on {target}", f"got {got[0].ravel()[:8]}", f"want {case.want[0].ravel()[:8]}")
            first = first or got
            tap.ok(all(np.array_equal(g, f) for g, f in zip(got, first, strict=True)), f"{case.name} on {target}: the same bits")


def check_around(tap: Tap, work: Path) -> None:
    """A kernel leaves the program's data in SBUF; the order of all is the compiler's; options change nothing."""
    rng = np.random.default_rng(4)
    x = rng.integers(-9, 9, (128, 2048)).astype(np.float32)
    f32 = ("float32", (128, 2048))
    m = Module([f32])
    kept = [m.add("add", [1, 1], [f32])]
    for _ in range(3):
        kept.append(m.add("add", [kept[-1], 1], [f32]))
    once = m.call("wide", [kept[0]], [f32])
    twice = m.call("wide", [once], [f32])
    total = m.add("multiply", [twice, kept[1]], [f32])
    for k in [kept[2], kept[3], once, 1]:
        total = m.add("add", [total, k], [f32])
    wide = x * 2 + 1
    want = (wide + 1) * (x * 3) + x * 4 + x * 5 + wide + x
    for target, words in (("trn1", []), ("inf1", []), ("trn2", ["--lnc", "2"]), ("trn1", ["-O", "1"]), ("trn1", ["--neuroncore-pipeline-cores", "2"])):
        compile_(work, m.text(), target, [KERNELS / ("narrow.s" if target == "inf1" else "wide.s")], *words)
        got = execute(work, [x], target)
        tap.ok(np.array_equal(got[0], want), f"among others, {' '.join([target, *words])}", f"got {got[0].ravel()[:8]}", f"want {want.ravel()[:8]}")


def check_constants(tap: Tap, work: Path) -> None:
    """Constants as operands, compressed or not; one of them is a number"""
    x = np.random.default_rng(7).integers(-9, 9, (128, 1024)).astype(np.float32)
    row = np.where(np.arange(1024) % 64 < 60, 0, np.arange(1024)).astype(np.float32)
    m = Module([spec(x)])
    number = m.add("constant", [], [("float32", ())], "literal { shape { element_type: 11 } f32s: 3 }")
    values = " ".join(f"f32s: {v}" for v in row)
    b = m.add("constant", [], [("float32", (1024,))], f"literal {{ shape {{ element_type: 11 dimensions: 1024 }} {values} }}")
    m.call("scaled", [1, number, b], [spec(x)])
    for target, words in (("inf1", []), ("trn1", []), ("trn1", ["--compress-constants"])):
        compile_(work, m.text(), target, [KERNELS / "scaled.s"], *words)
        got = execute(work, [x], target)
        tap.ok(np.array_equal(got[0], x * 3 + row), f"constants, {' '.join([target, *words])}", f"got {got[0].ravel()[:8]}")


def check_jax(tap: Tap, work: Path) -> None:
    """Calls of kernels as JAX exports them: typed ones, with tuples, and in a loop, which is the host's on inf1"""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((256, 512)).astype(np.float32)
    p = softmax(x)[:128]
    values, places = top8(p)
    compile_(work, JAX / "best.hlo.pb", "trn1", [EXAMPLE / "kernels.s"])
    got = execute(work, [x], "trn1")
    tap.ok(np.abs(got[0] / 2 / values - 1).max() < 515 * 2.0**-24 and np.array_equal(got[1], places + 1), "JAX's calls", f"got {got[0].ravel()[:8]}")
    y = rng.integers(-9, 9, (128, 2048)).astype(np.float32)
    for target in ("trn1", "inf1"):
        compile_(work, JAX / "loop.hlo.pb", target, [KERNELS / ("narrow.s" if target == "inf1" else "wide.s")])
        for n in (0, 5):
            want = y
            for _ in range(n):
                want = (want + 1) * 2
            got = execute(work, [y, np.array(n, np.int32)], target)
            tap.ok(np.array_equal(got[0], want), f"in a loop of {n} iterations on {target}", f"got {got[0].ravel()[:8]}")


REFUSED: list[tuple[str, str, str, str]] = [
    # what changes in kernels/small.s, to what; what is said; the target
    ("dst=t[0,0]:fp32[1:8]", "dst=t[0,0]:fp32[1:9]", "small.s:10): tensor_copy: ", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=t[0,0]:fp32[2:8]", "tensor_copy: writes bytes 0 to 59 of partitions 0 to 15 of the area 't', which has 16 partitions of 32 bytes", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=t[0,28]:fp32[-2:8]", "writes bytes -28 to 31 of partitions 0 to 15 of the area 't'", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=t[0,32]:fp32[1:8]", "area 't' has 16 partitions of 32 bytes, no [0,32]", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=t[16,0]:fp32[1:8]", "no [16,0]", "trn1"),
    ("vector tensor_copy p=16", "vector tensor_copy p=32", "partitions 0 to 31 of the area 's', which has 16", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=sbuf[0,0]:fp32[1:8]", "an area's name[partition,byte] is expected at 'sbuf[0,0]", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=window[0]:fp32[1:8]", "an area's name", "trn1"),
    ("dst=t[0,0]:fp32[1:8]", "dst=u[0,0]:fp32[1:8]", "an area's name", "trn1"),
    ("src0=s[0,0]:fp32[1:8]", "src0=s[0,0]:fp32[1:8] $S[3]>=1", "tensor_copy: a wait or an update", "trn1"),
    ("src0=s[0,0]:fp32[1:8]", "src0=s[0,0]:fp32[1:8] $S[30]++@complete", "semaphores and events are not its own", "trn1"),
    ("src0=s[0,0]:fp32[1:8]", "src0=s[0,0]:fp32[1:8] $E[3]=1@complete", "semaphores and events are not its own", "trn1"),
    ("src0=s[0,0]:fp32[1:8]", "src0=s[0,0]:fp32[1:8] patch0=dst:r1*4", "tensor_copy: a patch; a kernel has no registers", "trn1"),
    ("vector tensor_copy", "sync tensor_copy", "'sync', expected dma, tensor", "trn1"),
    ("vector tensor_copy p=16", "tensor tensor_copy p=16", "tensor_copy: ", "trn1"),
    ("vector tensor_copy p=16", "gpsimd tensor_copy p=16", "the target 'inf1' has no GpSimd engine", "inf1"),
    ("; more", "vector max8 p=16 dst=t[0,0]:fp32[1:8] src0=s[0,0]:fp32[1:8]", "max8: of NeuronCore-v2 and later, the target 'inf1' has NeuronCore-v1", "inf1"),
    ("; more", "vector range_select p=16 dst=t[0,0]:fp32[1:8] src0=s[0,0]:fp32[1:8] scalar0=@s[0,0]:fp32 scalar1=@s[0,0]:fp32 op0=ge op1=lt",
     "range_select: of NeuronCore-v3 and later, the target 'neuroncore-v2' has NeuronCore-v2", "trn1"),
    ("; more", "tensor matmul p=16 dst=acc[0,0]:fp32[1:8] src0=s[0,0]:fp32[1:8]", "matmul: ", "trn1"),
    ("; more", "tensor move rd=r1 b=2", "move: not an instruction of a kernel", "trn1"),
    ("; more", "vector write write0=0x100:1", "write: not an instruction of a kernel", "trn1"),
    ("; more", "vector sem_range_clear range=0:31", "sem_range_clear: not an instruction of a kernel", "trn1"),
    ("; more", "vector notify id=1", "notify: not an instruction of a kernel", "trn1"),
    ("; more", "gpsimd tensor_store b=1 at=sbuf[0,0]:int32", "an area's name", "trn1"),
    ("; more", "vector nonsense", "unknown instruction 'nonsense'", "trn1"),
    ("; more", "vector", "an instruction is expected", "trn1"),
    ("; more", "dma p=16 from=s[0,0]:fp32[1:8] to=x[0]:fp32[8:16,1:8]", "to the input 'x', expected an output or an area", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:16,1:8] to=acc[0,0]:fp32[1:8]", "an area in PSUM", "trn1"),
    ("; more", "dma p=16 from=x[1]:fp32[8:16,1:8] to=s[0,0]:fp32[1:8]", "elements 1 to 128 of 'x', which has 0 to 127", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[-8:16,1:8] to=s[0,0]:fp32[1:8]", "elements -120 to 7 of 'x'", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:16,1:8] to=s[0,4]:fp32[1:8]", "bytes 4 to 35 of partitions 0 to 15 of the area 's'", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:16,1:8] to=s[1,0]:fp32[1:8]", "partitions 1 to 16 of the area 's'", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:8,1:8] to=s[0,0]:fp32[1:8]", "64 elements from, 128 to", "trn1"),
    ("; more", "dma p=16 from=x[0]:int32[8:16,1:8] to=s[0,0]:int32[1:8]", "'x' is of type fp32", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:16,1:8] to=s[0,0]:bf16[1:8]", "dma: a conversion; DMA engines of the target 'inf1' only copy", "inf1"),
    ("; more", "dma p=8 from=x[0]:fp32[1:128] to=s[0,0]:fp32[1:16] transpose=16:8", "bytes 0 to 63 of partitions 0 to 7 of the area 's'", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[1:128] to=s[0,0]:fp32[1:8] transpose=8:16", "dma: a transpose; DMA engines of the target 'inf1' only copy", "inf1"),
    ("; more", "dma p=16 from=x[0]:fp32[1:128] to=s[0,0]:fp32[1:8] transpose=8:8", "transpose=8:8 is of another number of elements", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[1:128] to=s[0,0]:fp32[1:8] transpose=0:8", "a transpose of nothing", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[1:128] to=s[0,0]:bf16[1:8] transpose=8:16", "a transpose is of one type of 2 or 4 bytes", "trn1"),
    ("; more", ".sbuf w 128 32\ndma p=128 from=x[0]:fp32[0:8,1:128] to=w[0,0]:fp32[1:8] transpose=8:128", "a transpose of 8 pieces to 128, expected at most 65", "trn1"),
    ("; more", ".sbuf w 16 8192\ndma p=16 from=x[0]:fp32[0:256,1:128] to=w[0,0]:fp32[1:2048] transpose=256:128", "a transpose is of at most 65536 bytes", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[8:16,1:8] to=s[0,0]:fp32[1:2,2:2,4:2]", "more than 3 dimensions", "trn1"),
    ("; more", "dma from=x[0]:fp32[1:2,4:2,16:2,64:2,8:1] to=s[0,0]:fp32[1:8]", "at most 4 pairs", "trn1"),
    ("; more", "dma p=16 from=x[0]:fp32[4611686018427387904:16,1:8] to=s[0,0]:fp32[1:8]", "out of range", "trn1"),
    ("; more", "dma p=16 to=s[0,0]:fp32[1:8]", "from= and to= are expected", "trn1"),
    ("; more", ".sbuf s 16 32", "the name 's' is taken", "trn1"),
    ("; more", ".sbuf psum 16 32", "the name 'psum' is taken", "trn1"),
    ("; more", ".sbuf 9 16 32", "expected a name", "trn1"),
    ("; more", ".sbuf w 129 32", "129, expected 1 to 128", "trn1"),
    ("; more", ".sbuf w 16 0x40000", "the areas exceed the 262144 bytes of a partition", "trn1"),
    ("; more", ".sbuf w 16 200000", "its areas take 200128 bytes of a partition of SBUF", "trn1"),
    ("; more", ".psum w 16 0x4000", "the areas exceed the 16384 bytes of a partition", "trn1"),
    ("; more", ".output z fp32[16]", "nothing writes the output 'z'", "trn1"),
    ("; more", ".output z bf16[8]\ndma from=z[0]:bf16[1:8] to=z[0]:bf16[1:8]", "elements of two sizes", "trn1"),
    ("; more", ".input z fp64[16]", "'fp64' is no type of tensors", "trn1"),
    ("; more", ".input z fp32[0]", "0, expected 1 to", "trn1"),
    ("; more", ".input z fp32[2", "expected type[dimension,...]", "trn1"),
    ("; more", ".set n {1/0}", "division by 0", "trn1"),
    ("; more", ".set n 1+(2", "')' is expected", "trn1"),
    ("; more", ".set n 0x7fffffffffffffff+1", "too large a number", "trn1"),
    ("; more", ".set n m", "no number is named 'm'", "trn1"),
    ("; more", ".set n {1", "'}' is expected", "trn1"),
    ("; more", ".for i 0 4", "no '.end'", "trn1"),
    ("; more", ".for i 0 2000000\n.end", "the loops execute more than 1048576 lines", "trn1"),
    ("; more", ".for i 0 70000\nvector memset p=16 dst=t[0,0]:fp32[1:1] scalar0=1\n.end", "more than 65536 instructions", "trn1"),
    ("; more", "".join(f".for i{n} 0 1\n" for n in range(9)) + ".end\n" * 9, "more than 8 loops and choices in each other", "trn1"),
    ("; more", ".if 1", "no '.end'", "trn1"),
    ("; more", ".else", "'.else', expected", "trn1"),
    ("; more", ".if 0\n.else\nnonsense\n.end", "'nonsense', expected", "trn1"),
    ("; more", ".if 7\nnonsense\n.else\n.end", "'nonsense', expected", "trn1"),
    ("; more", ".mystery", "'.mystery', expected dma", "trn1"),
    (".kernel small", ".kernel small more", "expected .kernel NAME", "trn1"),
    (".kernel small", ".kernel 1", "expected .kernel NAME", "trn1"),
    (".kernel small", ".kernel other", "no kernel is named 'small' (--kernels)", "trn1"),
    (".input x fp32[16,8]", ".input x fp32[8,16]", "operand 0, 'x', is f32[16,8], expected f32[8,16]", "trn1"),
    (".output y fp32[16,8]", ".output y uint32[16,8]", "'y' is of type uint32", "trn1"),
    (".output y fp32[16,8]", ".output y fp32[8,16]", "result 0, 'y', is f32[16,8], expected f32[8,16]", "trn1"),
    ("; more", ".input z fp32[2]", "1 operands, expected 2", "trn1"),
    ("; more", ".output z fp32[8]\ndma from=x[0]:fp32[1:8] to=z[0]:fp32[1:8]", "1 results, it has 2", "trn1"),
    ("; more", ".input z uint32[2]", "'z' is of a type that the target 'inf1' has not", "inf1"),
]  # fmt: skip


def check_refused(tap: Tap, work: Path) -> None:
    small = (KERNELS / "small.s").read_text()
    model = calling("small", [np.zeros((16, 8), np.float32)], [("float32", (16, 8))])
    file = work / "small.s"
    file.write_text(small)
    for target in ("inf1", "trn1"):
        done = compile_(work, model, target, [file], check=False)
        tap.ok(done.returncode == 0, f"accepted as it is for {target}", done.stderr)
    for old, new, says, target in REFUSED:
        assert old in small, old
        file.write_text(small.replace(old, new))
        (work / "m.neff").unlink(missing_ok=True)
        done = compile_(work, model, target, [file], check=False)
        good = done.returncode == 1 and says in done.stderr and not (work / "m.neff").exists()
        tap.ok(good, f"refused: {new.splitlines()[0]}", done.stderr, f"expected: {says}")
    for content, says in ((b"", "no kernel is in it"), (b"x" * 5000, "expected .kernel NAME"), (b".kernel a\n\0\n.end\n", "not a text of kernels"),
                          (b".kernel a\n.end\n", "no '.output'"), ((small + small).encode(), "there is one of this name")):  # fmt: skip
        file.write_bytes(content)
        done = compile_(work, model, "trn1", [file], check=False)
        tap.ok(done.returncode == 1 and says in done.stderr, f"refused: {says}", done.stderr)
    done = compile_(work, model, "trn1", [KERNELS / "small.s", KERNELS / "small.s"], check=False)
    tap.ok(done.returncode == 1 and "there is one of this name" in done.stderr, "refused: the same file twice", done.stderr)
    done = compile_(work, model, "trn1", [work / "none.s"], check=False)
    tap.ok(done.returncode == 1 and "none.s: No such file" in done.stderr, "refused: no file", done.stderr)
    done = compile_(work, model, "trn1", [], check=False)
    tap.ok(done.returncode == 1 and "--kernels" in done.stderr, "refused: no kernels", done.stderr)


def check_onnx(tap: Tap, work: Path) -> None:
    def told(name: str, kind: int, *dims: int) -> str:
        return f'name: "{name}" type {{ tensor_type {{ elem_type: {kind} shape {{ {" ".join(f"dim {{ dim_value: {d} }}" for d in dims)} }} }} }}'

    text = f"""ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: "neuron" version: 1 }}
graph {{ name: "g" node {{ input: "x" output: "v" output: "i" op_type: "top8" domain: "neuron" }}
input {{ {told("x", 1, 128, 512)} }} output {{ {told("v", 1, 128, 8)} }} output {{ {told("i", 12, 128, 8)} }} }}"""
    x = np.random.default_rng(5).standard_normal((128, 512)).astype(np.float32)

    def compile_text(text: str) -> subprocess.CompletedProcess[str]:
        return run(NEURONX_CC, "compile", "--framework", "ONNX", encode(work, text, "onnx.Model"), "--target", "trn1",
                   "--kernels", EXAMPLE / "kernels.s", "-o", work / "m.neff", check=False)  # fmt: skip

    done = compile_text(text)
    tap.ok(done.returncode == 0, "an ONNX model", done.stderr)
    got, want = execute(work, [x], "trn1"), top8(x)
    tap.ok(np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1]), "gives NumPy's")
    done = compile_text(text.replace('"top8"', '"top9"'))
    tap.ok(done.returncode == 1 and "no kernel has this name" in done.stderr, "refused: another name", done.stderr)
    done = compile_text(text.replace('output: "i" op', "op").replace(f"output {{ {told('i', 12, 128, 8)} }}", ""))
    tap.ok(done.returncode == 1 and "1 results, it has 2" in done.stderr, "refused: one result", done.stderr)


def check_ir(tap: Tap, work: Path) -> None:
    """A text of the IR may call anything"""
    text = 'module "m"\n  %0 = f32[16,8] parameter index=0 "x"\n  %1 = f32[16,8] kernel %0 index=0 exact "k"\n  return %1\n'

    def compile_text(text: str, *words: object) -> subprocess.CompletedProcess[str]:
        (work / "m.ir").write_text(text)
        return run(NEURONX_CC, "compile", "--framework", "IR", work / "m.ir", "--target", "trn1", *words, "-o", work / "m.neff", check=False)

    kernels = ["--kernels", KERNELS / "small.s"]
    done = compile_text(text, *kernels)
    tap.ok(done.returncode == 0, "the IR's text", done.stderr)
    for other, words, says in ((text.replace("%0 index=0", "%0 index=1"), kernels, "no kernel 1 is given"), (text, [], "no kernel 0 is given"),
                               (text.replace("[16,8]", "[8,16]"), kernels, "other operands, or another result"),
                               (text.replace("%1 = f32[16,8]", "%1 = bf16[16,8]"), kernels, "other operands, or another result")):  # fmt: skip
        done = compile_text(other, *words)
        tap.ok(done.returncode == 1 and says in done.stderr, f"refused: {says}", done.stderr)


def check_example(tap: Tap, work: Path) -> None:
    build = NEURON_RUN.parent.parent
    done = subprocess.run([EXAMPLE / "run", work], capture_output=True, text=True, check=False,
                          env={"BUILD": str(build), "PYTHON": sys.executable, "PATH": "/usr/bin:/bin"})  # fmt: skip
    tap.ok(done.returncode == 0 and "places equal" in done.stdout, "examples/kernel", done.stdout, done.stderr)


def main() -> int:
    tap = Tap()
    checks: list[Callable[[Tap, Path], None]] = [check_example, check_results, check_around, check_constants, check_jax, check_onnx, check_ir, check_refused]
    with tempfile.TemporaryDirectory() as name:
        for check in checks:
            check(tap, Path(name))
    tap.done()
    return 0


sys.exit(main())
