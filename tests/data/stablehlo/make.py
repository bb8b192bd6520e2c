#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write golden pairs: programs of JAX as portable artifacts of StableHLO, and what jaxlib makes of those.

NAME.mlirbc is the artifact as a framework gives it to a plug-in, NAME.hlo.pb the HLO module that
jaxlib's own conversion makes of the same bytes. `make.py NAME...` makes only those.
"""

import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lib import _jax

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "1.15.0"  # of StableHLO, that the plug-in reports
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
cases = {}


def case(name, fn, *args, version=VERSION, **jit):
    """args: arrays, or shapes as in f32(2, 3); jit: what jax.jit is told"""
    cases[name] = (fn, args, version, jit)


def shape(dtype):
    return lambda *dims: jax.ShapeDtypeStruct(dims, dtype)


f32, s32, u32, bf16, pred = map(shape, (jnp.float32, jnp.int32, jnp.uint32, jnp.bfloat16, jnp.bool_))


def write(name):
    fn, args, version, jit = cases[name]
    fn.__name__ = name
    module = jax.jit(fn, **jit).lower(*args).compiler_ir("stablehlo")
    # the third argument: operations of Shardy are kept as they are
    artifact = _jax.mlir.serialize_portable_artifact(module, version, True)
    hlo = _jax.mlir.mlir_module_to_xla_computation(artifact, use_tuple_args=False, return_tuple=False)
    (HERE / f"{name}.mlirbc").write_bytes(artifact)
    (HERE / f"{name}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


def programs():
    """what ncc_program.h says of a program"""
    inner = jax.jit(lambda a, b: (b, a))

    def donated(a, b, c):
        d, e = inner(a, b)
        return a + b, d, e, jax.lax.optimization_barrier(c), a.astype(jnp.float32), c * 2

    case("donated", donated, f32(4, 3), f32(4, 3), s32(7), donate_argnums=(1, 2))
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    case("donors", lambda a, b: a + b, f32(8, 3), f32(8, 3), donate_argnums=(0,), in_shardings=(rows, rows))


def main():
    programs()
    for name in sys.argv[1:] or cases:
        write(name)


if __name__ == "__main__":
    main()
