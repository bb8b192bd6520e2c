#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The float64 results of an ONNX model, and the standard deviation of its error (../errors.py).

usage: reference.py DIR

DIR has model.onnx and in<i>.npy; gets out<i>.npy and sigma_<mode><i>.npy as ../generate.py writes them. The model
is run node by node in JAX, so that errors.py sees every operation. That this reads the model rightly is
held by onnxruntime, whose fp32 results have to lie within the bound of --auto-cast none; else this fails.

Needs jax, onnx and onnxruntime.
"""

import functools
import sys
from pathlib import Path
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from jax import lax
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import errors  # noqa: E402

# What a softmax subtracts cancels out, whatever its error: of masked scores, -3e38, that is large
errors.UNARY["stop_gradient"] = (lambda x, y: 0.0, 0.0)

NCHW = ("NCHW", "OIHW", "NCHW")


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) if x.dtype == np.float32 else x


def axes_of(x: Any, given: Any) -> tuple[int, ...]:
    return tuple(int(a) for a in np.asarray(given).ravel())


def conv(a: dict, x: Any, w: Any, b: Any = None) -> Any:
    n = x.ndim - 2
    pads = a.get("pads", [0] * 2 * n)
    y = lax.conv_general_dilated(x, w, a.get("strides", [1] * n), list(zip(pads[:n], pads[n:])),
                                 rhs_dilation=a.get("dilations", [1] * n), dimension_numbers=NCHW,
                                 feature_group_count=a.get("group", 1))
    return y if b is None else y + b[:, None, None]


def max_pool(a: dict, x: Any) -> Any:
    n = x.ndim - 2
    pads = a.get("pads", [0] * 2 * n)
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *a["kernel_shape"]), (1, 1, *a.get("strides", [1] * n)),
                             [(0, 0), (0, 0), *zip(pads[:n], pads[n:])])


def gemm(a: dict, x: Any, w: Any, b: Any = None) -> Any:
    x, w = (x.T if a.get("transA") else x), (w.T if a.get("transB") else w)
    y = x @ w
    y = y if a.get("alpha", 1.0) == 1.0 else y * a["alpha"]
    return y if b is None else y + (b if a.get("beta", 1.0) == 1.0 else b * a["beta"])


def layer_norm(a: dict, x: Any, scale: Any, bias: Any = None) -> Any:
    over = tuple(range(a.get("axis", -1) % x.ndim, x.ndim))
    mean = jnp.mean(x, over, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), over, keepdims=True)
    y = (x - mean) * lax.rsqrt(var + a.get("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def clip(a: dict, x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else jnp.maximum(x, low)
    return x if high is None else jnp.minimum(x, high)


def reshape(a: dict, x: Any, to: Any) -> Any:
    return jnp.reshape(x, [x.shape[i] if n == 0 and not a.get("allowzero") else int(n) for i, n in enumerate(to)])


def slices(a: dict, x: Any, start: Any, end: Any, axes: Any = None, step: Any = None) -> Any:
    which = [slice(None)] * x.ndim
    axes = range(len(start)) if axes is None else axes_of(x, axes)
    for i, axis in enumerate(axes):
        which[axis] = slice(int(start[i]), int(end[i]), int(step[i]) if step is not None else 1)
    return x[tuple(which)]


def expand(a: dict, x: Any, to: Any) -> Any:
    return jnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(n) for n in to)))


def softmax(a: dict, x: Any) -> Any:
    e = jnp.exp(x - lax.stop_gradient(jnp.max(x, a.get("axis", -1), keepdims=True)))
    return e / jnp.sum(e, a.get("axis", -1), keepdims=True)


def cast(a: dict, x: Any) -> Any:
    return x.astype(wide(np.zeros(0, onnx.helper.tensor_dtype_to_np_dtype(a["to"]))).dtype)


def constant(a: dict) -> Any:
    return wide(numpy_helper.to_array(a["value"]))


def filled(a: dict, shape: Any) -> Any:
    value = wide(numpy_helper.to_array(a["value"])) if "value" in a else np.zeros(1)
    return np.full([int(n) for n in shape], value[0])


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": lambda a, x, y: x + y,
    "Cast": cast,
    "Clip": clip,
    "Concat": lambda a, *x: jnp.concatenate(x, a["axis"]),
    "Constant": constant,
    "ConstantOfShape": filled,
    "Conv": conv,
    "Div": lambda a, x, y: x / y,
    "Equal": lambda a, x, y: x == y,
    "Erf": lambda a, x: lax.erf(x),
    "Expand": expand,
    "Flatten": lambda a, x: jnp.reshape(x, (int(np.prod(x.shape[:a.get("axis", 1)])), -1)),
    "Gather": lambda a, x, i: jnp.take(x, jnp.where(i < 0, i + x.shape[a.get("axis", 0)], i), a.get("axis", 0),
                                       mode="clip"),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: jnp.mean(x, tuple(range(2, x.ndim)), keepdims=True),
    "Identity": lambda a, x: x,
    "LayerNormalization": layer_norm,
    "MatMul": lambda a, x, y: x @ y,
    "MaxPool": max_pool,
    "Mul": lambda a, x, y: x * y,
    "Relu": lambda a, x: jnp.maximum(x, 0.0),
    "Reshape": reshape,
    "Shape": lambda a, x: np.array(x.shape[a.get("start", 0):a.get("end")], np.int64),
    "Slice": slices,
    "Softmax": softmax,
    "Sub": lambda a, x, y: x - y,
    "Tanh": lambda a, x: jnp.tanh(x),
    "Transpose": lambda a, x: jnp.transpose(x, a.get("perm")),
    "Unsqueeze": lambda a, x, at: jnp.expand_dims(x, axes_of(x, at)),
    "Where": lambda a, c, x, y: jnp.where(c, x, y),
}


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def run(model: onnx.ModelProto, fixed: dict[str, Any], weights: dict[str, Any], *inputs: Any) -> list[Any]:
    known = {**fixed, **weights, "": None} | {i.name: x for i, x in zip(model.graph.input, inputs)}
    for node in model.graph.node:
        args = [known[name] for name in node.input]
        call = functools.partial(OPERATORS[node.op_type], attributes(node), *args)
        if node.op_type != "Shape" and any(isinstance(x, jax.Array) for x in args):
            known[node.output[0]] = call()
        else:
            with jax.ensure_compile_time_eval():  # what says how to reshape has to be numbers
                known[node.output[0]] = np.asarray(call())
    return [known[o.name] for o in model.graph.output]


def held(model: Path, inputs: list[np.ndarray], results: list[tuple[np.ndarray, list[np.ndarray]]]) -> None:
    """By onnxruntime"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    none = [mode.name for mode in errors.MODES].index("none")
    for i, got in enumerate(session.run(None, dict(zip(names, inputs)))):
        want, sigma = results[i][0], results[i][1][none]
        if not np.max(sigma) < np.max(np.abs(want)):
            sys.exit("the bound is larger than what it bounds")
        worst, limit = float(np.max(np.abs(got - want) / sigma)), errors.quantile(want.size)
        print(f"# {model.parent.name}: onnxruntime's output {i}: {worst:.2f} sigma of at most {limit:.2f}", flush=True)
        if not worst <= limit:
            sys.exit("the reference is not what onnxruntime computes")


def main() -> None:
    to = Path(sys.argv[1])
    model = onnx.load(to / "model.onnx")
    given = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    weights = {name: x for name, x in given.items() if x.dtype == np.float32}
    fixed = {name: x for name, x in given.items() if name not in weights}
    inputs = [np.load(to / f"in{i}.npy") for i in range(len(model.graph.input))]
    with jax.enable_x64(True):
        results = errors.analyse(functools.partial(run, model, fixed), weights, inputs)
    held(to / "model.onnx", inputs, results)
    for i, (x, sigmas) in enumerate(results):
        high = x.astype(np.float32)
        np.save(to / f"out{i}.npy", np.stack([high, (x - high).astype(np.float32)]))
        for mode, sigma in zip(errors.MODES, sigmas):
            np.save(to / f"sigma_{mode.name}{i}.npy", sigma.astype(np.float32))


if __name__ == "__main__":
    main()
