// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/attention/AttentionSupport.h"
#include "runtime/cache/Settings.h"
#include "tools/common/Terminal.h"
#include "tools/fattn-tune/AttentionProblem.h"
#include "tools/fattn-tune/Report.h"

namespace fattn::tuner {
namespace {

namespace fs = std::filesystem;
using cache::TunePoint;
using kernels::TunedRule;

constexpr const char* kRules[] = {"exact", "nearest", "shipped", "default"};
constexpr std::size_t kShown = 5;

// The points of the bucket the answer comes from, or would come from, fastest first.
std::vector<TunePoint> pointsOf(const kernels::TunedLookup& lookup, const std::optional<cache::TuneKey>& problem) {
  if (!problem) return {};
  cache::TuneKey key = *problem;
  if (!lookup.nearby.empty() && !lookup.nearby.front()->shipped) key.shape = lookup.nearby.front()->shape;
  std::vector<TunePoint> points = kernels::tunedStore().read(key).points;
  std::ranges::sort(points, {}, [](const TunePoint& p) { return std::tuple(p.status, p.medianUs, p.tile.toString(), p.run); });
  return points;
}

// Each rule, and what became of it.
std::vector<std::pair<std::string, std::string>> stepsOf(const AttentionConfig& config, const kernels::TunedLookup& lookup,
                                                         const std::optional<cache::TuneKey>& key) {
  const fs::path folder = key ? cache::Directory::process().path() / cache::TunedStore::folderOf(*key) : fs::path();
  if (cache::tuneMode() == cache::TuneMode::Off) return {{"all", "not looked up: FATTN_TUNE=off"}};
  std::vector<std::pair<std::string, std::string>> steps;
  const auto add = [&](const char* rule, TunedRule which, const std::string& otherwise) {
    if (lookup.rule < which) return;
    steps.emplace_back(rule, lookup.rule == which ? "this one: " + lookup.reason : otherwise);
  };
  add("this shape", TunedRule::Exact, key ? "nothing in " + folder.string() : "the target is no device");
  add("nearest shape", TunedRule::Nearest, key ? "nothing in " + folder.parent_path().string() : "the same");
  add("shipped", TunedRule::Shipped, "nothing near for " + kernels::shippedDevice(kernels::resolve(config).target));
  add("default", TunedRule::Default, "");
  return steps;
}

std::string printText(const AttentionConfig& config, const kernels::TunedLookup& lookup, const std::optional<cache::TuneKey>& key,
                      bool color) {
  std::string out;
  const auto line = [&](const std::string& label, const std::string& value) {
    out += fmt::format("{}{}\n", tool::styled(fmt::format("{:<15}", label), tool::Style::Dim, color), value);
  };
  line("kernel", kernelText(config));
  line("shape",
       fmt::format("{}, in the bucket {}", shapeText(config), cache::bucketName(cache::bucketOf(kernels::problemOf(config).shape))));
  line("configuration", tool::styled(lookup.tile.toString(), tool::Style::Bold, color));
  for (const auto& [rule, text] : stepsOf(config, lookup, key)) line(rule, text);
  if (key) {
    line("target", key->target);
    line("device", key->device);
    line("driver", key->driver);
    line("compiler", key->compiler);
  }
  const std::vector<TunePoint> points = pointsOf(lookup, key);
  for (std::size_t i = 0; i < std::min(points.size(), kShown); ++i)
    if (points[i].status == TunePoint::Status::Measured)
      line(i == 0 ? "fastest" : "", fmt::format("{:<32} {:>10} +- {:.1f} us, {} samples", points[i].tile.toString(),
                                                timeText(points[i].medianUs), points[i].spreadUs / 2, points[i].samples));
  if (points.size() > kShown)
    line("", fmt::format("and {} more; fattn-tune cache show lists them, fattn-tune plot draws them", points.size() - kShown));
  return out;
}

std::string printJson(const AttentionConfig& config, const kernels::TunedLookup& lookup, const std::optional<cache::TuneKey>& key) {
  nlohmann::ordered_json json = {{"kernel", kernels::problemOf(config).name},
                                 {"shape", shapeText(config)},
                                 {"bucket", cache::bucketName(cache::bucketOf(kernels::problemOf(config).shape))},
                                 {"tile", lookup.tile.toString()},
                                 {"rule", kRules[static_cast<std::size_t>(lookup.rule)]},
                                 {"reason", lookup.reason}};
  if (key) {
    json["target"] = key->target;
    json["device"] = key->device;
    json["driver"] = key->driver;
    json["compiler"] = key->compiler;
  }
  json["decided_by"] = nlohmann::ordered_json::array();
  for (const cache::TunedBucket* bucket : lookup.nearby)
    json["decided_by"].push_back({{"bucket", cache::bucketName(bucket->shape)},
                                  {"source", bucket->source.string()},
                                  {"shipped", bucket->shipped},
                                  {"tile", bucket->winner.tile.toString()},
                                  {"median_us", bucket->winner.medianUs},
                                  {"spread_us", bucket->winner.spreadUs},
                                  {"distance", cache::distanceOf(bucket->shape, kernels::problemOf(config).told).value_or(0)}});
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int explain(const Options& options) {
  const AttentionConfig& config = options.problems.front();
  kernels::requireSupported(config);
  const kernels::TunedLookup lookup = kernels::lookUpTuned(config);
  std::optional<cache::TuneKey> key;
  if (!namesChip(config.target)) key = kernels::tuneKey(config);
  fmt::print("{}", options.json ? printJson(config, lookup, key) : printText(config, lookup, key, tool::wantsColor()));
  return tool::kOk;
}

}  // namespace fattn::tuner
