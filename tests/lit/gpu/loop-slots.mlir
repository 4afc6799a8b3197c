// A buffer that a loop fills through registers, or by a copy that cannot run ahead, has a slot for each iteration that reads it.
// DEFINE: %{layouts} = -tilegpu-assign-layouts="target=nvidia:sm_80 warps=4" -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize
// RUN: fattn-opt %s %{layouts} -tilegpu-schedule-loops="stages=2 forced='A a B1'" -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,LATE
// RUN: fattn-opt %s %{layouts} -tilegpu-schedule-loops="stages=2 forced='A a B'" -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,TEXT

// One operand of both products, whose rows are not aligned: B of the iteration before reads what A's iteration must not overwrite.
// CHECK-LABEL: func.func @staged_operand
// LATE: tilegpu.alloc : !tilegpu.buffer<2 x 16x32xbf16
// TEXT: tilegpu.alloc : !tilegpu.buffer<1 x 16x32xbf16
// LATE: scf.for {{.*}}%[[IN:[a-z0-9]+]] = %{{[a-z0-9_]+}}, %[[OUT:[a-z0-9]+]] = %c0_i32
// LATE: tilegpu.store_buffer %{{.*}}, %[[B:[0-9]+]][%[[IN]]]
// LATE: tilegpu.load_buffer %[[B]][%[[IN]]]
// LATE: tilegpu.load_buffer %[[B]][%[[OUT]]]
func.func @staged_operand(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %x: !tile.ptr<bf16>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %rows = arith.constant 256 : i64
  %width = arith.constant 33 : i64
  %size = arith.constant 64 : i64
  %c32 = arith.constant 32 : i64
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %qp = tile.make_block_ptr %q, shape [%size, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<64x32xbf16>
  %qt = tile.load %qp : !tile.block_ptr<64x32xbf16> -> tensor<64x32xbf16>
  %acc = scf.for %i = %c0 to %n step %c16 iter_args(%a = %none) -> (tensor<64x32xf32>) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %x, shape [%rows, %c32], strides [%width, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<16x32xbf16>
    %t = tile.load %p : !tile.block_ptr<16x32xbf16> -> tensor<16x32xbf16>
    %tt = tile.trans %t, [1, 0] : tensor<16x32xbf16> -> tensor<32x16xbf16>
    %s = tile.dot %qt, %tt, %zero : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
    %e = math.exp2 %s : tensor<64x16xf32>
    %b = arith.truncf %e : tensor<64x16xf32> to tensor<64x16xbf16>
    %d = tile.dot %b, %t, %a : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  %op = tile.make_block_ptr %out, shape [%size, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<64x32xf32>
  tile.store %op, %acc : !tile.block_ptr<64x32xf32>, tensor<64x32xf32>
  return
}
