"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x4xf32>), sym_name = "main"}> ({
  ^bb0(%arg6: tensor<3x4xf32>):
    %46:2 = "stablehlo.composite"(%arg6) <{composite_attributes = {k = 2 : i64}, decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %47 = "stablehlo.composite"(%arg6) <{decomposition = @chlo.erf.impl, name = "chlo.erf", version = 1 : i32}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%46#0, %46#1, %47) : (tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x4xf32>) -> tensor<3x4xf32>, sym_name = "chlo.erf.impl", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<3x4xf32>):
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %6 = "stablehlo.constant"() <{value = dense<-1.000000e+00> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %7 = "stablehlo.constant"() <{value = dense<-0.0142647391> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %8 = "stablehlo.constant"() <{value = dense<-0.00737332925> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %9 = "stablehlo.constant"() <{value = dense<-0.00168282702> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %10 = "stablehlo.constant"() <{value = dense<-2.13374049E-4> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %11 = "stablehlo.constant"() <{value = dense<-1.45660715E-5> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %12 = "stablehlo.constant"() <{value = dense<-0.0160960332> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %13 = "stablehlo.constant"() <{value = dense<-2.954600e-03> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %14 = "stablehlo.constant"() <{value = dense<-7.34990637E-4> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %15 = "stablehlo.constant"() <{value = dense<-5.69250624E-5> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %16 = "stablehlo.constant"() <{value = dense<-2.10102394E-6> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %17 = "stablehlo.constant"() <{value = dense<2.77068146E-8> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %18 = "stablehlo.constant"() <{value = dense<-2.72614237E-10> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %19 = "stablehlo.constant"() <{value = dense<-4.000000e+00> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %20 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %21 = "stablehlo.clamp"(%19, %arg5, %20) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %22 = "stablehlo.multiply"(%21, %21) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %23 = "stablehlo.multiply"(%18, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %24 = "stablehlo.add"(%23, %17) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %25 = "stablehlo.multiply"(%24, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %26 = "stablehlo.add"(%25, %16) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %27 = "stablehlo.multiply"(%26, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %28 = "stablehlo.add"(%27, %15) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %29 = "stablehlo.multiply"(%28, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %30 = "stablehlo.add"(%29, %14) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %31 = "stablehlo.multiply"(%30, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %32 = "stablehlo.add"(%31, %13) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %33 = "stablehlo.multiply"(%32, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %34 = "stablehlo.add"(%33, %12) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %35 = "stablehlo.multiply"(%11, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %36 = "stablehlo.add"(%35, %10) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %37 = "stablehlo.multiply"(%36, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %38 = "stablehlo.add"(%37, %9) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %39 = "stablehlo.multiply"(%38, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %40 = "stablehlo.add"(%39, %8) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %41 = "stablehlo.multiply"(%40, %22) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %42 = "stablehlo.add"(%41, %7) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %43 = "stablehlo.multiply"(%21, %34) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %44 = "stablehlo.divide"(%43, %42) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %45 = "stablehlo.clamp"(%6, %44, %5) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%45) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>), sym_name = "chlo.top_k.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x4xf32>):
    %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x4xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = "stablehlo.compare"(%arg1, %arg2) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%4) : (tensor<i1>) -> ()
    }) : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
    %2 = "stablehlo.slice"(%1#0) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<3x2xf32>
    %3 = "stablehlo.slice"(%1#1) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x4xi32>) -> tensor<3x2xi32>
    "func.return"(%2, %3) : (tensor<3x2xf32>, tensor<3x2xi32>) -> ()
  }) : () -> ()
}) : () -> ()
