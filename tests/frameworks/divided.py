# SPDX-License-Identifier: MIT
"""One device's program, as libncc divides what JAX gives it, run by XLA's CPU client on several devices"""

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

N = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={N}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import compiler, xla_bridge  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

RANK = 16  # NCC_MAX_DIMS
STABLEHLO = "1.15.0"  # that the plug-in reports


class Refused(Exception):
    pass


class Tiling(ctypes.Structure):
    _fields_ = [("ndim", ctypes.c_uint), ("tiles", ctypes.c_int64 * RANK), ("at", ctypes.POINTER(ctypes.c_uint8)),
                ("terms", ctypes.c_int64), ("term", ctypes.POINTER(ctypes.c_uint8))]


class Program(ctypes.Structure):
    """struct ncc_program"""

    _fields_ = [("name", ctypes.c_char_p), ("nin", ctypes.c_uint), ("nout", ctypes.c_uint), ("ins", ctypes.c_void_p),
                ("outs", ctypes.c_void_p), ("alias", ctypes.c_void_p), ("donor", ctypes.c_void_p), ("same", ctypes.c_void_p),
                ("replicas", ctypes.c_uint), ("partitions", ctypes.c_uint), ("ncalls", ctypes.c_uint), ("call", ctypes.c_void_p), ("effects", ctypes.c_bool),
                ("in_tiling", ctypes.POINTER(ctypes.POINTER(Tiling))), ("out_tiling", ctypes.POINTER(ctypes.POINTER(Tiling)))]


class Divided:
    """A program as the compiler divides it: HLO of one device, and the parts of arguments and results"""

    def __init__(self, library: ctypes.CDLL, artifact: bytes):
        error = ctypes.create_string_buffer(4096)
        out, size, program = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.POINTER(Program)()
        for call, *results in ((library.ncc_program_hlo, out, size), (library.ncc_program_read, program)):
            if call(artifact, ctypes.c_size_t(len(artifact)), *map(ctypes.byref, results), error):
                raise Refused(error.value.decode())
        assert out.value is not None
        hlo = ctypes.string_at(out.value, size.value)
        p = program.contents
        assert p.partitions == N
        self.ins = [p.in_tiling[i] for i in range(p.nin)]
        self.outs = [p.out_tiling[i] for i in range(p.nout)]
        with mlir.make_ir_context():
            module = ir.Module.parse(xla_client._xla.mlir.hlo_to_stablehlo(hlo))
            self.text = module.operation.get_asm(print_generic_op_form=True)

    def count(self) -> dict[str, int]:
        kinds = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
        return {kind: n for kind in kinds if (n := self.text.count(f'"stablehlo.{kind}"'))}

    def run(self, args: list[Any]) -> list[list[Any]]:
        """The parts of all devices, of each result. Partitions become replicas, which XLA does not divide again."""
        text = re.sub(r"channel_handle = #stablehlo.channel_handle<[^>]*>(, )?", "", self.text)
        text = re.sub(r", use_global_device_ids|use_global_device_ids(, )?", "", text)
        text = text.replace("stablehlo.partition_id", "stablehlo.replica_id")
        options = compiler.get_compile_options(num_replicas=N, num_partitions=1,
                                               device_assignment=np.arange(N).reshape(N, 1))
        devices = jax.devices()[:N]
        executable = xla_bridge.get_backend("cpu").compile_and_load(text, xla_client.DeviceList(tuple(devices)), options)
        mesh = Mesh(np.array(devices), ("z",))
        arrays = []
        for i, x in enumerate(args):
            parts = [jax.device_put(part_of(x, self.ins[i], d), devices[d]) for d in range(N)]
            spec = PartitionSpec("z") if parts[0].ndim else PartitionSpec()
            shape = (parts[0].shape[0] * N, *parts[0].shape[1:]) if parts[0].ndim else ()
            arrays.append(jax.make_array_from_single_device_arrays(shape, NamedSharding(mesh, spec), parts))
        results = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
        return [[np.asarray(part) for part in result] for result in results]


def part_of(x: Any, tiling: Any, device: int) -> Any:
    """The part of an array that a device has"""
    if not tiling:
        return x
    cut = []
    for d, size in enumerate(x.shape):
        n = size // tiling.contents.tiles[d]
        first = tiling.contents.at[device * RANK + d] * n
        cut.append(slice(first, first + n))
    return x[tuple(cut)]


def artifact_of(lowered: Any) -> bytes:
    text = lowered.compiler_ir("stablehlo").operation.get_asm(enable_debug_info=True)
    return xla_client._xla.mlir.serialize_portable_artifact(text, STABLEHLO, True)


def difference(ours: Any, theirs: Any, rtol: float) -> str:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
    if ours.dtype.kind not in "fcV":
        return "" if np.array_equal(ours, theirs) else "other bits"
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    scale = np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)
    return "" if np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True) else f"{np.nanmax(np.abs(a - b))} of {scale}"


def check(library: ctypes.CDLL, function: Callable[..., Any], args: tuple[Any, ...], ins: Any, outs: Any,
          rtol: float = 1e-4) -> tuple[str, dict[str, int]]:
    """The difference of a function's results on N devices from those on one; and what is passed between them"""
    jitted = jax.jit(function, in_shardings=ins, out_shardings=outs, keep_unused=True)
    program = Divided(library, artifact_of(jitted.lower(*args)))
    wanted = jax.tree.leaves(jax.jit(function)(*args))
    leaves = [np.asarray(x) for x in jax.tree.leaves(args)]
    for k, (whole, parts) in enumerate(zip(wanted, program.run(leaves))):
        for d in range(N):
            if problem := difference(parts[d], part_of(np.asarray(whole), program.outs[k], d), rtol):
                return f"result {k} on device {d}: {problem}", program.count()
    said = jax.tree.leaves(outs, is_leaf=lambda s: s is None)
    for k, sharding in enumerate(said if len(said) == len(wanted) else []):
        if sharding is None:
            continue
        places = list(sharding.devices_indices_map(wanted[k].shape).values())
        index = np.arange(int(np.prod(wanted[k].shape))).reshape(wanted[k].shape)
        if any(not np.array_equal(index[places[d]], part_of(index, program.outs[k], d)) for d in range(N)):
            return f"result {k} is divided otherwise than was asked", program.count()
    return "", program.count()


def load(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))
