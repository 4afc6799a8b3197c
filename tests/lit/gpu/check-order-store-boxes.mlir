// SPDX-License-Identifier: Apache-2.0
// Elements that the engine stores belong to a warp: what its own threads stored there needs no barrier, another warp's stores do.
// RUN: fattn-opt %s -tilegpu-record-order -tilegpu-check-order -verify-diagnostics

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (16,0); warp: 1 -> (8,0) | dim0: 32, dim1: 8">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">
!ptr = !tile.block_ptr<32x8xf32>
!buf = !tilegpu.buffer<1 x 32x8xf32, #s>

func.func @same_warp(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 2 : i64, tilegpu.shared_bytes = 4096 : i64,
                tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 32>]}]} {
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %w = arith.constant 8 : i64
  %rows = arith.extsi %n : i32 to i64
  %p = tile.make_block_ptr %in, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %q = tile.make_block_ptr %out, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %buf = tilegpu.alloc {offset = 0 : i64} : !buf
  %x = tile.load %p {boundary_check = array<i64: 0>} : !ptr -> tensor<32x8xf32, #a>
  %y = tile.load %p {boundary_check = array<i64: 0>} : !ptr -> tensor<32x8xf32, #a>
  tilegpu.barrier
  tile.store %q, %y {boundary_check = array<i64: 0>} : !ptr, tensor<32x8xf32, #a>
  tilegpu.store_boxes %q, %x in %buf map 0[] {boundary_check = array<i64: 0>} : !ptr, tensor<32x8xf32, #a>, !buf
  return
}

func.func @other_warp(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 2 : i64, tilegpu.shared_bytes = 4096 : i64,
                tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 32>]}]} {
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %w = arith.constant 8 : i64
  %rows = arith.extsi %n : i32 to i64
  %p = tile.make_block_ptr %in, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %q = tile.make_block_ptr %out, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %buf = tilegpu.alloc {offset = 0 : i64} : !buf
  %x = tile.load %p {boundary_check = array<i64: 0>} : !ptr -> tensor<32x8xf32, #a>
  %y = tile.load %p {boundary_check = array<i64: 0>} : !ptr -> tensor<32x8xf32, #b>
  tilegpu.barrier
  // expected-note @below {{the first write}}
  tile.store %q, %y {boundary_check = array<i64: 0>} : !ptr, tensor<32x8xf32, #b>
  // expected-error @below {{writes global memory that other threads may still be writing: a tilegpu.barrier is missing between the two writes}}
  tilegpu.store_boxes %q, %x in %buf map 0[] {boundary_check = array<i64: 0>} : !ptr, tensor<32x8xf32, #a>, !buf
  return
}
