// Fewer elements than threads: each is added once, its old value reaches all; and a line is printed.
func.func @few(%p: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0 : tensor<8xi32>
  %p0 = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %p1 = tile.addptr %p0, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %x = tile.gather %p1 : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %o = tile.atomic_add %p1, %x : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  %sum = tile.reduce %o axis 0 : tensor<8xf32> -> tensor<f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %pt = tile.splat %p : !tile.ptr<f32> -> tensor<!tile.ptr<f32>>
  tile.scatter %pt, %sum : tensor<!tile.ptr<f32>>, tensor<f32>
  tile.device_print "sum", %sum, %n : tensor<f32>, i32
  return
}
