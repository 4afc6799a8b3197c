// What lanes and waves tell each other, and the grid.
// RUN: fattn-opt %s -amd-lower-tensors -split-input-file | FileCheck %s

#x = #tilegpu.regs<"register: 1; lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32); warp: 1 | dim0: 1, dim1: 64">
#s = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0), 32 -> (0); warp: 1 | dim0: 1">

// A sum over 64 lanes: neighbours in a quad by DPP, lanes of a half by the LDS's crossbar, the other half by its permutation.
// CHECK-LABEL: func.func @wave64(
// CHECK: %[[THREAD:.*]] = rocdl.workitem.id.x
// CHECK: %[[WAVE:.*]] = arith.divui %[[THREAD]], %{{.*}} : i32
// CHECK: rocdl.readfirstlane %[[WAVE]] : i32
// CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true
// CHECK: %[[FOUR:.*]] = arith.constant 4127 : i32
// CHECK: rocdl.ds_swizzle %{{.*}}, %[[FOUR]]
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16415 : i32
// CHECK: rocdl.ds_swizzle %{{.*}}, %[[SIXTEEN]]
// CHECK: %[[OTHER:.*]] = arith.xori
// CHECK: %[[BYTE:.*]] = arith.shli %[[OTHER]]
// CHECK: rocdl.ds_bpermute %[[BYTE]],
func.func @wave64(%v: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 1 : i64} {
  %x = tile.splat %v : f32 -> tensor<1x64xf32, #x>
  %s = tile.reduce %x axis 1 : tensor<1x64xf32, #x> -> tensor<1xf32, #s> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  return
}

// -----

#x = #tilegpu.regs<"register: 1; lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16); warp: 1 | dim0: 1, dim1: 32">
#s = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 | dim0: 1">

// RDNA's rows of 16 lanes exchange by DPP at any distance.
// CHECK-LABEL: func.func @wave32(
// CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 356, 15, 15, true
// CHECK: rocdl.update.dpp {{.*}} with 360, 15, 15, true
// CHECK: rocdl.ds_swizzle
// CHECK-NOT: rocdl.ds_bpermute
func.func @wave32(%v: f32) attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 1 : i64} {
  %x = tile.splat %v : f32 -> tensor<1x32xf32, #x>
  %s = tile.reduce %x axis 1 : tensor<1x32xf32, #x> -> tensor<1xf32, #s> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  return
}

// -----

#row = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (0), 32 -> (0); warp: 1 -> (0) | dim0: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,4); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,1), 32 -> (0,2); warp: 1 -> (0,0) | dim0: 16, dim1: 8">

// A wave asks its lanes.
// CHECK-LABEL: func.func @vote_of_a_wave(
// CHECK: %[[LANES:.*]] = rocdl.ballot %{{.*}} : i64
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[LANES]], %{{.*}} : i64
// CHECK: %[[NO:.*]] = arith.constant false
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[ANY]], %[[NO]] : i1
// CHECK: scf.if %[[RARE]]
func.func @vote_of_a_wave(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #rows>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #rows> -> tensor<16x8xf32, #rows> {
    %e = math.exp2 %u : tensor<16x8xf32, #rows>
    tile.yield %e : tensor<16x8xf32, #rows>
  }
  return
}

// -----

#row = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (0), 16 -> (0), 32 -> (0); warp: 1 -> (8) | dim0: 16">
#columns = #tilegpu.regs<"register: 1; lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,1), 32 -> (0,2); warp: 1 -> (0,4) | dim0: 16, dim1: 8">

// The waves of a block write what they found, and read it of all behind a barrier; a second one keeps the next vote out.
// CHECK: llvm.mlir.global internal @fattn_votes() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<2 x i32>
// CHECK-LABEL: func.func @vote_of_a_block(
// CHECK: rocdl.ballot
// CHECK: %[[VOTES:.*]] = llvm.mlir.addressof @fattn_votes
// CHECK: llvm.store
// CHECK: rocdl.s.barrier
// CHECK: %[[VOTE:.*]] = llvm.load
// CHECK: %[[HOLDS:.*]] = arith.cmpi ne, %[[VOTE]]
// CHECK: %[[ALL:.*]] = rocdl.ballot %[[HOLDS]] : i64
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[ALL]]
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[ANY]],
// CHECK: rocdl.s.barrier
// CHECK: scf.if %[[RARE]]
func.func @vote_of_a_block(%x: f32, %c: i1) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %t = tile.splat %c : i1 -> tensor<16xi1, #row>
  %u = tile.splat %x : f32 -> tensor<16x8xf32, #columns>
  %r = tile.select_lazy %t usual(%u) : tensor<16xi1, #row>, tensor<16x8xf32, #columns> -> tensor<16x8xf32, #columns> {
    %e = math.exp2 %u : tensor<16x8xf32, #columns>
    tile.yield %e : tensor<16x8xf32, #columns>
  }
  return
}

// -----

// The numbers of programs are the first words behind the arguments.
// CHECK-LABEL: func.func @grid(
// CHECK: rocdl.workgroup.id.y
// CHECK: %[[HIDDEN:.*]] = llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"()
// CHECK: %[[Z:.*]] = llvm.getelementptr %[[HIDDEN]][2]
// CHECK: llvm.load %[[Z]] invariant
func.func @grid(%p: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  %0 = tile.program_id y : i32
  %1 = tile.num_programs z : i32
  %2 = arith.addi %0, %1 : i32
  tile.scatter %p, %2 : !tile.ptr<i32>, i32
  return
}

// -----

// A barrier is of shared memory alone where it does not say more.
// CHECK-LABEL: func.func @barriers(
// CHECK: llvm.fence syncscope("workgroup") release {llvm.mmra = #[[LOCAL:.*]]}
// CHECK-NEXT: rocdl.s.waitcnt 49279
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.fence syncscope("workgroup") acquire {llvm.mmra = #[[LOCAL]]}
// CHECK: llvm.store
// CHECK: llvm.fence syncscope("workgroup") release{{$}}
// CHECK-NEXT: rocdl.s.waitcnt 49279
// CHECK-NEXT: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.fence syncscope("workgroup") acquire{{$}}
func.func @barriers(%p: !tile.ptr<i32>, %n: i32) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 2 : i64} {
  tilegpu.barrier
  tile.scatter %p, %n : !tile.ptr<i32>, i32
  tilegpu.barrier {global}
  return
}

// -----

// The waits of RDNA's fences, which have global memory to wait for, too.
// CHECK-LABEL: func.func @waits_of_gfx11(
// CHECK: rocdl.s.waitcnt 64519
// CHECK-NEXT: rocdl.s.barrier
// CHECK: llvm.store
// CHECK: rocdl.s.waitcnt 7
// CHECK-NEXT: llvm.inline_asm has_side_effects "s_waitcnt_vscnt null, 0x0"
// CHECK-NEXT: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK-NEXT: rocdl.s.barrier
func.func @waits_of_gfx11(%p: !tile.ptr<i32>, %n: i32) attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 2 : i64} {
  tilegpu.barrier
  tile.scatter %p, %n : !tile.ptr<i32>, i32
  tilegpu.barrier {global}
  return
}

// CHECK-LABEL: func.func @waits_of_gfx12(
// CHECK: rocdl.s.wait.dscnt 0
// CHECK-NEXT: rocdl.s.barrier
// CHECK: llvm.store
// CHECK: rocdl.s.wait.dscnt 0
// CHECK-NEXT: rocdl.s.wait.loadcnt 0
// CHECK-NEXT: rocdl.s.wait.storecnt 0
// CHECK-NEXT: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK-NEXT: rocdl.s.barrier
func.func @waits_of_gfx12(%p: !tile.ptr<i32>, %n: i32) attributes {tile.kernel, tilegpu.target = "amd:gfx1201", tilegpu.warps = 2 : i64} {
  tilegpu.barrier
  tile.scatter %p, %n : !tile.ptr<i32>, i32
  tilegpu.barrier {global}
  return
}
