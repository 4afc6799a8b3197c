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

#two = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32), 32 -> (64); warp: 1 | dim0: 128">

// Rounding to bf16 by integers takes three instructions a number, as a NaN has to be repaired and ties go to even numbers; of numbers that are
// promised to be moderate it takes one. Either way one permutation of bytes packs two.
// CHECK-LABEL: func.func @rounded(
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.amdgcn.div.fixup.f32"
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
// CHECK: arith.addi %{{.*}}, %c32768_i32 : i32
// CHECK-NOT: fixup
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
func.func @rounded(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64})
    attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 128 : i64
  %from = tile.make_block_ptr %p, shape[%n], strides[%one], offsets[%zero] : !tile.ptr<f32> -> !tile.block_ptr<128xf32>
  %into = tile.make_block_ptr %q, shape[%n], strides[%one], offsets[%zero] : !tile.ptr<bf16> -> !tile.block_ptr<128xbf16>
  %x = tile.load %from : !tile.block_ptr<128xf32> -> tensor<128xf32, #two>
  %y = arith.truncf %x : tensor<128xf32, #two> to tensor<128xbf16, #two>
  tile.store %into, %y : !tile.block_ptr<128xbf16>, tensor<128xbf16, #two>
  %z = arith.truncf %x {tile.moderate} : tensor<128xf32, #two> to tensor<128xbf16, #two>
  tile.store %into, %z : !tile.block_ptr<128xbf16>, tensor<128xbf16, #two>
  return
}
