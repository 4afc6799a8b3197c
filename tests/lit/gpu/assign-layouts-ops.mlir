// SPDX-License-Identifier: Apache-2.0
// Every operation of tile finds its layouts, also for small and odd tiles and any number of warps.
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=4" -cse | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=1" | fattn-opt
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=8" | fattn-opt
// RUN: fattn-opt %s -tilegpu-assign-layouts="warps=32" | fattn-opt

// Pointers, masks and values of an access lie together, neighbours in neighbouring lanes; a value for all comes from rank 0.
// CHECK-LABEL: func.func @gather
// CHECK: tile.gather %{{.*}}, mask %{{.*}} : tensor<512xi1, #[[G:.*]]> : tensor<512x!tile.ptr<f32>, #[[G]]> -> tensor<512xf32, #[[G]]>
// CHECK: tile.scatter {{.*}} : tensor<512x!tile.ptr<f32>, #[[G]]>, tensor<512xf32, #[[G]]>
// CHECK: tile.atomic_add {{.*}} -> tensor<512xf32, #[[G]]>
// CHECK: tile.reduce {{.*}} -> tensor<f32, #[[ALL:.*]]> {
// CHECK: tile.splat {{.*}} : tensor<f32, #[[ALL]]> -> tensor<512xf32, #[[G]]>
func.func @gather(%p: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %a = tile.arange 0 : tensor<512xi32>
  %s = tile.splat %n : i32 -> tensor<512xi32>
  %m = arith.cmpi slt, %a, %s : tensor<512xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %pp = tile.addptr %ps, %a : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %x = tile.gather %pp, mask %m : tensor<512xi1> : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  tile.scatter %pp, %x, mask %m : tensor<512xi1> : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  %old = tile.atomic_add %pp, %x : tensor<512x!tile.ptr<f32>>, tensor<512xf32> -> tensor<512xf32>
  tile.device_print "old and index", %old, %a : tensor<512xf32>, tensor<512xi32>
  %r = tile.reduce %old axis 0 : tensor<512xf32> -> tensor<f32> {
  ^bb0(%lhs: f32, %rhs: f32):
    %sum = arith.addf %lhs, %rhs : f32
    tile.yield %sum : f32
  }
  %r2 = math.exp2 %r : tensor<f32>
  %b = tile.splat %r2 : tensor<f32> -> tensor<512xf32>
  %z = arith.mulf %b, %x : tensor<512xf32>
  tile.scatter %pp, %z : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  return
}

// What only rearranges renames registers.
// CHECK-LABEL: func.func @shapes
// CHECK-NOT: convert_layout
// CHECK: return
func.func @shapes(%x: tensor<16x32xf32>, %y: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<4x4x64xf32>, tensor<64x16xf32>) {
  %0 = tile.join %x, %y : tensor<16x32xf32> -> tensor<16x32x2xf32>
  %1 = tile.reshape %0 : tensor<16x32x2xf32> -> tensor<16x64xf32>
  %2 = tile.reshape %1 : tensor<16x64xf32> -> tensor<16x32x2xf32>
  %e = math.exp2 %2 : tensor<16x32x2xf32>
  %3, %4 = tile.split %e : tensor<16x32x2xf32> -> tensor<16x32xf32>
  %5 = arith.addf %3, %4 : tensor<16x32xf32>
  %6 = tile.reshape %1 : tensor<16x64xf32> -> tensor<4x4x64xf32>
  %7 = tile.trans %1, [1, 0] : tensor<16x64xf32> -> tensor<64x16xf32>
  return %5, %6, %7 : tensor<16x32xf32>, tensor<4x4x64xf32>, tensor<64x16xf32>
}

// Halves of rows of an odd width, side by side and interleaved.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: convert_layout
// CHECK: return
func.func @halves(%x: tensor<16x96xf32>) -> tensor<16x48xf32> {
  %0 = tile.reshape %x : tensor<16x96xf32> -> tensor<16x48x2xf32>
  %1, %2 = tile.split %0 : tensor<16x48x2xf32> -> tensor<16x48xf32>
  %3 = arith.mulf %1, %2 : tensor<16x48xf32>
  return %3 : tensor<16x48xf32>
}

// What a loop or a branch carries has one layout throughout.
// CHECK-LABEL: func.func @control
// CHECK: scf.while {{.*}} : (tensor<64xf32, #[[L:.*]]>, i32) -> (tensor<64xf32, #[[L]]>, i32)
// CHECK: ^bb0(%{{.*}}: tensor<64xf32, #[[L]]>
// CHECK: scf.if %{{.*}} -> (tensor<64xf32, #[[L]]>)
// CHECK: arith.select %{{.*}} : tensor<64xf32, #[[L]]>
func.func @control(%x: tensor<64xf32>, %n: i32) -> (tensor<64xf32>, tensor<64xf32>) {
  %c1 = arith.constant 1 : i32
  %r:2 = scf.while (%v = %x, %i = %n) : (tensor<64xf32>, i32) -> (tensor<64xf32>, i32) {
    %c = arith.cmpi sgt, %i, %c1 : i32
    scf.condition(%c) %v, %i : tensor<64xf32>, i32
  } do {
  ^bb0(%v: tensor<64xf32>, %i: i32):
    %w = math.exp2 %v : tensor<64xf32>
    %j = arith.subi %i, %c1 : i32
    scf.yield %w, %j : tensor<64xf32>, i32
  }
  %c = arith.cmpi sgt, %n, %c1 : i32
  %b = scf.if %c -> tensor<64xf32> {
    %s = tile.cumsum %x axis 0 : tensor<64xf32>
    scf.yield %s : tensor<64xf32>
  } else {
    %z = arith.constant dense<0.0> : tensor<64xf32>
    scf.yield %z : tensor<64xf32>
  }
  %s = arith.select %c, %b, %x : tensor<64xf32>
  return %r#0, %s : tensor<64xf32>, tensor<64xf32>
}

// Fewer elements than threads, sizes that are no powers of two, several results, rank 0 and back.
// CHECK-LABEL: func.func @small
// CHECK: tile.store
func.func @small(%p: !tile.block_ptr<4x6xf32>, %q: !tile.block_ptr<4x3xf32>) -> tensor<1xf32> {
  %x = tile.load %p : !tile.block_ptr<4x6xf32> -> tensor<4x6xf32>
  %r = tile.reduce %x axis 0 : tensor<4x6xf32> -> tensor<6xf32> {
  ^bb0(%lhs: f32, %rhs: f32):
    %sum = arith.addf %lhs, %rhs : f32
    tile.yield %sum : f32
  }
  %m, %i = tile.reduce %r, %r axis 0 : tensor<6xf32>, tensor<6xf32> -> tensor<f32>, tensor<f32> {
  ^bb0(%lhs: f32, %lhs2: f32, %rhs: f32, %rhs2: f32):
    %sum = arith.addf %lhs, %rhs : f32
    tile.yield %sum, %lhs2 : f32, f32
  }
  %e = tile.expand_dims %m, 0 : tensor<f32> -> tensor<1xf32>
  %b = tile.broadcast %e : tensor<1xf32> -> tensor<3xf32>
  %b1 = tile.expand_dims %b, 0 : tensor<3xf32> -> tensor<1x3xf32>
  %b2 = tile.broadcast %b1 : tensor<1x3xf32> -> tensor<4x3xf32>
  tile.store %q, %b2 : !tile.block_ptr<4x3xf32>, tensor<4x3xf32>
  %s = tile.reshape %i : tensor<f32> -> tensor<1xf32>
  return %s : tensor<1xf32>
}

// The rows that a warp decides about are those it holds of the results.
// CHECK-LABEL: func.func @lazy
// CHECK: tile.select_lazy %{{.*}} usual(%{{.*}}) : tensor<64xi1, #[[ROWS:.*]]>, tensor<64x32xf32, #[[C:.*]]>, tensor<64xf32, #[[ROWS]]>
func.func @lazy(%a: tensor<64x16xf16>, %b: tensor<16x32xf16>, %c: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>) {
  %d = tile.dot %a, %b, %c : tensor<64x16xf16>, tensor<16x32xf16> -> tensor<64x32xf32>
  %m = tile.reduce %d axis 1 : tensor<64x32xf32> -> tensor<64xf32> {
  ^bb0(%lhs: f32, %rhs: f32):
    %max = arith.maxnumf %lhs, %rhs : f32
    tile.yield %max : f32
  }
  %limit = arith.constant dense<1.0> : tensor<64xf32>
  %any = arith.cmpf ogt, %m, %limit : tensor<64xf32>
  %r:2 = tile.select_lazy %any usual(%d, %m) : tensor<64xi1>, tensor<64x32xf32>, tensor<64xf32> -> tensor<64x32xf32>, tensor<64xf32> {
    %e = math.exp2 %d : tensor<64x32xf32>
    tile.yield %e, %limit : tensor<64x32xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64x32xf32>, tensor<64xf32>
}

// 8-bit and 32-bit operands have fragments of their own depth; few rows leave the columns to the warps.
// CHECK-LABEL: func.func @types
// CHECK: tile.dot {{.*}} -> tensor<16x64xi32
// CHECK: tile.dot {{.*}} -> tensor<16x64xf32
func.func @types(%a: tensor<16x32xi8>, %b: tensor<32x64xi8>, %c: tensor<16x64xi32>, %x: tensor<16x8xf32>, %y: tensor<8x64xf32>, %z: tensor<16x64xf32>) -> (tensor<16x64xi32>, tensor<16x64xf32>) {
  %0 = tile.dot %a, %b, %c : tensor<16x32xi8>, tensor<32x64xi8> -> tensor<16x64xi32>
  %1 = tile.dot %x, %y, %z : tensor<16x8xf32>, tensor<8x64xf32> -> tensor<16x64xf32>
  return %0, %1 : tensor<16x64xi32>, tensor<16x64xf32>
}

// An operand that is made of a smaller tile is made where the product takes it: what is converted is the smaller one.
// CHECK-LABEL: func.func @repeated_operand
// CHECK: tilegpu.convert_layout %{{.*}} -> tensor<1x4x16xbf16
// CHECK: tile.broadcast
// CHECK: tile.reshape %{{.*}} -> tensor<16x16xbf16, #[[A:.*]]>
// CHECK-NOT: tilegpu.convert_layout {{.*}} tensor<16x16xbf16
// CHECK: tile.dot %{{.*}} : tensor<16x16xbf16, #[[A]]>
func.func @repeated_operand(%p: tensor<4x16x!tile.ptr<bf16>>, %b: tensor<16x64xbf16>, %acc: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %x = tile.gather %p : tensor<4x16x!tile.ptr<bf16>> -> tensor<4x16xbf16>
  %e = tile.expand_dims %x, 0 : tensor<4x16xbf16> -> tensor<1x4x16xbf16>
  %w = tile.broadcast %e : tensor<1x4x16xbf16> -> tensor<4x4x16xbf16>
  %a = tile.reshape %w : tensor<4x4x16xbf16> -> tensor<16x16xbf16>
  %d = tile.dot %a, %b, %acc : tensor<16x16xbf16>, tensor<16x64xbf16> -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}
