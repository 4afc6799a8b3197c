// SPDX-License-Identifier: Apache-2.0
// What launches keep of the last ones of their thread, which most later ones are like.
#ifndef FATTN_KERNELS_ATTENTION_RECENTLAUNCHES_H
#define FATTN_KERNELS_ATTENTION_RECENTLAUNCHES_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "fattn/PreparedLaunch.h"

namespace fattn::kernels {

/// A number that no other kernel has had.
inline std::uint64_t newKernelNumber() {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Of this thread's recent launches of one kind the one to compare with a launch whose operand lies there.
template <typename Launch>
Launch& recentLaunch(const void* operand) {
  static_assert(std::is_trivially_destructible_v<Launch>, "objects that outlive a thread's others may launch");
  constinit thread_local std::array<Launch, 4> recent{};
  return recent[reinterpret_cast<std::uintptr_t>(operand) * 0x9e3779b97f4a7c15ull >> 62];
}

/// The arguments whose addresses differ from those of the launch before.
class AddressChanges {
 public:
  /// For at most as many pointers as a kernel of attention has, 12.
  void compare(std::size_t slot, const void* before, const void* now) {
    if (before != now) changes_[count_++] = {slot, reinterpret_cast<std::uint64_t>(now)};
  }
  std::span<const NewAddress> list() const { return std::span(changes_).first(count_); }

 private:
  std::array<NewAddress, 12> changes_;
  std::size_t count_ = 0;
};

}  // namespace fattn::kernels

#endif
