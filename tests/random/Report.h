// SPDX-License-Identifier: Apache-2.0
// What a campaign found, as text.
#ifndef FATTN_TESTS_RANDOM_REPORT_H
#define FATTN_TESTS_RANDOM_REPORT_H

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/random/Campaign.h"

namespace fattn::random {

/// One kind of refusal.
struct Refusal {
  std::size_t count = 0;
  bool known = false;
  std::string example;  ///< the first draw that met it, and its message
};

class Report {
 public:
  void add(const Result& result);
  std::size_t count(Verdict verdict) const { return counts_[static_cast<std::size_t>(verdict)]; }
  std::size_t draws() const;
  std::size_t unknownRefusals() const;
  /// Nothing but agreement; refusals that are known do not count where `allowRefusals`.
  bool good(bool allowRefusals) const;
  /// A row for each verdict, then each kind of refusal with its count and an example.
  std::string table() const;
  /// Each verdict's count on one line: "12 draws: 11 agreed, 1 wrong, 0 refused, ..."; what scripts add up.
  std::string summary() const;

 private:
  std::array<std::size_t, kVerdicts> counts_ = {};
  std::map<std::string, Refusal> refusals_;
};

/// "program=7 target=... : wrong: argument 3: ..."
std::string describe(const Result& result);

}  // namespace fattn::random

#endif
