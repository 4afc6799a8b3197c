// SPDX-License-Identifier: Apache-2.0
// Attention's forward on AMD's chips, whose code objects the simulator executes, against float64 at the host's tolerances. Each kernel
// (chip, type, head dimension, mask) runs 6 of 96 launches (query length, key length, grouped heads or not, placement in memory) so that
// each chip has half of them, and each launch is run on two chips. FATTN_SIMULATED_GRID=all runs all, and prints the worst errors as
// rows of a table (docs/simulator.md quotes them).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "tests/numerics/ForwardCase.h"

namespace fattn::numerics {
namespace {

constexpr std::array kChips = {"gfx942", "gfx950", "gfx1100", "gfx1201"};
constexpr std::array kSimulatedTypes = {DType::F16, DType::BF16};
constexpr std::array<std::int64_t, 2> kSimulatedDims = {64, 128};
constexpr std::array<std::int64_t, 4> kSimulatedLengths = {1, 65, 128, 200};
constexpr std::size_t kLaunches = kSimulatedLengths.size() * kSimulatedLengths.size() * 2 * kPlacements.size();
constexpr std::size_t kOfAKernel = 6, kStride = 37;  // which has no divisor in common with the number of launches

bool isWholeGrid() {
  const char* text = std::getenv("FATTN_SIMULATED_GRID");
  return text != nullptr && std::string_view(text) == "all";
}

struct Cell {
  std::size_t chip, type, dim;
  bool causal;

  std::string target() const { return fmt::format("simulated:{}", kChips[chip]); }
  DType dtype() const { return kSimulatedTypes[type]; }
  std::string text() const {
    return fmt::format("{}_{}_D{}_{}", kChips[chip], fattn::name(dtype()), kSimulatedDims[dim], causal ? "causal" : "full");
  }
  std::size_t number() const { return ((chip * kSimulatedTypes.size() + type) * kSimulatedDims.size() + dim) * 2 + (causal ? 1 : 0); }
};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (std::size_t chip = 0; chip < kChips.size(); ++chip)
    for (std::size_t type = 0; type < kSimulatedTypes.size(); ++type)
      for (std::size_t dim = 0; dim < kSimulatedDims.size(); ++dim)
        for (const bool causal : {false, true}) all.push_back({chip, type, dim, causal});
  return all;
}

void launchOne(const Cell& cell, const Kernel& kernel, std::size_t launch, ForwardWorst& worst) {
  const Placement placement = kPlacements[launch % kPlacements.size()];
  const bool grouped = launch / kPlacements.size() % 2 != 0;
  const std::size_t lengths = launch / kPlacements.size() / 2;
  const std::int64_t lenQ = kSimulatedLengths[lengths % kSimulatedLengths.size()];
  const std::int64_t lenKv = kSimulatedLengths[lengths / kSimulatedLengths.size()];
  const std::int64_t batch = grouped ? 1 : 2, dim = kSimulatedDims[cell.dim];
  const io::AttentionShape shape{batch, grouped ? 4 : 1, grouped ? 2 : 1, lenQ, lenKv, dim, dim, cell.causal};
  ForwardCase(shape, cell.dtype(), 3 * launch).launch(openDevice(cell.target()), kernel, placement, worst);
}

class SimulatedForward : public testing::TestWithParam<Cell> {};

TEST_P(SimulatedForward, MatchesFloat64) {
  const Cell& cell = GetParam();
  const Kernel kernel =
      compile({.dtype = cell.dtype(), .head_dim = kSimulatedDims[cell.dim], .causal = cell.causal, .target = cell.target()});
  ForwardWorst worst;
  const std::size_t count = isWholeGrid() ? kLaunches : kOfAKernel;
  for (std::size_t i = 0; i < count && !HasFailure(); ++i)
    launchOne(cell, kernel, (cell.number() * kOfAKernel + i) * kStride % kLaunches, worst);
  if (isWholeGrid())
    fmt::print("| {} | {} | {} | {} | {:.2e} | {:.2e} | {:.2e} | {} |\n", kChips[cell.chip], fattn::name(cell.dtype()),
               kSimulatedDims[cell.dim], cell.causal ? "causal" : "none", worst.o, worst.oAbsolute, worst.lse, worst.where);
}

INSTANTIATE_TEST_SUITE_P(Chips, SimulatedForward, testing::ValuesIn(cells()), [](const auto& info) { return info.param.text(); });

/// Words behind an order: programs gathered on dies in grids that these do not divide, and few registers.
TEST(SimulatedForward, WordsOfAnOrderChangeNoResult) {
  for (const char* tile : {"SCHEDULE=dies", "SCHEDULE=waves2 dies"})
    for (const bool causal : {false, true}) {
      const Kernel kernel =
          compile({.dtype = DType::BF16, .head_dim = 64, .causal = causal, .target = "simulated:gfx942", .tile = TileConfig::parse(tile)});
      ForwardWorst worst;
      for (const io::AttentionShape& shape :
           {io::AttentionShape{1, 3, 3, 300, 200, 64, 64, causal}, io::AttentionShape{3, 6, 2, 130, 65, 64, 64, causal}})
        ForwardCase(shape, DType::BF16, 7000).launch(openDevice("simulated:gfx942"), kernel, Placement::Bhsd, worst);
      EXPECT_GT(worst.o, 0) << tile;
    }
}

/// tinygrad's flash attention for gfx1100 (f16, D = 64, 32 heads, 1024 keys): two heads of it and three blocks of queries, the last one not
/// full.
TEST(SimulatedForward, TwoHeadsOfTinygradsCaseAreRightToAThousandth) {
  const Kernel kernel = compile({.dtype = DType::F16, .head_dim = 64, .target = "simulated:gfx1100"});
  ForwardWorst worst;
  ForwardCase({1, 2, 2, 300, 1024, 64, 64, false}, DType::F16, 5000)
      .launch(openDevice("simulated:gfx1100"), kernel, Placement::Bhsd, worst);
  EXPECT_LE(worst.o, 1e-3);
  EXPECT_GT(worst.o, 0);
}

}  // namespace
}  // namespace fattn::numerics
