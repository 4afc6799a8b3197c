// Windows that are added to, of every type; also where the array ends within a vector, and odd ones.
func.func @accumulate(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %r: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %s: !tile.ptr<i64>, %u: !tile.ptr<i32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %wp = tile.make_block_ptr %p, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x64xf16>
  %wq = tile.make_block_ptr %q, shape [%n, %n], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %wr = tile.make_block_ptr %r, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x64xf32>
  %ws = tile.make_block_ptr %s, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<i64> -> !tile.block_ptr<13xi64>
  %wu = tile.make_block_ptr %u, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<i32> -> !tile.block_ptr<64xi32>
  %x = tile.load %wp {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xf16> -> tensor<32x64xf16>
  %y = tile.load %wq {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %z = arith.extf %x : tensor<32x64xf16> to tensor<32x64xf32>
  %i = tile.load %ws {boundary_check = array<i64: 0>} : !tile.block_ptr<13xi64> -> tensor<13xi64>
  %j = tile.load %wu {boundary_check = array<i64: 0>} : !tile.block_ptr<64xi32> -> tensor<64xi32>
  tile.accumulate %wp, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xf16>, tensor<32x64xf16>
  tile.accumulate %wq, %y {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16>
  tile.accumulate %wr, %z {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xf32>, tensor<32x64xf32>
  tile.accumulate %ws, %i {boundary_check = array<i64: 0>} : !tile.block_ptr<13xi64>, tensor<13xi64>
  tile.accumulate %wu, %j {boundary_check = array<i64: 0>} : !tile.block_ptr<64xi32>, tensor<64xi32>
  return
}
