// Asynchronous copies: the engine's sizes, zero fill outside, nothing where the copy is not wanted, one group a copy.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

// Rows 16 apart: the global address moves by 16 strides, the shared one by 16 rows of 32 bytes. A wanted window that lies inside as a whole
// is copied without predicates and sizes; else each vector is looked at.
// CHECK-LABEL: func.func @checked
// CHECK-SAME: %[[PRED:[a-z0-9]+]]: i1)
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 32 : i64
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: %[[TWO:.*]] = arith.muli %{{.*}}, %c16_i64 : i64
// CHECK: %[[FROM2:.*]] = llvm.getelementptr %[[FROM:[0-9]+]][%[[TWO]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
// CHECK: %[[TO2:.*]] = llvm.getelementptr %[[TO:[0-9]+]][512]
// CHECK: %[[STARTS:.*]] = arith.cmpi sge, %arg3, %{{.*}} : i64
// CHECK: %[[END:.*]] = arith.addi %arg3, %[[ROWS]] : i64
// CHECK: %[[ENDS:.*]] = arith.cmpi sle, %[[END]], %arg1 : i64
// CHECK: %[[WHOLE:.*]] = arith.andi %[[STARTS]], %[[ENDS]]
// CHECK: %[[PLAIN:.*]] = arith.andi %[[WHOLE]], %[[PRED]]
// CHECK: scf.if %[[PLAIN]]
// CHECK-NEXT: nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NEXT: nvvm.cp.async.shared.global %[[TO2]], %[[FROM2]], 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NEXT: } else {
// CHECK: %[[HIGH:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK: %[[LOW:.*]] = arith.select
// CHECK: %[[BELOW:.*]] = arith.cmpi sgt, %[[HIGH]], %[[NONE]] : i32
// CHECK: %[[ABOVE:.*]] = arith.cmpi sle, %[[LOW]], %[[NONE]] : i32
// CHECK: %[[IN:.*]] = arith.andi %[[BELOW]], %[[ABOVE]]
// CHECK: %[[SIZE:.*]] = arith.select %[[IN]], %[[BYTES]], %[[NONE]] : i32
// CHECK: llvm.ptrtoint %[[TO]] : !llvm.ptr<3> to i32
// CHECK: llvm.inline_asm has_side_effects "@$2 cp.async.cg.shared.global [$0], [$1], 16, $3;", "r,l,b,r,~{memory}" %{{.*}}, %[[FROM]], %[[PRED]], %[[SIZE]]
// CHECK: llvm.inline_asm has_side_effects "@$2 cp.async.cg.shared.global [$0], [$1], 16, $3;", "r,l,b,r,~{memory}" %{{.*}}, %[[FROM2]], %[[PRED]]
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 3
func.func @checked(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}, %row: i64, %pred: i1)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%rows, %c16], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 32x16xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] if %pred {layout = #copy, boundary_check = array<i64: 0>}
    : !tile.block_ptr<32x16xbf16>, !tilegpu.buffer<1 x 32x16xbf16, #shared>
  tilegpu.copy_wait %token {pending = 3 : i64}
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

// An extent of columns that nothing is known of, in rows that are aligned: the vector in which the array ends is copied as far as it goes,
// 2 bytes for each element that is left.
// CHECK-LABEL: func.func @cutVectors
// CHECK: scf.if
// CHECK-COUNT-2: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NEXT: } else {
// CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c8_i32 : i32
// CHECK: %[[COUNT:.*]] = arith.select %{{.*}}, %[[LEFT]], %c0_i32 : i32
// CHECK: %[[BYTES:.*]] = arith.muli %[[COUNT]], %c2_i32 : i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %[[BYTES]]
func.func @cutVectors(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64, %columns: i64, %stride: i64 {tile.divisibility = 8 : i64}, %row: i64)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%rows, %columns], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 32x16xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy, boundary_check = array<i64: 0, 1>}
    : !tile.block_ptr<32x16xbf16>, !tilegpu.buffer<1 x 32x16xbf16, #shared>
  tilegpu.copy_wait %token
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

// A stride that is only known to be even: 4 bytes a thread, without a size as nothing is checked. Slots are 1024 bytes apart.
// CHECK-LABEL: func.func @narrow
// CHECK-DAG: %[[SLOT:.*]] = arith.constant 1024 : i32
// CHECK: arith.muli %{{.*}}, %[[SLOT]] : i32
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
func.func @narrow(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64, %stride: i64 {tile.divisibility = 2 : i64}, %row: i64, %slot: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %window = tile.make_block_ptr %p, shape [%rows, %c16], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<2 x 32x16xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy} : !tile.block_ptr<32x16xbf16>, !tilegpu.buffer<2 x 32x16xbf16, #shared>
  tilegpu.copy_wait %token
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

func.func @unaligned(%p: !tile.ptr<bf16> {tile.divisibility = 2 : i64}, %rows: i64, %stride: i64, %row: i64)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%rows, %c16], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %buffer = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 32x16xbf16, #shared>
  // expected-error @below {{needs at least 4 bytes that are proven to be aligned and follow each other in global memory, in the buffer and in a thread of the layout}}
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy} : !tile.block_ptr<32x16xbf16>, !tilegpu.buffer<1 x 32x16xbf16, #shared>
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

func.func @nowhere(%p: !tile.ptr<bf16>, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %window = tile.make_block_ptr %p, shape [%n, %n], strides [%n, %n], offsets [%n, %n] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  // expected-error @below {{needs an offset, which -tilegpu-allocate-shared sets}}
  %buffer = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xbf16, #shared>
  %token = tilegpu.copy_async %window, %buffer[%slot] {layout = #copy} : !tile.block_ptr<32x16xbf16>, !tilegpu.buffer<1 x 32x16xbf16, #shared>
  return
}
