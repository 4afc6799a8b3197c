// SPDX-License-Identifier: Apache-2.0
// What the tests of the tile language share: a kernel with one value of every kind, and checks of its IR and its errors.
#ifndef FATTN_TESTS_UNIT_DSL_SUPPORT_H
#define FATTN_TESTS_UNIT_DSL_SUPPORT_H

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "fattn/dsl/Dsl.h"

namespace fattn::dsl::testing {

/// One value of every kind; traced at the head of each program under test.
struct Values {
  Ptr p;        // ptr<f32>
  Ptr hp;       // ptr<f16>
  Ptr ip;       // ptr<i32>
  Scalar n;     // i32
  Scalar w;     // i64
  Scalar s;     // f32
  Scalar t;     // i1
  Scalar c;     // i8
  Tile f;       // f32[16,64]
  Tile h;       // f16[16,64]
  Tile i;       // i32[16,64]
  Tile l;       // i64[16,64]
  Tile b;       // i1[16,64]
  Tile e;       // f8e4m3[16,64]
  Tile row;     // f32[16]
  Tile col;     // f32[16,1]
  BlockPtr bp;  // block_ptr<f32[16,64]>
  Tile ptrs;    // ptr<f32>[64]
};

using Kernel = std::function<void(Values&)>;

/// The IR of a program that makes Values and then runs `kernel`; `locations` as in Program::mlir.
std::string ir(const Kernel& kernel, bool locations = false);

/// Expects that `parts` occur in what `kernel` records, in this order, behind the values.
void expectIr(const Kernel& kernel, std::initializer_list<std::string_view> parts, Loc loc = Loc::current());

/// Expects that `kernel` throws a TraceError that reads "<this test's file>:<a line of the kernel>: <constraint>" with this hint.
void expectError(const Kernel& kernel, std::string_view constraint, std::string_view hint = "", Loc loc = Loc::current());

}  // namespace fattn::dsl::testing

#endif
