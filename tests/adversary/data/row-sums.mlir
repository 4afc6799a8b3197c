// Rows that several warps hold parts of, summed and taken from each element; then transposed through shared memory.
func.func @row_sums(%a: !tile.ptr<f32> {tile.name = "a"}, %out: !tile.ptr<f32> {tile.name = "out", tile.noalias}) attributes {tile.kernel} {
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c16 = arith.constant 16 : i64
  %ap = tile.make_block_ptr %a, shape [%c16, %c64], strides [%c64, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<16x64xf32>
  %op = tile.make_block_ptr %out, shape [%c64, %c16], strides [%c16, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<64x16xf32>
  %x = tile.load %ap : !tile.block_ptr<16x64xf32> -> tensor<16x64xf32>
  %s = tile.reduce %x axis 1 : tensor<16x64xf32> -> tensor<16xf32> {
  ^bb0(%l: f32, %r: f32):
    %t = arith.addf %l, %r : f32
    tile.yield %t : f32
  }
  %column = tile.expand_dims %s, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %all = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x64xf32>
  %y = arith.subf %x, %all : tensor<16x64xf32>
  %c = tile.reduce %y axis 0 : tensor<16x64xf32> -> tensor<64xf32> {
  ^bb0(%l: f32, %r: f32):
    %t = arith.maxnumf %l, %r : f32
    tile.yield %t : f32
  }
  %line = tile.expand_dims %c, 0 : tensor<64xf32> -> tensor<1x64xf32>
  %lines = tile.broadcast %line : tensor<1x64xf32> -> tensor<16x64xf32>
  %w = arith.subf %y, %lines : tensor<16x64xf32>
  %v = tile.trans %w, [1, 0] : tensor<16x64xf32> -> tensor<64x16xf32>
  tile.store %op, %v : !tile.block_ptr<64x16xf32>, tensor<64x16xf32>
  return
}
