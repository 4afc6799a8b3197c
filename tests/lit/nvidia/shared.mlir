// Shared memory to registers and back: matrices where the layouts are made of them, else the widest vectors.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 64">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 16, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0) | dim0: 32, dim1: 64">

// Four k steps of A: lanes 0-15 point at the rows, lanes 16-31 at the 16 bytes beside them. The steps differ in two swizzled bits (32
// and 64 bytes): three xors beside the thread's own address. Of B, row 16 and column 48 of the tile, the transposed form: its offset of
// 2048 + 96 bytes is an immediate and one of the same xors.
// CHECK-LABEL: func.func @matrices
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[C96:.*]] = arith.constant 96 : i32
// CHECK: %[[P:.*]] = llvm.getelementptr %[[BASE:.*]][%[[T:.*]]] : (!llvm.ptr<3>, i32)
// CHECK: llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16"(%[[P]])
// CHECK: arith.xori %[[T]], %[[C32]]
// CHECK: llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16
// CHECK: arith.xori %[[T]], %[[C64]]
// CHECK: llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16
// CHECK: arith.xori %[[T]], %[[C96]]
// CHECK: llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16
// CHECK: arith.xori %{{.*}}, %[[C96]]
// CHECK: llvm.getelementptr %{{.*}}[2048]
// CHECK: llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16
// CHECK-NOT: ldmatrix
func.func @matrices(%p: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %slot = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c64 = arith.constant 64 : i64
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 32x64xbf16, #shared>
  %a = tilegpu.load_buffer %buffer[%slot] : !tilegpu.buffer<1 x 32x64xbf16, #shared> -> tensor<32x64xbf16, #a>
  %b = tilegpu.load_buffer %buffer[%slot] {offsets = array<i64: 16, 48>} : !tilegpu.buffer<1 x 32x64xbf16, #shared> -> tensor<16x16xbf16, #b>
  %pa = tile.make_block_ptr %p, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pb = tile.make_block_ptr %p, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x16xbf16>
  tile.store %pa, %a : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16, #a>
  tile.store %pb, %b : !tile.block_ptr<16x16xbf16>, tensor<16x16xbf16, #b>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,0); warp: 1 | dim0: 16, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// An accumulator of f16 goes to shared memory by stmatrix on sm_90; rows come back as two vectors of 16 bytes.
// CHECK-LABEL: func.func @conversion_90
// CHECK: llvm.call_intrinsic "llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16"
// CHECK: nvvm.barrier0
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: !llvm.ptr<3> -> vector
func.func @conversion_90(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %w = tile.make_block_ptr %p, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
  %x = tile.load %w : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #c>
  %buffer = tilegpu.alloc {offset = 512 : i64} : !tilegpu.buffer<1 x 16x16xf16, #shared>
  tilegpu.store_buffer %x, %buffer[%slot] : tensor<16x16xf16, #c>, !tilegpu.buffer<1 x 16x16xf16, #shared>
  tilegpu.barrier
  %y = tilegpu.load_buffer %buffer[%slot] : !tilegpu.buffer<1 x 16x16xf16, #shared> -> tensor<16x16xf16, #rows>
  tile.store %w, %y : !tile.block_ptr<16x16xf16>, tensor<16x16xf16, #rows>
  return
}

// On sm_80 as pairs.
// CHECK-LABEL: func.func @conversion_80
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK-NOT: !llvm.ptr<3>{{$}}
// CHECK: nvvm.barrier0
func.func @conversion_80(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %w = tile.make_block_ptr %p, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
  %x = tile.load %w : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #c>
  %buffer = tilegpu.alloc {offset = 512 : i64} : !tilegpu.buffer<1 x 16x16xf16, #shared>
  tilegpu.store_buffer %x, %buffer[%slot] : tensor<16x16xf16, #c>, !tilegpu.buffer<1 x 16x16xf16, #shared>
  tilegpu.barrier
  %y = tilegpu.load_buffer %buffer[%slot] : !tilegpu.buffer<1 x 16x16xf16, #shared> -> tensor<16x16xf16, #rows>
  tile.store %w, %y : !tile.block_ptr<16x16xf16>, tensor<16x16xf16, #rows>
  return
}

// -----

#odd = #tilegpu.regs<"register: x3 along dim0; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (0); warp: x3 along dim0 | dim0: 144">
#shared = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), x9 along dim0 | dim0: 144">

// 144 = 16 * 9 elements on three warps: 48 elements of 4 bytes times the warp's number are added, registers are 16 elements apart.
// CHECK-LABEL: func.func @odd
// CHECK-DAG: %[[C192:.*]] = arith.constant 192 : i32
// CHECK: %[[DIGIT:.*]] = arith.remui
// CHECK: arith.muli %[[DIGIT]], %[[C192]]
// CHECK: llvm.store
// CHECK: llvm.getelementptr %[[P:.*]][64]
// CHECK: llvm.getelementptr %[[P]][128]
func.func @odd(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 3 : i64} {
  %slot = arith.constant 0 : i32
  %x = arith.constant dense<1.0> : tensor<144xf32, #odd>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 144xf32, #shared>
  tilegpu.store_buffer %x, %buffer[%slot] : tensor<144xf32, #odd>, !tilegpu.buffer<1 x 144xf32, #shared>
  return
}

// -----

#half = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 | dim0: 32">
#shared = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), x5 along dim0 | dim0: 80">

func.func @across(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 80xf32, #shared>
  // expected-error @below {{cannot address a tile whose threads reach across the odd number of parts of dim 0 of the buffer}}
  %x = tilegpu.load_buffer %buffer[%slot] {offsets = array<i64: 32>} : !tilegpu.buffer<1 x 80xf32, #shared> -> tensor<32xf32, #half>
  return
}

// -----

#f32 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 32">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0) | dim0: 16, dim1: 32">

// Rows 0 and 1 of f32 fragments would meet in the same banks: every other pair of lanes stores the other 16 columns first.
// CHECK-LABEL: func.func @staggered
// CHECK: %[[BIT:.*]] = arith.andi %{{.*}}, %c2_i32 : i32
// CHECK: %[[ODD:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32 : i32
// CHECK: arith.select %[[ODD]], %[[X8:[a-z0-9]+]], %[[X0:[a-z0-9]+]] : f32
// CHECK: arith.select %[[ODD]], %[[X0]], %[[X8]] : f32
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 8 : i64}
func.func @staggered(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %pa = tile.make_block_ptr %p, shape [%c32, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<16x32xf32>
  %x = tile.load %pa : !tile.block_ptr<16x32xf32> -> tensor<16x32xf32, #f32>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x32xf32, #rows>
  tilegpu.store_buffer %x, %buffer[%slot] : tensor<16x32xf32, #f32>, !tilegpu.buffer<1 x 16x32xf32, #rows>
  return
}
