// SPDX-License-Identifier: Apache-2.0
// The calls of fattn/Library.h against float64. The targets are those that HostTest.cpp or CudaTest.cpp asks for.
#ifndef FATTN_TESTS_LIBRARY_LIBRARYTEST_H
#define FATTN_TESTS_LIBRARY_LIBRARYTEST_H

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <tuple>

#include "fattn/fattn.h"
#include "tests/kernels/Matrix.h"

namespace fattn {

using LibraryCase = std::tuple<std::string, DType>;

/// Matrices on the target of a test, and their way back.
class LibraryTest : public testing::TestWithParam<LibraryCase> {
 protected:
  const std::string& target() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  void SetUp() override;

  /// A view of the matrix in the device's memory; on the host where it is.
  TensorView view(examples::Matrix& matrix, DType dtype);
  TensorView view(examples::Matrix& matrix) { return view(matrix, dtype()); }
  /// Brings all matrices back and forgets them.
  void fetch();

  /// Half an ulp of the result's type relative to the result, or what f32's own sums cost.
  double tolerance() const { return dtype() == DType::F32 ? 3e-6 : dtype() == DType::F16 ? 6e-4 : 5e-3; }

 private:
  struct OnDevice {
    examples::Matrix* matrix;
    std::shared_ptr<void> memory;
    std::byte* first;
  };
  Device* device_ = nullptr;
  std::deque<OnDevice> there_;
};

std::string libraryCaseName(const testing::TestParamInfo<LibraryCase>& info);

}  // namespace fattn

#endif
