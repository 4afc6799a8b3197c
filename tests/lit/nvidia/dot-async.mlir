// SPDX-License-Identifier: Apache-2.0
// Dots that matrix units do by themselves: descriptors of what lies in shared memory, one piece of PTX, a wait through which the
// accumulator passes.
// RUN: fattn-opt %s -split-input-file -nvidia-lower-tensors | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#narrow = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// A from registers; B lies as n x k, rows of 32 bytes: the descriptor's swizzle is 3, 8 rows are 256 bytes (16 times 16). Its lower word is
// the address in units of 16 bytes, beside 1 << 16; the upper one is 3 << 30 | 16.
// CHECK-LABEL: func.func @from_registers
// CHECK: nvvm.shfl.sync
// CHECK: arith.constant 65536 : i32
// CHECK: llvm.inline_asm has_side_effects {{.*}}"{ .reg .b64 a, b, da, db; wgmma.fence.sync.aligned; mov.b64 b, {$8, 3221225488}; add.s64 db, b, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$9, $10, $11, $12}, db, 1, 1, 1, 0; wgmma.commit_group.sync.aligned; }", "=f,=f,=f,=f,=f,=f,=f,=f,r,r,r,r,r,0,1,2,3,4,5,6,7,~{memory}"
// CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,~{memory}"
func.func @from_registers(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<1.0> : tensor<64x16xbf16, #acc>
  %c = tile.splat %x : f32 -> tensor<64x16xf32, #acc>
  %b = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x16xbf16, #narrow>
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>, transposed_b} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #narrow>, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 1 : i64} : tensor<64x16xf32, #acc>
  tile.device_print "e", %e : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
#left = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0) | dim0: 64, dim1: 32">
#right = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0) | dim0: 32, dim1: 32">

// Both from shared memory, two steps of 16. A lies as m x k in rows of 64 bytes: the second step is 32 bytes (2 times 16) further. B lies
// as k x n: the second step is 16 rows of 64 bytes (64 times 16) further. What starts from zero has no accumulator to pass in.
// CHECK-LABEL: func.func @from_shared
// CHECK: fence.proxy.async.shared::cta;
// CHECK: llvm.inline_asm has_side_effects {{.*}}mov.b64 a, {$16, 2147483680}; mov.b64 b, {$17, 2147483680}; add.s64 da, a, 0; add.s64 db, b, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {$0, {{.*}}$15}, da, db, 0, 1, 1, 0, 1; add.s64 da, a, 2; add.s64 db, b, 64; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {$0, {{.*}}$15}, da, db, 1, 1, 1, 0, 1; wgmma.commit_group.sync.aligned; }", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,r,r,~{memory}"
func.func @from_shared() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %c = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 64x32xf16, #left>
  %b = tilegpu.alloc {offset = 4096 : i64} : !tilegpu.buffer<1 x 32x32xf16, #right>
  tilegpu.fence_async
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<1 x 64x32xf16, #left>, !tilegpu.buffer<1 x 32x32xf16, #right>, tensor<64x32xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x32xf32, #acc>
  tile.device_print "e", %e : tensor<64x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (32) | dim0: 64">
#narrow = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// Four warps begin such a dot together: a select_lazy with one inside is decided by the block, although its rows belong to single warps.
// CHECK-LABEL: func.func @block_decides
// CHECK: llvm.nvvm.barrier.cta.red.or
// CHECK-NOT: nvvm.vote
// CHECK: scf.if
// CHECK: wgmma.mma_async
func.func @block_decides(%x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %yes = arith.constant dense<true> : tensor<64xi1, #rows>
  %a = arith.constant dense<1.0> : tensor<64x16xbf16, #acc>
  %c = tile.splat %x : f32 -> tensor<64x16xf32, #acc>
  %b = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x16xbf16, #narrow>
  %r = tile.select_lazy %yes usual(%c) : tensor<64xi1, #rows>, tensor<64x16xf32, #acc> -> tensor<64x16xf32, #acc> {
    %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>, transposed_b} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #narrow>, tensor<64x16xf32, #acc>
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
    tile.yield %e : tensor<64x16xf32, #acc>
  }
  tile.device_print "r", %r : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#left = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0), 512 -> (32,0) | dim0: 64, dim1: 16">
#right = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// The slot of A stays in all trips, that of B varies: A's descriptor takes B's highest bit, which is 0, so that the assembler computes it in
// the trip. A slot that is a constant stays as it is where there are few steps.
// CHECK-LABEL: func.func @fixed_and_varying
// CHECK: scf.for
// CHECK: { .reg .b32 low; shr.u32 low, $9, 31; add.u32 low, low, $8; mov.b64 a, {low, {{[0-9]+}}}; } mov.b64 b, {$9, {{[0-9]+}}}; add.s64 da, a, 0; add.s64 db, b, 0;
// CHECK-NOT: shr.u32
// CHECK: wgmma.fence
// CHECK-NOT: shr.u32
// CHECK: return
func.func @fixed_and_varying(%n: i32, %fixed: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<2 x 64x16xf16, #left>
  %b = tilegpu.alloc {offset = 4096 : i64} : !tilegpu.buffer<2 x 16x16xf16, #right>
  scf.for %i = %zero to %n step %one : i32 {
    %slot = arith.andi %i, %one : i32
    tilegpu.fence_async
    %d = tilegpu.dot_async %a[%fixed], %b[%slot], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<2 x 64x16xf16, #left>, !tilegpu.buffer<2 x 16x16xf16, #right>, tensor<64x16xf32, #acc>
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
    %f = tilegpu.dot_async %a[%zero], %b[%slot], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<2 x 64x16xf16, #left>, !tilegpu.buffer<2 x 16x16xf16, #right>, tensor<64x16xf32, #acc>
    %g = tilegpu.dot_wait %f {pending = 0 : i64} : tensor<64x16xf32, #acc>
    %h = arith.addf %e, %g : tensor<64x16xf32, #acc>
    tile.device_print "h", %h : tensor<64x16xf32, #acc>
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (64,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), x3 along dim0 | dim0: 384, dim1: 16">
#left = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0), 512 -> (32,0), 1024 -> (64,0), x3 along dim0 | dim0: 384, dim1: 16">
#right = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// Three groups of 128 rows each: the next group's are 128 rows of 32 bytes (256 times 16) further, a group's second 64 rows 128 times 16.
// CHECK-LABEL: func.func @groups_of_several_instructions
// CHECK: %[[GROUP:[0-9]+]] = arith.shrui %{{[0-9]+}}, %c2_i32 : i32
// CHECK-NEXT: %[[STEP:.*]] = arith.constant 256 : i32
// CHECK-NEXT: arith.muli %[[GROUP]], %[[STEP]] : i32
// CHECK: llvm.inline_asm has_side_effects {{.*}}mov.b64 a, {$16, {{.*}}add.s64 da, a, 0; {{.*}}add.s64 da, a, 128; {{.*}}wgmma.commit_group
func.func @groups_of_several_instructions() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 12 : i64} {
  %zero = arith.constant 0 : i32
  %c = arith.constant dense<0.0> : tensor<384x16xf32, #acc>
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 384x16xf16, #left>
  %b = tilegpu.alloc {offset = 12288 : i64} : !tilegpu.buffer<1 x 16x16xf16, #right>
  tilegpu.fence_async
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<1 x 384x16xf16, #left>, !tilegpu.buffer<1 x 16x16xf16, #right>, tensor<384x16xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<384x16xf32, #acc>
  tile.device_print "e", %e : tensor<384x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,32) | dim0: 64, dim1: 64">
#left = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0) | dim0: 64, dim1: 32">

// Two groups side by side: both read all rows of A, and each its 32 columns of B, which are rows of the buffer (n x k): 32 rows of 64 bytes
// are 128 times 16 bytes further.
// CHECK-LABEL: func.func @groups_by_columns
// CHECK: %[[GROUP:.*]] = arith.shrui %{{.*}}, %c2_i32
// CHECK: arith.muli %[[GROUP]], %c128_i32
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
func.func @groups_by_columns() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  %zero = arith.constant 0 : i32
  %c = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 64x32xbf16, #left>
  %b = tilegpu.alloc {offset = 4096 : i64} : !tilegpu.buffer<1 x 64x32xbf16, #left>
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_b} : !tilegpu.buffer<1 x 64x32xbf16, #left>, !tilegpu.buffer<1 x 64x32xbf16, #left>, tensor<64x64xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #acc>
  tile.device_print "e", %e : tensor<64x64xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), x3 along dim1; lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,32) | dim0: 64, dim1: 192">
#left = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0), 512 -> (32,0) | dim0: 64, dim1: 16">
#right = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (0,32), x3 along dim1 | dim0: 16, dim1: 192">

// Two groups share 192 columns in parts of 32, a column of B each. One instruction reads a group's three parts, which are two columns of 1024
// bytes apart: 128 << 16 in the descriptor's lower word. The second group begins a column (64 times 16 bytes) further. Of 136 columns that
// count the first group has 32, 32 and 8: the instructions take 72.
// CHECK-LABEL: func.func @groups_by_parts_of_columns
// CHECK: arith.constant 8388736 : i32
// CHECK: %[[GROUP:.*]] = arith.shrui %{{.*}}, %c2_i32
// CHECK: arith.muli %[[GROUP]], %c64_i32
// CHECK: wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16
// CHECK: wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16
func.func @groups_by_parts_of_columns() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  %zero = arith.constant 0 : i32
  %c = arith.constant dense<0.0> : tensor<64x192xf32, #acc>
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 64x16xbf16, #left>
  %b = tilegpu.alloc {offset = 2048 : i64} : !tilegpu.buffer<1 x 16x192xbf16, #right>
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<1 x 64x16xbf16, #left>, !tilegpu.buffer<1 x 16x192xbf16, #right>, tensor<64x192xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x192xf32, #acc>
  tile.device_print "e", %e : tensor<64x192xf32, #acc>
  %f = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, tilegpu.used = array<i64: 16, 136>} : !tilegpu.buffer<1 x 64x16xbf16, #left>, !tilegpu.buffer<1 x 16x192xbf16, #right>, tensor<64x192xf32, #acc>
  %g = tilegpu.dot_wait %f {pending = 0 : i64} : tensor<64x192xf32, #acc>
  tile.device_print "g", %g : tensor<64x192xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#narrow = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">

// A dot that an earlier wait has covered takes no instruction, but what uses it stays behind.
// CHECK-LABEL: func.func @covered
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: wait_group
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "",
// CHECK-NOT: wait_group
// CHECK: return
func.func @covered() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 512 : i64} {
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<1.0> : tensor<64x16xbf16, #acc>
  %c = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %b = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x16xbf16, #narrow>
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #narrow>, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #narrow>, tensor<64x16xf32, #acc>
  %f = tilegpu.dot_wait %e {pending = 0 : i64} : tensor<64x16xf32, #acc>
  %g = tilegpu.dot_wait %d {covered} : tensor<64x16xf32, #acc>
  tile.device_print "g", %g : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#deep = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
#narrow = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">

// Padding is not multiplied: of a depth of 32 the first 9 count, which is one step, and of 16 columns the first 5, which are 8. What lies
// behind these in the result is the accumulator.
// CHECK-LABEL: func.func @padding
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group
func.func @padding() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 1024 : i64} {
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<1.0> : tensor<64x32xbf16, #deep>
  %c = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %b = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 32x16xbf16, #narrow>
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>, tilegpu.used = array<i64: 9, 5>} : tensor<64x32xbf16, #deep>, !tilegpu.buffer<1 x 32x16xbf16, #narrow>, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
  tile.device_print "e", %e : tensor<64x16xf32, #acc>
  return
}

// -----

// Two groups with operands of their own: the second one's lower words are chosen by the group's number, and all else is the same.
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#a = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
!tile = !tilegpu.buffer<1 x 64x64xbf16, #a>
!ring = !tilegpu.buffer<2 x 64x64xbf16, #a>
// CHECK-LABEL: func.func @operands_of_each_group
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32
// CHECK: %[[A:.*]] = arith.select %[[SECOND]]
// CHECK: %[[B:.*]] = arith.select
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK-SAME: %[[A]], %[[B]]
// CHECK: wgmma.wait_group.sync.aligned 0;
func.func @operands_of_each_group(%slot: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32, #c>
  %k = tilegpu.alloc {offset = 0 : i64} : !tile
  %v = tilegpu.alloc {offset = 8192 : i64} : !tile
  %q = tilegpu.alloc {offset = 16384 : i64} : !ring
  %o = tilegpu.alloc {offset = 32768 : i64} : !ring
  %d = tilegpu.dot_async %k[%c0], %q[%slot], %zero others(%v, %c0, %o, %slot : !tile, i32, !ring, i32) {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_b} : !tile, !ring, tensor<128x64xf32, #c>
  %e = tilegpu.dot_wait %d : tensor<128x64xf32, #c>
  return
}
