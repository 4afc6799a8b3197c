// SPDX-License-Identifier: Apache-2.0
// What extents of a tile may be, and what is said where they are not.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{needs one number in from for each of the 2 dimensions, but got 1}}
  %y = tilegpu.reshape %x from [4] to [4] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @size(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{to of dim 0 must be in [1, 16], but got 20}}
  %y = tilegpu.reshape %x from [4, 5] to [20] : tensor<4x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @count(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{input and result must have as many elements of one type, but have (3, 5) of 'f32' and (14,) of 'f32'}}
  %y = tilegpu.reshape %x from [3, 5] to [14] : tensor<4x8xf32> -> tensor<16xf32>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (0,0); warp: 1 | dim0: 4, dim1: 8">
#line = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8) | dim0: 16">
func.func @buffer(%x: tensor<4x8xf32, #rows>, %slot: i32) {
  %m = tilegpu.alloc : !tilegpu.buffer<1 x 16xf32, #line>
  // expected-error @+1 {{needs a buffer of one dimension of 15 elements for extents (3, 5), but got (16,)}}
  tilegpu.store_buffer %x, %m[%slot] {extents = array<i64: 3, 5>} : tensor<4x8xf32, #rows>, !tilegpu.buffer<1 x 16xf32, #line>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (0,0); warp: 1 | dim0: 4, dim1: 8">
#line = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8) | dim0: 16">
func.func @element(%slot: i32) {
  %m = tilegpu.alloc : !tilegpu.buffer<1 x 16xf16, #line>
  // expected-error @+1 {{element types of buffer and tile must match, but got 'f16' and 'f32'}}
  %x = tilegpu.load_buffer %m[%slot] {extents = array<i64: 4, 4>} : !tilegpu.buffer<1 x 16xf16, #line> -> tensor<4x8xf32, #rows>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (0,0); warp: 1 | dim0: 4, dim1: 8">
#line = #tilegpu.shared<"offset: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8) | dim0: 16">
func.func @offsets(%slot: i32) {
  %m = tilegpu.alloc : !tilegpu.buffer<1 x 16xf32, #line>
  // expected-error @+1 {{has both extents and offsets; legal is one of them}}
  %x = tilegpu.load_buffer %m[%slot] {extents = array<i64: 4, 4>, offsets = array<i64: 0, 0>} : !tilegpu.buffer<1 x 16xf32, #line> -> tensor<4x8xf32, #rows>
  return
}
