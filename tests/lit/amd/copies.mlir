// Asynchronous copies by loads from global memory to LDS: each lane's own address, the wave's place, and waits that hold other accesses apart.
// RUN: fattn-opt %s -amd-lower-tensors -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,8), 16 -> (2,16), 32 -> (4,32); warp: 1 -> (8,0), 2 -> (16,0) | dim0: 64, dim1: 64">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#read = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0); warp: 1 -> (8,0), 2 -> (16,0) | dim0: 32, dim1: 64">

// A wave fills 1024 bytes, the block's four waves 4096, the second load of each the next 4096; which elements those are follows from the
// swizzle. Rows outside read zeros. A wave's own accesses of LDS are over before its copies begin. The wait is for loads alone, and the
// barrier's fences order memory for the wave.
// CHECK: #[[COPIED:.*]] = #llvm.alias_scope<id = "fattn.lds.copied"
// CHECK: #[[OTHERS:.*]] = #llvm.alias_scope<id = "fattn.lds.others"
// CHECK-LABEL: func.func @checked
// CHECK-SAME: %[[PRED:[a-z0-9]+]]: i1)
// CHECK-DAG: %[[ZEROS:.*]] = llvm.mlir.addressof @fattn_zeros
// CHECK-DAG: %[[WAVE:.*]] = rocdl.readfirstlane
// CHECK: scf.if %[[PRED]]
// CHECK: llvm.fence syncscope("wavefront") release
// CHECK-NEXT: rocdl.s.waitcnt 49279
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK: %[[FROM:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[ZEROS]]
// CHECK: %[[INTO:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
// CHECK: rocdl.global.load.lds %[[FROM]], %[[INTO]], 16, 0, 0 {alias_scopes = [#[[COPIED]]]}
// CHECK: llvm.select %{{.*}}, %{{.*}}, %[[ZEROS]]
// CHECK: rocdl.global.load.lds %{{.*}}, %{{.*}}, 16, 0, 0 {alias_scopes = [#[[COPIED]]]}
// CHECK-NEXT: rocdl.sched.barrier 0
// CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
// CHECK-NOT: rocdl.global.load.lds
// CHECK: }
// CHECK-NEXT: llvm.fence syncscope("wavefront") release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
// CHECK-NEXT: llvm.fence syncscope("wavefront") release
// CHECK-NEXT: rocdl.s.waitcnt 49279
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
// CHECK: llvm.load %{{.*}} {alias_scopes = [#[[OTHERS]]], alignment = 16 : i64, noalias_scopes = [#[[COPIED]]]} : !llvm.ptr<3>
func.func @checked(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}, %row: i64, %pred: i1)
    attributes {tile.kernel, tilegpu.target = "amd:gfx950", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%rows, %c64], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 64x64xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] if %pred {layout = #copy, boundary_check = array<i64: 0>}
    : !tile.block_ptr<64x64xbf16>, !tilegpu.buffer<1 x 64x64xbf16, #shared>
  tilegpu.copy_wait %token
  tilegpu.barrier
  %x = tilegpu.load_buffer %buffer[%slot] {offsets = array<i64: 32, 0>} : !tilegpu.buffer<1 x 64x64xbf16, #shared> -> tensor<32x64xbf16, #read>
  %out = tile.make_block_ptr %q, shape [%rows, %c64], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  tile.store %out, %x : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16, #read>
  return
}

// -----

// A chip with loads of 4 bytes alone. A window that nothing is checked of reads no zeros.
#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (4,0), 4 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (0,16), 16 -> (1,0), 32 -> (2,0); warp: 1 | dim0: 16, dim1: 32">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0), 256 -> (8,0) | dim0: 16, dim1: 32">
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: fattn_zeros
// CHECK-COUNT-4: rocdl.global.load.lds %{{.*}}, %{{.*}}, 4, 0, 0
// CHECK-NOT: rocdl.global.load.lds
// CHECK: rocdl.s.waitcnt 3952
func.func @narrow(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%c16, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x32xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x32xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy} : !tile.block_ptr<16x32xbf16>, !tilegpu.buffer<1 x 16x32xbf16, #shared>
  tilegpu.copy_wait %token
  return
}

// -----

// Lanes whose vectors do not lie behind each other in the buffer.
#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,8), 32 -> (0,16); warp: 1 | dim0: 16, dim1: 32">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0), 256 -> (8,0) | dim0: 16, dim1: 32">
func.func @apart(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel, tilegpu.target = "amd:gfx950", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%c16, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x32xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x32xbf16, #shared>
  // expected-error @below {{needs vectors that amd:gfx950 can copy, proven to be aligned, each lane's behind the lane's before}}
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy} : !tile.block_ptr<16x32xbf16>, !tilegpu.buffer<1 x 16x32xbf16, #shared>
  tilegpu.copy_wait %token
  return
}
