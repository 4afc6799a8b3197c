// Two dots of 128 rows of each program: two groups of warps, which take turns, and warps that copy.
func.func @two_dots(%q: !tile.ptr<bf16> {tile.name = "q", tile.divisibility = 16 : i64}, %x: !tile.ptr<bf16> {tile.name = "x", tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.name = "out"}, %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %rows = arith.constant 256 : i64
  %width = arith.constant 32 : i64
  %size = arith.constant 384 : i64
  %each = arith.constant 128 : i64
  %c32 = arith.constant 32 : i64
  %c16 = arith.constant 16 : i64
  %zero = arith.constant dense<0.0> : tensor<128x16xf32>
  %none = arith.constant dense<0.0> : tensor<128x32xf32>
  %id = tile.program_id x : i32
  %id64 = arith.extsi %id : i32 to i64
  %first = arith.muli %id64, %each : i64
  %qp = tile.make_block_ptr %q, shape [%size, %c32], strides [%width, %o], offsets [%first, %z] : !tile.ptr<bf16> -> !tile.block_ptr<128x32xbf16>
  %qt = tile.load %qp : !tile.block_ptr<128x32xbf16> -> tensor<128x32xbf16>
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%a = %none) -> (tensor<128x32xf32>) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %row = arith.muli %i64, %c16 : i64
    %p = tile.make_block_ptr %x, shape [%rows, %c32], strides [%width, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<16x32xbf16>
    %t = tile.load %p : !tile.block_ptr<16x32xbf16> -> tensor<16x32xbf16>
    %tt = tile.trans %t, [1, 0] : tensor<16x32xbf16> -> tensor<32x16xbf16>
    %s = tile.dot %qt, %tt, %zero : tensor<128x32xbf16>, tensor<32x16xbf16> -> tensor<128x16xf32>
    %e = math.exp2 %s : tensor<128x16xf32>
    %b = arith.truncf %e : tensor<128x16xf32> to tensor<128x16xbf16>
    %d = tile.dot %b, %t, %a : tensor<128x16xbf16>, tensor<16x32xbf16> -> tensor<128x32xf32>
    scf.yield %d : tensor<128x32xf32>
  }
  %op = tile.make_block_ptr %out, shape [%size, %c32], strides [%c32, %o], offsets [%first, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
  tile.store %op, %acc : !tile.block_ptr<128x32xf32>, tensor<128x32xf32>
  return
}
