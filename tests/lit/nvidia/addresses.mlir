// SPDX-License-Identifier: Apache-2.0
// A constant offset is part of the instruction also where the address is the same in every trip.
// RUN: fattn-opt %s -emit-ptx=chip=sm_80 | FileCheck %s

llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// CHECK: .extern .shared .align 1024 .b8 shared[];
// CHECK-LABEL: .entry k(
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, [%r{{[0-9]+}}+1024];
llvm.func @k(%n: i32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %base = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %own = llvm.getelementptr %base[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
  %next = llvm.getelementptr %own[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  llvm.br ^loop(%zero : i32)
^loop(%i: i32):
  nvvm.barrier0
  %m = nvvm.ldmatrix %next {layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %word = llvm.extractvalue %m[0] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.store volatile %word, %out : i32, !llvm.ptr<1>
  %j = llvm.add %i, %one : i32
  %more = llvm.icmp "slt" %j, %n : i32
  llvm.cond_br %more, ^loop(%j : i32), ^done
^done:
  llvm.return
}
