// Operands of dots are copied to shared memory and read there as the fragments they are; what feeds no dot stays a load.
// RUN: fattn-opt %s -tilegpu-place-copies -split-input-file | FileCheck %s

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
