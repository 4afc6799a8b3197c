// SPDX-License-Identifier: Apache-2.0
// Layouts that do not follow from each other would make a lowering compute on the wrong elements: they are refused.
// RUN: fattn-opt %s -split-input-file -tilegpu-remove-conversions -verify-diagnostics
// RUN: fattn-opt %s -split-input-file -tilegpu-verify-layouts -verify-diagnostics

#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (1), 4 -> (2), 8 -> (4), 16 -> (8); warp: 1 | dim0: 16">
func.func @reduce(%x: tensor<16x8xf32, #c>) -> tensor<16xf32, #rows> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  // expected-error @below {{'tile.reduce' op has operands and results whose layouts do not follow from each other}}
  %r = tile.reduce %x axis 1 : tensor<16x8xf32, #c> -> tensor<16xf32, #rows> {
  ^bb0(%lhs: f32, %rhs: f32):
    %s = arith.addf %lhs, %rhs : f32
    tile.yield %s : f32
  }
  return %r : tensor<16xf32, #rows>
}

// -----

func.func @bare(%p: !tile.block_ptr<16x8xf32>, %x: tensor<16x8xf32>) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  // expected-error @below {{'tile.store' op has a tile without a layout: 'tensor<16x8xf32>'}}
  tile.store %p, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>
  return
}

// -----

#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
func.func @warps(%p: !tile.block_ptr<16x8xf32>, %x: tensor<16x8xf32, #c>) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  // expected-error @below {{'tile.store' op has a tile on 32 lanes and 1 warps in a function for 32 lanes and 2 warps}}
  tile.store %p, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #c>
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-error @below {{'tilegpu.copy_async' op has a copy on 32 lanes and 1 warps in a function for 32 lanes and 4 warps}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  return
}

// -----

// expected-error @below {{the function has no attribute tilegpu.target}}
func.func @nowhere() attributes {tilegpu.warps = 1 : i64} {
  return
}
