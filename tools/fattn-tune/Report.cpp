// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "tools/common/Terminal.h"

namespace fattn::tuner {
namespace {

using Status = Result::Status;
using tool::Style;

constexpr std::size_t kShownReasons = 5;
constexpr const char* kOutcomes[] = {"tuned", "known", "cancelled", "not-reached", "planned", "failed", "unfinished"};

std::string triedText(const tuning::Outcome& o) {
  std::string text = fmt::format("{} measured", o.measured);
  const auto add = [&](std::size_t count, const char* what) {
    if (count != 0) text += fmt::format(", {} {}", count, what);
  };
  add(o.reused, "known");
  add(o.failed, "failed");
  add(o.pruned, "pruned");
  add(o.untried, "not tried");
  return text;
}

// What became of a problem, in the columns behind its name.
std::string verdictText(const Result& r, bool color) {
  switch (r.status) {
    case Status::Planned:
      return fmt::format("{} candidates, {} of them pruned", r.plan.candidates.size(), r.plan.pruned.size());
    case Status::NotReached:
      return "not reached within the budget";
    case Status::Cancelled:
      return fmt::format("stopped; what was measured is kept ({})", triedText(r.outcome));
    case Status::Unfinished:
      return fmt::format("unfinished: the budget is too small for a verdict ({}); --resume goes on, and nothing uses it until then",
                         triedText(r.outcome));
    case Status::Failed:
      return tool::styled("failed", Style::Bad, color) + ": " + r.error;
    case Status::Known:
      return fmt::format("{:<32} {:>10}  tuned before", r.winner->tile.toString(), timeText(r.winner->medianUs));
    case Status::Tuned:
      break;
  }
  const tuning::Outcome& o = r.outcome;
  const std::string gain = o.safeIsBest ? "the default is the best"
                                        : fmt::format("{} than the default, {} +- {:.1f}%",
                                                      tool::styled(fmt::format("{:.1f}% faster", (o.gain - 1) * 100), Style::Good, color),
                                                      timeText(o.safeUs), o.gainNoise * 100);
  return fmt::format("{:<32} {:>10}  {}; {}", r.winner->tile.toString(), timeText(r.winner->medianUs), gain, triedText(o));
}

nlohmann::ordered_json jsonOf(const Result& r) {
  const AttentionConfig& c = r.config;
  nlohmann::ordered_json json = {
      {"dtype", name(c.dtype)},
      {"head_dim", c.head_dim},
      {"head_dim_v", c.head_dim_v},
      {"causal", c.causal},
      {"shape", {{"batch", c.shape->batch}, {"heads", c.shape->heads}, {"seq_q", c.shape->seq_q}, {"seq_k", c.shape->seq_k}}},
      {"bucket", cache::bucketName(cache::bucketOf(r.plan.key.shape))},
      {"status", kOutcomes[static_cast<std::size_t>(r.status)]},
      {"default", c.tile->toString()},
      {"candidates", r.plan.candidates.size()},
      {"pruned", r.plan.pruned.size()}};
  if (r.status == Status::Planned) {
    nlohmann::ordered_json& reasons = json["pruned_because"] = nlohmann::ordered_json::object();
    for (const auto& [tile, reason] : r.plan.pruned) reasons[tile.toString()] = reason;
  }
  if (r.status == Status::Failed) json["error"] = r.error;
  if (r.winner) {
    json["winner"] = r.winner->tile.toString();
    json["winner_us"] = r.winner->medianUs;
    json["spread_us"] = r.winner->spreadUs;
  }
  if (r.status != Status::Tuned && r.status != Status::Cancelled && r.status != Status::Unfinished) return json;
  const tuning::Outcome& o = r.outcome;
  json["default_us"] = o.safeUs;
  json["gain"] = o.gain;
  json["gain_noise"] = o.gainNoise;
  json["default_is_best"] = o.safeIsBest;
  json["measured"] = o.measured;
  json["known"] = o.reused;
  json["failed"] = o.failed;
  json["untried"] = o.untried;
  json["seconds"] = o.seconds;
  return json;
}

}  // namespace

std::string kernelText(const AttentionConfig& c) {
  std::string text = fmt::format("{} d{}", name(c.dtype), c.head_dim);
  if (c.head_dim_v != 0 && c.head_dim_v != c.head_dim) text += fmt::format("/{}", c.head_dim_v);
  return text + (c.causal ? " causal" : "");
}

std::string shapeText(const AttentionConfig& c) {
  const ShapeHint& s = *c.shape;
  const std::string text = fmt::format("{}x{}x{}", s.batch, s.heads, s.seq_q);
  return s.seq_k == s.seq_q ? text : text + fmt::format(":{}", s.seq_k);
}

std::string timeText(double us) {
  if (us < 1000) return fmt::format("{:.1f} us", us);
  return us < 1e6 ? fmt::format("{:.3f} ms", us * 1e-3) : fmt::format("{:.3f} s", us * 1e-6);
}

std::string printTable(const std::vector<Result>& results, double seconds, bool color) {
  std::string out;
  if (!results.empty())
    out += tool::styled(fmt::format("{} ({})", results[0].config.target, results[0].plan.key.device), Style::Bold, color) + "\n";
  for (const Result& r : results) {
    const std::string line = fmt::format("{:<18} {:<18} {}", kernelText(r.config), shapeText(r.config), verdictText(r, color));
    out += line + "\n";
    if (r.status != Status::Planned) continue;
    const std::size_t shown = std::min(r.plan.pruned.size(), kShownReasons);
    for (const auto& [tile, reason] : std::span(r.plan.pruned).first(shown))
      out += tool::styled(fmt::format("    {}: {}\n", tile.toString(), reason), Style::Dim, color);
    if (shown < r.plan.pruned.size())
      out += tool::styled(fmt::format("    and {} more; --json lists them all\n", r.plan.pruned.size() - shown), Style::Dim, color);
  }
  const auto tuned = std::ranges::count(results, Status::Tuned, &Result::status);
  if (tuned != 0) out += fmt::format("{} problem{} tuned in {:.1f} s\n", tuned, tuned == 1 ? "" : "s", seconds);
  return out;
}

std::string printJson(const std::vector<Result>& results, double seconds, bool interrupted) {
  nlohmann::ordered_json json;
  if (!results.empty()) {
    json["target"] = results[0].config.target;
    json["device"] = results[0].plan.key.device;
    json["driver"] = results[0].plan.key.driver;
  }
  json["seconds"] = seconds;
  json["interrupted"] = interrupted;
  json["results"] = nlohmann::ordered_json::array();
  for (const Result& r : results) json["results"].push_back(jsonOf(r));
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fattn::tuner
