// SPDX-License-Identifier: Apache-2.0
// Loops and branches carry registers; an exact side is a branch of a warp where it can be.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0) | dim0: 16, dim1: 8">
#row = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (8) | dim0: 16">
#columns = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 -> (0,4) | dim0: 16, dim1: 8">
#halves = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (1), 4 -> (2), 8 -> (4), 16 -> (8); warp: 1 -> (0) | dim0: 16">
#half = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (0); warp: 1 -> (0) | dim0: 16">

// Two f32 a thread are two values; two bf16 are one word.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, i32)
func.func @loop(%n: i32, %x: f32, %y: bf16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tile.splat %x : f32 -> tensor<16x8xf32, #rows>
  %b = tile.splat %y : bf16 -> tensor<16x8xbf16, #rows>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<16x8xf32, #rows>, tensor<16x8xbf16, #rows>) : i32 {
    %s = arith.addf %p, %p : tensor<16x8xf32, #rows>
    %t = arith.addf %q, %q : tensor<16x8xbf16, #rows>
    scf.yield %s, %t : tensor<16x8xf32, #rows>, tensor<16x8xbf16, #rows>
  }
  return
}

// A block pointer is its base, shape, strides and offsets.
// CHECK-LABEL: func.func @pointers
// CHECK: scf.while {{.*}} : (!llvm.ptr<1>, i64, i64, i64, i32) -> (!llvm.ptr<1>, i64, i64, i64, i32)
func.func @pointers(%p: !tile.ptr<f32>, %n: i64, %c: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %b = tile.make_block_ptr %p, shape[%n], strides[%c1], offsets[%c0] : !tile.ptr<f32> -> !tile.block_ptr<16xf32>
  %r:2 = scf.while (%q = %b, %i = %c) : (!tile.block_ptr<16xf32>, i32) -> (!tile.block_ptr<16xf32>, i32) {
    %m = arith.cmpi slt, %i, %c : i32
    scf.condition(%m) %q, %i : !tile.block_ptr<16xf32>, i32
  } do {
  ^bb0(%q: !tile.block_ptr<16xf32>, %i: i32):
    %next = tile.advance %q, [%n] : !tile.block_ptr<16xf32>
    scf.yield %next, %i : !tile.block_ptr<16xf32>, i32
  }
  return
}

// A warp holds whole rows and their conditions: it decides alone.
// CHECK-LABEL: func.func @warp
// CHECK: %[[VOTE:.*]] = nvvm.vote.sync any
// CHECK: %[[ANY:.*]] = llvm.intr.expect %[[VOTE]], %false
// CHECK: scf.if %[[ANY]] -> (f32, f32)
func.func @warp(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #rows>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #rows> -> tensor<16x8xf32, #rows> {
    %e = math.exp2 %u : tensor<16x8xf32, #rows>
    tile.yield %e : tensor<16x8xf32, #rows>
  }
  return
}

// Two warps share each row, but both hold all conditions: they decide alike.
// CHECK-LABEL: func.func @shared_rows
// CHECK: nvvm.vote.sync any
func.func @shared_rows(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #halves>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #columns>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #halves>, tensor<16x8xf32, #columns> -> tensor<16x8xf32, #columns> {
    %e = math.exp2 %u : tensor<16x8xf32, #columns>
    tile.yield %e : tensor<16x8xf32, #columns>
  }
  return
}

// Rows are shared by warps that hold different conditions: the block decides.
// CHECK-LABEL: func.func @block
// CHECK: %[[ANY:.*]] = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.or
// CHECK: scf.if %[[ANY]]
func.func @block(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #columns>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #columns> -> tensor<16x8xf32, #columns> {
    %e = math.exp2 %u : tensor<16x8xf32, #columns>
    tile.yield %e : tensor<16x8xf32, #columns>
  }
  return
}

// The outer one alone is a warp's decision, but the block decides the inner one, with a barrier that every warp has to reach: the block
// decides both.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: nvvm.vote.sync
// CHECK: %[[OUTER:.*]] = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.or
// CHECK: scf.if %[[OUTER]]
// CHECK: %[[INNER:.*]] = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.or
// CHECK: scf.if %[[INNER]]
func.func @nested(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #rows>
  %v = tile.splat %x : f32 -> tensor<16x8xf32, #columns>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #rows> -> tensor<16x8xf32, #rows> {
    %s = tile.select_lazy %t usual(%v) : tensor<16xi1, #row>, tensor<16x8xf32, #columns> -> tensor<16x8xf32, #columns> {
      %e = math.exp2 %v : tensor<16x8xf32, #columns>
      tile.yield %e : tensor<16x8xf32, #columns>
    }
    tile.yield %u : tensor<16x8xf32, #rows>
  }
  return
}

// A warp may decide both.
// CHECK-LABEL: func.func @nested_in_warp
// CHECK: nvvm.vote.sync any
// CHECK: scf.if
// CHECK: nvvm.vote.sync any
// CHECK: scf.if
func.func @nested_in_warp(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #rows>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #rows> -> tensor<16x8xf32, #rows> {
    %s = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #rows> -> tensor<16x8xf32, #rows> {
      %e = math.exp2 %u : tensor<16x8xf32, #rows>
      tile.yield %e : tensor<16x8xf32, #rows>
    }
    tile.yield %s : tensor<16x8xf32, #rows>
  }
  return
}
