# SPDX-License-Identifier: MIT
"""How far an ONNX model's results may be off, by Monte Carlo arithmetic.

Parker, Monte Carlo Arithmetic (1997): a program runs several times in float64, and each time every rounding that
fp32 would do is a random one. A jaxpr's operations get the errors that ../errors.py gives them, as draws instead of
variances, so that errors which cancel do, and what is discontinuous is as often on the other side as it would be:

  f(a, b)           times 1 + u_f r; r is uniform in [-1, 1], which has the variance 1/3
  sum of n terms    plus u r sqrt(n/2 sum of squares + n/3 square of the sum)
  product of a, b   the same of the terms a_k b_k, and the operands times 1 + u_a r, 1 + u_b r (--auto-cast), one of
                    them also times 1 + u_p r: what the six products of --auto-cast none leave out
  round             exact, of an argument that is off by r / 1024 steps more: in each run one of 2,000 values that are
                    quantized goes to the other side, many more than fp32's errors bring there. What few such flips
                    do, which may come in one run and not in eight, stays below what these do
  integers, moves   exact; the products of quantized numbers are

With d_k an element's deviations from the undisturbed float64 result in SAMPLES runs, sigma^2 is
m^2 + M^2 + (u x)^2 / 3: m^2 is the mean of the element's d_k^2, M^2 the mean of all m^2 of the output. Few runs
give a small m now and then; M is what keeps it from being taken for a small error. Whole numbers (labels) have
sigma = m: they have to be right unless a run got another one.

Nothing here is tuned either, but for FLIP and SAMPLES: more of the one widens the bound of what is quantized, more
of the other narrows every bound by at most sqrt 2.
"""

from typing import Any, Sequence

import jax
import numpy as np

import errors
from errors import FUNCTION, MODES, U32

SAMPLES = 8
FLIP = 2.0**-10

SUMS = ("dot_general", "conv_general_dilated", "reduce_sum", "reduce_window_sum")
EXACT = (*errors.MOVES, "max", "min", "clamp", "select_n", "round", "convert_element_type", "reduce_min", "split")
ROUNDOFF = {name: u for name, (_, u) in (errors.UNARY | errors.BINARY).items()} | \
    dict.fromkeys(("pow", "sin", "cos"), FUNCTION) | dict.fromkeys(EXACT, 0.0)


def is_real(x: Any) -> bool:
    return np.issubdtype(x.dtype, np.floating)


class Run:
    """One of a model, in order: the undisturbed one, mode None, leaves to the others how far each sum may be off"""

    def __init__(self, mode: errors.Mode | None, seed: int, scales: list[np.ndarray]) -> None:
        self.mode, self.rng = mode, np.random.Generator(np.random.SFC64(seed))
        self.scales = iter(scales) if mode else scales

    def times(self, x: Any, u: float) -> Any:
        x = np.asarray(x)
        return x * (1 + u * self.rng.uniform(-1, 1, x.shape)) if u and self.mode else x

    def plus(self, x: Any, scale: Any) -> Any:
        x = np.asarray(x)
        return x + scale * self.rng.uniform(-1, 1, x.shape)


def conv(x: Any, w: Any, params: dict) -> np.ndarray:
    """NCHW: by patches and one product for each group, faster in float64 than XLA's loops"""
    x, w = np.asarray(x), np.asarray(w)
    kernel, groups = w.shape[2:], params["feature_group_count"]
    n = len(kernel)
    assert params["dimension_numbers"].lhs_spec == tuple(range(n + 2)) == params["dimension_numbers"].rhs_spec
    assert set(params["lhs_dilation"]) == {1} and params["batch_group_count"] == 1
    x = np.pad(x, [(0, 0), (0, 0), *params["padding"]])
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, params["rhs_dilation"])]
    patches = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, n + 2)))
    steps = [slice(None, None, s) for s in (*params["window_strides"], *params["rhs_dilation"])]
    patches = patches[(slice(None), slice(None), *steps)]
    batch, channels, *out = patches.shape[:n + 2]
    order = (1, *range(n + 2, 2 * n + 2), 0, *range(2, n + 2))
    columns = patches.transpose(order).reshape(groups, channels // groups * int(np.prod(kernel)), -1)
    y = (w.reshape(groups, w.shape[0] // groups, -1) @ columns).reshape(w.shape[0], batch, *out)
    return np.swapaxes(y, 0, 1)


def binder(eqn: Any) -> Any:
    if eqn.primitive.name == "conv_general_dilated" and is_real(eqn.outvars[0].aval):
        return lambda x, w: conv(x, w, eqn.params)
    return lambda *args: eqn.primitive.bind(*args, **eqn.params)


def of_terms(eqn: Any, shapes: list[tuple[int, ...]], size: int) -> float:
    """How many each element of a sum adds"""
    name, params = eqn.primitive.name, eqn.params
    if name == "dot_general":
        return float(np.prod([shapes[0][d] for d in params["dimension_numbers"][0][0]]))
    if name == "conv_general_dilated":
        return float(np.prod(shapes[1][1:]))
    if name == "reduce_window_sum":
        return float(np.prod(params["window_dimensions"]))
    return float(np.prod(shapes[0])) / max(1, size)


def total(eqn: Any, values: list[Any], run: Run) -> np.ndarray:
    """A sum, of products or not"""
    bind = binder(eqn)
    if run.mode:
        if len(values) == 2:
            u = run.mode.cast, float(np.hypot(run.mode.cast, run.mode.product))
            values = [run.times(x, v) for x, v in zip(values, u)]
        return run.plus(bind(*values), next(run.scales))
    x = np.asarray(bind(*values))
    terms = of_terms(eqn, [np.shape(v) for v in values], x.size)
    squares = np.asarray(bind(*(np.square(v) for v in values)))
    run.scales.append((U32 * np.sqrt(terms / 2 * squares + terms / 3 * np.square(x))).astype(np.float32))
    return x


def roundoff(eqn: Any) -> float:
    name = eqn.primitive.name
    if not any(is_real(v.aval) for v in eqn.outvars):
        return 0.0
    if name == "integer_pow":
        return U32 * max(1, abs(eqn.params["y"]) - 1)
    if name not in ROUNDOFF:
        raise NotImplementedError(f"no rule for {name}")
    return ROUNDOFF[name]


def evaluate(eqn: Any, values: list[Any], run: Run) -> list[Any]:
    name = eqn.primitive.name
    if name in SUMS and is_real(eqn.outvars[0].aval):
        return [total(eqn, values, run)]
    if name == "round" and run.mode:
        values = [run.plus(values[0], FLIP)]
    found, u = binder(eqn)(*values), roundoff(eqn)
    return [run.times(x, u) for x in (found if eqn.primitive.multiple_results else [found])]


def run_all(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], run: Run) -> list[Any]:
    known = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    last = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if not hasattr(v, "val")}
    last |= {v: len(jaxpr.eqns) for v in jaxpr.outvars if not hasattr(v, "val")}

    def value(v: Any) -> Any:
        return v.val if hasattr(v, "val") else known[v]

    for i, eqn in enumerate(jaxpr.eqns):
        values, closed = [value(v) for v in eqn.invars], errors.inner(eqn)
        if closed is not None:
            found = run_all(getattr(closed, "jaxpr", closed), getattr(closed, "consts", ()), values, run)
        else:
            found = evaluate(eqn, values, run)
        known |= dict(zip(eqn.outvars, found))
        for v in {v for v in eqn.invars if not hasattr(v, "val") and last[v] == i}:
            del known[v]
    return [value(v) for v in jaxpr.outvars]


def deviation(x: np.ndarray, squares: np.ndarray) -> np.ndarray:
    if not is_real(x):
        return np.sqrt(squares)
    return np.sqrt(squares + np.mean(squares) + np.square(U32 * x) / 3)


def analyse(fn: Any, weights: dict[str, Any], inputs: Sequence[np.ndarray]) \
        -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """For each output: its float64 value, and sigma for each of MODES. Needs jax_enable_x64."""
    leaves, tree = jax.tree.flatten((weights, *inputs))
    wide = [x.astype(np.float64) if is_real(x) else x for x in leaves]
    closed = jax.make_jaxpr(lambda *args: fn(*jax.tree.unflatten(tree, args)))(*wide)
    scales: list[np.ndarray] = []
    exact = [np.asarray(x) for x in run_all(closed.jaxpr, closed.consts, wide, Run(None, 0, scales))]
    sigmas: list[list[np.ndarray]] = [[] for _ in exact]
    for i, mode in enumerate(MODES):
        squares = [np.zeros(x.shape) for x in exact]
        for sample in range(SAMPLES):
            found = run_all(closed.jaxpr, closed.consts, wide, Run(mode, SAMPLES * i + sample, scales))
            squares = [s + np.square(np.asarray(y, np.float64) - x) / SAMPLES
                       for s, x, y in zip(squares, exact, found)]
        for own, x, s in zip(sigmas, exact, squares):
            own.append(deviation(x, s))
    return list(zip(exact, sigmas))
