// SPDX-License-Identifier: Apache-2.0
// From a tile program to AMD's instructions: in each trip all threads store both operands behind one barrier, B eight rows at a time as two
// matrix instructions take them, begin the next trip's loads without checks where all of them lie inside of the arrays, and read behind a
// second barrier.
// RUN: fattn-opt %s -amd-pipeline="target=amd:gfx942 warps=4 stages=2" | FileCheck %s

// CHECK-LABEL: llvm.func @product(
// The loop:
// CHECK: llvm.cond_br
// CHECK: llvm.cond_br
// CHECK: rocdl.s.barrier
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: llvm.cond_br
// CHECK-NOT: llvm.select {{.*}}, !llvm.ptr<1>
// CHECK: llvm.br
// CHECK: llvm.select {{.*}}, !llvm.ptr<1>
// CHECK: llvm.cond_br
// CHECK-NOT: llvm.select {{.*}}, !llvm.ptr<1>
// CHECK: llvm.br
// CHECK: llvm.select {{.*}}, !llvm.ptr<1>
// CHECK: rocdl.s.barrier
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<3>
// CHECK-COUNT-8: llvm.amdgcn.mfma.f32.32x32x8f16
// CHECK: rocdl.sched.group.barrier
// CHECK-NOT: rocdl.s.barrier
// CHECK: llvm.br
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
    %x = tile.load %qa {boundary_check = array<i64: 1>} : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
    %y = tile.load %qb {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %pc = tile.make_block_ptr %c, shape[%n, %n], strides[%n, %one], offsets[%zero, %zero] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  tile.store %pc, %out : !tile.block_ptr<64x64xf16>, tensor<64x64xf16>
  return
}
