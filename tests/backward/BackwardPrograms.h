// SPDX-License-Identifier: Apache-2.0
// The programs of the backward pass on data, as the door launches them, run by whatever a test chooses.
#ifndef FATTN_TESTS_BACKWARD_BACKWARDPROGRAMS_H
#define FATTN_TESTS_BACKWARD_BACKWARDPROGRAMS_H

#include "tests/backward/BackwardData.h"
#include "tests/support/TemplatePrograms.h"

namespace fattn::backward {

struct BackwardTiles {
  TileConfig keys, queries, rows;
  std::string order = "rows";  ///< of the workspace
};

Parameters parametersOf(const BackwardShape& shape);

/// `fast`: dQ by sums. The results are in the data afterwards.
void backwardBy(const test::RunProgram& run, BackwardData& data, bool fast, const BackwardTiles& tiles);

}  // namespace fattn::backward

#endif
