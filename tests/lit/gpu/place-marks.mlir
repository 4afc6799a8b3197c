// Marks where warp groups wait and issue; events of one text have one number.
// RUN: fattn-opt %s -tilegpu-place-marks | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>

// CHECK-LABEL: func.func @waits
// CHECK-SAME: tilegpu.marks = ["begin copy k", "end copy k", "begin wait k", "end wait k", "begin barrier", "end barrier", "begin turn", "end turn"]
// CHECK: tilegpu.mark 0
// CHECK-NEXT: tilegpu.copy_async
// CHECK-NEXT: tilegpu.mark 1
// CHECK-NEXT: tilegpu.mark 2
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.mark 3
// CHECK-NEXT: tilegpu.mark 4
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.mark 5
// CHECK: scf.for
// CHECK-NEXT: tilegpu.mark 6
// CHECK-NEXT: tilegpu.turn_wait
// CHECK-NEXT: tilegpu.mark 7
// CHECK-NEXT: tilegpu.mark 4
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.mark 5
func.func @waits(%p: !tile.ptr<f32> {tile.name = "k"}, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %sixteen = arith.constant 16 : i64
  %w = tile.make_block_ptr %p, shape [%sixteen, %eight], strides [%eight, %one], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
  %a = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows} : !tile.block_ptr<16x8xf32>, !buf
  tilegpu.copy_wait %t
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.turn_wait
    tilegpu.barrier
  }
  return
}

// Of warps that only copy one thread's work is marked. What select_lazy does again is not.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: tilegpu.marks = ["begin turn", "end turn"]
// CHECK: scf.if
// CHECK-NEXT: tilegpu.turn_wait
// CHECK: scf.if
// CHECK-NEXT: tilegpu.mark 0
// CHECK-NEXT: tilegpu.turn_wait
// CHECK-NEXT: tilegpu.mark 1
func.func @roles() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.copier_warps = 4 : i64} {
  %copies = tilegpu.is_copier
  scf.if %copies {
    tilegpu.turn_wait
    %one = tilegpu.is_copier thread 0
    scf.if %one {
      tilegpu.turn_wait
    }
  }
  return
}
