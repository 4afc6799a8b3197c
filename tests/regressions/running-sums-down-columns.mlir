// Warps take rows in turns, as a load gives them: the tile is exchanged so that each sums neighbours, in both directions, with an odd number
// of rows as well, and of few rows not at all.
func.func @sums(%x: !tile.ptr<f32> {tile.size = 8192 : i64, tile.divisibility = 16 : i64, tile.noalias}, %y: !tile.ptr<f32> {tile.size = 8192 : i64, tile.divisibility = 16 : i64}, %z: !tile.ptr<f32> {tile.size = 8192 : i64, tile.divisibility = 16 : i64}, %w: !tile.ptr<f32> {tile.size = 6144 : i64}, %v: !tile.ptr<f32> {tile.size = 512 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %rows = arith.constant 64 : i64
  %columns = arith.constant 128 : i64
  %odd = arith.constant 96 : i64
  %few = arith.constant 4 : i64
  %px = tile.make_block_ptr %x, shape [%rows, %columns], strides [%columns, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  %t = tile.load %px : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
  %s = tile.cumsum %t axis 0 : tensor<64x128xf32>
  %py = tile.make_block_ptr %y, shape [%rows, %columns], strides [%columns, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  tile.store %py, %s : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  %r = tile.cumsum %t axis 0 reverse : tensor<64x128xf32>
  %pz = tile.make_block_ptr %z, shape [%rows, %columns], strides [%columns, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  tile.store %pz, %r : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  %po = tile.make_block_ptr %x, shape [%odd, %rows], strides [%rows, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<96x64xf32>
  %u = tile.load %po : !tile.block_ptr<96x64xf32> -> tensor<96x64xf32>
  %o = tile.cumsum %u axis 0 : tensor<96x64xf32>
  %pw = tile.make_block_ptr %w, shape [%odd, %rows], strides [%rows, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<96x64xf32>
  tile.store %pw, %o : !tile.block_ptr<96x64xf32>, tensor<96x64xf32>
  %pf = tile.make_block_ptr %x, shape [%few, %columns], strides [%columns, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  %q = tile.load %pf : !tile.block_ptr<4x128xf32> -> tensor<4x128xf32>
  %f = tile.cumsum %q axis 0 reverse : tensor<4x128xf32>
  %pv = tile.make_block_ptr %v, shape [%few, %columns], strides [%columns, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  tile.store %pv, %f : !tile.block_ptr<4x128xf32>, tensor<4x128xf32>
  return
}
