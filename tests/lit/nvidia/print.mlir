// device_print: the first thread prints scalars, each holder of a tile its elements; what has to be computed stands before the branch.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse | FileCheck %s

#line = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,0); warp: 1 | dim0: 16, dim1: 2">

// CHECK-DAG: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: "[program %d,%d,%d] 100%% of n: i32 %d\0A\00"
// CHECK-DAG: "[program %d,%d,%d] 100%% of n: bf16 [16, 2] (%d,%d) %.4g\0A\00"
// CHECK-DAG: "true\00"
// CHECK-LABEL: func.func @print
// CHECK-COUNT-4: llvm.alloca
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: llvm.call @vprintf
// CHECK-NEXT: }
// CHECK: %[[HOLDER:.*]] = arith.cmpi eq
// CHECK: arith.extf %{{.*}} : bf16 to f64
// CHECK: scf.if %[[HOLDER]] {
// CHECK-NEXT: llvm.call @vprintf
// CHECK-NEXT: }
// CHECK: scf.if %[[HOLDER]] {
// CHECK-NEXT: llvm.call @vprintf
// CHECK-NEXT: }
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: llvm.call @vprintf
func.func @print(%p: !tile.ptr<bf16>, %n: i32, %flag: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c16 = arith.constant 16 : i64
  %w = tile.make_block_ptr %p, shape [%c16, %c2], strides [%c2, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x2xbf16>
  %x = tile.load %w : !tile.block_ptr<16x2xbf16> -> tensor<16x2xbf16, #line>
  tile.device_print "100% of n", %n, %x, %flag : i32, tensor<16x2xbf16, #line>, i1
  return
}
