// SPDX-License-Identifier: Apache-2.0
// Programs as text: a file that fattn-opt reads as IR and parse() reads as a program with its data, so that a program that once failed
// becomes a test (tests/differential/programs).
//
//   // draw: program=17 target=nvidia:sm_90 stages=2 warps=4 schedule=0 alignment=mixed
//   // grid: 2 1 1
//   // argument 0: f32 count=120 seed=17 misalignment=4 tolerance=0.001
//   // argument 1: 40
//   module { ... }
#ifndef FATTN_TESTS_GENERATOR_TEXT_H
#define FATTN_TESTS_GENERATOR_TEXT_H

#include <string>
#include <string_view>

#include "tests/generator/Draw.h"

namespace fattn::generator {

/// `program` is as it was made: its arrays hold what their fill says.
std::string print(const Program& program, const Draw& draw);

struct Parsed {
  Program program;
  Draw draw;
};
/// Throws Error{InvalidArgument} that names the bad line.
Parsed parse(mlir::MLIRContext& context, std::string_view text);

}  // namespace fattn::generator

#endif
