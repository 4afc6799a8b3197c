// The place of the next block comes from a table into which the loop writes: it must not be read ahead.
func.func @table(%a: !tile.ptr<bf16> {tile.size = 8192 : i64, tile.divisibility = 16 : i64}, %w: !tile.ptr<bf16> {tile.size = 1024 : i64, tile.divisibility = 16 : i64}, %places: !tile.ptr<i64> {tile.size = 16 : i64}, %out: !tile.ptr<f32> {tile.size = 1024 : i64}, %n: i32 {tile.value = 6 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %rows = arith.constant 256 : i64
  %c32 = arith.constant 32 : i64
  %c7 = arith.constant 7 : i64
  %c5 = arith.constant 5 : i64
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %wp = tile.make_block_ptr %w, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %wt = tile.load %wp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  tile.scatter %places, %c5 : !tile.ptr<i64>, i64
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<32x32xf32>) : i32 {
    %at = tile.addptr %places, %i : !tile.ptr<i64>, i32
    %block = tile.gather %at : !tile.ptr<i64> -> i64
    %row = arith.muli %block, %c32 : i64
    %p = tile.make_block_ptr %a, shape [%rows, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
    %x = tile.load %p : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %x, %wt, %sum : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
    %more = arith.addi %block, %c5 : i64
    %next = arith.andi %more, %c7 : i64
    %to = tile.addptr %at, %o : !tile.ptr<i64>, i64
    tile.scatter %to, %next : !tile.ptr<i64>, i64
    scf.yield %d : tensor<32x32xf32>
  }
  %op = tile.make_block_ptr %out, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  tile.store %op, %acc : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  return
}
