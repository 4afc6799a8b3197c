// Elementwise values and reductions over one index space share one loop nest; sums of rows stay in vectors.
// RUN: fattn-opt %s -cpu-lower-tiles -cse | FileCheck %s

// One nest computes the exponentials and their row sums; the exponential is stored, because the store below needs it, and computed once.
// CHECK-LABEL: func.func @exp_and_sum
// CHECK-COUNT-1: math.exp2
// CHECK-NOT: math.exp2
func.func @exp_and_sum(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %r: !tile.ptr<f32>) attributes {tile.kernel} {
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %xp = tile.make_block_ptr %x, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %yp = tile.make_block_ptr %y, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %rp = tile.make_block_ptr %r, shape[%n], strides[%one], offsets[%o] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %t = tile.load %xp : !tile.block_ptr<32x32xf32> -> tensor<32x32xf32>
  %e = math.exp2 %t : tensor<32x32xf32>
  %s = tile.reduce %e axis 0 : tensor<32x32xf32> -> tensor<32xf32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  tile.store %yp, %e : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  tile.store %rp, %s : !tile.block_ptr<32xf32>, tensor<32xf32>
  return
}

// A value overwritten in memory before its last use is read before.
// CHECK-LABEL: func.func @overwritten
// CHECK: %[[V:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CHECK: llvm.store %[[V]]
func.func @overwritten(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.kernel} {
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 16 : i64
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %xp = tile.make_block_ptr %x, shape[%n], strides[%one], offsets[%o] : !tile.ptr<f32> -> !tile.block_ptr<16xf32>
  %yp = tile.make_block_ptr %y, shape[%n], strides[%one], offsets[%o] : !tile.ptr<f32> -> !tile.block_ptr<16xf32>
  %t = tile.load %xp : !tile.block_ptr<16xf32> -> tensor<16xf32>
  tile.store %xp, %zero : !tile.block_ptr<16xf32>, tensor<16xf32>
  tile.store %yp, %t : !tile.block_ptr<16xf32>, tensor<16xf32>
  return
}
