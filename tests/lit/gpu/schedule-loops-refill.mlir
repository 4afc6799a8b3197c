// A slot that all warps have read before they meet for an exchange is filled again in the same trip, one trip further ahead.
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=2 -canonicalize -cse | FileCheck %s
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=2 -canonicalize -cse -tilegpu-decompose-conversions -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-barriers -tilegpu-split-waits | FileCheck %s --check-prefix=ALL

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,8) | dim0: 16, dim1: 16">
#line = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (0) | dim0: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0) | dim0: 16, dim1: 16">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,0), 128 -> (8,0) | dim0: 16, dim1: 16">

// %a is read before the reduction across warps: two slots, and its copies are two trips ahead. %b is read behind it: one trip ahead.
// CHECK-LABEL: func.func @refill
// CHECK: %[[A:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 16x16xf32
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 16x16xf32
// CHECK: tilegpu.copy_async %{{.*}}, %[[A]][%c0_i32]
// CHECK: tilegpu.copy_async %{{.*}}, %[[B]][%c0_i32]
// CHECK: tilegpu.copy_async %{{.*}}, %[[A]][%c1_i32]
// CHECK: scf.for
// CHECK-COUNT-2: tilegpu.copy_wait
// CHECK: tilegpu.copy_async %{{.*}}, %[[B]]
// CHECK: tilegpu.load_buffer %[[A]][%[[SLOT:.*]]]
// CHECK: tile.reduce
// CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %c32_i32
// CHECK: tilegpu.copy_async %{{.*}}, %[[A]][
// CHECK: tilegpu.load_buffer %[[B]]

// The barriers are the exchange's and the one at the trip's beginning; what %b needs is waited for at the exchange's.
// ALL-LABEL: func.func @refill
// ALL: scf.for
// ALL: tilegpu.copy_wait
// ALL-NEXT: tilegpu.barrier
// ALL: tilegpu.copy_async
// ALL: tilegpu.load_buffer
// ALL: tilegpu.store_buffer
// ALL: tilegpu.copy_wait
// ALL-NEXT: tilegpu.barrier
// ALL: tilegpu.copy_async
// ALL: tilegpu.load_buffer
// ALL: scf.yield
func.func @refill(%ptr: !tile.block_ptr<16x16xf32>, %n: i32) -> tensor<16x16xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf32, #shared>
  %sum = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %p = tile.advance %ptr, [%at, %l0] : !tile.block_ptr<16x16xf32>
    %ta = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x16xf32>, !tilegpu.buffer<1 x 16x16xf32, #shared>
    tilegpu.copy_wait %ta
    %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x16xf32, #shared> -> tensor<16x16xf32, #acc>
    %top = tile.reduce %x axis 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #line> {
    ^bb0(%l: f32, %r: f32):
      %most = arith.maximumf %l, %r : f32
      tile.yield %most : f32
    }
    tile.device_print "top", %top : tensor<16xf32, #line>
    %q = tile.advance %ptr, [%l0, %at] : !tile.block_ptr<16x16xf32>
    %tb = tilegpu.copy_async %q, %b[%c0] {layout = #rows} : !tile.block_ptr<16x16xf32>, !tilegpu.buffer<1 x 16x16xf32, #shared>
    tilegpu.copy_wait %tb
    %y = tilegpu.load_buffer %b[%c0] : !tilegpu.buffer<1 x 16x16xf32, #shared> -> tensor<16x16xf32, #acc>
    %r = arith.addf %acc, %y : tensor<16x16xf32, #acc>
    scf.yield %r : tensor<16x16xf32, #acc>
  }
  return %sum : tensor<16x16xf32, #acc>
}
