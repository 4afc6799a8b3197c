// SPDX-License-Identifier: Apache-2.0
// A running sum within a warp: registers first, then a shuffle for each bit of the lane.
// RUN: fattn-opt %s -split-input-file -nvidia-lower-tensors | FileCheck %s

// 64 elements in 2 registers and 32 lanes: one sum of both registers, five shuffles, and what comes before is added to both.
// CHECK-LABEL: func.func @lanes
// CHECK: %[[PAIR:.*]] = arith.addf
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: arith.select
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: return
#lanes = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 | dim0: 64">
func.func @lanes(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f32 -> tensor<64xf32, #lanes>
  %s = tile.cumsum %t axis 0 : tensor<64xf32, #lanes>
  %u = math.exp2 %s : tensor<64xf32, #lanes>
  return
}

// -----

// In registers only: 3 additions for 4 elements, from the end.
// CHECK-LABEL: func.func @registers
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-3: arith.addi
// CHECK-NOT: arith.addi
// CHECK: return
#registers = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 | dim0: 4">
func.func @registers(%x: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : i32 -> tensor<4xi32, #registers>
  %s = tile.cumsum %t axis 0 reverse : tensor<4xi32, #registers>
  return
}

// -----

// Without the element itself nothing comes before the first: zero, of floating-point numbers -0.0.
// CHECK-LABEL: func.func @exclusive
// CHECK-COUNT-2: arith.addf
// CHECK-NOT: arith.addf
// CHECK: arith.constant -0.000000e+00 : f32
// CHECK: return
#registers = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 | dim0: 4">
func.func @exclusive(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f32 -> tensor<4xf32, #registers>
  %s = tile.cumsum %t axis 0 {tilegpu.exclusive} : tensor<4xf32, #registers>
  return
}
