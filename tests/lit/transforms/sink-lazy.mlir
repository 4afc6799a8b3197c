// What only an exact side uses is computed there.
// RUN: fattn-opt %s -tile-sink-lazy | FileCheck %s

// A chain follows its last member; what has another use stays, as does a load.
// CHECK-LABEL: func.func @chain
// CHECK: %[[SHARED:.*]] = arith.addf %arg1, %arg1
// CHECK: %[[LOADED:.*]] = tile.load
// CHECK-NOT: arith.mulf
// CHECK: tile.select_lazy
// CHECK: %[[A:.*]] = arith.mulf %arg1, %[[SHARED]]
// CHECK: %[[B:.*]] = math.exp2 %[[A]]
// CHECK: %[[C:.*]] = arith.addf %[[B]], %[[LOADED]]
// CHECK: tile.yield %[[C]]
func.func @chain(%any: tensor<16xi1>, %x: tensor<16x8xf32>, %p: !tile.block_ptr<16x8xf32>) -> tensor<16x8xf32> {
  %s = arith.addf %x, %x : tensor<16x8xf32>
  %l = tile.load %p : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
  %a = arith.mulf %x, %s : tensor<16x8xf32>
  %b = math.exp2 %a : tensor<16x8xf32>
  %z = tile.select_lazy %any usual(%s) : tensor<16xi1>, tensor<16x8xf32> -> tensor<16x8xf32> {
    %c = arith.addf %b, %l : tensor<16x8xf32>
    tile.yield %c : tensor<16x8xf32>
  }
  return %z : tensor<16x8xf32>
}

// Nothing is moved into a loop, where it would be computed in every trip.
// CHECK-LABEL: func.func @loop
// CHECK: math.exp2
// CHECK: scf.for
// CHECK-NOT: math.exp2
// CHECK: return
func.func @loop(%any: tensor<16xi1>, %x: tensor<16x8xf32>, %n: i32) -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = math.exp2 %x : tensor<16x8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> (tensor<16x8xf32>) : i32 {
    %z = tile.select_lazy %any usual(%u) : tensor<16xi1>, tensor<16x8xf32> -> tensor<16x8xf32> {
      tile.yield %b : tensor<16x8xf32>
    }
    scf.yield %z : tensor<16x8xf32>
  }
  return %r : tensor<16x8xf32>
}

// What narrows a result narrows both sides; a result with another use stays wide.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[USUAL:.*]] = arith.truncf %arg1
// CHECK: %[[Z:.*]]:2 = tile.select_lazy %arg0 usual(%[[USUAL]], %arg2) : tensor<16xi1>, tensor<16x8xbf16>, tensor<16x8xf32> -> tensor<16x8xbf16>, tensor<16x8xf32> {
// CHECK: %[[EXACT:.*]] = arith.truncf %arg2
// CHECK: tile.yield %[[EXACT]], %arg1
// CHECK: %[[SECOND:.*]] = arith.truncf %[[Z]]#1
// CHECK: return %[[Z]]#0, %[[SECOND]], %[[Z]]#1
func.func @narrow(%any: tensor<16xi1>, %x: tensor<16x8xf32>, %y: tensor<16x8xf32>) -> (tensor<16x8xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>) {
  %z:2 = tile.select_lazy %any usual(%x, %y) : tensor<16xi1>, tensor<16x8xf32>, tensor<16x8xf32> -> tensor<16x8xf32>, tensor<16x8xf32> {
    tile.yield %y, %x : tensor<16x8xf32>, tensor<16x8xf32>
  }
  %a = arith.truncf %z#0 : tensor<16x8xf32> to tensor<16x8xbf16>
  %b = arith.truncf %z#1 : tensor<16x8xf32> to tensor<16x8xbf16>
  return %a, %b, %z#1 : tensor<16x8xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>
}
