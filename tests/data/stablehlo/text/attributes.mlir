// a comment
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
