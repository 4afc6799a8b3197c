// SPDX-License-Identifier: Apache-2.0
// What a product multiplies is rounded behind the select_lazy, where the machine takes several instructions for it beside its matrix unit.
// RUN: fattn-opt %s -split-input-file -tilegpu-round-behind-lazy=target=amd:gfx942 | FileCheck %s
// RUN: fattn-opt %s -split-input-file -tilegpu-round-behind-lazy=target=amd:gfx950 | FileCheck %s --check-prefix=FRONT
// RUN: fattn-opt %s -split-input-file -tilegpu-round-behind-lazy=target=amd:gfx1100 | FileCheck %s --check-prefix=FRONT
// RUN: fattn-opt %s -split-input-file -tilegpu-round-behind-lazy=target=nvidia:sm_90 | FileCheck %s --check-prefix=FRONT

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,4), 32 -> (0,8); warp: 1 | dim0: 16, dim1: 16">
#v = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (4,0), 32 -> (8,0); warp: 1 | dim0: 16, dim1: 16">

// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[P:.*]]: tensor<16x16xf32, {{.*}}>, %{{.*}}: tensor
// CHECK-NEXT: %[[Z:.*]] = tile.select_lazy %{{.*}} usual(%[[P]]) : i1, tensor<16x16xf32
// CHECK-NEXT: %[[Q:.*]] = math.exp2 %[[P]]
// CHECK-NEXT: tile.yield %[[Q]] : tensor<16x16xf32
// CHECK-NEXT: }
// CHECK-NEXT: %[[N:.*]] = arith.truncf %[[Z]]
// CHECK-NEXT: tile.dot %[[N]]
// FRONT-LABEL: func.func @both
// FRONT-NEXT: %[[N:.*]] = arith.truncf
// FRONT-NEXT: tile.select_lazy %{{.*}} usual(%[[N]])
func.func @both(%p: tensor<16x16xf32, #p>, %v: tensor<16x16xbf16, #v>, %acc: tensor<16x16xf32, #p>, %any: i1) -> tensor<16x16xf32, #p> {
  %n = arith.truncf %p : tensor<16x16xf32, #p> to tensor<16x16xbf16, #p>
  %z = tile.select_lazy %any usual(%n) : i1, tensor<16x16xbf16, #p> -> tensor<16x16xbf16, #p> {
    %q = math.exp2 %p : tensor<16x16xf32, #p>
    %m = arith.truncf %q : tensor<16x16xf32, #p> to tensor<16x16xbf16, #p>
    tile.yield %m : tensor<16x16xbf16, #p>
  }
  %d = tile.dot %z, %v, %acc : tensor<16x16xbf16, #p>, tensor<16x16xbf16, #v> -> tensor<16x16xf32, #p>
  return %d : tensor<16x16xf32, #p>
}

// -----

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,4), 32 -> (0,8); warp: 1 | dim0: 16, dim1: 16">

// No product multiplies it: it stays narrow over the branch.
// CHECK-LABEL: func.func @nothing_to_hide_behind
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: tile.select_lazy %{{.*}} usual(%{{.*}}) : i1, tensor<16x16xbf16
// FRONT-LABEL: func.func @nothing_to_hide_behind
func.func @nothing_to_hide_behind(%p: tensor<16x16xf32, #p>, %any: i1) -> tensor<16x16xbf16, #p> {
  %n = arith.truncf %p : tensor<16x16xf32, #p> to tensor<16x16xbf16, #p>
  %z = tile.select_lazy %any usual(%n) : i1, tensor<16x16xbf16, #p> -> tensor<16x16xbf16, #p> {
    %q = math.exp2 %p : tensor<16x16xf32, #p>
    %m = arith.truncf %q : tensor<16x16xf32, #p> to tensor<16x16xbf16, #p>
    tile.yield %m : tensor<16x16xbf16, #p>
  }
  return %z : tensor<16x16xbf16, #p>
}
