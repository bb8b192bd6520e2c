"builtin.module"() <{sym_name = "a b"}> ({
  "func.func"() <{arg_attrs = [{x.z}], function_type = (tensor<4xf32>) -> tensor<4xf32>, res_attrs = [{x.w = -3 : i8}], sym_name = "f g", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4xf32>):
    "func.return"(%arg1) : (tensor<4xf32>) -> ()
  }) {no.thing = dense<[1, 2]> : tensor<2xi64>} : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "func.call"(%arg0) <{callee = @"f g"}> : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = "stablehlo.optimization_barrier"(%0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %2 = "stablehlo.add"(%1#1, %1#0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%2) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, x.y = [1, 2.500000e+00, "s", unit, @f, true, i32, {a = 7 : i32}]} : () -> ()
