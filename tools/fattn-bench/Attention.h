// SPDX-License-Identifier: Apache-2.0
// The attention kernels of the library as contestants, on memory that all problems share.
#ifndef FATTN_TOOLS_FATTN_BENCH_ATTENTION_H
#define FATTN_TOOLS_FATTN_BENCH_ATTENTION_H

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "fattn/fattn.h"
#include "tools/fattn-bench/Suites.h"

namespace fattn::bench {

/// Random operands, as large as the largest problem needs them.
class Operands {
 public:
  Operands(Device& device, const std::vector<Case>& cases);
  AttentionArgs of(const Case& problem) const;

 private:
  using Memory = std::unique_ptr<void, std::function<void(void*)>>;
  std::map<DType, Memory> inputs_;
  std::map<DType, std::int64_t> keys_, values_;  ///< where k and v begin, in bytes
  Memory output_;
};

/// Compiles a problem's kernel; the second is the tile configuration in use. Throws Error.
std::pair<std::function<void()>, std::string> prepare(const Case& problem, const std::string& target, const TileConfig& config,
                                                      const Operands& operands);

}  // namespace fattn::bench

#endif
