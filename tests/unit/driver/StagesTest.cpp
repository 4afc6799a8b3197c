// SPDX-License-Identifier: Apache-2.0
// What compile() hands to CompileOptions::onStage and onModule, and the way of source lines through all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "compiler/driver/Compile.h"
#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "fattn/dsl/Dsl.h"
#include "llvm/Object/ObjectFile.h"
#include "mlir/IR/Verifier.h"

namespace fattn::compiler {
namespace {

constexpr const char* kTarget = "host:avx2";
constexpr unsigned kScaleLine = __LINE__ + 7, kDotLine = kScaleLine + 1, kStoreLine = kScaleLine + 2;

dsl::Program scaledProduct() {
  using namespace dsl;
  return trace("scaled_product", [](Params& args) {
    Ptr a = args.ptr("a", DType::F32), b = args.ptr("b", DType::F32);
    BlockPtr in = make_block_ptr(a, {16, 16}, {16, 1}, {0, 0}, {16, 16}), out = make_block_ptr(b, {16, 16}, {16, 1}, {0, 0}, {16, 16});
    Tile x = load(in) * 3.0f;
    Tile y = dot(x, x);
    store(out, y);
  });
}

struct Result {
  Binary binary;
  std::vector<Stage> stages;
  const Stage& stage(const std::string& name) const {
    auto found = std::ranges::find(stages, name, &Stage::name);
    if (found == stages.end()) throw std::runtime_error("no stage " + name);
    return *found;
  }
};

Result compileStages(bool lineTables, const char* target = kTarget) {
  dsl::Program program = scaledProduct();
  Result result;
  CompileOptions options;
  options.target = target;
  options.lineTables = lineTables;
  options.onStage = [&](Stage stage) { result.stages.push_back(std::move(stage)); };
  result.binary = compile(dsl::internal::module(program), options);
  return result;
}

std::string sectionOf(const std::string& object, llvm::StringRef prefix) {
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object")));
  std::string bytes;
  for (const llvm::object::SectionRef& section : file->sections())
    if (llvm::cantFail(section.getName()).starts_with(prefix)) bytes += llvm::cantFail(section.getContents());
  return bytes;
}

/// The text of the first line of the stage that comes from that line of this file and holds `word`; "" where there is none.
std::string lineFrom(const Stage& stage, unsigned source, const std::string& word) {
  std::istringstream text(stage.text);
  std::string line;
  for (size_t i = 0; std::getline(text, line); ++i)
    for (const SourceLine& place : stage.lines.at(i))
      if (place.line == source && place.file.ends_with("StagesTest.cpp") && line.find(word) != std::string::npos) return line;
  return "";
}

TEST(Stages, WhatTheSinkThrowsReachesTheCallerAndEndsTheStages) {
  for (const char* target : {"host", "nvidia:sm_90"}) {
    dsl::Program program = scaledProduct();
    int handed = 0;
    CompileOptions options;
    options.target = target;
    options.onStage = [&](const Stage& stage) {
      ++handed;
      if (stage.name == "cse") throw std::runtime_error("enough");
    };
    try {
      compile(dsl::internal::module(program), options);
      ADD_FAILURE() << "compile() did not throw";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "enough");
    }
    EXPECT_EQ(handed, 3);  // tile, canonicalize, cse
  }
}

TEST(Stages, ComeInOrderWithTheSourceOfEachLine) {
  Result result = compileStages(false);
  EXPECT_EQ(result.stages.front().name, "tile");
  EXPECT_EQ(result.stages.back().extension, "o");
  EXPECT_EQ(result.stages.back().text, result.binary.bytes);
  const Stage& tile = result.stage("tile");
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(tile.text, '\n')), tile.lines.size());
  EXPECT_NE(lineFrom(tile, kScaleLine, "arith.mulf"), "");
  EXPECT_NE(lineFrom(tile, kDotLine, "tile.dot"), "");
  EXPECT_NE(lineFrom(tile, kStoreLine, "tile.store"), "");
  EXPECT_NE(lineFrom(result.stage("reconcile-unrealized-casts"), kStoreLine, "llvm.store"), "");
}

TEST(Stages, MostOperationsKeepTheirSourceDownToTheLlvmDialect) {
  Result result = compileStages(false);
  const Stage& last = result.stage("reconcile-unrealized-casts");
  std::istringstream text(last.text);
  std::string line;
  int with = 0, without = 0;
  for (size_t i = 0; std::getline(text, line); ++i)
    if (line.find("llvm.") != std::string::npos && line.find("llvm.mlir.constant") == std::string::npos)
      ++(last.lines.at(i).empty() ? without : with);
  EXPECT_GT(with, 50 * without) << with << " with, " << without << " without";
}

TEST(LineTables, LeadFromAssemblyToTheSource) {
  Result result = compileStages(true);
  const std::string& assembly = result.stage("host").text;
  for (unsigned line : {kDotLine, kStoreLine})
    EXPECT_NE(assembly.find("\t.loc\t1 " + std::to_string(line) + " "), std::string::npos) << line;
  EXPECT_NE(assembly.find("StagesTest.cpp"), std::string::npos);
  EXPECT_FALSE(sectionOf(result.binary.bytes, ".debug_line").empty());
}

TEST(LineTables, LeadFromPtxToTheSource) {
  const std::string ptx = compileStages(true, "nvidia:sm_90").stage("kernel").text;
  for (unsigned line : {kDotLine, kStoreLine}) EXPECT_NE(ptx.find("\t.loc\t1 " + std::to_string(line) + " "), std::string::npos) << line;
  EXPECT_NE(ptx.find("StagesTest.cpp"), std::string::npos);
  EXPECT_EQ(compileStages(false, "nvidia:sm_90").stage("kernel").text.find(".loc"), std::string::npos);
}

// Nothing but directives, labels and an empty section is added.
TEST(LineTables, ChangeNoPtx) {
  auto code = [](bool lineTables) {
    const std::string ptx = compileStages(lineTables, "nvidia:sm_90").stage("kernel").text;
    std::istringstream text(ptx);
    std::string line, kept;
    while (std::getline(text, line))
      if (!line.starts_with("\t.loc") && !line.starts_with("\t.file") && !line.starts_with("$L__") &&
          line.find(".debug_") == std::string::npos && line.find_first_not_of(" \t") != std::string::npos && !line.starts_with("//"))
        kept += line + "\n";
    return kept;
  };
  EXPECT_NE(code(false).find("mma.sync"), std::string::npos);
  EXPECT_EQ(code(true), code(false));
}

TEST(LineTables, ChangeNoCodeAndAreAbsentUnlessAskedFor) {
  Result with = compileStages(true), without = compileStages(false);
  EXPECT_FALSE(sectionOf(without.binary.bytes, ".text").empty());
  EXPECT_EQ(sectionOf(with.binary.bytes, ".text"), sectionOf(without.binary.bytes, ".text"));
  EXPECT_EQ(sectionOf(without.binary.bytes, ".debug"), "");
}

TEST(LineTables, MakeAnotherBinaryOfTheProgram) {
  dsl::Program program = scaledProduct();
  CompileOptions options;
  options.target = kTarget;
  std::string plain = identity(dsl::internal::module(program), options);
  options.lineTables = true;
  EXPECT_NE(identity(dsl::internal::module(program), options), plain);
}

// lld, which links code for AMD, sets LLVM's options back.
TEST(Compile, CodeForNvidiaIsTheSameWhateverWasCompiledBefore) {
  const std::string first = compileStages(false, "nvidia:sm_80").binary.bytes;
  EXPECT_TRUE(std::regex_search(first, std::regex(R"(mov\.b32\s+%r\d+, fattn_shared)"))) << "32-bit addresses of shared memory\n" << first;
  compileStages(false, "amd:gfx942");
  EXPECT_EQ(compileStages(false, "nvidia:sm_80").binary.bytes, first);
  compileStages(false);
  EXPECT_EQ(compileStages(false, "nvidia:sm_80").binary.bytes, first);
}

/// The passes after which a compilation hands out its module.
std::vector<std::string> passesOf(const char* target, bool verify) {
  dsl::Program program = scaledProduct();
  std::vector<std::string> passes;
  CompileOptions options;
  options.target = target;
  options.verify = verify;
  options.onModule = [&](std::string_view pass, mlir::ModuleOp module) {
    EXPECT_TRUE(mlir::succeeded(mlir::verify(module))) << pass;
    passes.emplace_back(pass);
  };
  compile(dsl::internal::module(program), options);
  return passes;
}

TEST(Modules, AreHandedOutAfterEveryPass) {
  std::vector<std::string> passes = passesOf("nvidia:sm_90", false);
  auto barriers = std::ranges::find(passes, "tilegpu-place-barriers"), lowered = std::ranges::find(passes, "nvidia-lower-tensors");
  ASSERT_NE(barriers, passes.end());
  EXPECT_EQ(barriers + 9, lowered) << "later waits, roles, turns, the trips of groups, the guards of warps, rows beside dots, the wait for "
                                      "launches and the count of phases stand in between";
  EXPECT_EQ(passes.back(), "nvidia-pack-parameters");
  EXPECT_EQ(std::ranges::count(passes, "tilegpu-verify-layouts"), 0) << "a compilation nobody asked to verify pays nothing";
}

TEST(Modules, HaveTheirLayoutsAndTheirOrderVerifiedWhereAskedFor) {
  std::vector<std::string> passes = passesOf("nvidia:sm_90", true);
  EXPECT_EQ(std::ranges::count(passes, "tilegpu-verify-layouts"), 3);
  std::erase(passes, "tilegpu-verify-layouts");
  for (const char* check : {"tilegpu-record-order", "tilegpu-check-order"}) {
    EXPECT_EQ(std::ranges::count(passes, check), 1) << check;
    std::erase(passes, check);
  }
  EXPECT_EQ(passes, passesOf("nvidia:sm_90", false));
}

TEST(BackEnds, AmdsStagesEndInACodeObject) {
  dsl::Program program = scaledProduct();
  std::vector<std::string> names;
  CompileOptions options;
  options.target = "amd:gfx942";
  options.onStage = [&](const Stage& stage) { names.push_back(stage.name + "." + stage.extension); };
  const Binary binary = compile(dsl::internal::module(program), options);
  ASSERT_GE(names.size(), 4U);
  EXPECT_EQ(std::vector(names.end() - 4, names.end()),
            (std::vector<std::string>{"amd-mark-kernels.mlir", "optimized.ll", "kernel.s", "kernel.hsaco"}));
  EXPECT_TRUE(binary.bytes.starts_with("\177ELF"));
  EXPECT_EQ(binary.threads, 256) << "4 waves of 64 lanes";
}

}  // namespace
}  // namespace fattn::compiler
