// SPDX-License-Identifier: Apache-2.0
// What crosses warps goes through shared memory; what does not stays.
// RUN: fattn-opt %s -pass-pipeline='builtin.module(func.func(tilegpu-decompose-conversions))' | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,8), 2 -> (0,16) | dim0: 16, dim1: 32">
#renamed = #tilegpu.regs<"register: 1 -> (8,0), 2 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,8), 2 -> (0,16) | dim0: 16, dim1: 32">
#row = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (0), 2 -> (0) | dim0: 16">
#other = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (0,8); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (8,0), 2 -> (0,16) | dim0: 16, dim1: 32">
#stripes = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,256), 4 -> (0,512); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); warp: 1 -> (0,64), 2 -> (0,128) | dim0: 1, dim1: 1024">
#number = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 -> (0), 2 -> (0) | dim0: 1">
#column = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 -> (8), 2 -> (16) | dim0: 32">

// CHECK-LABEL: func.func @through_shared
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 16x32xf32
// CHECK: tilegpu.store_buffer %{{.*}}, %[[B]]
// CHECK: %[[R:.*]] = tilegpu.load_buffer %[[B]]
// CHECK: return %[[R]]
func.func @through_shared(%x: tensor<16x32xf32, #acc>) -> tensor<16x32xf32, #other> {
  %y = tilegpu.convert_layout %x : tensor<16x32xf32, #acc> -> tensor<16x32xf32, #other>
  return %y : tensor<16x32xf32, #other>
}

// Only names change: the lowering does that.
// CHECK-LABEL: func.func @renamed
// CHECK: tilegpu.convert_layout
// CHECK-NOT: tilegpu.alloc
func.func @renamed(%x: tensor<16x32xf32, #acc>) -> tensor<16x32xf32, #renamed> {
  %y = tilegpu.convert_layout %x : tensor<16x32xf32, #acc> -> tensor<16x32xf32, #renamed>
  return %y : tensor<16x32xf32, #renamed>
}

// Memory holds no index: it goes as an i64.
// CHECK-LABEL: func.func @index
// CHECK: arith.index_cast {{.*}} to tensor<16x32xi64
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 16x32xi64
// CHECK: arith.index_cast {{.*}} to tensor<16x32xindex
func.func @index(%x: tensor<16x32xindex, #acc>) -> tensor<16x32xindex, #other> {
  %y = tilegpu.convert_layout %x : tensor<16x32xindex, #acc> -> tensor<16x32xindex, #other>
  return %y : tensor<16x32xindex, #other>
}

// Four warps beside each other: each reduces its 8 columns, and 16 x 4 results go through memory.
// CHECK-LABEL: func.func @warps
// CHECK: %[[S:.*]] = tile.reshape %{{.*}} -> tensor<16x4x8xf32
// CHECK: %[[P:.*]] = tile.reduce %[[S]] axis 2
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 16x4xf32
// CHECK: %[[L:.*]] = tilegpu.load_buffer
// CHECK: %[[R:.*]] = tile.reduce %[[L]] axis 1
// CHECK-NEXT: ^bb0
// CHECK: arith.addf
// CHECK: return %[[R]]
func.func @warps(%x: tensor<16x32xf32, #acc>) -> tensor<16xf32, #row> {
  %0 = tile.reduce %x axis 1 : tensor<16x32xf32, #acc> -> tensor<16xf32, #row> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  return %0 : tensor<16xf32, #row>
}

// Parts that a thread has in its own registers are reduced before lanes exchange anything: one number goes around, and not one a part.
// CHECK-LABEL: func.func @registers_first
// CHECK: %[[S:.*]] = tile.reshape %{{.*}} -> tensor<1x4x4x64xf32
// CHECK: %[[O:.*]] = tile.reduce %[[S]] axis 1
// CHECK: tile.reduce %[[O]] axis 2
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 1x4xf32
func.func @registers_first(%x: tensor<1x1024xf32, #stripes>) -> tensor<1xf32, #number> {
  %0 = tile.reduce %x axis 1 : tensor<1x1024xf32, #stripes> -> tensor<1xf32, #number> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  return %0 : tensor<1xf32, #number>
}

// Along the rows each warp has all elements.
// CHECK-LABEL: func.func @within
// CHECK-NOT: tilegpu.alloc
// CHECK: tile.reduce %{{.*}} axis 0
func.func @within(%x: tensor<16x32xf32, #acc>) -> tensor<32xf32, #column> {
  %0 = tile.reduce %x axis 0 : tensor<16x32xf32, #acc> -> tensor<32xf32, #column> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  return %0 : tensor<32xf32, #column>
}

// Four warps beside each other: each sums its 8 columns, and adds what the warps behind it have in all.
// CHECK-LABEL: func.func @cumsum
// CHECK: %[[P:.*]] = tile.reshape %{{.*}} -> tensor<16x4x8xf32
// CHECK: %[[S:.*]] = tile.cumsum %[[P]] axis 2 reverse
// CHECK: %[[T:.*]] = tile.reduce %[[P]] axis 2
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 16x4xf32
// CHECK: tilegpu.store_buffer %[[T]], %[[B]]
// CHECK: tilegpu.load_buffer %[[B]]
// CHECK: arith.cmpi sgt
// CHECK: arith.select
// CHECK: tile.reduce %{{.*}} axis 2 : tensor<16x4x4xf32
// CHECK: arith.addf %[[S]], %{{.*}} : tensor<16x4x8xf32
// CHECK: tile.reshape %{{.*}} -> tensor<16x32xf32
// CHECK-NOT: tilegpu.alloc
func.func @cumsum(%x: tensor<16x32xf32, #acc>) -> tensor<16x32xf32, #acc> {
  %z = tile.cumsum %x axis 1 reverse : tensor<16x32xf32, #acc>
  return %z : tensor<16x32xf32, #acc>
}

// Four warps that take rows in turns: 32 totals of one row would be read by every warp. The tile is exchanged so that a warp has 8 rows side
// by side, and back; a warp reads 4 totals.
// CHECK-LABEL: func.func @turns
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 32x128xf32
// CHECK: tile.cumsum %{{.*}} axis 1 : tensor<4x8x128xf32
// CHECK: tile.reduce %{{.*}} axis 1
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 4x128xf32
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 32x128xf32
// CHECK-NOT: tilegpu.alloc
// CHECK: return
#turns = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (0,64); warp: 1 -> (1,0), 2 -> (2,0) | dim0: 32, dim1: 128">
func.func @turns(%x: tensor<32x128xf32, #turns>) -> tensor<32x128xf32, #turns> {
  %z = tile.cumsum %x axis 0 : tensor<32x128xf32, #turns>
  return %z : tensor<32x128xf32, #turns>
}

// With 8 rows the 8 totals are read.
// CHECK-LABEL: func.func @few_turns
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 2x4x128xf32
// CHECK-NOT: tilegpu.alloc
// CHECK: return
#few = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (4,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (0,64); warp: 1 -> (1,0), 2 -> (2,0) | dim0: 8, dim1: 128">
func.func @few_turns(%x: tensor<8x128xf32, #few>) -> tensor<8x128xf32, #few> {
  %z = tile.cumsum %x axis 0 : tensor<8x128xf32, #few>
  return %z : tensor<8x128xf32, #few>
}

// Elements of tiles that are larger go row by row.
// CHECK-LABEL: func.func @rows
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 99xf32
// CHECK: tilegpu.store_buffer %{{.*}}, %[[B]]{{.*}} {extents = array<i64: 11, 9>}
// CHECK: tilegpu.load_buffer %[[B]]{{.*}} {extents = array<i64: 9, 11>}
func.func @rows(%x: tensor<16x32xf32, #acc>) -> tensor<16x32xf32, #other> {
  %y = tilegpu.reshape %x from [11, 9] to [9, 11] : tensor<16x32xf32, #acc> -> tensor<16x32xf32, #other>
  return %y : tensor<16x32xf32, #other>
}

// A product's result, for which two warps share the columns, becomes the first operand of a product of its own rows, and of one of its
// columns. Both go through one buffer, of which the machine reads matrices for both: with wide vectors, which one of them could read
// without moving registers, the other one would put each word together from two.
// CHECK-LABEL: func.func @both_ways
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 128x64xbf16, #[[HOME:.*]]>
// CHECK: tilegpu.store_buffer %{{.*}}, %[[B]]
// CHECK: %[[X:.*]] = tilegpu.load_buffer %[[B]]{{.*}} -> tensor<128x64xbf16
// CHECK: %[[T:.*]] = tilegpu.load_buffer %[[B]]{{.*}} -> tensor<128x64xbf16
// CHECK: %[[Y:.*]] = tile.trans %[[T]], [1, 0] : tensor<128x64xbf16, {{.*}}> -> tensor<64x128xbf16
// CHECK-NOT: tile.trans
// CHECK: return %[[X]], %[[Y]]
// CHECK-NOT: tilegpu.alloc
#sum = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,16), 8 -> (0,32), 16 -> (64,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,8) | dim0: 128, dim1: 64">
#sum_t = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (0,8), 4 -> (16,0), 8 -> (32,0), 16 -> (0,64); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,16), 2 -> (0,32), 4 -> (8,0) | dim0: 64, dim1: 128">
#rows_a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (64,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,0) | dim0: 128, dim1: 64">
#columns_a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64), 64 -> (32,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (0,0), 4 -> (0,0) | dim0: 64, dim1: 128">
func.func @both_ways(%x: tensor<128x64xbf16, #sum>) -> (tensor<128x64xbf16, #rows_a>, tensor<64x128xbf16, #columns_a>)
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 8 : i64} {
  %a = tilegpu.convert_layout %x : tensor<128x64xbf16, #sum> -> tensor<128x64xbf16, #rows_a>
  %t = tile.trans %x, [1, 0] : tensor<128x64xbf16, #sum> -> tensor<64x128xbf16, #sum_t>
  %b = tilegpu.convert_layout %t : tensor<64x128xbf16, #sum_t> -> tensor<64x128xbf16, #columns_a>
  return %a, %b : tensor<128x64xbf16, #rows_a>, tensor<64x128xbf16, #columns_a>
}
