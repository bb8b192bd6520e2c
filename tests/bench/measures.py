# SPDX-License-Identifier: MIT
"""What `make bench` measures: one row a measure, which run.py prints and performance.py writes down.

`now` is in the unit. `ratio` is now divided by the same of what is compared, so more is better where a rate
is measured and less where a time is. The goal is for now, unless it begins with "ratio".
"""

from typing import NamedTuple


class Measure(NamedTuple):
    name: str  # GROUP/WHAT
    what: str
    unit: str
    goal: str = ""  # "ratio >= 0.9", "<= 8"; none: only watched
    compared: str = ""  # what a ratio is of


M = Measure


def boot() -> list[Measure]:
    return [M(f"boot/{instance}", f"start to neuron-ls's first line, {instance}", "s", goal)
            for instance, goal in (("inf1.6xlarge", "<= 8"), ("inf1.24xlarge", "<= 12"), ("trn1.32xlarge", "<= 8"), ("trn2.48xlarge", "<= 10"))]


def memory() -> list[Measure]:
    rows = []
    for instance, goal in (("inf1.24xlarge", "<= 64"), ("trn2.48xlarge", "<= 96")):
        rows += [
            M(f"memory/{instance}/stopped", f"QEMU's memory beyond guest RAM, {instance}: before the guest's first instruction", "MiB", goal),
            M(f"memory/{instance}/chip", f"{instance}: of it one chip", "MiB"),
            M(f"memory/{instance}/ran", f"{instance}: right after boot and neuron-ls", "MiB"),
            M(f"memory/{instance}/ran-code", f"{instance}: of it code that TCG translated", "MiB"),
            M(f"memory/{instance}/idle", f"{instance}: 12 s later, idle", "MiB", goal),
            M(f"memory/{instance}/idle-code", f"{instance}: of it code that TCG translated", "MiB"),
        ]
    return rows


def copies() -> list[Measure]:
    on_host, in_guest = "memcpy of 256 MiB on the host", "memcpy of 256 MiB in the guest"
    rows = [M("copies/memcpy-host", on_host, "GB/s"), M("copies/memcpy-guest", in_guest, "GB/s")]
    for way, text in (("in", "to"), ("out", "from")):
        rows.append(M(f"copies/zerocopy-{way}", f"zero-copy of 256 MiB {text} inf1.xlarge", "GB/s", "ratio >= 0.5", on_host))
    for way, text in (("in", "to"), ("out", "from")):
        rows.append(M(f"copies/buffered-{way}", f"buffered copy of 256 MiB {text} inf1.xlarge", "GB/s", "", in_guest))
    for instance in ("inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        for way, text in (("in", "to"), ("out", "from")):
            rows.append(M(f"copies/{instance}-{way}", f"zero-copy of 256 MiB {text} {instance}", "GB/s", "ratio >= 0.5", on_host))
    return rows


WAYS = (("in", "host to device"), ("out", "device to host"), ("device", "device to device"))
SIZES = (("4k", "4 KiB", 4 << 10), ("1m", "1 MiB", 1 << 20), ("1g", "1 GiB", 1 << 30))


def driver() -> list[Measure]:
    read = "read of 4 KiB of QEMU's NVMe"
    return [
        M("driver/reset", "reset to READY", "ms"),
        M("driver/open", "open and close", "us", "", "the same of /dev/null"),
        M("driver/ioctl", "the smallest ioctl", "us", "", "one that /dev/null refuses"),
        M("driver/doorbell", "doorbell to completion of one descriptor of 4 KiB", "us", "ratio <= 1", read),
        M("driver/out-4k", "buffered copy of 4 KiB to the host", "us", "ratio <= 1", read),
        *(M(f"driver/{way}-{size}", f"copy of {text}, {where}, by libndl", "GB/s", "", f"memcpy of {text} in the guest")
          for size, text, _ in SIZES for way, where in WAYS if (way, size) != ("out", "4k")),
    ]


def chips() -> list[Measure]:
    rows = [M(f"chips/{instance}", f"16 chips copying at once, {instance}", "GB/s", "", "one chip alone")
            for instance in ("inf1.24xlarge", "trn1.32xlarge", "trn2.48xlarge")]
    for instance in ("inf1.xlarge", "inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge"):
        rows.append(M(f"chips/{instance}/core", f"a core's engine for copies, in and out, the slowest alone, {instance}", "GB/s", "", "memcpy on the host"))
        rows.append(M(f"chips/{instance}/cores", f"all cores' engines at once, {instance}", "GB/s", "", "memcpy on the host"))
    return rows


def alternation() -> list[Measure]:
    rows = []
    for where, text in (("process", "in process"), ("guest", "in a guest")):
        rows.append(M(f"turns/{where}/alone", f"an addition of 128 x 64 fp32 alone on its core, {text}", "us"))
        rows.append(M(f"turns/{where}/one-owner", f"the same, another model of its owner between any two, {text}", "us", "", "alone"))
        rows.append(M(f"turns/{where}/two-owners", f"the same, a model of another owner between any two, {text}", "us", "", "alone"))
    return rows


def served() -> list[Measure]:
    rows = []
    for n, text in ((1, "one process"), (2, "two processes at once")):
        rows.append(M(f"served/{n}/own", f"an addition of 128 x 64 fp32, chips in process, {text}", "us"))
        rows.append(M(f"served/{n}/more", f"what it takes more on the chips of one neuron-emud, median, {text}", "us", "<= 15"))
        rows.append(M(f"served/{n}/least", f"the same of the quickest, {text}", "us"))
    return rows


def calls() -> list[Measure]:
    rows = []
    for n, text in ((1, "1 client"), (16, "16 clients")):
        rows += [
            M(f"calls/{n}/rate", f"inferences of an empty model through the socket, {text}", "/s"),
            M(f"calls/{n}/median", f"of each client, by the median of its calls, {text}", "/s", "ratio >= 0.8", "a gRPC server that does nothing"),
            M(f"calls/{n}/one-thread", f"the same, {text}", "/s", "", "that server with one thread"),
            M(f"calls/{n}/p99", f"99 of 100 calls take up to, {text}", "us", "", "a gRPC server that does nothing"),
        ]
    return [*rows, M("calls/16/fair", "fewest calls of a client, 16 clients", "calls", "", "the most of a client")]


def upload() -> list[Measure]:
    rows = []
    for chunk in ("1 MiB", "4 MiB"):
        key = chunk.replace(" ", "")
        rows += [
            M(f"upload/{key}", f"a file's bytes to the daemon in a guest, chunks of {chunk}", "MB/s", "ratio >= 0.8", "a gRPC server that drops them"),
            M(f"upload/{key}/sink", f"the same to that server, chunks of {chunk}", "MB/s", "", "a pair of sockets"),
            M(f"upload/{key}/switches", f"switches of context a MiB, the daemon, chunks of {chunk}", "", "", "that server"),
        ]
    return rows


def loops() -> list[Measure]:
    rows = []
    for target, guest in (("inf1", "<= 105"), ("trn1", "")):
        for clock, text in (("clock", "by the clock"), ("processor", "of the processor")):
            rows.append(M(f"loops/{target}/none-{clock}", f"an inference of a loop that makes no iteration, {target}, {text}", "us"))
            rows.append(M(f"loops/{target}/{clock}", f"an iteration of a loop whose end the data decide, {target}, {text}", "us", "<= 5"))
        rows.append(M(f"loops/{target}/none-guest", f"an inference without an iteration in a guest, {target}", "us"))
        rows.append(M(f"loops/{target}/guest", f"an iteration in a guest, {target}", "us", guest))
    return rows


def dispatch() -> list[Measure]:
    return [
        M("dispatch/nop", "dispatch of a NOP from the FIFO of an engine", "ns", "<= 30"),
        M("dispatch/fetched-nop", "of a NOP from a window of memory", "ns", "<= 30"),
        M("dispatch/loop", "an iteration of a loop on the chip", "ns", "<= 30"),
        M("dispatch/copy", "a copy of one element", "ns"),
        M("dispatch/sum", "a sum of two elements", "ns"),
    ]


def gpsimd() -> list[Measure]:
    return [
        M("gpsimd/integers", "a loop of integers in memory, one of GpSimd's processors", "million instructions/s", ">= 150"),
        M("gpsimd/floats", "the same of fp32", "million instructions/s", ">= 150"),
        M("gpsimd/vectors", "y + x / 2 in fp32 by vectors of 64 elements", "million elements/s"),
    ]


def streams() -> list[Measure]:
    rows = []
    for width, name in ((4, "fp32"), (2, "bf16")):
        rows += [
            M(f"streams/size-{width}", f"size of compressed {name} weights, normally distributed", "", "", "the weights as they are"),
            M(f"streams/decompress-{width}", f"decompressing {name}, one thread", "GB/s", "", "memcpy on the host"),
            M(f"streams/compress-{width}", f"compressing {name}, one thread", "GB/s", "", "memcpy on the host"),
        ]
    for n, width in ((1, 4), (2, 4), (2, 2), (16, 4), (16, 2)):
        different = "equal elements" if n == 1 else f"{n} different elements"
        rows.append(M(f"streams/few-{n}-{width}", f"from streams of {different} of {width} bytes into SBUF", "GB/s", "ratio >= 1", "the same elements uncompressed"))
    return rows


NARROW = (("fp8_e3", "fp8 e3m4"), ("fp8_e4", "fp8 e4m3"), ("fp8_e5", "fp8 e5m2"), ("fp8_double", "double rows of fp8"))
KERNELS = ("avx512_bf16", "avx512_vnni", "avx512", "avx2")


def matmul() -> list[Measure]:
    blas, shape = "OpenBLAS sgemm on one thread", "128 x 128 x 512 matmuls on one core"
    rows = [
        M("matmul/openblas", f"OpenBLAS sgemm of 128 x 128 x 512, one thread", "GFLOP/s"),
        M("matmul/bf16", f"bf16 {shape}", "GFLOP/s", "ratio >= 1", blas),
        M("matmul/fp32", f"fp32 {shape}", "GFLOP/s", "ratio >= 1", blas),
        M("matmul/fp8", f"fp8 {shape}", "GFLOP/s", "ratio >= 1", "bf16"),
        M("matmul/fp8_double", f"double rows of fp8, {shape}", "GFLOP/s", "", "bf16"),
    ]
    return rows + [M(f"matmul/{kernels}/{key}", f"{text}, kernels {kernels}", "GFLOP/s", "ratio >= 1", "bf16, in alternation")
                   for kernels in KERNELS for key, text in NARROW]


NETWORKS = ("mlp", "digits", "lenet5", "resnet50", "mobilenet_v2", "yolo_head", "lstm", "bert_base", "bert_base_8",
            "distilbert", "vit_b16", "gpt2_step")


def networks() -> list[Measure]:
    rows = []
    for name in NETWORKS:
        base = name == "bert_base"
        rows.append(M(f"networks/{name}", f"compiling {name}", "s", "<= 120" if base else ""))
        rows.append(M(f"networks/{name}/processor", f"compiling {name}, of a processor", "s"))
        rows.append(M(f"networks/{name}/memory", f"compiling {name}, most memory", "MiB", "<= 4096" if base else ""))
    return rows


INFERENCE = (("bert_base_8", "BERT-base, batch 8", "ratio >= 0.9"), ("resnet50", "ResNet-50, batch 1", "ratio >= 0.8"))


def inference() -> list[Measure]:
    faster, rows = "the faster of JAX and onnxruntime on one thread", []
    for name, text, goal in INFERENCE:
        rows += [
            M(f"inference/{name}/jax", f"{text}: JAX on one thread", "/s"),
            M(f"inference/{name}/onnxruntime", f"{text}: onnxruntime on one thread", "/s"),
            M(f"inference/{name}", f"{text}, in process", "/s", goal, faster),
            M(f"inference/{name}/socket", f"{text}, through the socket of a guest, by the clock", "/s", "ratio >= 0.9", "in process, by the clock"),
            M(f"inference/{name}/socket-faster", f"{text}, the same", "/s", "", f"{faster}, by the clock"),
        ]
    return [*rows, M("inference/pipeline", "ResNet-50 over 4 cores, in process, by the clock", "/s", "", "over one core")]


def zoo() -> list[Measure]:
    return [
        M("zoo/large", "the zoo: models whose reference takes 5 ms or more, geometric mean of the ratios", "", "ratio >= 0.5", "JAX, onnxruntime"),
        M("zoo/least", "the least of these", "", "ratio >= 0.2", "JAX, onnxruntime"),
        M("zoo/small", "the others, after 100 us, each at most 1, geometric mean", "", "ratio >= 0.2", "JAX, onnxruntime"),
        M("zoo/seconds", "the longest compilation of one", "s", "<= 60"),
        M("zoo/memory", "the most memory of one compilation", "MiB", "<= 4096"),
    ]


STEPS = (("bert_base_8", "BERT-base, batch 8"), ("transformer", "a training step of a transformer of 4 layers"), ("cnn", "a training step of a CNN"))
COMPILED = (("transformer", "the transformer's training step", "ratio <= 0.05"), ("cnn", "the CNN's training step", "ratio <= 0.15"),
            ("adam", "AdamW of 20 matrices", "ratio <= 0.15"))


def frameworks() -> list[Measure]:
    rows = [
        M("frameworks/dispatch", "JAX on the plug-in: dispatch of jitted x + 1 on 4 floats", "us", "<= 40", "JAX's CPU"),
        M("frameworks/ready", "the same until it is ready", "us", "", "JAX's CPU"),
        M("frameworks/operations", "compiling one of 194 operations, median", "ms", "<= 1", "XLA for CPUs"),
        M("frameworks/operations/own", "the same without jaxlib's making of the artifact", "ms", "", "XLA for CPUs"),
        M("frameworks/operations-p99", "compiling one of them, 99 of 100", "ms", "<= 10", "XLA for CPUs"),
        M("frameworks/operations-p99/own", "the same without jaxlib's making of the artifact", "ms", "", "XLA for CPUs"),
    ]
    for name, text in STEPS:
        rows.append(M(f"frameworks/step/{name}", f"{text}, jitted", "ms", "ratio <= 1.05", "neuron-run of the same program"))
        rows.append(M(f"frameworks/step/{name}/cpu", f"{text}, the same", "ms", "", "JAX's CPU on one thread"))
    for name, text, goal in COMPILED:
        rows.append(M(f"frameworks/compile/{name}", f"compiling {text}", "ms", goal, "XLA for CPUs"))
        rows.append(M(f"frameworks/compile/{name}/processor", f"compiling {text}, of the processors", "ms", "", "XLA for CPUs"))
        rows.append(M(f"frameworks/compile/{name}/own", f"compiling {text}, without jaxlib's making of the artifact", "ms", "", "XLA for CPUs"))
    return [
        *rows,
        M("frameworks/bert", "compiling BERT-base's training step", "s"),
        M("frameworks/bert/processor", "the same, of the processors", "s", "<= 15"),
        M("frameworks/in", "64 MiB to the device", "GB/s", "ratio >= 0.9", "memcpy"),
        M("frameworks/out", "64 MiB back", "GB/s", "ratio >= 0.9", "memcpy to new memory"),
        M("frameworks/out-used", "64 MiB back, the same", "GB/s", "", "memcpy to memory that was used before"),
        M("frameworks/processes", "two processes on one neuron-emud: an execution's more, by the medians", "us", "<= 15"),
        M("frameworks/processes/least", "the same of the quickest", "us"),
        M("frameworks/growth", "resident memory a training step, steps 1,000 to 10,000", "bytes", "<= 1024"),
    ]


def pytorch() -> list[Measure]:
    return [
        M("pytorch/add", "PyTorch's device neuron: an addition of 1,024 elements", "us", "<= 150", "PyTorch's CPU"),
        M("pytorch/step", "a training step of a transformer of 4 layers, compiled, fused AdamW", "ms", "ratio <= 1.1", "its programs executed by libnrt alone"),
        M("pytorch/step/inductor", "the same", "ms", "", "inductor on one thread"),
        M("pytorch/compile", "compiling it, forward and backward", "ms", "ratio <= 0.3", "inductor"),
        M("pytorch/generate", "words of a Llama of 4 layers, generate() with a static cache, of the processors", "/s", "ratio >= 0.5", "PyTorch's CPU, eager"),
        M("pytorch/generate/operators", "the same with the default cache, by operators", "/s", "", "PyTorch's CPU, eager"),
        M("pytorch/trace", "BERT-base traced, batch 1, of the processors", "/s", "ratio >= 0.7", "onnxruntime on one thread"),
    ]


GROUPS = {"boot": boot, "memory": memory, "copies": copies, "driver": driver, "chips": chips, "turns": alternation, "served": served,
          "calls": calls, "upload": upload, "loops": loops, "dispatch": dispatch, "gpsimd": gpsimd, "streams": streams, "matmul": matmul,
          "networks": networks, "inference": inference, "zoo": zoo, "frameworks": frameworks, "pytorch": pytorch}  # fmt: skip
MEASURES = {measure.name: measure for rows in GROUPS.values() for measure in rows()}
MODEL = "zoo/model/"  # a model of the zoo: zoo/model/NAME is its time, zoo/model/NAME/socket its rate through a guest's socket


def measure(name: str) -> Measure:
    """The row of a name; those of the zoo's models are made as they come, as the zoo grows without this table."""
    if not name.startswith(MODEL):
        return MEASURES[name]
    model, _, socket = name.removeprefix(MODEL).partition("/")
    if socket:
        return Measure(name, f"{model} through the socket of a guest, by the clock", "/s", "ratio >= 0.9", "in process, by the clock")
    return Measure(name, model, "ms", "", "the reference")


def missed(of: Measure, now: float, ratio: float | None) -> bool:
    """Does a result miss its goal?"""
    if not of.goal:
        return False
    way, bound = of.goal.removeprefix("ratio ").split()
    value = ratio if of.goal.startswith("ratio") else now
    return value is not None and (value > float(bound) if way == "<=" else value < float(bound))
