// SPDX-License-Identifier: Apache-2.0
// A long run of products is said in parts. What its order puts into the first part moves there, and nothing else: the read and the sum for
// the second product, but neither the third product's sum nor what stood before the first product without being needed there.
// RUN: fattn-opt %s -pass-pipeline="builtin.module(llvm.func(amd-order-products{at-once=5}))" | FileCheck %s

// CHECK-LABEL: llvm.func @parts
// CHECK: llvm.fence
// CHECK-NEXT: %[[A:.*]] = llvm.load
// CHECK-NEXT: %[[C:.*]] = llvm.call_intrinsic "llvm.amdgcn.mfma
// CHECK-NEXT: %[[B:.*]] = llvm.load
// CHECK-NEXT: %[[TWICE:.*]] = llvm.fadd %[[B]], %[[B]]
// CHECK-NEXT: rocdl.sched.group.barrier 256, 2
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.group.barrier 2, 1
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: %[[SUM:.*]] = llvm.fadd
// CHECK-NEXT: %[[D:.*]] = llvm.call_intrinsic "llvm.amdgcn.mfma{{.*}}(%[[TWICE]], %[[TWICE]], %[[C]]
// CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.mfma{{.*}}(%[[SUM]], %[[A]], %[[D]]
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.group.barrier 2, 1
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: llvm.return
llvm.func @parts(%s: !llvm.ptr<3>, %acc: vector<4xf32>, %x: vector<4xf16>) -> vector<4xf32> {
  %z = llvm.mlir.constant(0 : i32) : i32
  llvm.fence syncscope("workgroup") release
  %a = llvm.load %s : !llvm.ptr<3> -> vector<4xf16>
  %sum = llvm.fadd %x, %x : vector<4xf16>
  %c = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"(%a, %a, %acc, %z, %z, %z) : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %b = llvm.load %s : !llvm.ptr<3> -> vector<4xf16>
  %twice = llvm.fadd %b, %b : vector<4xf16>
  %d = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"(%twice, %twice, %c, %z, %z, %z) : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %e = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"(%sum, %a, %d, %z, %z, %z) : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  llvm.return %e : vector<4xf32>
}
