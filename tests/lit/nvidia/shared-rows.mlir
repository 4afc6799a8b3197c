// SPDX-License-Identifier: Apache-2.0
// Tiles that lie in shared memory row by row: element by element, each at 5 * row + column.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (0,0); warp: 1 | dim0: 4, dim1: 8">
#columns = #tilegpu.regs<"register: 1 -> (1,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,0); warp: 1 | dim0: 8, dim1: 4">
#line = #tilegpu.shared<"offset: x15 along dim0 | dim0: 15">

// Two elements a lane, stored where row < 3 and column < 5 and by one of the two lanes that hold them; those outside are not stored. A load
// takes the first element for them.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[C5:.*]] = arith.constant 5 : i32
// CHECK: arith.muli %[[ROW:.*]], %[[C5]] : i32
// CHECK: llvm.inline_asm has_side_effects "@$2 st.shared.b32 [$0], $1;"
// CHECK: llvm.inline_asm has_side_effects "@$2 st.shared.b32 [$0], $1;"
// CHECK: nvvm.barrier
// CHECK: %[[AT:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK: return
func.func @rows(%p: !tile.ptr<f32>, %v: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %slot = arith.constant 0 : i32
  %x = tile.splat %v : f32 -> tensor<4x8xf32, #rows>
  %m = tilegpu.alloc {offset = 64 : i64} : !tilegpu.buffer<1 x 15xf32, #line>
  tilegpu.store_buffer %x, %m[%slot] {extents = array<i64: 3, 5>} : tensor<4x8xf32, #rows>, !tilegpu.buffer<1 x 15xf32, #line>
  tilegpu.barrier
  %y = tilegpu.load_buffer %m[%slot] {extents = array<i64: 5, 3>} : !tilegpu.buffer<1 x 15xf32, #line> -> tensor<8x4xf32, #columns>
  %q = tile.splat %p : !tile.ptr<f32> -> tensor<8x4x!tile.ptr<f32>, #columns>
  tile.scatter %q, %y : tensor<8x4x!tile.ptr<f32>, #columns>, tensor<8x4xf32, #columns>
  return
}
