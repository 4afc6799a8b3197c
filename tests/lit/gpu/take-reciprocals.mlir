// SPDX-License-Identifier: Apache-2.0
// A block that takes several programs divides their numbers by numbers of the launch with a multiplication.
// RUN: fattn-opt %s -tilegpu-take-reciprocals | FileCheck %s

// One reciprocal in front of the programs for both divisions by %heads. z * (extent of x) + x counts all programs, and so does its remainder.
// CHECK-LABEL: func.func @heads_and_batches
// CHECK: %[[SOME:.*]] = arith.maxui %arg1, %c1_i32 : i32
// CHECK: %[[R:.*]] = arith.divui %c-1_i32, %[[SOME]] : i32
// CHECK: %[[SOMEGROUP:.*]] = arith.maxui %arg2, %{{.*}} : i32
// CHECK: %[[RGROUP:.*]] = arith.divui %{{.*}}, %[[SOMEGROUP]] : i32
// CHECK: tilegpu.each_program
// CHECK: %[[ALL:.*]] = arith.addi
// CHECK: %[[WIDE:.*]] = arith.extui %[[ALL]] : i32 to i64
// CHECK: %[[WIDER:.*]] = arith.extui %[[R]] : i32 to i64
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[WIDE]], %[[WIDER]] : i64
// CHECK: %[[UPPER:.*]] = arith.shrui %[[PRODUCT]], %c32_i64 : i64
// CHECK: %[[GUESS:.*]] = arith.trunci %[[UPPER]] : i64 to i32
// CHECK: %[[BACK:.*]] = arith.muli %[[GUESS]], %arg1 : i32
// CHECK: %[[REST:.*]] = arith.subi %[[ALL]], %[[BACK]] : i32
// CHECK: %[[MORE:.*]] = arith.cmpi uge, %[[REST]], %arg1 : i32
// CHECK: %[[LESS:.*]] = arith.subi %[[REST]], %arg1 : i32
// CHECK: %[[HEAD:.*]] = arith.select %[[MORE]], %[[LESS]], %[[REST]] : i32
// CHECK: arith.shrui
// CHECK: %[[ONE:.*]] = arith.extui %{{.*}} : i1 to i32
// CHECK: %[[BATCH:.*]] = arith.addi %{{.*}}, %[[ONE]] : i32
// CHECK: arith.extui %[[HEAD]] : i32 to i64
// CHECK: arith.extui %[[RGROUP]] : i32 to i64
// CHECK-NOT: arith.divsi
// CHECK-NOT: arith.remsi
func.func @heads_and_batches(%p: i32, %heads: i32, %group: i32) attributes {tile.kernel, tilegpu.repeats, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.non_negative = array<i64: 1, 2>} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %columns = tile.num_programs x : i32
    %row = arith.muli %z, %columns : i32
    %all = arith.addi %row, %x : i32
    %head = arith.remsi %all, %heads : i32
    %batch = arith.divsi %all, %heads : i32
    %shared = arith.divsi %head, %group : i32
    %sum = arith.addi %batch, %shared : i32
  }
  return
}

// What may be negative, and what does not count programs: an index plus a number, and a row of another axis than the index.
// CHECK-LABEL: func.func @others
// CHECK-NOT: divui
func.func @others(%p: i32, %heads: i32, %any: i32) attributes {tile.kernel, tilegpu.repeats, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.non_negative = array<i64: 1>} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %a = arith.divsi %x, %any : i32
    %next = arith.addi %x, %any : i32
    %b = arith.divsi %next, %heads : i32
    %rows = tile.num_programs y : i32
    %row = arith.muli %z, %rows : i32
    %all = arith.addi %row, %x : i32
    %c = arith.remsi %all, %heads : i32
    %ab = arith.addi %a, %b : i32
    %sum = arith.addi %ab, %c : i32
  }
  return
}
