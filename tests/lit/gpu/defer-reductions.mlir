// SPDX-License-Identifier: Apache-2.0
// What a loop only adds up is combined within threads there, and across them behind the loop.
// RUN: fattn-opt %s -tilegpu-assign-layouts="target=nvidia:sm_80 warps=2" -tilegpu-remove-conversions -canonicalize -tilegpu-defer-reductions -tilegpu-verify-layouts -canonicalize | FileCheck %s

// Two warps hold a row of 256 elements: the loop exchanges nothing, neither by shuffles nor through shared memory.
// CHECK-LABEL: func.func @sum
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<[[PARTS:2x64xf32, #[a-z0-9]+]]>
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[L:.*]] = %[[ZERO]]) -> (tensor<[[PARTS]]>)
// CHECK: %[[PART:.*]] = tile.reduce %{{.*}} axis 2 : tensor<2x64x4xf32, {{.*}}> -> tensor<[[PARTS]]>
// CHECK: %[[SUM:.*]] = arith.addf %[[L]], %[[PART]] : tensor<[[PARTS]]>
// CHECK: scf.yield %[[SUM]]
// CHECK: tile.reduce %[[LOOP]] axis 1 : tensor<[[PARTS]]> -> tensor<2xf32,
func.func @sum(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c256 = arith.constant 256 : i64
  %c1024 = arith.constant 1024 : i64
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %ptr = tile.make_block_ptr %x, shape [%c2, %c1024], strides [%c1024, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<2x256xf32>
  %r = scf.for %i = %c0 to %n step %c256 iter_args(%l = %zero) -> (tensor<2xf32>) : i64 {
    %at = tile.advance %ptr, [%c0, %i] : !tile.block_ptr<2x256xf32>
    %p = tile.load %at : !tile.block_ptr<2x256xf32> -> tensor<2x256xf32>
    %s = tile.reduce %p axis 1 : tensor<2x256xf32> -> tensor<2xf32> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %next = arith.addf %l, %s : tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  %places = tile.make_block_ptr %out, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<2xf32>
  tile.store %places, %r : !tile.block_ptr<2xf32>, tensor<2xf32>
  return
}

// A maximum begins with what all parts begin with.
// CHECK-LABEL: func.func @maximum
// CHECK: arith.constant dense<-5> : tensor<2x64xi32,
// CHECK: scf.for
// CHECK: arith.maxsi %{{.*}} : tensor<2x64xi32,
// CHECK: tile.reduce %{{.*}} axis 1 : tensor<2x64xi32,
func.func @maximum(%x: !tile.ptr<i32> {tile.divisibility = 16 : i64}, %out: !tile.ptr<i32>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c256 = arith.constant 256 : i64
  %c1024 = arith.constant 1024 : i64
  %least = arith.constant dense<-5> : tensor<2xi32>
  %ptr = tile.make_block_ptr %x, shape [%c2, %c1024], strides [%c1024, %c1], offsets [%c0, %c0] : !tile.ptr<i32> -> !tile.block_ptr<2x256xi32>
  %r = scf.for %i = %c0 to %n step %c256 iter_args(%l = %least) -> (tensor<2xi32>) : i64 {
    %at = tile.advance %ptr, [%c0, %i] : !tile.block_ptr<2x256xi32>
    %p = tile.load %at : !tile.block_ptr<2x256xi32> -> tensor<2x256xi32>
    %s = tile.reduce %p axis 1 : tensor<2x256xi32> -> tensor<2xi32> {
    ^bb0(%a: i32, %b: i32):
      %max = arith.maxsi %a, %b : i32
      tile.yield %max : i32
    }
    %next = arith.maxsi %s, %l : tensor<2xi32>
    scf.yield %next : tensor<2xi32>
  }
  %places = tile.make_block_ptr %out, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<i32> -> !tile.block_ptr<2xi32>
  tile.store %places, %r : !tile.block_ptr<2xi32>, tensor<2xi32>
  return
}

// Scaled, selected, in branches and in exact sides; and asked whether it is below a constant, of which each of 4 parts has its share. Rows of
// 16 x 16 accumulators lie in 4 lanes.
// CHECK-LABEL: func.func @lazy
// CHECK-DAG: %[[SHARE:.*]] = arith.constant dense<2.560000e+02> : tensor<[[PARTS:32x4xf32, #[a-z0-9]+]]>
// CHECK: scf.for
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}} : tensor<[[PARTS]]>
// CHECK: %[[PART:.*]] = tile.reduce %{{.*}} axis 2 : {{.*}} -> tensor<[[PARTS]]>
// CHECK: %[[SUM:.*]] = arith.addf %[[SCALED]], %[[PART]] : tensor<[[PARTS]]>
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[PART]], %[[SHARE]] : tensor<[[PARTS]]>
// CHECK: %[[NOT:.*]] = arith.xori %[[BELOW]], %{{.*}} : tensor<32x4xi1,
// CHECK: %[[ANY:.*]] = tile.reduce %[[NOT]] axis 1 : tensor<32x4xi1, {{.*}}> -> tensor<32xi1,
// CHECK: arith.ori
// CHECK: tile.select_lazy %[[ANY]] usual(%[[SUM]]) : {{.*}} -> tensor<[[PARTS]]>
// CHECK: tile.reduce %{{.*}} axis 2 : {{.*}} -> tensor<[[PARTS]]>
// CHECK: arith.addf %{{.*}} : tensor<[[PARTS]]>
// CHECK: arith.select %{{.*}} : tensor<32x4xi1, {{.*}}>, tensor<[[PARTS]]>
// CHECK: tile.reduce %{{.*}} axis 1 : tensor<[[PARTS]]> -> tensor<32xf32,
func.func @lazy(%x: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32>, %factors: !tile.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %limit = arith.constant dense<1024.0> : tensor<32xf32>
  %true = arith.constant dense<true> : tensor<32xi1>
  %none = arith.constant dense<0.0> : tensor<32x16xf32>
  %ptr = tile.make_block_ptr %x, shape [%c32, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x16xbf16>
  %ptr2 = tile.make_block_ptr %x, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x16xbf16>
  %fptr = tile.make_block_ptr %factors, shape [%c32], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %a = tile.load %ptr : !tile.block_ptr<32x16xbf16> -> tensor<32x16xbf16>
  %b = tile.load %ptr2 : !tile.block_ptr<16x16xbf16> -> tensor<16x16xbf16>
  %factor = tile.load %fptr : !tile.block_ptr<32xf32> -> tensor<32xf32>
  %positive = arith.cmpf ogt, %factor, %zero : tensor<32xf32>
  %r = scf.for %i = %i0 to %n step %i1 iter_args(%l = %zero) -> (tensor<32xf32>) : i32 {
    %p = tile.dot %a, %b, %none : tensor<32x16xbf16>, tensor<16x16xbf16> -> tensor<32x16xf32>
    %scaled = arith.mulf %l, %factor : tensor<32xf32>
    %s = tile.reduce %p axis 1 : tensor<32x16xf32> -> tensor<32xf32> {
    ^bb0(%u: f32, %v: f32):
      %sum = arith.addf %u, %v : f32
      tile.yield %sum : f32
    }
    %added = arith.addf %scaled, %s : tensor<32xf32>
    %below = arith.cmpf olt, %s, %limit : tensor<32xf32>
    %not = arith.xori %below, %true : tensor<32xi1>
    %next = tile.select_lazy %not usual(%added) : tensor<32xi1>, tensor<32xf32> -> tensor<32xf32> {
      %q = arith.mulf %p, %p : tensor<32x16xf32>
      %t = tile.reduce %q axis 1 : tensor<32x16xf32> -> tensor<32xf32> {
      ^bb0(%u: f32, %v: f32):
        %sum = arith.addf %u, %v : f32
        tile.yield %sum : f32
      }
      %exact = arith.addf %l, %t : tensor<32xf32>
      tile.yield %exact : tensor<32xf32>
    }
    %kept = arith.select %positive, %next, %zero : tensor<32xi1>, tensor<32xf32>
    scf.yield %kept : tensor<32xf32>
  }
  %places = tile.make_block_ptr %out, shape [%c32], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  tile.store %places, %r : !tile.block_ptr<32xf32>, tensor<32xf32>
  return
}

// Stays whole: a sum that the loop stores; one that does not begin with zero; one that is multiplied with itself.
// CHECK-LABEL: func.func @whole
// CHECK: scf.for {{.*}} -> (tensor<2xf32, {{.*}}>, tensor<2xf32, {{.*}}>, tensor<2xf32, {{.*}}>)
func.func @whole(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c256 = arith.constant 256 : i64
  %c1024 = arith.constant 1024 : i64
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %ptr = tile.make_block_ptr %x, shape [%c2, %c1024], strides [%c1024, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<2x256xf32>
  %places = tile.make_block_ptr %out, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<2xf32>
  %r:3 = scf.for %i = %c0 to %n step %c256 iter_args(%l = %zero, %m = %one, %k = %zero) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) : i64 {
    %at = tile.advance %ptr, [%c0, %i] : !tile.block_ptr<2x256xf32>
    %p = tile.load %at : !tile.block_ptr<2x256xf32> -> tensor<2x256xf32>
    %s = tile.reduce %p axis 1 : tensor<2x256xf32> -> tensor<2xf32> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %next = arith.addf %l, %s : tensor<2xf32>
    tile.store %places, %next : !tile.block_ptr<2xf32>, tensor<2xf32>
    %q = arith.mulf %p, %p : tensor<2x256xf32>
    %t = tile.reduce %q axis 1 : tensor<2x256xf32> -> tensor<2xf32> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %next2 = arith.addf %m, %t : tensor<2xf32>
    %u = arith.addf %p, %p : tensor<2x256xf32>
    %v = tile.reduce %u axis 1 : tensor<2x256xf32> -> tensor<2xf32> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %square = arith.mulf %k, %k : tensor<2xf32>
    %next3 = arith.addf %square, %v : tensor<2xf32>
    scf.yield %next, %next2, %next3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  tile.store %places, %r#0 : !tile.block_ptr<2xf32>, tensor<2xf32>
  tile.store %places, %r#1 : !tile.block_ptr<2xf32>, tensor<2xf32>
  tile.store %places, %r#2 : !tile.block_ptr<2xf32>, tensor<2xf32>
  return
}

// A sum that only a select_lazy asks for, with other conditions: each thread asks about its part, and the parts meet in the vote. 16
// threads hold a row of 16 elements, so that a part is below 8 / 16.
// CHECK-LABEL: func.func @asked
// CHECK-DAG: %[[SHARE:.*]] = arith.constant dense<5.000000e-01> : tensor<[[PARTS:4x16xf32, #[a-z0-9]+]]>
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %{{.*}}, %[[SHARE]] : tensor<[[PARTS]]>
// CHECK: %[[NOT:.*]] = arith.xori %[[BELOW]]
// CHECK: %[[WIDE:.*]] = tile.broadcast %{{.*}} : tensor<4x1xi1, {{.*}}> -> tensor<4x16xi1
// CHECK: %[[BOTH:.*]] = arith.andi %[[NOT]], %[[WIDE]]
// CHECK: %[[ANY:.*]] = tile.reduce %[[BOTH]] axis 1
// CHECK: arith.ori
// CHECK: tile.select_lazy %[[ANY]]
func.func @asked(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c16 = arith.constant 16 : i64
  %limit = arith.constant dense<8.0> : tensor<4xf32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %ptr = tile.make_block_ptr %x, shape [%c4, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x16xf32>
  %to = tile.make_block_ptr %out, shape [%c4, %c16], strides [%c16, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x16xf32>
  %p = tile.load %ptr : !tile.block_ptr<4x16xf32> -> tensor<4x16xf32>
  %s = tile.reduce %p axis 1 : tensor<4x16xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  %below = arith.cmpf olt, %s, %limit : tensor<4xf32>
  %not = arith.xori %below, %true : tensor<4xi1>
  %numbers = tile.arange 0 : tensor<4xi32>
  %most = tile.splat %n : i32 -> tensor<4xi32>
  %inside = arith.cmpi slt, %numbers, %most : tensor<4xi32>
  %asked = arith.andi %not, %inside : tensor<4xi1>
  %r = tile.select_lazy %asked usual(%p) : tensor<4xi1>, tensor<4x16xf32> -> tensor<4x16xf32> {
    %e = arith.addf %p, %p : tensor<4x16xf32>
    tile.yield %e : tensor<4x16xf32>
  }
  tile.store %to, %r : !tile.block_ptr<4x16xf32>, tensor<4x16xf32>
  return
}
