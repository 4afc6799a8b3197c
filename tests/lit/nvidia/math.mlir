// Functions of f32 by the chip's approximations; what they do not cover stays.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse | FileCheck %s

#line = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 | dim0: 32">

// CHECK-LABEL: func.func @functions
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// exp: the product's rounding error is made up for, where it matters
// CHECK: %[[HIGH:.*]] = arith.mulf
// CHECK: %[[NEGATED:.*]] = arith.negf %[[HIGH]]
// CHECK: %[[LOW:.*]] = math.fma %{{.*}}, %{{.*}}, %[[NEGATED]]
// CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[HIGH]])
// CHECK: math.fma %[[POWER]], %{{.*}}, %[[POWER]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.rn.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
// tanh: a polynomial near 0, an exponential elsewhere
// CHECK-COUNT-5: math.fma
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: math.copysign
// CHECK: arith.select
func.func @functions(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %w = tile.make_block_ptr %p, shape [%c32], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %x = tile.load %w : !tile.block_ptr<32xf32> -> tensor<32xf32, #line>
  %0 = math.exp2 %x : tensor<32xf32, #line>
  %1 = math.exp %0 : tensor<32xf32, #line>
  %2 = math.log2 %1 : tensor<32xf32, #line>
  %3 = math.sqrt %2 : tensor<32xf32, #line>
  %4 = math.rsqrt %3 : tensor<32xf32, #line>
  %5 = math.tanh %4 : tensor<32xf32, #line>
  tile.store %w, %5 : !tile.block_ptr<32xf32>, tensor<32xf32, #line>
  return
}

// A reciprocal is one where the program asks for the chip's own: 1 / x with another numerator, or without the flag, is a division.
// CHECK-LABEL: func.func @reciprocals
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: arith.divf
// CHECK: arith.divf
func.func @reciprocals(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %w = tile.make_block_ptr %p, shape [%c32], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %x = tile.load %w : !tile.block_ptr<32xf32> -> tensor<32xf32, #line>
  %one = arith.constant dense<1.0> : tensor<32xf32, #line>
  %two = arith.constant dense<2.0> : tensor<32xf32, #line>
  %0 = arith.divf %one, %x fastmath<afn> : tensor<32xf32, #line>
  %1 = arith.divf %two, %0 fastmath<afn> : tensor<32xf32, #line>
  %2 = arith.divf %one, %1 : tensor<32xf32, #line>
  tile.store %w, %2 : !tile.block_ptr<32xf32>, tensor<32xf32, #line>
  return
}
