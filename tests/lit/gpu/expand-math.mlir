// SPDX-License-Identifier: Apache-2.0
// Functions without an instruction become arithmetic; others stay for LLVM.
// RUN: fattn-opt %s -gpu-expand-math | FileCheck %s

// CHECK-LABEL: func.func @functions
// CHECK-NOT: math.erf
// CHECK-NOT: math.sin
// CHECK-NOT: math.tan
// CHECK: math.floor
func.func @functions(%x: f32) -> f32 {
  %a = math.erf %x : f32
  %b = math.sin %a : f32
  %c = math.tan %b : f32
  %d = math.floor %c : f32
  return %d : f32
}
