// SPDX-License-Identifier: Apache-2.0
// Computes which banks of shared memory the lanes of each access touch, from the layouts that the passes chose: copies and loads of dots'
// operands must be free of conflicts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/driver/Compile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Shared.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace fattn {
namespace {

using layout::LinearLayout;

/// Passes beyond the ideal of an access of `bytes` at the offset that `access` and `box` give, the worst of all registers and warps.
int conflicts(const LinearLayout& access, const LinearLayout& places, llvm::ArrayRef<int64_t> box, int64_t elementBytes, int64_t bytes) {
  int worst = 0;
  int64_t together = std::min<int64_t>(32, 128 / bytes);  // lanes that are served at once
  for (int64_t r = 0; r < access.inputSize(layout::kRegister); ++r)
    for (int64_t w = 0; w < access.inputSize(layout::kWarp); ++w)
      for (int64_t first = 0; first < 32; first += together) {
        std::map<int64_t, std::set<int64_t>> words;  // of each bank
        for (int64_t lane = first; lane < first + together; ++lane) {
          layout::Coords coords = access.apply({r, lane, w});
          for (size_t d = 0; d < box.size(); ++d) coords[d] += box[d];
          int64_t offset = places.apply(coords)[0] * elementBytes / bytes * bytes;
          for (int64_t word = offset / 4; word < (offset + bytes + 3) / 4; ++word) words[word % 32].insert(word);
        }
        for (const auto& [bank, distinct] : words) worst = std::max(worst, static_cast<int>(distinct.size()) - 1);
      }
  return worst;
}

struct Counted {
  int matrices = 0, plain = 0, copies = 0, conflicts = 0;
};

Counted count(const std::string& kernel, const std::string& target) {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  tilegpu::registerTileGpuDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(FATTN_KERNELS "/" + kernel + ".mlir", &context);
  mlir::PassManager pm(&context);
  transforms::buildTilePipeline(pm, transforms::MaskedLoops::Guard);
  pm.addPass(tilegpu::createAssignLayoutsPass({.target = target, .warps = 4}));
  pm.addPass(tilegpu::createRemoveConversionsPass());
  pm.addPass(tilegpu::createPlaceCopiesPass());
  pm.addPass(tilegpu::createSliceDotsPass());
  Counted result;
  if (!module || mlir::failed(pm.run(*module))) return result;
  auto placesOf = [](tilegpu::BufferType buffer) { return layout::SharedLayout(buffer.getLayout().getLayout()).offsets(); };
  module->walk([&](tilegpu::LoadBufferOp load) {
    tilegpu::BufferType buffer = load.getBuffer().getType();
    const LinearLayout& registers = *tilegpu::layoutOf(load.getResult());
    for (int d = 0; d < 2; ++d) {
      auto access = layout::nvidia::matrixAccess(registers, d, tilegpu::elementBits(buffer.getElementType()));
      if (!access) continue;
      ++result.matrices;
      result.conflicts += conflicts(access->access, placesOf(buffer), load.getOffsets(), buffer.getElementBytes(), 16);
      return;
    }
    ++result.plain;
    result.conflicts += conflicts(registers, placesOf(buffer), load.getOffsets(), buffer.getElementBytes(), buffer.getElementBytes());
  });
  module->walk([&](tilegpu::CopyAsyncOp copy) {
    tilegpu::BufferType buffer = copy.getBuffer().getType();
    ++result.copies;
    result.conflicts += conflicts(copy.getLayout()->getLayout(), placesOf(buffer), {}, buffer.getElementBytes(), 16);
  });
  return result;
}

class BankConflicts : public testing::TestWithParam<std::string> {};

TEST_P(BankConflicts, CopiesAndLoadsHaveNone) {
  Counted counted = count(GetParam(), "nvidia:sm_90");
  EXPECT_GE(counted.matrices + counted.plain, 2);
  EXPECT_EQ(counted.copies, 2);
  EXPECT_EQ(counted.conflicts, 0);
}

TEST(BankConflictsCount, RowsOf128BytesWithoutSwizzleMeetInTheirBanks) {
  LinearLayout tile = layout::nvidia::mma(layout::Operand::A, 16, 16);
  auto access = layout::nvidia::matrixAccess(tile, 1, 16);
  ASSERT_TRUE(access);
  LinearLayout rows = layout::rowMajor({16, 64}).offsets();
  EXPECT_EQ(conflicts(access->access, rows, {0, 16}, 2, 16), 7);
  EXPECT_EQ(conflicts(access->access, layout::swizzled({16, 64}, 16, 128).offsets(), {0, 16}, 2, 16), 0);
}

INSTANTIATE_TEST_SUITE_P(Nvidia, BankConflicts, testing::Values("gemm-bf16", "gemm-96", "gemm-odd", "gemm-f16", "gemm-ieee", "gemm-tf32"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace fattn
