# SPDX-License-Identifier: MIT
"""What of JAX's inside the rules need: primitives, the table of rules, a function as a rule.

JAX promises none of it, so nothing else in this package imports from jax._src. What a release of JAX has not is None here,
and who asks says so by name. Seen with JAX 0.4.38 to 0.12.0.1.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax
from jax.interpreters import mlir

# Modules that the primitives have been in, newest first
HOMES = ("jax._src.lax.linalg", "jax._src.lax.lax", "jax._src.lax.ann", "jax._src.callback", "jax._src.debugging")


class Missing(Exception):
    """This JAX has not what a rule needs; the text names it."""


def attribute(module: str, name: str) -> Any:
    """An attribute of a module of JAX, or None if there is no such module or nothing of that name in it"""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def need(module: str, name: str) -> Any:
    found = attribute(module, name)
    if found is None:
        raise Missing(f"JAX {jax.__version__} has no {module}.{name}")
    return found


def primitive(name: str) -> Any:
    """The primitive that JAX calls so"""
    for home in HOMES:
        found = attribute(home, f"{name}_p")
        if found is not None:
            return found
    raise Missing(f"JAX {jax.__version__} has no primitive '{name}'")


def is_known(platform: str) -> bool:
    """Does JAX take rules for this platform? It does once a plug-in of that name is registered."""
    return need("jax._src.xla_bridge", "is_known_platform")(platform)


def _rules(name: str) -> Any:
    rules = getattr(mlir, name, None)
    if rules is None:
        raise Missing(f"JAX {jax.__version__} has no jax.interpreters.mlir.{name}")
    return rules


def own_rule(prim: Any, platform: str) -> Callable | None:
    """The rule for this platform alone"""
    entry = _rules("_platform_specific_lowerings")[platform].get(prim)
    return getattr(entry, "rule", entry)


def common_rule(prim: Any) -> Callable | None:
    """The rule for platforms that have none of their own"""
    entry = _rules("_lowerings").get(prim)
    return getattr(entry, "rule", entry)


def from_function(impl: Callable, prim: Any) -> Callable:
    """A rule that writes what impl, a function of arrays, does, however strict the user's program is with types and ranks"""
    @functools.wraps(impl)
    def lenient(*operands: Any, **params: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return impl(*operands, **params)
    return _rules("lower_fun")(lenient, multiple_results=prim.multiple_results)


def register(prim: Any, rule: Callable, platform: str, cacheable: bool = True) -> None:
    add = _rules("register_lowering")
    if not cacheable and "cacheable" in add.__code__.co_varnames:
        add(prim, rule, platform=platform, cacheable=False)
    else:
        add(prim, rule, platform=platform)


def ffi_call(target: str, results: Any, **options: Any) -> Callable:
    """jax.ffi.ffi_call; before JAX 0.5 it was elsewhere"""
    call = attribute("jax.ffi", "ffi_call") or attribute("jax.extend.ffi", "ffi_call")
    if call is None:
        raise Missing(f"JAX {jax.__version__} has no jax.ffi.ffi_call")
    return call(target, results, **options)
