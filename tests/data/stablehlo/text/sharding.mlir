module {
  sdy.mesh @m = <["a"=2, "b"=4]>
  sdy.mesh @o = <["a"=2], device_ids=[1, 0]>
  func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b":(2)2}p3]>}, %y: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}], replicated={"a"}>}) -> tensor<4x4xf32> {
    %0 = sdy.sharding_constraint %x <@m, [{"a"}, {}]> : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
