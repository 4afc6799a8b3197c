// Kernels get the attributes by which ROCDL knows them, and the block's shared memory its size; other functions and arrays do not change.
// RUN: fattn-opt %s -amd-mark-kernels -split-input-file | FileCheck %s
// RUN: fattn-opt %s -amd-mark-kernels -split-input-file | FileCheck %s --check-prefix=SHARED

// SHARED: llvm.mlir.global internal @fattn_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x i8> {
// SHARED-NEXT: llvm.mlir.poison
// SHARED: llvm.mlir.global internal @other() {addr_space = 3 : i32} : !llvm.array<4 x i32>
llvm.mlir.global external @fattn_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.mlir.global internal @other() {addr_space = 3 : i32} : !llvm.array<4 x i32> {
  %0 = llvm.mlir.poison : !llvm.array<4 x i32>
  llvm.return %0 : !llvm.array<4 x i32>
}

// CHECK: llvm.func @kernel
// CHECK-SAME: rocdl.flat_work_group_size = "256,256", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>
llvm.func @kernel(%p: !llvm.ptr<1>) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 4096 : i64} {
  llvm.return
}

// CHECK: llvm.func @helper
// CHECK-NOT: rocdl
llvm.func @helper() {
  llvm.return
}

// -----

// Waves of 32 lanes.
// CHECK: llvm.func @rdna
// CHECK-SAME: rocdl.reqd_work_group_size = array<i32: 128, 1, 1>
llvm.func @rdna(%p: !llvm.ptr<1>) attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 4 : i64} {
  llvm.return
}

// -----

// The least number of waves a SIMD is an attribute of LLVM's.
// CHECK: llvm.func @bounded
// CHECK-SAME: passthrough = {{\[}}["amdgpu-agpr-alloc", "0"], ["amdgpu-waves-per-eu", "2"]]
llvm.func @bounded(%p: !llvm.ptr<1>) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64, tilegpu.waves = 2 : i64} {
  llvm.return
}
