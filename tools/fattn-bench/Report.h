// SPDX-License-Identifier: Apache-2.0
// What a run found out, for people and for programs, and what it means beside an earlier run.
#ifndef FATTN_TOOLS_FATTN_BENCH_REPORT_H
#define FATTN_TOOLS_FATTN_BENCH_REPORT_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/fattn-bench/Suites.h"

namespace fattn::bench {

/// What a list of times says.
struct Timing {
  double medianUs = 0, lowUs = 0, highUs = 0;  ///< quartiles
  double error = 0;                            ///< standard error of the median, relative
  int turns = 0;
};
Timing timingOf(const std::vector<double>& us);

struct Rate {
  double value = 0;  ///< FLOP/s or bytes/s
  double error = 0;  ///< standard error, relative
};

struct Ceilings {
  std::optional<Rate> copy;
  std::map<DType, Rate> matrix;
};

struct Measurement {
  Case problem;
  std::string config;  ///< the tile configuration that ran
  Timing timing;

  double flopsPerSecond() const { return problem.flops() / timing.medianUs * 1e6; }
  double bytesPerSecond() const { return problem.bytes() / timing.medianUs * 1e6; }
};

/// Which ceiling a problem meets first, and how near it comes.
struct Share {
  bool memory = false;
  std::optional<double> part;  ///< of the ceiling; nothing where it was not measured
};
Share shareOf(const Measurement& measurement, const Ceilings& ceilings);

struct Run {
  std::string target, device, driver, date, version;
  std::vector<std::string> suites;
  Ceilings ceilings = {};
  std::vector<std::string> notes = {};  ///< why a ceiling or a case is missing
  std::vector<Measurement> measurements = {};
};

enum class Verdict { Same, Faster, Slower, Machine, New };
std::string_view name(Verdict verdict);

struct Comparison {
  Verdict verdict = Verdict::New;
  double ratio = 1;      ///< earlier time / time
  double threshold = 0;  ///< how far from 1 the ratio has to be to mean something
};

/// A ratio counts where it is off 1 by more than 3 standard errors of both medians together, by more than 1%, and by more than the device's
/// own ceiling has moved on top; and where neither median lies between the quartiles of the other run. If the ceiling moved the same way
/// and as far, the change is the machine's and not the kernel's.
Comparison compare(const Timing& before, const Timing& now, std::optional<double> ceilingBefore, std::optional<double> ceilingNow);

/// One comparison for each measurement of `now`. An earlier one is found by the problem and, where that has several, the configuration.
std::vector<Comparison> compareRuns(const Run& before, const Run& now);

std::string printTable(const Run& run, const std::vector<Comparison>& comparisons, bool color);
std::string printJson(const Run& run, const std::vector<Comparison>& comparisons);
/// Throws Error{InvalidArgument} naming what is wrong in the text, which `file` is the name of.
Run parseRun(const std::string& text, const std::string& file);

}  // namespace fattn::bench

#endif
