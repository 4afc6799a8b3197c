// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/random/Refusals.h"

namespace fattn::random {

void Report::add(const Result& result) {
  ++counts_[static_cast<std::size_t>(result.outcome.verdict)];
  if (result.outcome.verdict != Verdict::Refused) return;
  Refusal& refusal = refusals_[kindOf(result.outcome.message)];
  if (refusal.count++ > 0) return;
  refusal.known = isKnownRefusal(result.outcome.message);
  refusal.example = fmt::format("{}\n        {}", result.draw.toString(), result.outcome.message);
}

std::size_t Report::draws() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }

std::size_t Report::unknownRefusals() const {
  std::size_t unknown = 0;
  for (const auto& [kind, refusal] : refusals_) unknown += refusal.known ? 0 : refusal.count;
  return unknown;
}

bool Report::good(bool allowRefusals) const {
  std::size_t fine = count(Verdict::Agreed) + (allowRefusals ? count(Verdict::Refused) - unknownRefusals() : 0);
  return fine == draws();
}

std::string Report::table() const {
  std::string text = fmt::format("| {:<9} | {:>7} |\n|-----------|---------|\n| {:<9} | {:>7} |\n", "verdict", "draws", "all", draws());
  for (int i = 0; i < kVerdicts; ++i)
    text += fmt::format("| {:<9} | {:>7} |\n", name(static_cast<Verdict>(i)), counts_[static_cast<std::size_t>(i)]);
  std::vector<std::pair<std::string, Refusal>> sorted(refusals_.begin(), refusals_.end());
  std::ranges::sort(sorted, std::greater(), [](const auto& entry) { return std::pair(entry.second.count, entry.first); });
  if (!sorted.empty()) text += "refused, by kind:\n";
  for (const auto& [kind, refusal] : sorted)
    text += fmt::format("{:>7} {}{}\n        {}\n", refusal.count, refusal.known ? "(known) " : "", kind, refusal.example);
  return text;
}

std::string Report::summary() const {
  std::string text = fmt::format("{} draws:", draws());
  for (int i = 0; i < kVerdicts; ++i)
    text += fmt::format("{} {} {}", i > 0 ? "," : "", counts_[static_cast<std::size_t>(i)], name(static_cast<Verdict>(i)));
  return text;
}

std::string describe(const Result& result) {
  std::string what = result.source.empty() ? result.draw.toString() : result.source + ": " + result.draw.toString();
  std::string_view verdict = name(result.outcome.verdict);
  if (result.outcome.message.empty()) return fmt::format("{}: {}", what, verdict);
  return fmt::format("{}: {}: {}", what, verdict, result.outcome.message);
}

}  // namespace fattn::random
