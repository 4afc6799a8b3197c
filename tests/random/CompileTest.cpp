// SPDX-License-Identifier: Apache-2.0
// Random programs compiled for every NVIDIA chip, on a machine that need not have a GPU: verified after every pass, their order
// checked, executed by the adversary, and some of them assembled by ptxas where it is installed. FATTN_RANDOM_PROGRAMS=5000 asks for so
// many programs, FATTN_RANDOM_SEED=N for others than the usual ones, FATTN_RANDOM_DRAW="program=7 ..." for one, which is
// made small if it fails.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "compiler/gpu/Target.h"
#include "fattn/Error.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/generator/Reducer.h"
#include "tests/generator/Text.h"
#include "tests/random/Compilation.h"
#include "tests/random/Refusals.h"
#include "tests/random/Report.h"
#include "tests/support/Command.h"
#include "tests/support/Context.h"
#include "tests/support/Environment.h"

namespace fattn::random {
namespace {

constexpr uint64_t kShards = 8, kPrograms = 400, kAssembled = 50;
/// Seconds of this process's time on a processor: what a worker that runs a draw on a GPU has for it (Campaign.h).
constexpr double kLimit = 15;

double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::string> chips() {
  std::vector<std::string> names;
  for (std::string_view name : gpu::targetNames())
    if (name.starts_with("nvidia:")) names.emplace_back(name);
  return names;
}

bool hasPtxas() {
  static const bool has = [] {
    bool found = test::runCommand("ptxas --version").status == 0;
    if (!found) std::cout << "ptxas is not installed: no PTX is assembled\n";
    return found;
  }();
  return has;
}

/// What ptxas says of the code where it does not take it.
std::string assemble(const compiler::Binary& binary) {
  std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("fattn-{}-{}.ptx", binary.entry, getpid());
  std::ofstream(file) << binary.bytes;
  std::string chip = binary.target.substr(binary.target.find(':') + 1);
  auto [status, log] = test::runCommand(fmt::format("ptxas -O1 -arch={} -o /dev/null {} 2>&1", chip, file.string()));
  std::filesystem::remove(file);
  if (log.find("is not defined for option 'gpu-name'") != std::string::npos) return "";  // a chip younger than this ptxas
  return status == 0 ? "" : log;
}

/// Behind it all that orders a program's accesses to memory is in place, roles included.
constexpr const char* kLastPassOfBlocks = "tilegpu-place-turns";

/// What the adversary finds in the program that was compiled from a draw.
std::string faultsOf(const Compilation& compilation, const generator::Draw& draw, const MakeProgram& make) {
  if (!compilation.kept) return fmt::format("no pass {} has run", kLastPassOfBlocks);
  auto context = test::makeContext();
  return adversary::textOf(adversary::Reference(make(*context, draw)).check(*compilation.kept));
}

/// What is wrong with a draw.
Outcome compileAndCheck(generator::Draw& draw, bool assembles) try {
  MakeProgram make = programOf({.draw = draw});
  Compilation compilation = compileDraw(draw, make, kLastPassOfBlocks);
  std::string found = faultsOf(compilation, draw, make);
  if (found.empty() && assembles && hasPtxas()) found = assemble(compilation.binary);
  return {found.empty() ? Verdict::Agreed : Verdict::Wrong, found};
} catch (const Error& error) {
  return {Verdict::Refused, error.what()};
}

/// The smallest program found that fails in the same way, as a file for tests/differential/programs.
std::string reduced(const Result& failed) {
  auto context = test::makeContext();
  const std::string kind = kindOf(failed.outcome.message);
  auto fails = [&](generator::Program& smaller) {
    generator::Draw draw = failed.draw;
    MakeProgram make = programOf({.draw = draw, .choices = smaller.choices});
    try {
      Compilation compilation = compileDraw(draw, make, kLastPassOfBlocks);
      return kindOf(faultsOf(compilation, draw, make)) == kind;
    } catch (const Error& error) {
      return kindOf(error.what()) == kind;
    }
  };
  const generator::Program program = generator::generate(*context, failed.draw);
  return generator::print(generator::reduce(*context, program, failed.draw.options(), fails).program, failed.draw);
}

class CompiledPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(CompiledPrograms, AreVerifiedAndChecked) {
  uint64_t programs = test::fromEnvironment("FATTN_RANDOM_PROGRAMS", kPrograms), first = test::fromEnvironment("FATTN_RANDOM_SEED", 0);
  const char* only = std::getenv("FATTN_RANDOM_DRAW");
  if (only && GetParam() > 0) GTEST_SKIP() << "the first shard runs the one draw asked for";
  Report report;
  double longest = 0;
  for (uint64_t i = GetParam(); i < programs; i += kShards) {
    generator::Draw draw = only ? generator::Draw::parse(only) : generator::draw(first + i, chips());
    bool assembles = only || i * kAssembled / kPrograms != (i + 1) * kAssembled / kPrograms;
    Result result{.draw = draw};
    const double begin = processorSeconds();
    result.outcome = compileAndCheck(result.draw, assembles);
    const double took = processorSeconds() - begin;
    longest = std::max(longest, took);
    report.add(result);
    EXPECT_LT(took, kLimit) << result.draw.toString();
    EXPECT_NE(result.outcome.verdict, Verdict::Wrong) << "FATTN_RANDOM_DRAW=\"" << result.draw.toString() << "\"\n"
                                                      << result.outcome.message;
    if (only && result.outcome.verdict != Verdict::Agreed) std::cout << result.outcome.message << "\nreduced:\n" << reduced(result);
    if (only) break;
  }
  EXPECT_EQ(report.unknownRefusals(), 0U) << report.table();
  if (report.count(Verdict::Refused) > 0) std::cout << report.table();
  std::cout << fmt::format("{} programs, the longest took {:.1f} s of processor time\n", report.draws(), longest);
}

// A draw with a select_lazy in a loop whose accesses to global memory are at places that are not known.
TEST(CheckOfTheOrder, BranchesDoNotDoubleTheAccessesThatItRemembers) {
  generator::Draw draw = generator::draw(100579, chips());
  const Outcome outcome = compileAndCheck(draw, /*assembles=*/false);
  EXPECT_EQ(outcome.verdict, Verdict::Agreed) << outcome.message;
}

// A loop in a loop that stores the same elements in every trip of the outer one: these are compared with each load once, not once a run.
TEST(CheckOfTheOrder, RunsOfOneStoreAreOneToCompareWith) {
  generator::Draw draw = generator::draw(300664, chips());
  const Outcome outcome = compileAndCheck(draw, /*assembles=*/false);
  EXPECT_EQ(outcome.verdict, Verdict::Agreed) << outcome.message;
}

// Loops in loops, of which a late stage reads in the last trip what only another trip would use: behind the loop the read is gone.
TEST(CheckOfTheOrder, ReadsThatNobodyUsesMayBeMissingBehindALoop) {
  for (uint64_t program : {100015, 102799, 104603}) {
    generator::Draw draw = generator::draw(program, chips());
    const Outcome outcome = compileAndCheck(draw, /*assembles=*/false);
    EXPECT_EQ(outcome.verdict, Verdict::Agreed) << draw.toString() << ": " << outcome.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, CompiledPrograms, testing::Range<uint64_t>(0, kShards));

}  // namespace
}  // namespace fattn::random
