// SPDX-License-Identifier: Apache-2.0
// A large tile that only an exact side needs from some point on is computed again there.
// RUN: fattn-opt %s -tilegpu-rematerialize-lazy -canonicalize | FileCheck %s

#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#b = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 64">
#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 64">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,0), 128 -> (2,0), 256 -> (4,0), 512 -> (8,0) | dim0: 16, dim1: 64">

// CHECK-LABEL: func.func @product
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[P:.*]] = math.exp2 %[[S]]
// CHECK: tile.select_lazy %{{.*}} usual(%[[P]])
// CHECK: %[[B:.*]] = tilegpu.load_buffer
// CHECK: %[[AGAIN:.*]] = tile.dot %{{.*}}, %[[B]]
// CHECK: arith.addf %[[AGAIN]]
func.func @product(%x: tensor<16x16xbf16, #a>, %any: i1) -> tensor<16x64xf32, #c> {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #c>
  %one = arith.constant dense<1.0> : tensor<16x64xf32, #c>
  %buffer = tilegpu.alloc : !tilegpu.buffer<1 x 16x64xbf16, #shared>
  %y = tilegpu.load_buffer %buffer[%c0] : !tilegpu.buffer<1 x 16x64xbf16, #shared> -> tensor<16x64xbf16, #b>
  %s = tile.dot %x, %y, %zero : tensor<16x16xbf16, #a>, tensor<16x64xbf16, #b> -> tensor<16x64xf32, #c>
  %p = math.exp2 %s : tensor<16x64xf32, #c>
  %z = tile.select_lazy %any usual(%p) : i1, tensor<16x64xf32, #c> -> tensor<16x64xf32, #c> {
    %r = arith.addf %s, %one : tensor<16x64xf32, #c>
    tile.yield %r : tensor<16x64xf32, #c>
  }
  return %z : tensor<16x64xf32, #c>
}

// Behind the branch it is needed again: it lives on, and is not computed twice.
// CHECK-LABEL: func.func @needed
// CHECK-COUNT-1: tile.dot
// CHECK-NOT: tile.dot
func.func @needed(%x: tensor<16x16xbf16, #a>, %y: tensor<16x64xbf16, #b>, %any: i1) -> tensor<16x64xf32, #c> {
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #c>
  %s = tile.dot %x, %y, %zero : tensor<16x16xbf16, #a>, tensor<16x64xbf16, #b> -> tensor<16x64xf32, #c>
  %p = math.exp2 %s : tensor<16x64xf32, #c>
  %z = tile.select_lazy %any usual(%p) : i1, tensor<16x64xf32, #c> -> tensor<16x64xf32, #c> {
    %r = arith.addf %s, %p : tensor<16x64xf32, #c>
    tile.yield %r : tensor<16x64xf32, #c>
  }
  %w = arith.addf %z, %s : tensor<16x64xf32, #c>
  return %w : tensor<16x64xf32, #c>
}

// Its operand's buffer is overwritten in between: what was loaded cannot be loaded again.
// CHECK-LABEL: func.func @overwritten
// CHECK-COUNT-1: tile.dot
// CHECK-NOT: tile.dot
func.func @overwritten(%x: tensor<16x16xbf16, #a>, %any: i1) -> tensor<16x64xf32, #c> {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #c>
  %one = arith.constant dense<1.0> : tensor<16x64xf32, #c>
  %buffer = tilegpu.alloc : !tilegpu.buffer<1 x 16x64xbf16, #shared>
  %y = tilegpu.load_buffer %buffer[%c0] : !tilegpu.buffer<1 x 16x64xbf16, #shared> -> tensor<16x64xbf16, #b>
  %s = tile.dot %x, %y, %zero : tensor<16x16xbf16, #a>, tensor<16x64xbf16, #b> -> tensor<16x64xf32, #c>
  %p = math.exp2 %s : tensor<16x64xf32, #c>
  %h = arith.truncf %p : tensor<16x64xf32, #c> to tensor<16x64xbf16, #c>
  tilegpu.store_buffer %h, %buffer[%c0] : tensor<16x64xbf16, #c>, !tilegpu.buffer<1 x 16x64xbf16, #shared>
  %z = tile.select_lazy %any usual(%p) : i1, tensor<16x64xf32, #c> -> tensor<16x64xf32, #c> {
    %r = arith.addf %s, %one : tensor<16x64xf32, #c>
    tile.yield %r : tensor<16x64xf32, #c>
  }
  return %z : tensor<16x64xf32, #c>
}
