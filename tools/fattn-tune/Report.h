// SPDX-License-Identifier: Apache-2.0
// What a run found out, for people and for programs.
#ifndef FATTN_TOOLS_FATTN_TUNE_REPORT_H
#define FATTN_TOOLS_FATTN_TUNE_REPORT_H

#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "kernels/core/Tuning.h"

namespace fattn::tuner {

/// "bf16 d64 causal"; with a value dimension of its own "bf16 d192/128".
std::string kernelText(const AttentionConfig& config);
/// "1x32x2048"; with keys of their own length "1x32x1:4096".
std::string shapeText(const AttentionConfig& config);
/// "812.5 us", "3.214 ms".
std::string timeText(double us);

struct Result {
  enum class Status : std::uint8_t { Tuned, Known, Cancelled, NotReached, Planned, Failed, Unfinished };

  AttentionConfig config;  ///< resolved, its shape complete
  kernels::TunePlan plan;
  Status status = Status::NotReached;
  tuning::Outcome outcome;                  ///< of Tuned, Cancelled and Unfinished
  std::optional<cache::TuneWinner> winner;  ///< of Tuned and Known
  std::string error;                        ///< of Failed
};

/// A line a problem, and one about all.
std::string printTable(const std::vector<Result>& results, double seconds, bool color);
/// One JSON object, one line.
std::string printJson(const std::vector<Result>& results, double seconds, bool interrupted);

}  // namespace fattn::tuner

#endif
