#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write golden pairs: programs of JAX as portable artifacts of StableHLO, and what jaxlib makes of those.

NAME.mlirbc is the artifact as a framework gives it to a plug-in, NAME.hlo.pb the HLO module that
jaxlib's own conversion makes of the same bytes. NAME.parts.mlirbc is for several devices, of which jaxlib's
conversion says nothing; NAME.refused.mlirbc has what is not supported, and
NAME.refused.txt what has to be said of it. `make.py NAME...` makes only those.

The programs are those of programs.py, and some of ../hlo_ops/make.py.
"""

import importlib.util
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.export
from jax._src.lib import _jax

import programs

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "1.15.0"  # of StableHLO, that the plug-in reports
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

# of ../hlo_ops, whose other cases are like these in what they are made of
OPS = """arc_functions argsort arithmetic_s32 atan2 bitcast bitcast_sizes bits_u8 cholesky complex_functions complex_loop
complex_reduced cond_in_loop cond_work conv_and_grid conv_batch_groups conv_u8 convert_spread cumulative decomposed_solve
divide_u32 dot_u8_s8 eigh fft_dimensions fft_gradient fft_inverse fft_real float_to_s8 fori_table from_u16 gather_along
gather_batched gather_together gather_windows iota_wraps lapack_det large_constants loops_nested map median moves_u8
narrowed nothing_indexed nothing_joined one_hot ormqr pool_argmax pool_dilated pool_gradient pool_gradient_same power_i32 qr
random random_bits reduce_own reduce_precision reduce_several rng_bits_default rng_bits_philox rng_carry_three_fry
rng_normal rows_batched rows_scattered scan scan_reverse scatter_add scatter_apply scatter_best scatter_each scatter_one_window
scatter_put scatter_windows segment_sum select_and_scatter shift_arithmetic_s32 signed_zeros sort sort_pairs svd_thin
switch_clamped switch_work take_masks to_u8 top_k triangular_solve tridiagonal update_loop while_data while_deep
while_in_branch while_nested window_any window_initial""".split()


def cases_of_ops():
    path = HERE.parent / "hlo_ops/make.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("hlo_ops", path)
    ops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ops)
    for family in (ops.integers, ops.many, ops.indexed, ops.tables, ops.flow, ops.wide, ops.zeros, ops.truth, ops.gradients,
                   ops.written, ops.linear, ops.decompositions, ops.fourier, ops.convolutions, ops.chosen, ops.in_lines):
        family()
    return ops


def of_ops(ops, name):
    """The text of a case's program"""
    fn, make, _, wide, edit = ops.cases[name]
    if isinstance(edit, str):
        return edit
    args = make(ops.Draw(name))
    args = args if isinstance(args, tuple) else (args,)
    fn.__name__ = name
    with jax.enable_x64(wide):
        text = str(jax.jit(fn, keep_unused=True).lower(*[ops.widened(a) if wide else a for a in args]).compiler_ir("stablehlo"))
    for old, new in edit:
        text = text.replace(old, new)
    return text


def lower(program):
    if isinstance(program.fn, str):
        return program.fn
    program.fn.__name__ = program.name.removesuffix(".parts")
    return jax.jit(program.fn, keep_unused=True, **program.jit).lower(*program.args).compiler_ir("stablehlo")


def write(name, module, version, refused=None):
    # the third argument: operations of Shardy are kept as they are
    artifact = _jax.mlir.serialize_portable_artifact(module, version or VERSION, True)
    (HERE / f"{name}.mlirbc").write_bytes(artifact)
    if refused:
        (HERE / f"{name}.txt").write_text(refused + "\n")
        return
    hlo = _jax.mlir.mlir_module_to_xla_computation(artifact, use_tuple_args=False, return_tuple=False)
    (HERE / f"{name}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


def write_export(name, program):
    exported = jax.export.export(jax.jit(program.fn), platforms=["cpu"])(*program.args)
    (HERE / f"{name}.mlirbc").write_bytes(exported.serialize())
    hlo = _jax.mlir.mlir_module_to_xla_computation(exported.mlir_module_serialized, use_tuple_args=False, return_tuple=False)
    (HERE / f"{name}.hlo.pb").write_bytes(hlo.as_serialized_hlo_module_proto())


def write_forms():
    """The texts of tests/conformance/stablehlo_forms.py as artifacts, which jaxlib cannot make HLO of"""
    sys.path.insert(0, str(HERE.parent.parent / "conformance"))
    forms = importlib.import_module("stablehlo_forms")
    (HERE / "forms").mkdir(exist_ok=True)
    for number, case in enumerate(forms.CASES.values()):
        artifact = _jax.mlir.serialize_portable_artifact(forms.text_of(case), VERSION, True)
        (HERE / "forms" / f"{number}.mlirbc").write_bytes(artifact)


def main():
    if not sys.argv[1:] or "forms" in sys.argv[1:]:
        write_forms()
    if sys.argv[1:] == ["forms"]:
        return
    ops = cases_of_ops()
    own = programs.programs()
    for name in sys.argv[1:] or [*own, *OPS]:
        program = own.get(name)
        if program and program.exported:
            write_export(name, program)
        elif program:
            write(name, lower(program), program.version, program.refused)
        else:
            write(name, of_ops(ops, name), None)


if __name__ == "__main__":
    main()
