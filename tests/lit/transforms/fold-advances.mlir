// A block pointer that a loop advances by the same amount every trip becomes an offset from the induction variable.
// RUN: fattn-opt %s -tile-fold-advances -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @carried
// CHECK: %[[P:.*]] = tile.make_block_ptr
// CHECK: scf.for %[[I:.*]] = %c0_i32 to %{{.*}} step %c4_i32 iter_args(%{{.*}} = %{{.*}}) -> (tensor<4x8xf32>)
// CHECK:   %[[WIDE:.*]] = arith.extsi %[[I]] : i32 to i64
// CHECK:   %[[TRIP:.*]] = arith.divsi %[[WIDE]], %c4_i64
// CHECK:   %[[BY:.*]] = arith.muli %[[TRIP]], %c4_i64
// CHECK:   tile.advance %[[P]], [%[[BY]], %c0_i64]
// CHECK-NOT: tile.advance
func.func @carried(%base: !tile.ptr<f32>, %n: i32, %rows: i64) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %p = tile.make_block_ptr %base, shape[%rows, %eight], strides[%eight, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c4 iter_args(%acc = %zero, %q = %p) -> (tensor<4x8xf32>, !tile.block_ptr<4x8xf32>) : i32 {
    %t = tile.load %q : !tile.block_ptr<4x8xf32> -> tensor<4x8xf32>
    %s = arith.addf %acc, %t : tensor<4x8xf32>
    %next = tile.advance %q, [%four, %o] : !tile.block_ptr<4x8xf32>
    scf.yield %s, %next : tensor<4x8xf32>, !tile.block_ptr<4x8xf32>
  }
  return %r#0 : tensor<4x8xf32>
}

// An amount that changes in the loop stays carried.
// CHECK-LABEL: func.func @varying
// CHECK: scf.for {{.*}} -> (!tile.block_ptr<4xf32>)
func.func @varying(%p: !tile.block_ptr<4xf32>, %n: i32) -> !tile.block_ptr<4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (!tile.block_ptr<4xf32>) : i32 {
    %by = arith.extsi %i : i32 to i64
    %next = tile.advance %q, [%by] : !tile.block_ptr<4xf32>
    scf.yield %next : !tile.block_ptr<4xf32>
  }
  return %r : !tile.block_ptr<4xf32>
}
