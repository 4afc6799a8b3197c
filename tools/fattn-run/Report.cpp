// SPDX-License-Identifier: Apache-2.0
// The table and the JSON object of a run.
#include "tools/fattn-run/Report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/common/Terminal.h"

namespace fattn::run {
namespace {

using io::AttentionShape;

/// "2" or "32 / 8": two sizes that are usually the same.
std::string pair(std::int64_t a, std::int64_t b, const char* first, const char* second) {
  return a == b ? fmt::format("{}", a) : fmt::format("{} {}, {} {}", a, first, b, second);
}

std::string shapeLine(const Report& r) {
  const AttentionShape& s = r.shape;
  return fmt::format("batch {}, heads {}, length {}, head dimension {}, layout {}", s.batch,
                     pair(s.headsQ, s.headsKv, "for queries", "for keys"), pair(s.lenQ, s.lenKv, "queries", "keys"),
                     pair(s.dim, s.dimV, "for q and k", "for v"), r.layout == io::Layout::BHSD ? "bhsd" : "bshd");
}

std::string time(double us) {
  if (us < 1000) return fmt::format("{:.1f} us", us);
  return us < 1e6 ? fmt::format("{:.3f} ms", us * 1e-3) : fmt::format("{:.3f} s", us * 1e-6);
}

std::string timeLine(const Timing& t) {
  if (t.repetitions == 1) return fmt::format("{}  (one launch; --bench measures)", time(t.medianUs));
  return fmt::format("{}  (median of {}; fastest {}, slowest {})", time(t.medianUs), t.repetitions, time(t.minUs), time(t.maxUs));
}

std::string speed(double tflops) {
  return tflops < 1 ? fmt::format("{:.1f} GFLOP/s", tflops * 1e3) : fmt::format("{:.2f} TFLOP/s", tflops);
}

std::string checkLine(const Report& r, bool color) {
  const CheckResult& c = *r.check;
  const std::string verdict = c.passed() ? styled("passed", Style::Good, color) : styled("FAILED", Style::Bad, color);
  const std::string rows =
      c.rows == r.shape.rows() ? fmt::format("all {} rows", c.rows) : fmt::format("{} of {} rows", c.rows, r.shape.rows());
  std::string line = fmt::format("{}  {} against float64: relative error {:.2e} (allowed {:.0e}), largest {:.2e}; LSE {:.2e}", verdict,
                                 rows, c.o.relative(), c.allowed, c.o.maxAbsolute(), c.lse.relative());
  return line;
}

/// Empty where there is nothing to say.
std::string nonFiniteLine(const CheckResult& c) {
  if (c.hasNonFiniteInputs())
    return fmt::format(
        "inputs hold {} NaN and {} infinite values; {} compared elements are not finite in the reference, {} disagree with it; "
        "errors are over the others",
        c.inputs.nans, c.inputs.infinities, c.o.nonFinite(), c.o.mismatched());
  const std::int64_t wrong = c.o.mismatched() + c.lse.mismatched();
  return wrong == 0 ? "" : fmt::format("{} elements are not finite where the reference is, or the other way round", wrong);
}

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

nlohmann::json checkJson(const CheckResult& c, std::int64_t total) {
  return {{"passed", c.passed()},
          {"rel_err", number(c.o.relative())},
          {"max_abs_err", number(c.o.maxAbsolute())},
          {"lse_rel_err", number(c.lse.relative())},
          {"lse_max_abs_err", number(c.lse.maxAbsolute())},
          {"tolerance", c.allowed},
          {"rows", c.rows},
          {"rows_total", total},
          {"reference", "float64"},
          {"nan_inputs", c.inputs.nans},
          {"inf_inputs", c.inputs.infinities},
          {"non_finite", c.o.nonFinite() + c.lse.nonFinite()},
          {"non_finite_mismatched", c.o.mismatched() + c.lse.mismatched()}};
}

}  // namespace

std::string printTable(const Report& r, bool color) {
  std::string out;
  const auto line = [&](const char* label, const std::string& value) {
    out += fmt::format("{}{}\n", styled(fmt::format("{:<9}", label), Style::Dim, color), value);
  };
  line("target", fmt::format("{} ({})", r.target, r.device));
  line("shape", shapeLine(r));
  line("type", fmt::format("{}, {}, scale {:.6g}", name(r.dtype), r.shape.causal ? "causal" : "not causal", r.scale));
  line("inputs", r.inputs);
  line("config", r.config.empty() ? "the kernel's default" : r.config);
  line("compile", fmt::format("{:.1f} ms{}", r.compileMs, r.fromCache ? ", from the cache on disk" : ""));
  line("time", timeLine(r.timing));
  line("speed", styled(speed(r.tflops()), Style::Bold, color));
  if (r.check) {
    line("check", checkLine(r, color));
    if (const std::string note = nonFiniteLine(*r.check); !note.empty()) line("", note);
  }
  for (const std::string& file : r.written) line("wrote", file);
  return out;
}

std::string printJson(const Report& r) {
  const AttentionShape& s = r.shape;
  nlohmann::ordered_json json;
  json["target"] = r.target;
  json["device"] = r.device;
  json["shape"] = {{"batch", s.batch},  {"heads_q", s.headsQ}, {"heads_kv", s.headsKv}, {"len_q", s.lenQ},
                   {"len_kv", s.lenKv}, {"dim", s.dim},        {"dim_v", s.dimV}};
  json["layout"] = r.layout == io::Layout::BHSD ? "bhsd" : "bshd";
  json["dtype"] = name(r.dtype);
  json["causal"] = s.causal;
  json["scale"] = r.scale;
  json["inputs"] = r.inputs;
  json["config"] = r.config;
  json["compile_ms"] = number(r.compileMs);
  json["from_cache"] = r.fromCache;
  json["time_us"] = number(r.timing.medianUs);
  json["time_us_min"] = number(r.timing.minUs);
  json["time_us_max"] = number(r.timing.maxUs);
  json["repetitions"] = r.timing.repetitions;
  json["tflops"] = number(r.tflops());
  if (r.check) json["check"] = checkJson(*r.check, s.rows());
  if (!r.written.empty()) json["written"] = r.written;
  // File names may hold bytes that are no UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fattn::run
