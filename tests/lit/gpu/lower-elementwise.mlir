// SPDX-License-Identifier: Apache-2.0
// arith and math become one operation a register.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

#two = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 | dim0: 64">
#grid = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (8,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#columns = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 | dim0: 16">
#line = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,0), 8 -> (0,0), 16 -> (0,0); warp: 1 | dim0: 1, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 | dim0: 16">
#column = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 1">
#copies = #tilegpu.regs<"register: 1 -> (0); lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 | dim0: 32">

// CHECK: llvm.mlir.global internal constant @fattn_table(dense<[0.000000e+00, 1.000000e+00

// A tile is two scalars here; flags stay.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[X:.*]]: f32, %[[N:.*]]: i64)
// CHECK: arith.addf %[[X]], %[[X]] fastmath<contract> : f32
// CHECK-NOT: arith.addf
func.func @scalars(%x: f32, %n: index) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f32 -> tensor<64xf32, #two>
  %u = arith.addf %t, %t fastmath<contract> : tensor<64xf32, #two>
  return
}

// Neighbours are converted in pairs, by one instruction.
// CHECK-LABEL: func.func @pairs
// CHECK-COUNT-1: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.rn
func.func @pairs(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f32 -> tensor<64xf32, #two>
  %u = arith.truncf %t : tensor<64xf32, #two> to tensor<64xbf16, #two>
  return
}

// A bf16 that is half of a register is the upper half of its f32: a shift or a mask.
// CHECK-LABEL: func.func @halves_of_registers
// CHECK: %[[W:.*]] = llvm.load
// CHECK: %[[L:.*]] = arith.shli %[[W]], %{{.*}} : i32
// CHECK: arith.bitcast %[[L]] : i32 to f32
// CHECK: %[[H:.*]] = arith.andi %[[W]], %{{.*}} : i32
// CHECK: arith.bitcast %[[H]] : i32 to f32
// CHECK-NOT: arith.extf
func.func @halves_of_registers(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %from = tile.make_block_ptr %p, shape [%c64], strides [%c1], offsets [%c0] : !tile.ptr<bf16> -> !tile.block_ptr<64xbf16>
  %t = tile.load %from : !tile.block_ptr<64xbf16> -> tensor<64xbf16, #two>
  %u = arith.extf %t : tensor<64xbf16, #two> to tensor<64xf32, #two>
  return
}

// Registers with copies of one element are computed once.
// CHECK-LABEL: func.func @copies
// CHECK-COUNT-1: arith.addi
// CHECK-COUNT-1: arith.muli
// CHECK-NOT: arith.muli
func.func @copies() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c = arith.constant dense<3> : tensor<32xi32, #copies>
  %t = arith.addi %c, %c : tensor<32xi32, #copies>
  %u = arith.muli %t, %c : tensor<32xi32, #copies>
  return
}

// 8-bit numbers are computed with in f32, index is i64, and a condition may be one for the whole tile.
// CHECK-LABEL: func.func @types
// CHECK: %[[W:.*]] = arith.extui %{{.*}} : i8 to i16
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK: arith.muli {{.*}} : i64
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
func.func @types(%a: f8E5M2, %n: index, %c: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %a : f8E5M2 -> tensor<64xf8E5M2, #two>
  %u = arith.addf %t, %t : tensor<64xf8E5M2, #two>
  %i = tile.splat %n : index -> tensor<64xindex, #two>
  %j = arith.muli %i, %i : tensor<64xindex, #two>
  %k = arith.select %c, %i, %j : tensor<64xindex, #two>
  return
}

// Functions of 16-bit numbers are computed in f32.
// CHECK-LABEL: func.func @halves
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: ex2.approx
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @halves(%x: f16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f16 -> tensor<64xf16, #two>
  %u = math.exp2 %t : tensor<64xf16, #two>
  return
}

// Elements that differ are read from a table at the thread's place.
// CHECK-LABEL: func.func @table
// CHECK: llvm.mlir.addressof @fattn_table : !llvm.ptr<4>
// CHECK: llvm.load {{.*}} : !llvm.ptr<4> -> f32
func.func @table() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0]> : tensor<32xf32, #copies>
  return
}

// A thread has four numbers of the range, t + 0 to 3, beside two rows. A row is made smaller by t once; constants are left. Where each number
// is compared with another one, or all with the same, sums stay.
// CHECK-LABEL: func.func @compares_with_a_range
// CHECK-SAME: (%{{.*}}: i32, %[[N:.*]]: i32)
// CHECK-COUNT-2: "sub.sat.s32 $0, $1, $2;", "=r,r,r"
// CHECK-NOT: sub.sat
func.func @compares_with_a_range(%first: i32, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %range = tile.arange 0 : tensor<16xi32, #columns>
  %line = tile.expand_dims %range, 0 : tensor<16xi32, #columns> -> tensor<1x16xi32, #line>
  %numbers = tile.broadcast %line : tensor<1x16xi32, #line> -> tensor<16x16xi32, #grid>
  %rows = tile.arange 0 : tensor<16xi32, #rows>
  %start = tile.splat %first : i32 -> tensor<16xi32, #rows>
  %moved = arith.addi %rows, %start : tensor<16xi32, #rows>
  %column = tile.expand_dims %moved, 1 : tensor<16xi32, #rows> -> tensor<16x1xi32, #column>
  %spread = tile.broadcast %column : tensor<16x1xi32, #column> -> tensor<16x16xi32, #grid>
  %below = arith.cmpi sle, %spread, %numbers : tensor<16x16xi32, #grid>
  %bound = tile.splat %n : i32 -> tensor<16x16xi32, #grid>
  %inside = arith.cmpi slt, %numbers, %bound : tensor<16x16xi32, #grid>
  %sum = arith.addi %numbers, %bound : tensor<16x16xi32, #grid>
  %above = arith.cmpi sge, %sum, %numbers : tensor<16x16xi32, #grid>
  return
}
