// SPDX-License-Identifier: Apache-2.0
// From a tile program to PTX: the loop copies asynchronously, reads fragments by ldmatrix, multiplies, and touches no local memory.
// RUN: fattn-opt %s -nvidia-pipeline="target=nvidia:sm_80 warps=4 stages=2" -o %t.mlir
// RUN: FileCheck %s --check-prefix=LLVM < %t.mlir
// RUN: fattn-opt %t.mlir -emit-ptx=chip=sm_80 | FileCheck %s

// LLVM: llvm.func @product(%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64)
// LLVM-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>
// LLVM-SAME: tilegpu.shared_bytes = 32768 : i64

// CHECK: .entry product(
// CHECK: .reqntid 128
// CHECK-NOT: .local
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: st.global.v4
// CHECK-NOT: .local
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
                   %c: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %k: i64 {tile.divisibility = 64 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %step = arith.constant 64 : i64
  %n = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %pa = tile.make_block_ptr %a, shape[%n, %k], strides[%k, %one], offsets[%zero, %zero] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  %pb = tile.make_block_ptr %b, shape[%k, %n], strides[%n, %one], offsets[%zero, %zero] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  %sum = scf.for %i = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i64 {
    %qa = tile.advance %pa, [%zero, %i] : !tile.block_ptr<64x64xf16>
    %qb = tile.advance %pb, [%i, %zero] : !tile.block_ptr<64x64xf16>
    %x = tile.load %qa : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
    %y = tile.load %qb : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %pc = tile.make_block_ptr %c, shape[%n, %n], strides[%n, %one], offsets[%zero, %zero] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  tile.store %pc, %out : !tile.block_ptr<64x64xf16>, tensor<64x64xf16>
  return
}
