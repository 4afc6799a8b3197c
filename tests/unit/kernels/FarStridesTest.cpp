// SPDX-License-Identifier: Apache-2.0
// Rows so far apart that their offsets do not fit in 32 bits, in elements nor in bytes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "fattn/fattn.h"

namespace fattn {
namespace {

constexpr std::int64_t kRows = 40, kDim = 16, kRowStride = std::int64_t{1} << 27;

/// An array of which only the rows are ever touched: 20 GB of addresses, a few pages of memory.
class SparseRows {
 public:
  SparseRows() { memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); }
  ~SparseRows() {
    if (good()) munmap(memory_, kBytes);
  }
  bool good() const { return memory_ != MAP_FAILED; }
  float* row(std::int64_t i) const { return static_cast<float*>(memory_) + i * kRowStride; }
  TensorView view() const {
    return TensorView(memory_, DType::F32, {1, 1, kRows, kDim}, {kRows * kRowStride, kRows * kRowStride, kRowStride, 1});
  }

 private:
  static constexpr std::size_t kBytes = static_cast<std::size_t>(kRows * kRowStride) * sizeof(float);
  void* memory_;
};

TEST(FarStrides, GiveWhatDenseRowsGive) {
  SparseRows q, k, v, o;
  if (!q.good() || !k.good() || !v.good() || !o.good())
    GTEST_SKIP() << "the system refuses 4 x 20 GB of addresses: " << std::strerror(errno);
  std::vector<float> dense[3], out(kRows * kDim), far(kRows * kDim);
  for (int t = 0; t < 3; ++t)
    for (std::int64_t i = 0; i < kRows * kDim; ++i) dense[t].push_back(std::sin(static_cast<float>(i * (t + 3))));
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::memcpy(q.row(i), &dense[0][static_cast<std::size_t>(i * kDim)], kDim * sizeof(float));
    std::memcpy(k.row(i), &dense[1][static_cast<std::size_t>(i * kDim)], kDim * sizeof(float));
    std::memcpy(v.row(i), &dense[2][static_cast<std::size_t>(i * kDim)], kDim * sizeof(float));
  }
  Kernel kernel = compile({.dtype = DType::F32, .head_dim = kDim, .causal = true, .target = "host"});
  auto tight = [](std::vector<float>& x) { return TensorView(x.data(), DType::F32, {1, 1, kRows, kDim}); };
  kernel.launch({}, {.q = tight(dense[0]), .k = tight(dense[1]), .v = tight(dense[2]), .o = tight(out)});
  kernel.launch({}, {.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  for (std::int64_t i = 0; i < kRows; ++i) std::memcpy(&far[static_cast<std::size_t>(i * kDim)], o.row(i), kDim * sizeof(float));
  EXPECT_EQ(far, out);
}

}  // namespace
}  // namespace fattn
