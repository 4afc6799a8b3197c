// SPDX-License-Identifier: Apache-2.0
// The fixture of the kernels' tests: each against float64 in every element type, for many block sizes, forms and layouts, sizes that are no
// multiple of a block, and on a GPU many configurations. The back ends are those that HostTest.cpp, AdversaryTest.cpp or CudaTest.cpp asks
// for.
#ifndef FATTN_TESTS_KERNELS_KERNELSTEST_H
#define FATTN_TESTS_KERNELS_KERNELSTEST_H

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "fattn/Error.h"
#include "tests/kernels/Executable.h"
#include "tests/kernels/Kernels.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {

struct Size {
  std::int64_t rows, columns, inner;
};

/// What a kernel is compiled with.
struct Variant {
  Blocks blocks;
  TileConfig config;
  bool main = true;  ///< it is run with every size and layout, others with the large sizes in one layout
  int schedule = 0;  ///< which of the compiler's best orders of the loops' work
};

using Kernel = void (*)(dsl::Params& args, DType dtype, Blocks blocks);

/// A kernel and the block sizes it is tested with.
struct NamedKernel {
  const char* name;
  Kernel kernel;
  std::vector<Blocks> blockings;
};
inline std::vector<Blocks> rowBlocks() { return {{16, 64, 16}, {16, 16, 16}, {8, 32, 24}, {24, 80, 48}}; }
inline std::vector<Blocks> products() { return {{32, 32, 32}, {16, 16, 16}, {8, 32, 24}, {24, 80, 48}}; }
inline std::vector<Blocks> chains() { return {{32, 32, 32}, {16, 64, 16}, {64, 32, 48}}; }
inline std::vector<Blocks> bands() { return {{16, 32, 16}, {64, 16, 48}}; }
inline std::vector<Blocks> fewRows() { return {{16, 32, 64}, {8, 16, 32}, {16, 64, 32}}; }

inline std::int32_t cdiv(std::int64_t extent, std::int64_t block) { return static_cast<std::int32_t>((extent + block - 1) / block); }

class Kernels : public testing::TestWithParam<std::tuple<Backend, DType>> {
 protected:
  Backend backend() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  void SetUp() override {
    if (std::string why = missing(backend()); !why.empty()) GTEST_SKIP() << why;
  }
  /// Half an ulp of the result's type relative to the result, or what f32's own sums cost.
  double tolerance() const { return dtype() == DType::F32 ? 2e-6 : dtype() == DType::F16 ? 5e-4 : 4e-3; }

  void checkFiveDots(const std::vector<Blocks>& sizes);

  /// Calls run(executable, blocks, size, layout) for every variant of these block sizes, all sizes and the layouts of its form. A kernel is
  /// compiled once for each variant.
  template <class Run>
  void forAll(Kernel kernel, std::vector<Blocks> blockings, Run run) {
    for (const Variant& variant : variantsOf(backend(), blockings)) {
      SCOPED_TRACE(describe(variant));
      std::unique_ptr<Executable> executable = compile(kernel, variant);
      if (!executable) continue;
      for (const Size& size : sizesFor(variant))
        for (Layout layout : layoutsFor(variant)) {
          SCOPED_TRACE(fmt::format("size {},{},{} layout {}", size.rows, size.columns, size.inner, static_cast<int>(layout)));
          run(*executable, variant.blocks, size, layout);
        }
    }
  }

  static std::vector<Variant> variantsOf(Backend backend, const std::vector<Blocks>& blockings);
  static std::string describe(const Variant& variant);
  std::vector<Size> sizesFor(const Variant& variant) const;
  static std::vector<Layout> layoutsFor(const Variant& variant);
  /// Nothing where the variant asks for a schedule that the kernel does not have, and where the compiler refuses it for a reason that is
  /// known (tests/random/Refusals.h), which is printed.
  std::unique_ptr<Executable> compile(Kernel kernel, const Variant& variant) const;
};

inline std::string nameOf(const testing::TestParamInfo<std::tuple<Backend, DType>>& info) {
  return fmt::format("{}_{}", name(std::get<0>(info.param)), name(std::get<1>(info.param)));
}

}  // namespace fattn::examples

#endif
