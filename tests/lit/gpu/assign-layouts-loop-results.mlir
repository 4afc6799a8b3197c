// SPDX-License-Identifier: Apache-2.0
// A loop's result has the layout in which the loop carries it, also where its uses want another one: here the transposed one, which is no
// further from the function's argument than the loop's own. Such loops were refused, because the result got the layout of its uses.
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=4" | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=8" -tilegpu-remove-conversions | fattn-opt

// CHECK-LABEL: func.func @while_result_used_transposed
// CHECK-SAME: %[[X:.*]]: tensor<64x64xf32, #[[L:[a-z0-9]+]]>
// CHECK: tile.trans %[[X]], [1, 0] : tensor<64x64xf32, #[[L]]> -> tensor<64x64xf32, #[[T:[a-z0-9]+]]>
// CHECK: %[[R:.*]]:2 = scf.while {{.*}} : (tensor<64x64xf32, #[[L]]>, i32) -> (i32, tensor<64x64xf32, #[[L]]>)
// CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : i32, tensor<64x64xf32, #[[L]]>
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: tensor<64x64xf32, #[[L]]>):
// CHECK: %[[C:.*]] = tilegpu.convert_layout %[[R]]#1 : tensor<64x64xf32, #[[L]]> -> tensor<64x64xf32, #[[T]]>
// CHECK: arith.addf %{{.*}}, %[[C]] : tensor<64x64xf32, #[[T]]>
func.func @while_result_used_transposed(%x: tensor<64x64xf32>, %n: i32) -> tensor<64x64xf32> {
  %c1 = arith.constant 1 : i32
  %t = tile.trans %x, [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %r:2 = scf.while (%v = %x, %i = %n) : (tensor<64x64xf32>, i32) -> (i32, tensor<64x64xf32>) {
    %c = arith.cmpi sgt, %i, %c1 : i32
    scf.condition(%c) %i, %v : i32, tensor<64x64xf32>
  } do {
  ^bb0(%i: i32, %v: tensor<64x64xf32>):
    %w = math.exp2 %v : tensor<64x64xf32>
    %j = arith.subi %i, %c1 : i32
    scf.yield %w, %j : tensor<64x64xf32>, i32
  }
  %s = arith.addf %t, %r#1 : tensor<64x64xf32>
  return %s : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @for_result_used_transposed
// CHECK-SAME: %[[X:.*]]: tensor<64x64xf32, #[[L]]>
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[X]]) -> (tensor<64x64xf32, #[[L]]>)
// CHECK: %[[C:.*]] = tilegpu.convert_layout %[[R]] : tensor<64x64xf32, #[[L]]> -> tensor<64x64xf32, #[[T]]>
// CHECK: arith.addf %{{.*}}, %[[C]] : tensor<64x64xf32, #[[T]]>
func.func @for_result_used_transposed(%x: tensor<64x64xf32>, %n: i32) -> tensor<64x64xf32> {
  %c1 = arith.constant 1 : i32
  %t = tile.trans %x, [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %r = scf.for %i = %c1 to %n step %c1 iter_args(%v = %x) -> (tensor<64x64xf32>) : i32 {
    %w = math.exp2 %v : tensor<64x64xf32>
    scf.yield %w : tensor<64x64xf32>
  }
  %s = arith.addf %t, %r : tensor<64x64xf32>
  return %s : tensor<64x64xf32>
}
