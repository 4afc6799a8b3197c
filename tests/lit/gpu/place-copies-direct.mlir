// Copies by lanes that write next to each other in shared memory: for what is read in memory's order in a loop that copies ahead, by a chip with
// loads of 16 bytes. What a lane fetches follows from the buffer's swizzle.
// DEFINE: %{layouts} = -tilegpu-remove-conversions -canonicalize -cse
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=amd:gfx950 warps=4' %{layouts} -tilegpu-place-copies | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=amd:gfx950 warps=4' %{layouts} -tilegpu-place-copies=ahead=0 | FileCheck %s --check-prefix=NONE
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=amd:gfx950 warps=4' %{layouts} -tilegpu-place-copies=ahead=4 | FileCheck %s --check-prefix=NONE
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=amd:gfx942 warps=4' %{layouts} -tilegpu-place-copies | FileCheck %s --check-prefix=NONE

// The first operand is loaded once, the second one's rows are read as they lie, and the third one's columns are put in order on the way.
// CHECK: #[[COPY:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> ({{.*}}), 16 -> ({{.*}}); lane: 1 -> ([[L1:[^)]*]]), 2 -> ([[L2:[^)]*]]), 4 -> ({{.*}}warp: {{.*}} | dim0: 64, dim1: 128">
// CHECK: "offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> ([[L1]]), 16 -> ([[L2]]),
// CHECK-LABEL: func.func @chain
// CHECK: tilegpu.store_buffer
// CHECK: scf.for
// CHECK: %[[TOKEN:.*]] = tilegpu.copy_async %{{.*}} {boundary_check = array<i64: 0>, layout = #[[COPY]]} : !tile.block_ptr<64x128xbf16>
// CHECK: tilegpu.copy_wait %[[TOKEN]]
// CHECK-NOT: tilegpu.copy_async
// CHECK: tilegpu.store_buffer %{{.*}} : tensor<64x128xbf16
// NONE-LABEL: func.func @chain
// NONE-NOT: tilegpu.copy_async
func.func @chain(%qp: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %kp: !tile.ptr<bf16> {tile.divisibility = 16 : i64},
                 %vp: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %op: !tile.ptr<f32> {tile.divisibility = 16 : i64},
                 %row: i64 {tile.divisibility = 8 : i64}, %n: i32, %rows: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l128 = arith.constant 128 : i64
  %zs = arith.constant dense<0.0> : tensor<128x64xf32>
  %zo = arith.constant dense<0.0> : tensor<128x128xf32>
  %qb = tile.make_block_ptr %qp, shape [%rows, %l128], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %q = tile.load %qb {boundary_check = array<i64: 0>, padding = 0.0 : bf16} : !tile.block_ptr<128x128xbf16> -> tensor<128x128xbf16>
  %kb = tile.make_block_ptr %kp, shape [%rows, %l128], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %vb = tile.make_block_ptr %vp, shape [%rows, %l128], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%o = %zo) -> (tensor<128x128xf32>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %kw = tile.advance %kb, [%at, %l0] : !tile.block_ptr<64x128xbf16>
    %k = tile.load %kw {boundary_check = array<i64: 0>, padding = 0.0 : bf16} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %kt = tile.trans %k, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    %s = tile.dot %q, %kt, %zs : tensor<128x128xbf16>, tensor<128x64xbf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %vw = tile.advance %vb, [%at, %l0] : !tile.block_ptr<64x128xbf16>
    %v = tile.load %vw {boundary_check = array<i64: 0>, padding = 0.0 : bf16} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %p, %v, %o : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  %ob = tile.make_block_ptr %op, shape [%rows, %l128], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<f32> -> !tile.block_ptr<128x128xf32>
  tile.store %ob, %r {boundary_check = array<i64: 0>} : !tile.block_ptr<128x128xf32>, tensor<128x128xf32>
  return
}
