// SPDX-License-Identifier: Apache-2.0
// What is looked at in every random program that is compiled, beside what it computes on a device: the module as it is once all that orders
// its memory accesses is in place.
#ifndef FATTN_TESTS_RANDOM_CHECKS_H
#define FATTN_TESTS_RANDOM_CHECKS_H

#include <span>
#include <string>
#include <string_view>

#include "tests/generator/Draw.h"
#include "tests/random/Compilation.h"

namespace fattn::random {

/// The pass whose result is looked at.
inline constexpr std::string_view kCheckedPass = "tilegpu-place-barriers";

struct Check {
  std::string_view name;
  /// What is wrong with `compilation.kept`; "" where nothing is. `expected` is the same program after it was interpreted. Throws Error
  /// where the check could not be made.
  std::string (*run)(const Compilation& compilation, const generator::Draw& draw, const generator::Program& expected);
};

/// All there are.
std::span<const Check> checks();

/// What is wrong with it, a line for each check that found something.
std::string checkCompilation(const Compilation& compilation, const generator::Draw& draw, const MakeProgram& make);

}  // namespace fattn::random

#endif
