// SPDX-License-Identifier: Apache-2.0
// The steps of a run: parse, read the earlier run, compile, measure everything in turns, report.
#include "tools/fattn-bench/Job.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "fattn/Host.h"
#include "fattn/Version.h"
#include "runtime/simulated/Modelled.h"
#include "tools/common/Interrupt.h"
#include "tools/common/Program.h"
#include "tools/fattn-bench/Attention.h"
#include "tools/fattn-bench/Ceilings.h"
#include "tools/fattn-bench/Kernels.h"
#include "tools/fattn-bench/Measure.h"
#include "tools/fattn-bench/Options.h"
#include "tools/fattn-bench/Report.h"
#include "tools/io/File.h"

namespace fattn::bench {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of a file to compare with

std::string listing(DeviceKind device, const std::vector<DType>& types) {
  std::string text;
  for (const Suite& suite : suites()) {
    text += fmt::format("{}: {}\n", suite.name, suite.what);
    for (const Case& one : casesOf({std::string(suite.name)}, types, device)) text += fmt::format("  {}\n", one.name());
  }
  return text;
}

/// Everything that takes turns. The ceilings come first; `measurements` belong to the contestants behind them.
struct Field {
  std::unique_ptr<Operands> operands;
  std::unique_ptr<Ceiling> copy;
  std::map<DType, std::unique_ptr<Ceiling>> matrix;
  std::vector<Contestant> contestants;
  std::size_t ceilings = 0;
};

void addCeilings(Device& device, const std::string& target, const std::vector<DType>& types, Field& field,
                 std::vector<std::string>& notes) {
  const auto attempt = [&](const std::string& what, auto&& make) {
    try {
      make();
    } catch (const Error& error) {
      notes.push_back(fmt::format("no ceiling of {}: {}", what, error.constraint()));
    }
  };
  attempt("copies", [&] {
    field.copy = copyCeiling(device, target);
    field.contestants.push_back({"copy", [c = field.copy.get()] { c->launch(); }, {}});
  });
  for (DType type : types)
    attempt(fmt::format("{} dots", fattn::name(type)), [&] {
      field.matrix[type] = matrixCeiling(device, target, type);
      field.contestants.push_back({"dots", [c = field.matrix[type].get()] { c->launch(); }, {}});
    });
  field.ceilings = field.contestants.size();
}

/// Before anything was measured.
struct Interrupted {};

/// Compiles every case with every configuration; what cannot be is a note.
void addCases(const Options& options, const std::string& target, const std::vector<Case>& cases, const std::stop_token& stop, Field& field,
              Run& run, tool::Progress& progress) {
  for (const Case& one : cases)
    for (const TileConfig& config : options.configs) try {
        if (stop.stop_requested()) throw Interrupted();
        progress.step(fmt::format("compiling {}", one.name()));
        auto [launch, chosen] = one.isAttention()  ? prepare(one, target, config, *field.operands)
                                : one.isDecode()   ? prepareDecode(one, target, config)
                                : one.isBackward() ? prepareBackward(one, target, config)
                                                   : prepareKernel(one, target, config);
        field.contestants.push_back({one.name(), std::move(launch), {}});
        run.measurements.push_back({one, chosen, {}});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::CompileError && error.code() != ErrorCode::InvalidArgument)
          throw;
        run.notes.push_back(fmt::format("{} is left out: {}", one.name(), error.constraint()));
      }
  if (run.measurements.empty())
    throw Error(ErrorCode::Unsupported, "none of the cases can be compiled: " + (run.notes.empty() ? "" : run.notes.back()));
}

Rate rateOf(double work, const std::vector<double>& us) {
  const Timing timing = timingOf(us);
  return {work / timing.medianUs * 1e6, timing.error};
}

/// What runs between launches on a GPU, so that no case finds its operands in the cache of the one before.
std::function<void()> flushOf(Device& device, std::unique_ptr<void, std::function<void(void*)>>& memory) {
  const std::int64_t bytes = 2 * device.capabilities().cacheBytes;
  if (device.kind() == DeviceKind::Host || bytes == 0) return {};
  memory = {device.allocate(bytes), [&device](void* p) { device.free(p); }};
  return [&device, bytes, p = memory.get()] { device.fill(p, 0, bytes); };
}

/// What the model of a chip says of a case beside its time.
void addModel(Device& device, Contestant& contestant, const Measurement& measurement, std::vector<std::string>& notes) {
  contestant.launch();
  const std::shared_ptr<const simulated::ModelledLaunch> model = simulated::lastModelled(device);
  if (!model) return;
  notes.push_back(fmt::format(
      "{}: {} vector registers, {} bytes of LDS, {} of scratch, {} workgroup{} of {} waves on a compute unit; busy: "
      "matrix unit {:.0f} %, vector unit {:.0f} %, LDS {:.0f} %, global memory {:.0f} %",
      measurement.problem.name(), model->registers, model->ldsBytes, model->scratchBytes, model->resident, model->resident == 1 ? "" : "s",
      model->waves, 100 * model->matrix, 100 * model->vector, 100 * model->local, 100 * model->global));
}

Run measure(const Options& options, const std::stop_token& stop, tool::Progress& progress) {
  if (options.threads > 0) host::setNumThreads(options.threads);
  Device& device = openDevice(options.target);
  Run run{.target = options.target.empty() ? device.name() : options.target,
          .device = device.description(),
          .driver = device.driverVersion(),
          .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .version = std::string(version()),
          .suites = options.suites};
  const std::vector<Case> cases = casesOf(options.suites, options.types, device.kind());
  Field field;
  progress.step("preparing");
  field.operands = std::make_unique<Operands>(device, cases);
  addCeilings(device, run.target, options.types, field, run.notes);
  addCases(options, run.target, cases, stop, field, run, progress);
  std::unique_ptr<void, std::function<void(void*)>> flushed;
  takeTurns(device, field.contestants, {.seconds = options.seconds, .stop = stop}, flushOf(device, flushed), [&](int turn, double left) {
    progress.step(fmt::format("measuring {} contestants, turn {}, {:.0f} s left", field.contestants.size(), turn + 1, left));
  });
  progress.clear();
  std::size_t at = 0;
  if (field.copy) run.ceilings.copy = rateOf(field.copy->bytes, field.contestants[at++].us);
  for (DType type : options.types)
    if (const auto found = field.matrix.find(type); found != field.matrix.end() && found->second)
      run.ceilings.matrix[type] = rateOf(found->second->flops, field.contestants[at++].us);
  for (Measurement& m : run.measurements) {
    if (device.capabilities().modelled) addModel(device, field.contestants[at], m, run.notes);
    m.timing = timingOf(field.contestants[at++].us);
  }
  return run;
}

int execute(const Options& options, tool::Progress& progress) {
  if (options.list) {
    fmt::print("{}", listing(openDevice(options.target).kind(), options.types));
    return tool::kOk;
  }
  std::optional<Run> before;
  if (!options.compare.empty())
    before = parseRun(io::readText(options.compare, kMostBytes, "give what `fattn-bench --output FILE` wrote"), options.compare);
  const tool::Interrupt interrupt;
  Run run = measure(options, interrupt.token(), progress);
  if (interrupt.happened()) run.notes.push_back("interrupted: measured less than was asked for");
  std::vector<Comparison> comparisons;
  if (before) {
    comparisons = compareRuns(*before, run);
    if (before->device != run.device)
      run.notes.push_back(fmt::format("'{}' was measured on another device: {}", options.compare, before->device));
  }
  const std::string json = printJson(run, comparisons);
  if (!options.output.empty()) {
    io::writeFile(options.output, json);
  }
  fmt::print("{}", options.json ? json : printTable(run, comparisons, tool::wantsColor()));
  if (!tool::flushOutput()) throw Error(ErrorCode::IoError, "cannot write to standard output");
  if (interrupt.happened()) return tool::kInterrupted;
  for (const Comparison& c : comparisons)
    if (c.verdict == Verdict::Slower) return tool::kFailure;
  return tool::kOk;
}

}  // namespace

int runJob(const std::vector<std::string>& arguments) {
  return tool::runProgram<Options>(
      "fattn-bench", parseCommandLine(arguments), "choose a smaller suite", [](const Options& options, tool::Progress& progress) {
        try {
          return execute(options, progress);
        } catch (const Interrupted&) {
          progress.clear();
          return tool::complain("fattn-bench", "interrupted before anything was measured", "", tool::kInterrupted);
        }
      });
}

}  // namespace fattn::bench
