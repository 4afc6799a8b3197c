// SPDX-License-Identifier: Apache-2.0
// Accesses to memory are numbered in the order of the text; nothing else is changed. Copies of an access that a pass makes keep its number.
// RUN: fattn-opt %s -tilegpu-record-order=print | FileCheck %s
// RUN: fattn-opt %s -tilegpu-record-order -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">

// CHECK-LABEL: func.func @copy
// CHECK: tile.load {{.*}} {tilegpu.source = array<i64: 0, 0>}
// CHECK-NOT: tilegpu.source
// CHECK: tile.store {{.*}} {tilegpu.source = array<i64: 1, 0>}
// LOC-LABEL: func.func @copy
// LOC: tile.load {{.*}} loc([[LOAD:#loc[0-9]+]])
// LOC: tile.store {{.*}} loc([[STORE:#loc[0-9]+]])
// LOC: [[LOAD]] = loc(fused<array<i64: 0, 0>>[
// LOC: [[STORE]] = loc(fused<array<i64: 1, 0>>[
func.func @copy(%p: !tile.block_ptr<16x8xf32>) {
  %x = tile.load %p : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
  %y = math.exp2 %x : tensor<16x8xf32, #rows>
  tile.store %p, %y : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #rows>
  return
}
