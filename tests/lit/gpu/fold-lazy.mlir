// SPDX-License-Identifier: Apache-2.0
// A condition that follows from infinities decides for a side.
// RUN: fattn-opt %s -tilegpu-fold-lazy -canonicalize | FileCheck %s

#r = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 4">
#column = #tilegpu.regs<"register: 1; lane: 1 -> (0,0), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 1">
#row = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (1), 4 -> (2), 8 -> (4), 16 -> (8); warp: 1 | dim0: 16">

// Whatever %s is, its difference to -inf is +inf or NaN, and so is a sum of exponentials: not below 1.
// CHECK-LABEL: func.func @starts_from_minus_infinity
// CHECK-NOT: tile.select_lazy
// CHECK: %[[EXACT:.*]] = arith.addf %arg0, %arg0
// CHECK: return %[[EXACT]]
func.func @starts_from_minus_infinity(%s: tensor<16x4xf32, #r>, %scale: tensor<16x4xf32, #r>, %guard: i1) -> tensor<16x4xf32, #r> {
  %m = arith.constant dense<0xFF800000> : tensor<16x4xf32, #r>
  %one = arith.constant dense<1.0> : tensor<16xf32, #row>
  %true = arith.constant dense<true> : tensor<16xi1, #row>
  %minus = arith.negf %m : tensor<16x4xf32, #r>
  %masked = scf.if %guard -> (tensor<16x4xf32, #r>) {
    scf.yield %s : tensor<16x4xf32, #r>
  } else {
    scf.yield %m : tensor<16x4xf32, #r>
  }
  %x = math.fma %masked, %scale, %minus : tensor<16x4xf32, #r>
  %p = math.exp2 %x : tensor<16x4xf32, #r>
  %l = tile.reduce %p axis 1 : tensor<16x4xf32, #r> -> tensor<16xf32, #row> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  %below = arith.cmpf olt, %l, %one : tensor<16xf32, #row>
  %c = arith.xori %below, %true : tensor<16xi1, #row>
  %z = tile.select_lazy %c usual(%p) : tensor<16xi1, #row>, tensor<16x4xf32, #r> -> tensor<16x4xf32, #r> {
    %e = arith.addf %s, %s : tensor<16x4xf32, #r>
    tile.yield %e : tensor<16x4xf32, #r>
  }
  return %z : tensor<16x4xf32, #r>
}

// Finite numbers may overflow, or not: both sides stay.
// CHECK-LABEL: func.func @starts_from_zero
// CHECK: tile.select_lazy
func.func @starts_from_zero(%s: tensor<16x4xf32, #r>) -> tensor<16x4xf32, #r> {
  %m = arith.constant dense<0.0> : tensor<16x4xf32, #r>
  %one = arith.constant dense<1.0> : tensor<16xf32, #row>
  %x = arith.subf %s, %m : tensor<16x4xf32, #r>
  %p = math.exp2 %x : tensor<16x4xf32, #r>
  %l = tile.reduce %p axis 1 : tensor<16x4xf32, #r> -> tensor<16xf32, #row> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  %c = arith.cmpf uge, %l, %one : tensor<16xf32, #row>
  %z = tile.select_lazy %c usual(%p) : tensor<16xi1, #row>, tensor<16x4xf32, #r> -> tensor<16x4xf32, #r> {
    %e = arith.addf %s, %s : tensor<16x4xf32, #r>
    tile.yield %e : tensor<16x4xf32, #r>
  }
  return %z : tensor<16x4xf32, #r>
}

// Where opposite infinities may meet, the sum may be NaN; a condition that holds for no NaN and no +inf is false.
// CHECK-LABEL: func.func @never
// CHECK-NOT: tile.select_lazy
// CHECK: return %arg0
func.func @never(%s: tensor<16x4xf32, #r>, %t: tensor<16xf32, #row>) -> tensor<16x4xf32, #r> {
  %inf = arith.constant dense<0x7F800000> : tensor<16xf32, #row>
  %sum = arith.addf %t, %inf : tensor<16xf32, #row>
  %c = arith.cmpf olt, %sum, %t : tensor<16xf32, #row>
  %z = tile.select_lazy %c usual(%s) : tensor<16xi1, #row>, tensor<16x4xf32, #r> -> tensor<16x4xf32, #r> {
    %e = arith.addf %s, %s : tensor<16x4xf32, #r>
    tile.yield %e : tensor<16x4xf32, #r>
  }
  return %z : tensor<16x4xf32, #r>
}

// The exact side's new reference is no NaN and above -inf, so that the old one is infinitely far below: nothing is left of the sums.
// CHECK-LABEL: func.func @nothing_is_left
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x4xf32
// CHECK-NOT: math.exp2
// CHECK: return %[[ZERO]]
func.func @nothing_is_left(%s: tensor<16xf32, #row>) -> tensor<16x4xf32, #r> {
  %m = arith.constant dense<0xFF800000> : tensor<16xf32, #row>
  %floor = arith.constant dense<-1.0> : tensor<16xf32, #row>
  %one = arith.constant dense<1.0> : tensor<16xf32, #row>
  %true = arith.constant dense<true> : tensor<16xi1, #row>
  %o = arith.constant dense<0.0> : tensor<16x4xf32, #r>
  %x = arith.subf %s, %m : tensor<16xf32, #row>
  %below = arith.cmpf olt, %x, %one : tensor<16xf32, #row>
  %c = arith.xori %below, %true : tensor<16xi1, #row>
  %z = tile.select_lazy %c usual(%o) : tensor<16xi1, #row>, tensor<16x4xf32, #r> -> tensor<16x4xf32, #r> {
    %top = arith.maxnumf %s, %floor : tensor<16xf32, #row>
    %far = arith.subf %m, %top : tensor<16xf32, #row>
    %alpha = math.exp2 %far : tensor<16xf32, #row>
    %column = tile.expand_dims %alpha, 1 : tensor<16xf32, #row> -> tensor<16x1xf32, #column>
    %wide = tile.broadcast %column : tensor<16x1xf32, #column> -> tensor<16x4xf32, #r>
    %left = arith.mulf %wide, %o : tensor<16x4xf32, #r>
    tile.yield %left : tensor<16x4xf32, #r>
  }
  return %z : tensor<16x4xf32, #r>
}

// Two such exponentials, and their product, which uses both.
// CHECK-LABEL: func.func @product_of_nothing
// CHECK-NOT: math.exp2
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @product_of_nothing(%s: tensor<16xf32, #row>) -> tensor<16xf32, #row> {
  %m = arith.constant dense<0xFF800000> : tensor<16xf32, #row>
  %floor = arith.constant dense<-1.0> : tensor<16xf32, #row>
  %one = arith.constant dense<1.0> : tensor<16xf32, #row>
  %true = arith.constant dense<true> : tensor<16xi1, #row>
  %x = arith.subf %s, %m : tensor<16xf32, #row>
  %below = arith.cmpf olt, %x, %one : tensor<16xf32, #row>
  %c = arith.xori %below, %true : tensor<16xi1, #row>
  %z = tile.select_lazy %c usual(%one) : tensor<16xi1, #row>, tensor<16xf32, #row> -> tensor<16xf32, #row> {
    %top = arith.maxnumf %s, %floor : tensor<16xf32, #row>
    %far = arith.subf %m, %top : tensor<16xf32, #row>
    %alpha = math.exp2 %far : tensor<16xf32, #row>
    %farther = arith.addf %far, %m : tensor<16xf32, #row>
    %beta = math.exp2 %farther : tensor<16xf32, #row>
    %product = arith.mulf %alpha, %beta : tensor<16xf32, #row>
    tile.yield %product : tensor<16xf32, #row>
  }
  return %z : tensor<16xf32, #row>
}

// Without a floor the new reference may be -inf as well, and the difference NaN.
// CHECK-LABEL: func.func @something_may_be_left
// CHECK: math.exp2
func.func @something_may_be_left(%s: tensor<16xf32, #row>) -> tensor<16xf32, #row> {
  %m = arith.constant dense<0xFF800000> : tensor<16xf32, #row>
  %one = arith.constant dense<1.0> : tensor<16xf32, #row>
  %true = arith.constant dense<true> : tensor<16xi1, #row>
  %x = arith.subf %s, %m : tensor<16xf32, #row>
  %below = arith.cmpf olt, %x, %one : tensor<16xf32, #row>
  %c = arith.xori %below, %true : tensor<16xi1, #row>
  %z = tile.select_lazy %c usual(%one) : tensor<16xi1, #row>, tensor<16xf32, #row> -> tensor<16xf32, #row> {
    %far = arith.subf %m, %s : tensor<16xf32, #row>
    %alpha = math.exp2 %far : tensor<16xf32, #row>
    tile.yield %alpha : tensor<16xf32, #row>
  }
  return %z : tensor<16xf32, #row>
}
