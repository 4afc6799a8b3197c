// Memory under conditions, and atomic additions.
// RUN: fattn-opt %s -amd-lower-tensors -canonicalize -cse -split-input-file | FileCheck %s

#v = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (16), 8 -> (32), 16 -> (64), 32 -> (128); warp: 1 | dim0: 256">

// A load takes zeros of the code object where it is outside, without a branch; a store branches.
// CHECK: llvm.mlir.global internal constant @fattn_zeros() {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<16 x i8>
// CHECK-LABEL: func.func @checked(
// CHECK: %[[ZEROS:.*]] = llvm.mlir.addressof @fattn_zeros
// CHECK: %[[PLACE:.*]] = llvm.select %[[INSIDE:.*]], %{{.*}}, %[[ZEROS]]
// CHECK: %[[X:.*]] = llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: select
// CHECK: scf.if
// CHECK-NEXT: llvm.store
func.func @checked(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64 {tile.divisibility = 4 : i64}) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %in = tile.make_block_ptr %p, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %out = tile.make_block_ptr %q, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %x = tile.load %in {boundary_check = array<i64: 0>, padding = 0.0 : f32} : !tile.block_ptr<256xf32> -> tensor<256xf32, #v>
  tile.store %out, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<256xf32>, tensor<256xf32, #v>
  return
}

// A window's elements are added one by one.
// CHECK-LABEL: func.func @accumulate(
// CHECK-COUNT-4: llvm.atomicrmw fadd %{{.*}} syncscope("agent") monotonic : !llvm.ptr<1>, f32
func.func @accumulate(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %x: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c256 = arith.constant 256 : i64
  %w = tile.make_block_ptr %p, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %xs = tile.splat %x : f32 -> tensor<256xf32, #v>
  tile.accumulate %w, %xs : !tile.block_ptr<256xf32>, tensor<256xf32, #v>
  return
}

// -----

#v = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (16), 8 -> (32), 16 -> (64), 32 -> (128); warp: 1 | dim0: 256">

// CHECK-LABEL: func.func @padded_by_ones(
// CHECK: %[[X:.*]] = llvm.load %{{.*}} -> vector<4xf32>
// CHECK: llvm.select %{{.*}}, %[[X]], %{{.*}} : i1, vector<4xf32>
func.func @padded_by_ones(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64 {tile.divisibility = 4 : i64}) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c256 = arith.constant 256 : i64
  %in = tile.make_block_ptr %p, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %out = tile.make_block_ptr %q, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %x = tile.load %in {boundary_check = array<i64: 0>, padding = 1.0 : f32} : !tile.block_ptr<256xf32> -> tensor<256xf32, #v>
  tile.store %out, %x : !tile.block_ptr<256xf32>, tensor<256xf32, #v>
  return
}

// -----

// Each is added once, by the block's first thread.
// CHECK-LABEL: func.func @atomic(
// CHECK: scf.if
// CHECK-NEXT: llvm.atomicrmw fadd %{{.*}} syncscope("agent") monotonic : !llvm.ptr<1>, f32
// CHECK: scf.if
// CHECK-NEXT: llvm.atomicrmw add %{{.*}} syncscope("agent") monotonic : !llvm.ptr<1>, i32
func.func @atomic(%p: !tile.ptr<f32>, %q: !tile.ptr<i32>, %x: f32, %n: i32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %0 = tile.atomic_add %p, %x : !tile.ptr<f32>, f32 -> f32
  %1 = tile.atomic_add %q, %n : !tile.ptr<i32>, i32 -> i32
  return
}

// CHECK-LABEL: func.func @orders(
// CHECK: llvm.atomicrmw add %{{.*}} syncscope("agent") acq_rel : !llvm.ptr<1>, i32
func.func @orders(%q: !tile.ptr<i32>, %n: i32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %1 = tile.atomic_add %q, %n order acq_rel : !tile.ptr<i32>, i32 -> i32
  return
}

// -----

#v = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (16), 8 -> (32), 16 -> (64), 32 -> (128); warp: 1 | dim0: 256">

// A branch around a load is its predicate: one behind the load would wait for the data.
// CHECK-LABEL: func.func @under_a_condition(
// CHECK-SAME: %[[TAKEN:[^ ]*]]: i1)
// CHECK: llvm.select %[[TAKEN]], %{{.*}}, %{{.*}} : i1, !llvm.ptr<1>
// CHECK: llvm.load
// CHECK-NOT: scf.if
// CHECK: llvm.store
func.func @under_a_condition(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %c: i1) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 256 : i64
  %zeros = arith.constant dense<0.0> : tensor<256xf32, #v>
  %in = tile.make_block_ptr %p, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %out = tile.make_block_ptr %q, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %x = scf.if %c -> tensor<256xf32, #v> {
    %loaded = tile.load %in : !tile.block_ptr<256xf32> -> tensor<256xf32, #v>
    scf.yield %loaded : tensor<256xf32, #v>
  } else {
    scf.yield %zeros : tensor<256xf32, #v>
  }
  tile.store %out, %x : !tile.block_ptr<256xf32>, tensor<256xf32, #v>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32); warp: 1 | dim0: 4, dim1: 64">

// Rows that all lanes read together lie inside or outside for all of them: a row of zeros stands for one outside, by an address in scalar
// registers, to which the load adds the lane's offset.
// CHECK: llvm.mlir.global internal constant @fattn_row_of_zeros() {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>
// CHECK-LABEL: func.func @rows_of_lanes(
// CHECK: %[[ROW:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[ZEROS:.*]] : i1, !llvm.ptr<1>
// CHECK: %[[LANES:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[ROW]][%[[LANES]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: llvm.load %[[FIRST]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[NEXT:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[ZEROS]] : i1, !llvm.ptr<1>
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[NEXT]][%[[LANES]]]
// CHECK: llvm.load %[[SECOND]]
func.func @rows_of_lanes(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %n: i64, %stride: i64, %row: i64) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %in = tile.make_block_ptr %p, shape [%n, %c64], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
  %out = tile.make_block_ptr %q, shape [%n, %c64], strides [%stride, %c1], offsets [%row, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
  %x = tile.load %in {boundary_check = array<i64: 0>} : !tile.block_ptr<4x64xf32> -> tensor<4x64xf32, #rows>
  tile.store %out, %x : !tile.block_ptr<4x64xf32>, tensor<4x64xf32, #rows>
  return
}
