#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Makes the programs of this directory anew, with JAX: NAME.hlo.pb, as HLO, and NAME.mlirbc, as JAX sends it.

usage: make.py DIRECTORY    (jax 0.12.0.1 made those that are here)
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # names of files without directories
F = np.float32


def long(x):
    return jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ x), x)


def nobody(x):
    return jax.ffi.ffi_call("nobody_has_this", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


PROGRAMS = {
    "add1": (lambda x: x + 1, [np.zeros(4, F)], {}),
    "pair": (lambda x, y: (x + y, x * y), [np.zeros((2, 3), F), np.zeros((2, 3), F)], {}),
    "donate": (lambda x, y: x + y, [np.zeros(64, F), np.zeros(64, F)], {"donate_argnums": 0}),
    "identity": (lambda x: x, [np.zeros(3, F)], {}),
    "noargs": (lambda: jnp.arange(5, dtype=jnp.int32), [], {}),
    "scalar": (lambda x: x * 2, [F(0)], {}),
    "bytes": (lambda x: ~x, [np.zeros(7, np.uint8)], {}),
    "long": (long, [np.zeros((128, 128), F)], {}),
    "nothing": (lambda e, x, f, y: (e * 2, x + 1, y[:0], y - f.sum()), [np.zeros((0, 3), F), np.zeros(4, F), np.zeros(0, F), np.zeros(5, F)],
                {}),
    "nobody": (nobody, [np.zeros(4, F)], {}),
}
WIDE = {
    "wide": (lambda x: x + 1, [np.zeros(2, np.int64)], {}),
    "inside": (lambda x: ((x.astype(np.int64) + 2**40) >> 38).astype(np.int32), [np.zeros(4, F)], {}),
}


def write(directory: Path, name: str, program: tuple) -> None:
    function, arguments, options = program
    module = jax.jit(function, **options).trace(*arguments).lower(lowering_platforms=("neuron",)).compiler_ir()
    artifact = _jax.mlir.serialize_portable_artifact(jax_mlir.module_to_bytecode(module), "1.15.0")
    (directory / f"{name}.mlirbc").write_bytes(artifact)
    hlo = _jax.mlir.mlir_module_to_xla_computation(artifact, use_tuple_args=False, return_tuple=False)
    (directory / f"{name}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


def main() -> None:
    directory = Path(sys.argv[1])
    for name, program in PROGRAMS.items():
        write(directory, name, program)
    with jax.enable_x64(True):
        for name, program in WIDE.items():
            write(directory, name, program)


main()
