// The grid, pointers and memory.
// RUN: fattn-opt --interpret %s | FileCheck %s

// CHECK-LABEL: @grid
// CHECK-NEXT: [0,0,0] at 0 0 0 2 3 1
// CHECK-NEXT: [1,0,0] at 1 0 0 2 3 1
// CHECK-NEXT: [0,1,0] at 0 1 0 2 3 1
// CHECK-NEXT: [1,1,0] at 1 1 0 2 3 1
// CHECK-NEXT: [0,2,0] at 0 2 0 2 3 1
// CHECK-NEXT: [1,2,0] at 1 2 0 2 3 1
func.func @grid() attributes {tile.grid = array<i32: 2, 3>} {
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %z = tile.program_id z : i32
  %nx = tile.num_programs x : i32
  %ny = tile.num_programs y : i32
  %nz = tile.num_programs z : i32
  tile.device_print "at", %x, %y, %z, %nx, %ny, %nz : i32, i32, i32, i32, i32, i32
  return
}

// A window of 2x3 at (1, 2) of a 3x4 array: column 4 is outside, and padded.
// CHECK-LABEL: @load_padded
// CHECK-NEXT: [0,0,0] x {{\[}}[6, 7, -1], [10, 11, -1]]
// CHECK-NEXT: [0,0,0] y {{\[}}[6, 7, 0], [10, 11, 0]]
func.func @load_padded(%p: !tile.ptr<f32> {tile.init = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]> : tensor<12xf32>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %0 = tile.make_block_ptr %p, shape [%c3, %c4], strides [%c4, %c1], offsets [%c0, %c2] : !tile.ptr<f32> -> !tile.block_ptr<2x3xf32>
  %1 = tile.advance %0, [%c1, %c0] : !tile.block_ptr<2x3xf32>
  %x = tile.load %1 {boundary_check = array<i64: 1>, padding = -1.0 : f32} : !tile.block_ptr<2x3xf32> -> tensor<2x3xf32>
  tile.device_print "x", %x : tensor<2x3xf32>
  %y = tile.load %1 {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<2x3xf32> -> tensor<2x3xf32>
  tile.device_print "y", %y : tensor<2x3xf32>
  return
}

// Only what is inside is written; the stride of 0 in the source repeats its row.
// CHECK-LABEL: @store_checked
// CHECK-NEXT: src: 1 2
// CHECK-NEXT: dst: 9 9 9 1 2 9 1 2 9
func.func @store_checked(%src: !tile.ptr<f16> {tile.name = "src", tile.init = dense<[1.0, 2.0]> : tensor<2xf16>},
                         %dst: !tile.ptr<f16> {tile.name = "dst", tile.init = dense<9.0> : tensor<9xf16>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %0 = tile.make_block_ptr %src, shape [%c3, %c2], strides [%c0, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<3x2xf16>
  %x = tile.load %0 : !tile.block_ptr<3x2xf16> -> tensor<3x2xf16>
  %1 = tile.make_block_ptr %dst, shape [%c3, %c3], strides [%c3, %c1], offsets [%c1, %c0] : !tile.ptr<f16> -> !tile.block_ptr<3x2xf16>
  tile.store %1, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<3x2xf16>, tensor<3x2xf16>
  return
}

// Two programs add to the same rows; what is outside stays.
// CHECK-LABEL: @accumulate_checked
// CHECK-NEXT: dst: 9 9 9 13 13 9 13 13 9
func.func @accumulate_checked(%dst: !tile.ptr<f16> {tile.name = "dst", tile.init = dense<9.0> : tensor<9xf16>}) attributes {tile.grid = array<i32: 2>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %x = arith.constant dense<2.0> : tensor<3x2xf16>
  %1 = tile.make_block_ptr %dst, shape [%c3, %c3], strides [%c3, %c1], offsets [%c1, %c0] : !tile.ptr<f16> -> !tile.block_ptr<3x2xf16>
  tile.accumulate %1, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<3x2xf16>, tensor<3x2xf16>
  return
}

// Masked-off pointers are far outside and are not touched.
// CHECK-LABEL: @masked
// CHECK-NEXT: [0,0,0] gathered [10, 0, 12] [10, -1, 12] 11
// CHECK-NEXT: [0,0,0] old [10, 0, 12]
// The scatter writes 10 and 12 back, the atomic add doubles them.
// CHECK-NEXT: p: 20 7 24
func.func @masked(%p: !tile.ptr<i32> {tile.name = "p", tile.init = dense<[10, 11, 12]> : tensor<3xi32>}) {
  %0 = tile.splat %p : !tile.ptr<i32> -> tensor<3x!tile.ptr<i32>>
  %offsets = arith.constant dense<[0, 1000000000, 2]> : tensor<3xi32>
  %other = arith.constant dense<-1> : tensor<3xi32>
  %mask = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %1 = tile.addptr %0, %offsets : tensor<3x!tile.ptr<i32>>, tensor<3xi32>
  %x = tile.gather %1, mask %mask : tensor<3xi1> : tensor<3x!tile.ptr<i32>> -> tensor<3xi32>
  %y = tile.gather %1, mask %mask : tensor<3xi1>, other %other : tensor<3xi32> : tensor<3x!tile.ptr<i32>> -> tensor<3xi32>
  %c1 = arith.constant 1 : i64
  %2 = tile.addptr %p, %c1 : !tile.ptr<i32>, i64
  %z = tile.gather %2 : !tile.ptr<i32> -> i32
  tile.device_print "gathered", %x, %y, %z : tensor<3xi32>, tensor<3xi32>, i32
  %c7 = arith.constant 7 : i32
  tile.scatter %2, %c7 : !tile.ptr<i32>, i32
  tile.scatter %1, %y, mask %mask : tensor<3xi1> : tensor<3x!tile.ptr<i32>>, tensor<3xi32>
  %old = tile.atomic_add %1, %x, mask %mask : tensor<3xi1> : tensor<3x!tile.ptr<i32>>, tensor<3xi32> -> tensor<3xi32>
  tile.device_print "old", %old : tensor<3xi32>
  return
}

// Four programs, two elements each, add to one f16 number: 2048 + 1 rounds to 2048.
// CHECK-LABEL: @atomic_add_rounds
// CHECK-NEXT: sum: 2048 8
func.func @atomic_add_rounds(%p: !tile.ptr<f16> {tile.name = "sum", tile.init = dense<[2048.0, 0.0]> : tensor<2xf16>}) attributes {tile.grid = array<i32: 4>} {
  %c1 = arith.constant 1 : i64
  %one = arith.constant 1.0 : f16
  %ones = arith.constant dense<1.0> : tensor<2xf16>
  %0 = tile.atomic_add %p, %one : !tile.ptr<f16>, f16 -> f16
  %1 = tile.addptr %p, %c1 : !tile.ptr<f16>, i64
  %2 = tile.splat %1 : !tile.ptr<f16> -> tensor<2x!tile.ptr<f16>>
  %3 = tile.atomic_add %2, %ones : tensor<2x!tile.ptr<f16>>, tensor<2xf16> -> tensor<2xf16>
  return
}

// CHECK-LABEL: @bytes
// CHECK-NEXT: [0,0,0] got true -128 448 12
func.func @bytes(%b: !tile.ptr<i1> {tile.init = dense<true> : tensor<1xi1>}, %i: !tile.ptr<i8> {tile.init = dense<-128> : tensor<1xi8>},
                 %e: !tile.ptr<f8E4M3FN> {tile.init = dense<448.0> : tensor<1xf8E4M3FN>}, %n: i64 {tile.init = 12 : i64}) {
  %0 = tile.gather %b : !tile.ptr<i1> -> i1
  %1 = tile.gather %i : !tile.ptr<i8> -> i8
  %2 = tile.gather %e : !tile.ptr<f8E4M3FN> -> f8E4M3FN
  tile.device_print "got", %0, %1, %2, %n : i1, i8, f8E4M3FN, i64
  return
}
