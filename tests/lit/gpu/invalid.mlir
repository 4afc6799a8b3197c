// SPDX-License-Identifier: Apache-2.0
// What the operations of tilegpu promise to passes, and what is said where they do not keep it. extents-errors.mlir has what extents may be.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
func.func @convert_bare(%x: tensor<16x8xf32>) {
  // expected-error @+1 {{'tilegpu.convert_layout' op tiles must have a layout #tilegpu.regs, but got 'tensor<16x8xf32>'}}
  %y = tilegpu.convert_layout %x : tensor<16x8xf32> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
func.func @convert_type(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{shape and element type of input and result must match, but got (16, 8) of 'f32' and (16, 8) of 'f16'}}
  %y = tilegpu.convert_layout %x : tensor<16x8xf32, #acc> -> tensor<16x8xf16, #acc>
  return
}

// -----

#one = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#two = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0) | dim0: 16, dim1: 8">
func.func @convert_threads(%x: tensor<16x8xf32, #one>) {
  // expected-error @+1 {{input and result must have the same number of warps, but have 1 and 2}}
  %y = tilegpu.convert_layout %x : tensor<16x8xf32, #one> -> tensor<16x8xf32, #two>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
func.func @slice_type(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %y = tilegpu.slice %x [0, 0] : tensor<16x8xf32, #acc> -> tensor<8x8xf16, #half>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
func.func @slice_rank(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{needs one offset for each of the 2 dimensions, but got 1}}
  %y = tilegpu.slice %x [0] : tensor<16x8xf32, #acc> -> tensor<8x8xf32, #half>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
func.func @slice_box(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{offset 4 of dim 0 must be a multiple of the result's size 8 there, and the box must lie within 16}}
  %y = tilegpu.slice %x [4, 0] : tensor<16x8xf32, #acc> -> tensor<8x8xf32, #half>
  return
}

// -----

// Lanes 4, 8 and 16 hold other rows of the input.
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (4,0), 8 -> (2,0), 16 -> (1,0); warp: 1 | dim0: 8, dim1: 8">
func.func @slice_threads(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{needs elements of other threads: a thread that holds element j of the result must hold element offsets + j of the input}}
  %y = tilegpu.slice %x [8, 0] : tensor<16x8xf32, #acc> -> tensor<8x8xf32, #half>
  return
}

// -----

// Three parts in a thread's registers, of which the result's lanes hold other rows.
#acc = #tilegpu.regs<"register: 1 -> (0,1), x3 along dim0; lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 24, dim1: 8">
#part = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#other = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (2,0), 8 -> (1,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
func.func @slice_of_three(%x: tensor<24x8xf32, #acc>) {
  %y = tilegpu.slice %x [16, 0] : tensor<24x8xf32, #acc> -> tensor<8x8xf32, #part>
  // expected-error @+1 {{needs elements of other threads}}
  %z = tilegpu.slice %x [16, 0] : tensor<24x8xf32, #acc> -> tensor<8x8xf32, #other>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
func.func @slice_same_threads(%x: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{input and result must have the same number of lanes, but have 32 and 1}}
  %y = tilegpu.slice %x [0, 0] : tensor<16x8xf32, #acc> -> tensor<1x1xf32, #tilegpu.regs<"register: 1; lane: 1; warp: 1 | dim0: 1, dim1: 1">>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @alloc_offset() {
  // expected-error @+1 {{'tilegpu.alloc' op offset must be at least 0, but got -128}}
  %b = tilegpu.alloc {offset = -128 : i64} : !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @alloc_end() attributes {tilegpu.shared_bytes = 1024 : i64} {
  // expected-error @+1 {{ends at byte 1536, but the function has 1024 bytes of shared memory (tilegpu.shared_bytes)}}
  %b = tilegpu.alloc {offset = 512 : i64} : !tilegpu.buffer<2 x 16x8xf32, #rows>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @alloc_in_loop(%lo: i32, %hi: i32, %by: i32) {
  scf.for %i = %lo to %hi step %by : i32 {
    // expected-error @+1 {{of 2 slots must be outside of loops: in a loop each trip gets room of its own}}
    %b = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32, #rows>
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_from_argument(%b: !tilegpu.buffer<1 x 16x8xf32, #rows>, %slot: i32) {
  // expected-error @+1 {{'tilegpu.load_buffer' op needs a buffer that is the result of tilegpu.alloc}}
  %x = tilegpu.load_buffer %b[%slot] : !tilegpu.buffer<1 x 16x8xf32, #rows> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_slot() {
  %two = arith.constant 2 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32, #rows>
  // expected-error @+1 {{'tilegpu.load_buffer' op slot 2 must be in [0, 1]}}
  %x = tilegpu.load_buffer %b[%two] : !tilegpu.buffer<2 x 16x8xf32, #rows> -> tensor<16x8xf32, #acc>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_bare(%slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{'tilegpu.load_buffer' op tiles must have a layout #tilegpu.regs, but got 'tensor<16x8xf32>'}}
  %x = tilegpu.load_buffer %b[%slot] : !tilegpu.buffer<1 x 16x8xf32, #rows> -> tensor<16x8xf32>
  return
}

// -----

#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_shape(%slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{shape and element type of buffer and result must match, but got (16, 8) of 'f32' and (8, 8) of 'f32'}}
  %x = tilegpu.load_buffer %b[%slot] : !tilegpu.buffer<1 x 16x8xf32, #rows> -> tensor<8x8xf32, #half>
  return
}

// -----

#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_box_type(%slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{element types of buffer and result must match, but got 'f32' and 'f16'}}
  %x = tilegpu.load_buffer %b[%slot] {offsets = array<i64: 8, 0>} : !tilegpu.buffer<1 x 16x8xf32, #rows> -> tensor<8x8xf16, #half>
  return
}

// -----

#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @load_box(%slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{offset 16 of dim 0 must be a multiple of the result's size 8 there, and the box must lie within 16}}
  %x = tilegpu.load_buffer %b[%slot] {offsets = array<i64: 16, 0>} : !tilegpu.buffer<1 x 16x8xf32, #rows> -> tensor<8x8xf32, #half>
  return
}

// -----

#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @store_shape(%x: tensor<8x8xf32, #half>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{shape and element type of value and buffer must match, but got (8, 8) of 'f32' and (16, 8) of 'f32'}}
  tilegpu.store_buffer %x, %b[%slot] : tensor<8x8xf32, #half>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @store_slot(%x: tensor<16x8xf32, #acc>) {
  %before = arith.constant -1 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{'tilegpu.store_buffer' op slot -1 must be in [0, 0]}}
  tilegpu.store_buffer %x, %b[%before] : tensor<16x8xf32, #acc>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy_type(%p: !tile.block_ptr<16x8xf16>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{shape and element type of block pointer and buffer must match, but got (16, 8) of 'f16' and (16, 8) of 'f32'}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x8xf16>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy_check(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{boundary_check must name distinct dimensions in [0, 1], but got 1}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy, boundary_check = array<i64: 1, 1>} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy_layout(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  // expected-error @+1 {{the layout's outputs must be the tensor's dimensions, but it is register: 1 -> (0,1);}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #half} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  return
}

// -----

// Elements of 2 bytes, and each thread has one of a row only.
#copy = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 4">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0), 32 -> (8,0) | dim0: 16, dim1: 4">
func.func @copy_vectors(%p: !tile.block_ptr<16x4xf16>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x4xf16, #rows>
  // expected-error @+1 {{needs a layout whose threads hold at least 4 bytes of elements that follow each other, in the buffer as well}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x4xf16>, !tilegpu.buffer<1 x 16x4xf16, #rows>
  return
}

// -----

// Here each thread has two of a row, but the buffer has columns one behind the other.
#copy = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (8,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 4">
#columns = #tilegpu.shared<"offset: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,1), 32 -> (0,2) | dim0: 16, dim1: 4">
func.func @copy_buffer_vectors(%p: !tile.block_ptr<16x4xf16>, %slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x4xf16, #columns>
  // expected-error @+1 {{needs a layout whose threads hold at least 4 bytes of elements that follow each other, in the buffer as well}}
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x4xf16>, !tilegpu.buffer<1 x 16x4xf16, #columns>
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy_in_loop(%p: !tile.block_ptr<16x8xf32>, %slot: i32, %hi: i32) {
  scf.for %i = %slot to %hi step %hi : i32 {
    %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
    // expected-error @+1 {{needs a buffer that is allocated outside of loops: a copy may be in flight from one trip to the next}}
    %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #rows>
  }
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @copy_slot(%p: !tile.block_ptr<16x8xf32>) {
  %three = arith.constant 3 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<3 x 16x8xf32, #rows>
  // expected-error @+1 {{'tilegpu.copy_async' op slot 3 must be in [0, 2]}}
  %t = tilegpu.copy_async %p, %b[%three] {layout = #copy} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<3 x 16x8xf32, #rows>
  return
}

// -----

func.func @wait_for_nothing(%t: !tilegpu.token) {
  // expected-error @+1 {{'tilegpu.copy_wait' op waits for token 0, which comes from no tilegpu.copy_async}}
  tilegpu.copy_wait %t
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
func.func @wait_round_a_loop(%p: !tile.block_ptr<16x8xf32>, %slot: i32, %hi: i32, %none: !tilegpu.token) {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #rows>
  scf.for %i = %slot to %hi step %hi iter_args(%last = %none) -> (!tilegpu.token) : i32 {
    // expected-error @+1 {{waits for token 0, which comes from no tilegpu.copy_async}}
    tilegpu.copy_wait %last
    %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #rows>
    scf.yield %t : !tilegpu.token
  }
  return
}

// -----

func.func @wait_pending() {
  // expected-error @+1 {{pending must be at least 0, but got -1}}
  tilegpu.copy_wait {pending = -1 : i64}
  return
}

// -----

// expected-error @+1 {{a buffer has at least one slot, but got 0}}
func.func @buffer_slots(%b: !tilegpu.buffer<0 x 4xf32, #tilegpu.shared<"offset: 1 -> (1), 2 -> (2) | dim0: 4">>) {
  return
}

// -----

// expected-error @+1 {{a buffer's elements are those of memory, but got 'index'}}
func.func @buffer_element(%b: !tilegpu.buffer<1 x 4xindex, #tilegpu.shared<"offset: 1 -> (1), 2 -> (2) | dim0: 4">>) {
  return
}

// -----

// expected-error @+1 {{a buffer's layout leads from offset to its dimensions, but it is offset: 1 -> (1), 2 -> (2) | dim0: 4}}
func.func @buffer_shape(%b: !tilegpu.buffer<1 x 8xf32, #tilegpu.shared<"offset: 1 -> (1), 2 -> (2) | dim0: 4">>) {
  return
}

// -----

// expected-error @+1 {{a buffer's layout must be a bijection, but it is offset: 1 -> (1), 2 -> (1) | dim0: 4}}
func.func @buffer_bijection(%b: !tilegpu.buffer<1 x 4xf32, #tilegpu.shared<"offset: 1 -> (1), 2 -> (1) | dim0: 4">>) {
  return
}

// -----

// expected-error @+1 {{the layout's inputs must be register, lane and warp, but it is}}
func.func @tile_inputs(%x: tensor<4xf32, #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 | dim0: 4">>) {
  return
}

// -----

// expected-error @+1 {{the layout must hold every element of the tile, but it is}}
func.func @tile_whole(%x: tensor<4xf32, #tilegpu.regs<"register: 1 -> (1); lane: 1; warp: 1 | dim0: 4">>) {
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @alloc_barriers() {
  // expected-error @+1 {{'tilegpu.alloc' op barriers must be at least 0, but got -8}}
  %b = tilegpu.alloc {barriers = -8 : i64} : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @alloc_barriers_end() attributes {tilegpu.shared_bytes = 512 : i64} {
  // expected-error @+1 {{has barriers that end at byte 520, but the function has 512 bytes of shared memory (tilegpu.shared_bytes)}}
  %b = tilegpu.alloc {offset = 0 : i64, barriers = 512 : i64} : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_without_how(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{needs either a layout or a map}}
  %t = tilegpu.copy_async %p, %b[%slot] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_with_both(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{needs either a layout or a map}}
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] {layout = #copy} : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_by_a_map_of_no_list(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{names tensor map 0, but the function has 0}}
  %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_by_an_unknown_map(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{names tensor map 3, but the function has 3}}
  %t = tilegpu.copy_async %p, %b[%slot] map 3[] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_by_a_map_without_sizes(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{names tensor map 2, which has no sizes of two or more dimensions}}
  %t = tilegpu.copy_async %p, %b[%slot] map 2[] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_without_coordinates(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{has 0 coordinates, but tensor map 0 needs 1}}
  %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @copy_with_coordinates(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{has 2 coordinates, but tensor map 1 needs 0}}
  %t = tilegpu.copy_async %p, %b[%slot] map 1[%slot, %slot] : !tile.block_ptr<16x8xf32>, !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_boxes_of_no_buffer(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{waits for token 0 of a copy by a tensor map, and has to name the copy's buffer}}
  tilegpu.copy_wait %t
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_boxes_of_another_buffer(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  %other = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{waits for token 0 of a copy by a tensor map, and has to name the copy's buffer}}
  tilegpu.copy_wait %t in %other[%slot] : !buf
  return
}

// -----

#copy = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_vectors_in_a_buffer(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %b[%slot] {layout = #copy} : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{has a buffer, which is for one copy by a tensor map alone}}
  tilegpu.copy_wait %t in %b[%slot] : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_boxes_twice(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  %u = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{has a buffer, which is for one copy by a tensor map alone}}
  tilegpu.copy_wait %t, %u in %b[%slot] : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_nothing_in_a_buffer(%p: !tile.block_ptr<16x8xf32>, %slot: i32) {
  %b = tilegpu.alloc : !buf
  // expected-error @+1 {{has a buffer, which is for one copy by a tensor map alone}}
  tilegpu.copy_wait in %b[%slot] : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_for_boxes_in_a_slot_outside(%p: !tile.block_ptr<16x8xf32>) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  %slot = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{'tilegpu.copy_wait' op slot 1 must be in [0, 0]}}
  tilegpu.copy_wait %t in %b[%one] : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @wait_without_a_slot(%p: !tile.block_ptr<16x8xf32>, %slot: i32) attributes {tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>, array<i64: 4>]}, {sizes = [array<i64: 8>, array<i64: 16>]}, {}]} {
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %b[%slot] map 1[] : !tile.block_ptr<16x8xf32>, !buf
  // expected-error @+1 {{needs a slot exactly if it has a buffer}}
  "tilegpu.copy_wait"(%t, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!tilegpu.token, !buf) -> ()
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @release_of_a_slot_outside() {
  %b = tilegpu.alloc : !buf
  %one = arith.constant 1 : i32
  // expected-error @+1 {{'tilegpu.release' op slot 1 must be in [0, 0]}}
  tilegpu.release %b[%one] : !buf
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #rows>
func.func @release_of_an_argument(%b: !buf, %slot: i32) {
  // expected-error @+1 {{'tilegpu.release' op needs a buffer that is the result of tilegpu.alloc}}
  tilegpu.release %b[%slot] : !buf
  return
}
