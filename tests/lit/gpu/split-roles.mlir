// SPDX-License-Identifier: Apache-2.0
// Copies of boxes go to warps of their own, with what they follow from; what computes keeps its waits.
// RUN: fattn-opt %s -split-input-file -tilegpu-split-roles | FileCheck %s

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// Two slots: the number of the slot is carried in both loops, the sum in one.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: tilegpu.copier_warps = 4
// CHECK: tilegpu.init_barriers
// CHECK-NEXT: tilegpu.barrier
// CHECK: %[[APART:.*]] = tilegpu.is_copier
// CHECK-NEXT: scf.if %[[APART]] {
// CHECK-NEXT: tilegpu.set_registers 24
// CHECK-NEXT: %[[ONE:.*]] = tilegpu.is_copier thread 0
// CHECK-NEXT: scf.if %[[ONE]] {
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}) -> (i32)
// CHECK: tilegpu.copy_async %{{.*}}, %[[B:.*]][%[[SLOT]]] map 0[] {{.*}}tilegpu.made = "alone"
// CHECK-NOT: copy_wait
// CHECK: } else {
// CHECK-NEXT: tilegpu.set_registers 240 more
// CHECK: scf.for {{.*}} iter_args(%[[SLOT2:[^ ]*]] = %{{[^,]*}}, %[[SUM:.*]] = %{{.*}}) -> (i32, f32)
// CHECK: tilegpu.copy_async {{.*}}tilegpu.made = "elsewhere"
// CHECK: tilegpu.copy_wait {{.*}} in %[[B]][%[[SLOT2]]]
// CHECK: tilegpu.release %[[B]][%[[SLOT2]]]
// CHECK: arith.addf %[[SUM]]
func.func @ring(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %f = arith.constant 0.0 : f32
  %b = tilegpu.alloc {barriers = 2048 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %sum = %f) -> (i32, f32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    %more = arith.addf %sum, %sum : f32
    scf.yield %next, %more : i32, f32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// A slot that no warp releases is free behind a barrier only, which the copying warp would not reach.
// CHECK-LABEL: func.func @not_released
// CHECK-NOT: is_copier
func.func @not_released(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    tilegpu.barrier
    %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// One group computes: four warps for its copies would cost it half of the registers.
// CHECK-LABEL: func.func @one_group
// CHECK-NOT: is_copier
func.func @one_group(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">

// A second thread sends what computing warps add to memory, in trips of its own, all rows in one box.
// CHECK-LABEL: func.func @sends
// CHECK-SAME: {adds, box = array<i64: 32, 128>, element = f32, pointer = 1 : i64
// CHECK: tilegpu.is_copier thread 1
// CHECK: scf.for
// CHECK-NOT: tilegpu.copy_async
// CHECK: tilegpu.send_boxes %[[TO:.*]] in %[[SUMS:.*]] map 1[] {add} : !tile.block_ptr<128x32xf32>
// CHECK: } else {
// CHECK: tilegpu.is_copier thread 0
// CHECK: scf.for
// CHECK: tilegpu.copy_async {{.*}}{tilegpu.made = "alone"}
// CHECK-NOT: tilegpu.send_boxes
// CHECK: else
// CHECK: scf.for
// CHECK: tilegpu.store_boxes {{.*}} in %[[SUMS]] map 1[] {add, tilegpu.made = "elsewhere"}
func.func @sends(%k: !tile.ptr<bf16>, %o: !tile.ptr<f32>, %n: i32, %x: tensor<128x32xf32, #acc>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 18480 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}, {adds, box = array<i64: 32, 16>, element = f32, pointer = 1 : i64, sizes = [array<i64: 32>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %v = arith.constant 32 : i64
  %b = tilegpu.alloc {barriers = 18432 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc {barriers = 18464 : i64, offset = 2048 : i64} : !tilegpu.buffer<1 x 128x32xf32, #sums>
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

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">

// Where a block takes one program after another the thread that sends also stores what ends a program.
// CHECK-LABEL: func.func @sends_what_ends_a_program
// CHECK: tilegpu.is_copier thread 1
// CHECK: scf.for
// CHECK: tilegpu.send_boxes %{{.*}} in %[[SUMS:.*]] map 1[] {add}
// CHECK: }
// CHECK: tilegpu.send_boxes %{{.*}} in %[[ENDS:.*]] map 2[] :
// CHECK: tilegpu.is_copier thread 0
// CHECK: tilegpu.store_boxes %{{.*}} in %[[SUMS]] map 1[] {add, tilegpu.made = "elsewhere"}
// CHECK: tilegpu.store_boxes %{{.*}} in %[[ENDS]] map 2[] {tilegpu.made = "elsewhere"}
func.func @sends_what_ends_a_program(%k: !tile.ptr<bf16>, %o: !tile.ptr<f32>, %n: i32, %x: tensor<128x32xf32, #acc>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.repeats, tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 34880 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}, {adds, box = array<i64: 32, 16>, element = f32, pointer = 1 : i64, sizes = [array<i64: 32>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}, {box = array<i64: 32, 16>, element = f32, pointer = 1 : i64, sizes = [array<i64: 32>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %v = arith.constant 32 : i64
  %b = tilegpu.alloc {barriers = 18432 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc {barriers = 18464 : i64, offset = 2048 : i64} : !tilegpu.buffer<1 x 128x32xf32, #sums>
  %e = tilegpu.alloc {barriers = 18480 : i64, offset = 18496 : i64} : !tilegpu.buffer<1 x 128x32xf32, #sums>
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
  %last = tile.make_block_ptr %o, shape [%w, %v], strides [%v, %u], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
  tilegpu.store_boxes %last, %x in %e map 2[] : !tile.block_ptr<128x32xf32>, tensor<128x32xf32, #acc>, !tilegpu.buffer<1 x 128x32xf32, #sums>
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">

// Where the place follows from memory, the copying thread cannot know it: the warps tell the engine by themselves, and copies have their role.
// CHECK-LABEL: func.func @place_from_memory
// CHECK-SAME: {adds, box = array<i64: 32, 16>, element = f32, pointer = 1 : i64
// CHECK: tilegpu.is_copier thread 0
// CHECK: tilegpu.copy_async {{.*}}{tilegpu.made = "alone"}
// CHECK-NOT: tilegpu.send_boxes
// CHECK: else
// CHECK: tilegpu.store_boxes {{.*}} map 1[] {add} :
func.func @place_from_memory(%k: !tile.ptr<bf16>, %o: !tile.ptr<f32>, %n: i32, %x: tensor<128x32xf32, #acc>, %places: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 18480 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}, {adds, box = array<i64: 32, 16>, element = f32, pointer = 1 : i64, sizes = [array<i64: 32>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %v = arith.constant 32 : i64
  %b = tilegpu.alloc {barriers = 18432 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc {barriers = 18464 : i64, offset = 2048 : i64} : !tilegpu.buffer<1 x 128x32xf32, #sums>
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %place = tile.gather %places : !tile.ptr<i32> -> i32
    %at = arith.extsi %place : i32 to i64
    %q = tile.make_block_ptr %o, shape [%w, %v], strides [%v, %u], offsets [%at, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
    tilegpu.store_boxes %q, %x in %s map 1[] {add} : !tile.block_ptr<128x32xf32>, tensor<128x32xf32, #acc>, !tilegpu.buffer<1 x 128x32xf32, #sums>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// A number from memory that nothing writes is read by both roles.
// CHECK-LABEL: func.func @number_from_memory
// CHECK: tilegpu.is_copier thread 0
// CHECK: %[[FIRST:.*]] = tile.gather %{{.*}} : !tile.ptr<i32> -> i32
// CHECK: %[[ROW:.*]] = arith.extsi %[[FIRST]]
// CHECK: tile.make_block_ptr {{.*}} offsets[%[[ROW]],
// CHECK: tilegpu.copy_async {{.*}}tilegpu.made = "alone"
// CHECK: } else {
// CHECK: tile.gather %{{.*}} : !tile.ptr<i32> -> i32
func.func @number_from_memory(%k: !tile.ptr<bf16>, %starts: !tile.ptr<i32> {tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %first = tile.gather %starts : !tile.ptr<i32> -> i32
  %row = arith.extsi %first : i32 to i64
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tile.device_print "first", %first : i32
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// Not where the program may write it: the copying thread might be late.
// CHECK-LABEL: func.func @number_that_is_written
// CHECK-NOT: is_copier
func.func @number_that_is_written(%k: !tile.ptr<bf16>, %starts: !tile.ptr<i32> {tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %first = tile.gather %starts : !tile.ptr<i32> -> i32
  %row = arith.extsi %first : i32 to i64
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tile.scatter %starts, %c0 : !tile.ptr<i32>, i32
  return
}
