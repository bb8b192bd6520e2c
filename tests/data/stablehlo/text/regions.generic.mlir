"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<2x1xi32>, tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<1x3x8x3xf32>, tensor<1x6x3x6xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i1>, %arg4: tensor<2x1xi32>, %arg5: tensor<1x2x8x8xf32>, %arg6: tensor<3x2x3x3xf32>):
    %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %20 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1:2 = "stablehlo.reduce"(%arg0, %arg0, %arg1, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>, %arg26: tensor<f32>, %arg27: tensor<f32>):
      %19 = "stablehlo.subtract"(%arg26, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19, %arg27) : (tensor<f32>, tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
    %2 = "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %18 = "stablehlo.maximum"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%18) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
    %3:2 = "stablehlo.sort"(%arg0, %arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>, %arg20: tensor<f32>, %arg21: tensor<f32>):
      %17 = "stablehlo.compare"(%arg18, %arg19) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%17) : (tensor<i1>) -> ()
    }) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
    %4:2 = "stablehlo.while"(%arg1, %arg0) ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<3x4xf32>):
      %16 = "stablehlo.compare"(%arg16, %arg1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%16) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<3x4xf32>):
      "stablehlo.return"(%arg14, %arg15) : (tensor<f32>, tensor<3x4xf32>) -> ()
    }) {mhlo.x = "f"} : (tensor<f32>, tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>)
    %5 = "stablehlo.case"(%arg2) ({
      "stablehlo.return"(%arg1) : (tensor<f32>) -> ()
    }, {
      "stablehlo.return"(%arg1) : (tensor<f32>) -> ()
    }) : (tensor<i32>) -> tensor<f32>
    %6 = "stablehlo.if"(%arg3) ({
      "stablehlo.return"(%arg1) : (tensor<f32>) -> ()
    }, {
      "stablehlo.return"(%4#0) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    %7 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg13: tensor<f32>):
      "stablehlo.return"(%arg13) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %8 = "stablehlo.gather"(%arg0, %arg4) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    %9 = "stablehlo.select_and_scatter"(%arg0, %arg0, %arg1) <{window_dimensions = array<i64: 1, 1>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %15 = "stablehlo.compare"(%arg11, %arg12) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%15) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      "stablehlo.return"(%arg9) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    %10 = "stablehlo.convolution"(%arg5, %arg6) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>], window_reversal = array<i1: false, true>, window_strides = array<i64: 1, 2>}> : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x8x3xf32>
    %11 = "stablehlo.convolution"(%arg5, %arg6) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 1, 0]x[o, i, 0, 1]->[b, 0, f, 1]>, feature_group_count = 1 : i64}> : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x6x3x6xf32>
    %12 = "stablehlo.custom_call"(%arg0) <{api_version = 4 : i32, backend_config = {a = 1 : i32}, call_target_name = "Foo", has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %13:2 = "stablehlo.custom_call"(%arg0, %arg1) <{call_target_name = "Foo bar"}> : (tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<f32>)
    %14 = "stablehlo.scatter"(%arg0, %arg4, %8) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      "stablehlo.return"(%arg8) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0, %1#0, %1#1, %2, %3#0, %3#1, %4#0, %4#1, %5, %6, %7, %8, %9, %10, %11, %12, %13#0, %13#1, %14) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<1x3x8x3xf32>, tensor<1x6x3x6xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
