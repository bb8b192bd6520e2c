# SPDX-License-Identifier: MIT
"""How far a function's results may be off, for functions of any primitives: Monte Carlo arithmetic.

As errors.py, every rounding is an independent random error of mean 0 and variance (u x)^2 / 3; but instead of carrying
variances along through rules of derivatives, the function runs in float64 with such errors put in (Parker, Monte Carlo
Arithmetic, 1997), SAMPLES times for each of MODES, and what its results then differ by from those of the run
without errors is looked at. So loops, orders, conditions and indices need no rule: they just run.

  the rounding of x     x (1 + u r), r uniform in [-1, 1], which has the variance u^2 / 3. r is a hash of the bits of x and the
                        sample's number: the same number is rounded the same way wherever it is met, as hardware does, so that
                        a weight that is cast in every turn of a loop has the same error in all of them. A number that the type
                        holds is not rounded by it
  sums, products        in one operation: of the variances in errors.py, by the same constants
  a Cholesky factor     the backward errors (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 10.1.1 and 8.1):
  and triangular        exact factor of A + E, E of the error of the product L L^T; exact solution of (T + E) x = b, E of the
  solutions             error that products of T's rows have, relative to T's elements

From SAMPLES differences the variance of an element is known badly: s^2 has the distribution of chi^2 / SAMPLES. As for the
thousands of variances of a gene array, all elements of an output together say how far their variances lie apart (Smyth,
Linear Models and Empirical Bayes Methods, 2004): were the true ones drawn from s0^2 d0 / chi^2(d0), the mean and the variance of log s^2
give s0 and d0, each variance moves to (d0 s0^2 + SAMPLES s^2) / (d0 + SAMPLES), and an error over its root has
Student's distribution of d0 + SAMPLES degrees of freedom. What is written is that root times the quotient of this distribution's quantile
and quantile(n) of the normal one, so that who compares |error| with quantile(n) sigma refuses a right result as rarely
as errors.py promises. An element that no sample moved has to be right up to its storage in fp32.

A result that is not a real number has to be the same in all samples: else the input lies within rounding of another choice, or
the model is not stable enough to be compared with anything, and analyse() refuses it.
"""

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

# What makes new numbers, by a unit roundoff of the result; what is in no table here only moves or chooses
FUNCTIONS = ("exp", "exp2", "log", "log1p", "expm1", "tanh", "logistic", "erf", "erfc", "erf_inv", "rsqrt", "sqrt", "cbrt", "sin",
             "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "pow", "lgamma", "digamma")
UNITS = {"add": U32, "add_any": U32, "sub": U32, "mul": U32, "square": U32, "div": DIVIDE, "rem": DIVIDE} \
    | {name: FUNCTION for name in FUNCTIONS}
MOVES = errors.MOVES + (
    "neg", "abs", "sign", "floor", "ceil", "round", "copy", "copy_p", "stop_gradient", "max", "min", "clamp", "select_n", "sort", "top_k",
    "split", "argmax", "argmin", "reduce_min", "reduce_window_min", "cummax", "cummin", "scatter", "scatter-max", "scatter-min",
    "gt", "ge", "lt", "le", "eq", "ne", "is_finite", "iota", "select_and_gather_add", "real", "bitcast_convert_type", "tile")


def uniform(x: jax.Array, sample: jax.Array) -> jax.Array:
    """In [-1, 1]: a hash of the bits of x and of the sample (the finalizer of MurmurHash3)"""
    h = lax.bitcast_convert_type(x, jnp.uint64) ^ (sample * np.uint64(0x9E3779B97F4A7C15))
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(factor)
    return (h ^ (h >> np.uint64(33))).astype(jnp.float64) * 2.0**-63 - 1


class Sampler:
    """Runs a jaxpr with errors. sample: 0 for none"""

    def __init__(self, mode: Mode, sample: jax.Array) -> None:
        self.mode, self.sample = mode, sample

    def off(self, x: jax.Array, variance: jax.Array) -> jax.Array:
        """x with an error of this variance"""
        return jnp.where(self.sample == 0, x, x + jnp.sqrt(3 * variance) * uniform(x, self.sample))

    def rounded(self, x: jax.Array, u: float, held: Any = None) -> jax.Array:
        y = self.off(x, jnp.square(u * x) / 3)
        return y if held is None else jnp.where(x.astype(held) == x, x, y)

    def cast(self, x: jax.Array) -> jax.Array:
        return self.rounded(x, self.mode.cast, jnp.bfloat16) if self.mode.cast else x

    def product(self, bind: Callable[..., Any], terms: float, a: jax.Array, b: jax.Array) -> jax.Array:
        a, b = self.cast(a), self.cast(b)
        x, squares = bind(a, b), bind(jnp.square(a), jnp.square(b))
        return self.off(x, squares * self.mode.product**2 / 3 + self.sum_variance(terms, squares, x))

    def sum_variance(self, terms: Any, squares: jax.Array, total: jax.Array) -> jax.Array:
        return U32**2 / 3 * (terms / 2 * squares + terms / 3 * jnp.square(total))

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
            return [bind(*values).astype(jnp.float64) if jnp.issubdtype(params["new_dtype"], jnp.floating) else bind(*values)]
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
            return self.product(bind, float(np.prod(kernel)) / kernel[params["dimension_numbers"].rhs_spec[0]], *values)
        if name in ("reduce_sum", "reduce_window_sum", "cumsum"):
            terms = {"reduce_sum": x.size / max(1, eqn.outvars[0].aval.size), "cumsum": float(x.shape[params.get("axis", 0)]),
                     "reduce_window_sum": float(np.prod(params.get("window_dimensions", 1)))}[name]
            y = bind(x)
            return self.off(y, self.sum_variance(terms, bind(jnp.square(x)), y))
        if name in ("scatter-add", "scatter_add"):
            _, where, updates = values
            terms = eqn.primitive.bind(jnp.zeros_like(x), where, jnp.ones_like(updates), **params)
            y, squares = bind(*values), bind(jnp.square(x), where, jnp.square(updates))
            return jnp.where(terms == 0, y, self.off(y, self.sum_variance(terms + 1, squares, y)))
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


def moderated(squares: np.ndarray) -> np.ndarray:
    """Sigmas from mean squares of SAMPLES differences"""
    s, n = squares[squares > 0], squares.size
    if not s.size:
        return np.zeros(squares.shape)
    half = SAMPLES / 2
    logs = np.log(s) - scipy.special.digamma(half) + np.log(half)
    apart = np.var(logs) - scipy.special.polygamma(1, half) if s.size > 1 else np.inf
    degrees, own = 0.0, np.zeros(squares.shape)
    if apart <= 1e-3:
        degrees, s0 = 1e3, np.exp(np.mean(logs))
    elif np.isfinite(apart):
        tried = np.geomspace(1e-2, 1e3, 4000)
        degrees = tried[np.argmin(np.abs(scipy.special.polygamma(1, tried / 2) - apart))]
        s0 = np.exp(np.mean(logs) + scipy.special.digamma(degrees / 2) - np.log(degrees / 2))
    own = (squares * SAMPLES + (degrees * s0 if degrees else 0)) / (degrees + SAMPLES)
    quantile = scipy.stats.t.isf(FAILURE / (2 * n), degrees + SAMPLES)
    return np.where(squares > 0, np.sqrt(own) * quantile / errors.quantile(n), 0)


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
    wide = [np.asarray(x, np.float64) if np.asarray(x).dtype == np.float32 else np.asarray(x) for x in (*leaves, *inputs)]

    def flat(*args: Any) -> Any:
        n = tree.num_leaves
        return fn(jax.tree.unflatten(tree, args[:n]), *args[n:])

    closed = jax.make_jaxpr(flat)(*wide)
    runs = []
    for mode in MODES:
        one = jax.jit(lambda sample, *args, mode=mode: Sampler(mode, sample).run(closed.jaxpr, closed.consts, args))
        runs.append([[np.asarray(x) for x in one(np.uint64(i), *wide)] for i in range(SAMPLES + 1)])
    return [(exact, [sigmas(exact, [run[i] for run in of[1:]], f"output {i} ({mode.name})") for mode, of in zip(MODES, runs)])
            for i, exact in enumerate(runs[0][0])]
