// Products become steps of one instruction's depth; the fragments of the next step are loaded before the product of this one.
// RUN: fattn-opt %s -tilegpu-slice-dots | FileCheck %s

#a32 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 32">
#b32 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 32, dim1: 8">
#b32t = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8), 4 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 32">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#sa = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0), 256 -> (8,0) | dim0: 16, dim1: 32">
#sb = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,0), 128 -> (4,0) | dim0: 8, dim1: 32">

// A and the transposed B from buffers.
// CHECK-LABEL: func.func @buffers
// CHECK: %[[A0:.*]] = tilegpu.load_buffer %[[A:.*]][%[[S:.*]]] {offsets = array<i64: 0, 0>} {{.*}} -> tensor<16x16xbf16
// CHECK: %[[L0:.*]] = tilegpu.load_buffer %[[B:.*]][%[[S]]] {offsets = array<i64: 0, 0>} {{.*}} -> tensor<8x16xbf16
// CHECK: %[[B0:.*]] = tile.trans %[[L0]], [1, 0]
// CHECK: %[[A1:.*]] = tilegpu.load_buffer %[[A]][%[[S]]] {offsets = array<i64: 0, 16>}
// CHECK: %[[L1:.*]] = tilegpu.load_buffer %[[B]][%[[S]]] {offsets = array<i64: 0, 16>}
// CHECK: %[[B1:.*]] = tile.trans %[[L1]], [1, 0]
// CHECK: %[[D:.*]] = tile.dot %[[A0]], %[[B0]], %arg0
// CHECK: tile.dot %[[A1]], %[[B1]], %[[D]]
// CHECK-NOT: tilegpu.load_buffer
func.func @buffers(%c: tensor<16x8xf32, #acc>, %slot: i32) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80"} {
  %a = tilegpu.alloc : !tilegpu.buffer<2 x 16x32xbf16, #sa>
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x32xbf16, #sb>
  %x = tilegpu.load_buffer %a[%slot] : !tilegpu.buffer<2 x 16x32xbf16, #sa> -> tensor<16x32xbf16, #a32>
  %y = tilegpu.load_buffer %b[%slot] : !tilegpu.buffer<2 x 8x32xbf16, #sb> -> tensor<8x32xbf16, #b32t>
  %t = tile.trans %y, [1, 0] : tensor<8x32xbf16, #b32t> -> tensor<32x8xbf16, #b32>
  %d = tile.dot %x, %t, %c : tensor<16x32xbf16, #a32>, tensor<32x8xbf16, #b32> -> tensor<16x8xf32, #acc>
  return %d : tensor<16x8xf32, #acc>
}

// What was computed, is used twice, or is overwritten before the product is cut in registers.
// CHECK-LABEL: func.func @registers
// CHECK: %[[X:.*]] = tilegpu.load_buffer {{.*}} -> tensor<16x32xbf16
// CHECK: tilegpu.store_buffer
// CHECK: tilegpu.slice %[[X]] [0, 0] : {{.*}} -> tensor<16x16xbf16
// CHECK: tilegpu.slice %arg1 [0, 0] : {{.*}} -> tensor<16x8xbf16
// CHECK: tilegpu.slice %[[X]] [0, 16]
// CHECK: tilegpu.slice %arg1 [16, 0]
// CHECK-COUNT-2: tile.dot
func.func @registers(%c: tensor<16x8xf32, #acc>, %y: tensor<32x8xbf16, #b32>, %slot: i32, %v: tensor<16x32xbf16, #a32>) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80"} {
  %a = tilegpu.alloc : !tilegpu.buffer<2 x 16x32xbf16, #sa>
  %x = tilegpu.load_buffer %a[%slot] : !tilegpu.buffer<2 x 16x32xbf16, #sa> -> tensor<16x32xbf16, #a32>
  tilegpu.store_buffer %v, %a[%slot] : tensor<16x32xbf16, #a32>, !tilegpu.buffer<2 x 16x32xbf16, #sa>
  %d = tile.dot %x, %y, %c : tensor<16x32xbf16, #a32>, tensor<32x8xbf16, #b32> -> tensor<16x8xf32, #acc>
  return %d : tensor<16x8xf32, #acc>
}

// A depth of 80 is five steps of 16; one of 24, three of the shorter instruction.
#a80 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), x5 along dim1; lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 80">
#b80 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), x5 along dim0; lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 80, dim1: 8">
#a24 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), x3 along dim1; lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 24">
#b24 = #tilegpu.regs<"register: 1 -> (1,0), x3 along dim0; lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 24, dim1: 8">
// CHECK-LABEL: func.func @odd
// CHECK: tilegpu.slice %{{.*}} [0, 64] {{.*}} -> tensor<16x16xbf16
// CHECK: tilegpu.slice %{{.*}} [64, 0] {{.*}} -> tensor<16x8xbf16
// CHECK-COUNT-2: tile.dot
// CHECK: tilegpu.slice %{{.*}} [0, 16] {{.*}} -> tensor<16x8xbf16
// CHECK: tilegpu.slice %{{.*}} [16, 0] {{.*}} -> tensor<8x8xbf16
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
func.func @odd(%c: tensor<16x8xf32, #acc>, %a: tensor<16x80xbf16, #a80>, %b: tensor<80x8xbf16, #b80>, %e: tensor<16x24xbf16, #a24>, %f: tensor<24x8xbf16, #b24>) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80"} {
  %d = tile.dot %a, %b, %c : tensor<16x80xbf16, #a80>, tensor<80x8xbf16, #b80> -> tensor<16x8xf32, #acc>
  %g = tile.dot %e, %f, %d : tensor<16x24xbf16, #a24>, tensor<24x8xbf16, #b24> -> tensor<16x8xf32, #acc>
  return %g : tensor<16x8xf32, #acc>
}
