// SPDX-License-Identifier: Apache-2.0
// A kernel with tensor maps has one parameter: its arguments at their natural alignment, and maps of 128 bytes at multiples of 64.
// RUN: fattn-opt %s -pass-pipeline='builtin.module(llvm.func(nvidia-pack-parameters))' | FileCheck %s

// A pointer at 0, an i32 at 8, an i64 at 16, an f32 at 24, and two maps at 64 and 192. What nobody uses is not loaded.
// CHECK-LABEL: llvm.func @maps
// CHECK-SAME: (%[[ALL:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<320 x i8>, nvvm.grid_constant})
// CHECK-DAG: %[[P:.*]] = llvm.getelementptr %[[ALL]][0]
// CHECK-DAG: %[[POINTER:.*]] = llvm.load %[[P]] invariant {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr<1>
// CHECK-DAG: %[[N:.*]] = llvm.getelementptr %[[ALL]][8]
// CHECK-DAG: %[[COUNT:.*]] = llvm.load %[[N]] invariant {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK-NOT: llvm.getelementptr %[[ALL]][16]
// CHECK-DAG: %[[F:.*]] = llvm.getelementptr %[[ALL]][24]
// CHECK-DAG: %[[SCALE:.*]] = llvm.load %[[F]] invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NOT: llvm.getelementptr %[[ALL]][64]
// CHECK: %[[MAP:.*]] = llvm.getelementptr %[[ALL]][192]
// CHECK: llvm.store %[[COUNT]], %[[POINTER]]
// CHECK: llvm.store %[[SCALE]], %[[POINTER]]
// CHECK: llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %[[MAP]]
llvm.func @maps(%p: !llvm.ptr<1>, %n: i32, %unused: i64, %scale: f32, %m: !llvm.ptr, %map: !llvm.ptr)
    attributes {nvvm.kernel, tilegpu.tensor_maps = [{}, {}]} {
  llvm.store %n, %p : i32, !llvm.ptr<1>
  llvm.store %scale, %p : f32, !llvm.ptr<1>
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %map : (!llvm.ptr) -> ()
  llvm.return
}

// Without maps arguments stay, and so does what is no kernel.
// CHECK-LABEL: llvm.func @plain
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %{{.*}}: i32)
llvm.func @plain(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  llvm.return
}
// CHECK-LABEL: llvm.func @helper
// CHECK-SAME: (%{{.*}}: i32)
llvm.func @helper(%n: i32) {
  llvm.return
}
