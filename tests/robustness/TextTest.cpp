// SPDX-License-Identifier: Apache-2.0
// Text of the tile language that somebody hands to a process: whatever it holds, parse() gives a program or an error that says why.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "fattn/Error.h"
#include "fattn/Kernel.h"
#include "fattn/dsl/Trace.h"
#include "kernels/attention/AttentionForward.h"
#include "tests/robustness/Attack.h"

namespace fattn {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// What parse() says of a text in a process of its own, which it may end.
std::string endOf(const std::string& text) {
  return test::inProcess([&] {
    try {
      dsl::parse(text);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::CompileError) ADD_FAILURE() << error.what();
    }
  });
}

TEST(HostileText, NestedWithoutEndEndsInAnErrorAndNotTheProcess) {
  std::string doubling = "#a0 = [1]\n";
  for (int i = 1; i <= 60; ++i)
    doubling += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" + std::to_string(i - 1) + "]\n";
  const std::string texts[] = {repeated("module {\n", 10000) + repeated("}\n", 10000),
                               "module attributes {a = " + std::string(10000, '[') + std::string(10000, ']') + "} {}",
                               "func.func private @f(" + repeated("tuple<", 100000) + repeated(">", 100000) + ")",
                               "#m = affine_map<(d0) -> (" + std::string(50000, '(') + "d0" + std::string(50000, ')') + ")>",
                               "module attributes {a = " + std::string(200000, '9') + "} {}",
                               doubling + "module attributes {a = #a60} {}"};
  for (const std::string& text : texts) EXPECT_EQ(endOf(text), "") << text.substr(0, 60);
}

// The parser made two thousand million places for the operation's values.
TEST(HostileText, AResultThatNoOperationHasTakesNoMemory) {
  EXPECT_EQ(endOf("%0:2 = \"f\"() : () -> (i1, i1)\n\"g\"(%0#2147483648) : (i1) -> ()"), "");
}

// What keeps the limits is parsed on the stack of an ordinary thread.
TEST(HostileText, AsDeepAsTheLimitsAllowIsParsed) {
  std::string deepening = "#a0 = [1]\n";
  for (int i = 1; i < 98; ++i) deepening += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
  const std::string texts[] = {repeated("module {\n", 99) + repeated("}\n", 99),
                               "module attributes {a = " + std::string(98, '[') + std::string(98, ']') + "} {}",
                               "func.func private @f(" + repeated("tuple<", 98) + repeated(">", 98) + ")",
                               "#m = affine_map<(d0) -> (d0" + repeated(" + d0", 999) + ")>\nmodule attributes {a = #m} {}",
                               "#m = affine_map<(d0) -> (" + repeated("-", 999) + "d0)>\nmodule attributes {a = #m} {}",
                               deepening + "module attributes {a = #a97} {}"};
  for (const std::string& text : texts) EXPECT_EQ(endOf(text), "") << text.substr(0, 60);
}

const std::string& one(const std::vector<std::string>& list, std::minstd_rand& random) { return list[random() % list.size()]; }

std::string everywhere(std::string text, const std::string& word, const std::string& other) {
  return std::regex_replace(text, std::regex("\\b" + word + "\\b"), other);
}

/// One place of the text that the expression matches becomes what `other` makes of it.
template <typename Other>
std::string somewhere(const std::string& text, const std::regex& expression, std::minstd_rand& random, Other&& other) {
  const std::vector<std::smatch> found(std::sregex_iterator(text.begin(), text.end(), expression), {});
  if (found.empty()) return text;
  const std::smatch& chosen = found[random() % found.size()];
  std::string mutant = text;
  return mutant.replace(static_cast<std::size_t>(chosen.position()), static_cast<std::size_t>(chosen.length()), other(chosen.str()));
}

/// Another number, type, extent, operation or operand, or a line less or twice: many of these are programs still.
std::string mutantOf(const std::string& text, std::minstd_rand& random) {
  static const std::regex kNumber(R"(\b[0-9]+\b)"), kName(R"(%[a-z0-9_]+)"), kOperation(R"((arith|math|tile)\.[a-z_]+)"),
      kLine(R"([^\n]*\n)");
  static const std::vector<std::string> kNumbers = {"0", "-1", "1", "3", "16", "127", "2147483648", "4294967296", "9223372036854775807"};
  static const std::vector<std::string> kTypes = {"f32", "f16", "bf16", "i1", "i8", "i32", "i64"};
  static const std::vector<std::string> kExtents = {"0x", "1x", "2x", "3x", "8x", "16x", "64x", "1024x", "1048576x"};
  static const std::vector<std::string> kOperations = {"arith.addi",     "arith.subi",    "arith.muli", "arith.divsi", "arith.remsi",
                                                       "arith.minsi",    "arith.shli",    "arith.addf", "arith.mulf",  "arith.divf",
                                                       "arith.maximumf", "arith.maxnumf", "arith.negf", "arith.andi",  "math.exp2",
                                                       "math.log2",      "tile.load",     "tile.store"};
  switch (random() % 7) {
    case 0:
      return somewhere(text, kNumber, random, [&](const std::string&) { return one(kNumbers, random); });
    case 1:
      return everywhere(text, one(kTypes, random), one(kTypes, random));
    case 2:
      return std::regex_replace(text, std::regex("\\b32x"), one(kExtents, random));
    case 3:
      return somewhere(text, kOperation, random, [&](const std::string&) { return one(kOperations, random); });
    case 4: {
      std::string name;
      somewhere(text, kName, random, [&](const std::string& found) { return name = found; });
      return somewhere(text, kName, random, [&](const std::string&) { return name; });
    }
    case 5:
      return somewhere(text, kLine, random, [&](const std::string&) { return ""; });
    default:
      return somewhere(text, kLine, random, [&](const std::string& line) { return line + line; });
  }
}

// FATTN_MUTANTS: how many.
TEST(HostileText, MutantsOfAProgramCompileOrSayWhyNot) {
  const kernels::ForwardKind kind{.dtype = DType::F16, .head_dim = 32, .head_dim_v = 32, .causal = true, .alignment = 2};
  const std::string text = traceAttentionForward(kind, {.block_m = 32, .block_n = 32}).mlir();
  const int count = test::timesFrom("FATTN_MUTANTS", 24);
  std::minstd_rand random = test::seeded(static_cast<unsigned>(test::timesFrom("FATTN_SEED", 20261123)));
  struct Counts {
    int parsed, compiled;
  };
  auto& counts = *static_cast<Counts*>(mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < count; ++i) {
    const std::string mutant = mutantOf(text, random);
    const char* target = std::array{"host", "nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942"}[static_cast<std::size_t>(i) % 4];
    const std::string end = test::inProcess(
        [&] {
          try {
            const dsl::Program program = dsl::parse(mutant);
            ++counts.parsed;
            compile(program, {.target = target});
            ++counts.compiled;
          } catch (const Error& error) {
            if (error.code() == ErrorCode::Internal) ADD_FAILURE() << error.what();
          }
        },
        60);
    ASSERT_EQ(end, "") << "mutant " << i << " for " << target << ":\n" << mutant;
  }
  std::printf("%d mutants, %d are programs, %d compile\n", count, counts.parsed, counts.compiled);
  munmap(&counts, sizeof counts);
}

}  // namespace
}  // namespace fattn
