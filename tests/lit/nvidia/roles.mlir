// SPDX-License-Identifier: Apache-2.0
// Warps that only copy, the registers they hand on, turns, and barriers of the computing warps alone.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

// CHECK-LABEL: func.func @roles
// CHECK: nvvm.barrier0
// CHECK: %[[APART:.*]] = arith.cmpi uge, %[[WARP:.*]], %{{.*}} : i32
// CHECK: scf.if %[[APART]] {
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[WARP]], %{{.*}} : i32
// CHECK: %[[ONE:.*]] = nvvm.elect.sync
// CHECK: arith.andi %[[FIRST]], %[[ONE]]
// CHECK: } else {
// CHECK: nvvm.setmaxregister increase 240
// CHECK: arith.divui %[[WARP]]
// CHECK: scf.if
// CHECK: bar.arrive $0, $1;
// CHECK: bar.sync $0, $1;
// CHECK: bar.arrive $0, $1;
// CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
func.func @roles() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  tilegpu.init_barriers
  tilegpu.barrier
  %apart = tilegpu.is_copier
  scf.if %apart {
    tilegpu.set_registers 24
    %one = tilegpu.is_copier thread 0
    scf.if %one {
    }
  } else {
    tilegpu.set_registers 240 more
    tilegpu.turn_pass first
    tilegpu.turn_wait
    tilegpu.turn_pass
    tilegpu.barrier
  }
  return
}

#rows = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (32), 4 -> (64) | dim0: 128">

// The least number of a warp: that of each thread, then of all lanes.
// CHECK-LABEL: func.func @least
// CHECK: %[[OWN:.*]] = arith.minsi
// CHECK: nvvm.redux.sync min %[[OWN]]
func.func @least(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %rows = tile.arange 0 : tensor<128xi32, #rows>
  %least = tilegpu.warp_least %rows : tensor<128xi32, #rows>
  tile.device_print "least %d", %least : i32
  return
}

// The last number of a group: a constant for each, by the group's number.
// CHECK-LABEL: func.func @last
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync
// CHECK: %[[GROUP:.*]] = arith.divui %[[WARP]], %{{.*}} : i32
// CHECK: %[[FIRST:.*]] = arith.constant 63 : i32
// CHECK: %[[LAST:.*]] = arith.constant 127 : i32
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %[[GROUP]], %{{.*}} : i32
// CHECK: arith.select %[[SECOND]], %[[LAST]], %[[FIRST]] : i32
func.func @last() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %last = tilegpu.group_last #rows
  tile.device_print "last %d", %last : i32
  return
}
