// SPDX-License-Identifier: Apache-2.0
// What a run found out, for people and for programs.
#ifndef FATTN_TOOLS_FATTN_RUN_REPORT_H
#define FATTN_TOOLS_FATTN_RUN_REPORT_H

#include <optional>
#include <string>
#include <vector>

#include "tools/fattn-run/Bench.h"
#include "tools/fattn-run/Check.h"
#include "tools/fattn-run/Problem.h"

namespace fattn::run {

struct Report {
  std::string target, device, config, inputs;
  io::AttentionShape shape;
  io::Layout layout = io::Layout::BHSD;
  DType dtype = DType::F32;
  float scale = 1;
  double compileMs = 0;
  bool fromCache = false;  ///< the code came from the cache on disk
  Timing timing;           ///< of one launch where nothing was measured
  std::optional<CheckResult> check;
  std::vector<std::string> written;

  double tflops() const { return timing.medianUs > 0 ? shape.flops() / timing.medianUs * 1e-6 : 0; }
};

/// A table: one line a fact.
std::string printTable(const Report& report, bool color);
/// One JSON object, one line. Figures that are not finite are null.
std::string printJson(const Report& report);

}  // namespace fattn::run

#endif
