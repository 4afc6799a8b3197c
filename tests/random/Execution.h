// SPDX-License-Identifier: Apache-2.0
// One draw from its program to a verdict: interpreted, compiled, launched, compared.
#ifndef FATTN_TESTS_RANDOM_EXECUTION_H
#define FATTN_TESTS_RANDOM_EXECUTION_H

#include <functional>
#include <string>
#include <string_view>

#include "tests/generator/Draw.h"
#include "tests/random/Arena.h"
#include "tests/random/Compilation.h"

namespace fattn::random {

enum class Verdict : std::uint8_t {
  Agreed,    ///< with the interpreter, in every element
  Refused,   ///< by the compiler or the device, with a message
  Wrong,     ///< another result, a byte written where none belongs, or code that could not be assembled
  Crashed,   ///< the process or the GPU's context is gone
  TimedOut,  ///< given up after the limit
};
inline constexpr int kVerdicts = 5;
/// "agreed", "refused", "wrong", "crashed", "timed out".
std::string_view name(Verdict verdict);
/// Throws Error{Internal} for anything else.
Verdict verdictOf(std::string_view name);

struct Outcome {
  Verdict verdict = Verdict::Agreed;
  std::string message = {};  ///< why; empty where it agreed
};

/// What a draw runs on. Told "compile", "interpret" and so on as it begins each, so that whoever waits knows where it hangs.
class Execution {
 public:
  Execution(Device& device, Placing placing, std::function<void(std::string_view)> phase)
      : device_(device), arena_(device, placing), phase_(std::move(phase)) {}

  /// Throws nothing that a program could cause. A rank of schedules that the program's loops do not have is taken modulo their number, in
  /// `draw` too.
  Outcome run(generator::Draw& draw, const MakeProgram& make);

 private:
  Outcome compare(const generator::Draw& draw, const MakeProgram& make, const Module& module);

  Device& device_;
  Arena arena_;
  std::function<void(std::string_view)> phase_;
};

}  // namespace fattn::random

#endif
