# SPDX-License-Identifier: MIT
"""ONNX's operators in JAX, as far as the models of this directory have them: f(attributes, inputs...)

What depends on no weight and no input has the model's own types: a bucket of relative positions is what fp32 makes it.
All else is float64.
"""

import functools
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from jax import lax
from onnx import numpy_helper


def axes_of(x: Any, given: Any) -> tuple[int, ...]:
    return tuple(int(a) for a in np.asarray(given).ravel())


def divide(a: dict, x: Any, y: Any) -> Any:
    """Of whole numbers, which are sizes and not negative, the whole quotient"""
    return x // y if np.issubdtype(np.result_type(x), np.integer) else x / y


def conv(a: dict, x: Any, w: Any, b: Any = None) -> Any:
    n = x.ndim - 2
    pads = a.get("pads", [0] * 2 * n)
    y = lax.conv_general_dilated(x, jnp.asarray(w, x.dtype), a.get("strides", [1] * n), list(zip(pads[:n], pads[n:])),
                                 rhs_dilation=a.get("dilations", [1] * n), feature_group_count=a.get("group", 1))
    return y if b is None else y + b.reshape(-1, *[1] * n)


def pool(a: dict, x: Any, start: float, join: Any) -> Any:
    n, kernel = x.ndim - 2, a["kernel_shape"]
    pads, strides = a.get("pads", [0] * 2 * n), a.get("strides", [1] * n)
    ends = pads[n:]
    if a.get("ceil_mode"):  # one more window where it starts within the input
        rest = [(size + low + high - k) % s for size, low, high, k, s in zip(x.shape[2:], pads, ends, kernel, strides)]
        ends = [high + s - r if r and k + r - s - high > 0 else high
                for high, r, s, k in zip(ends, rest, strides, kernel)]
    return lax.reduce_window(x, start, join, (1, 1, *kernel), (1, 1, *strides),
                             [(0, 0), (0, 0), *zip(pads[:n], ends)])


def max_pool(a: dict, x: Any) -> Any:
    return pool(a, x, -jnp.inf, lax.max)


def average_pool(a: dict, x: Any) -> Any:
    assert not any(a.get("pads", [])) and not a.get("ceil_mode")
    return pool(a, x, 0.0, lax.add) / float(np.prod(a["kernel_shape"]))


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
    to = onnx.helper.tensor_dtype_to_np_dtype(a["to"])
    return x.astype(np.float64 if to == np.float32 and isinstance(x, jax.core.Tracer) else to)


def constant(a: dict) -> Any:
    return numpy_helper.to_array(a["value"])


def filled(a: dict, shape: Any) -> Any:
    value = numpy_helper.to_array(a["value"]) if "value" in a else np.zeros(1, np.float32)
    return np.full([int(n) for n in shape], value[0])


def batch_norm(a: dict, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    def lift(v: Any) -> Any:
        return v.reshape(-1, *[1] * (x.ndim - 2))

    return (x - lift(mean)) * lift(scale * lax.rsqrt(var + a.get("epsilon", 1e-5))) + lift(bias)


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    return jnp.minimum(jnp.maximum(x * alpha + beta, 0.0), 1.0)


def pad(a: dict, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    assert a.get("mode", b"constant") == b"constant" and axes is None
    n = x.ndim
    low, high = [int(p) for p in pads[:n]], [int(p) for p in pads[n:]]
    return lax.pad(x, jnp.asarray(0 if value is None else value, x.dtype), [(i, j, 0) for i, j in zip(low, high)])


def mean(a: dict, x: Any, axes: Any = None) -> Any:
    over = a.get("axes") if axes is None else axes_of(x, axes)
    return jnp.mean(x, tuple(over) if over is not None else None, keepdims=bool(a.get("keepdims", 1)))


def reduce_l2(a: dict, x: Any) -> Any:
    over = tuple(a["axes"]) if "axes" in a else None
    return jnp.sqrt(jnp.sum(jnp.square(x), over, keepdims=bool(a.get("keepdims", 1))))


def arg_max(a: dict, x: Any) -> Any:
    assert not a.get("select_last_index")
    return jnp.argmax(x, a.get("axis", 0), keepdims=bool(a.get("keepdims", 1))).astype(jnp.int64)


def split(a: dict, x: Any, sizes: Any) -> tuple[Any, ...]:
    return tuple(jnp.split(x, np.cumsum(np.asarray(sizes))[:-1], a.get("axis", 0)))


def scatter_nd(a: dict, x: Any, indices: Any, updates: Any) -> Any:
    return jnp.asarray(x).at[tuple(np.moveaxis(np.asarray(indices), -1, 0))].set(updates)


def resize(a: dict, x: Any, _roi: Any, scales: Any, sizes: Any = None) -> Any:
    """Along one axis after the other"""
    how = a["mode"], a.get("coordinate_transformation_mode", b"half_pixel")
    for axis, size in enumerate(int(n) for n in sizes):
        n = x.shape[axis]
        if n == size:
            continue
        if how == (b"nearest", b"asymmetric") and a["nearest_mode"] == b"floor":
            x = jnp.take(x, np.arange(size) * n // size, axis)
            continue
        assert how == (b"linear", b"half_pixel")
        place = np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)
        low = np.minimum(place.astype(int), n - 2)
        share = (place - low).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        x = jnp.take(x, low, axis) * (1 - share) + jnp.take(x, low + 1, axis) * share
    return x


def over_time(x: Any, backwards: bool, state: tuple[Any, ...], step: Callable[..., tuple[Any, ...]]) \
        -> tuple[Any, tuple[Any, ...]]:
    """What step gives first, at all times, and the last of all that it gives"""
    rows = []
    for t in range(len(x))[::-1 if backwards else 1]:
        state = step(x[t], *state)
        rows.append(state[0])
    return jnp.stack(rows[::-1] if backwards else rows), state


def directions(a: dict) -> list[bool]:
    return {b"forward": [False], b"reverse": [True], b"bidirectional": [False, True]}[a.get("direction", b"forward")]


def lstm(a: dict, x: Any, w: Any, r: Any, b: Any, lengths: Any = None, h: Any = None, c: Any = None) -> tuple[Any, ...]:
    assert lengths is None and not a.get("layout")
    size, found = a["hidden_size"], []
    zero = np.zeros((x.shape[1], size))
    for d, backwards in enumerate(directions(a)):
        def step(x: Any, h: Any, c: Any, d: int = d) -> tuple[Any, Any]:
            i, o, f, n = jnp.split(x @ w[d].T + h @ r[d].T + (b[d, :4 * size] + b[d, 4 * size:]), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(n)
            return jax.nn.sigmoid(o) * jnp.tanh(c), c

        found.append(over_time(x, backwards, (zero if h is None else h[d], zero if c is None else c[d]), step))
    return jnp.stack([y for y, _ in found], 1), jnp.stack([s[0] for _, s in found]), jnp.stack([s[1] for _, s in found])


def gru(a: dict, x: Any, w: Any, r: Any, b: Any, lengths: Any = None, h: Any = None) -> tuple[Any, ...]:
    assert lengths is None and not a.get("layout") and a.get("linear_before_reset")
    size, found = a["hidden_size"], []
    for d, backwards in enumerate(directions(a)):
        def step(x: Any, h: Any, d: int = d) -> tuple[Any]:
            xs = jnp.split(x @ w[d].T + b[d, :3 * size], 3, -1)
            hs = jnp.split(h @ r[d].T + b[d, 3 * size:], 3, -1)
            z, r_ = (jax.nn.sigmoid(xs[i] + hs[i]) for i in range(2))
            return ((1 - z) * jnp.tanh(xs[2] + r_ * hs[2]) + z * h,)

        found.append(over_time(x, backwards, (np.zeros((x.shape[1], size)) if h is None else h[d],), step))
    return jnp.stack([y for y, _ in found], 1), jnp.stack([s[0] for _, s in found])


def lifted(v: Any, axis: int, ndim: int) -> Any:
    """One number, or one for each place along the axis, for an array of ndim dimensions"""
    return v if v.size == 1 else v.reshape([-1 if d == axis % ndim else 1 for d in range(ndim)])


def quantized(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    return jnp.clip(jnp.round(x / scale).astype(jnp.int32) + zero, low, high)


def quantize(a: dict, x: Any, scale: Any, zero: Any) -> Any:
    limits = np.iinfo(zero.dtype)
    zero = lifted(np.asarray(zero, np.int32), a.get("axis", 1), x.ndim)
    return quantized(x, lifted(scale, a.get("axis", 1), x.ndim), zero, limits.min, limits.max)


def dequantize(a: dict, x: Any, scale: Any, zero: Any = None) -> Any:
    x = x.astype(jnp.int32)
    x = x if zero is None else x - lifted(zero.astype(np.int32), a.get("axis", 1), x.ndim)
    return x.astype(jnp.float64) * lifted(scale, a.get("axis", 1), x.ndim)


def quantize_dynamic(a: dict, x: Any) -> tuple[Any, Any, Any]:
    low, high = jnp.minimum(jnp.min(x), 0.0), jnp.maximum(jnp.max(x), 0.0)
    scale = (high - low) / 255
    zero = jnp.clip(jnp.round(-low / scale), 0, 255).astype(jnp.int32)
    return quantized(x, scale, zero, 0, 255), scale, zero


def matmul_integer(a: dict, x: Any, y: Any, x_zero: Any = None, y_zero: Any = None) -> Any:
    x, y = x.astype(jnp.int32), y.astype(jnp.int32)
    return (x if x_zero is None else x - x_zero.astype(jnp.int32)) @ \
        (y if y_zero is None else y - y_zero.astype(jnp.int32))


def transformed(a: dict, scores: Any) -> Any:
    how = a.get("post_transform", b"NONE")
    assert how in (b"NONE", b"SOFTMAX")
    return softmax({}, scores) if how == b"SOFTMAX" else scores


def classified(a: dict, labels: str, scores: Any) -> tuple[Any, Any]:
    return jnp.asarray(a[labels])[jnp.argmax(scores, -1)], transformed(a, scores)


def linear_classifier(a: dict, x: Any) -> tuple[Any, Any]:
    kernel = np.reshape(a["coefficients"], (-1, x.shape[1]))
    return classified(a, "classlabels_ints", x @ kernel.T + np.array(a["intercepts"]))


def normalizer(a: dict, x: Any) -> Any:
    assert a["norm"] == b"L1"
    return x / jnp.sum(jnp.abs(x), -1, keepdims=True)


def leaves(a: dict, x: Any, kind: str, columns: int) -> Any:
    """The sums of the weights of the leaves to which each row comes"""
    places = {node: i for i, node in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"]))}
    roots = [i for (_, node), i in places.items() if node == 0]
    leaf = np.array([each == b"LEAF" for each in a["nodes_modes"]])
    goes = {b"BRANCH_LEQ": jnp.less_equal, b"BRANCH_LT": jnp.less}
    mode, = set(a["nodes_modes"]) - {b"LEAF"}
    assert a.get("aggregate_function", b"SUM") == b"SUM"

    def children(name: str) -> np.ndarray:
        return np.array([i if leaf[i] else places[tree, child]
                         for i, (tree, child) in enumerate(zip(a["nodes_treeids"], a[f"nodes_{name}nodeids"]))])

    weights = np.zeros((len(leaf), columns))
    for tree, node, column, weight in zip(*(a[f"{kind}_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))):
        weights[places[tree, node], column] += weight
    yes, no, feature, bound = (jnp.asarray(v) for v in (children("true"), children("false"), np.array(
        a["nodes_featureids"]), np.array(a["nodes_values"])))
    at = jnp.broadcast_to(np.array(roots), (x.shape[0], len(roots)))
    for _ in range(32):  # deep enough for every tree here
        at = jnp.where(goes[mode](jnp.take_along_axis(x, feature[at], 1), bound[at]), yes[at], no[at])
    return jnp.sum(jnp.asarray(weights)[at], 1) + np.array(a.get("base_values", [0.0]))


def tree_classifier(a: dict, x: Any) -> tuple[Any, Any]:
    return classified(a, "classlabels_int64s", leaves(a, x, "class", len(a["classlabels_int64s"])))


def svm_classifier(a: dict, x: Any) -> tuple[Any, Any]:
    """One against one: class i against j by the vectors of both, and the class that wins most"""
    assert a["kernel_type"] == b"RBF"
    classes, counts = len(a["classlabels_ints"]), a["vectors_per_class"]
    vectors = np.reshape(a["support_vectors"], (sum(counts), -1))
    kernel = jnp.exp(-a["kernel_params"][0] * jnp.sum(jnp.square(x[:, None] - vectors), -1))
    share, ends = np.reshape(a["coefficients"], (classes - 1, -1)), np.cumsum([0, *counts])
    scores, votes = [], [0] * classes
    for i in range(classes):
        for j in range(i + 1, classes):
            of_i, of_j = slice(*ends[i:i + 2]), slice(*ends[j:j + 2])
            score = kernel[:, of_i] @ share[j - 1, of_i] + kernel[:, of_j] @ share[i, of_j] + a["rho"][len(scores)]
            votes[i], votes[j] = votes[i] + (score > 0), votes[j] + (score <= 0)
            scores.append(score)
    return jnp.asarray(a["classlabels_ints"])[jnp.argmax(jnp.stack(votes), 0)], transformed(a, jnp.stack(scores, 1))


OPERATORS: dict[str, Callable[..., Any]] = {
    "Abs": lambda a, x: jnp.abs(x),
    "Add": lambda a, x, y: x + y,
    "ArgMax": arg_max,
    "ArrayFeatureExtractor": lambda a, x, at: jnp.take(jnp.asarray(x), jnp.ravel(at), -1),
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Clip": clip,
    "Concat": lambda a, *x: jnp.concatenate(x, a["axis"]),
    "Constant": constant,
    "ConstantOfShape": filled,
    "Conv": conv,
    "Cos": lambda a, x: jnp.cos(x),
    "DequantizeLinear": dequantize,
    "Div": divide,
    "DynamicQuantizeLinear": quantize_dynamic,
    "Einsum": lambda a, *x: jnp.einsum(a["equation"].decode(), *x),
    "Equal": lambda a, x, y: x == y,
    "Erf": lambda a, x: lax.erf(x),
    "Exp": lambda a, x: jnp.exp(x),
    "Expand": expand,
    "Flatten": lambda a, x: jnp.reshape(x, (int(np.prod(x.shape[:a.get("axis", 1)])), -1)),
    "Gather": lambda a, x, i: jnp.take(x, jnp.where(i < 0, i + x.shape[a.get("axis", 0)], i), a.get("axis", 0),
                                       mode="clip"),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: jnp.mean(x, tuple(range(2, x.ndim)), keepdims=True),
    "GRU": gru,
    "HardSigmoid": lambda a, x: hard_sigmoid(x, a.get("alpha", 0.2), a.get("beta", 0.5)),
    "HardSwish": lambda a, x: x * hard_sigmoid(x, 1 / 6, 0.5),
    "Identity": lambda a, x: x,
    "LayerNormalization": layer_norm,
    "Less": lambda a, x, y: x < y,
    "LessOrEqual": lambda a, x, y: x <= y,
    "LinearClassifier": linear_classifier,
    "Log": lambda a, x: jnp.log(x),
    "LSTM": lstm,
    "MatMul": lambda a, x, y: x @ y,
    "MatMulInteger": matmul_integer,
    "MaxPool": max_pool,
    "Min": lambda a, *x: functools.reduce(jnp.minimum, x),
    "Mod": lambda a, x, y: jnp.mod(x, y),
    "Mul": lambda a, x, y: x * y,
    "Neg": lambda a, x: -x,
    "Normalizer": normalizer,
    "Not": lambda a, x: jnp.logical_not(x),
    "Pad": pad,
    "Pow": lambda a, x, y: x ** y,
    "QuantizeLinear": quantize,
    "Range": lambda a, *x: np.arange(*(n.item() for n in x)),
    "ReduceL2": reduce_l2,
    "ReduceMean": mean,
    "Relu": lambda a, x: jnp.maximum(x, 0.0),
    "Reshape": reshape,
    "Resize": resize,
    "Scaler": lambda a, x: (x - np.array(a["offset"])) * np.array(a["scale"]),
    "ScatterND": scatter_nd,
    "Shape": lambda a, x: np.array(x.shape[a.get("start", 0):a.get("end")], np.int64),
    "Sigmoid": lambda a, x: jax.nn.sigmoid(x),
    "Sin": lambda a, x: jnp.sin(x),
    "Slice": slices,
    "Softmax": softmax,
    "Split": split,
    "Sqrt": lambda a, x: jnp.sqrt(x),
    "Squeeze": lambda a, x, at: jnp.squeeze(x, axes_of(x, at)),
    "Sub": lambda a, x, y: x - y,
    "Sum": lambda a, *x: functools.reduce(jnp.add, x),
    "SVMClassifier": svm_classifier,
    "Tanh": lambda a, x: jnp.tanh(x),
    "Tile": lambda a, x, n: jnp.tile(x, axes_of(x, n)),
    "Transpose": lambda a, x: jnp.transpose(x, a.get("perm")),
    "TreeEnsembleClassifier": tree_classifier,
    "TreeEnsembleRegressor": lambda a, x: leaves(a, x, "target", a["n_targets"]),
    "Trilu": lambda a, x, k=0: (jnp.triu if a.get("upper", 1) else jnp.tril)(x, int(k)),
    "Unsqueeze": lambda a, x, at: jnp.expand_dims(x, axes_of(x, at)),
    "Where": lambda a, c, x, y: jnp.where(c, x, y),
}
