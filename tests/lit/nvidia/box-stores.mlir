// SPDX-License-Identifier: Apache-2.0
// Stores of boxes by the copy engine: each warp by itself, one thread for the engine.
// RUN: fattn-opt %s -split-input-file -nvidia-lower-tensors -canonicalize -cse | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64), 64 -> (64,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 128, dim1: 128">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0), 8192 -> (0,64) | dim0: 128, dim1: 128">
!buf = !tilegpu.buffer<1 x 128x128xbf16, #rows>

// A warp has rows 16 w to 16 w + 15 and the same 64 further down, in two columns of 128 bytes: four boxes. Rows lie 128 bytes apart, 64 rows
// 8192 bytes, the second column behind the first one's 16384. Before it ends, the block waits until the engine has read.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[MAP:[^:]*]]: !llvm.ptr)
// CHECK-COUNT-16: llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16
// CHECK: "fence.proxy.async.shared::cta;"
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[OTHER:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[OTHER]] {
// CHECK: "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$2, $3}], [$1];", "l,r,r,r,~{memory}" %[[MAP]], %{{.*}}, %c0_i32, %[[ROW:[^ ]*]] :
// CHECK: "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$2, $3}], [$1];", {{.*}} %[[MAP]], %{{.*}}, %c64_i32, %[[ROW]] :
// CHECK: %[[LOWER:.*]] = arith.addi %[[ROW]], %c64_i32
// CHECK: "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$2, $3}], [$1];", {{.*}} %[[MAP]], %{{.*}}, %c0_i32, %[[LOWER]] :
// CHECK: "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$2, $3}], [$1];", {{.*}} %[[MAP]], %{{.*}}, %c64_i32, %[[LOWER]] :
// CHECK-NOT: commit_group
// CHECK: }
// CHECK-NEXT: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: return
func.func @rows(%o: !tile.ptr<bf16>, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 32768 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 128>, array<i64: 1, 1>], strides = [array<i64: 256>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %x = arith.constant dense<1.0> : tensor<128x128xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%n, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.store_boxes %w, %x in %b map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<128x128xbf16>, tensor<128x128xbf16, #acc>, !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64), 64 -> (64,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 128, dim1: 128">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0), 8192 -> (0,64) | dim0: 128, dim1: 128">
!buf = !tilegpu.buffer<1 x 128x128xbf16, #rows>

// The second store has the first one's buffer: it waits until the engine has read that.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: _group;
// CHECK-COUNT-16: llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16
// CHECK-COUNT-4: "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16
// CHECK: %c128_i32
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: return
func.func @parts(%o: !tile.ptr<bf16>, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 32768 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 256>, array<i64: 1, 1>], strides = [array<i64: 512>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %c256 = arith.constant 256 : i64
  %x = arith.constant dense<1.0> : tensor<128x128xbf16, #acc>
  %w = tile.make_block_ptr %o, shape [%n, %c256], strides [%c256, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.store_boxes %w, %x in %b map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<128x128xbf16>, tensor<128x128xbf16, #acc>, !buf
  %w2 = tile.make_block_ptr %o, shape [%n, %c256], strides [%c256, %c1], offsets [%c0, %c128] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  tilegpu.store_boxes %w2, %x in %b map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<128x128xbf16>, tensor<128x128xbf16, #acc>, !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#rows = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
!buf = !tilegpu.buffer<1 x 64x64xbf16, #rows>

// Where a block takes several programs, each store waits for the engine's last one, without a branch, and so does the block behind the last
// program.
// CHECK-LABEL: func.func @programs
// CHECK: scf.while
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: stmatrix
// CHECK-NOT: _group;
// CHECK: scf.yield
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: return
func.func @programs(%o: !tile.ptr<bf16>, %n: i64) attributes {tile.kernel, tilegpu.repeats, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 8192 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 64>, array<i64: 1, 1>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %v = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
    %row = arith.extsi %x : i32 to i64
    %w = tile.make_block_ptr %o, shape [%n, %c64], strides [%c64, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
    tilegpu.store_boxes %w, %v in %b map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #acc>, !buf
    tilegpu.next_program
  }
  return
}

// The wait stands where await_sent does; the warp's threads still meet before they lay the next rows.
// CHECK-LABEL: func.func @awaited
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK: nvvm.barrier
// CHECK-NOT: _group
// CHECK: nvvm.bar.warp.sync
// CHECK: stmatrix
// CHECK-NOT: _group;
// CHECK: scf.yield
func.func @awaited(%o: !tile.ptr<bf16>, %n: i64) attributes {tile.kernel, tilegpu.repeats, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 8192 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 64>, array<i64: 1, 1>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %v = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
    %row = arith.extsi %x : i32 to i64
    %w = tile.make_block_ptr %o, shape [%n, %c64], strides [%c64, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
    tilegpu.await_sent
    tilegpu.barrier
    tilegpu.store_boxes %w, %v in %b map 0[] {awaited, boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16, #acc>, !buf
    tilegpu.next_program
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">
!buf = !tilegpu.buffer<1 x 128x32xf32, #sums>

// Additions in a loop: a warp waits for the boxes of the trip before, and at the end for the last ones.
// CHECK-LABEL: func.func @added
// CHECK: scf.for
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: "fence.proxy.async.shared::cta;"
// CHECK: "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [$0, {$2, $3}], [$1];"
// CHECK-NOT: cp.reduce
// CHECK-NOT: wait_group
// CHECK: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK-NEXT: return
func.func @added(%o: !tile.ptr<f32>, %n: i32, %rows: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 16384 : i64,
    tilegpu.tensor_maps = [{adds, box = array<i64: 32, 16>, element = f32, pointer = 0 : i64, sizes = [array<i64: 32>, array<i64: 1, 2>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %v = arith.constant 32 : i64
  %x = arith.constant dense<1.0> : tensor<128x32xf32, #acc>
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  scf.for %i = %c0 to %n step %c1 : i32 {
    %row = arith.extsi %i : i32 to i64
    %w = tile.make_block_ptr %o, shape [%rows, %v], strides [%v, %u], offsets [%row, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
    tilegpu.store_boxes %w, %x in %b map 0[] {add} : !tile.block_ptr<128x32xf32>, tensor<128x32xf32, #acc>, !buf
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">
!buf = !tilegpu.buffer<1 x 128x32xf32, #sums>

// Sent by another role: all 8 warps arrive on `full` (byte 16384), which that role waits for, and it alone on `empty` (byte 16392).
// CHECK-LABEL: func.func @sent
// CHECK: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %{{.*}}, %c8_i32
// CHECK: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %{{.*}}, %c1_i32
// CHECK: scf.for
// CHECK: mbarrier.try_wait
// CHECK: "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [$0, {$2, $3}], [$1];"
// CHECK-NEXT: "cp.async.bulk.commit_group;"
// CHECK-NEXT: "cp.async.bulk.wait_group.read 0;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: scf.for
// CHECK: mbarrier.try_wait
// CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: "fence.proxy.async.shared::cta;"
// CHECK: nvvm.bar.warp.sync
// CHECK: elect.sync _|one, 0xffffffff; @one mbarrier.arrive.shared::cta.b64 _, [$0];
// CHECK-NOT: cp.reduce
// CHECK-NOT: _group
// CHECK: return
func.func @sent(%o: !tile.ptr<f32>, %n: i32, %rows: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.shared_bytes = 16400 : i64,
    tilegpu.tensor_maps = [{adds, box = array<i64: 32, 128>, element = f32, pointer = 0 : i64, sizes = [array<i64: 32>, array<i64: 1, 2>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %v = arith.constant 32 : i64
  %b = tilegpu.alloc {offset = 0 : i64, barriers = 16384 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier thread 0
  %copiers = tilegpu.is_copier
  scf.if %copiers {
    scf.if %copier {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %row = arith.extsi %i : i32 to i64
        %w = tile.make_block_ptr %o, shape [%rows, %v], strides [%v, %u], offsets [%row, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
        tilegpu.send_boxes %w in %b map 0[] {add} : !tile.block_ptr<128x32xf32>, !buf
      }
    }
  } else {
    %x = arith.constant dense<1.0> : tensor<128x32xf32, #acc>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %row = arith.extsi %i : i32 to i64
      %w = tile.make_block_ptr %o, shape [%rows, %v], strides [%v, %u], offsets [%row, %z] : !tile.ptr<f32> -> !tile.block_ptr<128x32xf32>
      tilegpu.store_boxes %w, %x in %b map 0[] {add, tilegpu.made = "elsewhere"} : !tile.block_ptr<128x32xf32>, tensor<128x32xf32, #acc>, !buf
    }
  }
  return
}
