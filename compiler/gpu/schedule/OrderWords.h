// SPDX-License-Identifier: Apache-2.0
// The words behind an order's nodes: "A B1 a persistent", "A a B waves2 dies". docs/tuning.md, "Schedules", says what each asks for.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_ORDERWORDS_H
#define FATTN_COMPILER_GPU_SCHEDULE_ORDERWORDS_H

#include <cstdint>
#include <optional>
#include <string>

namespace fattn::gpu {

/// What an order asks for beside the order.
struct OrderWords {
  bool owners = false, pairs = false, persistent = false, dynamic = false, cluster = false, dies = false;
  std::optional<std::int64_t> waves;  ///< of several the largest: each is a least number; 0 where the number is missing
};

/// Takes the words at the end of an order's text away, in whichever order they stand.
OrderWords takeWords(std::string& order);

}  // namespace fattn::gpu

#endif
