// SPDX-License-Identifier: Apache-2.0
// Kernels as .mlir files, compiled for AMD's chips.
#ifndef FATTN_TESTS_UNIT_AMD_COMPILE_H
#define FATTN_TESTS_UNIT_AMD_COMPILE_H

#include <string>

#include "fattn/TileConfig.h"
#include "runtime/base/Binary.h"

namespace fattn::test {

/// A kernel of the folder of kernels, by its file's name without extension, with the IR verified after every pass. Throws as
/// compiler::compile().
compiler::Binary compileKernel(const std::string& name, const std::string& target);

/// A kernel given as text.
compiler::Binary compileText(const std::string& text, const std::string& target, const TileConfig& tile = {});

}  // namespace fattn::test

#endif
