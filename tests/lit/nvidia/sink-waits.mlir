// SPDX-License-Identifier: Apache-2.0
// A wait for matrix instructions stands behind the vote that does not follow from it, on both sides of the branch.
// RUN: fattn-opt %s -pass-pipeline="builtin.module(func.func(nvidia-order-registers))" | FileCheck %s

// CHECK-LABEL: func.func @behind_the_vote
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK-NOT: inline_asm
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any
// CHECK-NEXT: scf.if %[[ANY]]
// CHECK-NEXT: %[[D:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK-NEXT: llvm.inline_asm has_side_effects "mbarrier.arrive
// CHECK-NEXT: arith.mulf %[[D]], %[[D]]
// CHECK: } else {
// CHECK-NEXT: %[[E:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK-NEXT: llvm.inline_asm has_side_effects "mbarrier.arrive
// CHECK-NEXT: %[[P:.*]] = llvm.inline_asm has_side_effects "cvt.
// CHECK-NEXT: scf.yield %[[E]], %[[P]]
func.func @behind_the_vote(%d: f32, %x: f32, %c: f32, %a: i32) -> (f32, i32) attributes {tilegpu.warps = 8 : i64} {
  %all = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %p = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%x) : (f32) -> f32
  %e = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  llvm.inline_asm has_side_effects "mbarrier.arrive.shared::cta.b64 _, [$0];", "r" %a : (i32) -> ()
  %packed = llvm.inline_asm has_side_effects "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f" %p, %p : (f32, f32) -> i32
  %above = arith.cmpf uge, %p, %c : f32
  %any = nvvm.vote.sync any %all, %above -> i1
  %r:2 = scf.if %any -> (f32, i32) {
    %exact = arith.mulf %e, %e : f32
    scf.yield %exact, %zero : f32, i32
  } else {
    scf.yield %e, %packed : f32, i32
  }
  return %r#0, %r#1 : f32, i32
}

// The vote asks about the result.
// CHECK-LABEL: func.func @about_the_result
// CHECK: wgmma.wait_group
// CHECK: nvvm.vote.sync
// CHECK-NOT: wgmma.wait_group
func.func @about_the_result(%d: f32, %c: f32) -> f32 attributes {tilegpu.warps = 8 : i64} {
  %all = arith.constant -1 : i32
  %e = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  %above = arith.cmpf uge, %e, %c : f32
  %any = nvvm.vote.sync any %all, %above -> i1
  %r = scf.if %any -> (f32) {
    %exact = arith.mulf %e, %e : f32
    scf.yield %exact : f32
  } else {
    scf.yield %e : f32
  }
  return %r : f32
}

// The result is used behind the branch.
// CHECK-LABEL: func.func @used_behind
// CHECK: wgmma.wait_group
// CHECK: nvvm.vote.sync
// CHECK-NOT: wgmma.wait_group
func.func @used_behind(%d: f32, %x: f32, %c: f32) -> f32 attributes {tilegpu.warps = 8 : i64} {
  %all = arith.constant -1 : i32
  %e = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  %above = arith.cmpf uge, %x, %c : f32
  %any = nvvm.vote.sync any %all, %above -> i1
  %r = scf.if %any -> (f32) {
    %exact = arith.mulf %e, %e : f32
    scf.yield %exact : f32
  } else {
    scf.yield %x : f32
  }
  %sum = arith.addf %r, %e : f32
  return %sum : f32
}

// As 256 warps share the registers, a thread has eight.
// CHECK-LABEL: func.func @no_room
// CHECK: wgmma.wait_group
// CHECK: nvvm.vote.sync
// CHECK-NOT: wgmma.wait_group
func.func @no_room(%d: f32, %x: f32, %c: f32) -> f32 attributes {tilegpu.warps = 256 : i64} {
  %all = arith.constant -1 : i32
  %e = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  %above = arith.cmpf uge, %x, %c : f32
  %any = nvvm.vote.sync any %all, %above -> i1
  %r = scf.if %any -> (f32) {
    %exact = arith.mulf %e, %e : f32
    scf.yield %exact : f32
  } else {
    scf.yield %e : f32
  }
  return %r : f32
}

// All warps of a group begin matrix instructions together, and a branch of one warp holds none.
// CHECK-LABEL: func.func @beginning_of_others
// CHECK: wgmma.wait_group
// CHECK: wgmma.mma_async
// CHECK: nvvm.vote.sync
// CHECK-NOT: wgmma
func.func @beginning_of_others(%d: f32, %x: f32, %c: f32) -> f32 attributes {tilegpu.warps = 8 : i64} {
  %all = arith.constant -1 : i32
  %e = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0" %d : (f32) -> f32
  llvm.inline_asm has_side_effects "{ wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned; }", "" : () -> ()
  %above = arith.cmpf uge, %x, %c : f32
  %any = nvvm.vote.sync any %all, %above -> i1
  %r = scf.if %any -> (f32) {
    %exact = arith.mulf %e, %e : f32
    scf.yield %exact : f32
  } else {
    scf.yield %e : f32
  }
  return %r : f32
}
