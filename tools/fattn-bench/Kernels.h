// SPDX-License-Identifier: Apache-2.0
// The library's kernels as contestants.
#ifndef FATTN_TOOLS_FATTN_BENCH_KERNELS_H
#define FATTN_TOOLS_FATTN_BENCH_KERNELS_H

#include <functional>
#include <string>
#include <utility>

#include "fattn/TileConfig.h"
#include "tools/fattn-bench/Suites.h"

namespace fattn::bench {

/// What launches the kernel of a case (Case::kernel) on random operands, which it holds, and the tile configuration that runs.
std::pair<std::function<void()>, std::string> prepareKernel(const Case& problem, const std::string& target, const TileConfig& config);

/// The same of a case of decode, and of the backward pass, whose configuration is that of the kernel for dk and dv.
std::pair<std::function<void()>, std::string> prepareDecode(const Case& problem, const std::string& target, const TileConfig& config);
std::pair<std::function<void()>, std::string> prepareBackward(const Case& problem, const std::string& target, const TileConfig& config);

}  // namespace fattn::bench

#endif
