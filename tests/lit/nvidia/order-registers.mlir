// SPDX-License-Identifier: Apache-2.0
// Each number goes as far as it can before the next one begins.
// RUN: fattn-opt %s -pass-pipeline="builtin.module(func.func(nvidia-order-registers))" | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[E0:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%arg0)
// CHECK-NEXT: %[[E1:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%arg1)
// CHECK-NEXT: %[[S0:.*]] = arith.addf %[[E0]], %[[E1]]
// CHECK-NEXT: %[[P0:.*]] = llvm.inline_asm {{.*}} %[[E1]], %[[E0]]
// CHECK-NEXT: %[[E2:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%arg2)
// CHECK-NEXT: %[[S1:.*]] = arith.addf %[[S0]], %[[E2]]
// CHECK-NEXT: return %[[S1]], %[[P0]]
func.func @chain(%x0: f32, %x1: f32, %x2: f32) -> (f32, i32) {
  %e0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%x0) : (f32) -> f32
  %e1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%x1) : (f32) -> f32
  %e2 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%x2) : (f32) -> f32
  %s0 = arith.addf %e0, %e1 : f32
  %s1 = arith.addf %s0, %e2 : f32
  %p0 = llvm.inline_asm has_side_effects "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f" %e1, %e0 : (f32, f32) -> i32
  return %s1, %p0 : f32, i32
}

// Truth values are computed where they are used, and constants follow them.
// CHECK-LABEL: func.func @masks
// CHECK: arith.cmpi
// CHECK-NEXT: %[[A:.*]] = arith.select
// CHECK-NEXT: math.absf %[[A]]
// CHECK: arith.cmpi
// CHECK-NEXT: %[[B:.*]] = arith.select
// CHECK-NEXT: math.absf %[[B]]
func.func @masks(%i: i32, %n: i32, %x: f32, %y: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : i32
  %m0 = arith.cmpi slt, %i, %n : i32
  %m1 = arith.cmpi slt, %i, %c0 : i32
  %a = arith.select %m0, %x, %y : f32
  %b = arith.select %m1, %x, %y : f32
  %c = math.absf %a : f32
  %d = math.absf %b : f32
  return %c, %d : f32, f32
}

// What starts from a matrix instruction or a load stays behind what stood before it, and effects keep their order.
// CHECK-LABEL: func.func @roots
// CHECK: %[[X:.*]] = llvm.load %arg0
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: %[[Y:.*]] = llvm.load %arg0
// CHECK-NEXT: %[[F:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: %[[G:.*]] = arith.addf %[[F]], %[[Y]]
func.func @roots(%p: !llvm.ptr) -> f32 {
  %x = llvm.load %p : !llvm.ptr -> f32
  nvvm.barrier0
  %y = llvm.load %p : !llvm.ptr -> f32
  %f = arith.mulf %x, %x : f32
  %g = arith.addf %f, %y : f32
  return %g : f32
}

// What packs numbers behind a wait for matrix instructions stays behind it: these may still read the registers that it writes.
// CHECK-LABEL: func.func @behind_a_wait
// CHECK: wgmma.wait_group
// CHECK: cvt.rn.bf16x2.f32
func.func @behind_a_wait(%a: f32, %b: f32, %d: f32) -> (i32, f32) {
  %e0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%a) : (f32) -> f32
  %e1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%b) : (f32) -> f32
  %w = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  %p = llvm.inline_asm has_side_effects "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f" %e1, %e0 : (f32, f32) -> i32
  return %p, %w : i32, f32
}
