// The instructions of the general NVIDIA path come out of LLVM's back end as they should: asynchronous copies, matrix loads, mma.sync, ex2.
// RUN: fattn-opt %s --emit-ptx=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: fattn-opt %s --emit-ptx=chip=sm_90 | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: fattn-opt %s --emit-ptx=chip=sm_120a | FileCheck %s --check-prefixes=CHECK,SM120
// RUN: not fattn-opt %s --emit-ptx=chip=sm_75 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: no code can be generated for the chip 'sm_75'
// WRONG: legal are sm_80, sm_86

// SM80: .version 7.0
// SM80: .target sm_80
// SM90: .version 7.8
// SM90: .target sm_90
// SM120: .version 8.7
// SM120: .target sm_120a
// CHECK: .extern .shared .align 1024 .b8 smem[]
// CHECK: .visible .entry kernel(
// CHECK: .maxntid 32
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group 0
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ex2.approx.ftz.f32
llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

llvm.func @kernel(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 32>} {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %dst = llvm.getelementptr %smem[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<16 x i8>
  %src = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<16 x i8>
  nvvm.cp.async.shared.global %dst, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  nvvm.barrier0
  %m = nvvm.ldmatrix %dst {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %a0 = llvm.extractvalue %m[0] : !llvm.struct<(i32, i32, i32, i32)>
  %a1 = llvm.extractvalue %m[1] : !llvm.struct<(i32, i32, i32, i32)>
  %a2 = llvm.extractvalue %m[2] : !llvm.struct<(i32, i32, i32, i32)>
  %a3 = llvm.extractvalue %m[3] : !llvm.struct<(i32, i32, i32, i32)>
  %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%a0, %a1] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %x = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%x) : (f32) -> f32
  %at = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %e, %at : f32, !llvm.ptr<1>
  llvm.return
}
