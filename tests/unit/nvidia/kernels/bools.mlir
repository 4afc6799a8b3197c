// One-byte elements: boundaries, padding, transposition through shared memory.
func.func @bools(%p: !tile.ptr<i1>, %q: !tile.ptr<f8E5M2>, %r: !tile.ptr<i8>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %w = tile.make_block_ptr %p, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<i1> -> !tile.block_ptr<32x32xi1>
  %x = tile.load %w {boundary_check = array<i64: 0, 1>, padding = true} : !tile.block_ptr<32x32xi1> -> tensor<32x32xi1>
  %t = tile.trans %x, [1, 0] : tensor<32x32xi1> -> tensor<32x32xi1>
  %y = arith.andi %x, %t : tensor<32x32xi1>
  tile.store %w, %y {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x32xi1>, tensor<32x32xi1>
  %w8 = tile.make_block_ptr %q, shape [%n, %n], strides [%c1, %n], offsets [%c0, %c0] : !tile.ptr<f8E5M2> -> !tile.block_ptr<32x32xf8E5M2>
  %x8 = tile.load %w8 {boundary_check = array<i64: 1>, padding = 1.0 : f8E5M2} : !tile.block_ptr<32x32xf8E5M2> -> tensor<32x32xf8E5M2>
  %t8 = tile.trans %x8, [1, 0] : tensor<32x32xf8E5M2> -> tensor<32x32xf8E5M2>
  tile.store %w8, %t8 : !tile.block_ptr<32x32xf8E5M2>, tensor<32x32xf8E5M2>
  %wi = tile.make_block_ptr %r, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<i8> -> !tile.block_ptr<32x32xi8>
  %xi = tile.load %wi {boundary_check = array<i64: 1>, padding = 3 : i8} : !tile.block_ptr<32x32xi8> -> tensor<32x32xi8>
  %ti = tile.trans %xi, [1, 0] : tensor<32x32xi8> -> tensor<32x32xi8>
  tile.store %wi, %ti : !tile.block_ptr<32x32xi8>, tensor<32x32xi8>
  return
}
