// SPDX-License-Identifier: Apache-2.0
// Makes a failing program small. It works on the choices that the program was made of, not on the program: parts of the stream are left
// out, replaced by parts inside of them, set to zero and lowered, and what replay() makes of the rest is tried. So every program on the way
// is as valid as a generated one, with data and tolerances of its own.
#ifndef FATTN_TESTS_GENERATOR_REDUCER_H
#define FATTN_TESTS_GENERATOR_REDUCER_H

#include <functional>

#include "tests/generator/Draw.h"

namespace fattn::generator {

/// True where the program fails in the way that is looked for. It may change the program.
using Predicate = std::function<bool(Program&)>;

struct Reduction {
  Program program;  ///< fresh: `fails` has not seen it
  int attempts = 0;
};

/// The smallest program found within so many calls of `fails`, which holds for it. Where it does not even hold for `failing`, made again
/// from its choices, that program comes back after one attempt.
Reduction reduce(mlir::MLIRContext& context, const Program& failing, const Options& options, const Predicate& fails, int attempts = 500);

}  // namespace fattn::generator

#endif
