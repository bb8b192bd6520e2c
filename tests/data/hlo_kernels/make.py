#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the modules that call kernels. Run it in a virtual environment with jax and numpy: python make.py."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def best(x):
    """The example's kernels; one has two results"""
    p = jax.ffi.ffi_call("neuron:softmax", jax.ShapeDtypeStruct((256, 512), jnp.float32))(x)
    of = jax.ShapeDtypeStruct((128, 8), jnp.float32), jax.ShapeDtypeStruct((128, 8), jnp.uint32)
    values, places = jax.ffi.ffi_call("neuron:top8", of)(p[:128])
    return values * 2, places + jnp.uint32(1)


def loop(x, n):
    """A kernel in a loop that the data end"""
    wide = jax.ffi.ffi_call("neuron:wide", jax.ShapeDtypeStruct((128, 2048), jnp.float32))
    return jax.lax.fori_loop(0, n, lambda i, v: wide(v) * 2, x)


def main():
    for function, args in (best, [np.zeros((256, 512), np.float32)]), (loop, [np.zeros((128, 2048), np.float32), np.int32(3)]):
        hlo = jax.jit(function).lower(*args).compiler_ir("hlo")
        (HERE / f"{function.__name__}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
