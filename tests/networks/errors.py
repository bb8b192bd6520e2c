# SPDX-License-Identifier: MIT
"""How far a network's results may be off: the float64 result, and the standard deviation of its error.

Every rounding is taken as an independent random error of mean 0 (Higham and Mary, A New Approach to
Probabilistic Rounding Error Analysis, 2019): one of unit roundoff u of a value x has the variance
(u x)^2 / 3. The variances go through the network operation by operation, to first order:

  f(a, b)           (df/da)^2 var(a) + (df/db)^2 var(b) + (u_f f)^2 / 3
  sum of n terms    sum of the variances + u^2 / 3 (n/2 sum of squares + n/3 square of the sum), the
                    variance of n roundings of partial sums in any order: each is the share of the sum that
                    its terms have, and a random walk over them
  product of a, b   the same for the terms a_k b_k, whose variances are a^2 var(b) + b^2 var(a)
                    + a^2 b^2 (u_a^2 + u_b^2 + u_p^2) / 3: the casts of the operands, and what the six
                    products of --auto-cast none leave out

  max and min       each operand's variance times the probability that it is the one taken

A result is right when |error| <= quantile(n) sigma for all its n elements. Nothing here is tuned: the
numbers are the types' (docs/isa.md, docs/compiler-operations.md).
"""

from typing import Any, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

U32 = 2.0**-24
FUNCTION = 2.0**-22  # exp, tanh, ...: two units in the last place (docs/isa.md allows them one)
DIVIDE = 2.0**-23  # by a rounded reciprocal


class Mode(NamedTuple):
    name: str
    cast: float  # unit roundoff of a product's operands
    product: float  # of what is left out of a product


# bf16 has 8 bits. Three parts of an fp32 operand are all of it; a_2 b_3, a_3 b_2, a_3 b_3 are left out
MODES = (Mode("matmult", 2.0**-8, 0.0), Mode("none", 0.0, 2.0**-23))

Variance = Any  # one array for each mode, or None: exact


class Value(NamedTuple):
    x: Any
    v: Variance


def quantile(n: int, failure: float = 1e-6) -> float:
    """The number of sigmas within which n normal variables all stay, except for one case in a million"""
    return float(np.sqrt(2 * np.log(2 * n / failure)))


def both(a: Variance, b: Variance) -> Variance:
    if a is None or b is None:
        return b if a is None else a
    return [x + y for x, y in zip(a, b)]


def scaled(v: Variance, factor: Any) -> Variance:
    return None if v is None else [x * factor for x in v]


def rounded(x: Any, v: Variance, u: float) -> Value:
    own = jnp.square(u * x) / 3
    return Value(x, [own] * len(MODES) if v is None else [a + own for a in v])


def is_real(x: Any) -> bool:
    return jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating)


# Derivative of f at x, y = f(x); unit roundoff
UNARY = {
    "exp": (lambda x, y: y, FUNCTION),
    "log": (lambda x, y: 1 / x, FUNCTION),
    "tanh": (lambda x, y: 1 - y * y, FUNCTION),
    "logistic": (lambda x, y: y * (1 - y), FUNCTION),
    "erf": (lambda x, y: 2 / np.pi**0.5 * jnp.exp(-x * x), FUNCTION),
    "erfc": (lambda x, y: -2 / np.pi**0.5 * jnp.exp(-x * x), FUNCTION),
    "rsqrt": (lambda x, y: -0.5 * y / x, FUNCTION),
    "sqrt": (lambda x, y: 0.5 / y, FUNCTION),
    "square": (lambda x, y: 2 * x, U32),
    "neg": (lambda x, y: -1.0, 0.0),
    "abs": (lambda x, y: 1.0, 0.0),
    "copy": (lambda x, y: 1.0, 0.0),
    "stop_gradient": (lambda x, y: 1.0, 0.0),
}
BINARY = {
    "add": (lambda a, b, y: (1.0, 1.0), U32),
    "add_any": (lambda a, b, y: (1.0, 1.0), U32),
    "sub": (lambda a, b, y: (1.0, 1.0), U32),
    "mul": (lambda a, b, y: (b, a), U32),
    "div": (lambda a, b, y: (1 / b, y / b), DIVIDE),
}
# What moves elements moves their variances, by the same operation
MOVES = ("reshape", "broadcast_in_dim", "transpose", "slice", "squeeze", "rev", "dynamic_slice", "gather",
         "concatenate", "pad", "dynamic_update_slice", "expand_dims", "stack", "reduce_max", "reduce_window_max")


def of_product(bind: Any, terms: float, a: Value, b: Value) -> Value:
    """bind: the product of two arrays; terms: how many each element of the result adds"""
    x, squares = bind(a.x, b.x), bind(jnp.square(a.x), jnp.square(b.x))
    sums = U32**2 / 3 * (terms / 2 * squares + terms / 3 * jnp.square(x))
    v = []
    for i, mode in enumerate(MODES):
        own = squares * ((2 * mode.cast**2 + mode.product**2) / 3) + sums
        if a.v is not None:
            own = own + bind(a.v[i], jnp.square(b.x))
        if b.v is not None:
            own = own + bind(jnp.square(a.x), b.v[i])
        v.append(own)
    return Value(x, v)


def of_sum(x: Any, v: Variance, bind: Any, terms: float) -> Value:
    y = bind(x)
    own = U32**2 / 3 * (terms / 2 * bind(jnp.square(x)) + terms / 3 * jnp.square(y))
    return Value(y, [own + (bind(a) if v is not None else 0) for a in (v or [None] * len(MODES))])


def of_move(bind: Any, values: Sequence[Value]) -> Value:
    x = bind(*(a.x for a in values))
    if all(a.v is None for a in values):
        return Value(x, None)
    parts = []
    for i in range(len(MODES)):
        parts.append(bind(*((a.v[i] if a.v is not None else jnp.zeros_like(a.x)) if is_real(a.x) else a.x
                            for a in values)))
    return Value(x, parts)


def of_choice(name: str, a: Value, b: Value, bind: Any) -> Value:
    """max and min: the error of either with the probability that it is the one taken"""
    x = bind(a.x, b.x)
    if a.v is None and b.v is None:
        return Value(x, None)
    a, b = (Value(jnp.broadcast_to(t.x, x.shape), t.v) for t in (a, b))
    v = []
    for i in range(len(MODES)):
        va, vb = (t.v[i] if t.v is not None else 0.0 for t in (a, b))
        ahead = (a.x - b.x if name == "max" else b.x - a.x) / jnp.sqrt(va + vb + 1e-300)
        first = jax.scipy.stats.norm.cdf(ahead)
        v.append(first * va + (1 - first) * vb)
    return Value(x, v)


def ratio(eqn: Any, result: Any) -> float:
    return float(np.prod(eqn.invars[0].aval.shape)) / max(1, np.prod(result.shape))


def of_select(values: Sequence[Value], bind: Any) -> Value:
    which, *cases = values
    return of_move(lambda *c: bind(which.x, *c), cases)


def evaluate(eqn: Any, values: list[Value]) -> Value:
    name, params = eqn.primitive.name, eqn.params

    def bind(*args: Any) -> Any:
        return eqn.primitive.bind(*args, **params)

    if name != "convert_element_type" and not any(is_real(v.x) for v in values):
        return Value(bind(*(v.x for v in values)), None)
    if name in UNARY or name == "integer_pow":
        x, n = values[0].x, params.get("y")
        y = bind(x)
        d, u = UNARY.get(name, (lambda x, y: n * x ** (n - 1), U32 * max(1, (n or 0) - 1)))
        return rounded(y, scaled(values[0].v, jnp.square(d(x, y))), u)
    if name in BINARY:
        a, b = values
        y = bind(a.x, b.x)
        (da, db), u = BINARY[name][0](a.x, b.x, y), BINARY[name][1]
        return rounded(y, both(scaled(a.v, jnp.square(da)), scaled(b.v, jnp.square(db))), u)
    if name == "dot_general":
        (lhs, _), _ = params["dimension_numbers"]
        return of_product(bind, float(np.prod([values[0].x.shape[d] for d in lhs])), *values)
    if name == "conv_general_dilated":
        kernel = values[1].x.shape
        out = params["dimension_numbers"].rhs_spec[0]
        return of_product(bind, float(np.prod(kernel)) / kernel[out], *values)
    if name in ("reduce_sum", "reduce_window_sum"):
        terms = float(np.prod(params["window_dimensions"])) if "window" in name else \
            values[0].x.size / max(1, eqn.outvars[0].aval.size)
        return of_sum(values[0].x, values[0].v, bind, terms)
    if name in ("max", "min"):
        return of_choice(name, *values, bind)
    if name == "clamp":
        low, x, high = values
        return of_choice("min", of_choice("max", x, low, jnp.maximum), high, jnp.minimum)
    if name == "select_n":
        return of_select(values, bind)
    if name in ("gt", "ge", "lt", "le", "eq", "ne", "is_finite"):
        return Value(bind(*(v.x for v in values)), None)
    if name == "convert_element_type":
        x = values[0].x.astype(jnp.float64) if is_real(values[0].x) else bind(values[0].x)
        return Value(x, values[0].v)
    if name in MOVES:
        return of_move(bind, values)
    raise NotImplementedError(f"no rule for {name}")


def of_split(eqn: Any, value: Value) -> list[Value]:
    parts = eqn.primitive.bind(value.x, **eqn.params)
    if value.v is None:
        return [Value(x, None) for x in parts]
    variances = zip(*(eqn.primitive.bind(v, **eqn.params) for v in value.v))
    return [Value(x, list(v)) for x, v in zip(parts, variances)]


def inner(eqn: Any) -> Any:
    for key in ("jaxpr", "call_jaxpr"):
        if key in eqn.params and eqn.primitive.name not in ("scan", "while", "cond"):
            return eqn.params[key]
    return None


def of_scan(eqn: Any, values: list[Value]) -> list[Value]:
    p = eqn.params
    fixed, n = p["num_consts"], p["num_carry"]
    carry, over = values[fixed:fixed + n], values[fixed + n:]
    rows: list[list[Value]] = []
    order = range(p["length"] - 1, -1, -1) if p["reverse"] else range(p["length"])
    for t in order:
        now = [of_move(lambda x, t=t: x[t], [v]) for v in over]
        out = run(p["jaxpr"].jaxpr, p["jaxpr"].consts, [*values[:fixed], *carry, *now])
        carry = out[:n]
        rows.append(out[n:])
    if p["reverse"]:
        rows.reverse()
    return carry + [of_move(lambda *x: jnp.stack(x), column) for column in zip(*rows)]


def run(jaxpr: Any, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
    known = dict(zip(jaxpr.constvars, (Value(jnp.asarray(c), None) for c in consts)))
    known |= dict(zip(jaxpr.invars, args))
    last: dict[Any, int] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        last |= {v: i for v in eqn.invars if not hasattr(v, "val")}
    keep = set(v for v in jaxpr.outvars if not hasattr(v, "val"))
    for i, eqn in enumerate(jaxpr.eqns):
        values = [Value(jnp.asarray(v.val), None) if hasattr(v, "val") else known[v] for v in eqn.invars]
        closed = inner(eqn)
        if eqn.primitive.name == "scan":
            outs = of_scan(eqn, values)
        elif closed is not None:
            outs = run(getattr(closed, "jaxpr", closed), getattr(closed, "consts", ()), values)
        elif eqn.primitive.name == "split":
            outs = of_split(eqn, values[0])
        elif not values:
            outs = [Value(eqn.primitive.bind(**eqn.params), None)]
        else:
            outs = [evaluate(eqn, values)]
        known |= dict(zip(eqn.outvars, outs))
        for v in set(v for v in eqn.invars if not hasattr(v, "val")):
            if last[v] == i and v not in keep:
                del known[v]
    return [Value(jnp.asarray(v.val), None) if hasattr(v, "val") else known[v] for v in jaxpr.outvars]


def analyse(fn: Any, weights: Any, inputs: Sequence[np.ndarray]) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """For each output: its float64 value, and sigma for each of MODES. Needs jax_enable_x64."""
    wide = [np.asarray(x, np.float64) if np.asarray(x).dtype == np.float32 else np.asarray(x) for x in
            (*jax.tree.leaves(weights), *inputs)]
    tree = jax.tree.structure(weights)

    def flat(*args: Any) -> Any:
        n = tree.num_leaves
        return fn(jax.tree.unflatten(tree, args[:n]), *args[n:])

    closed = jax.make_jaxpr(flat)(*wide)
    values = run(closed.jaxpr, closed.consts, [Value(jnp.asarray(x), None) for x in wide])
    results = []
    for value in values:
        # the result is stored in fp32 once more
        v = rounded(value.x, value.v, U32).v if is_real(value.x) else None
        sigma = [np.sqrt(np.asarray(a)) for a in v] if v else [np.zeros(value.x.shape)] * len(MODES)
        results.append((np.asarray(value.x), sigma))
    return results
