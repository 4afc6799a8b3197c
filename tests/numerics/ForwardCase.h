// SPDX-License-Identifier: Apache-2.0
// One problem of attention's forward with random operands, and its result in float64; to be launched in several placements.
#ifndef FATTN_TESTS_NUMERICS_FORWARDCASE_H
#define FATTN_TESTS_NUMERICS_FORWARDCASE_H

#include <string>
#include <vector>

#include "fattn/fattn.h"
#include "tests/numerics/OnDevice.h"
#include "tools/io/Reference.h"

namespace fattn::numerics {

/// What a result may be off by, as the relative Frobenius norm of the difference.
inline double forwardTolerance(DType dtype) { return dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 2e-3 : 5e-3; }

/// The largest errors of several launches.
struct ForwardWorst {
  double o = 0, oAbsolute = 0, lse = 0;
  std::string where = "-";  ///< the launch with the largest relative error of O
};

/// A tensor of normal numbers; others for another `stream`.
io::HostTensor drawTensor(DType dtype, std::vector<std::int64_t> shape, std::uint64_t stream);

class ForwardCase {
 public:
  ForwardCase(const io::AttentionShape& shape, DType dtype, std::uint64_t stream);

  /// Launches on the device that the kernel was compiled for. Fails the test where a result is off by more than the tolerance, or a byte
  /// beside one was written.
  void launch(Device& device, const Kernel& kernel, Placement placement, ForwardWorst& worst) const;

 private:
  std::string describe(Placement placement) const;

  io::AttentionShape shape_;
  DType dtype_;
  io::HostTensor q_, k_, v_;
  float scale_;
  io::Reference reference_;
};

}  // namespace fattn::numerics

#endif
