// SPDX-License-Identifier: Apache-2.0
// Who shows a matrix unit, or an engine that copies boxes, what threads have written.
// RUN: fattn-opt %s -tilegpu-place-fences | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
!x = tensor<16x16xbf16, #rows>

// What threads store, or have copied, where a matrix unit reads. Of fences in a row one serves.
// CHECK-LABEL: func.func @read_by_the_unit
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: %{{.*}} = tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.fence_async
// CHECK-NEXT: tilegpu.dot_async
func.func @read_by_the_unit(%p: !ptr, %v: !x, %left: tensor<64x16xbf16, #acc>, %zero: tensor<64x16xf32, #acc>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %other = tilegpu.alloc {offset = 512 : i64} : !buf
  tilegpu.store_buffer %v, %other[%c0] : !x, !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.copy_wait %t
  %d = tilegpu.dot_async %left, %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d : tensor<64x16xf32, #acc>
  return
}

// Boxes take the unit's own path.
// CHECK-LABEL: func.func @boxes
// CHECK-NOT: tilegpu.fence_async
// CHECK: return
func.func @boxes(%p: !ptr, %left: tensor<64x16xbf16, #acc>, %zero: tensor<64x16xf32, #acc>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  %d = tilegpu.dot_async %left, %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d : tensor<64x16xf32, #acc>
  return
}

// What threads store in bytes that boxes fill for another buffer; not what they store elsewhere.
// CHECK-LABEL: func.func @bytes_of_boxes
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.fence_async
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.store_buffer
// CHECK-NEXT: %{{.*}} = tilegpu.copy_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: return
func.func @bytes_of_boxes(%p: !ptr, %v: !x) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !buf
  %same = tilegpu.alloc {offset = 256 : i64} : !buf
  %other = tilegpu.alloc {offset = 1024 : i64} : !buf
  tilegpu.store_buffer %v, %same[%c0] : !x, !buf
  %w = tilegpu.load_buffer %same[%c0] : !buf -> !x
  tilegpu.store_buffer %w, %other[%c0] : !x, !buf
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %a[%c0] : !buf
  return
}
