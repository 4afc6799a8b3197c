// SPDX-License-Identifier: Apache-2.0
// What cannot be laid out is said at the operation, with what could be.
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=nvidia:sm_80 warps=4" -verify-diagnostics
// RUN: not fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=amd:gfx942" 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=nvidia:sm_12" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not fattn-opt %s -split-input-file -tilegpu-assign-layouts="warps=33" 2>&1 | FileCheck %s --check-prefix=WARPS

// AMD: error: 'tile.dot' op is 8 x 16 with a depth of 32; matrix instructions for 'f16' need rows in multiples of 16, columns of 16 and a depth of 16
// TARGET: error: there is no GPU target 'nvidia:sm_12'
// TARGET-NEXT: hint: legal targets are nvidia:sm_80,
// WARPS: error: a block has 1 to 32 warps on nvidia:sm_80, but got 33

func.func @rows(%a: tensor<8x32xf16>, %b: tensor<32x16xf16>, %c: tensor<8x16xf32>) {
  // expected-error @below {{'tile.dot' op is 8 x 16 with a depth of 32; matrix instructions for 'f16' need rows in multiples of 16, columns of 8 and a depth of 8}}
  %0 = tile.dot %a, %b, %c : tensor<8x32xf16>, tensor<32x16xf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @depth(%a: tensor<16x4xf32>, %b: tensor<4x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.dot' op is 16 x 16 with a depth of 4; matrix instructions for 'f32' need rows in multiples of 16, columns of 8 and a depth of 8}}
  %0 = tile.dot %a, %b, %c : tensor<16x4xf32>, tensor<4x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @types(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.dot' op has operands of 'f8E4M3FN' and 'f8E5M2'; nvidia:sm_80 has matrix instructions that take registers for f16, bf16, f32, i8}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E5M2> -> tensor<16x16xf32>
  return
}

// -----

func.func @odd(%x: tensor<4x6xf16>) -> tensor<24xf16> {
  // expected-error @below {{'tile.reshape' op has no layout of its tiles in registers; legal are the operations of tile, arith, math and scf, and a reshape where of dimensions that are merged or split only the outermost has an odd factor}}
  %0 = tile.reshape %x : tensor<4x6xf16> -> tensor<24xf16>
  return %0 : tensor<24xf16>
}
