// What one instruction does, and what LLVM expands by itself.
// RUN: fattn-opt %s -amd-lower-tensors -gpu-expand-math -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @scalars(
// CHECK: rocdl.exp2 %arg0
// CHECK: llvm.intr.exp(%arg0)
// CHECK: llvm.intr.log2(%arg0)
// CHECK: math.fma
// CHECK: rocdl.exp2
// CHECK: rocdl.rcp
// CHECK: math.copysign
func.func @scalars(%x: f32, %p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %0 = math.exp2 %x : f32
  tile.scatter %p, %0 : !tile.ptr<f32>, f32
  %1 = math.exp %x : f32
  tile.scatter %p, %1 : !tile.ptr<f32>, f32
  %2 = math.log2 %x : f32
  tile.scatter %p, %2 : !tile.ptr<f32>, f32
  %3 = math.tanh %x : f32
  tile.scatter %p, %3 : !tile.ptr<f32>, f32
  return
}
