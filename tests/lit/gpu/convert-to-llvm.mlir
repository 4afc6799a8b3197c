// SPDX-License-Identifier: Apache-2.0
// Scalars, functions of them and the function around them become the LLVM dialect, and nothing else is left.
// RUN: fattn-opt %s -gpu-convert-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @all(
// CHECK-SAME: %[[X:.*]]: f32, %[[P:.*]]: !llvm.ptr, %[[N:.*]]: i64) attributes {tile.kernel}
// CHECK: %[[SUM:.*]] = llvm.fadd %[[X]], %[[X]] : f32
// CHECK: %[[POWER:.*]] = llvm.intr.exp2(%[[SUM]]) : (f32) -> f32
// CHECK: %[[POISON:.*]] = llvm.mlir.poison : f32
// CHECK: llvm.sdiv
// CHECK: %[[VALUE:.*]] = llvm.select %{{.*}}, %[[POWER]], %[[POISON]]
// CHECK-NOT: unrealized
// CHECK: llvm.store %[[VALUE]], %[[P]]
// CHECK-NEXT: llvm.return
func.func @all(%x: f32, %p: !llvm.ptr, %n: i64) attributes {tile.kernel} {
  %sum = arith.addf %x, %x : f32
  %power = math.exp2 %sum : f32
  %poison = ub.poison : f32
  %zero = arith.constant 0 : i64
  %quotient = arith.ceildivsi %n, %n : i64
  %less = arith.cmpi slt, %quotient, %zero : i64
  %value = arith.select %less, %power, %poison : f32
  llvm.store %value, %p : f32, !llvm.ptr
  func.return
}
