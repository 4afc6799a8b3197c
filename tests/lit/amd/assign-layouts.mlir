// SPDX-License-Identifier: Apache-2.0
// The depth's order is free where both operands share it. Operands of the first product come from memory, in rows along the depth, so that
// a lane takes 16 bytes of each. The second one has the depth in the order in which the first one leaves its results: on gfx1201 that is
// the same order.
// RUN: fattn-opt %s -tilegpu-assign-layouts="target=amd:gfx942 warps=4" -cse | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: fattn-opt %s -tilegpu-assign-layouts="target=amd:gfx1201 warps=4" -cse | FileCheck %s --check-prefixes=CHECK,RDNA

// CHECK-LABEL: func.func @chained
// CHECK: scf.for
// CDNA: tile.dot {{.*}}#tilegpu.instruction<"mfma.runs" depth 32>
// CDNA: tile.dot {{.*}}#tilegpu.instruction<"mfma" depth 16>
// RDNA: tile.dot {{.*}}#tilegpu.instruction<"wmma.runs" depth 16>
// RDNA: tile.dot {{.*}}#tilegpu.instruction<"wmma.runs" depth 16>
func.func @chained(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero_s = arith.constant dense<0.0> : tensor<64x32xf32>
  %qp = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %kp = tile.make_block_ptr %k, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %vp = tile.make_block_ptr %v, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %op = tile.make_block_ptr %o, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %tq = tile.load %qp : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i64 {
    %kpi = tile.advance %kp, [%i, %c0] : !tile.block_ptr<32x64xbf16>
    %vpi = tile.advance %vp, [%i, %c0] : !tile.block_ptr<32x64xbf16>
    %tk = tile.load %kpi : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %kt = tile.trans %tk, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %s = tile.dot %tq, %kt, %zero_s : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %m = tile.reduce %s axis 1 : tensor<64x32xf32> -> tensor<64xf32> {
    ^bb0(%lhs: f32, %rhs: f32):
      %max = arith.maxnumf %lhs, %rhs : f32
      tile.yield %max : f32
    }
    %m1 = tile.expand_dims %m, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %m2 = tile.broadcast %m1 : tensor<64x1xf32> -> tensor<64x32xf32>
    %d = arith.subf %s, %m2 : tensor<64x32xf32>
    %p = arith.truncf %d : tensor<64x32xf32> to tensor<64x32xbf16>
    %tv = tile.load %vpi : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %next = tile.dot %p, %tv, %acc : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %op, %r : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
