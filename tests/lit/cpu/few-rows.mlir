// Four rows times the rows of an array, block by block: the lanes run along the contraction, nothing is transposed, and the lines of the next
// blocks are asked for.
// RUN: fattn-opt %s --host-level=host:avx512 -cpu-lower-tiles -cse | FileCheck %s
// RUN: fattn-opt %s --host-level=host:avx2 -cpu-lower-tiles -cse | FileCheck %s --check-prefix=AVX2
// RUN: fattn-opt %s --host-level=host:avx512bf16 -cpu-lower-tiles -cse | FileCheck %s --check-prefix=PAIRS

// 4 x 4 sums fill a vector of 16: 16 multiply-adds a trip, then four rounds. A trip asks for four lines, 20 rows of 512 bytes in front.
// CHECK-LABEL: func.func @next_block
// CHECK: scf.for
// CHECK: scf.for
// CHECK: "llvm.intr.prefetch"
// CHECK: %{{.*}}:16 = scf.for
// CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %c20_i64
// CHECK-COUNT-4: "llvm.intr.prefetch"
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK: vector.extract_strided_slice {{.*}} {offsets = [0], sizes = [4], strides = [1]}

// 4 x 2 sums fill a vector of 8; two vectors a trip, so that each line is asked for once.
// AVX2-LABEL: func.func @next_block
// AVX2: %{{.*}}:8 = scf.for
// AVX2-COUNT-2: "llvm.intr.prefetch"
// AVX2-NOT: "llvm.intr.prefetch"
// AVX2-COUNT-16: math.fma {{.*}} : vector<8xf32>
// AVX2-NOT: math.fma
func.func @next_block(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %n = arith.constant 64 : i64
  %k = arith.constant 128 : i64
  %ap = tile.make_block_ptr %a, shape[%four, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  %at = tile.load %ap : !tile.block_ptr<4x128xf32> -> tensor<4x128xf32>
  scf.for %i = %o to %rows step %n : i64 {
    %bp = tile.make_block_ptr %b, shape[%rows, %k], strides[%k, %one], offsets[%i, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
    %cp = tile.make_block_ptr %c, shape[%four, %rows], strides[%rows, %one], offsets[%o, %i] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
    %bt = tile.load %bp : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
    %t = tile.trans %bt, [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %d = tile.dot %at, %t, %zero : tensor<4x128xf32>, tensor<128x64xf32> -> tensor<4x64xf32>
    tile.store %cp, %d : !tile.block_ptr<4x64xf32>, tensor<4x64xf32>
  }
  return
}

// Sixteen rows fill the lanes, and each element of the other rows is broadcast. Each of the 128 trips asks for one of the 128 lines of 16
// rows, 20 rows in front.
// AVX2-LABEL: func.func @sixteen_rows
// CHECK-LABEL: func.func @sixteen_rows
// CHECK: scf.for
// CHECK-COUNT-16: "llvm.intr.prefetch"
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: %{{.*}}:16 = scf.for %[[K:.*]] = %c0_i64 to %c128_i64
// CHECK: %[[ELEMENT:.*]] = arith.muli %[[K]], %c16_i64
// CHECK: arith.divui %[[ELEMENT]], %c128_i64
// CHECK: arith.remui %[[ELEMENT]], %c128_i64
// CHECK: arith.addi %{{.*}}, %c20_i64
// CHECK-COUNT-1: "llvm.intr.prefetch"
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
func.func @sixteen_rows(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %sixteen = arith.constant 16 : i64
  %n = arith.constant 64 : i64
  %k = arith.constant 128 : i64
  %ap = tile.make_block_ptr %a, shape[%sixteen, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<16x128xf32>
  %at = tile.load %ap : !tile.block_ptr<16x128xf32> -> tensor<16x128xf32>
  scf.for %i = %o to %rows step %n : i64 {
    %bp = tile.make_block_ptr %b, shape[%rows, %k], strides[%k, %one], offsets[%i, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
    %cp = tile.make_block_ptr %c, shape[%sixteen, %rows], strides[%one, %sixteen], offsets[%o, %i] : !tile.ptr<f32> -> !tile.block_ptr<16x64xf32>
    %bt = tile.load %bp : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
    %t = tile.trans %bt, [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %d = tile.dot %at, %t, %zero : tensor<16x128xf32>, tensor<128x64xf32> -> tensor<16x64xf32>
    tile.store %cp, %d : !tile.block_ptr<16x64xf32>, tensor<16x64xf32>
  }
  return
}

// What the next trip reads lies elsewhere (every other block): nothing is asked for.
// AVX2-LABEL: func.func @elsewhere
// CHECK-LABEL: func.func @elsewhere
// CHECK-NOT: "llvm.intr.prefetch"
func.func @elsewhere(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %step = arith.constant 128 : i64
  %k = arith.constant 128 : i64
  %ap = tile.make_block_ptr %a, shape[%four, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  %at = tile.load %ap : !tile.block_ptr<4x128xf32> -> tensor<4x128xf32>
  scf.for %i = %o to %rows step %step : i64 {
    %bp = tile.make_block_ptr %b, shape[%rows, %k], strides[%k, %one], offsets[%i, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
    %cp = tile.make_block_ptr %c, shape[%four, %rows], strides[%rows, %one], offsets[%o, %i] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
    %bt = tile.load %bp : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
    %t = tile.trans %bt, [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %d = tile.dot %at, %t, %zero : tensor<4x128xf32>, tensor<128x64xf32> -> tensor<4x64xf32>
    tile.store %cp, %d : !tile.block_ptr<4x64xf32>, tensor<4x64xf32>
  }
  return
}

// Two rows of bf16 that are pairs for the second product are interleaved where they are read: no copy of the operand.
// PAIRS-LABEL: func.func @rows_of_pairs
// PAIRS: scf.for
// PAIRS: llvm.load {{.*}} -> vector<32xbf16>
// PAIRS: llvm.load {{.*}} -> vector<32xbf16>
// PAIRS: vector.shuffle {{.*}} : vector<32xbf16>, vector<32xbf16>
// PAIRS-NOT: llvm.store
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @rows_of_pairs(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %c: !tile.ptr<f32>) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %n = arith.constant 64 : i64
  %ap = tile.make_block_ptr %a, shape[%four, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<bf16> -> !tile.block_ptr<4x64xbf16>
  %bp = tile.make_block_ptr %b, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %cp = tile.make_block_ptr %c, shape[%four, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
  %at = tile.load %ap : !tile.block_ptr<4x64xbf16> -> tensor<4x64xbf16>
  %bt = tile.load %bp : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %at, %bt, %zero : tensor<4x64xbf16>, tensor<64x64xbf16> -> tensor<4x64xf32>
  tile.store %cp, %d : !tile.block_ptr<4x64xf32>, tensor<4x64xf32>
  return
}

// The next trip's rows lie where a table says: its number is loaded before the product, of the same trip where it is the last one, and behind this
// window's rows those of the next one are asked for.
// CHECK-LABEL: func.func @pages
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[SUM:.*]] = arith.addi %[[I]], %{{.*}} : i32
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[SUM]], %{{.*}} : i32
// CHECK: %[[NEXT:.*]] = arith.select %[[MORE]], %[[SUM]], %[[I]] : i32
// CHECK: %[[THERE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW:.*]], %{{.*}} : i64
// CHECK: %[[BASE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : !llvm.ptr
// CHECK: %[[AT:.*]] = arith.select %[[INSIDE]], %[[ROW]], %{{.*}} : i64
// CHECK: %[[LINE:.*]] = llvm.getelementptr %[[BASE]]
// CHECK: "llvm.intr.prefetch"(%[[LINE]])
func.func @pages(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %table: !tile.ptr<i32>, %pages: i32, %page: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %k = arith.constant 128 : i64
  %n = arith.constant 64 : i64
  %first = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %ap = tile.make_block_ptr %a, shape[%four, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  %at = tile.load %ap : !tile.block_ptr<4x128xf32> -> tensor<4x128xf32>
  scf.for %i = %first to %pages step %step : i32 {
    %there = tile.addptr %table, %i : !tile.ptr<i32>, i32
    %number = tile.gather %there : !tile.ptr<i32> -> i32
    %wide = arith.extsi %number : i32 to i64
    %offset = arith.muli %wide, %page : i64
    %rows = tile.addptr %b, %offset : !tile.ptr<f32>, i64
    %bp = tile.make_block_ptr %rows, shape[%n, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
    %j = arith.extsi %i : i32 to i64
    %column = arith.muli %j, %n : i64
    %cp = tile.make_block_ptr %c, shape[%four, %page], strides[%page, %one], offsets[%o, %column] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
    %bt = tile.load %bp : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
    %t = tile.trans %bt, [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %d = tile.dot %at, %t, %zero : tensor<4x128xf32>, tensor<128x64xf32> -> tensor<4x64xf32>
    tile.store %cp, %d : !tile.block_ptr<4x64xf32>, tensor<4x64xf32>
  }
  return
}

// Two tables: the place of the second number follows from the first one, which this trip may change. Nothing is asked for.
// CHECK-LABEL: func.func @pages_of_pages
// CHECK-NOT: "llvm.intr.prefetch"
func.func @pages_of_pages(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %table: !tile.ptr<i32>, %pages: i32, %page: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %k = arith.constant 128 : i64
  %n = arith.constant 64 : i64
  %first = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %ap = tile.make_block_ptr %a, shape[%four, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<4x128xf32>
  %at = tile.load %ap : !tile.block_ptr<4x128xf32> -> tensor<4x128xf32>
  scf.for %i = %first to %pages step %step : i32 {
    %there = tile.addptr %table, %i : !tile.ptr<i32>, i32
    %middle = tile.gather %there : !tile.ptr<i32> -> i32
    %second = tile.addptr %table, %middle : !tile.ptr<i32>, i32
    %number = tile.gather %second : !tile.ptr<i32> -> i32
    %wide = arith.extsi %number : i32 to i64
    %offset = arith.muli %wide, %page : i64
    %rows = tile.addptr %b, %offset : !tile.ptr<f32>, i64
    %bp = tile.make_block_ptr %rows, shape[%n, %k], strides[%k, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
    %j = arith.extsi %i : i32 to i64
    %column = arith.muli %j, %n : i64
    %cp = tile.make_block_ptr %c, shape[%four, %page], strides[%page, %one], offsets[%o, %column] : !tile.ptr<f32> -> !tile.block_ptr<4x64xf32>
    %bt = tile.load %bp : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32>
    %t = tile.trans %bt, [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %d = tile.dot %at, %t, %zero : tensor<4x128xf32>, tensor<128x64xf32> -> tensor<4x64xf32>
    tile.store %cp, %d : !tile.block_ptr<4x64xf32>, tensor<4x64xf32>
  }
  return
}
