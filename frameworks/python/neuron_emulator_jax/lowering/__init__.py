# SPDX-License-Identifier: MIT
"""Lowering rules for what JAX does not lower for a platform that it does not know.

register() is called once the plug-in has told JAX its name. It leaves alone what has a rule for this platform already, and
what this release of JAX has not; it says of each primitive what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from . import callbacks, decompose, orthogonal, private, spectrum
from .private import Missing

PLATFORM = "neuron"

# Primitives whose arrays a function of ours makes. "complex": where the first operand is; JAX's common rule does the rest.
# "info": an older JAX takes LAPACK's info as one more result
FUNCTIONS: tuple[tuple[str, Callable, str], ...] = (
    ("eigh", decompose.eigh, "any"),
    ("svd", decompose.svd, "any"),
    ("eig", spectrum.eig, "any"),
    ("schur", spectrum.schur, "any"),
    ("hessenberg", orthogonal.hessenberg, "any"),
    ("tridiagonal", orthogonal.tridiagonal, "info"),
    ("tridiagonal_solve", decompose.tridiagonal_solve, "any"),
    ("cholesky", decompose.cholesky, "any"),
    ("lu", decompose.lu, "real"),
    ("geqp3", orthogonal.geqp3, "any"),
    ("geqrf", orthogonal.geqrf, "complex"),
    ("householder_product", orthogonal.householder_product, "complex"),
    ("triangular_solve", decompose.triangular_solve, "complex"),
    ("sort", decompose.sort, "complex"),
    ("mulhi", decompose.mulhi, "any"),
    ("approx_top_k", decompose.approx_top_k, "any"),
)

# Primitives that call the host
CALLS: tuple[tuple[str, Callable], ...] = (
    ("pure_callback", callbacks.pure_callback),
    ("io_callback", callbacks.io_callback),
    ("debug_callback", callbacks.debug_callback),
    ("debug_print", callbacks.debug_print),
)


def with_info(impl: Callable, count: int) -> Callable:
    """impl with as many results, of which the last one says that nothing failed"""
    def informed(*operands: Any, **params: Any) -> tuple[Any, ...]:
        results = impl(*operands, **params)
        return results if len(results) == count else (*results, jnp.zeros(operands[0].shape[:-2], np.int32))
    return informed


def rule_of(prim: Any, impl: Callable, kind: str) -> Callable:
    ours, common = private.from_function(impl, prim), private.common_rule(prim)
    if kind == "any":
        return ours
    if kind == "info":
        return lambda ctx, *x, **params: private.from_function(with_info(impl, len(ctx.avals_out)), prim)(ctx, *x, **params)
    if common is None:
        raise Missing(f"no common rule for '{prim}', which has the operands that are not {kind}")

    def rule(ctx: Any, *operands: Any, **params: Any) -> Any:
        complex_ones = any(getattr(x.dtype, "kind", "") == "c" for x in ctx.avals_in)
        return (ours if complex_ones == (kind == "complex") else common)(ctx, *operands, **params)
    return rule


def register(platform: str = PLATFORM) -> dict[str, str]:
    """Registers the rules; returns for each primitive "registered", or why not"""
    if not private.is_known(platform):
        raise Missing(f"JAX knows no platform '{platform}': its plug-in is registered first")
    said = {}
    for name, impl, *kind in (*FUNCTIONS, *CALLS):
        try:
            prim = private.primitive(name)
            if private.own_rule(prim, platform):
                said[name] = "has a rule"
                continue
            rule = rule_of(prim, impl, kind[0]) if kind else impl
            private.register(prim, rule, platform, cacheable=bool(kind))
            said[name] = "registered"
        except Missing as why:
            said[name] = str(why)
    return said
