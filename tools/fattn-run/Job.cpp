// SPDX-License-Identifier: Apache-2.0
// The steps of a run: parse, read or draw, compile, launch, measure, check, write, report.
#include "tools/fattn-run/Job.h"

#include <fmt/format.h>

#include <cstdio>

#include "fattn/Error.h"
#include "tools/common/Program.h"
#include "tools/fattn-run/Bench.h"
#include "tools/fattn-run/Check.h"
#include "tools/fattn-run/Report.h"

namespace fattn::run {
namespace {

int complain(const std::string& message, const std::string& hint, int code) { return tool::complain("fattn-run", message, hint, code); }

int executeKernel(const Options& options, const KernelRunner& runKernel, Progress& progress) {
  const KernelResult result = runKernel(options, progress);
  fmt::print("{}", result.text);
  if (!flushOutput()) return complain("cannot write to standard output", "", kFailure);
  return result.passed ? kOk : kFailure;
}

int execute(const Options& options, const EngineFactory& makeEngine, Progress& progress) {
  Problem problem = makeProblem(options, progress);
  progress.step("compiling");
  const std::unique_ptr<Engine> engine = makeEngine(options, problem);
  Report report{engine->target,
                engine->device,
                engine->config,
                problem.inputs,
                problem.shape,
                problem.layout,
                problem.dtype,
                problem.scale,
                engine->compileMs,
                engine->fromCache,
                {},
                {},
                {}};
  progress.step("running");
  const double once = engine->launch();
  report.timing = {once, once, once, 1};
  if (options.bench) {
    progress.step("measuring");
    report.timing = bench(*engine);
  }
  engine->fetch(problem);
  if (options.check) {
    progress.step("checking against float64");
    report.check = check(problem, options.seed, options.threads);
  }
  if (options.out || options.lse) progress.step("writing");
  writeResults(options, problem);
  for (const std::optional<io::FileSpec>& spec : {options.out, options.lse})
    if (spec) report.written.push_back(spec->path);
  progress.clear();
  fmt::print("{}", options.json ? printJson(report) : printTable(report, wantsColor()));
  if (!flushOutput()) return complain("cannot write to standard output", "", kFailure);
  return !report.check || report.check->passed() ? kOk : kFailure;
}

}  // namespace

int runJob(const std::vector<std::string>& arguments, const EngineFactory& makeEngine, const KernelRunner& runKernel) {
  return tool::runProgram<Options>(
      "fattn-run", parseCommandLine(arguments), "choose a smaller shape", [&](const Options& options, Progress& progress) {
        return options.kernel ? executeKernel(options, runKernel, progress) : execute(options, makeEngine, progress);
      });
}

}  // namespace fattn::run
