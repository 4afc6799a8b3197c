// SPDX-License-Identifier: Apache-2.0
// The tensors of one run: read from files or drawn, checked against each other, with room for the results.
#ifndef FATTN_TOOLS_FATTN_RUN_PROBLEM_H
#define FATTN_TOOLS_FATTN_RUN_PROBLEM_H

#include <string>

#include "tools/common/Terminal.h"
#include "tools/fattn-run/Options.h"
#include "tools/io/HostTensor.h"
#include "tools/io/Reference.h"

namespace fattn::run {

struct Problem {
  io::AttentionShape shape;
  DType dtype = DType::F32;
  io::Layout layout = io::Layout::BHSD;
  float scale = 1;
  std::string inputs;  ///< where they come from, for people

  io::HostTensor q, k, v;  ///< in `layout`; the last dimension is contiguous
  io::HostTensor o;        ///< in `layout`, row major; filled with NaN until a kernel has run
  io::HostTensor lse;      ///< f32: batch, query heads, query length; as o
};

/// Throws Error{IoError} for files that cannot be read, Error{InvalidArgument} for tensors that do not fit together.
Problem makeProblem(const Options& options, Progress& progress);

/// Writes --out and --lse.
void writeResults(const Options& options, const Problem& problem);

}  // namespace fattn::run

#endif
