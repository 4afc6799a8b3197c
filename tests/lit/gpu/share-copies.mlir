// Copies that do not follow from the program's id along x are shared by neighbouring blocks; what is stored, only where there is a program.
// RUN: fattn-opt %s -split-input-file -tilegpu-allocate-shared -tilegpu-place-barriers -tilegpu-split-roles '-tilegpu-share-copies=cluster=2' | FileCheck %s

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (0,64) | dim0: 8, dim1: 128">
#regs = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,64); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (1,0); warp: 1 -> (2,0), 2 -> (4,0), 4 -> (0,0) | dim0: 8, dim1: 128">

// The rows of the first array are the program's, those of the second are everybody's. A block behind the last program takes that one's rows.
// CHECK-LABEL: func.func @own_and_shared
// CHECK-SAME: tilegpu.cluster = 2 : i64
// CHECK: %[[ID:.*]] = tile.program_id x : i32
// CHECK: %[[COUNT:.*]] = tile.num_programs x : i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[ID]], %[[COUNT]] : i32
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %{{.*}} : i32
// CHECK: %[[TAKEN:.*]] = arith.minsi %[[ID]], %[[LAST]] : i32
// CHECK-DAG: tilegpu.alloc {barriers = {{[0-9]+}} : i64, offset = {{[0-9]+}} : i64} : !tilegpu.buffer<1 x
// CHECK-DAG: tilegpu.alloc {barriers = {{[0-9]+}} : i64, offset = {{[0-9]+}} : i64, tilegpu.shared_copies} : !tilegpu.buffer<2 x
// CHECK-NOT: program_id
// CHECK: arith.extsi %[[TAKEN]] : i32 to i64
// CHECK: scf.if %[[EXISTS]] {
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
func.func @own_and_shared(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 128 : i64
  %id = tile.program_id x : i32
  %first = arith.extsi %id : i32 to i64
  %q = tilegpu.alloc : !tilegpu.buffer<1 x 8x128xbf16, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x128xbf16, #shared>
  %p0 = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%first, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x128xbf16>
  %t0 = tilegpu.copy_async %p0, %q[%c0] map 0[] : !tile.block_ptr<8x128xbf16>, !tilegpu.buffer<1 x 8x128xbf16, #shared>
  tilegpu.copy_wait %t0 in %q[%c0] : !tilegpu.buffer<1 x 8x128xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x128xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x128xbf16>, !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  %a = tilegpu.load_buffer %q[%c0] : !tilegpu.buffer<1 x 8x128xbf16, #shared> -> tensor<8x128xbf16, #regs>
  tile.store %p0, %a : !tile.block_ptr<8x128xbf16>, tensor<8x128xbf16, #regs>
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (0,64) | dim0: 8, dim1: 128">

// The same rows, but how many follows from x: blocks would wait for a part that their neighbour does not bring.
// CHECK-LABEL: func.func @as_many_as_x_says
// CHECK-NOT: tilegpu.cluster
// CHECK-NOT: shared_copies
// CHECK: return
func.func @as_many_as_x_says(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 128 : i64
  %id = tile.program_id x : i32
  %n = arith.addi %id, %c1 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x128xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x128xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x128xbf16>, !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// One box cannot be shared out.
// CHECK-LABEL: func.func @one_box
// CHECK-NOT: tilegpu.cluster
// CHECK-NOT: shared_copies
// CHECK: return
func.func @one_box(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}
