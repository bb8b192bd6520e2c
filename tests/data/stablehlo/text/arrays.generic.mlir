"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<3x4xf32>, tensor<4x5xf32>, tensor<4x4xf32>, tensor<i32>, tensor<2xui64>, tensor<f32>, tensor<1xi64>, tensor<2xi64>, tensor<2x1xi32>, tensor<4xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x4x4x5xf32>, tensor<4x3xf32>, tensor<12xf32>, tensor<9x4xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<1x2xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x3xcomplex<f32>>, tensor<2xui64>, tensor<4xui32>, tensor<4xf32>, tensor<3x5xf32>, tensor<i32>, tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x1x4xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>, %arg2: tensor<3x4xf32>, %arg3: tensor<4x5xf32>, %arg4: tensor<4x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xui64>, %arg7: tensor<f32>, %arg8: tensor<1xi64>, %arg9: tensor<2xi64>, %arg10: tensor<2x1xi32>, %arg11: tensor<4xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %1 = "stablehlo.dot"(%arg2, %arg3) <{precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGHEST>]}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %2 = "stablehlo.dot"(%arg2, %arg3) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %3 = "stablehlo.dot_general"(%arg2, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %4 = "stablehlo.dot_general"(%arg2, %arg3) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x4x4x5xf32>
    %5 = "stablehlo.transpose"(%arg2) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %6 = "stablehlo.reshape"(%arg2) : (tensor<3x4xf32>) -> tensor<12xf32>
    %7 = "stablehlo.concatenate"(%arg2, %arg2, %arg2) <{dimension = 0 : i64}> : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<9x4xf32>
    %8 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x4xf32>) -> tensor<3x4x2xf32>
    %9 = "stablehlo.broadcast"(%arg2) <{broadcast_sizes = array<i64: 2>}> : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
    %10 = "stablehlo.dynamic_slice"(%arg2, %arg5, %arg5) <{slice_sizes = array<i64: 1, 2>}> : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %11 = "stablehlo.dynamic_update_slice"(%arg2, %10, %arg5, %arg5) : (tensor<3x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    %12 = "stablehlo.cholesky"(%arg4) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %13 = "stablehlo.triangular_solve"(%arg4, %arg4) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %14 = "stablehlo.fft"(%arg4) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
    %15:2 = "stablehlo.rng_bit_generator"(%arg6) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %16 = "stablehlo.rng"(%arg7, %arg7, %arg8) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    %17 = "stablehlo.einsum"(%arg2, %arg3) <{einsum_config = "ab,bc->ac"}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %18 = "stablehlo.get_dimension_size"(%arg2) <{dimension = 1 : i64}> : (tensor<3x4xf32>) -> tensor<i32>
    %19 = "stablehlo.set_dimension_size"(%arg2, %arg5) <{dimension = 0 : i64}> : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
    %20 = "stablehlo.dynamic_iota"(%arg8) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<?xf32>
    %21 = "stablehlo.dynamic_reshape"(%arg2, %arg8) : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<?xf32>
    %22 = "stablehlo.dynamic_broadcast_in_dim"(%arg2, %arg9) <{broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 1>}> : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %23 = "stablehlo.dynamic_pad"(%arg2, %arg7, %arg9, %arg9, %arg9) : (tensor<3x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %24 = "stablehlo.real_dynamic_slice"(%arg2, %arg9, %arg9, %arg9) : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %25 = "stablehlo.dynamic_gather"(%arg2, %arg10, %arg9) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x4xf32>
    %26 = "stablehlo.unary_einsum"(%arg2) <{einsum_config = "ab->a"}> : (tensor<3x4xf32>) -> tensor<3xf32>
    %27 = "stablehlo.batch_norm_inference"(%arg2, %arg11, %arg11, %arg11, %arg11) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %28:3 = "stablehlo.batch_norm_training"(%arg2, %arg11, %arg11) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %29 = "stablehlo.torch_index_select"(%arg2, %arg10) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x1x4xf32>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15#0, %15#1, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28#0, %28#1, %28#2, %29) : (tensor<2x3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x4x4x5xf32>, tensor<4x3xf32>, tensor<12xf32>, tensor<9x4xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<1x2xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x3xcomplex<f32>>, tensor<2xui64>, tensor<4xui32>, tensor<4xf32>, tensor<3x5xf32>, tensor<i32>, tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x1x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
