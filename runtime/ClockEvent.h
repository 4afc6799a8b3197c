// SPDX-License-Identifier: Apache-2.0
// The event of a device whose calls return when their work is done: a reading of the clock.
#ifndef FATTN_RUNTIME_CLOCKEVENT_H
#define FATTN_RUNTIME_CLOCKEVENT_H

#include <chrono>
#include <optional>

#include "fattn/Device.h"
#include "fattn/Error.h"

namespace fattn {

class ClockEvent final : public Event {
 public:
  explicit ClockEvent(const Device& device) : device_(device) {}
  void record(Stream) override { time_ = std::chrono::steady_clock::now(); }
  void synchronize() override {}

  /// Device::elapsedMs() of the device.
  static double elapsedMs(const Event& begin, const Event& end, const Device& device) {
    const auto *first = dynamic_cast<const ClockEvent*>(&begin), *last = dynamic_cast<const ClockEvent*>(&end);
    if (first == nullptr || last == nullptr || &first->device_ != &device || &last->device_ != &device)
      throw Error(ErrorCode::InvalidArgument, "an event of another device was given to " + device.name());
    if (!first->time_ || !last->time_)
      throw Error(ErrorCode::InvalidArgument, "the time between two events was asked for before both were recorded",
                  "call Event::record on each first");
    return std::chrono::duration<double, std::milli>(*last->time_ - *first->time_).count();
  }

 private:
  const Device& device_;
  std::optional<std::chrono::steady_clock::time_point> time_;
};

}  // namespace fattn

#endif
