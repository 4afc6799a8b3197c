// Folders and canonicalization patterns.
// RUN: fattn-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @advance_of_advance
// CHECK-SAME: (%[[P:.*]]: !tile.block_ptr<4x8xf32>, %[[A:.*]]: i64, %[[B:.*]]: i64)
func.func @advance_of_advance(%p: !tile.block_ptr<4x8xf32>, %a: i64, %b: i64) -> !tile.block_ptr<4x8xf32> {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %0 = tile.advance %p, [%a, %c3] : !tile.block_ptr<4x8xf32>
  %1 = tile.advance %0, [%b, %c4] : !tile.block_ptr<4x8xf32>
  // CHECK: %[[C7:.*]] = arith.constant 7 : i64
  // CHECK: %[[SUM:.*]] = arith.addi %[[A]], %[[B]] : i64
  // CHECK: %[[R:.*]] = tile.advance %[[P]], [%[[SUM]], %[[C7]]]
  // CHECK-NEXT: return %[[R]]
  %2 = tile.advance %1, [%c0, %c0] : !tile.block_ptr<4x8xf32>
  return %2 : !tile.block_ptr<4x8xf32>
}

// CHECK-LABEL: func.func @addptr_zero
// CHECK-SAME: (%[[P:.*]]: !tile.ptr<f32>)
func.func @addptr_zero(%p: !tile.ptr<f32>) -> !tile.ptr<f32> {
  %c0 = arith.constant 0 : i32
  // CHECK-NEXT: return %[[P]]
  %0 = tile.addptr %p, %c0 : !tile.ptr<f32>, i32
  return %0 : !tile.ptr<f32>
}

// A scalar comes back; of a tile that only has another shape, the element is the first one's.
// CHECK-LABEL: func.func @unsplat
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: tensor<1xf32>)
func.func @unsplat(%x: f32, %y: tensor<1xf32>) -> (f32, i32, f32) {
  %0 = tile.splat %x : f32 -> tensor<1x1xf32>
  %1 = tile.unsplat %0 : tensor<1x1xf32> -> f32
  %c = arith.constant dense<7> : tensor<1xi32>
  %2 = tile.unsplat %c : tensor<1xi32> -> i32
  %3 = tile.expand_dims %y, 0 : tensor<1xf32> -> tensor<1x1xf32>
  %4 = tile.trans %3, [1, 0] : tensor<1x1xf32> -> tensor<1x1xf32>
  %5 = tile.unsplat %4 : tensor<1x1xf32> -> f32
  // CHECK-DAG: %[[C:.*]] = arith.constant 7 : i32
  // CHECK-DAG: %[[E:.*]] = tile.unsplat %[[Y]] : tensor<1xf32> -> f32
  // CHECK-NOT: tile.
  // CHECK: return %[[X]], %[[C]], %[[E]]
  return %1, %2, %5 : f32, i32, f32
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<2x1x2xi32>) {
  %c = arith.constant 2.0 : f32
  %0 = tile.splat %c : f32 -> tensor<4xf32>
  %1 = tile.expand_dims %0, 1 : tensor<4xf32> -> tensor<4x1xf32>
  %2 = tile.broadcast %1 : tensor<4x1xf32> -> tensor<4x8xf32>
  %3 = tile.trans %2, [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %4 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %5 = tile.reshape %4 : tensor<4xi32> -> tensor<2x2xi32>
  %6 = tile.expand_dims %5, 1 : tensor<2x2xi32> -> tensor<2x1x2xi32>
  // CHECK-DAG: arith.constant dense<{{\[}}{{\[}}[1, 2]], {{\[}}[3, 4]]]> : tensor<2x1x2xi32>
  // CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<4x8xf32>
  // CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<8x4xf32>
  // CHECK-NOT: tile.
  return %2, %3, %6 : tensor<4x8xf32>, tensor<8x4xf32>, tensor<2x1x2xi32>
}

// CHECK-LABEL: func.func @splats
// CHECK-SAME: (%[[X:.*]]: f32)
func.func @splats(%x: f32) -> (tensor<8x4xf32>, tensor<2x16xf32>) {
  %0 = tile.splat %x : f32 -> tensor<4xf32>
  %1 = tile.expand_dims %0, 1 : tensor<4xf32> -> tensor<4x1xf32>
  %2 = tile.broadcast %1 : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK-DAG: tile.splat %[[X]] : f32 -> tensor<8x4xf32>
  %3 = tile.trans %2, [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK-DAG: tile.splat %[[X]] : f32 -> tensor<2x16xf32>
  %4 = tile.reshape %2 : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK-NEXT: return
  return %3, %4 : tensor<8x4xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[X:.*]]: tensor<4x3x2xf32>)
func.func @pairs(%x: tensor<4x3x2xf32>) -> (tensor<4x3x2xf32>, tensor<3x2x4xf32>, tensor<24xf32>, tensor<4x3x2xf32>) {
  %0 = tile.trans %x, [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32>
  %1 = tile.trans %0, [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  // CHECK: %[[T:.*]] = tile.trans %[[X]], [1, 2, 0] : tensor<4x3x2xf32> -> tensor<3x2x4xf32>
  %2 = tile.trans %0, [0, 2, 1] : tensor<3x4x2xf32> -> tensor<3x2x4xf32>
  %3 = tile.reshape %x : tensor<4x3x2xf32> -> tensor<6x4xf32>
  // CHECK: %[[R:.*]] = tile.reshape %[[X]] : tensor<4x3x2xf32> -> tensor<24xf32>
  %4 = tile.reshape %3 : tensor<6x4xf32> -> tensor<24xf32>
  %5 = tile.reshape %4 : tensor<24xf32> -> tensor<4x3x2xf32>
  // CHECK: return %[[X]], %[[T]], %[[R]], %[[X]]
  return %1, %2, %4, %5 : tensor<4x3x2xf32>, tensor<3x2x4xf32>, tensor<24xf32>, tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-SAME: (%[[X:.*]]: tensor<1x1xf32>)
func.func @broadcasts(%x: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<4x8xf32>) {
  %0 = tile.broadcast %x : tensor<1x1xf32> -> tensor<1x1xf32>
  %1 = tile.broadcast %x : tensor<1x1xf32> -> tensor<4x1xf32>
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[X]] : tensor<1x1xf32> -> tensor<4x8xf32>
  %2 = tile.broadcast %1 : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: return %[[X]], %[[B]]
  return %0, %2 : tensor<1x1xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @join_split
// CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @join_split(%x: tensor<4x2xf32>, %y: tensor<4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4xf32>) {
  // CHECK: %[[S:.*]], %[[T:.*]] = tile.split %[[X]]
  %0, %1 = tile.split %x : tensor<4x2xf32> -> tensor<4xf32>
  %2 = tile.join %0, %1 : tensor<4xf32> -> tensor<4x2xf32>
  // CHECK: %[[SWAPPED:.*]] = tile.join %[[T]], %[[S]]
  %3 = tile.join %1, %0 : tensor<4xf32> -> tensor<4x2xf32>
  %4 = tile.join %1, %y : tensor<4xf32> -> tensor<4x2xf32>
  %5, %6 = tile.split %4 : tensor<4x2xf32> -> tensor<4xf32>
  // CHECK: return %[[X]], %[[SWAPPED]], %[[Y]]
  return %2, %3, %6 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @reduce_of_one
// CHECK-SAME: (%[[X:.*]]: tensor<4x1xf32>)
func.func @reduce_of_one(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4x1xf32>) {
  // CHECK-NEXT: %[[R:.*]] = tile.reshape %[[X]] : tensor<4x1xf32> -> tensor<4xf32>
  %0 = tile.reduce %x axis 1 : tensor<4x1xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  %1 = tile.cumsum %x axis 1 : tensor<4x1xf32>
  // CHECK-NEXT: return %[[R]], %[[X]]
  return %0, %1 : tensor<4xf32>, tensor<4x1xf32>
}

// CHECK-LABEL: func.func @never_needed
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @never_needed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %never = arith.constant dense<false> : tensor<4xi1>
  // CHECK-NEXT: return %[[X]]
  %0 = tile.select_lazy %never usual(%x) : tensor<4xi1>, tensor<4xf32> -> tensor<4xf32> {
    %1 = math.exp2 %x : tensor<4xf32>
    tile.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @assume_divisible_by_one
// CHECK-SAME: (%[[N:.*]]: i32)
func.func @assume_divisible_by_one(%n: i32) -> i32 {
  // CHECK-NEXT: return %[[N]]
  %0 = tile.assume_divisible %n, 1 : i32
  return %0 : i32
}

// The larger one of a number and 1 is above 0 and not below 1; whether it is above 1 is not known.
// CHECK-LABEL: func.func @larger_one
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK: %[[UNKNOWN:.*]] = arith.cmpi sgt
// CHECK: return %[[TRUE]], %[[TRUE]], %[[FALSE]], %[[FALSE]], %[[UNKNOWN]]
func.func @larger_one(%x: i32) -> (i1, i1, i1, i1, i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %y = arith.maxsi %x, %one : i32
  %a = arith.cmpi slt, %zero, %y : i32
  %b = arith.cmpi sge, %y, %one : i32
  %c = arith.cmpi sle, %y, %zero : i32
  %d = arith.cmpi slt, %y, %one : i32
  %e = arith.cmpi sgt, %y, %one : i32
  return %a, %b, %c, %d, %e : i1, i1, i1, i1, i1
}
