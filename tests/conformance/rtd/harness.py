# SPDX-License-Identifier: MIT
"""What the daemon's tests share: TAP, stubs made from the .proto files, a daemon on chips in its own
process, models compiled on the spot, and a plain client on python3-grpcio.

Nothing of the project's C client is used: gRPC and protobuf are Debian's own, so a test sees what
another project's program would see.
"""

import atexit
import importlib
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Iterator

# programs are started while calls are under way, and none of them goes on with this process's channels: where
# gRPC prepares for that, a fork waits for its threads (Debian 13's Python: for ever)
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import grpc  # noqa: E402
import numpy as np  # noqa: E402
from google.protobuf import descriptor_pb2  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
WORK = Path(tempfile.mkdtemp(prefix="rtd-test."))
CHUNK = 1 << 20
START_SECONDS = 600  # a sanitized daemon on a loaded machine
CALL_SECONDS = 1200
INVALID_HANDLE = 3
NOBODY, SOMEBODY = 65534, 65533  # two ordinary users


# ---- TAP

class Tap:
    def __init__(self) -> None:
        self.count = 0
        self.failed = 0

    def ok(self, condition: Any, name: str, detail: Any = "") -> bool:
        self.count += 1
        print(f"{'ok' if condition else 'not ok'} {self.count} - {name}", flush=True)
        if not condition:
            self.failed += 1
            for line in str(detail).splitlines():
                print(f"#   {line}", flush=True)
        return bool(condition)

    def equal(self, have: Any, want: Any, name: str) -> bool:
        return self.ok(have == want, name, f"have {have!r}, expected {want!r}")

    def skip(self, name: str, why: str) -> None:
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def done(self) -> int:
        print(f"1..{self.count}", flush=True)
        return 1 if self.failed else 0


tap = Tap()


# ---- stubs

def make_stubs() -> None:
    out = WORK / "stubs"
    out.mkdir()
    rtd = ROOT / "runtime" / "rtd"
    subprocess.run(["protoc", f"-I{rtd}", f"--python_out={out}", *rtd.glob("*.proto")], check=True)
    subprocess.run(["protoc", f"-I{ROOT / 'compiler/frontend/hlo'}", f"--python_out={out}", ROOT / "compiler/frontend/hlo/hlo.proto"],
                   check=True)
    sys.path.insert(0, str(out))


make_stubs()
import hlo_pb2 as hlo  # noqa: E402
import nrtx_pb2 as nrtx  # noqa: E402

# All of package nrt, whichever file it is in
nrt = SimpleNamespace(**{name: value for file in ("common", "nerr", "nmetric", "nmgr", "nmgr_session_service")
                         for name, value in vars(importlib.import_module(f"{file}_pb2")).items()})

ANSWERS = {
    "infer": nrt.infer_response, "infer_post": nrt.infer_post_response, "infer_wait": nrt.infer_response,
    "infer_poll": nrt.infer_response, "infer_check_completion": nrt.infer_check_completion_response,
    "create_eg": nrt.create_eg_response, "destroy_eg": nrt.destroy_eg_response, "list_egs": nrt.out_list_egs,
    "start": nrt.start_response, "stop": nrt.stop_response, "unload": nrt.unload_response,
    "unload_all": nrt.status, "shm_map": nrt.shm_map_response, "shm_unmap": nrt.shm_unmap_response,
    "get_version": nrt.get_version_response, "read_nc_counters": nrt.read_nc_counters_response,
    "read_nc_time_in_use": nrt.read_nc_time_in_use_response,
    "read_inference_counters": nrt.read_inference_counters_response,
    "read_all_counters": nrt.read_all_counters_response, "read_all_metrics": nrt.read_all_metrics_response,
    "get_hw_counters": nrt.get_hw_counters_response, "get_all_hw_counters": nrt.get_all_hw_counters_response,
    "random_seed": nrt.random_seed_response,
    "set_static_transfer_adjustment": nrt.set_static_transfer_adjustment_response,
}


# ---- models: an HLO module built here, compiled by the project's compiler

F32 = 11  # XLA's PrimitiveType


class Module:
    """A module of fp32 instructions, in the order they are added."""

    def __init__(self, name: str) -> None:
        self.m = hlo.Module(name=name, entry_computation_name="main", entry_computation_id=1, id=1)
        self.c = self.m.computations.add(name="main", id=1)
        self.parameters = 0

    def add(self, opcode: str, dims: list[int], *operands: int, **fields: Any) -> int:
        number = len(self.c.instructions) + 1
        i = self.c.instructions.add(name=f"{opcode}.{number}", opcode=opcode, id=number, operand_ids=operands, **fields)
        i.shape.element_type = F32
        i.shape.dimensions.extend(dims)
        i.shape.layout.minor_to_major.extend(reversed(range(len(dims))))
        return number

    def parameter(self, dims: list[int]) -> int:
        number = self.add("parameter", dims, parameter_number=self.parameters)
        self.parameters += 1
        return number

    def constant(self, value: np.ndarray) -> int:
        number = self.add("constant", list(value.shape))
        literal = self.c.instructions[number - 1].literal
        literal.shape.CopyFrom(self.c.instructions[number - 1].shape)
        literal.f32s.extend(value.ravel().tolist())
        return number

    def finish(self, *roots: int) -> bytes:
        number = len(self.c.instructions) + 1
        root = self.c.instructions.add(name="out", opcode="tuple", id=number, operand_ids=roots)
        root.shape.element_type = 13
        for r in roots:
            root.shape.tuple_shapes.add().CopyFrom(self.c.instructions[r - 1].shape)
        self.c.root_id = number
        shapes = self.c.program_shape
        for i in self.c.instructions:
            if i.opcode == "parameter":
                shapes.parameters.add().CopyFrom(i.shape)
        shapes.result.CopyFrom(root.shape)
        self.m.host_program_shape.CopyFrom(shapes)
        return self.m.SerializeToString()


def compile_hlo(module: bytes, name: str, target: str = "inf1") -> bytes:
    source, neff = WORK / f"{name}.hlo.pb", WORK / f"{name}.neff"
    source.write_bytes(module)
    done = subprocess.run([os.environ["NEURONX_CC"], "compile", "--framework", "XLA", source, "--target", target,
                           "--output", neff], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Bail out! {name}: {done.stderr}")
    return neff.read_bytes()


def sum_and_product(rows: int = 4, columns: int = 32) -> bytes:
    """output0 = input0 + input1, output1 = input0 * input1, element by element."""
    m = Module("sum_and_product")
    a, b = m.parameter([rows, columns]), m.parameter([rows, columns])
    return compile_hlo(m.finish(m.add("add", [rows, columns], a, b), m.add("multiply", [rows, columns], a, b)),
                       f"sum_and_product_{rows}x{columns}")


def with_weights(rows: int = 128, columns: int = 6144) -> tuple[bytes, np.ndarray]:
    """output0 = input0 + weights, with weights that no compression makes small: several chunks."""
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 1 << 23, (rows, columns)).astype(np.float32)
    m = Module("with_weights")
    x = m.parameter([rows, columns])
    return compile_hlo(m.finish(m.add("add", [rows, columns], x, m.constant(weights))), "with_weights"), weights


def hand_made(kind: str) -> bytes:
    """A program made by hand, without the compiler: see tests/unit/neff/testmodel.h."""
    path = WORK / f"{kind}.neff"
    subprocess.run([os.environ["TESTMODEL_WRITE"], kind, path], check=True)
    return path.read_bytes()


# ---- the daemon

class Daemon:
    def __init__(self, *args: str, endpoint: str | None = None, socket: str | None = None,
                 popen: dict[str, Any] | None = None, **env: str) -> None:
        self.path = socket or str(WORK / f"neuron{id(self):x}.sock")
        self.inode = os.stat(socket).st_ino if socket and os.path.exists(socket) else 0  # of one a dead daemon left
        self.endpoint = endpoint or f"unix:{self.path}"
        self.log = open(WORK / "daemon.log", "ab")
        command = [os.environ["NEURON_RTD"], "-g", self.endpoint, "--log-console", *args]
        self.process = subprocess.Popen(command, stderr=self.log, env={**os.environ, "NEURON_EMU": "inf1.6xlarge", **env},
                                        **(popen or {}))
        atexit.register(self.kill)
        self.wait()

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.endpoint.startswith("unix:") and self.there():
                return
            if not self.endpoint.startswith("unix:"):
                try:
                    grpc.channel_ready_future(grpc.insecure_channel(self.endpoint)).result(1)
                    return
                except grpc.FutureTimeoutError:
                    pass
            time.sleep(0.02)
        raise SystemExit(f"Bail out! the daemon did not start: {self.tail()}")

    def there(self) -> bool:
        try:
            return os.stat(self.path).st_ino != self.inode
        except FileNotFoundError:
            return False

    def tail(self) -> str:
        return Path(self.log.name).read_text(errors="replace")[-2000:]

    def fds(self) -> list[str]:
        """The targets of its open descriptors."""
        names = []
        for fd in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                names.append(os.readlink(f"/proc/{self.process.pid}/fd/{fd}"))
            except FileNotFoundError:
                pass
        return names

    def resident(self) -> int:
        """Bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) << 10

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        """Its exit status after SIGTERM; a sanitizer's finding is not 0."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(CALL_SECONDS)

    def kill(self) -> None:
        if self.alive():
            self.process.kill()
            self.process.wait()


def config(name: str, text: str) -> list[str]:
    """The daemon's options for this configuration."""
    path = WORK / f"{name}.config"
    path.write_text(text)
    return ["-c", str(path)]


# ---- clients of other users

class Other:
    """A client that another user runs: it takes that user's identity itself, once it has read what that user
    may not (a checkout in /root). Its calls are those of other.py."""

    def __init__(self, daemon: "Daemon", user: int = NOBODY, groups: tuple[int, ...] = ()) -> None:
        command = [sys.executable, "-B", str(Path(__file__).with_name("other.py")), daemon.endpoint, str(user)]
        self.process = subprocess.Popen(command + [str(g) for g in groups], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd="/")
        atexit.register(self.kill)

    def __call__(self, *words: Any) -> list[int]:
        self.process.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def other_user(daemon: "Daemon", calls: list[str], groups: tuple[int, ...] = ()) -> list[int]:
    """Each call's first number."""
    other = Other(daemon, groups=groups)
    codes = [other(call)[0] for call in calls]
    other.kill()
    return codes


# ---- the client

class Client:
    def __init__(self, daemon: Daemon) -> None:
        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                     ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.insecure_channel(daemon.endpoint, options=unlimited)

    def close(self) -> None:
        self.channel.close()

    def unary(self, path: str, answer: Any) -> Any:
        return self.channel.unary_unary(path, request_serializer=lambda m: m.SerializeToString(),
                                        response_deserializer=answer.FromString)

    def call(self, name: str, request: Any = None) -> Any:
        return self.unary(f"/nrt.nmgr_v1/{name}", ANSWERS[name])(request or nrt.empty(), timeout=CALL_SECONDS)

    def future(self, name: str, request: Any) -> Any:
        return self.unary(f"/nrt.nmgr_v1/{name}", ANSWERS[name]).future(request, timeout=CALL_SECONDS)

    def ext(self, name: str, **fields: Any) -> Any:
        request = getattr(nrtx, f"{name}_request")(**fields)
        return self.unary(f"/nrtx.nmgr_x/{name}", getattr(nrtx, f"{name}_response"))(request, timeout=CALL_SECONDS)

    def session(self) -> "Session":
        return Session(self)

    def create_eg(self, count: int = 0, session: int = 0) -> Any:
        return self.call("create_eg", nrt.create_eg_request(nc_count=count, session_id=session))

    def eg(self, count: int = 1, session: int = 0) -> int:
        return self.create_eg(count, session).h_eg.id

    def load_future(self, messages: Iterator[Any]) -> Any:
        load = self.channel.stream_unary("/nrt.nmgr_v1/load", request_serializer=lambda m: m.SerializeToString(),
                                         response_deserializer=nrt.load_response.FromString)
        return load.future(messages, timeout=CALL_SECONDS)

    def load_messages(self, messages: Iterator[Any]) -> Any:
        return self.load_future(messages).result()

    def load(self, neff: bytes, eg: int = 0, session: int = 0, ninfer: int = 0, timeout: int = 0) -> Any:
        return self.load_messages(load_sequence(neff, eg, session, ninfer, timeout))

    def zeros(self, model: int) -> list[Any]:
        """Inputs for any model, as the daemon describes it."""
        described = self.ext("describe_model", id=model)
        return [nrt.infer_io(name=t.name, buf=bytes(t.size)) for t in described.tensor if t.usage == nrtx.USAGE_INPUT]

    def start(self, model: int) -> int:
        return self.call("start", nrt.start_request(h_nn=nrt.h_nn(id=model))).status.code

    def stop(self, model: int) -> int:
        return self.call("stop", nrt.stop_request(h_nn=nrt.h_nn(id=model))).status.code

    def unload(self, model: int) -> int:
        return self.call("unload", nrt.unload_request(h_nn=nrt.h_nn(id=model))).status.code

    def destroy(self, eg: int) -> int:
        return self.call("destroy_eg", nrt.destroy_eg_request(h_eg=nrt.h_eg(id=eg))).status.code

    def ready_model(self, neff: bytes, ninfer: int = 4, timeout: int = 0, cores: int = 1) -> int:
        model = self.load(neff, self.eg(cores), ninfer=ninfer, timeout=timeout).h_nn.id
        if not model or self.start(model):
            raise SystemExit("Bail out! a model that must load does not")
        return model


def load_sequence(neff: bytes, eg: int = 0, session: int = 0, ninfer: int = 0, timeout: int = 0) -> Iterator[Any]:
    """The messages of the TensorFlow client's load, in its order."""
    if eg:
        yield nrt.load_request(h_eg=nrt.h_eg(id=eg))
    if session:
        yield nrt.load_request(session_id=session)
    yield nrt.load_request(neff_size=len(neff))
    params = nrt.model_params()
    if timeout:
        params.timeout.data = timeout
    if ninfer:
        params.ninfer.data = ninfer
    yield nrt.load_request(model_params=params)
    for at in range(0, len(neff), CHUNK):
        yield nrt.load_request(neff_chunk=nrt.file_chunk(chunk=neff[at:at + CHUNK]))


class Session:
    """A session_monitor stream whose request side is under the test's control."""

    def __init__(self, client: Client) -> None:
        self.requests: list[Any] = []
        self.more = threading.Condition()
        self.closed = False
        monitor = client.channel.stream_stream("/nrt.nmgr_session_manager/session_monitor",
                                               request_serializer=lambda m: m.SerializeToString(),
                                               response_deserializer=nrt.session_monitor_response.FromString)
        self.stream = monitor(self.feed(), timeout=CALL_SECONDS)

    def feed(self) -> Iterator[Any]:
        while True:
            with self.more:
                while not self.requests and not self.closed:
                    self.more.wait()
                if not self.requests:
                    return
                request = self.requests.pop(0)
            yield request

    def write(self, request: Any) -> None:
        with self.more:
            self.requests.append(request)
            self.more.notify()

    def read(self) -> Any:
        return next(self.stream)

    def half_close(self) -> grpc.StatusCode:
        with self.more:
            self.closed = True
            self.more.notify()
        for _ in self.stream:
            raise AssertionError("an answer nobody asked for")
        return self.stream.code()


def inline(**tensors: np.ndarray) -> list[Any]:
    return [nrt.infer_io(name=name, buf=value.tobytes()) for name, value in tensors.items()]


def in_shm(**paths: str) -> list[Any]:
    return [nrt.infer_io(name=name, buf_shm=nrt.shared_mem_buf(path=path)) for name, path in paths.items()]


def infer_request(model: int, ifmap: list[Any], shm_ofmap: list[Any] | None = None) -> Any:
    return nrt.infer_request(h_nn=nrt.h_nn(id=model), ifmap=ifmap, shm_ofmap=shm_ofmap or [])


def outputs(response: Any) -> dict[str, np.ndarray]:
    return {io.name: np.frombuffer(io.buf, np.float32) for io in response.ofmap}


class Shm:
    """A POSIX shared memory object made as the TensorFlow client makes it."""

    number = 0

    def __init__(self, size: int, mode: int = 0o666) -> None:
        Shm.number += 1
        self.path = f"/aws_neuron_runtime_test-{os.getpid()}-{Shm.number}"
        self.size = size
        fd = os.open("/dev/shm" + self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.fchmod(fd, mode)
        os.ftruncate(fd, size)
        self.map = mmap.mmap(fd, size)
        os.close(fd)
        atexit.register(self.unlink)

    def unlink(self) -> None:
        try:
            os.unlink("/dev/shm" + self.path)
        except FileNotFoundError:
            pass

    def truncate(self, size: int) -> None:
        os.truncate("/dev/shm" + self.path, size)


def eventually(condition: Callable[[], bool]) -> bool:
    """True as soon as the condition holds; false after a time no healthy daemon needs."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def posted_and_awaited(client: Client, model: int) -> tuple[Any, Any]:
    """An inference of zeros that the daemon has, and a call that it knows to wait for it: the request of
    that call, and its future. (The order in which calls of one client are handled is nobody's promise.)"""
    cookie = nrt.infer_wait_request(
        cookie=client.call("infer_post", infer_request(model, client.zeros(model))).cookie)
    future = client.future("infer_wait", cookie)
    if not eventually(lambda: client.call("infer_poll", cookie).status.code == INVALID_HANDLE):
        raise TimeoutError(f"infer_wait of cookie {cookie.cookie} did not reach the daemon")
    return cookie, future


def methods() -> dict[str, str]:
    """The path of every method of package nrt, and what grpcio calls its kind."""
    found = {}
    for file in ("nmgr_service", "nmgr_session_service", "nmgr_stream_service"):
        for service in importlib.import_module(f"{file}_pb2").DESCRIPTOR.services_by_name.values():
            proto = descriptor_pb2.ServiceDescriptorProto()
            service.CopyToProto(proto)
            for m in proto.method:
                kind = "_".join("stream" if streams else "unary" for streams in (m.client_streaming, m.server_streaming))
                found[f"/{service.full_name}/{m.name}"] = kind
    return found


def cleanup() -> None:
    subprocess.run(["rm", "-rf", str(WORK)], check=False)


atexit.register(cleanup)
