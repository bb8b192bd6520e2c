# SPDX-License-Identifier: MIT
"""Rules for what only the host can do: pure_callback, io_callback, debug.callback, debug.print.

Each call becomes a custom call of the target neuron_python_callback, with the callable's number as its attribute `index`.
Whoever executes the program (the plug-in) hands the operands to entry(), a C function, and takes the results from it:

    int entry(uint64_t index, uint32_t nin, const struct tensor *in, uint32_t nout, const struct tensor *out,
              char *message, size_t size);
    struct tensor { void *data; const int64_t *dims; uint32_t ndim; int32_t type; };

type is PJRT_Buffer_Type's number, data is row-major in memory of the caller's; that of results is theirs to fill. 0: done;
1: an exception was raised, and message has its text. It may be called from any thread; Python's lock is taken inside.

An executable's programs may be under way when JAX has forgotten it, and its callables with it. So the plug-in says which
numbers its executables have, once for each, and once more when one is gone:

    void hold(uint64_t index, int more);    1 or -1

Both addresses are options of the client: host_callback and host_callback_hold.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import itertools
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import ml_dtypes
import numpy as np

from . import private

TARGET = "neuron_python_callback"

# PJRT_Buffer_Type of what an array may be of; 4-bit types have one byte an element
TYPES = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32, 9: np.uint64,
         10: np.float16, 11: np.float32, 12: np.float64, 13: ml_dtypes.bfloat16, 14: np.complex64, 15: np.complex128,
         16: ml_dtypes.float8_e5m2, 17: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4, 22: ml_dtypes.uint4}


class Callback:
    """A callable with what it gives; the executable keeps it (and so its number), the table below does not."""

    def __init__(self, function: Callable[..., Sequence[Any]], results: Sequence[Any]) -> None:
        self.function = function
        self.results = [(tuple(r.shape), np.dtype(r.dtype)) for r in results]

    def __call__(self, *operands: np.ndarray) -> list[np.ndarray]:
        given = [np.asarray(x) for x in self.function(*operands)]
        if len(given) != len(self.results):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(self.results)}, Actual: {len(given)}")
        return [fitting(i, x, *wanted) for i, (x, wanted) in enumerate(zip(given, self.results))]


def fitting(i: int, x: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """JAX's checks, in its words; what JAX itself would narrow is narrowed."""
    if x.shape != shape:
        raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {shape}, Actual: {x.shape}")
    narrow = jax.dtypes.canonicalize_dtype(x.dtype)
    if narrow != dtype:
        raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {dtype}, Actual: {x.dtype}")
    return x.astype(dtype, copy=False)


_numbers = itertools.count(1)
_lock = threading.RLock()  # an executable may go while it is held: the garbage collector runs anywhere
_table: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()


_held: dict[int, list[Any]] = {}  # of executables: a callable, and how many have it


def enter(callback: Callback) -> int:
    with _lock:
        number = next(_numbers)
        if number == 1:
            atexit.register(_finish)
        _table[number] = callback
    return number


def call(index: int, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of callable number index"""
    with _lock:
        callback = _table.get(index)
    if callback is None:
        raise LookupError(f"callback {index} is not one of this process: was the program compiled by another one?")
    return callback(*operands)


def hold_number(index: int, more: int) -> None:
    with _lock:
        callback = _table.get(index)
        if more > 0 and callback is not None:
            _held.setdefault(index, [callback, 0])[1] += 1
        elif more < 0 and index in _held:
            _held[index][1] -= 1
            if not _held[index][1]:
                del _held[index]


def _finish() -> None:
    """Ends all programs that call Python before Python ends: a program behind all others on each device is waited for."""
    try:
        for device in jax.devices("neuron"):
            jax.block_until_ready(jax.jit(lambda x: x + 1)(jax.device_put(np.float32(0), device)))
    except Exception:  # there are no devices, or no more
        return


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("ndim", ctypes.c_uint32),
                ("type", ctypes.c_int32)]


def array_of(t: Tensor) -> np.ndarray:
    """The caller's memory as an array; nothing is copied"""
    if t.type not in TYPES:
        raise TypeError(f"an array of PJRT_Buffer_Type {t.type} in a callback")
    shape = tuple(t.dims[i] for i in range(t.ndim))
    dtype = np.dtype(TYPES[t.type])
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if not size:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(t.data), dtype).reshape(shape)


def _entry(index: int, nin: int, inputs: Any, nout: int, outputs: Any, message: int, size: int) -> int:
    try:
        # the callable may keep its operands, and the caller's memory is not its own
        results = call(index, [array_of(inputs[i]).copy() for i in range(nin)])
        if len(results) != nout:
            raise RuntimeError(f"callback {index} has {len(results)} results, the program takes {nout}")
        for i, x in enumerate(results):
            np.copyto(array_of(outputs[i]), x, casting="no")
    except BaseException as e:  # nothing may pass a C frame
        logging.getLogger(__name__).exception("a callback failed")
        if size:
            text = f"{type(e).__name__}: {e}".encode(errors="replace")[: size - 1]
            text = text.decode(errors="ignore").encode() + b"\0"  # no half of a character at the end
            ctypes.memmove(message, text, len(text))
        return 1
    return 0


ENTRY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, ctypes.POINTER(Tensor), ctypes.c_uint32,
                              ctypes.POINTER(Tensor), ctypes.c_void_p, ctypes.c_size_t)
HOLD_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int)
_c_entry, _c_hold = ENTRY_TYPE(_entry), HOLD_TYPE(hold_number)
# as long as the process, so that a client may keep the addresses
for _kept in (_c_entry, _c_hold):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def entry() -> int:
    """entry()'s address, for the plug-in"""
    return ctypes.cast(_c_entry, ctypes.c_void_p).value or 0


def hold() -> int:
    """hold()'s address, for the plug-in"""
    return ctypes.cast(_c_hold, ctypes.c_void_p).value or 0


def on_host(function: Callable[..., Any]) -> Callable[..., Sequence[Any]]:
    """Gives function JAX's arrays on the CPU, as JAX does, or NumPy's where JAX_PLATFORMS leaves no CPU."""
    def called(*operands: np.ndarray) -> Sequence[Any]:
        try:
            cpu = jax.local_devices(backend="cpu")[0]
        except RuntimeError:
            return jax.tree.leaves(function(*operands))
        with jax.default_device(cpu):
            return jax.tree.leaves(function(*(jax.device_put(x, cpu) for x in operands)))
    return called


def left_open(ctx: Any) -> set[str]:
    """The axes of a shard_map's mesh that it leaves to the compiler"""
    axes = ctx.module_context.axis_context
    if not isinstance(axes, private.need("jax._src.sharding_impls", "SPMDAxisContext")):
        return set()
    return set(axes.mesh.axis_names) - set(axes.manual_axes)


def of_devices(ctx: Any, sharding: Any = None, parts: bool = False) -> dict[str, int]:
    """The attribute of a call for the devices of a program: which one makes it for all, with the whole arrays ("device"), or that each
    makes it with its parts ("parts"), as in shard_map. Nothing where the program is for one."""
    axes = ctx.module_context.axis_context
    if isinstance(axes, private.need("jax._src.sharding_impls", "SPMDAxisContext")):
        if left_open(ctx):
            raise NotImplementedError("callbacks are only supported in spmd computations when all mesh axes are partitioned "
                                      "manually (no partial automatic sharding).")
        if sharding is not None:
            raise NotImplementedError("callbacks do not support specifying sharding inside spmd computations")
        return {"parts": 1}
    if not isinstance(axes, private.need("jax._src.sharding_impls", "ShardingContext")) or axes.num_devices == 1:
        return {}
    if parts:
        return {"parts": 1}
    if sharding is None:
        return {"device": 0}
    if len(sharding.device_set) != 1:
        raise NotImplementedError(f"pure_callback only supports SingleDeviceSharding, but got {type(sharding)}")
    device = next(iter(sharding.device_set))
    if device not in axes.device_assignment:
        raise ValueError(f"Sharding provided to pure_callback specifies a device {device} that is not in the device assignment "
                         f"({axes.device_assignment})")
    return {"device": axes.device_assignment.index(device)}


def rule(ctx: Any, *operands: Any, function: Callable[..., Any], where: dict[str, int], ordered: Any = None,
         pure: bool = False) -> Sequence[Any]:
    """Writes the call, with what of_devices() says. An ordered one, whose effect is given, takes the token of the one before
    and gives it on."""
    mlir = private.need("jax._src.interpreters", "mlir")
    if len(ctx.module_context.platforms) > 1:
        raise NotImplementedError("a callback in a program that is lowered for several platforms")
    callback = Callback(on_host(function), ctx.avals_out)
    ctx.module_context.add_keepalive(callback)
    attributes = {"index": enter(callback), **where}
    context = (ctx.module_context,) if mlir.aval_to_ir_type.__code__.co_argcount > 1 else ()
    types = [mlir.aval_to_ir_type(*context, x) for x in ctx.avals_out]
    if ordered is not None:
        token = ctx.tokens_in.get(ordered)
        token = token[0] if isinstance(token, (tuple, list)) else token
        operands, types = [token, *operands], [mlir.token_type(), *types]
    number = mlir.ir.IntegerType.get_unsigned(64)
    op = mlir.custom_call(TARGET, result_types=types, operands=list(operands), has_side_effect=not pure, api_version=4,
                          backend_config={name: mlir.ir.IntegerAttr.get(number, value) for name, value in attributes.items()})
    results = list(op.results)
    if ordered is not None:
        given = results.pop(0)
        kept = (given,) if isinstance(ctx.tokens_in.get(ordered), tuple) else given
        ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({ordered: kept})))
    return results


def pure_callback(ctx: Any, *operands: Any, callback: Callable, sharding: Any = None, **_: Any) -> Sequence[Any]:
    return rule(ctx, *operands, function=callback, where=of_devices(ctx, sharding), pure=True)


def io_callback(ctx: Any, *operands: Any, callback: Callable, ordered: bool, sharding: Any = None, **_: Any) -> Sequence[Any]:
    effect = private.need("jax._src.callback", "_OrderedIOEffect") if ordered else None
    return rule(ctx, *operands, function=callback, where=of_devices(ctx, sharding), ordered=effect)


def debug_callback(ctx: Any, *operands: Any, callback: Callable, effect: Any, partitioned: bool = False,
                   **more: Any) -> Sequence[Any]:
    if left_open(ctx):  # as JAX has it: the first of those along the axes that are open makes the call
        mlir = private.need("jax._src.interpreters", "mlir")
        first = private.need("jax._src.debugging", "_debug_callback_partial_auto")
        given = {"partitioned": partitioned} if "partitioned" in inspect.signature(debug_impl()).parameters else {}
        lower = partial(first, ctx.module_context.axis_context, callback=callback, effect=effect, **given, **more)
        return mlir.lower_fun(lower)(ctx, *operands)
    ordered = private.need("jax._src.effects", "ordered_effects").contains(effect)
    return rule(ctx, *operands, function=callback, where=of_devices(ctx, parts=partitioned), ordered=effect if ordered else None)


def debug_impl() -> Callable[..., Any]:
    """Implements a debug callback as JAX's primitive does, whose parameters it has"""
    return private.need("jax._src.debugging", "debug_callback_impl")


def debug_print(ctx: Any, *operands: Any, ordered: bool, in_tree: Any, static_args: Any, partitioned: bool = False,
                **layout: Any) -> Sequence[Any]:
    """A debug.callback of JAX's own formatting, which takes the first of its arguments from the primitive."""
    write = private.need("jax._src.debugging", "_format_print_callback")
    flat = private.need("jax._src.debugging", "_make_flat_callback")
    effect = private.need("jax._src.debugging", "ordered_debug_effect" if ordered else "debug_effect")
    given = {**layout, "np_printoptions": dict(layout.get("np_printoptions", ()))}
    first = [given[name] for name in inspect.signature(write).parameters if name in given]
    callback = flat(in_tree, partial(write, *first), static_args)
    return debug_callback(ctx, *operands, callback=callback, effect=effect, partitioned=partitioned)
