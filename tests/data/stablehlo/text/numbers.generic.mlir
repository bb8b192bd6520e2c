"builtin.module"() <{sym_name = "numbers"}> ({
  "func.func"() <{function_type = () -> tensor<2x2xi1>, sym_name = "f00"}> ({
    %26 = "stablehlo.constant"() <{value = dense<[[true, false], [false, true]]> : tensor<2x2xi1>}> : () -> tensor<2x2xi1>
    "func.return"(%26) : (tensor<2x2xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<9xi1>, sym_name = "f01"}> ({
    %25 = "stablehlo.constant"() <{value = dense<true> : tensor<9xi1>}> : () -> tensor<9xi1>
    "func.return"(%25) : (tensor<9xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xcomplex<f32>>, sym_name = "f02"}> ({
    %24 = "stablehlo.constant"() <{value = dense<(1.000000e+00,-2.500000e-03)> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    "func.return"(%24) : (tensor<2xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xcomplex<f32>>, sym_name = "f03"}> ({
    %23 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,0x7F800000), (-0.000000e+00,3.000000e+00)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    "func.return"(%23) : (tensor<2xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xf32>, sym_name = "f04"}> ({
    %22 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<2xf32>}> : () -> tensor<2xf32>
    "func.return"(%22) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<7xf32>, sym_name = "f05"}> ({
    %21 = "stablehlo.constant"() <{value = dense<[0xFFC00001, 1.000000e+00, -0.000000e+00, 1.17549435E-38, 1.401300e-45, 3.40282347E+38, 1.000000e-01]> : tensor<7xf32>}> : () -> tensor<7xf32>
    "func.return"(%21) : (tensor<7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<3xf64>, sym_name = "f06"}> ({
    %20 = "stablehlo.constant"() <{value = dense<[1.000000e-01, -1.000000e-300, 0x7FF0000000000000]> : tensor<3xf64>}> : () -> tensor<3xf64>
    "func.return"(%20) : (tensor<3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xf32>, sym_name = "f07"}> ({
    %19 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}> : () -> tensor<2xf32>
    "func.return"(%19) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2x2xi8>, sym_name = "f08"}> ({
    %18 = "stablehlo.constant"() <{value = dense<[[0, 1], [2, -1]]> : tensor<2x2xi8>}> : () -> tensor<2x2xi8>
    "func.return"(%18) : (tensor<2x2xi8>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<0x2xf32>, sym_name = "f09"}> ({
    %17 = "stablehlo.constant"() <{value = dense<> : tensor<0x2xf32>}> : () -> tensor<0x2xf32>
    "func.return"(%17) : (tensor<0x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4xi4>, sym_name = "f10"}> ({
    %16 = "stablehlo.constant"() <{value = dense<[-8, 7, -1, 0]> : tensor<4xi4>}> : () -> tensor<4xi4>
    "func.return"(%16) : (tensor<4xi4>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<3xui4>, sym_name = "f11"}> ({
    %15 = "stablehlo.constant"() <{value = dense<[15, 7, 0]> : tensor<3xui4>}> : () -> tensor<3xui4>
    "func.return"(%15) : (tensor<3xui4>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<3xi8>, sym_name = "f12"}> ({
    %14 = "stablehlo.constant"() <{value = dense<[-128, 127, -1]> : tensor<3xi8>}> : () -> tensor<3xi8>
    "func.return"(%14) : (tensor<3xi8>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xui64>, sym_name = "f13"}> ({
    %13 = "stablehlo.constant"() <{value = dense<[0, 18446744073709551615]> : tensor<2xui64>}> : () -> tensor<2xui64>
    "func.return"(%13) : (tensor<2xui64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xi64>, sym_name = "f14"}> ({
    %12 = "stablehlo.constant"() <{value = dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>}> : () -> tensor<2xi64>
    "func.return"(%12) : (tensor<2xi64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<i16>, sym_name = "f15"}> ({
    %11 = "stablehlo.constant"() <{value = dense<-5> : tensor<i16>}> : () -> tensor<i16>
    "func.return"(%11) : (tensor<i16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2x2x1xi32>, sym_name = "f16"}> ({
    %10 = "stablehlo.constant"() <{value = dense<[[[1], [2]], [[3], [4]]]> : tensor<2x2x1xi32>}> : () -> tensor<2x2x1xi32>
    "func.return"(%10) : (tensor<2x2x1xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<27xbf16>, sym_name = "f17"}> ({
    %9 = "stablehlo.constant"() <{value = dense<[8.340910e+37, 1.641600e+38, 2.007130e+38, 3.004060e+38, 1.628300e+38, 2.857840e+38, -3.190150e+38, -2.326150e+37, 7.346840e-40, 2.755060e-40, 6.428480e-40, -6.428480e-40, -9.183550e-41, -4.591770e-40, 9.183550e-41, 9.183550e-41, 9.183550e-41, 9.183550e-41, 1.836710e-40, 2.755060e-40, -9.183550e-41, 3.389530e+38, -3.389530e+38, 0.000000e+00, -0.000000e+00, 1.175490e-38, 0x7F80]> : tensor<27xbf16>}> : () -> tensor<27xbf16>
    "func.return"(%9) : (tensor<27xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<27xf16>, sym_name = "f18"}> ({
    %8 = "stablehlo.constant"() <{value = dense<[-6.377600e+04, -3.712000e+04, -2.889600e+04, 5.456000e+04, 3.481600e+04, -4.460800e+04, 3.894400e+04, -4.732800e+04, 1.192090e-07, -4.172330e-07, -5.364420e-07, 4.172330e-07, -2.980230e-07, -2.980230e-07, 5.364420e-07, 4.172330e-07, 0.000000e+00, 5.960460e-08, 1.192090e-07, 1.192090e-07, -0.000000e+00, 6.550400e+04, -6.550400e+04, 0.000000e+00, -0.000000e+00, 6.103520e-05, 0x7C00]> : tensor<27xf16>}> : () -> tensor<27xf16>
    "func.return"(%8) : (tensor<27xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<26xf8E4M3FN>, sym_name = "f19"}> ({
    %7 = "stablehlo.constant"() <{value = dense<[-1.920000e+02, 4.160000e+02, 3.600000e+01, 1.600000e+02, -2.560000e+02, 3.840000e+02, 1.760000e+02, 4.160000e+02, 1.367190e-02, -7.812500e-03, -3.906250e-03, -1.171880e-02, -1.171880e-02, -1.562500e-02, -7.812500e-03, 3.906250e-03, 0.000000e+00, 1.953130e-03, 3.906250e-03, 3.906250e-03, -0.000000e+00, 4.480000e+02, -4.480000e+02, 0.000000e+00, -0.000000e+00, 1.562500e-02]> : tensor<26xf8E4M3FN>}> : () -> tensor<26xf8E4M3FN>
    "func.return"(%7) : (tensor<26xf8E4M3FN>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<27xf8E5M2>, sym_name = "f20"}> ({
    %6 = "stablehlo.constant"() <{value = dense<[-5.734400e+04, 2.048000e+04, -2.048000e+04, -2.048000e+04, 3.276800e+04, -2.048000e+03, -2.048000e+04, -2.048000e+03, 6.103520e-05, -1.220700e-04, 1.220700e-04, -1.220700e-04, 6.103520e-05, 9.155270e-05, -1.220700e-04, 7.629390e-05, 0.000000e+00, 1.525880e-05, 3.051760e-05, 3.051760e-05, -0.000000e+00, 5.734400e+04, -5.734400e+04, 0.000000e+00, -0.000000e+00, 6.103520e-05, 0x7C]> : tensor<27xf8E5M2>}> : () -> tensor<27xf8E5M2>
    "func.return"(%6) : (tensor<27xf8E5M2>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<26xf8E4M3FNUZ>, sym_name = "f21"}> ({
    %5 = "stablehlo.constant"() <{value = dense<[-6.400000e+01, 3.600000e+01, -2.400000e+02, -2.240000e+02, -1.600000e+02, 2.240000e+02, -1.440000e+02, 1.200000e+02, 7.812500e-03, 7.812500e-03, -2.929690e-03, -2.929690e-03, 0.000000e+00, 4.882810e-03, -6.835930e-03, 3.906250e-03, 0.000000e+00, 9.765620e-04, 1.953130e-03, 1.953130e-03, 0.000000e+00, 2.400000e+02, -2.400000e+02, 0.000000e+00, 0.000000e+00, 7.812500e-03]> : tensor<26xf8E4M3FNUZ>}> : () -> tensor<26xf8E4M3FNUZ>
    "func.return"(%5) : (tensor<26xf8E4M3FNUZ>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<26xf8E5M2FNUZ>, sym_name = "f22"}> ({
    %4 = "stablehlo.constant"() <{value = dense<[3.276800e+04, 4.096000e+04, -4.915200e+04, 4.915200e+04, -4.915200e+04, -1.638400e+04, 1.228800e+04, 4.915200e+04, -2.288820e-05, 6.103520e-05, 7.629390e-06, -2.288820e-05, -2.288820e-05, -4.577640e-05, -6.103520e-05, -4.577640e-05, 0.000000e+00, 7.629390e-06, 1.525880e-05, 1.525880e-05, 0.000000e+00, 5.734400e+04, -5.734400e+04, 0.000000e+00, 0.000000e+00, 3.051760e-05]> : tensor<26xf8E5M2FNUZ>}> : () -> tensor<26xf8E5M2FNUZ>
    "func.return"(%4) : (tensor<26xf8E5M2FNUZ>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<26xf8E4M3B11FNUZ>, sym_name = "f23"}> ({
    %3 = "stablehlo.constant"() <{value = dense<[1.100000e+01, 3.000000e+01, -2.000000e+01, -2.800000e+01, 3.000000e+01, 2.000000e+00, -5.500000e+00, -1.600000e+01, 2.441410e-04, 7.324210e-04, -1.220700e-04, -1.220700e-04, -9.765620e-04, 8.544920e-04, -9.765620e-04, 0.000000e+00, 0.000000e+00, 1.220700e-04, 2.441410e-04, 2.441410e-04, 0.000000e+00, 3.000000e+01, -3.000000e+01, 0.000000e+00, 0.000000e+00, 9.765620e-04]> : tensor<26xf8E4M3B11FNUZ>}> : () -> tensor<26xf8E4M3B11FNUZ>
    "func.return"(%3) : (tensor<26xf8E4M3B11FNUZ>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<27xf8E4M3>, sym_name = "f24"}> ({
    %2 = "stablehlo.constant"() <{value = dense<[1.600000e+02, -1.760000e+02, 1.120000e+02, 2.080000e+02, 6.400000e+01, 1.440000e+02, -1.920000e+02, -3.200000e+01, -1.171880e-02, 1.171880e-02, -7.812500e-03, -1.953130e-03, 1.757810e-02, 1.171880e-02, 1.757810e-02, -1.953130e-03, 0.000000e+00, 1.953130e-03, 3.906250e-03, 3.906250e-03, -0.000000e+00, 2.400000e+02, -2.400000e+02, 0.000000e+00, -0.000000e+00, 1.562500e-02, 0x78]> : tensor<27xf8E4M3>}> : () -> tensor<27xf8E4M3>
    "func.return"(%2) : (tensor<27xf8E4M3>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<27xf8E3M4>, sym_name = "f25"}> ({
    %1 = "stablehlo.constant"() <{value = dense<[-3.593750e-01, 7.000000e+00, -6.562500e-01, -6.500000e+00, -3.000000e+00, -1.100000e+01, -3.875000e+00, 1.500000e+01, 1.250000e-01, 3.125000e-02, -0.000000e+00, -4.687500e-02, -1.093750e-01, -6.250000e-02, 7.812500e-02, 1.093750e-01, 0.000000e+00, 1.562500e-02, 3.125000e-02, 3.125000e-02, -0.000000e+00, 1.550000e+01, -1.550000e+01, 0.000000e+00, -0.000000e+00, 2.500000e-01, 0x70]> : tensor<27xf8E3M4>}> : () -> tensor<27xf8E3M4>
    "func.return"(%1) : (tensor<27xf8E3M4>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<26xf4E2M1FN>, sym_name = "f26"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[-1.500000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00, 2.000000e+00, 3.000000e+00, -1.500000e+00, 2.000000e+00, -2.000000e+00, -0.000000e+00, 2.000000e+00, 1.500000e+00, -2.000000e+00, 4.000000e+00, 1.500000e+00, 5.000000e-01, 0.000000e+00, 5.000000e-01, 1.000000e+00, 1.000000e+00, -0.000000e+00, 6.000000e+00, -6.000000e+00, 0.000000e+00, -0.000000e+00, 1.000000e+00]> : tensor<26xf4E2M1FN>}> : () -> tensor<26xf4E2M1FN>
    "func.return"(%0) : (tensor<26xf4E2M1FN>) -> ()
  }) : () -> ()
}) : () -> ()
