// SPDX-License-Identifier: Apache-2.0
// A run of products reads shared memory ahead, and computes beneath products what they need; a wave that computes exponentials gives way.
// RUN: fattn-opt %s -pass-pipeline="builtin.module(llvm.func(amd-order-products))" | FileCheck %s

// Two products of 16 clocks, each with a read: LDS takes longer than both, so that both reads come first. The second product needs a sum.
// CHECK-LABEL: llvm.func @run
// CHECK: rocdl.exp2
// CHECK-NEXT: rocdl.s.setprio 1
// CHECK-NEXT: llvm.fence
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma
// CHECK-NEXT: rocdl.sched.group.barrier 256, 2
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.group.barrier 2, 1
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: rocdl.s.setprio 0
// CHECK-NEXT: llvm.extractelement
// CHECK-NEXT: llvm.fmul
// CHECK-NEXT: rocdl.exp2
// CHECK-NEXT: llvm.fadd
// CHECK-NEXT: rocdl.s.setprio 1
// CHECK-NEXT: llvm.load
llvm.func @run(%s: !llvm.ptr<3>, %acc: vector<4xf32>, %x: f32) -> f32 {
  %z = llvm.mlir.constant(0 : i32) : i32
  %begin = rocdl.exp2 %x f32 -> f32
  llvm.fence syncscope("workgroup") release
  %a = llvm.load %s : !llvm.ptr<3> -> vector<4xf16>
  %b = llvm.load %s : !llvm.ptr<3> -> vector<4xf16>
  %c = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"(%a, %a, %acc, %z, %z, %z) : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %twice = llvm.fadd %b, %b : vector<4xf16>
  %d = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"(%twice, %b, %c, %z, %z, %z) : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %first = llvm.extractelement %d[%z : i32] : vector<4xf32>
  %y = llvm.fmul %first, %x : f32
  %e = rocdl.exp2 %y f32 -> f32
  %sum = llvm.fadd %e, %begin : f32
  %last = llvm.load %s : !llvm.ptr<3> -> f32
  %all = llvm.fadd %sum, %last : f32
  llvm.return %all : f32
}

// RDNA's products likewise. One that more products follow behind a fence goes on before waves whose products have not begun.
// CHECK-LABEL: llvm.func @rdna
// CHECK: llvm.call_intrinsic "llvm.amdgcn.wmma
// CHECK-NEXT: rocdl.sched.group.barrier 256, 1
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: rocdl.s.setprio 2
// CHECK-NEXT: llvm.fence
// CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.wmma
// CHECK-NEXT: rocdl.sched.group.barrier 8, 1
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: rocdl.s.setprio 0
// CHECK-NEXT: rocdl.exp2
// CHECK-NEXT: rocdl.s.setprio 1
llvm.func @rdna(%s: !llvm.ptr<3>, %acc: vector<8xf32>, %x: f32) -> vector<8xf32> {
  %a = llvm.load %s : !llvm.ptr<3> -> vector<16xf16>
  %c = llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.f16"(%a, %a, %acc) : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  llvm.fence syncscope("workgroup") release
  %d = llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.f16"(%a, %a, %c) : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  %e = rocdl.exp2 %x f32 -> f32
  llvm.return %d : vector<8xf32>
}

// A kernel without products has nothing to give way to.
// CHECK-LABEL: llvm.func @exponentials
// CHECK-NOT: rocdl.s
llvm.func @exponentials(%x: f32) -> f32 {
  %e = rocdl.exp2 %x f32 -> f32
  llvm.return %e : f32
}
