// SPDX-License-Identifier: Apache-2.0
// Results of select_lazy that are only needed in a narrower type are narrowed on both sides.
// RUN: fattn-opt %s -tile-narrow-lazy | FileCheck %s

// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[X:.*]]: tensor<16x64xf32>, %[[U:.*]]: tensor<16x64xf32>
// CHECK: %[[UN:.*]] = arith.truncf %[[U]]
// CHECK: %[[R:.*]] = tile.select_lazy %{{.*}} usual(%[[UN]]) : i1, tensor<16x64xbf16>
// CHECK: %[[E:.*]] = math.exp2 %[[X]]
// CHECK: %[[EN:.*]] = arith.truncf %[[E]]
// CHECK: tile.yield %[[EN]] : tensor<16x64xbf16>
// CHECK: return %[[R]], %[[R]]
func.func @narrow(%x: tensor<16x64xf32>, %u: tensor<16x64xf32>, %c: i1) -> (tensor<16x64xbf16>, tensor<16x64xbf16>) {
  %z = tile.select_lazy %c usual(%u) : i1, tensor<16x64xf32> -> tensor<16x64xf32> {
    %e = math.exp2 %x : tensor<16x64xf32>
    tile.yield %e : tensor<16x64xf32>
  }
  %a = arith.truncf %z : tensor<16x64xf32> to tensor<16x64xbf16>
  %b = arith.truncf %z : tensor<16x64xf32> to tensor<16x64xbf16>
  return %a, %b : tensor<16x64xbf16>, tensor<16x64xbf16>
}

// Another use needs the wide numbers.
// CHECK-LABEL: func.func @wide
// CHECK: tile.select_lazy {{.*}} -> tensor<16x64xf32>
func.func @wide(%x: tensor<16x64xf32>, %u: tensor<16x64xf32>, %c: i1) -> (tensor<16x64xbf16>, tensor<16x64xf32>) {
  %z = tile.select_lazy %c usual(%u) : i1, tensor<16x64xf32> -> tensor<16x64xf32> {
    tile.yield %x : tensor<16x64xf32>
  }
  %a = arith.truncf %z : tensor<16x64xf32> to tensor<16x64xbf16>
  return %a, %z : tensor<16x64xbf16>, tensor<16x64xf32>
}
