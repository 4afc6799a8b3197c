// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/KernelJob.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "fattn/fattn.h"
#include "tools/fattn-run/BackwardJob.h"
#include "tools/fattn-run/Bench.h"
#include "tools/fattn-run/DecodeJob.h"
#include "tools/fattn-run/KernelReference.h"
#include "tools/fattn-run/VarlenBackwardJob.h"
#include "tools/fattn-run/VarlenJob.h"

namespace fattn::run {
namespace {

using tool::Style;
using tool::styled;

constexpr double kEps = 1e-5;

// A tensor on the host and its copy on the device.
struct OnDevice {
  OnDevice(Device& on, KernelTensor& tensor) : device(on), host(tensor), memory(device.allocate(bytes())) {
    device.copy(memory, host.values.data(), bytes());
  }
  ~OnDevice() { device.free(memory); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  std::size_t bytes() const { return static_cast<std::size_t>(host.values.bytes()); }
  void fetch() { device.copy(host.values.data(), memory, bytes()); }

  Device& device;
  KernelTensor& host;
  void* memory;
  TensorView view{};
};

class KernelEngine : public Engine {
 public:
  KernelEngine(const Options& options, KernelProblem& problem)
      : problem_(problem),
        kernel_(compile(*findTemplate(problem.templateName), problem.parameters,
                        {.target = options.target,
                         .tile = options.config == TileConfig{} ? std::nullopt : std::optional(options.config),
                         .extents = problem.extents})),
        device_(openDevice(kernel_.info().target)) {
    for (KernelTensor& tensor : problem.tensors) {
      OnDevice& there = tensors_.emplace_back(device_, tensor);
      there.view = TensorView(there.memory, tensor.values.dtype(), tensor.values.shape());
      arguments_.emplace_back(tensor.name, there.view);
    }
    if (problem.hasEps) arguments_.emplace_back("eps", kEps);
    device_.synchronize();
    const KernelCode& code = kernel_.info();
    target = code.target, device = code.device, config = code.tile.toString(), compileMs = code.compile_ms, fromCache = code.from_cache;
  }

  double launch() override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    kernel_.launch({}, problem_.extents, arguments_);
    device_.synchronize();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  void fetch(Problem&) override {}
  void fetch() {
    for (OnDevice& tensor : tensors_) tensor.fetch();
    device_.synchronize();
  }

 private:
  KernelProblem& problem_;
  TemplateKernel kernel_;
  Device& device_;
  std::deque<OnDevice> tensors_;
  std::vector<Argument> arguments_;
};

/// What a report says of a launch, beside figures.
struct Launched {
  std::string parameters, shape;
  std::int64_t rows;
  std::vector<std::int64_t> extents;
  double flops, bytes;  ///< flops 0: the speed is that of memory
};

std::string speedText(const Launched& problem, double us) {
  return problem.flops > 0 ? fmt::format("{:.1f} GFLOP/s", problem.flops / us / 1e3) : fmt::format("{:.1f} GB/s", problem.bytes / us / 1e3);
}

std::string tableOf(const Options& options, const Launched& problem, const Engine& engine, const Timing& timing,
                    const std::optional<KernelCheck>& check) {
  const bool color = tool::wantsColor();
  std::string out;
  const auto line = [&](const char* label, const std::string& value) {
    out += fmt::format("{}{}\n", styled(fmt::format("{:<9}", label), Style::Dim, color), value);
  };
  line("target", fmt::format("{} ({})", engine.target, engine.device));
  line("kernel", fmt::format("{}, {}", options.kernel->kernel, problem.parameters));
  line("shape", problem.shape);
  line("config", engine.config);
  line("compile", fmt::format("{:.1f} ms{}", engine.compileMs, engine.fromCache ? ", from the cache on disk" : ""));
  line("time",
       fmt::format(
           "{:.1f} us{}", timing.medianUs,
           timing.repetitions > 1 ? fmt::format(", median of {} ({:.1f} to {:.1f})", timing.repetitions, timing.minUs, timing.maxUs) : ""));
  line("speed", styled(speedText(problem, timing.medianUs), Style::Bold, color));
  if (check)
    line("check", fmt::format("{}: {} of {} rows, relative error {:.2e}, {:.0e} is allowed",
                              styled(check->passed() ? "passed" : "FAILED", check->passed() ? Style::Good : Style::Bad, color), check->rows,
                              problem.rows, check->relative, check->allowed));
  return out;
}

std::string jsonOf(const Options& options, const Launched& problem, const Engine& engine, const Timing& timing,
                   const std::optional<KernelCheck>& check) {
  nlohmann::ordered_json json = {{"kernel", options.kernel->kernel}, {"target", engine.target},        {"device", engine.device},
                                 {"parameters", problem.parameters}, {"shape", problem.extents},       {"config", engine.config},
                                 {"compile_ms", engine.compileMs},   {"from_cache", engine.fromCache}, {"time_us", timing.medianUs},
                                 {"time_us_min", timing.minUs},      {"time_us_max", timing.maxUs},    {"repetitions", timing.repetitions}};
  json[problem.flops > 0 ? "gflops" : "gbytes_per_s"] = (problem.flops > 0 ? problem.flops : problem.bytes) / timing.medianUs / 1e3;
  if (problem.flops > 0) json["tflops"] = problem.flops / timing.medianUs / 1e6;  // as of attention, and in the other tools
  if (check)
    json["check"] = {
        {"passed", check->passed()},
        {"rel_err", std::isfinite(check->relative) ? nlohmann::ordered_json(check->relative) : nlohmann::ordered_json(nullptr)},
        {"tolerance", check->allowed},
        {"rows", check->rows},
        {"rows_total", problem.rows},
        {"reference", "float64"}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Timing timed(const Options& options, Engine& engine, tool::Progress& progress) {
  progress.step("running");
  const double once = engine.launch();
  if (!options.bench) return {once, once, once, 1};
  progress.step("measuring");
  return bench(engine);
}

KernelResult reportOf(const Options& options, const Launched& problem, const Engine& engine, const Timing& timing,
                      const std::optional<KernelCheck>& check) {
  return {.text = options.json ? jsonOf(options, problem, engine, timing, check) : tableOf(options, problem, engine, timing, check),
          .passed = !check || check->passed()};
}

/// Launches as often as asked, and compares with float64 where that is asked.
template <typename AnyEngine>
std::pair<Timing, std::optional<KernelCheck>> timedAndChecked(const Options& options, AnyEngine& engine, tool::Progress& progress) {
  const Timing timing = timed(options, engine, progress);
  std::optional<KernelCheck> check;
  if (options.check) {
    progress.step("checking against float64");
    check = engine.check(options.seed);
  }
  progress.clear();
  return {timing, check};
}

KernelResult runDecode(const Options& options, tool::Progress& progress) {
  const DecodeOptions& d = options.kernel->decode;
  progress.step("compiling, and drawing operands");
  DecodeEngine engine(options, d, options.kernel->dtype);
  const auto [timing, check] = timedAndChecked(options, engine, progress);
  const Launched launched{.parameters = engine.parameters,
                          .shape = fmt::format("{} sequences of {}{} keys, {}:{} heads, {} rows, D {}", d.batch, d.ragged ? "up to " : "",
                                               d.keys, d.headsQ, d.headsKv, d.queries, d.dim),
                          .rows = engine.rows(),
                          .extents = {d.batch, d.headsQ, d.headsKv, d.queries, d.keys, d.dim},
                          .flops = 0,
                          .bytes = engine.bytes()};
  return reportOf(options, launched, engine, timing, check);
}

constexpr double kOfForward = 2.5;  // of the backward pass: five products for two

template <typename OfPacked>
KernelResult runPacked(const Options& options, OfPacked& engine, double flops, tool::Progress& progress) {
  const VarlenOptions& v = options.kernel->varlen;
  const auto [timing, check] = timedAndChecked(options, engine, progress);
  const auto sequences = static_cast<std::int64_t>(v.cuQ.size()) - 1;
  const Launched launched{.parameters = engine.parameters,
                          .shape = fmt::format("{} sequences of {} rows and {} keys in all, {}:{} heads, D {}", sequences, v.cuQ.back(),
                                               v.cuK.back(), v.headsQ, v.headsKv, v.dim),
                          .rows = engine.rows(),
                          .extents = {sequences, v.headsQ, v.headsKv, v.cuQ.back(), v.cuK.back(), v.dim},
                          .flops = flops,
                          .bytes = 0};
  return reportOf(options, launched, engine, timing, check);
}

KernelResult runVarlen(const Options& options, tool::Progress& progress) {
  const VarlenOptions& v = options.kernel->varlen;
  if (v.backward) {
    progress.step("compiling, drawing operands, and running the forward");
    VarlenBackwardEngine engine(options, v, options.kernel->dtype);
    return runPacked(options, engine, kOfForward * flopsOf(v), progress);
  }
  progress.step("compiling, and drawing operands");
  VarlenEngine engine(options, v, options.kernel->dtype);
  return runPacked(options, engine, flopsOf(v), progress);
}

KernelResult runBackward(const Options& options, tool::Progress& progress) {
  const io::AttentionShape& s = options.kernel->backward.shape;
  progress.step("compiling, drawing operands, and running the forward");
  BackwardEngine engine(options, options.kernel->backward, options.kernel->dtype);
  const auto [timing, check] = timedAndChecked(options, engine, progress);
  const Launched launched{
      .parameters = engine.parameters,
      .shape = fmt::format("{} x {}:{} heads, {} queries, {} keys, D {}:{}", s.batch, s.headsQ, s.headsKv, s.lenQ, s.lenKv, s.dim, s.dimV),
      .rows = engine.rows(),
      .extents = {s.batch, s.headsQ, s.headsKv, s.lenQ, s.lenKv, s.dim, s.dimV},
      .flops = kOfForward * s.flops(),
      .bytes = 0};
  return reportOf(options, launched, engine, timing, check);
}

}  // namespace

KernelResult runKernel(const Options& options, tool::Progress& progress) {
  if (options.threads > 0) host::setNumThreads(options.threads);
  if (options.kernel->kernel == "decode") return runDecode(options, progress);
  if (options.kernel->kernel == "varlen") return runVarlen(options, progress);
  if (options.kernel->kernel == "backward") return runBackward(options, progress);
  progress.step("drawing operands");
  KernelProblem problem = makeKernelProblem(*options.kernel, options.seed);
  progress.step("compiling");
  KernelEngine engine(options, problem);
  const Timing timing = timed(options, engine, progress);
  engine.fetch();
  std::optional<KernelCheck> check;
  if (options.check) {
    progress.step("checking against float64");
    check = checkKernel(*options.kernel, problem, kEps, options.seed);
  }
  progress.clear();
  const Launched launched{.parameters = problem.parameters.toString(),
                          .shape = fmt::format("{}", fmt::join(problem.extents, " x ")),
                          .rows = problem.extents[0],
                          .extents = problem.extents,
                          .flops = problem.flops,
                          .bytes = problem.bytes};
  return reportOf(options, launched, engine, timing, check);
}

}  // namespace fattn::run
