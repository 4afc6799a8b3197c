// What was just stored is loaded for all warps: all of it has to be there.
func.func @reload(%a: !tile.ptr<f32> {tile.size = 64 : i64}, %t: !tile.ptr<f32> {tile.size = 64 : i64}, %out: !tile.ptr<f32> {tile.size = 4096 : i64}) attributes {tile.kernel} {
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %ap = tile.make_block_ptr %a, shape [%c64], strides [%o], offsets [%z] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
  %tp = tile.make_block_ptr %t, shape [%c64], strides [%o], offsets [%z] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
  %first = tile.splat %t : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %columns = tile.arange 0 : tensor<64xi32>
  %places = tile.addptr %first, %columns : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %x = tile.load %ap : !tile.block_ptr<64xf32> -> tensor<64xf32>
  %y = arith.addf %x, %x : tensor<64xf32>
  tile.store %tp, %y : !tile.block_ptr<64xf32>, tensor<64xf32>
  %r = tile.load %tp : !tile.block_ptr<64xf32> -> tensor<64xf32>
  %row = tile.expand_dims %r, 0 : tensor<64xf32> -> tensor<1x64xf32>
  %all = tile.broadcast %row : tensor<1x64xf32> -> tensor<64x64xf32>
  %op = tile.make_block_ptr %out, shape [%c64, %c64], strides [%c64, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  tile.store %op, %all : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
