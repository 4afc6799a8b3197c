// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/HostLevel.h"

#include <algorithm>

namespace fattn::host {

const std::vector<std::string>& levelTargets() {
  static const auto* targets = new std::vector<std::string>{"host:sse2", "host:avx2", "host:avx512", "host:avx512bf16"};
  return *targets;
}

std::optional<Level> highestLevel() {
#if defined(__x86_64__)
  static const Level level = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("x86-64-v3")) return Level::Sse2;
    if (!__builtin_cpu_supports("x86-64-v4")) return Level::Avx2;
    return __builtin_cpu_supports("avx512bf16") ? Level::Avx512Bf16 : Level::Avx512;
  }();
  return level;
#else
  return std::nullopt;
#endif
}

const std::vector<std::string>& runnableTargets() {
  static const auto* targets = [] {
    auto* found = new std::vector<std::string>{"host"};
    if (auto highest = highestLevel())
      found->insert(found->end(), levelTargets().begin(), levelTargets().begin() + static_cast<int>(*highest) + 1);
    return found;
  }();
  return *targets;
}

bool isRunnable(std::string_view target) { return std::ranges::find(runnableTargets(), target) != runnableTargets().end(); }

std::string runnableTargetsText() {
  std::string text;
  for (const std::string& target : runnableTargets()) text.append(text.empty() ? "" : ", ").append(target);
  return text;
}

}  // namespace fattn::host
