// What a loop stores orders its loads, and a buffer that iterations share has a slot for each.
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=2 -canonicalize -cse -split-input-file | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile1 = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>

// The next trip loads what this one stores: the copy stays in its trip.
// CHECK-LABEL: func.func @next_block
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x
// CHECK-NOT: tilegpu.copy_async
// CHECK: scf.for
// CHECK: tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK: tile.store
func.func @next_block(%ptr: !ptr, %n: i64) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %c16 = arith.constant 16 : i64
  %a = tilegpu.alloc : !buf
  scf.for %i = %l0 to %n step %c16 : i64 {
    %p = tile.advance %ptr, [%i, %l0] : !ptr
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    %y = arith.addf %x, %x : !tile1
    %next = arith.addi %i, %c16 : i64
    %q = tile.advance %ptr, [%next, %l0] : !ptr
    tile.store %q, %y : !ptr, !tile1
  }
  return
}

// Four blocks on, it would be overwritten by a store that is long done: the copy runs ahead.
// CHECK-LABEL: func.func @far_block
// CHECK: tilegpu.alloc : !tilegpu.buffer<2 x
// CHECK: tilegpu.copy_async
// CHECK: scf.for
// CHECK: tilegpu.copy_wait
// CHECK: tilegpu.copy_async
func.func @far_block(%ptr: !ptr, %n: i64) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %c16 = arith.constant 16 : i64
  %c64 = arith.constant 64 : i64
  %a = tilegpu.alloc : !buf
  scf.for %i = %l0 to %n step %c16 : i64 {
    %p = tile.advance %ptr, [%i, %l0] : !ptr
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    %y = arith.addf %x, %x : !tile1
    %next = arith.addi %i, %c64 : i64
    %q = tile.advance %ptr, [%next, %l0] : !ptr
    tile.store %q, %y : !ptr, !tile1
  }
  return
}

// In place: each trip has its own block.
// CHECK-LABEL: func.func @in_place
// CHECK: tilegpu.alloc : !tilegpu.buffer<2 x
// CHECK: tilegpu.copy_async
// CHECK: scf.for
func.func @in_place(%ptr: !ptr, %n: i64) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %c16 = arith.constant 16 : i64
  %a = tilegpu.alloc : !buf
  scf.for %i = %l0 to %n step %c16 : i64 {
    %p = tile.advance %ptr, [%i, %l0] : !ptr
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    tile.store %p, %x : !ptr, !tile1
  }
  return
}

// Another argument may be the same array, unless it says that it is not.
// CHECK-LABEL: func.func @other_argument
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x
// CHECK: tilegpu.alloc : !tilegpu.buffer<2 x
// CHECK: tilegpu.copy_async
// CHECK: scf.for
func.func @other_argument(%ptr: !ptr, %own: !ptr {tile.noalias}, %out: !ptr, %n: i64) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %c16 = arith.constant 16 : i64
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  scf.for %i = %l0 to %n step %c16 : i64 {
    %p = tile.advance %ptr, [%i, %l0] : !ptr
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    %o = tile.advance %own, [%i, %l0] : !ptr
    %u = tilegpu.copy_async %o, %b[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %u
    %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
    %s = arith.addf %x, %y : !tile1
    %q = tile.advance %out, [%i, %l0] : !ptr
    tile.store %q, %s : !ptr, !tile1
  }
  return
}

// The place of the next block comes from a table that the loop writes.
// CHECK-LABEL: func.func @table
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x
// CHECK-NOT: tilegpu.copy_async
// CHECK: scf.for
// CHECK: tile.gather
// CHECK: tilegpu.copy_async
// CHECK: tile.scatter
func.func @table(%ptr: !ptr {tile.noalias}, %places: !tile.ptr<i64>, %n: i64) -> !tile1 attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : !tile1
  %a = tilegpu.alloc : !buf
  %r = scf.for %i = %l0 to %n step %c1 iter_args(%sum = %zero) -> (!tile1) : i64 {
    %at = tile.addptr %places, %i : !tile.ptr<i64>, i64
    %row = tile.gather %at : !tile.ptr<i64> -> i64
    %p = tile.advance %ptr, [%row, %l0] : !ptr
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
    tilegpu.copy_wait %t
    %x = tilegpu.load_buffer %a[%c0] : !buf -> !tile1
    %s = arith.addf %sum, %x : !tile1
    %to = tile.addptr %at, %c1 : !tile.ptr<i64>, i64
    %next = arith.addi %row, %c1 : i64
    tile.scatter %to, %next : !tile.ptr<i64>, i64
    scf.yield %s : !tile1
  }
  return %r : !tile1
}
