// Waits stand before the first use of their copies, and leave younger copies in flight.
// RUN: fattn-opt %s -split-input-file -tilegpu-place-waits | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// Straight code: the wait passes the second copy, which may stay in flight.
// CHECK-LABEL: func.func @straight
// CHECK: %[[A:.*]] = tilegpu.copy_async
// CHECK: %[[B:.*]] = tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait %[[A]] {pending = 1 : i64}
// CHECK-NEXT: tilegpu.load_buffer
// CHECK: tilegpu.copy_wait %[[B]] {pending = 0 : i64}
// CHECK-NEXT: tilegpu.load_buffer
func.func @straight(%p: !ptr) -> (!tile1, !tile1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t
  %u = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %u
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  %s = arith.addf %x, %x : !tile1
  %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
  return %s, %y : !tile1, !tile1
}

// Tokens carried by a loop: the least that is in flight on any path. The first wait stays before the copies that its barrier frees slots for;
// at it, what was copied for %b in the trip before (or before the loop) is the one younger copy. At the second wait, two more have been
// issued.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}})
// CHECK: tilegpu.copy_wait %[[A]] {pending = 1 : i64}
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.load_buffer
// CHECK: tilegpu.copy_wait %[[B]] {pending = 2 : i64}
// CHECK-NEXT: tilegpu.load_buffer
func.func @carried(%p: !ptr, %n: i32, %slot: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  %t0 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
  %u0 = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %u0) -> (!tilegpu.token, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t
    %t1 = tilegpu.copy_async %p, %a[%slot] {layout = #rows} : !ptr, !ring
    %u1 = tilegpu.copy_async %p, %b[%slot] {layout = #rows} : !ptr, !ring
    %x = tilegpu.load_buffer %a[%c0] : !ring -> !tile1
    tilegpu.copy_wait %u
    %s = arith.addf %x, %x : !tile1
    tile.device_print "x", %s : !tile1
    %y = tilegpu.load_buffer %b[%c0] : !ring -> !tile1
    scf.yield %t1, %u1 : !tilegpu.token, !tilegpu.token
  }
  return
}

// A wait whose data nobody reads below stays: what comes may use the bytes for something else.
// CHECK-LABEL: func.func @last
// CHECK: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tile.device_print
func.func @last(%p: !ptr, %x: !tile1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t
  tile.device_print "x", %x : !tile1
  return
}

// Where one branch copies and the other does not, only what both leave in flight may stay.
// CHECK-LABEL: func.func @branches
// CHECK: tilegpu.copy_wait %{{.*}} {pending = 0 : i64}
func.func @branches(%p: !ptr, %if: i1) -> !tile1 {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  scf.if %if {
    %u = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !buf
  }
  tilegpu.copy_wait %t
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x : !tile1
}

// A loop that may have no trip: its copies do not count; behind a do-while, the trip that has run does.
// CHECK-LABEL: func.func @loops
// CHECK: tilegpu.copy_wait %{{.*}} {pending = 0 : i64}
// CHECK: tilegpu.copy_wait %{{.*}} {pending = 1 : i64}
func.func @loops(%p: !ptr, %n: i32, %more: i1) -> (!tile1, !tile1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    %u = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !buf
  }
  tilegpu.copy_wait %t
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  %t2 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  %r = scf.while (%v = %t2) : (!tilegpu.token) -> !tilegpu.token {
    %u = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !buf
    scf.condition(%more) %v : !tilegpu.token
  } do {
  ^bb0(%w: !tilegpu.token):
    scf.yield %w : !tilegpu.token
  }
  tilegpu.copy_wait %r
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x, %y : !tile1, !tile1
}

// Waits that meet are one, for the youngest of their copies.
// CHECK-LABEL: func.func @together
// CHECK: scf.for {{.*}} iter_args(%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}})
// CHECK-NEXT: tilegpu.copy_wait %[[B]], %[[A]] {pending = 0 : i64}
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NOT: tilegpu.copy_wait
func.func @together(%p: !ptr, %n: i32, %slot: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  %t0 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
  %u0 = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %u0) -> (!tilegpu.token, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t
    tilegpu.copy_wait %u
    %t1 = tilegpu.copy_async %p, %a[%slot] {layout = #rows} : !ptr, !ring
    %u1 = tilegpu.copy_async %p, %b[%slot] {layout = #rows} : !ptr, !ring
    %x = tilegpu.load_buffer %a[%c0] : !ring -> !tile1
    %y = tilegpu.load_buffer %b[%c0] : !ring -> !tile1
    scf.yield %t1, %u1 : !tilegpu.token, !tilegpu.token
  }
  return
}

// A copy has read global memory before that is overwritten, here through another argument.
// CHECK-LABEL: func.func @overwritten
// CHECK: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tile.store
// CHECK-NEXT: tilegpu.load_buffer
func.func @overwritten(%p: !ptr, %q: !ptr, %v: !tile1) -> !tile1 {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t
  tile.store %q, %v : !ptr, !tile1
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x : !tile1
}

// The same with an argument that nothing else leads to: the wait passes the store.
// CHECK-LABEL: func.func @not_overwritten
// CHECK: tile.store
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.load_buffer
func.func @not_overwritten(%p: !ptr {tile.noalias}, %q: !ptr, %v: !tile1) -> !tile1 {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t
  tile.store %q, %v : !ptr, !tile1
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x : !tile1
}

// A wait for boxes is for its slot: it passes other copies of boxes down to the reader, has no `pending`, and does not merge. Copies of boxes
// count for no other wait.
// CHECK-LABEL: func.func @boxes
// CHECK: %[[A:.*]] = tilegpu.alloc
// CHECK: %[[B:.*]] = tilegpu.alloc
// CHECK: %[[V:.*]] = tilegpu.copy_async %{{.*}} {layout
// CHECK-NEXT: %[[T:.*]] = tilegpu.copy_async %{{.*}}, %[[A]]
// CHECK-NEXT: %[[U:.*]] = tilegpu.copy_async %{{.*}}, %[[B]]
// CHECK-NEXT: tilegpu.copy_wait %[[T]] in %[[A]][%{{.*}}] : !tilegpu.buffer<{{.*}}>{{$}}
// CHECK-NEXT: tilegpu.load_buffer %[[A]]
// CHECK-NEXT: tilegpu.copy_wait %[[U]] in %[[B]][%{{.*}}] : !tilegpu.buffer<{{.*}}>{{$}}
// CHECK-NEXT: tilegpu.load_buffer %[[B]]
// CHECK-NEXT: tilegpu.copy_wait %[[V]] {pending = 0 : i64}
// CHECK-NEXT: tilegpu.load_buffer
func.func @boxes(%p: !ptr) -> (!tile1, !tile1, !tile1) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  %c = tilegpu.alloc : !buf
  %v = tilegpu.copy_async %p, %c[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %v
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %u = tilegpu.copy_async %p, %b[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %u in %b[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
  %z = tilegpu.load_buffer %c[%c0] : !buf -> !tile1
  return %x, %y, %z : !tile1, !tile1, !tile1
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!ring = !tilegpu.buffer<2 x 16x16xbf16, #b>
!acc = tensor<64x16xf32, #acc>

// The first dot of the trip goes on beside the second one, past the wait for boxes in another slot of what it reads, with the release of its
// own. A wait for the second dot covers it; one in a branch covers nothing behind the branch.
// CHECK-LABEL: func.func @covered
// CHECK: scf.for
// CHECK: %[[D:.*]] = tilegpu.dot_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: %[[E:.*]] = tilegpu.dot_async
// CHECK: tilegpu.dot_wait %[[E]] {pending = 0 : i64}
// CHECK: tilegpu.dot_wait %[[D]] {covered}
// CHECK: %[[F:.*]] = tilegpu.dot_async
// CHECK: %[[G:.*]] = tilegpu.dot_async
// CHECK: scf.if
// CHECK: tilegpu.dot_wait %[[G]] {pending = 0 : i64}
// CHECK: tilegpu.dot_wait %[[F]] {pending = 1 : i64}
func.func @covered(%p: !tile.block_ptr<16x16xbf16>, %a: tensor<64x16xbf16, #acc>, %c: !acc, %n: i32, %yes: i1) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = tilegpu.alloc : !ring
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tilegpu.copy_async %p, %b[%c1] map 0[] : !tile.block_ptr<16x16xbf16>, !ring
    %d = tilegpu.dot_async %a, %b[%c0], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !ring, !acc
    %x = tilegpu.dot_wait %d : !acc
    tilegpu.release %b[%c0] : !ring
    tilegpu.copy_wait %t in %b[%c1] : !ring
    %e = tilegpu.dot_async %a, %b[%c1], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !ring, !acc
    %y = tilegpu.dot_wait %e : !acc
    tile.device_print "y", %y : !acc
    tile.device_print "x", %x : !acc
    %f = tilegpu.dot_async %a, %b[%c1], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !ring, !acc
    %g = tilegpu.dot_async %a, %b[%c1], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !ring, !acc
    scf.if %yes {
      %w = tilegpu.dot_wait %g : !acc
      tile.device_print "w", %w : !acc
    }
    %v = tilegpu.dot_wait %f : !acc
    tile.device_print "v", %v : !acc
  }
  return
}
