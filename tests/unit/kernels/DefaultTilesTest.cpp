// SPDX-License-Identifier: Apache-2.0
// The configurations that are taken where nothing is tuned: they fit every chip, and on the one they were measured on the loop has its
// numbers in registers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "compiler/gpu/Target.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/CompileProgram.h"
#include "simulator/CodeObject.h"
#include "tests/support/Command.h"
#include "tests/unit/kernels/LocalAccesses.h"

namespace fattn {
namespace {

struct Case {
  std::int64_t headDim;
  DType dtype;
  bool causal;
};

compiler::Binary binaryOf(const Case& one, const std::string& target) {
  AttentionConfig config{.dtype = one.dtype, .head_dim = one.headDim, .causal = one.causal, .target = target};
  const kernels::ResolvedAttention resolved = kernels::resolve(config);
  return kernels::compileProgram({.target = target,
                                  .tile = resolved.tile,
                                  .folder = "",
                                  .trace = [&] { return traceAttentionForward(resolved.kind, resolved.tile); }})
      .binary;
}

std::string ptxOf(const Case& one, const std::string& target) { return binaryOf(one, target).bytes; }

std::string nameOf(const Case& one, const std::string& target) {
  return std::string(name(one.dtype)) + ", head_dim " + std::to_string(one.headDim) + (one.causal ? ", causal, " : ", ") + target;
}

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DefaultTiles, FitEveryChip) {
  for (std::string_view target : gpu::targetNames()) {
    if (!target.starts_with("nvidia:")) continue;
    for (std::int64_t headDim : {8, 64, 104, 136, 192, 256})
      for (DType dtype : {DType::BF16, DType::F32}) {
        const Case one{headDim, dtype, true};
        EXPECT_NO_THROW(EXPECT_NE(ptxOf(one, std::string(target)).find(".entry"), std::string::npos)) << nameOf(one, std::string(target));
      }
  }
}

// From its table (docs/performance.md): rows of 128 where shared memory takes a ring of 64 keys, else less.
TEST(DefaultTiles, LessSharedMemoryTakesSmallerOnes) {
  auto tile = [](const char* target) {
    return kernels::resolve({.dtype = DType::BF16, .head_dim = 256, .target = target}).tile.toString();
  };
  EXPECT_EQ(tile("nvidia:sm_90"), "BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8");
  EXPECT_EQ(tile("nvidia:sm_80"), "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8,SCHEDULE=A a B1 b");
  EXPECT_EQ(tile("nvidia:sm_86"), "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4,SCHEDULE=A a B1 b");
}

// Three groups of 64 rows, but where it is told that the last of three would have few of them.
TEST(DefaultTiles, FollowLengthsThatAreTold) {
  auto rowsOf = [](std::int64_t queries) {
    AttentionConfig config{.dtype = DType::BF16, .head_dim = 128, .target = "nvidia:sm_90a"};
    if (queries > 0) config.shape = {.batch = 1, .heads = 16, .seq_q = queries, .seq_k = queries};
    return kernels::resolve(config).tile.block_m;
  };
  EXPECT_EQ(rowsOf(0), 192);
  EXPECT_EQ(rowsOf(1024), 128) << "6 tiles have 1152 rows";
  EXPECT_EQ(rowsOf(1152), 192);
  EXPECT_EQ(rowsOf(2048), 192);
}

/// The loop stores nothing in local memory, and loads a few numbers there that it does not change. What comes behind it, where a block is
/// computed again, may spill.
TEST(DefaultTiles, DoNotSpillInTheLoop) {
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fattn-tiles-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  auto expectRegistersOnly = [&](const Case& one, const std::string& chip) {
    const std::string target = "nvidia:" + chip;
    std::ofstream(folder / "k.ptx") << ptxOf(one, target);
    const std::string files = (folder / "k.cubin").string() + " " + (folder / "k.ptx").string();
    auto [status, log] = test::runCommand("ptxas -v -arch=" + chip + " -o " + files + " 2>&1");
    EXPECT_EQ(status, 0) << nameOf(one, target) << ": " << log;
    const test::LocalAccesses loop = test::localAccessesOfTheLoop(readFile(folder / "k.cubin"));
    EXPECT_GT(loop.dots, 0) << nameOf(one, target);
    EXPECT_EQ(loop.stores, 0) << nameOf(one, target) << ": " << log;
    EXPECT_LE(loop.loads, 8) << nameOf(one, target) << ": " << log;
    // C7510 to C7515: the assembler makes asynchronous dots wait for each other.
    EXPECT_EQ(log.find("C751"), std::string::npos) << nameOf(one, target) << ": " << log;
  };
  for (std::int64_t headDim : {16, 32, 64, 96, 104, 128, 160, 192, 224, 256})
    for (bool causal : {false, true}) {
      for (DType dtype : {DType::BF16, DType::F32}) expectRegistersOnly({headDim, dtype, causal}, "sm_90");
      expectRegistersOnly({headDim, DType::BF16, causal}, "sm_90a");
    }
  for (std::int64_t headDim : {72, 136, 168})
    for (bool causal : {false, true}) expectRegistersOnly({headDim, DType::BF16, causal}, "sm_90a");
  std::filesystem::remove_all(folder);
}

/// Of a code object's loop with most matrix instructions: those, and accesses of scratch memory, which is what NVIDIA calls local memory.
test::LocalAccesses scratchOfTheLoop(const compiler::Binary& binary) {
  using simulator::Instruction;
  const auto object = simulator::CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  const std::vector<Instruction>& code = object->code();
  test::LocalAccesses best;
  for (std::size_t end = 0; end < code.size(); ++end) {
    if (code[end].target < 0 || static_cast<std::size_t>(code[end].target) > end) continue;
    test::LocalAccesses loop;
    for (const Instruction& each : std::span(code).subspan(static_cast<std::size_t>(code[end].target), end + 1 - code[end].target)) {
      loop.dots += each.category == simulator::Category::Matrix;
      loop.loads += each.mnemonic.starts_with("scratch_load");
      loop.stores += each.mnemonic.starts_with("scratch_store");
    }
    if (loop.dots > best.dots) best = loop;
  }
  return best;
}

TEST(DefaultTiles, DoNotSpillInTheLoopOnAmd) {
  for (const std::string target : {"amd:gfx942", "amd:gfx950", "amd:gfx1100", "amd:gfx1201"})
    for (const Case& one : {Case{64, DType::BF16, true}, Case{128, DType::BF16, true}, Case{128, DType::F16, false}}) {
      const compiler::Binary binary = binaryOf(one, target);
      const test::LocalAccesses loop = scratchOfTheLoop(binary);
      EXPECT_GT(loop.dots, 0) << nameOf(one, target);
      EXPECT_EQ(loop.loads + loop.stores, 0) << nameOf(one, target) << ": " << binary.spillBytes << " bytes of scratch memory in all";
      EXPECT_GT(binary.registers, 0) << nameOf(one, target);
      EXPECT_LE(binary.registers, 256) << nameOf(one, target) << ": no two waves of 64 lanes share a SIMD";
    }
}

}  // namespace
}  // namespace fattn
