// Numbers of 16 bits are exchanged two at a time, and a word of two results is one permutation of bytes, which differs by lane.
// RUN: fattn-opt %s -amd-lower-tensors -canonicalize -cse | FileCheck %s

#result = #tilegpu.regs<"register: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,1); warp: 1 | dim0: 16, dim1: 16">
#operand = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8); lane: 1 -> (1,0), 2 -> (2,0), 4 -> (4,0), 8 -> (8,0), 16 -> (0,0); warp: 1 | dim0: 16, dim1: 16">

// What a WMMA of gfx11 leaves becomes an operand of the next one: lanes 0 to 15 have the even columns, 16 to 31 the odd ones, and both need
// all. 0x05040100 are the low halves of (own, other), 0x01000504 those of (other, own); 0x07060302 and 0x03020706 the high ones.
// CHECK-LABEL: func.func @operand
// CHECK: %[[PICK_LOW:.*]] = arith.select %[[UPPER:.*]], %c16778500_i32, %c84148480_i32 : i32
// CHECK: %[[OTHER:.*]] = rocdl.ds_swizzle %[[OWN:.*]], %{{.*}} : (i32, i32) -> i32
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[OTHER]], %[[OWN]], %[[PICK_LOW]])
// CHECK: %[[PICK_HIGH:.*]] = arith.select %[[UPPER]], %c50464518_i32, %c117834498_i32 : i32
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[OTHER]], %[[OWN]], %[[PICK_HIGH]])
// CHECK-COUNT-3: rocdl.ds_swizzle
// CHECK-NOT: rocdl.ds_swizzle
func.func @operand(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64})
    attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 1 : i64} {
  %n = arith.constant 16 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %from = tile.make_block_ptr %p, shape[%n, %n], strides[%n, %one], offsets[%zero, %zero] : !tile.ptr<bf16> -> !tile.block_ptr<16x16xbf16>
  %into = tile.make_block_ptr %q, shape[%n, %n], strides[%n, %one], offsets[%zero, %zero] : !tile.ptr<bf16> -> !tile.block_ptr<16x16xbf16>
  %x = tile.load %from : !tile.block_ptr<16x16xbf16> -> tensor<16x16xbf16, #result>
  %y = tilegpu.convert_layout %x : tensor<16x16xbf16, #result> -> tensor<16x16xbf16, #operand>
  tile.store %into, %y : !tile.block_ptr<16x16xbf16>, tensor<16x16xbf16, #operand>
  return
}
