// Barriers of a machine whose barriers order shared memory alone: those between accesses to global memory that conflict say that they order it.
// RUN: fattn-opt %s -tilegpu-place-barriers | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0), 32 -> (8,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#columns = #tilegpu.regs<"register: 1 -> (16,0); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,1), 32 -> (0,2); warp: 1 -> (0,4) | dim0: 32, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">
!rows = tensor<32x8xf32, #rows>
!columns = tensor<32x8xf32, #columns>
!ptr = !tile.block_ptr<32x8xf32>
!buf = !tilegpu.buffer<1 x 32x8xf32, #shared>

// A wave must not write what another has not read yet.
// CHECK-LABEL: func.func @read_and_write
// CHECK: tile.load
// CHECK-NEXT: tilegpu.barrier {global}
// CHECK-NEXT: tile.store
func.func @read_and_write(%p: !ptr, %y: !columns) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %x = tile.load %p : !ptr -> !rows
  tile.store %p, %y : !ptr, !columns
  return
}

// The barrier that a buffer needs serves for both.
// CHECK-LABEL: func.func @one_for_both
// CHECK: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier {global}
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tile.store
func.func @one_for_both(%p: !ptr) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %x = tile.load %p : !ptr -> !rows
  tilegpu.store_buffer %x, %a[%c0] : !rows, !buf
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !columns
  tile.store %p, %y : !ptr, !columns
  return
}

// The last barrier on the way is enough.
// CHECK-LABEL: func.func @last_of_two
// CHECK: tile.load
// CHECK-NEXT: tilegpu.store_buffer
// CHECK-NEXT: tilegpu.barrier{{$}}
// CHECK-NEXT: tilegpu.load_buffer
// CHECK-NEXT: tilegpu.barrier {global}
// CHECK-NEXT: tilegpu.store_buffer
// CHECK-NEXT: tile.store
func.func @last_of_two(%p: !ptr) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %x = tile.load %p : !ptr -> !rows
  tilegpu.store_buffer %x, %a[%c0] : !rows, !buf
  %y = tilegpu.load_buffer %a[%c0] : !buf -> !columns
  tilegpu.store_buffer %x, %a[%c0] : !rows, !buf
  tile.store %p, %y : !ptr, !columns
  return
}

// No barrier of the loop orders global memory in each trip for what is written behind it: that has one of its own.
// CHECK-LABEL: func.func @behind_a_loop
// CHECK: scf.for
// CHECK: tilegpu.barrier{{$}}
// CHECK: tilegpu.barrier{{$}}
// CHECK: }
// CHECK-NEXT: tilegpu.barrier {global}
// CHECK-NEXT: tile.store
func.func @behind_a_loop(%p: !ptr, %n: i32, %z: !columns) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !buf
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (!columns) : i32 {
    %x = tile.load %p : !ptr -> !rows
    tilegpu.store_buffer %x, %a[%c0] : !rows, !buf
    %y = tilegpu.load_buffer %a[%c0] : !buf -> !columns
    %t = arith.addf %s, %y : !columns
    scf.yield %t : !columns
  }
  tile.store %p, %sum : !ptr, !columns
  return
}

// A machine whose barriers order all memory is told nothing.
// CHECK-LABEL: func.func @all_order
// CHECK: tile.load
// CHECK-NEXT: tilegpu.barrier{{$}}
// CHECK-NEXT: tile.scatter
func.func @all_order(%p: !ptr, %q: !tile.ptr<f32>, %f: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
  %x = tile.load %p : !ptr -> !rows
  tile.scatter %q, %f : !tile.ptr<f32>, f32
  return
}
