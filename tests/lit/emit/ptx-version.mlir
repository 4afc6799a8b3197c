// SPDX-License-Identifier: Apache-2.0
// Additions of vectors ask for PTX 8.1; vectors of shared memory do not.
// RUN: fattn-opt %s -split-input-file --emit-ptx=chip=sm_90 | FileCheck %s

// CHECK: .version 7.8
// CHECK: st.shared.v4.f32
llvm.func @stores(%p: !llvm.ptr<3>, %x: f32) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "st.shared.v4.f32 [$0], {$1, $1, $1, $1};", "r,f" %p, %x : (!llvm.ptr<3>, f32) -> ()
  llvm.return
}

// -----

// CHECK: .version 8.1
// CHECK: red.relaxed.gpu.global.add.v4.f32
llvm.func @adds(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $1, $1, $1};", "l,f" %p, %x : (!llvm.ptr<1>, f32) -> ()
  llvm.return
}
