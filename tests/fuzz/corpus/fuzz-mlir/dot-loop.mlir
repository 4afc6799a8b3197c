func.func @dot(%p: !tile.ptr<bf16>, %o: !tile.ptr<f32>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = tile.make_block_ptr %p, shape [%c4, %c4], strides [%c4, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<4x4xbf16>
  %1 = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i64 {
    %2 = tile.advance %0, [%i, %c0] : !tile.block_ptr<4x4xbf16>
    %3 = tile.load %2 {boundary_check = array<i64: 0>} : !tile.block_ptr<4x4xbf16> -> tensor<4x4xbf16>
    %4 = tile.trans %3, [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
    %5 = tile.dot %3, %4, %acc : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
    scf.yield %5 : tensor<4x4xf32>
  }
  %6 = tile.reduce %1 axis 1 : tensor<4x4xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tile.yield %m : f32
  }
  %7 = tile.expand_dims %6, 1 : tensor<4xf32> -> tensor<4x1xf32>
  %8 = tile.broadcast %7 : tensor<4x1xf32> -> tensor<4x4xf32>
  %9 = tile.cumsum %8 axis 0 reverse : tensor<4x4xf32>
  tile.device_print "sums", %9 : tensor<4x4xf32>
  return
}
