// Global memory: width, bounds and padding of windows, who writes what several threads hold, gather, scatter and atomic additions.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse -split-input-file | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">

// 8 elements of 16 bits at once. The columns are not checked; the second row of the thread lies 16 rows below.
// CHECK-LABEL: func.func @window
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: %[[PAD:.*]] = llvm.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
// CHECK: %[[HIGH:.*]] = arith.subi %{{.*}}, %[[ROW:.*]] : i32
// CHECK: %[[LOW:.*]] = arith.select
// CHECK: %[[BELOW:.*]] = arith.cmpi sgt, %[[HIGH]], %[[C0]]
// CHECK: %[[ABOVE:.*]] = arith.cmpi sle, %[[LOW]], %[[C0]]
// CHECK: %[[IN:.*]] = arith.andi %[[BELOW]], %[[ABOVE]]
// CHECK: %[[P0:.*]] = llvm.extractelement %[[PAD]]
// CHECK: llvm.inline_asm has_side_effects "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}" %{{.*}}, %[[IN]], %[[P0]]
// CHECK: arith.cmpi sgt, %[[HIGH]], %[[C16]]
// CHECK: arith.cmpi sle, %[[LOW]], %[[C16]]
// CHECK: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
func.func @window(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %n: i64, %row: i64)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %from = tile.make_block_ptr %p, shape [%n, %c16], strides [%c16, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %into = tile.make_block_ptr %q, shape [%n, %c16], strides [%c16, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %x = tile.load %from {boundary_check = array<i64: 0>, padding = 1.0 : bf16} : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16, #rows>
  tile.store %into, %x : !tile.block_ptr<32x16xbf16>, tensor<32x16xbf16, #rows>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">

// An extent of columns that nothing is known of: element by element, and each is asked for its column.
// CHECK-LABEL: func.func @columns
// CHECK-COUNT-16: "@$2 ld.global.b16 $0, [$1];"
// CHECK-NOT: ld.global
// CHECK-COUNT-16: "@$2 st.global.b16 [$1], $0;"
func.func @columns(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %n: i64, %m: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %w = tile.make_block_ptr %p, shape [%n, %m], strides [%m, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %x = tile.load %w {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16, #rows>
  tile.store %w, %x {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x16xbf16>, tensor<32x16xbf16, #rows>
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 32, dim1: 16">

// The same in rows that are aligned: vectors, unless the array ends within one, which all threads see alike.
// CHECK-LABEL: func.func @cutVectors
// CHECK-SAME: !llvm.ptr<1>, %{{[a-z0-9]+}}: i64, %[[M:[a-z0-9]+]]: i64
// CHECK: %[[OVER:.*]] = arith.andi %[[M]], %c7_i64
// CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[OVER]], %c0_i64
// CHECK: %[[INSIDE:.*]] = arith.cmpi sge, %[[M]], %c16_i64
// CHECK: %[[WHOLE:.*]] = arith.ori %[[EVEN]], %[[INSIDE]]
// CHECK: scf.if %[[WHOLE]]
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: else
// CHECK-COUNT-16: "@$2 ld.global.b16 $0, [$1];"
// CHECK-NOT: ld.global
// CHECK: scf.if %[[WHOLE]]
// CHECK-COUNT-2: st.global.v4.b32
// CHECK: else
// CHECK-COUNT-16: "@$2 st.global.b16 [$1], $0;"
// CHECK-NOT: st.global
func.func @cutVectors(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %n: i64, %m: i64, %s: i64 {tile.divisibility = 8 : i64})
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %w = tile.make_block_ptr %p, shape [%n, %m], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %x = tile.load %w {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16, #rows>
  tile.store %w, %x {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x16xbf16>, tensor<32x16xbf16, #rows>
  return
}

// -----

#line = #tilegpu.regs<"register: 1 -> (8), 2 -> (0); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (0) | dim0: 32">

// Sixteen rows of an accumulator: four lanes, two warps and pairs of registers hold the same. All read, the first lane and warp write,
// each element once.
// CHECK-LABEL: func.func @copies
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load
// CHECK-DAG: %[[LANES:.*]] = arith.andi %{{.*}}, %[[C3]]
// CHECK-DAG: %[[WARPS:.*]] = arith.andi %{{.*}}, %[[C2]]
// CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK-COUNT-2: "@$2 st.global.b32 [$1], $0;", "f,l,b,~{memory}" %{{.*}}, %{{.*}}, %[[FIRST]]
// CHECK-NOT: st.global
func.func @copies(%p: !tile.ptr<f32>, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %w = tile.make_block_ptr %p, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %x = tile.load %w : !tile.block_ptr<32xf32> -> tensor<32xf32, #line>
  tile.store %w, %x : !tile.block_ptr<32xf32>, tensor<32xf32, #line>
  return
}

// -----

#lanes = #tilegpu.regs<"register: 1 -> (32); lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 | dim0: 64">

// CHECK-LABEL: func.func @scattered
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32)
// CHECK: llvm.getelementptr %[[P]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
// CHECK-COUNT-2: "@$2 ld.global.b16 $0, [$1];"
// CHECK-COUNT-2: "@$2 st.global.b16 [$1], $0;"
// CHECK-COUNT-2: "@$2 red.relaxed.gpu.global.add.noftz.f16 [$0], $1;", "l,h,b,~{memory}"
// CHECK-NOT: red.
func.func @scattered(%p: !tile.ptr<f16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %start = tile.splat %p : !tile.ptr<f16> -> tensor<64x!tile.ptr<f16>, #lanes>
  %i = tile.arange 0 : tensor<64xi32, #lanes>
  %ptrs = tile.addptr %start, %i : tensor<64x!tile.ptr<f16>, #lanes>, tensor<64xi32, #lanes>
  %ns = tile.splat %n : i32 -> tensor<64xi32, #lanes>
  %mask = arith.cmpi slt, %i, %ns : tensor<64xi32, #lanes>
  %other = arith.constant dense<-1.0> : tensor<64xf16, #lanes>
  %x = tile.gather %ptrs, mask %mask : tensor<64xi1, #lanes>, other %other : tensor<64xf16, #lanes> : tensor<64x!tile.ptr<f16>, #lanes> -> tensor<64xf16, #lanes>
  tile.scatter %ptrs, %x, mask %mask : tensor<64xi1, #lanes> : tensor<64x!tile.ptr<f16>, #lanes>, tensor<64xf16, #lanes>
  %old = tile.atomic_add %ptrs, %x, mask %mask : tensor<64xi1, #lanes> : tensor<64x!tile.ptr<f16>, #lanes>, tensor<64xf16, #lanes> -> tensor<64xf16, #lanes>
  return
}

// A scalar is read by all threads, and written and added by the first. Its old value reaches the others through shared memory, behind what
// the block has allocated.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: tilegpu.shared_bytes = 24 : i64
// CHECK: %[[ONE:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: "@$2 st.global.b32 [$1], $0;", "r,l,b,~{memory}" %[[ONE]], %{{.*}}, %[[FIRST]]
// CHECK: %[[OLD:.*]] = llvm.inline_asm has_side_effects "@$3 atom.relaxed.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,b,0,~{memory}" %{{.*}}, %[[ONE]], %[[FIRST]]
// CHECK: nvvm.barrier0
// CHECK: llvm.store %[[OLD]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: %[[ALL:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: llvm.getelementptr %{{.*}}
func.func @scalars(%p: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64, tilegpu.shared_bytes = 4 : i64} {
  %one = tile.gather %p : !tile.ptr<i32> -> i32
  tile.scatter %p, %one : !tile.ptr<i32>, i32
  %old = tile.atomic_add %p, %one : !tile.ptr<i32>, i32 -> i32
  %q = tile.addptr %p, %old : !tile.ptr<i32>, i32
  tile.scatter %q, %old : !tile.ptr<i32>, i32
  return
}

// An addition that orders other accesses is an "atom" also where nobody uses the old value: "red" acquires nothing.
// CHECK-LABEL: func.func @orders
// CHECK: "@$3 atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;"
func.func @orders(%p: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %one = arith.constant 1 : i32
  %old = tile.atomic_add %p, %one order acq_rel : !tile.ptr<i32>, i32 -> i32
  return
}

// -----

#lanes = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 | dim0: 32">

// bf16 has no atomic addition before sm_90: a loop of compare-and-swap, in a branch whose value comes out of an opaque instruction.
// CHECK-LABEL: func.func @bf16_80
// CHECK: %[[VALUE:.*]] = llvm.bitcast %{{.*}} : i16 to bf16
// CHECK: scf.if
// CHECK: llvm.atomicrmw fadd %{{.*}}, %[[VALUE]] syncscope("device") monotonic
func.func @bf16_80(%ptrs: !tile.ptr<bf16>, %n: i32, %x: bf16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %start = tile.splat %ptrs : !tile.ptr<bf16> -> tensor<32x!tile.ptr<bf16>, #lanes>
  %i = tile.arange 0 : tensor<32xi32, #lanes>
  %ns = tile.splat %n : i32 -> tensor<32xi32, #lanes>
  %mask = arith.cmpi slt, %i, %ns : tensor<32xi32, #lanes>
  %xs = tile.splat %x : bf16 -> tensor<32xbf16, #lanes>
  %old = tile.atomic_add %start, %xs, mask %mask : tensor<32xi1, #lanes> : tensor<32x!tile.ptr<bf16>, #lanes>, tensor<32xbf16, #lanes> -> tensor<32xbf16, #lanes>
  return
}

// CHECK-LABEL: func.func @bf16_90
// CHECK-NOT: atomicrmw
// CHECK: red.relaxed.gpu.global.add.noftz.bf16
func.func @bf16_90(%ptr: !tile.ptr<bf16>, %x: bf16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %old = tile.atomic_add %ptr, %x : !tile.ptr<bf16>, bf16 -> bf16
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (16,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0) | dim0: 32, dim1: 16">
#eight = #tilegpu.regs<"register: 1 -> (1), 2 -> (2), 4 -> (4); lane: 1 -> (8), 2 -> (16), 4 -> (32), 8 -> (64), 16 -> (128); warp: 1 | dim0: 256">

// One instruction adds 16 bytes, checked once.
// CHECK-LABEL: func.func @accumulates
// CHECK: %[[AT:.*]] = llvm.getelementptr
// CHECK: "@$5 red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f,b,~{memory}" %[[AT]],
// CHECK: "@$5 red.relaxed.gpu.global.add.v4.f32
// CHECK-NOT: red.
func.func @accumulates(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %x: f32, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 2 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %w = tile.make_block_ptr %p, shape [%n, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<32x16xf32>
  %xs = tile.splat %x : f32 -> tensor<32x16xf32, #rows>
  tile.accumulate %w, %xs {boundary_check = array<i64: 0>} : !tile.block_ptr<32x16xf32>, tensor<32x16xf32, #rows>
  return
}

// CHECK-LABEL: func.func @accumulatesPairs
// CHECK: "red.relaxed.gpu.global.add.noftz.v4.bf16x2 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"
// CHECK-NOT: red.
func.func @accumulatesPairs(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %x: bf16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c256 = arith.constant 256 : i64
  %w = tile.make_block_ptr %p, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<bf16> -> !tile.block_ptr<256xbf16>
  %xs = tile.splat %x : bf16 -> tensor<256xbf16, #eight>
  tile.accumulate %w, %xs : !tile.block_ptr<256xbf16>, tensor<256xbf16, #eight>
  return
}

// Before sm_90 there are pairs of f16 only.
// CHECK-LABEL: func.func @accumulates80
// CHECK-COUNT-4: "red.relaxed.gpu.global.add.noftz.f16x2 [$0], $1;", "l,r,~{memory}"
// CHECK-COUNT-8: "red.relaxed.gpu.global.add.f32 [$0], $1;"
// CHECK-COUNT-8: "red.relaxed.gpu.global.add.u32 [$0], $1;"
// CHECK-NOT: red.
func.func @accumulates80(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %r: !tile.ptr<i32> {tile.divisibility = 16 : i64}, %x: f16, %y: f32, %z: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c256 = arith.constant 256 : i64
  %wp = tile.make_block_ptr %p, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<f16> -> !tile.block_ptr<256xf16>
  %wq = tile.make_block_ptr %q, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>
  %wr = tile.make_block_ptr %r, shape [%c256], strides [%c1], offsets [%c0] : !tile.ptr<i32> -> !tile.block_ptr<256xi32>
  %xs = tile.splat %x : f16 -> tensor<256xf16, #eight>
  %ys = tile.splat %y : f32 -> tensor<256xf32, #eight>
  %zs = tile.splat %z : i32 -> tensor<256xi32, #eight>
  tile.accumulate %wp, %xs : !tile.block_ptr<256xf16>, tensor<256xf16, #eight>
  tile.accumulate %wq, %ys : !tile.block_ptr<256xf32>, tensor<256xf32, #eight>
  tile.accumulate %wr, %zs : !tile.block_ptr<256xi32>, tensor<256xi32, #eight>
  return
}
