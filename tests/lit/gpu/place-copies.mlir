// Operands of dots are copied to shared memory and read there as the fragments they are; what feeds no dot stays a load.
// RUN: fattn-opt %s -tilegpu-place-copies -split-input-file -verify-diagnostics | FileCheck %s

#lane16 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 64, dim1: 64">
#load = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 32, dim1: 64">
#loadT = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (0,16); lane: 1 -> (8,0), 2 -> (16,0), 4 -> (32,0), 8 -> (0,1), 16 -> (0,2); warp: 1 -> (0,4), 2 -> (0,8) | dim0: 64, dim1: 32">
#qa = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#kb = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (16,0), 32 -> (32,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 64, dim1: 32">
#vb = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 32, dim1: 64">
#sc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
#oc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">

// Buffers stand before the loop. The operand from before the loop becomes fragments that live all through it: 16 registers beside the 32
// of the accumulator and the 16 of the product.
// CHECK-LABEL: func.func @chain
// CHECK: %[[Q:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16
// CHECK: %[[QT:.*]] = tilegpu.copy_async %{{.*}}, %[[Q]][%{{.*}}] {boundary_check = array<i64: 0>, layout = #regs
// CHECK: tilegpu.copy_wait %[[QT]]
// CHECK: %[[QF:.*]] = tilegpu.load_buffer %[[Q]]
// CHECK: %[[K:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16
// CHECK: %[[V:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16
// CHECK: scf.for
// CHECK: %[[KT:.*]] = tilegpu.copy_async %{{.*}}, %[[K]][
// CHECK: tilegpu.copy_wait %[[KT]]
// CHECK: %[[KR:.*]] = tilegpu.load_buffer %[[K]][{{.*}} -> tensor<32x64xbf16
// CHECK: %[[KF:.*]] = tile.trans %[[KR]], [1, 0]
// CHECK: tile.dot %[[QF]], %[[KF]]
// CHECK: %[[VT:.*]] = tilegpu.copy_async %{{.*}}, %[[V]][
// CHECK: tilegpu.copy_wait %[[VT]]
// CHECK: %[[VF:.*]] = tilegpu.load_buffer %[[V]][{{.*}} -> tensor<32x64xbf16
// CHECK: tile.dot %{{.*}}, %[[VF]]
func.func @chain(%qp: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %kp: !tile.ptr<bf16> {tile.divisibility = 16 : i64},
                 %vp: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 8 : i64}, %n: i32, %rows: i64) -> tensor<64x64xf32, #oc>
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l64 = arith.constant 64 : i64
  %zs = arith.constant dense<0.0> : tensor<64x32xf32, #sc>
  %zo = arith.constant dense<0.0> : tensor<64x64xf32, #oc>
  %qb = tile.make_block_ptr %qp, shape [%rows, %l64], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %q = tile.load %qb {boundary_check = array<i64: 0>, padding = 0.0 : bf16} : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16, #lane16>
  %qf = tilegpu.convert_layout %q : tensor<64x64xbf16, #lane16> -> tensor<64x64xbf16, #qa>
  %kb = tile.make_block_ptr %kp, shape [%rows, %l64], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %vb = tile.make_block_ptr %vp, shape [%rows, %l64], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zo) -> (tensor<64x64xf32, #oc>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %kn = tile.advance %kb, [%at, %l0] : !tile.block_ptr<32x64xbf16>
    %k = tile.load %kn {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16, #load>
    %kt = tile.trans %k, [1, 0] : tensor<32x64xbf16, #load> -> tensor<64x32xbf16, #loadT>
    %kf = tilegpu.convert_layout %kt : tensor<64x32xbf16, #loadT> -> tensor<64x32xbf16, #kb>
    %s = tile.dot %qf, %kf, %zs : tensor<64x64xbf16, #qa>, tensor<64x32xbf16, #kb> -> tensor<64x32xf32, #sc>
    %p = math.exp2 %s : tensor<64x32xf32, #sc>
    %p16 = arith.truncf %p : tensor<64x32xf32, #sc> to tensor<64x32xbf16, #sc>
    %vn = tile.advance %vb, [%at, %l0] : !tile.block_ptr<32x64xbf16>
    %v = tile.load %vn {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16, #load>
    %vf = tilegpu.convert_layout %v : tensor<32x64xbf16, #load> -> tensor<32x64xbf16, #vb>
    %d = tile.dot %p16, %vf, %acc : tensor<64x32xbf16, #sc>, tensor<32x64xbf16, #vb> -> tensor<64x64xf32, #oc>
    scf.yield %d : tensor<64x64xf32, #oc>
  }
  return %o : tensor<64x64xf32, #oc>
}

// -----

#load = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 64, dim1: 64">
#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (16,0), 64 -> (32,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 64, dim1: 64">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
!ptr = !tile.block_ptr<64x64xbf16>
!ta = tensor<64x64xbf16, #a>
!tb = tensor<64x64xbf16, #b>
!tl = tensor<64x64xbf16, #load>
!acc = tensor<64x64xf32, #acc>

// Rows of 8 aligned bytes are copied in pieces of 8: four elements that follow each other in one lane. Rows of 2 bytes and padding other than
// zero go through registers. The load's vectors are those that the alignment allows.
// CHECK: #[[FOUR:regs[0-9]*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (8,0)
// CHECK-LABEL: func.func @engines
// CHECK: tilegpu.copy_async %{{.*}} {boundary_check = array<i64: 0>, layout = #[[FOUR]]}
// CHECK: %[[B:.*]] = tilegpu.alloc
// CHECK: %[[X:.*]] = tile.load
// CHECK: tilegpu.store_buffer %[[X]], %[[B]]
// CHECK: %[[Y:.*]] = tile.load {{.*}} padding = 1.0
// CHECK: tilegpu.store_buffer %[[Y]]
// CHECK-NOT: tilegpu.copy_async
func.func @engines(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %four: i64 {tile.divisibility = 4 : i64}, %one: i64, %rows: i64, %c: !acc) -> (!acc, !acc)
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l8 = arith.constant 8 : i64
  %l64 = arith.constant 64 : i64
  %pa = tile.make_block_ptr %p, shape [%rows, %l64], strides [%four, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !ptr
  %x = tile.load %pa {boundary_check = array<i64: 0>} : !ptr -> !tl
  %a = tilegpu.convert_layout %x : !tl -> !ta
  %pb = tile.make_block_ptr %p, shape [%rows, %l64], strides [%one, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !ptr
  %y = tile.load %pb {boundary_check = array<i64: 0>} : !ptr -> !tl
  %b = tilegpu.convert_layout %y : !tl -> !tb
  %d = tile.dot %a, %b, %c : !ta, !tb -> !acc
  %pe = tile.make_block_ptr %p, shape [%rows, %l64], strides [%l8, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !ptr
  %z = tile.load %pe {boundary_check = array<i64: 0>, padding = 1.0 : bf16} : !ptr -> !tl
  %f = tilegpu.convert_layout %z : !tl -> !tb
  %e = tile.dot %a, %f, %c : !ta, !tb -> !acc
  return %d, %e : !acc, !acc
}

// One tile, two dots and arithmetic: one copy, and each reads what it needs.
// CHECK-LABEL: func.func @shared_by_all
// CHECK-COUNT-1: tilegpu.copy_async
// CHECK-NOT: tilegpu.copy_async
// CHECK: %[[B:.*]] = tilegpu.load_buffer %[[BUF:[0-9]+]]
// CHECK: %[[A:.*]] = tilegpu.load_buffer %[[BUF]]
// CHECK: tile.dot %[[A]], %[[B]]
// CHECK: %[[E:.*]] = tilegpu.load_buffer %[[BUF]]
// CHECK: arith.extf %[[E]]
func.func @shared_by_all(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 8 : i64}, %rows: i64, %c: !acc) -> (!acc, tensor<64x64xf32, #load>)
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %pa = tile.make_block_ptr %p, shape [%rows, %rows], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !ptr
  %x = tile.load %pa : !ptr -> !tl
  %a = tilegpu.convert_layout %x : !tl -> !ta
  %b = tilegpu.convert_layout %x : !tl -> !tb
  %d = tile.dot %a, %b, %c : !ta, !tb -> !acc
  %e = arith.extf %x : !tl to tensor<64x64xf32, #load>
  return %d, %e : !acc, tensor<64x64xf32, #load>
}

// Without a dot behind it a load stays what it is.
// CHECK-LABEL: func.func @no_dot
// CHECK-NOT: tilegpu.alloc
// CHECK: tile.load
func.func @no_dot(%p: !ptr) -> !tl attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %x = tile.load %p : !ptr -> !tl
  return %x : !tl
}

// Fragments from before a loop stay in its buffer where the registers would not suffice: here the loop carries 6 accumulators of 32.
// CHECK-LABEL: func.func @too_many_registers
// CHECK: tilegpu.copy_wait
// CHECK-NOT: tilegpu.load_buffer
// CHECK: scf.for
// CHECK: tilegpu.load_buffer
func.func @too_many_registers(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 8 : i64}, %rows: i64, %c: !acc, %b: !tb, %n: i32) -> !acc
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pa = tile.make_block_ptr %p, shape [%rows, %rows], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<bf16> -> !ptr
  %x = tile.load %pa : !ptr -> !tl
  %a = tilegpu.convert_layout %x : !tl -> !ta
  %r:6 = scf.for %i = %c0 to %n step %c1 iter_args(%d = %c, %e = %c, %f = %c, %g = %c, %h = %c, %j = %c) -> (!acc, !acc, !acc, !acc, !acc, !acc) : i32 {
    %k = tile.dot %a, %b, %d : !ta, !tb -> !acc
    scf.yield %e, %f, %g, %h, %j, %k : !acc, !acc, !acc, !acc, !acc, !acc
  }
  return %r#0 : !acc
}

// -----

#tl = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,128), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (0,64); warp: 1 | dim0: 16, dim1: 256">
#ta = #tilegpu.regs<"register: 1 -> (8,0), 2 -> (0,4), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64), 64 -> (0,128); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 256">
#tb = #tilegpu.regs<"register: 1 -> (4,0), 2 -> (8,0), 4 -> (16,0), 8 -> (32,0), 16 -> (64,0), 32 -> (128,0); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 256, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
!ta = tensor<16x256xf32, #ta>
!tb = tensor<256x8xf32, #tb>
!tl = tensor<16x256xf32, #tl>
!acc = tensor<16x8xf32, #acc>
!ptr = !tile.block_ptr<16x256xf32>

// 128 registers live through the loop where an operand is rounded to tf32; split in two they would be 256.
// CHECK-LABEL: func.func @rounded
// CHECK: tilegpu.load_buffer
// CHECK: scf.for
// CHECK-NOT: tilegpu.load_buffer
// CHECK-LABEL: func.func @split
// CHECK-NOT: tilegpu.load_buffer
// CHECK: scf.for
// CHECK: tilegpu.load_buffer
func.func @rounded(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 8 : i64}, %rows: i64, %c: !acc, %b: !tb, %n: i32) -> !acc
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pa = tile.make_block_ptr %p, shape [%rows, %rows], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<f32> -> !ptr
  %x = tile.load %pa : !ptr -> !tl
  %a = tilegpu.convert_layout %x : !tl -> !ta
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%d = %c) -> (!acc) : i32 {
    %k = tile.dot %a, %b, %d precision tf32 : !ta, !tb -> !acc
    scf.yield %k : !acc
  }
  return %r : !acc
}
func.func @split(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 8 : i64}, %rows: i64, %c: !acc, %b: !tb, %n: i32) -> !acc
    attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pa = tile.make_block_ptr %p, shape [%rows, %rows], strides [%row, %l1], offsets [%l0, %l0] : !tile.ptr<f32> -> !ptr
  %x = tile.load %pa : !ptr -> !tl
  %a = tilegpu.convert_layout %x : !tl -> !ta
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%d = %c) -> (!acc) : i32 {
    %k = tile.dot %a, %b, %d : !ta, !tb -> !acc
    scf.yield %k : !acc
  }
  return %r : !acc
}

// -----

// expected-error@+1 {{the function has no attribute tilegpu.target}}
func.func @no_target() {
  return
}
