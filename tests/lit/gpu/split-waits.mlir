// A barrier that stands there anyway serves a wait whose data is needed only behind it.
// RUN: fattn-opt %s -split-input-file -tilegpu-split-waits | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// The last barrier before %b is read, behind which another exchange reads: %u has two copies more in flight until then. What %a needs is
// waited for as before.
// CHECK-LABEL: func.func @later
// CHECK: scf.for {{.*}} iter_args(%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}})
// CHECK-NEXT: tilegpu.copy_wait %[[A]] {pending = 1 : i64}
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.device_print
// CHECK-NEXT: tilegpu.copy_wait %[[B]] {pending = 2 : i64}
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @later(%p: !ptr, %n: i32, %in: i32, %out: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  %t0 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
  %u0 = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %u0) -> (!tilegpu.token, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t, %u {pending = 0 : i64}
    tilegpu.barrier
    %t1 = tilegpu.copy_async %p, %a[%in] {layout = #rows} : !ptr, !ring
    %u1 = tilegpu.copy_async %p, %b[%in] {layout = #rows} : !ptr, !ring
    %x = tilegpu.load_buffer %a[%out] : !ring -> !tile1
    tilegpu.barrier
    tile.device_print "x", %x : !tile1
    tilegpu.barrier
    %y = tilegpu.load_buffer %b[%out] : !ring -> !tile1
    tile.device_print "y", %y : !tile1
    scf.yield %t1, %u1 : !tilegpu.token, !tilegpu.token
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// Without a further barrier nothing moves, nor past a store that may write what the copies read.
// CHECK-LABEL: func.func @stays
// CHECK: tilegpu.copy_wait %{{.*}}, %{{.*}} {pending = 0 : i64}
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tile.store
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @stays(%p: !ptr, %n: i32, %in: i32, %out: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  %t0 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
  %u0 = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %u0) -> (!tilegpu.token, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t, %u {pending = 0 : i64}
    tilegpu.barrier
    %x = tilegpu.load_buffer %a[%out] : !ring -> !tile1
    tile.store %p, %x : !ptr, !tile1
    tilegpu.barrier
    %y = tilegpu.load_buffer %b[%out] : !ring -> !tile1
    tile.device_print "y", %y : !tile1
    %t1 = tilegpu.copy_async %p, %a[%in] {layout = #rows} : !ptr, !ring
    %u1 = tilegpu.copy_async %p, %b[%in] {layout = #rows} : !ptr, !ring
    scf.yield %t1, %u1 : !tilegpu.token, !tilegpu.token
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// A wait with a fence behind it stays in front of the fence, and one whose data nothing in the block touches where the buffer's life ends.
// CHECK-LABEL: func.func @fenced
// CHECK: tilegpu.copy_wait %{{.*}} {pending = 0 : i64}
// CHECK-NEXT: tilegpu.fence_async
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
// CHECK: tilegpu.copy_wait %{{.*}} {pending = 0 : i64}
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: }
func.func @fenced(%p: !ptr, %n: i32, %out: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
    tilegpu.copy_wait %t {pending = 0 : i64}
    tilegpu.fence_async
    tilegpu.barrier
    tilegpu.barrier
    %x = tilegpu.load_buffer %a[%out] : !ring -> !tile1
    tile.device_print "x", %x : !tile1
    %u = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
    tilegpu.copy_wait %u {pending = 0 : i64}
    tilegpu.barrier
    tilegpu.barrier
  }
  return
}
