// SPDX-License-Identifier: Apache-2.0
// What the lowering to registers does not take, and what it says.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics -nvidia-lower-tensors

func.func @homeless() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  // expected-error @+1 {{needs tiles with a layout #tilegpu.regs, which -tilegpu-assign-layouts gives them, but got 'tensor<64xf32>'}}
  %t = arith.constant dense<1.0> : tensor<64xf32>
  return
}

// -----

// expected-error @+1 {{the function has no attribute tilegpu.target}}
func.func @nowhere() attributes {tile.kernel} {
  return
}

// -----

// expected-error @+1 {{must have structured control flow (scf) only}}
func.func @jump() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  llvm.br ^next
^next:
  return
}

// -----

#two = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 | dim0: 64">
func.func @double(%x: f64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f64 -> tensor<64xf64, #two>
  // expected-error @+1 {{has no lowering on f64 for a GPU; legal are f16, bf16 and f32}}
  %u = math.exp2 %t : tensor<64xf64, #two>
  return
}

// -----

#lanes = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
#whole = #tilegpu.regs<"register: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16), 32 -> (32); lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 -> (0) | dim0: 64">
func.func @crossing() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.arange 0 : tensor<64xi32, #lanes>
  // expected-error @+1 {{moves data through shared memory; -tilegpu-decompose-conversions rewrites such a conversion before this pass}}
  %u = tilegpu.convert_layout %t : tensor<64xi32, #lanes> -> tensor<64xi32, #whole>
  return
}

// -----

#lanes = #tilegpu.regs<"register: 1; lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0); warp: 1 -> (0,16) | dim0: 2, dim1: 32">
#rows = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (1); warp: 1 -> (0) | dim0: 2">
func.func @reduce(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %x : f32 -> tensor<2x32xf32, #lanes>
  // expected-error @+1 {{combines elements of several warps; -tilegpu-decompose-conversions rewrites such a reduction before this pass}}
  %s = tile.reduce %t axis 1 : tensor<2x32xf32, #lanes> -> tensor<2xf32, #rows> {
  ^bb0(%a: f32, %b: f32):
    %o = arith.addf %a, %b : f32
    tile.yield %o : f32
  }
  return
}

// -----

#warps = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
func.func @cumsum(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %t = tile.splat %x : f32 -> tensor<64xf32, #warps>
  // expected-error @+1 {{adds elements of several warps, or of lanes in no order; -tilegpu-decompose-conversions rewrites such a sum before this pass}}
  %s = tile.cumsum %t axis 0 : tensor<64xf32, #warps>
  return
}

// -----

#lanes = #tilegpu.regs<"register: 1; lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0); warp: 1 | dim0: 32, dim1: 1">
#turned = #tilegpu.regs<"register: 1; lane: 1 -> (0,16), 2 -> (0,8), 4 -> (0,4), 8 -> (0,2), 16 -> (0,1); warp: 1 | dim0: 1, dim1: 32">
func.func @trans(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f32 -> tensor<32x1xf32, #lanes>
  // expected-error @+1 {{has a result whose layout needs data of other threads; legal is the layout that follows from the operand's}}
  %s = tile.trans %t, [1, 0] : tensor<32x1xf32, #lanes> -> tensor<1x32xf32, #turned>
  return
}

// -----

func.func @region(%c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  // expected-error @+1 {{has no lowering for a GPU; legal are scf.for, scf.if, scf.while and tile.select_lazy}}
  scf.execute_region {
    scf.yield
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2) | dim0: 4">
func.func @buffer(%c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 4xf32, #shared>
  %b = tilegpu.alloc {offset = 128 : i64} : !tilegpu.buffer<1 x 4xf32, #shared>
  // expected-error @+1 {{cannot carry a buffer; legal is a slot number}}
  %r = scf.if %c -> (!tilegpu.buffer<1 x 4xf32, #shared>) {
    scf.yield %a : !tilegpu.buffer<1 x 4xf32, #shared>
  } else {
    scf.yield %b : !tilegpu.buffer<1 x 4xf32, #shared>
  }
  return
}
