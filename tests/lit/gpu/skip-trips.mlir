// SPDX-License-Identifier: Apache-2.0
// A warp group leaves out the last trips in which all its rows are masked, and keeps in step with the others.
// RUN: fattn-opt %s -tilegpu-skip-trips | FileCheck %s

#s = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 1">
#row = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (32), 4 -> (64) | dim0: 128">
#columns = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,0), 8 -> (0,0), 16 -> (0,0); warp: 1 -> (0,0), 2 -> (0,0), 4 -> (0,0) | dim0: 1, dim1: 16">
#line = #tilegpu.regs<"register: 1 -> (1), 2 -> (8); lane: 1 -> (2), 2 -> (4), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 -> (0), 2 -> (0), 4 -> (0) | dim0: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// Rows first + 0 to first + 127, of which a group has 64: the trips with n <= first + its last row are needed. The others wait, take
// their turns, and release.
// CHECK-LABEL: func.func @groups_of_rows
// CHECK-SAME: (%{{.*}}: !tile.block_ptr<16x16xbf16>, %[[END:.*]]: i32, %[[FIRST:.*]]: i32,
// CHECK: %[[LAST:.*]] = tilegpu.group_last #regs
// CHECK: %[[BEHIND:.*]] = arith.addi %[[LAST]], %c1_i32{{.*}} : i32
// CHECK: %[[KEPT:.*]] = arith.maxsi %[[FIRST]], %c-129_i32 : i32
// CHECK: %[[FROM:.*]] = arith.minsi %[[KEPT]], %c2147483518_i32 : i32
// CHECK: %[[ROW:.*]] = arith.addi %[[FROM]], %[[BEHIND]] : i32
// CHECK: arith.minsi %[[END]], %[[ROW]] : i32
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[END]], %c2147483517_i32 : i32
// CHECK: %[[WHOLE:.*]] = arith.minsi %{{.*}}, %[[END]] : i32
// CHECK: %[[STOP:.*]] = arith.select %[[FITS]], %[[WHOLE]], %[[END]] : i32
// CHECK-NEXT: %[[DONE:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[STOP]] step
// CHECK: arith.select
// CHECK: %{{.*}} = scf.for %{{.*}} = %[[STOP]] to %[[END]] step %{{.*}} iter_args(%[[SLOT:.*]] = %[[DONE]]#1) -> (i32)
// CHECK-NEXT: %[[TOKEN:.*]] = tilegpu.copy_async %{{.*}}, %{{.*}}[%[[SLOT]]] map 0[] {tilegpu.made = "elsewhere"}
// CHECK-NEXT: tilegpu.copy_wait %[[TOKEN]] in %{{.*}}[%[[SLOT]]]
// CHECK-NEXT: tilegpu.turn_wait
// CHECK-NEXT: tilegpu.turn_pass
// CHECK-NEXT: tilegpu.release %{{.*}}[%[[SLOT]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.xori %[[SLOT]], %{{.*}} : i32
// CHECK-NEXT: scf.yield %[[NEXT]] : i32
// CHECK-NOT: scf.for
func.func @groups_of_rows(%p: !ptr, %end: i32, %first: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %base = tile.splat %first : i32 -> tensor<128xi32, #row>
  %moved = arith.addi %numbers, %base : tensor<128xi32, #row>
  %rows = tile.expand_dims %moved, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r:2 = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %zero, %slot = %c0) -> (tensor<128x16xf32, #s>, i32) : i32 {
    %t = tilegpu.copy_async %p, %buffer[%slot] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %t in %buffer[%slot] : !buf
    tilegpu.turn_wait
    tilegpu.turn_pass
    %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero {tile.skippable} : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%slot] : !buf
    %next = arith.xori %slot, %c1 : i32
    scf.yield %sum, %next : tensor<128x16xf32, #s>, i32
  }
  return
}

// Without the program's promise all trips are computed.
// CHECK-LABEL: func.func @not_promised
// CHECK-NOT: tilegpu.group_last
func.func @not_promised(%p: !ptr, %end: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %rows = tile.expand_dims %numbers, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %zero) -> (tensor<128x16xf32, #s>) : i32 {
    %t = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %t in %buffer[%c0] : !buf
    %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%c0] : !buf
    scf.yield %sum : tensor<128x16xf32, #s>
  }
  return
}

// A step has more rows than lie between two groups: few trips could be left out.
// CHECK-LABEL: func.func @a_step_of_many_rows
// CHECK-NOT: tilegpu.group_last
func.func @a_step_of_many_rows(%p: !ptr, %end: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %rows = tile.expand_dims %numbers, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r = scf.for %i = %c0 to %end step %c128 iter_args(%acc = %zero) -> (tensor<128x16xf32, #s>) : i32 {
    %t = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %t in %buffer[%c0] : !buf
    %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero {tile.skippable} : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%c0] : !buf
    scf.yield %sum : tensor<128x16xf32, #s>
  }
  return
}

// A wait behind a release of the same trip might need another group's release of that trip, which this group's turn keeps back.
// CHECK-LABEL: func.func @waits_behind_a_release
// CHECK-NOT: tilegpu.group_last
func.func @waits_behind_a_release(%p: !ptr, %end: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %other = tilegpu.alloc {barriers = 4128 : i64, offset = 2048 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %rows = tile.expand_dims %numbers, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %zero) -> (tensor<128x16xf32, #s>) : i32 {
    %t = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %t in %buffer[%c0] : !buf
    %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero {tile.skippable} : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%c0] : !buf
    %u = tilegpu.copy_async %p, %other[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %u in %other[%c0] : !buf
    tilegpu.release %other[%c0] : !buf
    scf.yield %sum : tensor<128x16xf32, #s>
  }
  return
}

// A trip computes on what the trip before has copied, so that a part of the last trip stands behind the loop, among arithmetic and the
// release of another buffer. The trips that are left out go behind that part, and take the slots that come after its.
// CHECK-LABEL: func.func @a_part_behind_the_loop
// CHECK: tilegpu.group_last
// CHECK: %[[DONE:.*]]:3 = scf.for {{.*}} -> (tensor<128x16xf32, {{.*}}>, i32, !tilegpu.token)
// CHECK: scf.yield
// CHECK: tilegpu.release %{{.*}}[%c0_i32]
// CHECK-NEXT: tilegpu.copy_wait %[[DONE]]#2 in %[[BUFFER:.*]][%[[DONE]]#1]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[DONE]]#0, %[[DONE]]#0
// CHECK-NEXT: tilegpu.release %[[BUFFER]][%[[DONE]]#1]
// CHECK: scf.for {{.*}} iter_args({{.*}} = %[[DONE]]#1
// CHECK: tilegpu.copy_wait %{{.*}} in %[[BUFFER]]
// CHECK: tilegpu.release %[[BUFFER]]
// CHECK: tile.store %{{.*}}, %[[SUM]]
func.func @a_part_behind_the_loop(%p: !ptr, %o: !tile.block_ptr<128x16xf32>, %end: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %other = tilegpu.alloc {barriers = 4128 : i64, offset = 2048 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %rows = tile.expand_dims %numbers, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %first = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
  %r:3 = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %zero, %slot = %c0, %token = %first) -> (tensor<128x16xf32, #s>, i32, !tilegpu.token) : i32 {
    %next = arith.xori %slot, %c1 : i32
    %t = tilegpu.copy_async %p, %buffer[%next] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %token in %buffer[%slot] : !buf
    %ahead = arith.addi %i, %c16 : i32
    %at = tile.splat %ahead : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero {tile.skippable} : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%slot] : !buf
    scf.yield %sum, %next, %t : tensor<128x16xf32, #s>, i32, !tilegpu.token
  }
  tilegpu.release %other[%c0] : !buf
  tilegpu.copy_wait %r#2 in %buffer[%r#1] : !buf
  %twice = arith.addf %r#0, %r#0 : tensor<128x16xf32, #s>
  tilegpu.release %buffer[%r#1] : !buf
  tile.store %o, %twice : !tile.block_ptr<128x16xf32>, tensor<128x16xf32, #s>
  return
}

// What has an effect between the loop and the rest of its last trip would come before the trips that are left out.
// CHECK-LABEL: func.func @an_effect_before_the_part
// CHECK-NOT: tilegpu.group_last
func.func @an_effect_before_the_part(%p: !ptr, %o: !tile.block_ptr<128x16xf32>, %end: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %numbers = tile.arange 0 : tensor<128xi32, #row>
  %rows = tile.expand_dims %numbers, 1 : tensor<128xi32, #row> -> tensor<128x1xi32, #rows>
  %bound = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %first = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
  %r:3 = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %zero, %slot = %c0, %token = %first) -> (tensor<128x16xf32, #s>, i32, !tilegpu.token) : i32 {
    %next = arith.xori %slot, %c1 : i32
    %t = tilegpu.copy_async %p, %buffer[%next] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
    tilegpu.copy_wait %token in %buffer[%slot] : !buf
    %ahead = arith.addi %i, %c16 : i32
    %at = tile.splat %ahead : i32 -> tensor<1x16xi32, #columns>
    %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
    %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %mask = arith.cmpi sle, %a, %bound : tensor<128x16xi32, #s>
    %chosen = arith.select %mask, %s, %zero {tile.skippable} : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    %sum = arith.addf %acc, %chosen : tensor<128x16xf32, #s>
    tilegpu.release %buffer[%slot] : !buf
    scf.yield %sum, %next, %t : tensor<128x16xf32, #s>, i32, !tilegpu.token
  }
  tile.store %o, %r#0 : !tile.block_ptr<128x16xf32>, tensor<128x16xf32, #s>
  tilegpu.copy_wait %r#2 in %buffer[%r#1] : !buf
  tilegpu.release %buffer[%r#1] : !buf
  return
}

// No mask, but a store that is checked along its rows, and a masked one that says the same: a group of which no row is stored leaves out
// all trips.
// CHECK-LABEL: func.func @rows_that_are_not_stored
// CHECK-SAME: (%{{.*}}: !tile.block_ptr<16x16xbf16>, %{{.*}}: !tile.ptr<f32>, %[[END:.*]]: i32, %[[FIRST:.*]]: i32, %[[ROWS:[a-z0-9]+]]: i64, %{{.*}}: f32)
// CHECK: %[[WIDE:.*]] = arith.extsi %[[FIRST]] : i32 to i64
// CHECK: %[[LAST:.*]] = tilegpu.group_last #regs
// CHECK-NEXT: %[[LAST64:.*]] = arith.extsi %[[LAST]] : i32 to i64
// CHECK-NEXT: %[[ROWS_OF_GROUP:.*]] = arith.constant 63 : i64
// CHECK-NEXT: %[[OWN:.*]] = arith.subi %[[LAST64]], %[[ROWS_OF_GROUP]] : i64
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[WIDE]], %[[OWN]] : i64
// CHECK-NEXT: %[[STORES:.*]] = arith.cmpi slt, %[[ROW]], %[[ROWS]] : i64
// CHECK-NEXT: %[[STOP:.*]] = arith.select %[[STORES]], %[[END]], %c0_i32 : i32
// CHECK-NEXT: scf.for %{{.*}} = %c0_i32 to %[[STOP]] step
// CHECK: scf.for %{{.*}} = %[[STOP]] to %[[END]] step
// CHECK: tilegpu.release
func.func @rows_that_are_not_stored(%p: !ptr, %o: !tile.ptr<f32>, %end: i32, %first: i32, %length: i64, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128xf32, #row>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %copier = tilegpu.is_copier
  scf.if %copier {
  } else {
    %from = arith.extsi %first : i32 to i64
    %r = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %s) -> (tensor<128xf32, #row>) : i32 {
      %t = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
      tilegpu.copy_wait %t in %buffer[%c0] : !buf
      %sum = arith.addf %acc, %s : tensor<128xf32, #row>
      tilegpu.release %buffer[%c0] : !buf
      scf.yield %sum : tensor<128xf32, #row>
    }
    %numbers = tile.arange 0 : tensor<128xi32, #row>
    %base = tile.splat %first : i32 -> tensor<128xi32, #row>
    %rows = arith.addi %numbers, %base : tensor<128xi32, #row>
    %wide = arith.extsi %rows : tensor<128xi32, #row> to tensor<128xi64, #row>
    %bound = tile.splat %length : i64 -> tensor<128xi64, #row>
    %mask = arith.cmpi slt, %wide, %bound : tensor<128xi64, #row>
    %base_ptr = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
    %at = tile.addptr %base_ptr, %wide : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi64, #row>
    tile.scatter %at, %r, mask %mask : tensor<128xi1, #row> : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  }
  return
}

// A store without a mask: every row is stored.
// CHECK-LABEL: func.func @rows_that_are_all_stored
// CHECK-NOT: tilegpu.group_last
func.func @rows_that_are_all_stored(%p: !ptr, %o: !tile.ptr<f32>, %end: i32, %first: i32, %length: i64, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128xf32, #row>
  %buffer = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  %copier = tilegpu.is_copier
  scf.if %copier {
  } else {
    %from = arith.extsi %first : i32 to i64
    %r = scf.for %i = %c0 to %end step %c16 iter_args(%acc = %s) -> (tensor<128xf32, #row>) : i32 {
      %t = tilegpu.copy_async %p, %buffer[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
      tilegpu.copy_wait %t in %buffer[%c0] : !buf
      %sum = arith.addf %acc, %s : tensor<128xf32, #row>
      tilegpu.release %buffer[%c0] : !buf
      scf.yield %sum : tensor<128xf32, #row>
    }
    %numbers = tile.arange 0 : tensor<128xi32, #row>
    %base_ptr = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
    %at = tile.addptr %base_ptr, %numbers : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
    tile.scatter %at, %r : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  }
  return
}
