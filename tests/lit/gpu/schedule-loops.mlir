// Copies run `stages` - 1 trips ahead of their use, in as many slots; each only if its trip is in range.
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=2 -canonicalize -cse | FileCheck %s
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=2 waits=apart" -canonicalize -cse | FileCheck %s --check-prefix=APART
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=3 -canonicalize -cse | FileCheck %s --check-prefix=THREE
// RUN: fattn-opt %s -tilegpu-schedule-loops=stages=1 -canonicalize -cse | FileCheck %s --check-prefix=ONE
// RUN: not fattn-opt %s -tilegpu-schedule-loops=stages=0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not fattn-opt %s -tilegpu-schedule-loops=waits=never 2>&1 | FileCheck %s --check-prefix=NEVER

// NEVER: error: waits are together or apart, but got never
// NONE: error: loops have at least 1 stage and schedules count from 0, but got stages 0 and schedule 0

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">

// Behind the loop nothing is in flight any more. Two buffers: both are waited for at the first wait, the copies stand behind that, and the address of the next trip's copy is computed
// apart from this trip's %at.
// CHECK-LABEL: func.func @two_buffers
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tile.block_ptr{{.*}}, %[[N:[a-z0-9]+]]: i32
// CHECK: %[[A:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %c0_i32
// CHECK: %[[TA:.*]] = tilegpu.copy_async %{{.*}}, %[[A]][%c0_i32] if %[[ANY]]
// CHECK: %[[TB:.*]] = tilegpu.copy_async %{{.*}}, %[[B]][%c0_i32] if %[[ANY]]
// CHECK: scf.for %[[I:.*]] = %c0_i32 to %[[N]] step %c16_i32 iter_args(%{{.*}} = %{{.*}}, %[[IN:.*]] = %c1_i32, %[[OUT:.*]] = %c0_i32, %[[WA:.*]] = %[[TA]], %[[WB:.*]] = %[[TB]])
// CHECK-DAG: %[[LAST:.*]] = arith.subi %[[N]], %c16_i32
// CHECK-DAG: %[[IF:.*]] = arith.cmpi slt, %[[I]], %[[LAST]]
// CHECK: tilegpu.copy_wait %[[WA]]
// CHECK-NEXT: tilegpu.copy_wait %[[WB]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c16_i32
// CHECK: %[[AT:.*]] = arith.extsi %[[NEXT]]
// CHECK: tile.advance %[[P]], [%[[AT]]
// CHECK: %[[NA:.*]] = tilegpu.copy_async %{{.*}}, %[[A]][%[[IN]]] if %[[IF]]
// CHECK: %[[NB:.*]] = tilegpu.copy_async %{{.*}}, %[[B]][%[[IN]]] if %[[IF]]
// CHECK: tilegpu.load_buffer %[[A]][%[[OUT]]]
// CHECK: tilegpu.load_buffer %[[B]][%[[OUT]]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[NA]], %[[NB]]
// CHECK: }
// CHECK-NEXT: tilegpu.copy_wait %{{.*}}#3, %{{.*}}#4

// The second wait where its data is read.
// APART-LABEL: func.func @two_buffers
// APART: scf.for
// APART: tilegpu.copy_wait
// APART-COUNT-2: tilegpu.copy_async
// APART: tilegpu.load_buffer
// APART: tilegpu.copy_wait
// APART: tilegpu.load_buffer

// Three slots, two trips ahead: two copies of each before the loop, and the oldest token is waited for.
// THREE-LABEL: func.func @two_buffers
// THREE: tilegpu.alloc : !tilegpu.buffer<3 x 16x8xf32
// THREE-COUNT-4: tilegpu.copy_async
// THREE: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %c2_i32, %[[OUT:.*]] = %c0_i32, %[[WA:.*]] = %{{.*}}, %[[WA2:.*]] = %{{.*}}, %[[WB:.*]] = %{{.*}}, %[[WB2:.*]] = %{{[^,]*}})
// THREE: tilegpu.copy_wait %[[WA]]
// THREE: %[[NA:.*]] = tilegpu.copy_async
// THREE: %[[NB:.*]] = tilegpu.copy_async
// THREE: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[WA2]], %[[NA]], %[[WB2]], %[[NB]]

// One slot: the next trip's copy stands behind the last reader of this one's.
// ONE-LABEL: func.func @two_buffers
// ONE: %[[A:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32
// ONE: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32
// ONE-COUNT-2: tilegpu.copy_async
// ONE: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[WA:.*]] = %{{.*}}, %[[WB:.*]] = %{{[^,]*}})
// ONE: tilegpu.copy_wait %[[WA]]
// ONE-NEXT: tilegpu.copy_wait %[[WB]]
// ONE: tilegpu.load_buffer %[[A]]
// ONE: %[[NA:.*]] = tilegpu.copy_async %{{.*}}, %[[A]]
// ONE: tilegpu.load_buffer %[[B]]
// ONE: %[[NB:.*]] = tilegpu.copy_async %{{.*}}, %[[B]]
// ONE: scf.yield %{{.*}}, %[[NA]], %[[NB]]
func.func @two_buffers(%ptr: !tile.block_ptr<16x8xf32>, %n: i32) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %sum = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<16x8xf32, #acc>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %p = tile.advance %ptr, [%at, %l0] : !tile.block_ptr<16x8xf32>
    %ta = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %ta
    %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    %s = arith.addf %acc, %x : tensor<16x8xf32, #acc>
    %q = tile.advance %ptr, [%l0, %at] : !tile.block_ptr<16x8xf32>
    %tb = tilegpu.copy_async %q, %b[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %tb
    %y = tilegpu.load_buffer %b[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    %r = arith.addf %s, %y : tensor<16x8xf32, #acc>
    scf.yield %r : tensor<16x8xf32, #acc>
  }
  return %sum : tensor<16x8xf32, #acc>
}

// Both tiles are read together: the copies stand behind both waits, so that one barrier serves all.
// CHECK-LABEL: func.func @together
// CHECK: scf.for
// CHECK: tilegpu.copy_wait
// CHECK-NOT: tilegpu.copy_async
// CHECK: tilegpu.copy_wait
// CHECK-COUNT-2: tilegpu.copy_async
// CHECK-COUNT-2: tilegpu.load_buffer
func.func @together(%ptr: !tile.block_ptr<16x8xf32>, %n: i32) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %sum = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<16x8xf32, #acc>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %p = tile.advance %ptr, [%at, %l0] : !tile.block_ptr<16x8xf32>
    %ta = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %ta
    %q = tile.advance %ptr, [%l0, %at] : !tile.block_ptr<16x8xf32>
    %tb = tilegpu.copy_async %q, %b[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %tb
    %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    %y = tilegpu.load_buffer %b[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    %s = arith.addf %acc, %x : tensor<16x8xf32, #acc>
    %r = arith.addf %s, %y : tensor<16x8xf32, #acc>
    scf.yield %r : tensor<16x8xf32, #acc>
  }
  return %sum : tensor<16x8xf32, #acc>
}

// A tile that goes through registers is loaded one trip ahead, behind the store that frees the registers; the carried block pointer runs
// ahead with it.
// CHECK-LABEL: func.func @registers
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x
// CHECK: scf.if %{{.*}} -> (tensor<16x8xf32
// CHECK: tile.load
// CHECK: scf.for %{{.*}} iter_args({{.*}}%[[HELD:[a-z0-9]+]] = %{{[a-z0-9]+}}) -> {{.*}} {
// CHECK: tilegpu.store_buffer %[[HELD]]
// CHECK: %[[NEXT:.*]] = scf.if
// CHECK: tile.load
// CHECK: tilegpu.load_buffer
// CHECK: scf.yield {{.*}}, %[[NEXT]] :
func.func @registers(%ptr: !tile.block_ptr<16x8xf32>, %n: i32) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %sum:2 = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero, %p = %ptr) -> (tensor<16x8xf32, #acc>, !tile.block_ptr<16x8xf32>) : i32 {
    %v = tile.load %p : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #rows>
    tilegpu.store_buffer %v, %a[%c0] : tensor<16x8xf32, #rows>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    %x = tilegpu.load_buffer %a[%c0] : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    %r = arith.addf %acc, %x : tensor<16x8xf32, #acc>
    %next = tile.advance %p, [%l1, %l0] : !tile.block_ptr<16x8xf32>
    scf.yield %r, %next : tensor<16x8xf32, #acc>, !tile.block_ptr<16x8xf32>
  }
  return %sum#0 : tensor<16x8xf32, #acc>
}

// What has two writers stays where it is, and what nobody reads is copied ahead like the rest.
// CHECK-LABEL: func.func @writers
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x
// CHECK: tilegpu.alloc : !tilegpu.buffer<2 x
// CHECK: scf.for
// CHECK: tilegpu.copy_async %{{.*}}, %{{.*}}[%c0_i32] {
// CHECK: tilegpu.copy_async %{{.*}}, %{{.*}}[%c0_i32] {
func.func @writers(%ptr: !tile.block_ptr<16x8xf32>, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  scf.for %i = %c0 to %n step %c16 : i32 {
    %t = tilegpu.copy_async %ptr, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %t
    %u = tilegpu.copy_async %ptr, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %u
    %v = tilegpu.copy_async %ptr, %b[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %v
  }
  return
}
