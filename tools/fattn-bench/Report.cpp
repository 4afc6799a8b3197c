// SPDX-License-Identifier: Apache-2.0
// The table and the JSON object of a run, and the way back.
#include "tools/fattn-bench/Report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fattn/Error.h"
#include "tools/common/Terminal.h"

namespace fattn::bench {
namespace {

using nlohmann::ordered_json;
using tool::Style;

constexpr const char* kFormat = "fattn-bench 1";

std::string time(double us) {
  if (us < 1000) return fmt::format("{:.1f} us", us);
  return us < 1e6 ? fmt::format("{:.3f} ms", us * 1e-3) : fmt::format("{:.3f} s", us * 1e-6);
}

std::string flops(double value) {
  return value < 1e12 ? fmt::format("{:.1f} GFLOP/s", value * 1e-9) : fmt::format("{:.1f} TFLOP/s", value * 1e-12);
}
std::string bandwidth(double value) {
  return value < 1e12 ? fmt::format("{:.1f} GB/s", value * 1e-9) : fmt::format("{:.2f} TB/s", value * 1e-12);
}

/// Columns as wide as their widest cell; the first is aligned to the left.
std::string align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), row.size()));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string comparisonText(const Comparison& c) {
  if (c.verdict == Verdict::New) return "new";
  if (c.verdict == Verdict::Same) return fmt::format("same (within {:.1f}%)", 100 * c.threshold);
  if (c.verdict == Verdict::Machine) return fmt::format("{:.3f}x, as the machine", c.ratio);
  return fmt::format("{} {:.3f}x", name(c.verdict), c.ratio);
}

/// Colours the lines of a table by their verdicts; the heading is the first.
std::string colored(const std::string& table, const std::vector<Comparison>& comparisons) {
  std::string text;
  std::size_t at = 0;
  for (std::size_t line = 0; at < table.size(); ++line) {
    const std::size_t end = table.find('\n', at);
    const std::string row = table.substr(at, end - at);
    const Verdict verdict = line > 0 && line <= comparisons.size() ? comparisons[line - 1].verdict : Verdict::Same;
    text += line == 0                    ? tool::styled(row, Style::Dim, true)
            : verdict == Verdict::Faster ? tool::styled(row, Style::Good, true)
            : verdict == Verdict::Slower ? tool::styled(row, Style::Bad, true)
                                         : row;
    text += '\n';
    at = end + 1;
  }
  return text;
}

ordered_json rateJson(const Rate& rate) { return {{"per_second", rate.value}, {"relative_error", rate.error}}; }

ordered_json measurementJson(const Measurement& m, const Ceilings& ceilings) {
  const io::AttentionShape& s = m.problem.shape;
  const Share share = shareOf(m, ceilings);
  ordered_json json = {{"case", m.problem.name()}, {"dtype", fattn::name(m.problem.dtype)}};
  if (!m.problem.isAttention())
    json.update({{"kernel", m.problem.kernel.kernel}, {"extents", m.problem.kernel.extents}});
  else
    json.update({{"batch", s.batch},
                 {"heads_q", s.headsQ},
                 {"heads_kv", s.headsKv},
                 {"len_q", s.lenQ},
                 {"len_kv", s.lenKv},
                 {"dim", s.dim},
                 {"dim_v", s.dimV},
                 {"causal", s.causal}});
  json.update({{"config", m.config},
               {"time_us", m.timing.medianUs},
               {"time_us_quartiles", {m.timing.lowUs, m.timing.highUs}},
               {"relative_error", m.timing.error},
               {"turns", m.timing.turns},
               {"tflops", m.flopsPerSecond() * 1e-12},
               {"gbps", m.bytesPerSecond() * 1e-9},
               {"bound", share.memory ? "memory" : "matrix"}});
  json["share_of_ceiling"] = share.part ? ordered_json(*share.part) : ordered_json(nullptr);
  return json;
}

/// Fields of an object of an earlier run, with the file and the place in every error.
class Reader {
 public:
  Reader(const ordered_json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is no object");
  }
  double number(const char* field, double least) const {
    const ordered_json& value = at(field);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < least)
      fail(fmt::format("has no number of at least {} called '{}'", least, field));
    return value.get<double>();
  }
  std::int64_t count(const char* field) const { return static_cast<std::int64_t>(std::min(number(field, 0), 1e15)); }
  std::string text(const char* field) const {
    if (!at(field).is_string()) fail(fmt::format("has no text called '{}'", field));
    return at(field).get<std::string>();
  }
  bool flag(const char* field) const { return at(field).is_boolean() && at(field).get<bool>(); }
  const ordered_json& at(const char* field) const {
    if (!object_.contains(field)) fail(fmt::format("has no '{}'", field));
    return object_.at(field);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} {}", where_, what), "give what `fattn-bench --output FILE` wrote");
  }
  /// The kernel of an object, without a name where it is of attention.
  KernelCase kernel() const {
    if (!object_.contains("kernel")) return {};
    KernelCase kernel{.kernel = text("kernel"), .extents = {}};
    const ordered_json& extents = at("extents");
    const Case of{DType::F32, {}, kernel};
    const std::size_t exact = of.isDecode() ? 6 : of.isBackward() ? 8 : 0;
    const std::string wrong = fmt::format("has no {} numbers called 'extents'", exact == 6 ? "six" : exact == 8 ? "eight" : "two or three");
    if (!extents.is_array() || extents.size() < (exact > 0 ? exact : 2) || extents.size() > (exact > 0 ? exact : 3)) fail(wrong);
    for (const ordered_json& extent : extents) {
      if (!extent.is_number_unsigned()) fail(wrong);
      kernel.extents.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(extent.get<std::uint64_t>(), 1'000'000'000)));
    }
    return kernel;
  }
  DType type() const {
    const auto type = parseDType(text("dtype"));
    if (!type) fail("has an unknown dtype");
    return *type;
  }

 private:
  const ordered_json& object_;
  std::string where_;
};

Measurement readMeasurement(const Reader& r) {
  Measurement m;
  m.problem = {r.type(), {}, r.kernel()};
  if (m.problem.isAttention())
    m.problem.shape = {r.count("batch"),  r.count("heads_q"), r.count("heads_kv"), r.count("len_q"),
                       r.count("len_kv"), r.count("dim"),     r.count("dim_v"),    r.flag("causal")};
  m.config = r.text("config");
  const ordered_json& quartiles = r.at("time_us_quartiles");
  if (!quartiles.is_array() || quartiles.size() != 2 || !quartiles[0].is_number() || !quartiles[1].is_number())
    r.fail("has no two numbers called 'time_us_quartiles'");
  const int turns = static_cast<int>(std::min<std::int64_t>(r.count("turns"), 1 << 30));
  m.timing = {r.number("time_us", 1e-6), quartiles[0].get<double>(), quartiles[1].get<double>(), r.number("relative_error", 0), turns};
  return m;
}

}  // namespace

std::string printTable(const Run& run, const std::vector<Comparison>& comparisons, bool color) {
  std::string text = fmt::format("{} ({}), fattn {}, {}\n", run.target, run.device, run.version, run.date);
  std::string ceilings;
  if (run.ceilings.copy) ceilings += fmt::format("  copy {}", bandwidth(run.ceilings.copy->value));
  for (const auto& [type, rate] : run.ceilings.matrix) ceilings += fmt::format("  {} dots {}", fattn::name(type), flops(rate.value));
  if (!ceilings.empty()) text += "ceilings:" + ceilings + "\n";
  for (const std::string& note : run.notes) text += "note: " + note + "\n";
  std::vector<std::vector<std::string>> rows = {{"case", "config", "time", "spread", "turns", "speed", "of ceiling"}};
  if (!comparisons.empty()) rows[0].emplace_back("compared");
  for (std::size_t i = 0; i < run.measurements.size(); ++i) {
    const Measurement& m = run.measurements[i];
    const Share share = shareOf(m, run.ceilings);
    rows.push_back({m.problem.name(), m.config, time(m.timing.medianUs),
                    fmt::format("{:.1f}%", 100 * (m.timing.highUs - m.timing.lowUs) / m.timing.medianUs), fmt::format("{}", m.timing.turns),
                    share.memory ? bandwidth(m.bytesPerSecond()) : flops(m.flopsPerSecond()),
                    share.part ? fmt::format("{:.1f}%{}", 100 * *share.part, share.memory ? " of copy" : "") : "?"});
    if (!comparisons.empty()) rows.back().push_back(comparisonText(comparisons[i]));
  }
  const bool isAbove = std::ranges::any_of(run.measurements, [&](const Measurement& m) { return shareOf(m, run.ceilings).part > 1; });
  if (isAbove)
    text +=
        "note: ceilings are measured programs, no limits of the machine: a case above 100% does better, or finds in caches what it reads "
        "again\n";
  const std::string table = align(rows);
  return text + "\n" + (color ? colored(table, comparisons) : table);
}

std::string printJson(const Run& run, const std::vector<Comparison>& comparisons) {
  ordered_json json = {{"format", kFormat},      {"target", run.target}, {"device", run.device}, {"driver", run.driver},
                       {"version", run.version}, {"date", run.date},     {"suites", run.suites}, {"notes", run.notes}};
  json["ceilings"] = ordered_json::object();
  if (run.ceilings.copy) json["ceilings"]["copy"] = rateJson(*run.ceilings.copy);
  for (const auto& [type, rate] : run.ceilings.matrix) json["ceilings"]["matrix"][std::string(fattn::name(type))] = rateJson(rate);
  json["measurements"] = ordered_json::array();
  for (std::size_t i = 0; i < run.measurements.size(); ++i) {
    json["measurements"].push_back(measurementJson(run.measurements[i], run.ceilings));
    if (comparisons.empty()) continue;
    const Comparison& c = comparisons[i];
    json["measurements"].back()["comparison"] = {{"verdict", name(c.verdict)}, {"ratio", c.ratio}, {"threshold", c.threshold}};
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Run parseRun(const std::string& text, const std::string& file) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  const std::string where = fmt::format("'{}'", file);
  if (json.is_discarded()) throw Error(ErrorCode::InvalidArgument, where + " is no JSON", "give what `fattn-bench --output FILE` wrote");
  const Reader reader(json, where);
  if (reader.text("format") != kFormat) reader.fail(fmt::format("has another format than '{}'", kFormat));
  Run run;
  run.target = reader.text("target"), run.device = reader.text("device"), run.date = reader.text("date"),
  run.version = reader.text("version");
  const ordered_json& ceilings = reader.at("ceilings");
  if (ceilings.contains("copy")) run.ceilings.copy = Rate{Reader(ceilings["copy"], where + " ceilings.copy").number("per_second", 1), 0};
  if (ceilings.contains("matrix") && ceilings["matrix"].is_object())
    for (const auto& [key, value] : ceilings["matrix"].items())
      if (const auto type = parseDType(key))
        run.ceilings.matrix[*type] = {Reader(value, where + " ceilings.matrix").number("per_second", 1), 0};
  const ordered_json& list = reader.at("measurements");
  if (!list.is_array()) reader.fail("has no list called 'measurements'");
  for (std::size_t i = 0; i < list.size(); ++i)
    run.measurements.push_back(readMeasurement(Reader(list[i], fmt::format("{} measurements[{}]", where, i))));
  return run;
}

}  // namespace fattn::bench
