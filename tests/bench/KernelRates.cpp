// SPDX-License-Identifier: Apache-2.0
// How fast kernels of tests/kernels are with several tiles, which take turns: `kernel-rates TARGET KERNEL WIDTH TILE [TILE ...]`, for
// example
//   kernel-rates cuda fiveDots 64 BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8 BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=owners
// Kernels: fiveDots and bandedColumns (4096 rows, 67584 and 16384 columns), bandedRows (16384 rows and columns); bf16, rows that begin
// at multiples of 16 bytes, bands as wide as the matrix, so that half of it counts. A line for each tile: the median of eleven turns of 30
// ms, and TFLOP/s, for which of a band what it sees counts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "fattn/Kernel.h"
#include "tests/kernels/Kernels.h"

namespace {

using namespace fattn;
using examples::Blocks;

constexpr int kTurns = 11;
constexpr double kTurnMs = 30, kMsOfSecond = 1e3, kTera = 1e12, kUsOfMs = 1e3;

/// A matrix on the device, row after row.
struct OnDevice {
  std::string name;
  std::int64_t rows, columns;
  void* memory;
};

class Problem {
 public:
  Problem(Device& device, std::string_view kernel, std::int64_t width) : device_(device), kernel_(kernel), width_(width) {
    const bool chain = kernel == "fiveDots", byRows = kernel == "bandedRows";
    if (!chain && !byRows && kernel != "bandedColumns")
      throw Error(ErrorCode::InvalidArgument, "there is no kernel '" + std::string(kernel) + "'",
                  "fiveDots, bandedRows and bandedColumns are measured");
    rows_ = byRows ? kLong : kFew, columns_ = chain ? kMany : kLong;
    // Of small numbers, so that sums over thousands of rows stay finite.
    add("a", DType::BF16, rows_), add("b", DType::BF16, columns_), add("c", DType::BF16, byRows ? columns_ : rows_);
    if (!chain) {
      add("out", DType::F32, byRows ? rows_ : columns_);
      return;
    }
    add("d", DType::BF16, columns_), add("out_a", DType::F32, rows_), add("out_b", DType::BF16, columns_);
    add("out_d", DType::BF16, columns_), add("u", DType::F32, 1, rows_), add("v", DType::F32, 1, rows_);
  }
  ~Problem() {
    for (const OnDevice& one : matrices_) device_.free(one.memory);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  TileKernel compileFor(const std::string& target, const TileConfig& tile) const {
    if (tile.block_m == 0 || tile.block_n == 0) throw Error(ErrorCode::InvalidArgument, "a tile has to give BLOCK_M and BLOCK_N");
    const Blocks blocks{.m = tile.block_m, .n = tile.block_n, .k = width_, .form = examples::Form::Aligned};
    const auto record = [&](dsl::Params& args) {
      (isChain() ? examples::fiveDots : isByRows() ? examples::bandedRows : examples::bandedColumns)(args, DType::BF16, blocks);
    };
    return compile(dsl::trace(kernel_, record), {.target = target, .tile = tile});
  }

  void launch(const TileKernel& kernel, const TileConfig& tile, Stream stream) const {
    std::vector<std::string> names;
    for (const OnDevice& one : matrices_)
      for (const char* part : {"", "_row", "_column"}) names.push_back(one.name + part);
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      arguments.emplace_back(names[3 * i], matrices_[i].memory);
      arguments.emplace_back(names[3 * i + 1], matrices_[i].columns);
      arguments.emplace_back(names[3 * i + 2], std::int64_t{1});
    }
    arguments.emplace_back("rows", rows_), arguments.emplace_back("columns", columns_);
    if (!isChain()) arguments.emplace_back("band", columns_);
    const std::int64_t block = isByRows() ? tile.block_m : tile.block_n, length = isByRows() ? rows_ : columns_;
    kernel.launch(stream, {(length + block - 1) / block, 1, 1}, arguments);
  }

  /// Of a launch: five products, or two of which a triangle counts.
  double operations() const {
    const double products = 2.0 * static_cast<double>(rows_) * static_cast<double>(columns_) * static_cast<double>(width_);
    return products * (isChain() ? 5 : isByRows() ? 1 : 2 * (0.5 * static_cast<double>(rows_) / static_cast<double>(columns_)));
  }

 private:
  static constexpr std::int64_t kFew = 4096, kLong = 16384, kMany = 67584;  ///< 132 multiprocessors with 4 blocks of 128 columns each

  bool isChain() const { return kernel_ == "fiveDots"; }
  bool isByRows() const { return kernel_ == "bandedRows"; }

  void add(const char* name, DType type, std::int64_t rows, std::int64_t columns = 0) {
    const std::int64_t width = columns == 0 ? width_ : columns, count = rows * width;
    std::mt19937 random(static_cast<unsigned>(matrices_.size()));
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(count * sizeInBytes(type) / 2));
    constexpr std::uint16_t kOne = 0x3d80, kBits = 0x80ff;  // bf16 of 0.06, and the bits that are random
    for (std::uint16_t& half : halves) half = static_cast<std::uint16_t>(kOne ^ (random() & kBits));
    matrices_.push_back({name, rows, width, device_.allocate(halves.size() * 2)});
    device_.copy(matrices_.back().memory, halves.data(), halves.size() * 2);
    device_.synchronize();
  }

  Device& device_;
  std::string kernel_;
  std::int64_t width_, rows_ = 0, columns_ = 0;
  std::vector<OnDevice> matrices_;
};

struct Lane {
  TileConfig tile;
  TileKernel kernel;
  std::vector<double> ms{};  ///< of a launch, one a turn
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void takeTurn(Device& device, const Problem& problem, Lane& lane) {
  const auto begin = device.createEvent(), end = device.createEvent();
  const double last = lane.ms.empty() ? 1 : lane.ms.back();
  const int launches = std::clamp(static_cast<int>(kTurnMs / last), 3, 1000);
  for (int i = 0; i < launches; ++i) problem.launch(lane.kernel, lane.tile, {});  // its own heat
  begin->record({});
  for (int i = 0; i < launches; ++i) problem.launch(lane.kernel, lane.tile, {});
  end->record({});
  lane.ms.push_back(device.elapsedMs(*begin, *end) / launches);
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr int kFirstTile = 4;
  if (argc <= kFirstTile) {
    fmt::print(stderr, "kernel-rates TARGET KERNEL WIDTH TILE [TILE ...]\n");
    return 2;
  }
  const std::string target = argv[1];
  Device& device = openDevice(target.substr(0, target.find('@')));
  const Problem problem(device, argv[2], std::stoll(argv[3]));
  std::vector<Lane> lanes;
  for (int i = kFirstTile; i < argc; ++i) {
    const TileConfig tile = TileConfig::parse(argv[i]);
    try {
      lanes.push_back({tile, problem.compileFor(target, tile)});
    } catch (const Error& error) {
      fmt::print("{}: {}\n", argv[i], error.what());
    }
  }
  std::mt19937 random(std::random_device{}());
  for (int turn = 0; turn <= kTurns; ++turn) {
    std::ranges::shuffle(lanes, random);
    for (Lane& lane : lanes) takeTurn(device, problem, lane);
    if (turn == 0)
      for (Lane& lane : lanes) lane.ms = {lane.ms.back()};
  }
  std::ranges::sort(lanes, {}, [](const Lane& lane) { return median(lane.ms); });
  for (const Lane& lane : lanes) {
    const double ms = median({lane.ms.begin() + 1, lane.ms.end()});
    fmt::print("{:9.1f} us {:7.1f} TFLOP/s  {} spilled bytes  {}\n", ms * kUsOfMs, problem.operations() / (ms / kMsOfSecond) / kTera,
               lane.kernel.info().spill_bytes, lane.tile.toString());
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
