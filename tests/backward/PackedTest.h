// SPDX-License-Identifier: Apache-2.0
// The backward pass on packed sequences against float64 on a device.
#ifndef FATTN_TESTS_BACKWARD_PACKEDTEST_H
#define FATTN_TESTS_BACKWARD_PACKEDTEST_H

#include "tests/backward/BackwardTest.h"
#include "tests/backward/PackedData.h"

namespace fattn::backward {

class PackedBackward : public BackwardOnDevice {
 protected:
  /// Launches of both modes agree with float64, and write to no row that belongs to no sequence.
  void expectRight(PackedShape shape);
};

}  // namespace fattn::backward

#endif
