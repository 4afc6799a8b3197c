// SPDX-License-Identifier: Apache-2.0
// Stores by the copy engine: the tile arrives, and its buffer takes part in the checks of shared memory.
#include <gtest/gtest.h>

#include <numeric>

#include "mlir/Parser/Parser.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

/// Two warps load 16 rows each and read rows of each other from a buffer. They store the tile from a second buffer, which begins in the
/// middle of the first.
constexpr const char* kProgram = R"(
#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (16,0); warp: 1 -> (8,0) | dim0: 32, dim1: 8">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">
!ptr = !tile.block_ptr<32x8xf32>
!buf = !tilegpu.buffer<1 x 32x8xf32, #s>
func.func @k(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 2 : i64, tilegpu.shared_bytes = 4096 : i64,
                tilegpu.tensor_maps = [{box = array<i64: 8, 16>, sizes = [array<i64: 8>, array<i64: 32>]}]} {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %w = arith.constant 8 : i64
  %rows = arith.extsi %n : i32 to i64
  %p = tile.make_block_ptr %in, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %q = tile.make_block_ptr %out, shape [%rows, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %first = tilegpu.alloc {offset = 0 : i64} : !buf
  %second = tilegpu.alloc {offset = 512 : i64} : !buf
  %x = tile.load %p {boundary_check = array<i64: 0>} : !ptr -> tensor<32x8xf32, #a>
  tilegpu.store_buffer %x, %first[%c0] : tensor<32x8xf32, #a>, !buf
  tilegpu.barrier
  %y = tilegpu.load_buffer %first[%c0] : !buf -> tensor<32x8xf32, #b>
  tilegpu.barrier
  tilegpu.store_boxes %q, %x in %second map 0[] {boundary_check = array<i64: 0>} : !ptr, tensor<32x8xf32, #a>, !buf
  return
}
)";

class BoxStores : public testing::Test {
 protected:
  BoxStores() { std::iota(input.begin(), input.end(), 1.0F); }

  std::string faults(const std::string& text) {
    auto module = parseSourceString<ModuleOp>(text, context.get(), "k");
    if (!module) return "does not parse";
    output.assign(256, 0.0F);
    auto bytes = [](std::vector<float>& values) {
      return interpreter::Buffer{values.data(), static_cast<int64_t>(values.size() * sizeof(float))};
    };
    std::vector<interpreter::Argument> arguments = {bytes(input), bytes(output), rows};
    return textOf(check(*module, arguments, {1, 1, 1}, {}));
  }

  std::unique_ptr<MLIRContext> context = test::makeContext();
  std::vector<float> input = std::vector<float>(256), output;
  int64_t rows = 32;
};

TEST_F(BoxStores, TheTileArrivesAsFarAsTheArrayGoes) {
  EXPECT_EQ(faults(kProgram), "");
  EXPECT_EQ(output, input);
  rows = 21;
  EXPECT_EQ(faults(kProgram), "");
  std::vector<float> expected = input;
  std::fill(expected.begin() + 21 * 8, expected.end(), 0.0F);
  EXPECT_EQ(output, expected);
}

TEST_F(BoxStores, OverOperandsTheyTakeABarrier) {
  std::string without = kProgram;
  without.erase(without.rfind("  tilegpu.barrier\n"), std::string("  tilegpu.barrier\n").size());
  const std::string said = faults(without);
  EXPECT_NE(said.find("'tilegpu.store_boxes' in thread"), std::string::npos) << said;
  EXPECT_NE(said.find("reads, with no barrier between them"), std::string::npos) << said;
}

}  // namespace
}  // namespace fattn::adversary
