// Matrix instructions: which, whether for the product or its transpose, and what is refused.
// RUN: fattn-opt %s -amd-lower-tensors -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,4); warp: 1 | dim0: 32, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (8,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (4,0); warp: 1 | dim0: 16, dim1: 32">
#c = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (8,0), 8 -> (16,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (4,0); warp: 1 | dim0: 32, dim1: 32">

// Two steps of 8 along k, the second on the first's results.
// CHECK-LABEL: func.func @mfma(
// CHECK: %[[D:.*]] = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.32x32x8f16"(%{{.*}}) : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
// CHECK: llvm.extractelement %[[D]]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.32x32x8f16"
// CHECK-NOT: llvm.amdgcn.mfma
func.func @mfma(%x: f16, %y: f16, %z: f32, %p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %a = tile.splat %x : f16 -> tensor<32x16xf16, #a>
  %b = tile.splat %y : f16 -> tensor<16x32xf16, #b>
  %c = tile.splat %z : f32 -> tensor<32x32xf32, #c>
  %d = tile.dot %a, %b, %c : tensor<32x16xf16, #a>, tensor<16x32xf16, #b> -> tensor<32x32xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,8); warp: 1 | dim0: 32, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (8,0); warp: 1 | dim0: 16, dim1: 32">
#c = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (8,0), 8 -> (16,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (4,0); warp: 1 | dim0: 32, dim1: 32">

// A lane has eight numbers that follow each other along the depth: four for the first instruction, and four for the one on its results.
// CHECK-LABEL: func.func @runs(
// CHECK: %[[D:.*]] = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.32x32x8f16"(%{{.*}}) : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
// CHECK: llvm.extractelement %[[D]]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.32x32x8f16"
// CHECK-NOT: llvm.amdgcn.mfma
func.func @runs(%x: f16, %y: f16, %z: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %a = tile.splat %x : f16 -> tensor<32x16xf16, #a>
  %b = tile.splat %y : f16 -> tensor<16x32xf16, #b>
  %c = tile.splat %z : f32 -> tensor<32x32xf32, #c>
  %d = tile.dot %a, %b, %c {tilegpu.instruction = #tilegpu.instruction<"mfma.runs" depth 16>} : tensor<32x16xf16, #a>, tensor<16x32xf16, #b> -> tensor<32x32xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,4); warp: 1 | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (4,0); warp: 1 | dim0: 8, dim1: 32">
#t = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,4); warp: 1 | dim0: 32, dim1: 32">

// Lanes have rows of the result: the instruction computes the transpose, from B and A.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: bf16, %[[Y:[a-z0-9]+]]: bf16
// CHECK: %[[A0:.*]] = llvm.insertelement %[[X]], %{{.*}} : vector<4xbf16>
// CHECK: %[[A:.*]] = llvm.bitcast %{{.*}} : vector<4xbf16> to vector<4xi16>
// CHECK: %[[B0:.*]] = llvm.insertelement %[[Y]], %{{.*}} : vector<4xbf16>
// CHECK: %[[B:.*]] = llvm.bitcast %{{.*}} : vector<4xbf16> to vector<4xi16>
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.32x32x8bf16.1k"(%[[B]], %[[A]],
func.func @transposed(%x: bf16, %y: bf16, %z: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %a = tile.splat %x : bf16 -> tensor<32x8xbf16, #a>
  %b = tile.splat %y : bf16 -> tensor<8x32xbf16, #b>
  %c = tile.splat %z : f32 -> tensor<32x32xf32, #t>
  %d = tile.dot %a, %b, %c : tensor<32x8xbf16, #a>, tensor<8x32xbf16, #b> -> tensor<32x32xf32, #t>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8); lane: 1 -> (8,0), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (0,0); warp: 1 | dim0: 16, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0); lane: 1 -> (0,8), 2 -> (0,1), 4 -> (0,2), 8 -> (0,4), 16 -> (0,0); warp: 1 | dim0: 16, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0); lane: 1 -> (0,8), 2 -> (0,1), 4 -> (0,2), 8 -> (0,4), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 16">

// An accumulator of f16 is wide inside of the dot. A lane of gfx11 has eight rows that follow each other (gpu/targets/Fragments.cpp).
// CHECK-LABEL: func.func @wmma(
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.f16"(%{{.*}}) : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
func.func @wmma(%x: f16, %y: f16, %z: f16, %p: !tile.ptr<f16>) attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 1 : i64} {
  %a = tile.splat %x : f16 -> tensor<16x16xf16, #a>
  %b = tile.splat %y : f16 -> tensor<16x16xf16, #b>
  %c = tile.splat %z : f16 -> tensor<16x16xf16, #c>
  %d = tile.dot %a, %b, %c : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf16, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,4); warp: 1 | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (4,0); warp: 1 | dim0: 8, dim1: 32">
#wrong = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (0,16); warp: 1 | dim0: 32, dim1: 32">

func.func @wrong_layout(%x: f16, %y: f16, %z: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %a = tile.splat %x : f16 -> tensor<32x8xf16, #a>
  %b = tile.splat %y : f16 -> tensor<8x32xf16, #b>
  %c = tile.splat %z : f32 -> tensor<32x32xf32, #wrong>
  // expected-error @below {{needs operands and accumulator in the fragments of llvm.amdgcn.mfma.f32.32x32x8f16 or of its transpose}}
  %d = tile.dot %a, %b, %c : tensor<32x8xf16, #a>, tensor<8x32xf16, #b> -> tensor<32x32xf32, #wrong>
  return
}

// -----

func.func @print(%x: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  // expected-error @below {{'tile.device_print' op has no lowering for amd:gfx942, whose driver offers no text output; the host prints}}
  tile.device_print "x", %x : f32
  return
}
