// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fattn/Error.h"
#include "tests/generator/Interpret.h"
#include "tests/random/Poison.h"
#include "tests/support/Context.h"

namespace fattn::random {
namespace {

constexpr std::array<std::string_view, kVerdicts> kNames = {"agreed", "refused", "wrong", "crashed", "timed out"};

std::string differences(const generator::Program& expected, const generator::Program& actual) {
  std::string all;
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const auto* array = std::get_if<generator::Array>(&expected.arguments[i]);
    std::string text = array ? generator::compare(*array, std::get<generator::Array>(actual.arguments[i])) : "";
    if (!text.empty()) all += fmt::format("{}argument {}: {}", all.empty() ? "" : "\n", i, text);
  }
  return all;
}

}  // namespace

std::string_view name(Verdict verdict) { return kNames[static_cast<size_t>(verdict)]; }

Verdict verdictOf(std::string_view name) {
  auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) throw Error(ErrorCode::Internal, fmt::format("'{}' is no verdict", name));
  return static_cast<Verdict>(found - kNames.begin());
}

Outcome Execution::run(generator::Draw& draw, const MakeProgram& make) {
  std::unique_ptr<Module> module;
  try {
    phase_("compile");
    compiler::Binary binary = compileDraw(draw, make).binary;
    phase_("assemble");
    module = device_.load(binary);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::DeviceError) return {Verdict::Crashed, error.what()};
    bool assembled = std::string_view(error.what()).find("could not assemble") == std::string_view::npos;
    return {assembled ? Verdict::Refused : Verdict::Wrong, error.what()};
  }
  try {
    return compare(draw, make, *module);
  } catch (const Error& error) {
    return {error.code() == ErrorCode::DeviceError ? Verdict::Crashed : Verdict::Wrong, error.what()};
  }
}

Outcome Execution::compare(const generator::Draw& draw, const MakeProgram& make, const Module& module) {
  auto context = test::makeContext();
  generator::Program expected = make(*context, draw), actual = make(*context, draw);
  poisonOutputs(expected);
  poisonOutputs(actual);
  phase_("interpret");
  generator::interpret(expected);
  phase_("run");
  std::vector<uint64_t> slots = arena_.upload(actual);
  device_.launch(module, {actual.grid[0], actual.grid[1], actual.grid[2]}, slots);
  std::string damage = arena_.download(actual), different = differences(expected, actual);
  if (!damage.empty() && !different.empty()) damage += "\n";
  return {damage.empty() && different.empty() ? Verdict::Agreed : Verdict::Wrong, damage + different};
}

}  // namespace fattn::random
