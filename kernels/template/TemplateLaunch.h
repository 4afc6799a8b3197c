// SPDX-License-Identifier: Apache-2.0
// A launch of a template that a thread may make again.
#ifndef FATTN_KERNELS_TEMPLATE_TEMPLATELAUNCH_H
#define FATTN_KERNELS_TEMPLATE_TEMPLATELAUNCH_H

#include <cstdint>
#include <span>

#include "fattn/Template.h"
#include "runtime/base/PreparedLaunch.h"

namespace fattn::kernels {

/// Belongs to a thread. It keeps nothing alive: a launch is made again with the kernel that it was made with.
class TemplateLaunch {
 public:
  /// TemplateKernel::launchSlots(), and keeps the launch where the device can repeat it.
  void launch(const TemplateKernel& kernel, Stream stream, std::span<const std::int64_t> extents, std::span<const std::uint64_t> slots);
  /// Makes it again, with other addresses that are as aligned as those of before. False, and nothing runs, where none is kept, tuning has
  /// found another kernel since, or the device prepares it anew.
  bool again(const TemplateKernel& kernel, std::span<const NewAddress> changed, Stream stream);

 private:
  PreparedLaunch prepared_;
  Device* device_ = nullptr;
  const void* variants_ = nullptr;  ///< Variants::table() of that time
};

}  // namespace fattn::kernels

#endif
