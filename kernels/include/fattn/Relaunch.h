// SPDX-License-Identifier: Apache-2.0
// Launches that a thread makes again and again. On an NVIDIA GPU the arguments of the last one are kept as the driver takes them, so that
// another one with the same arguments, or with other addresses among them, costs a few writes instead of packing and checking everything:
//
//   thread_local TileRelaunch last;
//   last.launch(kernel, stream, {blocks, 1, 1}, slots);                          // the first time, and for other sizes
//   const NewAddress moved[] = {{0, reinterpret_cast<std::uint64_t>(x)}};
//   if (!last.again(kernel, moved, stream)) last.launch(kernel, stream, {blocks, 1, 1}, changedSlots);
//
// An object belongs to one thread at a time. It keeps nothing alive and frees nothing: the kernel that it launched is alive when again() is
// called.
#ifndef FATTN_RELAUNCH_H
#define FATTN_RELAUNCH_H

#include <cstdint>
#include <span>

#include "fattn/Kernel.h"
#include "fattn/PreparedLaunch.h"
#include "fattn/Template.h"

namespace fattn {

/// Of a program of one's own.
class TileRelaunch {
 public:
  /// TileKernel::launchSlots(); keeps the launch where the device can repeat it.
  void launch(const TileKernel& kernel, Stream stream, Grid grid, std::span<const std::uint64_t> slots);
  /// Makes that launch again, with these addresses, which later calls have, too. What the program was promised of them is not checked.
  /// False, and nothing runs, where no launch of this kernel is kept, or the device has to prepare it anew. Throws Error{InvalidArgument}
  /// for a slot that is no pointer's.
  bool again(const TileKernel& kernel, std::span<const NewAddress> changed, Stream stream);

 private:
  PreparedLaunch prepared_;
  const void* kernel_ = nullptr;  ///< whose launch it is
};

/// Of a template.
class TemplateRelaunch {
 public:
  /// TemplateKernel::launchSlots(); keeps the launch where the device can repeat it.
  void launch(const TemplateKernel& kernel, Stream stream, std::span<const std::int64_t> extents, std::span<const std::uint64_t> slots);
  /// TemplateKernel::launch(), likewise.
  void launch(const TemplateKernel& kernel, Stream stream, std::span<const std::int64_t> extents, std::span<const Argument> arguments);
  /// As TileRelaunch::again(). False, too, where tuning has found another kernel for these extents since.
  bool again(const TemplateKernel& kernel, std::span<const NewAddress> changed, Stream stream);

 private:
  void forget(const TemplateKernel& kernel);

  PreparedLaunch prepared_;
  const void* kernel_ = nullptr;    ///< whose launch it is
  const void* variants_ = nullptr;  ///< the kernels that tuning had found
};

}  // namespace fattn

#endif
