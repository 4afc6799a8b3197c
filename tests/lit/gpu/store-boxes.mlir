// SPDX-License-Identifier: Apache-2.0
// Which tiles an engine writes to global memory, and which are left to threads.
// RUN: fattn-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(tilegpu-store-boxes))' | FileCheck %s
// RUN: fattn-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(tilegpu-store-boxes{programs=true}))' | FileCheck %s --check-prefix=PROGRAMS

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// Each warp has 16 rows: so many has a box. The array ends where the store says.
// CHECK-LABEL: func.func @results
// CHECK-SAME: tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 1, 1>], strides = [array<i64: 2, 2>], swizzle = 128 : i64}]
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16
// CHECK: %[[X:.*]] = arith.constant dense<1.000000e+00> : tensor<64x64xbf16, #regs>
// CHECK-NOT: convert_layout
// CHECK: tilegpu.store_boxes %{{.*}}, %[[X]] in %[[B]] map 0[] {boundary_check = array<i64: 0>}
// CHECK-NOT: tile.store
func.func @results(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// Threads have no order with the engine: what is read again, or written twice, they write themselves.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT: store_boxes
// CHECK: tile.store
func.func @read_again(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  %z = tile.load %w {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16, #vec>
  tile.device_print "z", %z : tensor<64x64xbf16, #vec>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// CHECK-LABEL: func.func @written_twice
// CHECK-NOT: store_boxes
// CHECK: tile.store
// CHECK: tile.store
func.func @written_twice(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// What was read before lies in registers.
// CHECK-LABEL: func.func @read_before
// CHECK: tilegpu.store_boxes
func.func @read_before(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %z = tile.load %w {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16, #vec>
  tile.device_print "z", %z : tensor<64x64xbf16, #vec>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// Vectors that threads have anyway need no engine.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT: store_boxes
// CHECK: tile.store
func.func @vectors(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = arith.constant dense<2.0> : tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#columns = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,16), 2 -> (0,32) | dim0: 64, dim1: 64">

// Warps that share rows would have to meet first.
// CHECK-LABEL: func.func @shared_rows
// CHECK-NOT: store_boxes
// CHECK: tile.store
func.func @shared_rows(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #columns>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #columns> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// No row of 32 bytes may begin elsewhere than at a multiple of 16 bytes.
// CHECK-LABEL: func.func @unaligned
// CHECK-NOT: store_boxes
// CHECK: tile.store
func.func @unaligned(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 4 : i64}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// 216 KB are taken: there is room for 8 KB, beside one slot for what boxes fill once a program. Where a block takes one program, 224 KB are
// no obstacle, as the operands' bytes are free by then.
// CHECK-LABEL: func.func @room
// CHECK: tilegpu.store_boxes
// PROGRAMS-LABEL: func.func @room
// PROGRAMS: tilegpu.store_boxes
func.func @room(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 64>, element = bf16, pointer = 3 : i64, sizes = [array<i64: 64>, array<i64: 64>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %slot = arith.constant 0 : i32
  %taken = tilegpu.alloc : !tilegpu.buffer<26 x 64x64xbf16, #rows>
  %once = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %from = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %t = tilegpu.copy_async %from, %once[%slot] map 0[] : !tile.block_ptr<64x64xbf16>, !tilegpu.buffer<1 x 64x64xbf16, #rows>
  tilegpu.copy_wait %t in %once[%slot] : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// CHECK-LABEL: func.func @full
// CHECK: tilegpu.store_boxes
// PROGRAMS-LABEL: func.func @full
// PROGRAMS-NOT: store_boxes
func.func @full(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 64>, element = bf16, pointer = 3 : i64, sizes = [array<i64: 64>, array<i64: 64>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %slot = arith.constant 0 : i32
  %taken = tilegpu.alloc : !tilegpu.buffer<27 x 64x64xbf16, #rows>
  %once = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %from = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %t = tilegpu.copy_async %from, %once[%slot] map 0[] : !tile.block_ptr<64x64xbf16>, !tilegpu.buffer<1 x 64x64xbf16, #rows>
  tilegpu.copy_wait %t in %once[%slot] : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x64xbf16, #acc> -> tensor<64x64xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #vec>
  return
}

// -----

#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64), 64 -> (0,128); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 256">
#vec = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0), 16 -> (0,32), 32 -> (0,64), 64 -> (0,128); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 256">

// 208 KB are taken, with two slots for what is copied once a program. There is room for half of 32 KB: the columns are stored in two parts,
// which have one buffer. Where a block takes one program the whole tile lies where operands were.
// CHECK-LABEL: func.func @parts
// CHECK: tilegpu.alloc : !tilegpu.buffer<1 x 64x256xbf16
// CHECK: tilegpu.store_boxes {{.*}} tensor<64x256xbf16
// PROGRAMS-LABEL: func.func @parts
// PROGRAMS: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x128xbf16
// PROGRAMS: %[[P:.*]] = tile.make_block_ptr %{{.*}}, offsets[%[[ROW:.*]], %[[ZERO:.*]]] : {{.*}} -> !tile.block_ptr<64x128xbf16>
// PROGRAMS: %[[X:.*]] = tilegpu.slice %[[ALL:.*]] [0, 0] : tensor<64x256xbf16, {{.*}} -> tensor<64x128xbf16,
// PROGRAMS: tilegpu.store_boxes %[[P]], %[[X]] in %[[B]] map 1[]
// PROGRAMS: %[[HALF:.*]] = arith.constant 128 : i64
// PROGRAMS: %[[COLUMN:.*]] = arith.addi %[[ZERO]], %[[HALF]] : i64
// PROGRAMS: %[[Q:.*]] = tile.make_block_ptr %{{.*}}, offsets[%[[ROW]], %[[COLUMN]]] : {{.*}} -> !tile.block_ptr<64x128xbf16>
// PROGRAMS: %[[Y:.*]] = tilegpu.slice %[[ALL]] [0, 128]
// PROGRAMS: tilegpu.store_boxes %[[Q]], %[[Y]] in %[[B]] map 1[]
func.func @parts(%o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %stride: i64 {tile.divisibility = 8 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 64>, element = bf16, pointer = 3 : i64, sizes = [array<i64: 64>, array<i64: 64>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c256 = arith.constant 256 : i64
  %slot = arith.constant 0 : i32
  %taken = tilegpu.alloc : !tilegpu.buffer<24 x 64x64xbf16, #rows>
  %once = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %from = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %t = tilegpu.copy_async %from, %once[%slot] map 0[] : !tile.block_ptr<64x64xbf16>, !tilegpu.buffer<1 x 64x64xbf16, #rows>
  tilegpu.copy_wait %t in %once[%slot] : !tilegpu.buffer<1 x 64x64xbf16, #rows>
  %x = arith.constant dense<1.0> : tensor<64x256xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c256], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x256xbf16>
  %y = tilegpu.convert_layout %x : tensor<64x256xbf16, #acc> -> tensor<64x256xbf16, #vec>
  tile.store %w, %y {boundary_check = array<i64: 0>} : !tile.block_ptr<64x256xbf16>, tensor<64x256xbf16, #vec>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,64) | dim0: 64, dim1: 128">

// Additions of f32, in loops as well: each warp has 16 rows of 64 columns, two boxes of 128 bytes.
// PROGRAMS-LABEL: func.func @added
// PROGRAMS: tilegpu.store_boxes {{.*}} {add
// CHECK-LABEL: func.func @added
// CHECK-SAME: tilegpu.tensor_maps = [{adds, box = array<i64: 32, 16>, element = f32, pointer = 0 : i64,
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x128xf32
// CHECK: scf.for
// CHECK: tilegpu.store_boxes %{{.*}}, %{{.*}} in %[[B]] map 0[] {add, boundary_check = array<i64: 0>}
// CHECK-NOT: tile.accumulate
func.func @added(%o: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %z = arith.constant 0 : i32
  %s = arith.constant 64 : i32
  %x = arith.constant dense<1.0> : tensor<64x128xf32, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  scf.for %i = %z to %n step %s : i32 {
    %d = arith.extsi %i : i32 to i64
    %p = tile.advance %w, [%d, %c0] : !tile.block_ptr<64x128xf32>
    tile.accumulate %p, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xf32>, tensor<64x128xf32, #acc>
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,64) | dim0: 64, dim1: 128">

// What the program reads as well threads add to by themselves.
// CHECK-LABEL: func.func @added_and_read
// CHECK-NOT: store_boxes
// CHECK: tile.accumulate
func.func @added_and_read(%o: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %x = arith.constant dense<1.0> : tensor<64x128xf32, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  tile.accumulate %w, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xf32>, tensor<64x128xf32, #acc>
  %y = tile.load %w {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xf32> -> tensor<64x128xf32, #acc>
  tile.device_print "y", %y : tensor<64x128xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// CHECK-LABEL: func.func @added_halves
// CHECK-NOT: store_boxes
// CHECK: tile.accumulate
func.func @added_halves(%o: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.noalias}, %rows: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %x = arith.constant dense<1.0> : tensor<64x64xf16, #acc>
  %w = tile.make_block_ptr %o, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  tile.accumulate %w, %x {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xf16>, tensor<64x64xf16, #acc>
  return
}
