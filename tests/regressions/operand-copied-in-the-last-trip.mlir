// With one stage of copies, the second product may run a trip late: its last trip then stands behind the loop and needs its own copy.
func.func @late(%q: !tile.ptr<bf16> {tile.size = 2048 : i64, tile.divisibility = 16 : i64}, %x: !tile.ptr<bf16> {tile.size = 6144 : i64, tile.divisibility = 16 : i64}, %y: !tile.ptr<bf16> {tile.size = 6144 : i64, tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.size = 2048 : i64}, %n: i32 {tile.value = 6 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %rows = arith.constant 192 : i64
  %size = arith.constant 64 : i64
  %c32 = arith.constant 32 : i64
  %small = arith.constant dense<0.0625> : tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %qp = tile.make_block_ptr %q, shape [%size, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<64x32xbf16>
  %qt = tile.load %qp : !tile.block_ptr<64x32xbf16> -> tensor<64x32xbf16>
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%a = %none) -> (tensor<64x32xf32>) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %row = arith.muli %i64, %c32 : i64
    %xp = tile.make_block_ptr %x, shape [%rows, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
    %xt = tile.load %xp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
    %tt = tile.trans %xt, [1, 0] : tensor<32x32xbf16> -> tensor<32x32xbf16>
    %s = tile.dot %qt, %tt, %zero : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
    %scaled = arith.mulf %s, %small : tensor<64x32xf32>
    %e = math.exp2 %scaled : tensor<64x32xf32>
    %b = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xbf16>
    %yp = tile.make_block_ptr %y, shape [%rows, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
    %yt = tile.load %yp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %b, %yt, %a : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  %op = tile.make_block_ptr %out, shape [%size, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<64x32xf32>
  tile.store %op, %acc : !tile.block_ptr<64x32xf32>, tensor<64x32xf32>
  return
}
