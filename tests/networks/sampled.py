# SPDX-License-Identifier: MIT
"""How far a function's results may be off, for functions of any primitives: Monte Carlo arithmetic.

As errors.py, every rounding is an independent random error of mean 0 and variance (u x)^2 / 3; but instead of carrying
variances along through rules of derivatives, the function runs in float64 with such errors put in (Parker, Monte Carlo
Arithmetic, 1997), SAMPLES times for each of MODES, and what its results then differ by from those of the run without
errors is looked at. So loops, orders, conditions and indices need no rule: they just run.

  the rounding of x  x (1 + u r), r uniform in [-1, 1], which has the variance u^2 / 3. r is a hash of the bits of x and
                     the sample's number: the same number is rounded the same way wherever it is met, as hardware does,
                     so that a weight that is cast in every turn of a loop has the same error in all of them. A number
                     that the type holds is not rounded by it, nor are sums of whole numbers
  sums, products     in one operation: of the variances in errors.py, by the same constants
  a Cholesky factor  the backward errors (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 10.1.1 and 8.1):
  and triangular     the exact factor of A + E, E the error of the product L L^T; the exact solution of (T + E) x = b,
  solutions          E the error that products of T's rows have, relative to T's elements

From SAMPLES differences the variance of an element is known badly: s^2 has the distribution of chi^2 / SAMPLES. As for
the variances of thousands of genes, all elements of an output together say how far their variances lie apart (Smyth,
Linear Models and Empirical Bayes Methods, 2004): were the true ones drawn from s0^2 d0 / chi^2(d0), the mean and the
variance of log s^2 give s0 and d0, each variance moves to (d0 s0^2 + SAMPLES s^2) / (d0 + SAMPLES), and an error over
its root has Student's distribution of d0 + SAMPLES degrees of freedom. What is written is that root times the quotient
of this distribution's quantile and quantile(n) of the normal one, so that who compares |error| with quantile(n) sigma
refuses a right result as rarely as errors.py promises. An element that no sample moved has to be right up to its
storage in fp32; so a model should not end with what flattens, as a ReLU does: an element a little below its threshold
may be above it on the chip and in no sample.

A result that is not a real number has to be the same in all samples: else the input lies within rounding of another
choice, or the model is not stable enough to be compared with anything, and analyse() refuses it.
"""

import functools
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import scipy.stats
from jax import lax

import errors
from errors import DIVIDE, FUNCTION, MODES, U32, Mode, is_real

SAMPLES = 12
FAILURE = 1e-6  # as in errors.quantile
# XLA's options: it runs only a few times
QUICK = {"xla_backend_optimization_level": 1, "xla_llvm_disable_expensive_passes": True}

# What makes new numbers, by a unit roundoff of the result; what is in no table here only moves or chooses
FUNCTIONS = ("exp", "exp2", "log", "log1p", "expm1", "tanh", "logistic", "erf", "erfc", "erf_inv", "rsqrt", "sqrt",
             "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh",
             "pow", "lgamma", "digamma")
UNITS = {"add": U32, "add_any": U32, "sub": U32, "mul": U32, "square": U32, "div": DIVIDE, "rem": DIVIDE} \
    | {name: FUNCTION for name in FUNCTIONS}
MOVES = errors.MOVES + (
    "neg", "abs", "sign", "floor", "ceil", "round", "copy", "stop_gradient", "max", "min", "clamp", "select_n", "sort",
    "top_k", "split", "argmax", "argmin", "reduce_min", "reduce_window_min", "cummax", "cummin", "scatter",
    "scatter-max", "scatter-min", "gt", "ge", "lt", "le", "eq", "ne", "le_to", "lt_to", "is_finite")


def uniform(x: jax.Array, sample: jax.Array) -> jax.Array:
    """In [-1, 1]: a hash of the bits of x and of the sample (the finalizer of MurmurHash3)"""
    h = lax.bitcast_convert_type(x, jnp.uint64) ^ (sample * np.uint64(0x9E3779B97F4A7C15))
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(factor)
    return (h ^ (h >> np.uint64(33))).astype(jnp.float64) * 2.0**-63 - 1


def whole(x: jax.Array) -> jax.Array:
    return jnp.all(x == jnp.round(x))


def is_depthwise(params: dict[str, Any], kernel: Sequence[int]) -> bool:
    out, into = (kernel[d] for d in params["dimension_numbers"].rhs_spec[:2])
    return into == 1 and out == params["feature_group_count"] > 1 and params["batch_group_count"] == 1 and \
        set(params["lhs_dilation"]) == {1}


def depthwise(params: dict[str, Any], x: jax.Array, w: jax.Array) -> jax.Array:
    """Tap by tap: XLA takes a hundred times longer over such a convolution in float64"""
    numbers, rates, strides = params["dimension_numbers"], params["rhs_dilation"], params["window_strides"]
    x = jnp.transpose(x, (numbers.lhs_spec[0], *numbers.lhs_spec[2:], numbers.lhs_spec[1]))
    w = jnp.transpose(w, (*numbers.rhs_spec[2:], *numbers.rhs_spec[:2]))[..., 0]
    x = lax.pad(x, 0.0, [(0, 0, 0), *((low, high, 0) for low, high in params["padding"]), (0, 0, 0)])
    sizes = [(n - rate * (k - 1) - 1) // step + 1 for n, k, rate, step in zip(x.shape[1:], w.shape, rates, strides)]
    y = 0.0
    for tap in np.ndindex(w.shape[:-1]):
        window = tuple(slice(t * rate, t * rate + (n - 1) * step + 1, step)
                       for t, rate, n, step in zip(tap, rates, sizes, strides))
        y = y + x[(slice(None), *window)] * w[tap]
    order = (numbers.out_spec[0], *numbers.out_spec[2:], numbers.out_spec[1])
    return jnp.transpose(y, np.argsort(order))


@jax.jit  # traced once for a shape
def perturbed(x: jax.Array, variance: jax.Array, sample: jax.Array) -> jax.Array:
    return jnp.where(sample == 0, x, x + jnp.sqrt(3 * variance) * uniform(x, sample))


class Sampler:
    """Runs a jaxpr with errors of a mode, whose numbers may be traced. sample: 0 for none"""

    def __init__(self, mode: Mode, sample: jax.Array) -> None:
        self.mode, self.sample = mode, sample

    def off(self, x: jax.Array, variance: jax.Array) -> jax.Array:
        """x with an error of this variance"""
        return perturbed(x, variance, self.sample)

    def rounded(self, x: jax.Array, u: float, held: Any = None) -> jax.Array:
        y = self.off(x, jnp.square(u * x) / 3)
        return y if held is None else jnp.where(x.astype(held) == x, x, y)

    def cast(self, x: jax.Array) -> jax.Array:
        return self.rounded(x, self.mode.cast, jnp.bfloat16)

    def product(self, bind: Callable[..., Any], terms: float, a: jax.Array, b: jax.Array) -> jax.Array:
        a, b = self.cast(a), self.cast(b)
        x, squares = bind(a, b), bind(jnp.square(a), jnp.square(b))
        own = squares * self.mode.product**2 / 3
        return self.of_sum(x, squares, terms, whole(a) & whole(b), own)

    def of_sum(self, total: jax.Array, squares: jax.Array, terms: Any, counts: jax.Array, own: Any = 0.0) -> jax.Array:
        """squares: the sum of the squares of what is added; counts: these are whole numbers"""
        y = self.off(total, own + U32**2 / 3 * (terms / 2 * squares + terms / 3 * jnp.square(total)))
        return jnp.where(counts & (squares < 2.0**24), total, y)

    def cholesky(self, bind: Callable[..., Any], a: jax.Array) -> jax.Array:
        lower = jnp.tril(bind(a))
        back = lower @ jnp.swapaxes(lower, -1, -2)
        error = self.product(lambda x, y: x @ jnp.swapaxes(y, -1, -2), a.shape[-1], lower, lower) - back
        return jnp.tril(bind(a + jnp.tril(error) + jnp.swapaxes(jnp.tril(error, -1), -1, -2)))

    def triangular(self, bind: Callable[..., Any], a: jax.Array, b: jax.Array) -> jax.Array:
        u = (2 * self.mode.cast**2 + self.mode.product**2 + U32**2 * a.shape[-1]) ** 0.5
        return self.rounded(bind(self.rounded(a, u), b), DIVIDE)

    def evaluate(self, eqn: Any, values: Sequence[jax.Array]) -> list[jax.Array]:
        name, params = eqn.primitive.name, eqn.params

        def bind(*args: jax.Array) -> Any:
            return eqn.primitive.bind(*args, **params)

        if name == "convert_element_type":
            if is_real(values[0]) and jnp.issubdtype(params["new_dtype"], jnp.floating):
                return [values[0]]
            return [bind(*values).astype(jnp.float64) if is_real(bind(*values)) else bind(*values)]
        if name in MOVES or not any(is_real(x) for x in values):
            y = bind(*values)
            return list(y) if eqn.primitive.multiple_results else [y]
        if name in UNITS:
            return [self.rounded(bind(*values), UNITS[name], None if UNITS[name] == FUNCTION else jnp.float32)]
        return [self.compound(name, eqn, bind, values)]

    def compound(self, name: str, eqn: Any, bind: Callable[..., Any], values: Sequence[jax.Array]) -> jax.Array:
        params, x = eqn.params, values[0]
        if name == "integer_pow":
            return self.rounded(bind(x), U32 * max(1, abs(params["y"]) - 1), jnp.float32)
        if name == "dot_general":
            (lhs, _), _ = params["dimension_numbers"]
            return self.product(bind, float(np.prod([x.shape[d] for d in lhs])), *values)
        if name == "conv_general_dilated":
            kernel = values[1].shape
            terms = float(np.prod(kernel)) / kernel[params["dimension_numbers"].rhs_spec[0]]
            by = functools.partial(depthwise, params) if is_depthwise(params, kernel) else bind
            return self.product(by, terms, *values)
        if name in ("reduce_sum", "reduce_window_sum", "cumsum"):
            terms = {"reduce_sum": x.size / max(1, eqn.outvars[0].aval.size), "cumsum": x.shape[params.get("axis", 0)],
                     "reduce_window_sum": np.prod(params.get("window_dimensions", 1))}[name]
            y = bind(x)
            return self.of_sum(y, bind(jnp.square(x)), float(terms), whole(x))
        if name in ("scatter-add", "scatter_add"):
            _, where, updates = values
            terms = eqn.primitive.bind(jnp.zeros_like(x), where, jnp.ones_like(updates), **params)
            y, squares = bind(*values), bind(jnp.square(x), where, jnp.square(updates))
            return jnp.where(terms == 0, y, self.of_sum(y, squares, terms + 1, whole(x) & whole(updates)))
        if name == "select_and_scatter_add":
            return self.rounded(bind(*values), U32, jnp.float32)
        if name in ("cumprod", "reduce_prod"):
            n = x.shape[params["axis"]] if name == "cumprod" else x.size / max(1, eqn.outvars[0].aval.size)
            return self.rounded(bind(x), U32 * n**0.5)
        if name == "cholesky":
            return self.cholesky(bind, x)
        if name == "triangular_solve":
            return self.triangular(bind, *values)
        raise NotImplementedError(f"no rule for {name}")

    def scan(self, eqn: Any, values: Sequence[jax.Array]) -> list[jax.Array]:
        p = eqn.params
        fixed, n = p["num_consts"], p["num_carry"]

        def turn(carry: Any, over: Any) -> Any:
            out = self.run(p["jaxpr"].jaxpr, p["jaxpr"].consts, [*values[:fixed], *carry, *over])
            return out[:n], out[n:]

        carry, rows = lax.scan(turn, values[fixed:fixed + n], values[fixed + n:], p["length"], p["reverse"])
        return [*carry, *rows]

    def loop(self, eqn: Any, values: Sequence[jax.Array]) -> list[jax.Array]:
        p = eqn.params
        n, m = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]

        def run(closed: Any, consts: Sequence[Any], state: Sequence[Any]) -> list[jax.Array]:
            return self.run(closed.jaxpr, closed.consts, [*consts, *state])

        return lax.while_loop(lambda state: run(p["cond_jaxpr"], values[:n], state)[0],
                              lambda state: run(p["body_jaxpr"], values[n:m], state), list(values[m:]))

    def cond(self, eqn: Any, values: Sequence[jax.Array]) -> list[jax.Array]:
        cases = [lambda *v, c=c: self.run(c.jaxpr, c.consts, v) for c in eqn.params["branches"]]
        return lax.switch(values[0], cases, *values[1:])

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[jax.Array]:
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*map(jnp.asarray, consts), *args)))
        special = {"scan": self.scan, "while": self.loop, "cond": self.cond}

        def value(v: Any) -> jax.Array:
            x = jnp.asarray(v.val) if hasattr(v, "val") else known[v]
            return x.astype(jnp.float64) if is_real(x) else x

        for eqn in jaxpr.eqns:
            values = [value(v) for v in eqn.invars]
            closed = errors.inner(eqn)
            if eqn.primitive.name in special:
                outs = special[eqn.primitive.name](eqn, values)
            elif closed is not None:
                outs = self.run(getattr(closed, "jaxpr", closed), getattr(closed, "consts", ()), values)
            else:
                outs = self.evaluate(eqn, values)
            known |= dict(zip(eqn.outvars, outs))
        return [value(v) for v in jaxpr.outvars]


def prior(squares: np.ndarray) -> tuple[float, float]:
    """d0 and s0^2 of the elements that moved"""
    half = SAMPLES / 2
    logs = np.log(squares) - scipy.special.digamma(half) + np.log(half)
    apart = np.var(logs) - scipy.special.polygamma(1, half) if squares.size > 1 else np.inf
    tried = np.geomspace(1e-2, 1e3, 4000)
    degrees = tried[np.argmin(np.abs(scipy.special.polygamma(1, tried / 2) - apart))]
    return degrees, np.exp(np.mean(logs) + scipy.special.digamma(degrees / 2) - np.log(degrees / 2))


def moderated(squares: np.ndarray) -> np.ndarray:
    """Sigmas from mean squares of SAMPLES differences"""
    moved = squares > 0
    if not np.any(moved):
        return np.zeros(squares.shape)
    degrees, own = prior(squares[moved])
    quantile = scipy.stats.t.isf(FAILURE / (2 * squares.size), degrees + SAMPLES)
    sigma = np.sqrt((squares * SAMPLES + degrees * own) / (degrees + SAMPLES)) * quantile
    return np.where(moved, sigma / errors.quantile(squares.size), 0)


def sigmas(exact: np.ndarray, runs: list[np.ndarray], what: str) -> np.ndarray:
    if not is_real(exact):
        if any(np.any(run != exact) for run in runs):
            raise ValueError(f"{what} lies within rounding of another choice")
        return np.zeros(exact.shape)
    off = np.stack(runs) - exact
    sigma = np.sqrt(np.square(moderated(np.mean(np.square(off), 0))) + np.square(U32 * exact) / 3)
    if not np.max(sigma, initial=0) <= np.max(np.abs(exact), initial=0):
        raise ValueError(f"{what}: the bound is larger than what it bounds")
    return sigma


def analyse(fn: Any, weights: Any, inputs: Sequence[np.ndarray]) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """As errors.analyse. Needs jax_enable_x64."""
    leaves, tree = jax.tree.flatten(weights)
    given = [np.asarray(x) for x in (*leaves, *inputs)]
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in given]

    def flat(*args: Any) -> Any:
        n = tree.num_leaves
        return fn(jax.tree.unflatten(tree, args[:n]), *args[n:])

    closed = jax.make_jaxpr(flat)(*wide)

    @functools.partial(jax.jit, compiler_options=QUICK)
    def one(sample: jax.Array, cast: float, product: float, *args: Any) -> Any:
        return Sampler(Mode("", cast, product), sample).run(closed.jaxpr, closed.consts, args)

    def outputs(sample: int, mode: Mode) -> list[np.ndarray]:
        return [np.asarray(x) for x in one(np.uint64(sample), mode.cast, mode.product, *wide)]

    exact = outputs(0, MODES[0])
    runs = [[outputs(i, mode) for i in range(1, SAMPLES + 1)] for mode in MODES]
    return [(x, [sigmas(x, [run[i] for run in of], f"output {i} ({mode.name})") for mode, of in zip(MODES, runs)])
            for i, x in enumerate(exact)]
