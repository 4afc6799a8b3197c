// Buffers get bytes; those that are never alive together share them.
// RUN: fattn-opt %s -tilegpu-allocate-shared -split-input-file -verify-diagnostics | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
#large = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (0,64); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0); warp: 1 -> (32,0), 2 -> (64,0) | dim0: 128, dim1: 128">
#large_shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (0,64), 128 -> (1,0), 256 -> (2,0), 512 -> (4,0), 1024 -> (8,0), 2048 -> (16,0), 4096 -> (32,0), 8192 -> (64,0) | dim0: 128, dim1: 128">
!tile1 = tensor<16x8xf32, #acc>
!large = !tilegpu.buffer<1 x 128x128xf32, #large_shared>
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>
!ring = !tilegpu.buffer<2 x 16x8xf32, #shared>

// CHECK-LABEL: func.func @in_turn
// CHECK-SAME: tilegpu.shared_bytes = 1024 : i64
// CHECK: tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<2 x
// CHECK: tilegpu.alloc {offset = 0 : i64}
// CHECK: tilegpu.alloc {offset = 512 : i64}
func.func @in_turn(%v: !tile1) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !ring
  tilegpu.store_buffer %v, %a[%c0] : !tile1, !ring
  %x = tilegpu.load_buffer %a[%c0] : !ring -> !tile1
  %b = tilegpu.alloc : !buf
  %c = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %b[%c0] : !tile1, !buf
  tilegpu.store_buffer %x, %c[%c0] : !tile1, !buf
  %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
  %z = tilegpu.load_buffer %c[%c0] : !buf -> !tile1
  return
}

// What is used in a loop lives in all of it, also before its first use in the text. So does what the loop allocates itself, as there is
// room: taking turns would cost barriers.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: tilegpu.shared_bytes = 1536 : i64
// CHECK: tilegpu.alloc {offset = 0 : i64}
// CHECK: tilegpu.alloc {offset = 512 : i64}
// CHECK: tilegpu.alloc {offset = 1024 : i64}
func.func @loop(%v: !tile1, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tilegpu.alloc : !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    %b = tilegpu.alloc : !buf
    tilegpu.store_buffer %v, %b[%c0] : !tile1, !buf
    %x = tilegpu.load_buffer %b[%c0] : !buf -> !tile1
    %c = tilegpu.alloc : !buf
    tilegpu.store_buffer %x, %c[%c0] : !tile1, !buf
    %y = tilegpu.load_buffer %c[%c0] : !buf -> !tile1
    tilegpu.store_buffer %y, %a[%c0] : !tile1, !buf
  }
  return
}

// Where a block more fits on the SM for it, they take turns.
// CHECK-LABEL: func.func @tight
// CHECK-SAME: tilegpu.shared_bytes = 65536 : i64
// CHECK: tilegpu.alloc {offset = 0 : i64}
// CHECK: tilegpu.alloc {offset = 0 : i64}
func.func @tight(%v: tensor<128x128xf32, #large>, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %b = tilegpu.alloc : !large
    tilegpu.store_buffer %v, %b[%c0] : tensor<128x128xf32, #large>, !large
    %c = tilegpu.alloc : !large
    tilegpu.store_buffer %v, %c[%c0] : tensor<128x128xf32, #large>, !large
  }
  return
}

// A copy in flight keeps its buffer until it was waited for.
// CHECK-LABEL: func.func @in_flight
// CHECK: tilegpu.alloc {offset = 0 : i64}
// CHECK: tilegpu.alloc {offset = 512 : i64}
func.func @in_flight(%p: !ptr, %v: !tile1) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  %t = tilegpu.copy_async %p, %a[%c0] {layout = #rows} : !ptr, !buf
  tilegpu.store_buffer %v, %b[%c0] : !tile1, !buf
  tilegpu.copy_wait %t
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
// expected-error@+1 {{needs 204800 bytes of shared memory, but a block of nvidia:sm_80 has at most 166912; take smaller tiles or fewer stages}}
func.func @too_much(%v: tensor<16x8xf32, #acc>) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<400 x 16x8xf32, #shared>
  tilegpu.store_buffer %v, %a[%c0] : tensor<16x8xf32, #acc>, !tilegpu.buffer<400 x 16x8xf32, #shared>
  return
}

// -----

// expected-error@+1 {{shared memory is allocated before barriers are placed (-tilegpu-place-barriers), which separate buffers with the same bytes}}
func.func @too_late() attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  tilegpu.barrier
  return
}

// -----

// expected-error@+1 {{the function has no attribute tilegpu.target}}
func.func @no_target() {
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>
!ring = !tilegpu.buffer<3 x 16x8xf32, #shared>

// Behind the buffers lie barrier objects for what an engine fills, 8 bytes for each slot, and as many more where warps release the slots. They
// are nobody else's, even where the buffers take turns with their bytes.
// CHECK-LABEL: func.func @barrier_objects
// CHECK-SAME: tilegpu.shared_bytes = 2104 : i64
// CHECK: tilegpu.init_barriers
// CHECK: tilegpu.alloc {barriers = 2056 : i64, offset = 0 : i64} : !tilegpu.buffer<3 x
// CHECK: tilegpu.alloc {barriers = 2048 : i64, offset = 1536 : i64} : !tilegpu.buffer<1 x
// CHECK: tilegpu.alloc {offset = {{.*}} : i64} : !tilegpu.buffer<1 x
func.func @barrier_objects(%p: !ptr, %v: tensor<16x8xf32, #acc>) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 1 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%c0] map 0[] : !ptr, !buf
  %t = tilegpu.copy_async %p, %a[%c2] map 0[] : !ptr, !ring
  tilegpu.copy_wait %s in %b[%c0] : !buf
  %x = tilegpu.load_buffer %b[%c0] : !buf -> tensor<16x8xf32, #acc>
  tilegpu.copy_wait %t in %a[%c2] : !ring
  %y = tilegpu.load_buffer %a[%c2] : !ring -> tensor<16x8xf32, #acc>
  tilegpu.release %a[%c2] : !ring
  %c = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %c[%c0] : tensor<16x8xf32, #acc>, !buf
  %z = arith.addf %x, %y : tensor<16x8xf32, #acc>
  return %z : tensor<16x8xf32, #acc>
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!ptr = !tile.block_ptr<16x8xf32>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>
!ring = !tilegpu.buffer<454 x 16x8xf32, #shared>

// What an engine stores from has bytes of its own, so that warps need not meet before they write there.
// CHECK-LABEL: func.func @boxes_apart
// CHECK-SAME: tilegpu.shared_bytes = 1024 : i64
// CHECK: tilegpu.alloc {offset = 0 : i64}
// CHECK: tilegpu.alloc {offset = 512 : i64}
func.func @boxes_apart(%p: !ptr, %v: tensor<16x8xf32, #acc>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 1 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !buf
  %b = tilegpu.alloc : !buf
  tilegpu.store_buffer %v, %a[%c0] : tensor<16x8xf32, #acc>, !buf
  %x = tilegpu.load_buffer %a[%c0] : !buf -> tensor<16x8xf32, #acc>
  tilegpu.store_boxes %p, %x in %b map 0[] : !ptr, tensor<16x8xf32, #acc>, !buf
  return
}

// Where that is more than a block has, the results lie where operands were.
// CHECK-LABEL: func.func @boxes_over_operands
// CHECK-SAME: tilegpu.shared_bytes = 232448 : i64
// CHECK: tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<454 x
// CHECK: tilegpu.alloc {offset = 4096 : i64} : !tilegpu.buffer<1 x
// CHECK: tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<8 x
func.func @boxes_over_operands(%p: !ptr, %v: tensor<16x8xf32, #acc>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 1 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !ring
  %b = tilegpu.alloc : !buf
  %c = tilegpu.alloc : !tilegpu.buffer<8 x 16x8xf32, #shared>
  tilegpu.store_buffer %v, %a[%c0] : tensor<16x8xf32, #acc>, !ring
  %x = tilegpu.load_buffer %a[%c0] : !ring -> tensor<16x8xf32, #acc>
  tilegpu.store_boxes %p, %x in %b map 0[] : !ptr, tensor<16x8xf32, #acc>, !buf
  tilegpu.store_buffer %x, %c[%c0] : tensor<16x8xf32, #acc>, !tilegpu.buffer<8 x 16x8xf32, #shared>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
// Sums that a loop adds have two barrier objects behind the others', for the warps that lay them and those that may send them, and bytes of
// their own.
// CHECK-LABEL: func.func @sums
// CHECK-DAG: tilegpu.alloc {barriers = 18432 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16
// CHECK-DAG: tilegpu.alloc {barriers = 18464 : i64, offset = 2048 : i64} : !tilegpu.buffer<1 x 128x32xf32
func.func @sums(%k: !tile.ptr<bf16> {tile.noalias}, %o: !tile.ptr<f32> {tile.noalias}, %n: i32, %x: tensor<128x32xf32, #acc>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}, {adds, box = array<i64: 32, 16>, element = f32, pointer = 1 : i64, sizes = [array<i64: 32>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %v = arith.constant 32 : i64
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc : !tilegpu.buffer<1 x 128x32xf32, #sums>
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %q = tile.make_block_ptr %o, shape [%w, %v], strides [%v, %u], offsets [%row, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
    tilegpu.store_boxes %q, %x in %s map 1[] {add} : !tile.block_ptr<128x32xf32>, tensor<128x32xf32, #acc>, !tilegpu.buffer<1 x 128x32xf32, #sums>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
!ptr = !tile.block_ptr<16x8xf32>
!ring = !tilegpu.buffer<3 x 16x8xf32, #shared>
!rest = !tilegpu.buffer<451 x 16x8xf32, #shared>

// Apart the buffers fill a block's memory to the last byte, which leaves none for the barrier objects: they take turns.
// CHECK-LABEL: func.func @no_room_for_barrier_objects
// CHECK-SAME: tilegpu.shared_bytes = 230960 : i64
// CHECK: tilegpu.alloc {barriers = 230912 : i64, offset = 0 : i64} : !tilegpu.buffer<3 x
// CHECK: tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<451 x
func.func @no_room_for_barrier_objects(%p: !ptr, %v: tensor<16x8xf32, #acc>) -> tensor<16x8xf32, #acc> attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 1 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 16>]}]} {
  %c0 = arith.constant 0 : i32
  %a = tilegpu.alloc : !ring
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !ptr, !ring
  tilegpu.copy_wait %t in %a[%c0] : !ring
  %x = tilegpu.load_buffer %a[%c0] : !ring -> tensor<16x8xf32, #acc>
  tilegpu.release %a[%c0] : !ring
  %c = tilegpu.alloc : !rest
  tilegpu.store_buffer %v, %c[%c0] : tensor<16x8xf32, #acc>, !rest
  %y = tilegpu.load_buffer %c[%c0] : !rest -> tensor<16x8xf32, #acc>
  %z = arith.addf %x, %y : tensor<16x8xf32, #acc>
  return %z : tensor<16x8xf32, #acc>
}
