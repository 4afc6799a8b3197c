// SPDX-License-Identifier: Apache-2.0
// No size is one that threads or instructions like: products of 33 x 7 by 7 x 5, a reshape, running sums, an index of the greatest.
func.func @odd_sizes(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %c: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %pa = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<33x7xf16>
  %pb = tile.make_block_ptr %b, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<7x5xf16>
  %x = tile.load %pa {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<33x7xf16> -> tensor<33x7xf16>
  %y = tile.load %pb {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<7x5xf16> -> tensor<7x5xf16>
  %zero = arith.constant dense<0.0> : tensor<33x5xf32>
  %d = tile.dot %x, %y, %zero : tensor<33x7xf16>, tensor<7x5xf16> -> tensor<33x5xf32>
  %s = tile.cumsum %d axis 0 reverse : tensor<33x5xf32>
  %r = tile.reshape %s : tensor<33x5xf32> -> tensor<5x33xf32>
  %t = tile.cumsum %r axis 1 : tensor<5x33xf32>
  %i = tile.arange 0 : tensor<33xi32>
  %e = tile.expand_dims %i, 0 : tensor<33xi32> -> tensor<1x33xi32>
  %index = tile.broadcast %e : tensor<1x33xi32> -> tensor<5x33xi32>
  %m:2 = tile.reduce %t, %index axis 1 : tensor<5x33xf32>, tensor<5x33xi32> -> tensor<5xf32>, tensor<5xi32> {
  ^bb0(%l: f32, %li: i32, %q: f32, %qi: i32):
    %g = arith.cmpf oge, %l, %q : f32
    %v = arith.select %g, %l, %q : f32
    %w = arith.select %g, %li, %qi : i32
    tile.yield %v, %w : f32, i32
  }
  %pc = tile.make_block_ptr %c, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<5x33xf32>
  tile.store %pc, %t {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<5x33xf32>, tensor<5x33xf32>
  %k = arith.sitofp %m#1 : tensor<5xi32> to tensor<5xf32>
  %pk = tile.make_block_ptr %c, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<5xf32>
  tile.store %pk, %k {boundary_check = array<i64: 0>} : !tile.block_ptr<5xf32>, tensor<5xf32>
  return
}
