"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> (!stablehlo.token, !stablehlo.token, !stablehlo.token, tensor<4xf32>, tensor<4xf32>, !stablehlo.token, !stablehlo.token, !stablehlo.token, tensor<4xf32>, !stablehlo.token, tuple<tensor<4xf32>, !stablehlo.token>, tensor<4xf32>, tensor<4xf32>, !stablehlo.token, tensor<ui32>, tensor<ui32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "stablehlo.create_token"() : () -> !stablehlo.token
    %1 = "stablehlo.after_all"(%0, %0) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %2 = "stablehlo.after_all"() : () -> !stablehlo.token
    %3:3 = "stablehlo.infeed"(%0) <{infeed_config = "x", layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<4xf32>, tensor<4xf32>, !stablehlo.token)
    %4 = "stablehlo.outfeed"(%arg0, %0) <{outfeed_config = "x"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %5 = "stablehlo.send"(%arg0, %0) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %6:2 = "stablehlo.recv"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %7 = "stablehlo.tuple"(%arg0, %0) : (tensor<4xf32>, !stablehlo.token) -> tuple<tensor<4xf32>, !stablehlo.token>
    %8 = "stablehlo.get_tuple_element"(%7) <{index = 0 : i32}> : (tuple<tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
    %9:2 = "stablehlo.optimization_barrier"(%arg0, %0) {mhlo.x = "y"} : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %10 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %11 = "stablehlo.replica_id"() : () -> tensor<ui32>
    "func.return"(%0, %1, %2, %3#0, %3#1, %3#2, %4, %5, %6#0, %6#1, %7, %8, %9#0, %9#1, %10, %11) : (!stablehlo.token, !stablehlo.token, !stablehlo.token, tensor<4xf32>, tensor<4xf32>, !stablehlo.token, !stablehlo.token, !stablehlo.token, tensor<4xf32>, !stablehlo.token, tuple<tensor<4xf32>, !stablehlo.token>, tensor<4xf32>, tensor<4xf32>, !stablehlo.token, tensor<ui32>, tensor<ui32>) -> ()
  }) : () -> ()
}) : () -> ()
