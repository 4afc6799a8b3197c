// A dot becomes register blocks: accumulators live in vectors over the whole contraction; operands are read where they lie.
// RUN: fattn-opt %s -cpu-lower-tiles -cse | FileCheck %s
// RUN: fattn-opt %s --host-level=host:avx2 -cpu-lower-tiles -cse | FileCheck %s --check-prefix=AVX2

// f32 row-major operands inside their arrays: no packing, rows of b are the vectors, elements of a are broadcast. The block 8 x 2
// fills 16 accumulators.
// CHECK-LABEL: func.func @f32
// CHECK-SAME: attributes {fattn.scratch_bytes = {{[0-9]+}} : i64}
// CHECK: scf.for
// CHECK: %{{.*}}:16 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.load {{.*}} -> f32
// CHECK: vector.broadcast
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK-NOT: vector.shuffle
// AVX2-LABEL: func.func @f32
// AVX2: math.fma {{.*}} : vector<8xf32>
func.func @f32(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %ap = tile.make_block_ptr %a, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %bp = tile.make_block_ptr %b, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %cp = tile.make_block_ptr %c, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %at = tile.load %ap : !tile.block_ptr<32x32xf32> -> tensor<32x32xf32>
  %bt = tile.load %bp : !tile.block_ptr<32x32xf32> -> tensor<32x32xf32>
  %d = tile.dot %at, %bt, %zero : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %cp, %d : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  return
}

// Rows that lie apart in an array, and whose elements are read 8 times each: both operands are copied before the product, b's 256 columns
// at a distance of 272.
// CHECK-LABEL: func.func @many_reads
// CHECK: llvm.load {{.*}} -> vector<32xf32>
// CHECK: arith.muli %{{.*}}, %c272_i64
// CHECK: llvm.store {{.*}} : vector<32xf32>
// CHECK: llvm.load {{.*}} -> vector<32xf32>
// CHECK: llvm.store {{.*}} : vector<32xf32>
// CHECK: %{{.*}}:16 = scf.for
// CHECK: arith.muli %{{.*}}, %c272_i64
// CHECK-COUNT-16: math.fma
func.func @many_reads(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %pitch: i64) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<64x256xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 256 : i64
  %ap = tile.make_block_ptr %a, shape[%n, %n], strides[%pitch, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x32xf32>
  %bp = tile.make_block_ptr %b, shape[%n, %n], strides[%pitch, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x256xf32>
  %cp = tile.make_block_ptr %c, shape[%n, %n], strides[%pitch, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<64x256xf32>
  %at = tile.load %ap : !tile.block_ptr<64x32xf32> -> tensor<64x32xf32>
  %bt = tile.load %bp : !tile.block_ptr<32x256xf32> -> tensor<32x256xf32>
  %d = tile.dot %at, %bt, %zero : tensor<64x32xf32>, tensor<32x256xf32> -> tensor<64x256xf32>
  tile.store %cp, %d : !tile.block_ptr<64x256xf32>, tensor<64x256xf32>
  return
}

// bf16: pairs along the contraction. a's rows hold them already and are read in place; b's rows are interleaved once.
// CHECK-LABEL: func.func @bf16
// CHECK: vector.shuffle {{.*}} : vector<16xbf16>, vector<16xbf16>
// CHECK: llvm.load {{.*}} {alignment = 2 : i64} : !llvm.ptr -> i32
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// AVX2-LABEL: func.func @bf16
// AVX2-NOT: dpbf16ps
// AVX2: math.fma {{.*}} : vector<8xf32>
func.func @bf16(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %c: !tile.ptr<f32>) attributes {tile.kernel} {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %o = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %ap = tile.make_block_ptr %a, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %bp = tile.make_block_ptr %b, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %cp = tile.make_block_ptr %c, shape[%n, %n], strides[%n, %one], offsets[%o, %o] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
  %at = tile.load %ap : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  %bt = tile.load %bp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  %d = tile.dot %at, %bt, %zero : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  tile.store %cp, %d : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  return
}
