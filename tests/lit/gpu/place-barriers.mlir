// Barriers where threads may see, or destroy, what others have in shared memory, and nowhere else.
// RUN: fattn-opt %s -tilegpu-place-barriers | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#twice = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,0) | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// A store is read after a barrier; a read again needs none; a second store waits for the readers.
// CHECK-LABEL: func.func @store
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_buffer
func.func @store(%v: !tile1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  tilegpu.store_buffer %v, %a[%c0] : !tile1, !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.store_buffer %x, %a[%c0] : !tile1, !buf
  return
}

// Two rings in a loop. What the first wait makes visible needs a barrier before it is read, and the copy into the second ring one
// behind the reads of the trip before: it is the same. The second wait needs its own.
// CHECK-LABEL: func.func @rings
// CHECK: scf.for
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: scf.yield
func.func @rings(%p: !ptr, %n: i32, %in: i32, %out: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !ring
  %t0 = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !ring
  %u0 = tilegpu.copy_async %p, %b[%c0] {layout = #rows} : !ptr, !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %u0) -> (!tilegpu.token, !tilegpu.token) : i32 {
    tilegpu.copy_wait %t {pending = 1 : i64}
    %t1 = tilegpu.copy_async %p, %a[%in] {layout = #rows} : !ptr, !ring
    %u1 = tilegpu.copy_async %p, %b[%in] {layout = #rows} : !ptr, !ring
    %x = tilegpu.load_buffer %a[%out] : !ring -> !tile1
    tilegpu.copy_wait %u {pending = 2 : i64}
    %y = tilegpu.load_buffer %b[%out] : !ring -> !tile1
    scf.yield %t1, %u1 : !tilegpu.token, !tilegpu.token
  }
  return
}

// One slot: before the copy, for the readers of the trip before, and behind the wait.
// CHECK-LABEL: func.func @one_slot
// CHECK: scf.for
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @one_slot(%p: !ptr, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t {pending = 0 : i64}
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  }
  return
}

// Buffers with bytes in common are one; those apart are not.
// CHECK-LABEL: func.func @overlap
// CHECK: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_buffer
func.func @overlap(%v: !tile1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %b = tilegpu.alloc {offset = 512 : i64} : !buf
  %c = tilegpu.alloc {offset = 256 : i64} : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.store_buffer %v, %b[%c0] : !tile1, !buf
  tilegpu.store_buffer %v, %c[%c0] : !tile1, !buf
  return
}

// The seam of two loops that use the same bytes, either of which may have no trip: the copy of the second waits for readers of the first.
// CHECK-LABEL: func.func @seam
// CHECK: scf.for
// CHECK: tilegpu.load_buffer
// CHECK: }
// CHECK: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK: scf.for
// CHECK: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @seam(%p: !ptr, %n: i32, %if: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.copy_wait %t {pending = 0 : i64}
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  }
  %u = tilegpu.copy_async %p, %b[%c0] if %if {layout = #rows} : !ptr, !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.copy_wait %u {pending = 0 : i64}
    %x = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
  }
  return
}

// A branch that stores, one that does not: what comes behind has to assume that it did. A branch of its own for the barrier is fine, as all
// threads take it.
// CHECK-LABEL: func.func @branch
// CHECK: scf.if
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_buffer
// CHECK: }
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @branch(%v: !tile1, %if: i1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  scf.if %if {
    tilegpu.store_buffer %v, %a[%c0] : !tile1, !buf
  }
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return
}

// An exact side may run in some warps only: the barrier it needs to read stands before it, and its read counts for what is behind.
// CHECK-LABEL: func.func @lazy
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.select_lazy
// CHECK-NEXT: tilegpu.load_buffer
// CHECK: }
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_buffer
func.func @lazy(%v: !tile1, %if: i1) -> !tile1 {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  tilegpu.store_buffer %v, %a[%c0] : !tile1, !buf
  %r = tile.select_lazy %if usual(%v) : i1, !tile1 -> !tile1 {
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    tile.yield %x : !tile1
  }
  tilegpu.store_buffer %r, %a[%c0] : !tile1, !buf
  return %r : !tile1
}

// One that writes and reads keeps its barrier: it is branched to by the whole block.
// CHECK-LABEL: func.func @lazy_exchange
// CHECK-NEXT: arith.constant
// CHECK-NEXT: tilegpu.alloc
// CHECK-NEXT: tile.select_lazy
// CHECK-NEXT: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
func.func @lazy_exchange(%v: !tile1, %if: i1) -> !tile1 {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %r = tile.select_lazy %if usual(%v) : i1, !tile1 -> !tile1 {
    tilegpu.store_buffer %v, %a[%c0] : !tile1, !buf
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    tile.yield %x : !tile1
  }
  return %r : !tile1
}

// Global memory: what a program stored is loaded behind a barrier, unless every thread has its own elements. An argument without alias is
// another array. In a loop, windows on one grid are the same or none in common: in-place updates need no barrier, nor do stores.
// CHECK-LABEL: func.func @global
// CHECK: tile.store
// CHECK-NEXT: tile.load %{{.*}} -> tensor<16x8xf32, #[[SAME:.*]]>
// CHECK-NEXT: tile.load %arg1
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.load
// CHECK: scf.for
// CHECK-NEXT: tile.advance
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK: }
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.advance
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
func.func @global(%base: !tile.ptr<f32>, %other: !ptr {tile.noalias}, %v: !tile1, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %p = tile.make_block_ptr %base, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !ptr
  tile.store %p, %v : !ptr, !tile1
  %x = tile.load %p : !ptr -> !tile1
  %o = tile.load %other : !ptr -> !tile1
  %y = tile.load %p : !ptr -> tensor<16x8xf32, #rows>
  scf.for %i = %c0 to %n step %c16 : i64 {
    %q = tile.advance %p, [%i, %c0] : !ptr
    %z = tile.load %q : !ptr -> tensor<16x8xf32, #rows>
    tile.store %q, %z : !ptr, tensor<16x8xf32, #rows>
  }
  scf.for %i = %c0 to %n step %c16 : i64 {
    %q = tile.advance %other, [%i, %c0] : !ptr
    tile.store %q, %v : !ptr, !tile1
  }
  return
}

// Two warps hold each element: one stores, the other would load before that.
// CHECK-LABEL: func.func @broadcast
// CHECK: tile.store
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.load
func.func @broadcast(%p: !ptr, %v: tensor<16x8xf32, #twice>) -> tensor<16x8xf32, #twice> {
  tile.store %p, %v : !ptr, tensor<16x8xf32, #twice>
  %x = tile.load %p : !ptr -> tensor<16x8xf32, #twice>
  return %x : tensor<16x8xf32, #twice>
}

// Pointers may lead to one address from several threads, and two arguments to one array.
// CHECK-LABEL: func.func @pointers
// CHECK: tile.scatter
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.gather
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.scatter
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.load
func.func @pointers(%p: tensor<16x8x!tile.ptr<f32>, #acc>, %other: tensor<16x8x!tile.ptr<f32>, #acc>, %third: !ptr, %v: !tile1) {
  tile.scatter %p, %v : tensor<16x8x!tile.ptr<f32>, #acc>, !tile1
  %x = tile.gather %p : tensor<16x8x!tile.ptr<f32>, #acc> -> !tile1
  tile.scatter %other, %x : tensor<16x8x!tile.ptr<f32>, #acc>, !tile1
  %y = tile.load %third : !ptr -> !tile1
  return
}

// Windows that overlap from trip to trip: which thread stores a row changes, and the last store counts.
// CHECK-LABEL: func.func @sliding_store
// CHECK: scf.for
// CHECK-NEXT: tile.advance
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.store
func.func @sliding_store(%p: !ptr, %v: !tile1, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %n step %c1 : i64 {
    %q = tile.advance %p, [%i, %c0] : !ptr
    tile.store %q, %v : !ptr, !tile1
  }
  return
}

// Pointers that change places in every trip: either may lead to either array, although neither argument has an alias.
// CHECK-LABEL: func.func @swapped
// CHECK: scf.for
// CHECK: tile.load %[[FROM:.*]] :
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.store
func.func @swapped(%a: !ptr {tile.noalias}, %b: !ptr {tile.noalias}, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%from = %a, %into = %b) -> (!ptr, !ptr) : i64 {
    %x = tile.load %from : !ptr -> !tile1
    tile.store %into, %x : !ptr, !tile1
    scf.yield %into, %from : !ptr, !ptr
  }
  return
}

// A copy reads global memory until it is waited for; then others' parts of it have to be there, too.
// CHECK-LABEL: func.func @copied_and_overwritten
// CHECK: tilegpu.copy_async
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.store
func.func @copied_and_overwritten(%p: !ptr, %v: tensor<16x8xf32, #rows>) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.barrier
  tilegpu.copy_wait %t {pending = 0 : i64}
  tile.store %p, %v : !ptr, tensor<16x8xf32, #rows>
  return
}

// Sums whose old values nobody wants need no order; others do.
// CHECK-LABEL: func.func @adds
// CHECK: tile.atomic_add
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: %{{.*}} = tile.atomic_add
// CHECK-NEXT: return
func.func @adds(%p: tensor<16x8x!tile.ptr<f32>, #acc>, %v: !tile1) -> !tile1 {
  %x = tile.atomic_add %p, %v : tensor<16x8x!tile.ptr<f32>, #acc>, !tile1 -> !tile1
  %y = tile.atomic_add %p, %v : tensor<16x8x!tile.ptr<f32>, #acc>, !tile1 -> !tile1
  %z = tile.atomic_add %p, %v : tensor<16x8x!tile.ptr<f32>, #acc>, !tile1 -> !tile1
  return %z : !tile1
}

// Additions to windows have no order among themselves either; a load of the same memory has one with them.
// CHECK-LABEL: func.func @accumulates
// CHECK: tile.accumulate
// CHECK-NEXT: tile.accumulate
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: return
func.func @accumulates(%p: !ptr, %v: tensor<16x8xf32, #rows>, %q: !ptr) -> tensor<16x8xf32, #rows> {
  tile.accumulate %p, %v : !ptr, tensor<16x8xf32, #rows>
  tile.accumulate %q, %v : !ptr, tensor<16x8xf32, #rows>
  %y = tile.load %q : !ptr -> tensor<16x8xf32, #rows>
  return %y : tensor<16x8xf32, #rows>
}

// An addition that orders all memory conflicts with every access, also of what promises to be apart; it speaks for the threads that have met it.
// CHECK-LABEL: func.func @orders
// CHECK: tile.store
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.atomic_add %{{.*}} order acq_rel
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.atomic_add %{{.*}} order acq_rel
// CHECK-NEXT: return
func.func @orders(%p: !ptr, %v: tensor<16x8xf32, #rows>, %q: !ptr, %counter: !tile.ptr<i32> {tile.noalias}) -> tensor<16x8xf32, #rows> {
  %one = arith.constant 1 : i32
  tile.store %p, %v : !ptr, tensor<16x8xf32, #rows>
  %x = tile.atomic_add %counter, %one order acq_rel : !tile.ptr<i32>, i32 -> i32
  %y = tile.load %q : !ptr -> tensor<16x8xf32, #rows>
  %z = tile.atomic_add %counter, %one order acq_rel : !tile.ptr<i32>, i32 -> i32
  return %y : tensor<16x8xf32, #rows>
}

// Boxes that an engine copies are there for every thread that has waited: no barrier behind the wait.
// CHECK-LABEL: func.func @boxes
// CHECK: tilegpu.init_barriers
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: %[[T:.*]] = tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait %[[T]] in
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: return
func.func @boxes(%p: !ptr) -> !tile1 attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64, barriers = 512 : i64} : !buf
  tilegpu.init_barriers
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x : !tile1
}

// A copy into a slot that all warps release waits for them by itself. Into one that nobody releases it takes a barrier.
// CHECK-LABEL: func.func @released
// CHECK: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.release
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NOT: tilegpu.barrier
// CHECK: return
func.func @released(%p: !ptr) -> (!tile1, !tile1) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.release %a[%c0] : !buf
  %u = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %u in %a[%c0] : !buf
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.release %a[%c0] : !buf
  return %x, %y : !tile1, !tile1
}

// CHECK-LABEL: func.func @not_released
// CHECK: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.load_buffer
func.func @not_released(%p: !ptr) -> (!tile1, !tile1) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  %u = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %u in %a[%c0] : !buf
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x, %y : !tile1, !tile1
}

// A release is for its own buffer: what threads store over its bytes waits for a barrier, and so do boxes over what threads have stored.
// CHECK-LABEL: func.func @released_bytes
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
// CHECK: tilegpu.release
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_buffer
func.func @released_bytes(%p: !ptr, %v: !tile1) -> !tile1 attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64, barriers = 512 : i64} : !buf
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.store_buffer %v, %b[%c0] : !tile1, !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.release %a[%c0] : !buf
  tilegpu.store_buffer %v, %b[%c0] : !tile1, !buf
  return %x : !tile1
}

// What boxes have been copied from, each thread knows to be read once it has waited: no barrier before it is overwritten, in place of the
// window. What threads copied by themselves needs one.
// CHECK-LABEL: func.func @overwrites_source_of_boxes
// CHECK: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NOT: tilegpu.barrier
// CHECK: tile.store
func.func @overwrites_source_of_boxes(%p: !ptr, %v: !tile1) -> !tile1
    attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tile.store %p, %v : !ptr, !tile1
  return %x : !tile1
}

// CHECK-LABEL: func.func @overwrites_source_of_threads_copies
// CHECK: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.store
func.func @overwrites_source_of_threads_copies(%p: !ptr, %v: !tile1) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t {pending = 0 : i64}
  tile.store %p, %v : !ptr, !tile1
  return
}

// Boxes copied from what threads have stored come behind a barrier.
// CHECK-LABEL: func.func @boxes_of_what_is_stored
// CHECK: tile.store
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.copy_async
func.func @boxes_of_what_is_stored(%p: !ptr, %v: !tile1) -> !tile1
    attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  tile.store %p, %v : !ptr, !tile1
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  return %x : !tile1
}

// An engine stores from the buffer what each warp lays there: where its bytes were another buffer's, whose readers may still be at work, a
// barrier stands before.
// CHECK-LABEL: func.func @stores_boxes_over_a_buffer
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.store_boxes
func.func @stores_boxes_over_a_buffer(%p: !ptr, %v: !tile1) attributes {tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %b = tilegpu.alloc {offset = 256 : i64} : !buf
  tilegpu.store_buffer %v, %a[%c0] : !tile1, !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
  tilegpu.store_boxes %p, %x in %b map 0[] : !ptr, !tile1, !buf
  return
}

// With bytes of its own it needs none. Nor does it where its warp has read what it writes over, whichever lane has, as a store of threads
// would.
// CHECK-LABEL: func.func @stores_boxes
// CHECK-NOT: tilegpu.barrier
// CHECK: tilegpu.store_boxes
// CHECK-NOT: tilegpu.barrier
// CHECK: return
func.func @stores_boxes(%p: !ptr, %v: !tile1) -> tensor<16x8xf32, #rows> attributes {tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc {offset = 256 : i64} : !buf
  %x = tile.load %p : !ptr -> tensor<16x8xf32, #rows>
  tilegpu.store_boxes %p, %v in %b map 0[] : !ptr, !tile1, !buf
  return %x : tensor<16x8xf32, #rows>
}

// CHECK-LABEL: func.func @stores_by_threads
// CHECK: tile.load
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tile.store
func.func @stores_by_threads(%p: !ptr, %v: !tile1) -> tensor<16x8xf32, #rows> {
  %x = tile.load %p : !ptr -> tensor<16x8xf32, #rows>
  tile.store %p, %v : !ptr, !tile1
  return %x : tensor<16x8xf32, #rows>
}

// Additions of boxes in a loop need none: they have no order, and each warp lays its own part of the buffer, trip after trip.
// CHECK-LABEL: func.func @adds_boxes
// CHECK-NOT: tilegpu.barrier
// CHECK: tilegpu.store_boxes
// CHECK-NOT: tilegpu.barrier
// CHECK: return
func.func @adds_boxes(%p: !ptr, %v: !tile1, %n: i32) attributes {tilegpu.tensor_maps = [{adds, box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 256 : i64} : !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.store_boxes %p, %v in %b map 0[] {add} : !ptr, !tile1, !buf
  }
  return
}
