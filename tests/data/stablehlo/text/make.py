#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the golden texts of StableHLO: of each program what jaxlib prints of a portable artifact.

NAME.mlirbc is the artifact, NAME.mlir its text with locations, each operation in its own form,
NAME.generic.mlir the generic form. NAME.mlir of a program that is in WRITTEN is as it stands there.
`make.py NAME...` makes only those.
"""

import os
import pathlib
import random
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.lib.mlir import ir

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "1.15.0"
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

# Arguments and operations, all of whose results are returned
FORMS = {
    "elements": ("%a: tensor<4xf32>, %b: tensor<f32>, %i: tensor<4xi32>", """
        %0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
        %1 = "stablehlo.tan"(%a) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4xf32>) -> tensor<4xf32>
        %2 = stablehlo.add %a, %a {mhlo.frontend_attributes = {a = "b\\0A\\"\\\\", c = 1 : i32}} : tensor<4xf32>
        %3 = stablehlo.clamp %b, %a, %b : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %4 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %5 = stablehlo.compare NE, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %6 = stablehlo.complex %a, %a : tensor<4xcomplex<f32>>
        %7 = stablehlo.real %6 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
        %8 = stablehlo.select %4, %a, %a : tensor<4xi1>, tensor<4xf32>
        %9 = stablehlo.is_finite %a : (tensor<4xf32>) -> tensor<4xi1>
        %10 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>
        %11 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
        %12 = stablehlo.convert %a : tensor<4xf32>
        %13 = stablehlo.abs %6 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
        %14 = stablehlo.iota dim = 0 : tensor<4xf32>
        %15 = stablehlo.shift_right_logical %i, %i : tensor<4xi32>
        %16 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
        %17 = stablehlo.slice %a [1:3] : (tensor<4xf32>) -> tensor<2xf32>
        %18 = stablehlo.slice %a [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
        %19 = stablehlo.pad %a, %b, low = [1], high = [-2], interior = [3] : (tensor<4xf32>, tensor<f32>) -> tensor<12xf32>
        %20 = stablehlo.atan2 %a, %a : tensor<4xf32>
        %21 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi32>
        %22 = stablehlo.popcnt %i : tensor<4xi32>
        %23 = stablehlo.select %5, %a, %a : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"""),
    "tokens": ("%a: tensor<4xf32>", """
        %t = stablehlo.create_token : !stablehlo.token
        %0 = stablehlo.after_all %t, %t : !stablehlo.token
        %1 = stablehlo.after_all : !stablehlo.token
        %2:3 = "stablehlo.infeed"(%t) <{infeed_config = "x", layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<4xf32>, tensor<4xf32>, !stablehlo.token)
        %3 = "stablehlo.outfeed"(%a, %t) <{outfeed_config = "x"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
        %4 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
        %5:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
        %6 = stablehlo.tuple %a, %t : tuple<tensor<4xf32>, !stablehlo.token>
        %7 = stablehlo.get_tuple_element %6[0] : (tuple<tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
        %8:2 = stablehlo.optimization_barrier {mhlo.x = "y"} %a, %t : tensor<4xf32>, !stablehlo.token
        stablehlo.optimization_barrier ()
        %9 = stablehlo.partition_id : tensor<ui32>
        %10 = stablehlo.replica_id : tensor<ui32>"""),
    "collectives": ("%a: tensor<4xf32>", """
        %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = "stablehlo.all_gather"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, all_gather_dim = 0 : i64}> : (tensor<4xf32>) -> tensor<8xf32>
        %2 = "stablehlo.all_to_all"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, concat_dimension = 0 : i64, split_dimension = 0 : i64, split_count = 2 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
        %3 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
        %4 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<2xf32>
        %5 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>"""),
    "arrays": ("%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<3x4xf32>, %d: tensor<4x5xf32>, %e: tensor<4x4xf32>, %i: tensor<i32>, "
               "%k: tensor<2xui64>, %s: tensor<f32>, %n: tensor<1xi64>, %m: tensor<2xi64>, %x: tensor<2x1xi32>, %v: tensor<4xf32>", """
        %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
        %1 = stablehlo.dot %c, %d, precision = [HIGH, HIGHEST] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
        %2 = stablehlo.dot %c, %d : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
        %3 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
        %4 = stablehlo.dot_general %c, %d, contracting_dims = [] x [] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x4x4x5xf32>
        %5 = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
        %6 = stablehlo.reshape %c : (tensor<3x4xf32>) -> tensor<12xf32>
        %7 = stablehlo.concatenate %c, %c, %c, dim = 0 : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<9x4xf32>
        %8 = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<3x4xf32>) -> tensor<3x4x2xf32>
        %9 = stablehlo.broadcast %c, sizes = [2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
        %10 = stablehlo.dynamic_slice %c, %i, %i, sizes = [1, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
        %11 = stablehlo.dynamic_update_slice %c, %10, %i, %i : (tensor<3x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
        %12 = stablehlo.cholesky %e, lower = true : tensor<4x4xf32>
        %13 = "stablehlo.triangular_solve"(%e, %e) <{left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %14 = stablehlo.fft %e, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
        %15, %16 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
        %17 = stablehlo.rng %s, %s, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
        %18 = stablehlo.einsum %c, %d, config = "ab,bc->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
        %19 = stablehlo.get_dimension_size %c, dim = 1 : (tensor<3x4xf32>) -> tensor<i32>
        %20 = stablehlo.set_dimension_size %c, %i, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
        %21 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
        %22 = stablehlo.dynamic_reshape %c, %n : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<?xf32>
        %23 = stablehlo.dynamic_broadcast_in_dim %c, %m, dims = [0, 1] {known_expanding_dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
        %24 = stablehlo.dynamic_pad %c, %s, %m, %m, %m : (tensor<3x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
        %25 = stablehlo.real_dynamic_slice %c, %m, %m, %m : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
        %26 = "stablehlo.dynamic_gather"(%c, %x, %m) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x4xf32>
        %27 = stablehlo.unary_einsum %c, config = "ab->a" : (tensor<3x4xf32>) -> tensor<3xf32>
        %28 = "stablehlo.batch_norm_inference"(%c, %v, %v, %v, %v) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
        %29:3 = "stablehlo.batch_norm_training"(%c, %v, %v) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>)
        %30 = "stablehlo.torch_index_select"(%c, %x) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x1x4xf32>"""),
    "regions": ("%a: tensor<3x4xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>, %x: tensor<2x1xi32>, %im: tensor<1x2x8x8xf32>, %ke: tensor<3x2x3x3xf32>", """
        %0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
        %1:2 = stablehlo.reduce(%a init: %s), (%a init: %s) across dimensions = [0] : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
        reducer(%q: tensor<f32>, %r: tensor<f32>) (%t: tensor<f32>, %u: tensor<f32>) {
          %m = stablehlo.subtract %r, %t : tensor<f32>
          stablehlo.return %m, %u : tensor<f32>, tensor<f32>
        }
        %2 = "stablehlo.reduce_window"(%a, %s) <{window_dimensions = array<i64: 2, 2>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({
        ^bb0(%y: tensor<f32>, %z: tensor<f32>):
          %m = stablehlo.maximum %y, %z : tensor<f32>
          stablehlo.return %m : tensor<f32>
        }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
        %3:2 = "stablehlo.sort"(%a, %a) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%y: tensor<f32>, %z: tensor<f32>, %y2: tensor<f32>, %z2: tensor<f32>):
          %m = stablehlo.compare LT, %y, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %m : tensor<i1>
        }) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
        %4:2 = stablehlo.while(%it = %s, %iu = %a) : tensor<f32>, tensor<3x4xf32> attributes {mhlo.x = "f"}
        cond {
          %m = stablehlo.compare LT, %it, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %m : tensor<i1>
        } do {
          stablehlo.return %it, %iu : tensor<f32>, tensor<3x4xf32>
        }
        %5 = "stablehlo.case"(%i) ({ stablehlo.return %s : tensor<f32> }, { stablehlo.return %s : tensor<f32> }) : (tensor<i32>) -> tensor<f32>
        %6 = "stablehlo.if"(%p) ({ stablehlo.return %s : tensor<f32> }, { stablehlo.return %4#0 : tensor<f32> }) : (tensor<i1>) -> tensor<f32>
        %7 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
        ^bb0(%y: tensor<f32>):
          stablehlo.return %y : tensor<f32>
        }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
        %8 = "stablehlo.gather"(%a, %x) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
        %9 = "stablehlo.select_and_scatter"(%a, %a, %s) <{window_dimensions = array<i64: 1, 1>}> ({
        ^bb0(%y: tensor<f32>, %z: tensor<f32>):
          %m = stablehlo.compare LT, %y, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %m : tensor<i1>
        }, {
        ^bb0(%y: tensor<f32>, %z: tensor<f32>):
          stablehlo.return %y : tensor<f32>
        }) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
        %10 = stablehlo.convolution(%im, %ke) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 2], pad = [[1, 1], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x8x3xf32>
        %11 = stablehlo.convolution(%im, %ke) dim_numbers = [b, f, 1, 0]x[o, i, 0, 1]->[b, 0, f, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x6x3x6xf32>
        %12 = stablehlo.custom_call @Foo(%a) {has_side_effect = true, api_version = 4 : i32, backend_config = {a = 1 : i32}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], called_computations = []} : (tensor<3x4xf32>) -> tensor<3x4xf32>
        %13:2 = stablehlo.custom_call @"Foo bar"(%a, %s) : (tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<f32>)
        %14 = "stablehlo.scatter"(%a, %x, %8) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
        ^bb0(%y: tensor<f32>, %z: tensor<f32>):
          stablehlo.return %z : tensor<f32>
        }) : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<3x4xf32>"""),
    "composites": ("%a: tensor<3x4xf32>", """
        %0:2 = chlo.top_k(%a, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
        %1 = chlo.erf %a : tensor<3x4xf32> -> tensor<3x4xf32>"""),
}


def numbers():
    """Every way to write an element, and decimals for each float of few bits, also between two and beyond"""
    rng = random.Random(5)
    lines = {
        "dense<[[true, false], [false, true]]> : tensor<2x2xi1>": "tensor<2x2xi1>",
        "dense<true> : tensor<9xi1>": "tensor<9xi1>",
        "dense<(1.0, -2.5e-3)> : tensor<2xcomplex<f32>>": "tensor<2xcomplex<f32>>",
        "dense<[(1.0, 0x7F800000), (-0.0, 3.0)]> : tensor<2xcomplex<f32>>": "tensor<2xcomplex<f32>>",
        "dense<0x7F800000> : tensor<2xf32>": "tensor<2xf32>",
        "dense<[0xFFC00001, 1.0, -0.0, 1.17549435E-38, 1.4E-45, 3.40282347E+38, 0.1]> : tensor<7xf32>": "tensor<7xf32>",
        "dense<[0.1, -1.0e-300, 0x7FF0000000000000]> : tensor<3xf64>": "tensor<3xf64>",
        'dense<"0x0000803F00000040"> : tensor<2xf32>': "tensor<2xf32>",
        'dense<"0x000102FF"> : tensor<2x2xi8>': "tensor<2x2xi8>",
        "dense<> : tensor<0x2xf32>": "tensor<0x2xf32>",
        "dense<[-8, 7, -1, 0]> : tensor<4xi4>": "tensor<4xi4>",
        "dense<[15, 7, 0]> : tensor<3xui4>": "tensor<3xui4>",
        "dense<[-128, 127, 255]> : tensor<3xi8>": "tensor<3xi8>",
        "dense<[0, 18446744073709551615]> : tensor<2xui64>": "tensor<2xui64>",
        "dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>": "tensor<2xi64>",
        "dense<-5> : tensor<i16>": "tensor<i16>",
        "dense<[[[1], [2]], [[3], [4]]]> : tensor<2x2x1xi32>": "tensor<2x2x1xi32>",
    }
    for name, dtype in [("bf16", jnp.bfloat16), ("f16", jnp.float16), ("f8E4M3FN", jnp.float8_e4m3fn), ("f8E5M2", jnp.float8_e5m2),
                        ("f8E4M3FNUZ", jnp.float8_e4m3fnuz), ("f8E5M2FNUZ", jnp.float8_e5m2fnuz),
                        ("f8E4M3B11FNUZ", jnp.float8_e4m3b11fnuz), ("f8E4M3", jnp.float8_e4m3), ("f8E3M4", jnp.float8_e3m4),
                        ("f4E2M1FN", jnp.float4_e2m1fn)]:
        info = jnp.finfo(dtype)
        top, low = float(info.max), float(info.smallest_subnormal)
        drawn = [rng.uniform(-top, top) for _ in range(8)] + [low * rng.uniform(-9, 9) for _ in range(8)]
        between = [low / 2, low * 0.75, low * 1.5, low * 2.5, -low / 2, top, -top, 0.0, -0.0, float(info.tiny)]
        if name in ("bf16", "f16", "f8E5M2", "f8E4M3", "f8E3M4"):
            between += [top * 1.5]
        text = ", ".join(np.format_float_positional(v, unique=True, trim="0") for v in drawn + between)
        kind = f"tensor<{len(drawn + between)}x{name}>"
        lines[f"dense<[{text}]> : {kind}"] = kind
    return "module @numbers {\n" + "".join(
        f"func.func @f{i:02}() -> {kind} {{ %0 = stablehlo.constant {value} return %0 : {kind} }}\n"
        for i, (value, kind) in enumerate(lines.items())) + "}\n"


def attributes():
    """What others write: aliases, declarations, blobs, quoted names, comments"""
    return """// a comment
#map = 7 : i32
!row = tensor<4xf32>
module @"a b" attributes {mhlo.num_partitions = 1 : i32, x.y = [1, 2.5, "s", unit, @f, true, i32, {a = #map}]} {
  func.func private @"f g"(%x : !row {x.z}) -> (!row {x.w = -3 : i8}) attributes {no.thing = dense<[1, 2]> : tensor<2xi64>} {
    return %x : !row // behind
  }
  func.func @main(%arg0: !row) -> !row {
    %0 = func.call @"f g"(%arg0) : (!row) -> !row
    %r:2 = "stablehlo.optimization_barrier"(%0, %arg0) : (!row, !row) -> (!row, !row)
    %1 = stablehlo.add %r#1, %r : !row
    func.return %1 : !row
  }
}
"""


def sharding():
    return """module {
  sdy.mesh @m = <["a"=2, "b"=4]>
  sdy.mesh @o = <["a"=2], device_ids=[1, 0]>
  func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b":(2)2}p3]>}, %y: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}], replicated={"a"}>}) -> tensor<4x4xf32> {
    %0 = sdy.sharding_constraint %x <@m, [{"a"}, {}]> : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
"""


WRITTEN = {"numbers": numbers, "attributes": attributes, "sharding": sharding}


def places(x, y):
    """With places of its own, and of functions that it calls"""
    def body(carry):
        i, a = carry
        return i + 1, jnp.tanh(a @ y)

    _, z = jax.lax.while_loop(lambda c: c[0] < 3, body, (0, x))
    return jnp.where(z > 0, z, jax.nn.relu(x)).sum(0)


def all_returned(module):
    """The function returns what each of its operations gives, so that none is left out"""
    f = module.body.operations[0]
    block = f.regions[0].blocks[0]
    values = [r for op in block.operations for r in op.results]
    list(block.operations)[-1].operation.erase()
    with ir.InsertionPoint(block), ir.Location.unknown():
        ir.Operation.create("func.return", operands=values)
    kinds = [a.type for a in block.arguments], [v.type for v in values]
    f.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))


def write(name, context):
    with context:
        if name in FORMS:
            args, body = FORMS[name]
            module = ir.Module.parse(f"func.func @main({args}) {{{body}\n return\n}}")
            all_returned(module)
        elif name in WRITTEN:
            module = ir.Module.parse(WRITTEN[name]())
        else:
            shape = jax.ShapeDtypeStruct((4, 4), jnp.float32)
            module = jax.jit(places).lower(shape, shape).compiler_ir("stablehlo")
        artifact = _jax.mlir.serialize_portable_artifact(str(module) if name in WRITTEN else module, VERSION, True)
        back = _jax.mlir.deserialize_portable_artifact(artifact)
        back = back if isinstance(back, ir.Module) else ir.Module.parse(back)
        pretty = WRITTEN[name]() if name in WRITTEN else back.operation.get_asm(enable_debug_info=True)
        (HERE / f"{name}.mlirbc").write_bytes(artifact)
        (HERE / f"{name}.mlir").write_text(pretty)
        (HERE / f"{name}.generic.mlir").write_text(back.operation.get_asm(print_generic_op_form=True))


def main():
    context = mlir.make_ir_context()
    for name in sys.argv[1:] or [*FORMS, *WRITTEN, "places"]:
        write(name, context)


if __name__ == "__main__":
    main()
