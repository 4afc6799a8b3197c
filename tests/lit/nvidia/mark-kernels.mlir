// SPDX-License-Identifier: Apache-2.0
// Kernels get the attributes by which NVVM knows them; other functions do not.
// RUN: fattn-opt %s -pass-pipeline='builtin.module(llvm.func(nvidia-mark-kernels))' | FileCheck %s

// CHECK: llvm.func @kernel
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 256>
llvm.func @kernel(%p: !llvm.ptr<1>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 8 : i64} {
  llvm.return
}

// A kernel may ask that a multiprocessor holds several of its programs.
// CHECK: llvm.func @resident
// CHECK-SAME: nvvm.minctasm = 3 : i32
llvm.func @resident(%p: !llvm.ptr<1>) attributes {tile.kernel, tile.resident = 3 : i32, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  llvm.return
}

// A kernel that should start beside the one in front of it waits for that one first, and lets the next one start. Before sm_90 there is no
// such thing.
// CHECK: llvm.func @overlaps
// CHECK-SAME: tile.overlaps
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK: llvm.func @too_early
// CHECK-NOT: tile.overlaps
// CHECK-NOT: tile.relays
// CHECK-NEXT: llvm.return
llvm.func @overlaps(%p: !llvm.ptr<1>) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 4 : i64} {
  llvm.return
}
llvm.func @too_early(%p: !llvm.ptr<1>) attributes {tile.kernel, tile.overlaps, tile.relays, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  llvm.return
}

// One that waits at a place of its own lets the next one start there.
// CHECK: llvm.func @waits_later
// CHECK-NEXT: llvm.load
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK-NEXT: llvm.return
llvm.func @waits_later(%p: !llvm.ptr<1>) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 4 : i64} {
  %x = llvm.load volatile %p : !llvm.ptr<1> -> i32
  llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}" : () -> ()
  llvm.return
}

// One that relays lets the next one start at once.
// CHECK: llvm.func @relays
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: llvm.return
llvm.func @relays(%p: !llvm.ptr<1>) attributes {tile.kernel, tile.overlaps, tile.relays, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 4 : i64} {
  llvm.return
}

// CHECK: llvm.func @helper
// CHECK-NOT: nvvm
llvm.func @helper() {
  llvm.return
}
