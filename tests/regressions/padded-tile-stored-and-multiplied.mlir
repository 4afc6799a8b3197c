// A tile whose padding is not zero is stored into its buffer by threads, and read there to be stored and to be multiplied, in two trips.
func.func @padded(%x: !tile.ptr<bf16> {tile.size = 12288 : i64, tile.divisibility = 16 : i64}, %w: !tile.ptr<bf16> {tile.size = 1024 : i64, tile.divisibility = 16 : i64}, %y: !tile.ptr<bf16> {tile.size = 12288 : i64, tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.size = 2048 : i64}, %n: i32 {tile.value = 6 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %inside = arith.constant 370 : i64
  %rows = arith.constant 384 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %wp = tile.make_block_ptr %w, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %wt = tile.load %wp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%a = %none) -> (tensor<64x32xf32>) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %row = arith.muli %i64, %c64 : i64
    %p = tile.make_block_ptr %x, shape [%inside, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<64x32xbf16>
    %t = tile.load %p {boundary_check = array<i64: 0>, padding = 1.0 : bf16} : !tile.block_ptr<64x32xbf16> -> tensor<64x32xbf16>
    %q = tile.make_block_ptr %y, shape [%rows, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<64x32xbf16>
    tile.store %q, %t : !tile.block_ptr<64x32xbf16>, tensor<64x32xbf16>
    %d = tile.dot %t, %wt, %a : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  %op = tile.make_block_ptr %out, shape [%c64, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<64x32xf32>
  tile.store %op, %acc : !tile.block_ptr<64x32xf32>, tensor<64x32xf32>
  return
}
