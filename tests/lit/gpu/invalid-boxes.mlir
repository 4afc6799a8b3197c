// SPDX-License-Identifier: Apache-2.0
// What the verifier says of stores by boxes that cannot be.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_type(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf32, #rows>
  // expected-error @+1 {{shape and element type of value and buffer must match, but got (32, 16) of 'f16' and (32, 16) of 'f32'}}
  tilegpu.store_boxes %p, %x in %b map 0[] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf32, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_slots(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 32x16xf16, #rows>
  // expected-error @+1 {{needs a buffer of one slot that is allocated outside of loops}}
  tilegpu.store_boxes %p, %x in %b map 0[] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<2 x 32x16xf16, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_check(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{boundary_check must name distinct dimensions in [0, 1], but got 2}}
  tilegpu.store_boxes %p, %x in %b map 0[] {boundary_check = array<i64: 2>} : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_map(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{names tensor map 1, but the function has 1}}
  tilegpu.store_boxes %p, %x in %b map 1[] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_coordinates(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>, %i: i32) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{has 1 coordinates, but tensor map 0 needs 0}}
  tilegpu.store_boxes %p, %x in %b map 0[%i] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (16,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,8) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_rows(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{needs a layout that gives a warp whole boxes of tensor map 0, as many rows that follow each other as one has; it is}}
  tilegpu.store_boxes %p, %x in %b map 0[] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @boxes_in_loop(%p: !tile.block_ptr<32x16xf16>, %x: tensor<32x16xf16, #acc>, %n: i32) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  scf.for %i = %n to %n step %n : i32 {
    // expected-error @+1 {{needs 'add' in a loop: the engine's stores of one place have no order}}
    tilegpu.store_boxes %p, %x in %b map 0[] : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #acc>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  }
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @send_boxes_type(%p: !tile.block_ptr<32x32xf16>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 32>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{block pointer and buffer}}
  tilegpu.send_boxes %p in %b map 0[] : !tile.block_ptr<32x32xf16>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @send_boxes_slots(%p: !tile.block_ptr<32x16xf16>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 32>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 32x16xf16, #rows>
  // expected-error @+1 {{needs a buffer of one slot and two dimensions that is allocated outside of loops}}
  tilegpu.send_boxes %p in %b map 0[] : !tile.block_ptr<32x16xf16>, !tilegpu.buffer<2 x 32x16xf16, #rows>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @send_boxes_box(%p: !tile.block_ptr<32x16xf16>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = [{box = array<i64: 16, 64>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{needs a tile that boxes of tensor map 0 divide}}
  tilegpu.send_boxes %p in %b map 0[] : !tile.block_ptr<32x16xf16>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @send_boxes_map(%p: !tile.block_ptr<32x16xf16>) attributes {tilegpu.warps = 2 : i64, tilegpu.tensor_maps = []} {
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf16, #rows>
  // expected-error @+1 {{names tensor map 0, but the function has 0}}
  tilegpu.send_boxes %p in %b map 0[] : !tile.block_ptr<32x16xf16>, !tilegpu.buffer<1 x 32x16xf16, #rows>
  return
}
