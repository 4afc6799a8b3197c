// SPDX-License-Identifier: Apache-2.0
// Random tile programs, interpreted and compiled for the host, must write the same up to rounding. FATTN_SEED=n runs one seed and prints
// its program.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <iostream>

#include "compiler/dialect/Tile.h"
#include "compiler/driver/Compile.h"
#include "compiler/interpreter/Interpreter.h"
#include "fattn/Device.h"
#include "tests/generator/Generator.h"

using namespace mlir;

namespace fattn {
namespace {

using generator::Array;
using generator::Program;

constexpr uint64_t kChunks = 10, kSeedsPerChunk = 25;

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
  if (const char* dir = std::getenv("FATTN_DUMP_DIR")) options.dumpDir = dir;
  Device& device = openDevice("host");
  auto module = device.load(compiler::compile(*program.module, options));
  std::vector<uint64_t> slots;
  for (auto& argument : program.arguments) {
    if (auto* array = std::get_if<Array>(&argument))
      slots.push_back(std::bit_cast<uint64_t>(array->bytes.data()));
    else
      slots.push_back(static_cast<uint64_t>(std::get<int64_t>(argument)));
  }
  device.launch(*module, {program.grid[0], program.grid[1], program.grid[2]}, slots);
}

/// Everything that is wrong with one seed; empty where nothing is.
std::string difference(uint64_t seed, const std::string& target) {
  DialectRegistry registry;
  tile::registerTileDialects(registry);
  compiler::registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
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

class Differential : public testing::TestWithParam<uint64_t> {};

TEST_P(Differential, HostAgreesWithTheInterpreter) {
  const char* only = std::getenv("FATTN_SEED");
  for (uint64_t i = 0; i < kSeedsPerChunk; ++i) {
    uint64_t seed = only ? std::strtoull(only, nullptr, 10) : GetParam() * kSeedsPerChunk + i;
    if (only) {
      MLIRContext context;
      DialectRegistry registry;
      tile::registerTileDialects(registry);
      context.appendDialectRegistry(registry);
      context.loadAllAvailableDialects();
      llvm::outs() << *generator::generate(context, seed).module << "\n";
    }
    EXPECT_EQ(difference(seed, "host"), "") << "seed " << seed;
    if (only) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range<uint64_t>(0, kChunks));

}  // namespace
}  // namespace fattn
