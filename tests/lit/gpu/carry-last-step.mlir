// The last step of a product runs in the next trip, behind that trip's first reads. What is read, waited for and copied stays in its order.
// RUN: fattn-opt %s -tilegpu-carry-last-step -split-input-file | FileCheck %s

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 8">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 32">
#sa = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0), 256 -> (8,0) | dim0: 16, dim1: 32">
#sb = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">

// CHECK-LABEL: func.func @product
// CHECK-DAG: %[[ZA:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf16
// CHECK-DAG: %[[ZB:.*]] = arith.constant dense<0.000000e+00> : tensor<16x8xf16
// CHECK: %[[R:.*]]:4 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %arg0, %[[TOKEN:.*]] = %{{.*}}, %[[LA:.*]] = %[[ZA]], %[[LB:.*]] = %[[ZB]])
// CHECK-NEXT: tilegpu.copy_wait %[[TOKEN]]
// CHECK-NEXT: %[[NEXT:.*]] = tilegpu.copy_async
// CHECK-NEXT: %[[A0:.*]] = tilegpu.load_buffer %{{.*}} {offsets = array<i64: 0, 0>}
// CHECK-NEXT: %[[B0:.*]] = tilegpu.load_buffer %{{.*}} {offsets = array<i64: 0, 0>}
// CHECK-NEXT: %[[D:.*]] = tile.dot %[[LA]], %[[LB]], %[[ACC]] {mark}
// CHECK-NEXT: %[[A1:.*]] = tilegpu.load_buffer %{{.*}} {offsets = array<i64: 0, 16>}
// CHECK-NEXT: %[[B1:.*]] = tilegpu.load_buffer %{{.*}} {offsets = array<i64: 16, 0>}
// CHECK-NEXT: %[[D0:.*]] = tile.dot %[[A0]], %[[B0]], %[[D]]
// CHECK-NEXT: scf.yield %[[D0]], %[[NEXT]], %[[A1]], %[[B1]]
// CHECK-NEXT: } {tilegpu.schedule = "A"}
// CHECK-NEXT: %[[LAST:.*]] = tile.dot %[[R]]#2, %[[R]]#3, %[[R]]#0 {mark}
// CHECK-NEXT: return %[[LAST]]
func.func @product(%c: tensor<16x8xf32, #c>, %n: i32, %p: !tile.block_ptr<16x32xf16>) -> tensor<16x8xf32, #c>
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %x = tilegpu.alloc : !tilegpu.buffer<2 x 16x32xf16, #sa>
  %y = tilegpu.alloc : !tilegpu.buffer<2 x 32x8xf16, #sb>
  %t0 = tilegpu.copy_async %p, %x[%i0] {layout = #copy} : !tile.block_ptr<16x32xf16>, !tilegpu.buffer<2 x 16x32xf16, #sa>
  %r:2 = scf.for %i = %i0 to %n step %i1 iter_args(%acc = %c, %t = %t0) -> (tensor<16x8xf32, #c>, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t
    %u = tilegpu.copy_async %p, %x[%i1] {layout = #copy} : !tile.block_ptr<16x32xf16>, !tilegpu.buffer<2 x 16x32xf16, #sa>
    %a0 = tilegpu.load_buffer %x[%i0] {offsets = array<i64: 0, 0>} : !tilegpu.buffer<2 x 16x32xf16, #sa> -> tensor<16x16xf16, #a>
    %b0 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 0, 0>} : !tilegpu.buffer<2 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %a1 = tilegpu.load_buffer %x[%i0] {offsets = array<i64: 0, 16>} : !tilegpu.buffer<2 x 16x32xf16, #sa> -> tensor<16x16xf16, #a>
    %b1 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 16, 0>} : !tilegpu.buffer<2 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %d0 = tile.dot %a0, %b0, %acc : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    %d1 = tile.dot %a1, %b1, %d0 {mark} : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    scf.yield %d1, %u : tensor<16x8xf32, #c>, !tilegpu.token
  } {tilegpu.schedule = "A"}
  return %r#0 : tensor<16x8xf32, #c>
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 8">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#sb = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">

// What is computed in the trip is not carried.
// CHECK-LABEL: func.func @computed
// CHECK: scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}) ->
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
func.func @computed(%c: tensor<16x8xf32, #c>, %a: tensor<16x16xf16, #a>, %n: i32) -> tensor<16x8xf32, #c>
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %y = tilegpu.alloc : !tilegpu.buffer<1 x 32x8xf16, #sb>
  %r = scf.for %i = %i0 to %n step %i1 iter_args(%acc = %c) -> (tensor<16x8xf32, #c>) : i32 {
    %e = math.exp2 %a : tensor<16x16xf16, #a>
    %b0 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 0, 0>} : !tilegpu.buffer<1 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %b1 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 16, 0>} : !tilegpu.buffer<1 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %d0 = tile.dot %e, %b0, %acc : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    %d1 = tile.dot %e, %b1, %d0 : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    scf.yield %d1 : tensor<16x8xf32, #c>
  }
  return %r : tensor<16x8xf32, #c>
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 8">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#unused = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 32">
#sa = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0), 256 -> (8,0) | dim0: 16, dim1: 32">
#sb = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">

// Nor is what threads store: they have to know at the barrier that it was read.
// CHECK-LABEL: func.func @stored
// CHECK: scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}) ->
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
func.func @stored(%c: tensor<16x8xf32, #c>, %n: i32, %v: tensor<16x32xf16, #unused>) -> tensor<16x8xf32, #c>
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %x = tilegpu.alloc : !tilegpu.buffer<1 x 16x32xf16, #sa>
  %y = tilegpu.alloc : !tilegpu.buffer<1 x 32x8xf16, #sb>
  %r = scf.for %i = %i0 to %n step %i1 iter_args(%acc = %c) -> (tensor<16x8xf32, #c>) : i32 {
    tilegpu.store_buffer %v, %x[%i0] : tensor<16x32xf16, #unused>, !tilegpu.buffer<1 x 16x32xf16, #sa>
    %a0 = tilegpu.load_buffer %x[%i0] {offsets = array<i64: 0, 0>} : !tilegpu.buffer<1 x 16x32xf16, #sa> -> tensor<16x16xf16, #a>
    %b0 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 0, 0>} : !tilegpu.buffer<1 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %a1 = tilegpu.load_buffer %x[%i0] {offsets = array<i64: 0, 16>} : !tilegpu.buffer<1 x 16x32xf16, #sa> -> tensor<16x16xf16, #a>
    %b1 = tilegpu.load_buffer %y[%i0] {offsets = array<i64: 16, 0>} : !tilegpu.buffer<1 x 32x8xf16, #sb> -> tensor<16x8xf16, #b>
    %d0 = tile.dot %a0, %b0, %acc : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    %d1 = tile.dot %a1, %b1, %d0 : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #c>
    scf.yield %d1 : tensor<16x8xf32, #c>
  }
  return %r : tensor<16x8xf32, #c>
}
