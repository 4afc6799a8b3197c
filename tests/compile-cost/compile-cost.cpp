// SPDX-License-Identifier: Apache-2.0
// What compiling costs: processor time of the compiler alone, from recording a template's program to the binary, the least of several
// processes that have compiled nothing before.
//   compile-cost RUNS TARGET TEMPLATE [NAME=VALUE...]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "fattn/fattn.h"
#include "kernels/template/Instance.h"

namespace fattn {
namespace {

struct Job {
  std::string target, name;
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct Cost {
  double milliseconds = -1;
  int registers = 0, spillBytes = 0;
};

double processorMilliseconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) { return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3; };
  return of(used.ru_utime) + of(used.ru_stime);
}

Cost compileOnce(const Job& job) try {
  const double before = processorMilliseconds();
  const auto from = findTemplate(job.name);
  const kernels::Instance instance(*from, parseParameters(*from, job.parameters), job.target);
  const dsl::Program program = instance.trace(instance.safe);
  compiler::CompileOptions options;
  options.target = job.target, options.config = instance.safe;
  const auto binary = compiler::compile(dsl::internal::module(program), options);
  return {processorMilliseconds() - before, binary.registers, binary.spillBytes};
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return {};
}

Cost inNewProcess(const Job& job) {
  std::array<int, 2> ends{};
  Cost cost;
  if (::pipe(ends.data()) != 0) return cost;
  const pid_t child = ::fork();
  if (child == 0) {
    cost = compileOnce(job);
    ::_exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  ::close(ends[1]);
  if (::read(ends[0], &cost, sizeof cost) != sizeof cost) cost = {};
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return cost;
}

int measure(const std::vector<std::string>& words) {
  if (words.size() < 3) return fmt::print(stderr, "compile-cost RUNS TARGET TEMPLATE [NAME=VALUE...]\n"), 2;
  Job job{words[1], words[2], {}};
  for (const std::string& word : std::vector(words.begin() + 3, words.end())) {
    const std::size_t at = std::min(word.find('='), word.size() - 1);
    job.parameters.emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  Cost best;
  for (int i = 0; i < std::stoi(words[0]); ++i) {
    const Cost cost = inNewProcess(job);
    if (cost.milliseconds < 0) return 1;
    if (i == 0 || cost.milliseconds < best.milliseconds) best = cost;
  }
  fmt::print("{:.0f} ms, {} vector registers, {} bytes spilled\n", best.milliseconds, best.registers, best.spillBytes);
  return 0;
}

}  // namespace
}  // namespace fattn

int main(int argc, char** argv) { return fattn::measure({argv + 1, argv + argc}); }
