// An operand of a product is overwritten right behind its load: the copy into shared memory has to be complete by then.
func.func @overwritten(%a: !tile.ptr<bf16> {tile.size = 1024 : i64, tile.divisibility = 16 : i64}, %w: !tile.ptr<bf16> {tile.size = 1024 : i64, tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.size = 1024 : i64}) attributes {tile.kernel} {
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %three = arith.constant dense<3.0> : tensor<32x32xbf16>
  %ap = tile.make_block_ptr %a, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %wp = tile.make_block_ptr %w, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %x = tile.load %ap : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  tile.store %ap, %three : !tile.block_ptr<32x32xbf16>, tensor<32x32xbf16>
  %wt = tile.load %wp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  %d = tile.dot %x, %wt, %zero : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %op = tile.make_block_ptr %out, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  tile.store %op, %d : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  return
}
