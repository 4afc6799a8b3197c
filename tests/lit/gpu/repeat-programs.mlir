// What is copied once a program is released; then each role takes one program after another.
// RUN: fattn-opt %s -split-input-file -tilegpu-release-operands | FileCheck %s --check-prefix=RELEASE
// RUN: fattn-opt %s -split-input-file -tilegpu-release-operands -tilegpu-allocate-shared -tilegpu-place-barriers -tilegpu-split-roles -tilegpu-repeat-programs | FileCheck %s
// RUN: fattn-opt %s -split-input-file '-tilegpu-release-operands=dynamic' -tilegpu-allocate-shared -tilegpu-place-barriers -tilegpu-split-roles -tilegpu-repeat-programs | FileCheck %s --check-prefix=DYNAMIC

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#regs = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (1,0); warp: 1 -> (2,0), 2 -> (4,0), 4 -> (0,0) | dim0: 8, dim1: 64">

// A tile of the program and a ring of two slots. The tile is released behind the loop, which reads it.
// RELEASE-LABEL: func.func @tile_and_ring
// RELEASE-SAME: tilegpu.repeats
// RELEASE: %[[TILE:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x
// RELEASE: scf.for
// RELEASE: tilegpu.load_buffer %[[TILE]]
// RELEASE: }
// RELEASE-NEXT: tilegpu.release %[[TILE]][%{{.*}}]

// Both roles get the ids of their programs, and the tile the slot that it is the program's turn for. What the threads store to shared memory
// is behind a barrier.
// CHECK-LABEL: func.func @tile_and_ring
// CHECK-SAME: tilegpu.repeats
// CHECK: %[[TILE:.*]] = tilegpu.alloc {barriers = {{[0-9]+}} : i64, offset = {{[0-9]+}} : i64, tilegpu.slot_by_program} : !tilegpu.buffer<2 x
// CHECK: tilegpu.init_barriers
// CHECK: scf.if
// CHECK: tilegpu.is_copier thread 0
// CHECK-NEXT: scf.if
// CHECK-NEXT: tilegpu.each_program {
// CHECK-NEXT: ^bb0(%[[X:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[NUMBER:.*]]: i32):
// CHECK: %[[SLOT:.*]] = arith.andi %[[NUMBER]], %{{.*}} : i32
// CHECK-NOT: program_id
// CHECK: arith.extsi %[[X]] : i32 to i64
// CHECK: tilegpu.copy_async %{{.*}}, %[[TILE]][%[[SLOT]]]
// CHECK: scf.for
// CHECK: } else {
// CHECK-NEXT: tilegpu.set_registers 240 more
// CHECK-NEXT: tilegpu.each_program {
// CHECK-NEXT: ^bb0(%[[X2:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[NUMBER2:.*]]: i32):
// CHECK: %[[SLOT2:.*]] = arith.andi %[[NUMBER2]], %{{.*}} : i32
// CHECK-NOT: program_id
// CHECK: tilegpu.load_buffer %[[TILE]][%[[SLOT2]]]
// CHECK: tilegpu.release %[[TILE]][%[[SLOT2]]]
// CHECK: tilegpu.barrier
// CHECK-NEXT: }

// Blocks that are handed their programs: room for the ids behind the barrier objects, and in the last trip of the copies' loop the next one
// is claimed.
// DYNAMIC-LABEL: func.func @tile_and_ring
// DYNAMIC-SAME: tilegpu.claims = {{[0-9]+}} : i64
// DYNAMIC-SAME: tilegpu.dynamic
// DYNAMIC-SAME: tilegpu.repeats
// DYNAMIC: tilegpu.is_copier thread 0
// DYNAMIC: tilegpu.each_program dynamic {
// DYNAMIC: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step %[[ONE:.*]] iter_args
// DYNAMIC-NEXT: %[[LEFT:.*]] = arith.subi %[[N]], %[[I]] : i32
// DYNAMIC-NEXT: %[[LAST:.*]] = arith.cmpi sle, %[[LEFT]], %[[ONE]] : i32
// DYNAMIC-NEXT: scf.if %[[LAST]] {
// DYNAMIC-NEXT: tilegpu.claim_program
// DYNAMIC-NEXT: }
// DYNAMIC: tilegpu.copy_async
// DYNAMIC: } else {
// DYNAMIC: tilegpu.each_program dynamic {
// DYNAMIC-NOT: claim_program
func.func @tile_and_ring(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %id = tile.program_id x : i32
  %first = arith.extsi %id : i32 to i64
  %q = tilegpu.alloc : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %p0 = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%first, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t0 = tilegpu.copy_async %p0, %q[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t0 in %q[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %a = tilegpu.load_buffer %q[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared> -> tensor<8x64xbf16, #regs>
    tilegpu.store_buffer %a, %s[%c0] : tensor<8x64xbf16, #regs>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// A copy that a predicate guards is not released where nothing was copied: a block takes one program.
// RELEASE-LABEL: func.func @guarded
// RELEASE-NOT: tilegpu.repeats
// RELEASE-NOT: tilegpu.release
func.func @guarded(%k: !tile.ptr<bf16>, %if: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %q = tilegpu.alloc : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t = tilegpu.copy_async %p, %q[%c0] if %if map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t in %q[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  return
}

// -----

// Where nothing is copied by an engine there is no role to take programs ahead.
// RELEASE-LABEL: func.func @nothing
// RELEASE-NOT: tilegpu.repeats
// DYNAMIC-LABEL: func.func @nothing() attributes {tile.kernel, tilegpu.shared_bytes
func.func @nothing() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  return
}

// -----

#large = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0), 8192 -> (128,0), 16384 -> (256,0), 32768 -> (512,0) | dim0: 1024, dim1: 64">

// There is room for one slot of the tile only: it is copied when the program before has released it.
// RELEASE-LABEL: func.func @too_large_for_two
// RELEASE-SAME: tilegpu.repeats
// CHECK-LABEL: func.func @too_large_for_two
// CHECK-SAME: tilegpu.repeats
// CHECK: %[[TILE:.*]] = tilegpu.alloc {barriers = 131072 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x
// CHECK: tilegpu.each_program {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK: %[[FIRST:.*]] = arith.constant 0 : i32
// CHECK: tilegpu.copy_async %{{.*}}, %[[TILE]][%[[FIRST]]]
func.func @too_large_for_two(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 256>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %q = tilegpu.alloc : !tilegpu.buffer<1 x 1024x64xbf16, #large>
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<1024x64xbf16>
  %t = tilegpu.copy_async %p, %q[%c0] map 0[] : !tile.block_ptr<1024x64xbf16>, !tilegpu.buffer<1 x 1024x64xbf16, #large>
  tilegpu.copy_wait %t in %q[%c0] : !tilegpu.buffer<1 x 1024x64xbf16, #large>
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// The loop has as many trips as y says: pairs are made along y. What the addresses follow from does not count.
// DYNAMIC-LABEL: func.func @work_along_y
// DYNAMIC: tilegpu.each_program dynamic {
// CHECK-LABEL: func.func @work_along_y
// CHECK: tilegpu.each_program along y {
// CHECK: tilegpu.each_program along y {
func.func @work_along_y(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %first = arith.extsi %x : i32 to i64
  %n = arith.addi %y, %c1 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%first, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// Trips follow from two ids: which of them decides is not known.
// CHECK-LABEL: func.func @work_along_two_axes
// CHECK: tilegpu.each_program {
// CHECK-NOT: along
func.func @work_along_two_axes(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %y = tile.program_id y : i32
  %x = tile.program_id z : i32
  %n = arith.addi %y, %x : i32
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#regs = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (1,0); warp: 1 -> (2,0), 2 -> (4,0), 4 -> (0,0) | dim0: 8, dim1: 64">

// What warps write lies in slots that they hand over: no barrier ends a program. The next program is asked for in the last trip of the
// innermost loop of the last trip of the loop around it.
// CHECK-LABEL: func.func @handed_over
// CHECK: } else {
// CHECK: tilegpu.each_program {
// CHECK-NOT: tilegpu.barrier
// CHECK: return
// DYNAMIC-LABEL: func.func @handed_over
// DYNAMIC: tilegpu.each_program dynamic {
// DYNAMIC: scf.for %[[G:.*]] = %{{.*}} to %[[GROUP:.*]] step %[[STEP:.*]] iter_args
// DYNAMIC-NEXT: %[[OUTER:.*]] = arith.subi %[[GROUP]], %[[G]] : i32
// DYNAMIC-NEXT: %[[IS_LAST:.*]] = arith.cmpi sle, %[[OUTER]], %[[STEP]] : i32
// DYNAMIC: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step %[[ONE:.*]] iter_args
// DYNAMIC-NEXT: %[[LEFT:.*]] = arith.subi %[[N]], %[[I]] : i32
// DYNAMIC-NEXT: %[[ENDS:.*]] = arith.cmpi sle, %[[LEFT]], %[[ONE]] : i32
// DYNAMIC-NEXT: %[[BOTH:.*]] = arith.andi %[[IS_LAST]], %[[ENDS]] : i1
// DYNAMIC-NEXT: scf.if %[[BOTH]] {
// DYNAMIC-NEXT: tilegpu.claim_program
// DYNAMIC-NEXT: }
// DYNAMIC-NOT: claim_program
// DYNAMIC: return
func.func @handed_over(%k: !tile.ptr<bf16>, %group: i32, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %s = tilegpu.alloc {tilegpu.exchange} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %all = scf.for %g = %c0 to %group step %c1 iter_args(%from = %c0) -> (i32) : i32 {
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %from) -> (i32) : i32 {
      %row = arith.extsi %i : i32 to i64
      %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
      %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
      tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
      %a = tilegpu.load_buffer %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared> -> tensor<8x64xbf16, #regs>
      tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
      tilegpu.slot_acquire %s[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
      tilegpu.store_buffer %a, %s[%slot] : tensor<8x64xbf16, #regs>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
      tilegpu.slot_commit %s[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
      tilegpu.owner_only %slot {
        tilegpu.slot_wait %s[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
        tilegpu.release %s[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
      }
      %next = arith.xori %slot, %c1 : i32
      scf.yield %next : i32
    }
    scf.yield %r : i32
  }
  return
}
