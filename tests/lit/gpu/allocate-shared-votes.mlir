// SPDX-License-Identifier: Apache-2.0
// Where barriers do not tell what threads voted, warps vote in bytes of shared memory that nothing else has at that time: here those of a
// buffer whose last reader comes before.
// RUN: fattn-opt %s -tilegpu-allocate-shared | FileCheck %s

#x = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,4), 32 -> (0,8); warp: 1 -> (16,0) | dim0: 32, dim1: 16">
#row = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (0), 32 -> (0); warp: 1 -> (16) | dim0: 32">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,0), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

// The region stores, so that all warps enter it together: they vote.
// CHECK-LABEL: func.func @together
// CHECK-SAME: tilegpu.shared_bytes = 4096
// CHECK: tilegpu.alloc {offset = 0
// CHECK: tilegpu.alloc {offset = 2048
// CHECK: tile.select_lazy {{.*}} {tilegpu.votes = 0 : i64}
func.func @together(%x: tensor<32x16xf32, #x>, %any: tensor<32xi1, #row>) -> (tensor<32x16xf32, #x>, tensor<32x16xf32, #x>)
    attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %zero = arith.constant 0 : i32
  %before = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf32, #shared>
  %across = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf32, #shared>
  tilegpu.store_buffer %x, %before[%zero] : tensor<32x16xf32, #x>, !tilegpu.buffer<1 x 32x16xf32, #shared>
  tilegpu.store_buffer %x, %across[%zero] : tensor<32x16xf32, #x>, !tilegpu.buffer<1 x 32x16xf32, #shared>
  %y = tilegpu.load_buffer %before[%zero] : !tilegpu.buffer<1 x 32x16xf32, #shared> -> tensor<32x16xf32, #x>
  %z = tile.select_lazy %any usual(%y) : tensor<32xi1, #row>, tensor<32x16xf32, #x> -> tensor<32x16xf32, #x> {
    %inside = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xf32, #shared>
    tilegpu.store_buffer %x, %inside[%zero] : tensor<32x16xf32, #x>, !tilegpu.buffer<1 x 32x16xf32, #shared>
    %exact = tilegpu.load_buffer %inside[%zero] : !tilegpu.buffer<1 x 32x16xf32, #shared> -> tensor<32x16xf32, #x>
    tile.yield %exact : tensor<32x16xf32, #x>
  }
  %w = tilegpu.load_buffer %across[%zero] : !tilegpu.buffer<1 x 32x16xf32, #shared> -> tensor<32x16xf32, #x>
  return %z, %w : tensor<32x16xf32, #x>, tensor<32x16xf32, #x>
}
