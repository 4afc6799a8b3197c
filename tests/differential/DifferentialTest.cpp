// SPDX-License-Identifier: Apache-2.0
// Random tile programs, interpreted and compiled for the host, must write the same up to rounding. The seeds take turns
// on the levels of host instructions that this processor has. FATTN_SEED=n runs one seed (FATTN_LEVEL: on that level) and prints its
// program; FATTN_SEED_OFFSET=n runs other seeds than the usual ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>

#include "compiler/dialect/Tile.h"
#include "compiler/driver/Compile.h"
#include "compiler/interpreter/Interpreter.h"
#include "fattn/Device.h"
#include "runtime/base/HostLevel.h"
#include "tests/generator/Generator.h"

using namespace mlir;

namespace fattn {
namespace {

using generator::Array;
using generator::Program;

constexpr uint64_t kChunks = 10, kSeedsPerChunk = 25;
constexpr uint64_t kAlignment = 256;  // of what arrays are misaligned to

void interpret(Program& program) {
  std::vector<interpreter::Argument> arguments;
  for (auto& argument : program.arguments) {
    if (auto* array = std::get_if<Array>(&argument))
      arguments.emplace_back(interpreter::Buffer{array->bytes.data(), static_cast<int64_t>(array->bytes.size())});
    else
      arguments.emplace_back(std::get<int64_t>(argument));
  }
  interpreter::run(program.module->lookupSymbol<func::FuncOp>(program.entry), arguments, program.grid);
}

void runOnHost(Program& program, const std::string& target) {
  compiler::CompileOptions options;
  options.target = target;
  options.verify = true;
  if (const char* dir = std::getenv("FATTN_DUMP_DIR")) options.dumpDir = dir;
  Device& device = openDevice("host");
  auto module = device.load(compiler::compile(*program.module, options));
  std::vector<uint64_t> slots;
  std::vector<std::vector<char>> memory;
  for (auto& argument : program.arguments) {
    if (auto* array = std::get_if<Array>(&argument)) {
      std::vector<char>& bytes = memory.emplace_back(array->bytes.size() + kAlignment + array->misalignment);
      slots.push_back(llvm::alignTo(std::bit_cast<uint64_t>(bytes.data()), kAlignment) + array->misalignment);
      std::ranges::copy(array->bytes, std::bit_cast<char*>(slots.back()));
    } else {
      slots.push_back(static_cast<uint64_t>(std::get<int64_t>(argument)));
    }
  }
  device.launch(*module, {program.grid[0], program.grid[1], program.grid[2]}, slots);
  for (auto [argument, slot] : llvm::zip_equal(program.arguments, slots))
    if (auto* array = std::get_if<Array>(&argument))
      std::copy_n(std::bit_cast<const char*>(slot), array->bytes.size(), array->bytes.data());
}

DialectRegistry allDialects() {
  DialectRegistry registry;
  tile::registerTileDialects(registry);
  compiler::registerCompilerDialects(registry);
  return registry;
}

/// Everything that is wrong with one seed; empty where nothing is.
std::string difference(uint64_t seed, const std::string& target) {
  MLIRContext context(allDialects(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Program expected = generator::generate(context, seed), actual = generator::generate(context, seed);
  try {
    interpret(expected);
    runOnHost(actual, target);
  } catch (const Error& error) {
    return error.what();
  }
  std::string all;
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    auto* array = std::get_if<Array>(&expected.arguments[i]);
    std::string text = array ? generator::compare(*array, std::get<Array>(actual.arguments[i])) : "";
    if (!text.empty()) all += "argument " + std::to_string(i) + ": " + text + "\n";
  }
  return all;
}

/// "host" and the levels below it. The levels above it, which this processor does not run, are named.
const std::vector<std::string>& levels() {
  static const std::vector<std::string> found = [] {
    std::vector<std::string> out = host::runnableTargets();
    if (out.size() > 1) out.pop_back();  // "host" has that level, and what else this processor knows
    for (const std::string& level : host::levelTargets())
      if (!host::isRunnable(level)) std::cout << "without " << level << ", which this processor does not run\n";
    return out;
  }();
  return found;
}

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class Differential : public testing::TestWithParam<uint64_t> {};

TEST_P(Differential, HostAgreesWithTheInterpreter) {
  const char* only = std::getenv("FATTN_SEED");
  for (uint64_t i = 0; i < kSeedsPerChunk; ++i) {
    uint64_t seed = only ? fromEnvironment("FATTN_SEED", 0) : fromEnvironment("FATTN_SEED_OFFSET", 0) + GetParam() * kSeedsPerChunk + i;
    const char* chosen = std::getenv("FATTN_LEVEL");
    std::string level = chosen ? chosen : levels()[seed % levels().size()];
    if (only) {
      MLIRContext context(allDialects(), MLIRContext::Threading::DISABLED);
      context.loadAllAvailableDialects();
      llvm::outs() << *generator::generate(context, seed).module << "\n";
    }
    EXPECT_EQ(difference(seed, level), "") << "FATTN_SEED=" << seed << " FATTN_LEVEL=" << level;
    if (only) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range<uint64_t>(0, kChunks));

}  // namespace
}  // namespace fattn
