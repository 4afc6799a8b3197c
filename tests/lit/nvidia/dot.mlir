// Matrix instructions: which, in what order, and what is refused.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// Two steps along k, in each both fragments of the accumulator: the second step adds to the results of the first, in their order.
// CHECK-LABEL: func.func @bf16(
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[D0:[0-9]+]] = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"({{.*}}, %[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]])
// CHECK: %[[D00:[0-9]+]] = llvm.extractvalue %[[D0]][0]
// CHECK: %[[D1:[0-9]+]] = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"({{.*}}, %[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]])
// CHECK: %[[D10:[0-9]+]] = llvm.extractvalue %[[D1]][0]
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"({{.*}}, %[[D00]], %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}})
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"({{.*}}, %[[D10]], %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}})
// CHECK-NOT: llvm.nvvm.mma
func.func @bf16(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x32xbf16, #a>, tensor<32x16xbf16, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// An accumulator of f16: two elements a register.
// CHECK-LABEL: func.func @f16(
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f16.f16"({{.*}}) : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
// CHECK-NOT: llvm.nvvm.mma
func.func @f16(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %out: !tile.ptr<f16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x16xf16>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x16xf16>
  %x = tile.load %pa : !tile.block_ptr<32x32xf16> -> tensor<32x32xf16, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xf16> -> tensor<32x16xf16, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf16, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<32x16xf16, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf16>, tensor<32x16xf16, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// An accumulator of f32.
// CHECK-LABEL: func.func @f16_f32(
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// CHECK-NOT: llvm.nvvm.mma
func.func @f16_f32(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x16xf16>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x32xf16> -> tensor<32x32xf16, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xf16> -> tensor<32x16xf16, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (8,0), 2 -> (0,4); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (4,0), 2 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 8, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// Operands of f32 are rounded, each once.
// CHECK-LABEL: func.func @tf32(
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK-NOT: llvm.nvvm.{{mma|f2tf32}}
func.func @tf32(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 8 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x8xf32>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x16xf32>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x8xf32> -> tensor<32x8xf32, #a>
  %y = tile.load %pb : !tile.block_ptr<8x16xf32> -> tensor<8x16xf32, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  %d = tile.dot %x, %y, %acc precision tf32 : tensor<32x8xf32, #a>, tensor<8x16xf32, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (8,0), 2 -> (0,4); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (4,0), 2 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 8, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// Three products: low x high of both fragments, high x low of both, high x high of both. The parts are numbers, whatever the operand:
// tests/unit/nvidia/Tf32PartsTest.cpp has their values.
// CHECK-LABEL: func.func @ieee(
// CHECK-NOT: llvm.nvvm.f2tf32
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 3.4019929E+38 : f32
// CHECK-DAG: %[[FRACTION:.*]] = arith.constant -8192 : i32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X:.*]] : f32 to i32
// CHECK: %[[SIZE:.*]] = math.absf %[[X]] : f32
// CHECK: %[[SPECIAL:.*]] = arith.cmpf uge, %[[SIZE]], %[[LIMIT]] : f32
// CHECK: %[[CARRIED:.*]] = arith.addi %[[BITS]], %{{.*}} : i32
// CHECK: arith.select %[[SPECIAL]], %[[BITS]], %[[CARRIED]] : i32
// CHECK: %[[HIGH:.*]] = arith.select %[[SPECIAL]], %{{.*}}, %{{.*}} : i32
// CHECK: %[[BACK:.*]] = arith.bitcast %[[HIGH]] : i32 to f32
// CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[BACK]] : f32
// CHECK: %[[LOW:.*]] = arith.bitcast %[[REST]] : f32 to i32
// CHECK: arith.andi %[[LOW]], %[[FRACTION]] : i32
// CHECK-NOT: llvm.nvvm.f2tf32
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK-NOT: llvm.nvvm.{{mma|f2tf32}}
func.func @ieee(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 8 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x8xf32>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x16xf32>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x8xf32> -> tensor<32x8xf32, #a>
  %y = tile.load %pb : !tile.block_ptr<8x16xf32> -> tensor<8x16xf32, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x8xf32, #a>, tensor<8x16xf32, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (8,0), 8 -> (0,16); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (16,0), 8 -> (0,8); lane: 1 -> (4,0), 2 -> (8,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// 8-bit types, one instruction for each pair of types.
// CHECK-LABEL: func.func @f8(
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32"
// CHECK-NOT: llvm.nvvm.mma
func.func @f8(%a: !tile.ptr<f8E4M3FN>, %b: !tile.ptr<f8E5M2>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_89", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f8E4M3FN> -> !tile.block_ptr<32x32xf8E4M3FN>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f8E5M2> -> !tile.block_ptr<32x16xf8E5M2>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x32xf8E4M3FN> -> tensor<32x32xf8E4M3FN, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xf8E5M2> -> tensor<32x16xf8E5M2, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x32xf8E4M3FN, #a>, tensor<32x16xf8E5M2, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (8,0), 8 -> (0,16); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (16,0), 8 -> (0,8); lane: 1 -> (4,0), 2 -> (8,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

// Integers wrap.
// CHECK-LABEL: func.func @i8(
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8"
// CHECK-NOT: llvm.nvvm.mma
func.func @i8(%a: !tile.ptr<i8>, %b: !tile.ptr<i8>, %out: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<i8> -> !tile.block_ptr<32x32xi8>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<i8> -> !tile.block_ptr<32x16xi8>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<i32> -> !tile.block_ptr<32x16xi32>
  %x = tile.load %pa : !tile.block_ptr<32x32xi8> -> tensor<32x32xi8, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xi8> -> tensor<32x16xi8, #b>
  %acc = arith.constant dense<0> : tensor<32x16xi32, #c>
  %d = tile.dot %x, %y, %acc : tensor<32x32xi8, #a>, tensor<32x16xi8, #b> -> tensor<32x16xi32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xi32>, tensor<32x16xi32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (8,0), 8 -> (0,16); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (16,0), 8 -> (0,8); lane: 1 -> (4,0), 2 -> (8,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 16">

func.func @no_f8(%a: !tile.ptr<f8E4M3FN>, %b: !tile.ptr<f8E4M3FN>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<f8E4M3FN> -> !tile.block_ptr<32x32xf8E4M3FN>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f8E4M3FN> -> !tile.block_ptr<32x16xf8E4M3FN>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x32xf8E4M3FN> -> tensor<32x32xf8E4M3FN, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xf8E4M3FN> -> tensor<32x16xf8E4M3FN, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  // expected-error @below {{has no matrix instruction of sm_80 for a of}}
  %d = tile.dot %x, %y, %acc : tensor<32x32xf8E4M3FN, #a>, tensor<32x16xf8E4M3FN, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}

// -----

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 32">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0) | dim0: 32, dim1: 16">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,0) | dim0: 32, dim1: 16">

func.func @wrong_layout(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %out: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %k = arith.constant 32 : i64
  %pa = tile.make_block_ptr %a, shape [%c32, %k], strides [%k, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %pb = tile.make_block_ptr %b, shape [%k, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %pc = tile.make_block_ptr %out, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %x = tile.load %pa : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16, #a>
  %y = tile.load %pb : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16, #b>
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #c>
  // expected-error @below {{needs operands and accumulator in the fragments of mma.m16n8k16, A with the accumulator's rows and B with its columns in every warp}}
  %d = tile.dot %x, %y, %acc : tensor<32x32xbf16, #a>, tensor<32x16xbf16, #b> -> tensor<32x16xf32, #c>
  tile.store %pc, %d : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #c>
  return
}
