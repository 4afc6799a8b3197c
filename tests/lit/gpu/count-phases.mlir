// SPDX-License-Identifier: Apache-2.0
// Slots and phases of rings from one count of trips, which a block carries from program to program.
// RUN: fattn-opt %s -tilegpu-count-phases -canonicalize -cse | FileCheck %s

#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]
!four = !tilegpu.buffer<4 x 16x16xbf16, #b>
!two = !tilegpu.buffer<2 x 16x16xbf16, #b>
!three = !tilegpu.buffer<3 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// K is a trip ahead of V, and both go on from where the program before has ended. The tile of each program is told by its number.
// CHECK-LABEL: func.func @programs
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
// CHECK: %[[Q:.*]] = tilegpu.alloc {{.*}}tilegpu.slot_by_program
// CHECK: %[[K:.*]] = tilegpu.alloc {barriers = 4128
// CHECK: %[[V:.*]] = tilegpu.alloc {barriers = 4192
// CHECK: tilegpu.each_program carry(%[[C0]]) {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[N:.*]]: i32, %[[G:.*]]: i32):
// CHECK: %[[NQ:.*]] = arith.shrui %[[N]], %[[C1]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[Q]][%{{.*}}] phase %[[NQ]]
// CHECK: %[[S0:.*]] = arith.andi %[[G]], %[[C3]]
// CHECK: %[[P0:.*]] = arith.shrui %[[G]], %[[C2]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[K]][%[[S0]]] phase %[[P0]]
// CHECK: %[[G1:.*]] = arith.addi %[[G]], %[[C1]]
// CHECK: %[[S1:.*]] = arith.andi %[[G1]], %[[C3]]
// CHECK: %[[P1:.*]] = arith.shrui %[[G1]], %[[C2]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[K]][%[[S1]]] if %{{.*}} phase %[[P1]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[V]][%{{.*}}] phase
// CHECK: %[[END:.*]] = scf.for %{{.*}} iter_args(%[[T:.*]] = %[[G]]) -> (i32)
// CHECK: %[[T2:.*]] = arith.addi %[[T]], %[[C2]]
// CHECK: arith.andi %[[T2]], %[[C3]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[K]]
// CHECK: %[[T1:.*]] = arith.addi %[[T]], %[[C1]]
// CHECK: arith.andi %[[T1]], %[[C3]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[V]]
// CHECK: scf.yield
// CHECK: %[[NEXT:.*]] = arith.addi %[[END]], %[[C1]]
// CHECK: tilegpu.next_program %[[NEXT]]
// CHECK: } else {
// CHECK: tilegpu.each_program carry(%[[C0]]) {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[N:.*]]: i32, %[[G:.*]]: i32):
// CHECK: %[[NQ:.*]] = arith.shrui %[[N]], %[[C1]]
// CHECK: tilegpu.copy_wait %{{.*}} in %[[Q]][%{{.*}}] phase %[[NQ]]
// CHECK: %[[P0:.*]] = arith.shrui %[[G]], %[[C2]]
// CHECK: tilegpu.copy_wait %{{.*}} in %[[K]][%{{.*}}] phase %[[P0]]
// CHECK: %[[END:.*]] = scf.for %{{.*}} iter_args(%[[T:.*]] = %[[G]]) -> (i32)
// CHECK: %[[T1:.*]] = arith.addi %[[T]], %[[C1]]
// CHECK: %[[SK:.*]] = arith.andi %[[T1]], %[[C3]]
// CHECK: %[[PK:.*]] = arith.shrui %[[T1]], %[[C2]]
// CHECK: tilegpu.copy_wait %{{.*}} in %[[K]][%[[SK]]] phase %[[PK]]
// CHECK: %[[SV:.*]] = arith.andi %[[T]], %[[C3]]
// CHECK: %[[PV:.*]] = arith.shrui %[[T]], %[[C2]]
// CHECK: tilegpu.copy_wait %{{.*}} in %[[V]][%[[SV]]] phase %[[PV]]
// CHECK: tilegpu.release %[[V]][%[[SV]]]
// CHECK: %[[SV:.*]] = arith.andi %[[END]], %[[C3]]
// CHECK: %[[PV:.*]] = arith.shrui %[[END]], %[[C2]]
// CHECK: tilegpu.copy_wait %{{.*}} in %[[V]][%[[SV]]] phase %[[PV]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[END]], %[[C1]]
// CHECK: tilegpu.next_program %[[NEXT]]
func.func @programs(%p: !ptr, %end: i32, %more: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %q = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64, tilegpu.slot_by_program} : !two
  %k = tilegpu.alloc {barriers = 4128 : i64, offset = 1024 : i64} : !four
  %v = tilegpu.alloc {barriers = 4192 : i64, offset = 2048 : i64} : !four
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier
  scf.if %copier {
    %one = tilegpu.is_copier thread 0
    scf.if %one {
      tilegpu.each_program {
      ^bb0(%x: i32, %y: i32, %z: i32, %n: i32):
        %turn = arith.andi %n, %c1 : i32
        %tq = tilegpu.copy_async %p, %q[%turn] map 0[] {tilegpu.made = "alone"} : !ptr, !two
        %k0 = tilegpu.copy_async %p, %k[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !four
        %k1 = tilegpu.copy_async %p, %k[%c1] if %more map 0[] {tilegpu.made = "alone"} : !ptr, !four
        %v0 = tilegpu.copy_async %p, %v[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !four
        %slots:2 = scf.for %i = %c0 to %end step %c1 iter_args(%sk = %c2, %sv = %c1) -> (i32, i32) : i32 {
          %kt = tilegpu.copy_async %p, %k[%sk] if %more map 0[] {tilegpu.made = "alone"} : !ptr, !four
          %vt = tilegpu.copy_async %p, %v[%sv] if %more map 0[] {tilegpu.made = "alone"} : !ptr, !four
          %k_next = arith.addi %sk, %c1 : i32
          %k_slot = arith.andi %k_next, %c3 : i32
          %v_next = arith.addi %sv, %c1 : i32
          %v_slot = arith.andi %v_next, %c3 : i32
          scf.yield %k_slot, %v_slot : i32, i32
        }
      }
    }
  } else {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32, %n: i32):
      %turn = arith.andi %n, %c1 : i32
      %tq = tilegpu.copy_async %p, %q[%turn] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !two
      %k0 = tilegpu.copy_async %p, %k[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !four
      %v0 = tilegpu.copy_async %p, %v[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !four
      tilegpu.copy_wait %tq in %q[%turn] : !two
      tilegpu.copy_wait %k0 in %k[%c0] : !four
      tilegpu.release %k[%c0] : !four
      %slots:4 = scf.for %i = %c0 to %end step %c1 iter_args(%sk = %c1, %sv = %c0, %kt = %k0, %vt = %v0) -> (i32, i32, !tilegpu.token, !tilegpu.token) : i32 {
        tilegpu.copy_wait %kt in %k[%sk] : !four
        tilegpu.copy_wait %vt in %v[%sv] : !four
        tilegpu.release %k[%sk] : !four
        tilegpu.release %v[%sv] : !four
        %k_next = arith.addi %sk, %c1 : i32
        %k_slot = arith.andi %k_next, %c3 : i32
        scf.yield %k_slot, %sk, %kt, %vt : i32, i32, !tilegpu.token, !tilegpu.token
      }
      tilegpu.copy_wait %slots#3 in %v[%slots#1] : !four
      tilegpu.release %v[%slots#1] : !four
      tilegpu.release %q[%turn] : !two
    }
  }
  return
}

// One program a block, and two slots: the count begins with 0.
// CHECK-LABEL: func.func @one_program
// CHECK: scf.for %{{.*}} iter_args(%[[T:.*]] = %c0_i32) -> (i32)
// CHECK: %[[S:.*]] = arith.andi %[[T]], %c1_i32
// CHECK: %[[P:.*]] = arith.shrui %[[T]], %c1_i32
// CHECK: tilegpu.copy_async %{{.*}}[%[[S]]] phase %[[P]]
// CHECK: } else {
// CHECK: scf.for %{{.*}} iter_args(%[[T:.*]] = %c0_i32)
// CHECK: %[[S:.*]] = arith.andi %[[T]], %c1_i32
// CHECK: %[[P:.*]] = arith.shrui %[[T]], %c1_i32
// CHECK: tilegpu.copy_wait %{{.*}}[%[[S]]] phase %[[P]]
// CHECK: tilegpu.release %{{.*}}[%[[S]]]
func.func @one_program(%p: !ptr, %end: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !two
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier
  scf.if %copier {
    %one = tilegpu.is_copier thread 0
    scf.if %one {
      %slots = scf.for %i = %c0 to %end step %c1 iter_args(%s = %c0) -> (i32) : i32 {
        %t = tilegpu.copy_async %p, %k[%s] map 0[] {tilegpu.made = "alone"} : !ptr, !two
        %next = arith.xori %s, %c1 : i32
        scf.yield %next : i32
      }
    }
  } else {
    %slots = scf.for %i = %c0 to %end step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %t = tilegpu.copy_async %p, %k[%s] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !two
      tilegpu.copy_wait %t in %k[%s] : !two
      tilegpu.release %k[%s] : !two
      %next = arith.xori %s, %c1 : i32
      scf.yield %next : i32
    }
  }
  return
}

// Three slots; and a trip that waits twice.
// CHECK-LABEL: func.func @others
// CHECK-NOT: phase
func.func @others(%p: !ptr, %end: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %k = tilegpu.alloc {barriers = 8192 : i64, offset = 0 : i64} : !three
  %v = tilegpu.alloc {barriers = 8256 : i64, offset = 4096 : i64} : !two
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier
  scf.if %copier {
    %one = tilegpu.is_copier thread 0
    scf.if %one {
      %slots = scf.for %i = %c0 to %end step %c1 iter_args(%s = %c0) -> (i32) : i32 {
        %t = tilegpu.copy_async %p, %k[%s] map 0[] {tilegpu.made = "alone"} : !ptr, !three
        %t0 = tilegpu.copy_async %p, %v[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !two
        %t1 = tilegpu.copy_async %p, %v[%c1] map 0[] {tilegpu.made = "alone"} : !ptr, !two
        %up = arith.addi %s, %c1 : i32
        %last = arith.cmpi eq, %s, %c2 : i32
        %next = arith.select %last, %c0, %up : i32
        scf.yield %next : i32
      }
    }
  } else {
    %slots = scf.for %i = %c0 to %end step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %t = tilegpu.copy_async %p, %k[%s] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !three
      %t0 = tilegpu.copy_async %p, %v[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !two
      %t1 = tilegpu.copy_async %p, %v[%c1] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !two
      tilegpu.copy_wait %t in %k[%s] : !three
      tilegpu.copy_wait %t0 in %v[%c0] : !two
      tilegpu.copy_wait %t1 in %v[%c1] : !two
      tilegpu.release %k[%s] : !three
      tilegpu.release %v[%c0] : !two
      tilegpu.release %v[%c1] : !two
      %up = arith.addi %s, %c1 : i32
      %last = arith.cmpi eq, %s, %c2 : i32
      %next = arith.select %last, %c0, %up : i32
      scf.yield %next : i32
    }
  }
  return
}
