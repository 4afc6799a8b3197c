// SPDX-License-Identifier: Apache-2.0
// Random tile programs, interpreted and compiled for the host, must write the same up to rounding. The seeds take turns
// on the levels of host instructions that this processor has. A program that fails is made small and printed as a test. FATTN_SEED=n runs
// one seed (FATTN_LEVEL: on that level) and prints its program; FATTN_SEED_OFFSET=n runs other seeds than the usual ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "compiler/driver/Compile.h"
#include "fattn/Device.h"
#include "runtime/base/HostLevel.h"
#include "tests/generator/Interpret.h"
#include "tests/generator/Reducer.h"
#include "tests/generator/Text.h"
#include "tests/support/Context.h"
#include "tests/support/Environment.h"

using namespace mlir;

namespace fattn {
namespace {

using generator::Array;
using generator::Draw;
using generator::Program;

constexpr uint64_t kChunks = 10, kSeedsPerChunk = 11;
constexpr int kReductions = 300;  // programs that may be tried
constexpr std::string_view kDiffers = "argument ";
constexpr uint64_t kAlignment = 256;  // of what arrays are misaligned to

void runOnHost(Program& program, const std::string& target) {
  compiler::CompileOptions options;
  options.target = target;
  options.verify = true;
  if (const char* dir = std::getenv("FATTN_DUMP_DIR")) options.dumpDir = dir;
  Device& device = openDevice("host");
  Program compiled = generator::clone(program);
  auto module = device.load(compiler::compile(*compiled.module, options));
  std::vector<uint64_t> slots;
  std::vector<std::vector<char>> memory;
  for (auto [i, argument] : llvm::enumerate(program.arguments)) {
    if (auto same = generator::sameAs(program, i)) {
      slots.push_back(slots.at(*same));
    } else if (auto* array = std::get_if<Array>(&argument)) {
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

/// Everything that is wrong with a program; empty where nothing is.
std::string difference(const Program& program, const std::string& target) {
  Program expected = generator::clone(program), actual = generator::clone(program);
  try {
    generator::interpret(expected);
    runOnHost(actual, target);
  } catch (const Error& error) {
    return error.what();
  }
  std::string all;
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    auto* array = std::get_if<Array>(&expected.arguments[i]);
    std::string text = array ? generator::compare(*array, std::get<Array>(actual.arguments[i])) : "";
    if (!text.empty()) all += std::string(kDiffers) + std::to_string(i) + ": " + text + "\n";
  }
  return all;
}

/// The same with the smallest program that was found to fail alike, as a test.
std::string failureOf(MLIRContext& context, const Program& program, const Draw& draw) {
  std::string first = difference(program, draw.target);
  if (first.empty()) return "";
  bool differs = first.starts_with(kDiffers);
  auto fails = [&](Program& smaller) {
    std::string text = difference(smaller, draw.target);
    return !text.empty() && text.starts_with(kDiffers) == differs;
  };
  generator::Reduction reduced = generator::reduce(context, program, draw.options(), fails, kReductions);
  std::string text = generator::print(reduced.program, draw);
  return first + "\nThe smallest program that fails; store it in tests/differential/programs under the name of what broke:\n" + text +
         difference(reduced.program, draw.target);
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

class Differential : public testing::TestWithParam<uint64_t> {};

TEST_P(Differential, HostAgreesWithTheInterpreter) {
  const char *only = std::getenv("FATTN_SEED"), *chosen = std::getenv("FATTN_LEVEL");
  for (uint64_t i = 0; i < kSeedsPerChunk; ++i) {
    auto context = test::makeContext();
    uint64_t seed =
        only ? test::fromEnvironment("FATTN_SEED", 0) : test::fromEnvironment("FATTN_SEED_OFFSET", 0) + GetParam() * kSeedsPerChunk + i;
    Draw draw = generator::draw(seed, levels());
    if (chosen) draw.target = chosen;
    Program program = generator::generate(*context, draw);
    if (only) std::cout << generator::print(program, draw);
    EXPECT_EQ(failureOf(*context, program, draw), "") << "FATTN_SEED=" << seed << " FATTN_LEVEL=" << draw.target;
    if (only) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range<uint64_t>(0, kChunks));

/// Programs that once were compiled wrong, each under the name of what broke, on all levels.
TEST(Programs, ThatBrokeOnceAgreeWithTheInterpreter) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FATTN_PROGRAMS))
    if (entry.path().extension() == ".mlir") files.push_back(entry.path());
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  for (const std::filesystem::path& file : files) {
    auto context = test::makeContext();
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    Program program = generator::parse(*context, text.str()).program;
    for (const std::string& level : levels()) EXPECT_EQ(difference(program, level), "") << file.filename() << " on " << level;
  }
}

}  // namespace
}  // namespace fattn
