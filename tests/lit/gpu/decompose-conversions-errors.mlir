// SPDX-License-Identifier: Apache-2.0
// RUN: fattn-opt %s -verify-diagnostics -pass-pipeline='builtin.module(func.func(tilegpu-decompose-conversions))'

#one = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32) | dim0: 64">
#other = #tilegpu.regs<"register: 1; lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 -> (1) | dim0: 64">

func.func @pointers(%x: tensor<64x!tile.ptr<f32>, #one>) -> tensor<64x!tile.ptr<f32>, #other> {
  // expected-error @+1 {{cannot move elements of type '!tile.ptr<f32>' between warps; legal are numbers}}
  %y = tilegpu.convert_layout %x : tensor<64x!tile.ptr<f32>, #one> -> tensor<64x!tile.ptr<f32>, #other>
  return %y : tensor<64x!tile.ptr<f32>, #other>
}
