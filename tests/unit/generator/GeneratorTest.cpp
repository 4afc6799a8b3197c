// SPDX-License-Identifier: Apache-2.0
// The generator's own promises: modules verify, programs run in the interpreter without undefined behaviour, the same seed gives the same
// program, lazy selections keep their promise, and the programs together use every operation worth comparing.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/dialect/Tile.h"
#include "mlir/IR/Verifier.h"
#include "tests/generator/Interpret.h"

using namespace mlir;

namespace fattn::generator {
namespace {

constexpr uint64_t kSeeds = 200;

struct GeneratorTest : testing::Test {
  GeneratorTest() {
    DialectRegistry registry;
    tile::registerTileDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  static std::string textOf(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  static func::FuncOp functionOf(Program& program) { return program.module->lookupSymbol<func::FuncOp>(program.entry); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(GeneratorTest, ProgramsVerifyAndRun) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Program program = generate(context, seed);
    ASSERT_TRUE(succeeded(verify(*program.module))) << textOf(*program.module);
    try {
      interpret(program);
    } catch (const Error& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << textOf(*program.module);
    }
  }
}

TEST_F(GeneratorTest, TheSameSeedGivesTheSameProgram) {
  for (uint64_t seed : {0, 7, 1234567}) {
    Program first = generate(context, seed), second = generate(context, seed);
    EXPECT_EQ(textOf(*first.module), textOf(*second.module));
    ASSERT_EQ(first.arguments.size(), second.arguments.size());
    for (size_t i = 0; i < first.arguments.size(); ++i) {
      if (auto* array = std::get_if<Array>(&first.arguments[i])) {
        EXPECT_EQ(array->bytes, std::get<Array>(second.arguments[i]).bytes);
      }
    }
  }
  EXPECT_NE(textOf(*generate(context, 1).module), textOf(*generate(context, 2).module));
}

TEST_F(GeneratorTest, LazySelectionsKeepTheirPromise) {
  interpreter::Options exact;
  exact.takeExactEverywhere = true;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Program usual = generate(context, seed), everywhere = generate(context, seed);
    interpret(usual);
    interpret(everywhere, exact);
    for (size_t i = 0; i < usual.arguments.size(); ++i) {
      if (auto* array = std::get_if<Array>(&usual.arguments[i])) {
        EXPECT_EQ(array->bytes, std::get<Array>(everywhere.arguments[i]).bytes) << "seed " << seed << ", argument " << i;
      }
    }
  }
}

TEST_F(GeneratorTest, OutputsAreWrittenAndToleranceIsAPartOfThem) {
  int written = 0, outputs = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Program program = generate(context, seed), before = generate(context, seed);
    interpret(program);
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      auto* array = std::get_if<Array>(&program.arguments[i]);
      if (!array || !functionOf(program).getArgAttrOfType<StringAttr>(i, "tile.name").getValue().starts_with("out")) continue;
      ++outputs;
      written += array->bytes != std::get<Array>(before.arguments[i]).bytes;
      EXPECT_LT(array->tolerance, 1e3) << "seed " << seed;
    }
  }
  EXPECT_GE(outputs, static_cast<int>(kSeeds));
  EXPECT_GE(written, outputs * 8 / 10) << "most stores must change their arrays";
}

TEST_F(GeneratorTest, ProgramsUseEveryOperation) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    generate(context, seed).module->walk([&](Operation* op) { seen.insert(op->getName().getStringRef().str()); });
  for (const char* name : {"tile.program_id",  "tile.make_block_ptr", "tile.advance",     "tile.addptr",  "tile.load",  "tile.store",
                           "tile.gather",      "tile.scatter",        "tile.atomic_add",  "tile.arange",  "tile.splat", "tile.broadcast",
                           "tile.expand_dims", "tile.trans",          "tile.reshape",     "tile.join",    "tile.split", "tile.dot",
                           "tile.reduce",      "tile.cumsum",         "tile.select_lazy", "scf.for",      "scf.if",     "scf.while",
                           "math.exp2",        "math.tanh",           "math.fma",         "arith.truncf", "arith.extf", "arith.sitofp",
                           "arith.cmpf",       "arith.cmpi",          "arith.select"})
    EXPECT_TRUE(seen.count(name)) << name << " appears in none of " << kSeeds << " programs";
}

TEST_F(GeneratorTest, EveryFeatureIsFrequent) {
  std::map<std::string, int> seen;
  for (const std::string& name : featureNames()) seen[name] = 0;
  for (uint64_t seed = 0; seed < 400; ++seed)
    for (const std::string& name : generate(context, seed).features) ++seen[name];
  EXPECT_EQ(seen.size(), featureNames().size());
  for (const auto& [name, count] : seen) EXPECT_GE(count, 6) << name;
}

TEST_F(GeneratorTest, ArraysAreAlignedAsAskedFor) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (Alignment alignment : {Alignment::Mixed, Alignment::Aligned, Alignment::Unaligned}) {
      Program program = generate(context, seed, {.alignment = alignment});
      for (size_t i = 0; i < program.arguments.size(); ++i) {
        bool promised = functionOf(program).getArgAttr(i, "tile.divisibility") != nullptr;
        auto* array = std::get_if<Array>(&program.arguments[i]);
        EXPECT_FALSE(promised && alignment == Alignment::Unaligned);
        if (!array) continue;
        EXPECT_EQ(array->misalignment % (array->type.getIntOrFloatBitWidth() / 8), 0);
        EXPECT_LT(array->misalignment, 16);
        EXPECT_TRUE(promised || alignment != Alignment::Aligned);
        EXPECT_TRUE(array->misalignment == 0 || !promised);
        EXPECT_TRUE(array->misalignment > 0 || alignment != Alignment::Unaligned);
      }
    }
  }
}

TEST_F(GeneratorTest, AnyStreamOfChoicesMakesAProgram) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    std::vector<uint64_t> choices(random.between(0, 120));
    for (uint64_t& choice : choices) choice = random.between(0, 9);
    Program program = replay(context, choices);
    ASSERT_TRUE(succeeded(verify(*program.module))) << textOf(*program.module);
    EXPECT_NO_THROW(interpret(program));
    EXPECT_EQ(textOf(*replay(context, program.choices).module), textOf(*program.module));
  }
}

TEST_F(GeneratorTest, CompareNamesTheFirstDifference) {
  auto array = [&](std::vector<float> values, double tolerance) {
    Array result{Float32Type::get(&context), std::vector<char>(values.size() * sizeof(float)), tolerance};
    std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
    return result;
  };
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(compare(array({1, nan}, 0.5), array({1.5, nan}, 0)), "");
  EXPECT_EQ(compare(array({1, 2}, 0.5), array({1, 2.75}, 0)), "element 1 of 2 is 2.75, but must be 2 up to 0.5");
  EXPECT_EQ(compare(array({1}, 0.5), array({nan}, 0)), "element 0 of 1 is nan, but must be 1 up to 0.5");
}

}  // namespace
}  // namespace fattn::generator
