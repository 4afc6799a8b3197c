// SPDX-License-Identifier: Apache-2.0
// What the check of a program's order says of each kind of fault. The module tilegpu_before is the program before scheduling; the numbers
// say which access comes from which.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics -tilegpu-check-order

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @wait(%p: !tile.block_ptr<16x8xf32>) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-note @+1 {{the copy}}
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  tilegpu.copy_wait %t {pending = 1 : i64}
  tilegpu.barrier
  // expected-error @+1 {{reads a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this read}}
  %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #rows>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
// A copy that was waited for is there for the threads that made it; the same threads may read it, others need a barrier.
func.func @barrier(%p: !tile.block_ptr<16x8xf32>) {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-note @+1 {{the write}}
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  tilegpu.copy_wait %t {pending = 0 : i64}
  %own = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #rows>
  // expected-error @+1 {{reads what other threads write: a tilegpu.barrier is missing between the write and this read}}
  %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
// Round the loop: the copy of the next trip meets this trip's read.
func.func @next_trip(%p: !tile.block_ptr<16x8xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  scf.for %i = %c0 to %n step %c1 : i32 {
    // expected-error @+1 {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
    %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %t {pending = 0 : i64}
    tilegpu.barrier
    // expected-note @+1 {{the read}}
    %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
  }
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
// Two buffers with the same bytes are one memory; a store over a copy that nobody waited for; a slot that is not there.
func.func @others(%p: !tile.block_ptr<16x8xf32>, %v: tensor<16x8xf32, #acc>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %b = tilegpu.alloc {offset = 256 : i64} : !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-note @+1 {{the first write}}
  tilegpu.store_buffer %v, %a[%c0] : tensor<16x8xf32, #acc>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-error @+1 {{overwrites what other threads may still be writing: a tilegpu.barrier is missing between the two writes}}
  tilegpu.store_buffer %v, %b[%c0] : tensor<16x8xf32, #acc>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  tilegpu.barrier
  // expected-note @+1 {{the copy}}
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-error @+1 {{writes a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this write}}
  tilegpu.store_buffer %v, %b[%c0] : tensor<16x8xf32, #acc>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  %sum = arith.addi %c0, %c1 : i32
  // expected-error @+1 {{accesses slot 1 of a buffer that has 1 slot}}
  %x = tilegpu.load_buffer %a[%sum] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
  return
}

// -----

#own = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
#turned = #tilegpu.regs<"register: 1; lane: 1 -> (2), 2 -> (1), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
// Global memory: each thread may read what it wrote itself; an argument may lead where another leads, but for one that promises not to.
func.func @global(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %r: !tile.ptr<f32> {tile.noalias}, %v: tensor<64xf32, #own>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = tile.make_block_ptr %p, shape[%c64], strides[%c1], offsets[%c0] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
  %b = tile.make_block_ptr %q, shape[%c64], strides[%c1], offsets[%c0] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
  %c = tile.make_block_ptr %r, shape[%c64], strides[%c1], offsets[%c0] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
  // expected-note @+2 {{the write}}
  // expected-note @+1 {{the first write}}
  tile.store %a, %v : !tile.block_ptr<64xf32>, tensor<64xf32, #own>
  // expected-note @+1 {{the read}}
  %x = tile.load %a : !tile.block_ptr<64xf32> -> tensor<64xf32, #own>
  %y = tile.load %c : !tile.block_ptr<64xf32> -> tensor<64xf32, #turned>
  // expected-note @+2 {{the read}}
  // expected-error @+1 {{reads global memory that other threads write: a tilegpu.barrier is missing between the write and this read}}
  %z = tile.load %a : !tile.block_ptr<64xf32> -> tensor<64xf32, #turned>
  // expected-error @+2 {{writes global memory that other threads may still be writing: a tilegpu.barrier is missing between the two writes}}
  // expected-error @+1 {{writes global memory that other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
  tile.store %b, %v : !tile.block_ptr<64xf32>, tensor<64xf32, #own>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @source(%p: !tile.ptr<f32>, %v: tensor<16x8xf32, #rows>) {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l8 = arith.constant 8 : i64
  %l16 = arith.constant 16 : i64
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %w = tile.make_block_ptr %p, shape[%l16, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
  // expected-note @+1 {{the copy}}
  %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
  // expected-error @+1 {{stores to global memory that a copy may still be reading: no tilegpu.copy_wait covers the copy before this store}}
  tile.store %w, %v : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #rows>
  return
}

// -----

#cond = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
#all = #tilegpu.regs<"register: 1 -> (32); lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (0) | dim0: 64">
// The outer side may run in one warp only: each holds its rows and their conditions. The inner decision is the block's, as each warp holds
// conditions of rows that the other has.
func.func @vote(%c: tensor<64xi1, #cond>, %d: tensor<64xi1, #cond>, %x: tensor<64xf32, #cond>, %y: tensor<64xf32, #all>) -> tensor<64xf32, #cond> {
  // expected-note @+1 {{the condition}}
  %r = tile.select_lazy %c usual(%x) : tensor<64xi1, #cond>, tensor<64xf32, #cond> -> tensor<64xf32, #cond> {
    // expected-error @+1 {{needs all warps of the block, but stands under a condition that differs between warps}}
    %s = tile.select_lazy %d usual(%y) : tensor<64xi1, #cond>, tensor<64xf32, #all> -> tensor<64xf32, #all> {
      %e = math.exp2 %y : tensor<64xf32, #all>
      tile.yield %e : tensor<64xf32, #all>
    }
    %z = arith.addf %x, %x : tensor<64xf32, #cond>
    tile.yield %z : tensor<64xf32, #cond>
  }
  return %r : tensor<64xf32, #cond>
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
// Against the program before scheduling: the slot is filled again before it is read, the place has moved, the store comes too early, and
// one more is made than there should be.
module {
  module @tilegpu_before {
    func.func @labels(%p: !tile.ptr<f32>) {
      %l0 = arith.constant 0 : i64
      %l1 = arith.constant 1 : i64
      %l8 = arith.constant 8 : i64
      %l16 = arith.constant 16 : i64
      %c0 = arith.constant 0 : i32
      %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
      %w = tile.make_block_ptr %p, shape[%l16, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
      %x = tile.load %w {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
      tilegpu.store_buffer %x, %a[%c0] {tilegpu.source = array<i64: 1, 0>} : tensor<16x8xf32, #rows>, !tilegpu.buffer<1 x 16x8xf32, #shared>
      %y = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 2, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #rows>
      // expected-note @+1 {{the write}}
      tile.store %w, %y {tilegpu.source = array<i64: 3, 0>} : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #rows>
      return
    }
  }
  func.func @labels(%p: !tile.ptr<f32>) {
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %l16 = arith.constant 16 : i64
    %c0 = arith.constant 0 : i32
    %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
    %w = tile.make_block_ptr %p, shape[%l16, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    %v = tile.make_block_ptr %p, shape[%l16, %l8], strides[%l8, %l1], offsets[%l8, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    %zero = arith.constant dense<0.0> : tensor<16x8xf32, #rows>
    tile.store %w, %zero {tilegpu.source = array<i64: 3, 0>} : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #rows>
    // expected-error-re @+1 {{comes after 1 run of the tile.store of line {{[0-9]+}} of the same memory, where the program before scheduling has it after 0 runs}}
    %x = tile.load %w {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
    // expected-error-re @+1 {{finds nothing written in slot 0, where the program before scheduling finds run 1 of the tilegpu.store_buffer of line {{[0-9]+}}}}
    %y = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 2, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #rows>
    tilegpu.store_buffer %x, %a[%c0] {tilegpu.source = array<i64: 1, 0>} : tensor<16x8xf32, #rows>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    // expected-error @+1 {{accesses global memory, but comes from no access of the program before scheduling}}
    %u = tile.load %w : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
    // expected-error-re @+1 {{makes 2 runs of the tile.store of line {{[0-9]+}}, where the program before scheduling makes 1 run}}
    tile.store %w, %u {tilegpu.source = array<i64: 3, 0>} : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #rows>
    return
  }
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
module {
  module @tilegpu_before {
    func.func @place(%p: !tile.ptr<f32>) {
      %l0 = arith.constant 0 : i64
      %l1 = arith.constant 1 : i64
      %l8 = arith.constant 8 : i64
      %l64 = arith.constant 64 : i64
      %w = tile.make_block_ptr %p, shape[%l64, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
      %x = tile.load %w {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
      return
    }
  }
  func.func @place(%p: !tile.ptr<f32>) {
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %l64 = arith.constant 64 : i64
    %w = tile.make_block_ptr %p, shape[%l64, %l8], strides[%l8, %l1], offsets[%l8, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    // expected-error @+1 {{accesses element 0 and offsets [8, 0] in its run 1, where the program before scheduling accesses element 0 and offsets [0, 0]}}
    %x = tile.load %w {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
    return
  }
}
